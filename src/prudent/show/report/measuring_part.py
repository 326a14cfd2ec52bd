"""What to measure before deciding, over many cases."""

from htpy import Node

from prudent.show.json_types import Facts
from prudent.show.numbers import counted, percent, significant
from prudent.show.report.parts import Part, said, unanswered, words_and_numbers
from prudent.show.text import one_line

MOST_COLUMNS = 12


def measuring_part(report: Facts) -> Part:
    found = report["measuring"]
    body = said(found["sentence"]) if unanswered(found) else _body(found, report["values"]["evaluation"])
    return Part("measuring", "What to measure", body)


def measuring_sentence(found: Facts) -> str:
    """Which column, how often, or that none is worth it."""
    if not found["worth"]:
        return f"In none of {found['rows']:,} cases would filling a single gap be expected to improve the decision."
    best = found["columns"][0]
    return (
        f"In {percent(found['worth'] / found['rows'])} of {found['rows']:,} cases some gap is worth filling before "
        f"deciding; most often {one_line(best['column'])}, in {percent(best['first'] / found['rows'])} of all cases."
    )


def _body(found: Facts, evaluation: Facts) -> Node:
    worth = [one for one in found["columns"] if one["first"]][:MOST_COLUMNS]
    sign = "−" if evaluation["minimize"] else "+"

    def gain(number: float) -> str:
        written = significant(float(f"{number:.2g}"))
        return written if number == 0 else sign + written

    rows = [
        (one_line(one["column"]), f"{one['missing']:,}", f"{one['first']:,}", gain(one["mean_gain"])) for one in worth
    ]
    left_out = len(found["columns"]) - len(worth)
    headings = ("column", "cases without it", "worth measuring first", f"change of {one_line(evaluation['reward'])}")
    total = (
        f"Filling the best gap of every case would change the mean by {gain(found['mean_gain'])} "
        f"{found['gain_measure']}, before the cost of measuring."
    )
    rest = counted(left_out, "other column with gaps is", "other columns with gaps are")
    return [
        said(measuring_sentence(found), total if found["worth"] else None),
        words_and_numbers(headings, rows) if rows else None,
        said(
            f"Judged in {counted(found['rows'], 'case')} at random, by the model's own beliefs of what gaps may hold. "
            f"The last column is {found['gain_measure']}, over the cases without that column."
            + (f" {rest} never the one most worth measuring." if left_out else ""),
            css="soft",
        ),
    ]
