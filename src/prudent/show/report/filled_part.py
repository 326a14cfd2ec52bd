"""How well gaps are filled."""

import math

from htpy import Node

from prudent.show.json_types import Facts
from prudent.show.numbers import percent, significant
from prudent.show.pictures.intervals import IntervalRow, interval_rows
from prudent.show.pictures.palette import CHOSEN, WARNING
from prudent.show.report.parts import Part, figure, folded, said, unanswered, words_and_numbers
from prudent.show.text import one_line

MOST_COLUMNS, LONGEST = 30, 24
NOMINAL, FEW = 0.9, 30


def filled_part(report: Facts) -> Part:
    gaps = report["gaps"]
    return Part("gaps", "How well gaps are filled", said(gaps["sentence"]) if unanswered(gaps) else _body(gaps))


def _body(gaps: Facts) -> Node:
    return [
        said(
            f"A completion of a record is what the model believes its gaps may hold. In {gaps['rows']:,} rows "
            f"{percent(gaps['hidden_share'])} of the known cells were hidden, completed from the others, and compared "
            "with what they held.",
            filled_sentence(gaps),
        ),
        figure(_picture(gaps)),
        _table(gaps["columns"]),
        said(
            "typical error: for a number the mean distance from the truth, in the column's units; for a label the "
            "share of cells where the likeliest label is wrong. with the usual value: the same if every gap were "
            "filled with the column's median or most frequent label. ratio: below 1 the model does better than that. "
            "in the 90% range: should be near 90%; lower, the model is too sure of what gaps hold.",
            _too_few(gaps),
            css="soft",
        ),
    ]


def _table(columns: list[Facts]) -> Node:
    headings = ("column", "hidden cells", "typical error", "with the usual value", "ratio", "in the 90% range")
    table = words_and_numbers(headings, [_row(column) for column in columns])
    return table if len(columns) <= LONGEST else folded(f"The numbers of all {len(columns)} columns", table)


def ratio(column: Facts) -> float:
    """Of the error to that of the usual value; NaN where that makes none."""
    return column["error"] / column["usual_error"] if column["usual_error"] > 0 else math.nan


def filled_sentence(gaps: Facts) -> str:
    """In how many columns completions are better than the usual value, and whether their ranges hold."""
    better = sum(column["error"] < column["usual_error"] for column in gaps["columns"])
    sentence = (
        f"The model's guesses for hidden cells are closer to the truth than the usual value in {better} of "
        f"{len(gaps['columns'])} columns"
    )
    ranges = [(one["covered"] * one["cells"], one["cells"]) for one in gaps["columns"] if one["covered"] is not None]
    cells = sum(count for _, count in ranges)
    if not cells:
        return f"{sentence}."
    covered = sum(inside for inside, _ in ranges) / cells
    return f"{sentence}; its 90% ranges hold the truth in {percent(covered)} of {cells:,} hidden numbers."


def _row(column: Facts) -> tuple[str, ...]:
    def write(error: float) -> str:
        return percent(error) + " wrong" if column["covered"] is None else _units(column, error)

    covered = "–" if column["covered"] is None else percent(column["covered"])
    named = one_line(column["column"])
    compared = "–" if math.isnan(ratio(column)) else f"{ratio(column):.2f}"
    return named, f"{column['cells']:,}", write(column["error"]), write(column["usual_error"]), compared, covered


def _units(column: Facts, error: float) -> str:
    return f"{error:.3g} days" if column["kind"] == "date" else significant(float(f"{error:.3g}"))


def _picture(gaps: Facts):
    columns = sorted((one for one in gaps["columns"] if not math.isnan(ratio(one))), key=ratio)[:MOST_COLUMNS]
    left_out = len(gaps["columns"]) - len(columns)
    rows = [
        IntervalRow(
            one_line(one["column"]),
            *(ratio(one), math.nan, math.nan, f"{ratio(one):.2f}"),
            CHOSEN if ratio(one) < 1 else WARNING,
            "circle" if ratio(one) < 1 else "diamond",
        )
        for one in columns
    ]
    remark = f"{left_out} more columns are in the table only." if left_out else ""
    return interval_rows(
        rows,
        "Error of completions, as a share of the usual value's",
        "ratio of errors (left of 1 is better)",
        1.0,
        remark,
    )


def _too_few(gaps: Facts) -> str | None:
    if not gaps["too_few"]:
        return None
    names = ", ".join(map(one_line, gaps["too_few"][:MOST_COLUMNS]))
    return f"Too few cells could be hidden to say anything of: {names}."
