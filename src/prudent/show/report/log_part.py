"""What the log holds."""

from collections.abc import Iterator

from htpy import Node

from prudent.show.json_types import Facts
from prudent.show.numbers import counted, percent, significant
from prudent.show.pictures.gaps import gaps_picture
from prudent.show.report.parts import Part, figure, folded, said, words_and_numbers
from prudent.show.section_elements import points
from prudent.show.text import one_line

MOST_NAMES = 6


def log_part(report: Facts) -> Part:
    log, evaluation = report["log"], report["values"]["evaluation"]
    return Part(
        "log",
        "What the log holds",
        [
            said(" ".join(_size(log, evaluation, report["left_out"]))),
            _gaps(log),
            _actions(log, evaluation),
            folded(f"All {len(log['columns'])} columns", _columns(log)),
        ],
    )


def _size(log: Facts, evaluation: Facts, left_out: int) -> Iterator[str]:
    yield (
        f"{counted(log['rows'], 'row')}, {log['rewarded']:,} of them with an action and an outcome; "
        f"{counted(len(log['columns']), 'column describes', 'columns describe')} the case."
    )
    if log["groups"] is not None:
        yield f"The rows belong to {counted(log['groups'], 'group')}, which stay together in every interval."
    if log["censored"]:
        yield f"In {counted(log['censored'], 'row')} follow-up ended before the outcome was seen."
    if left_out:
        yield (
            f"{left_out:,} rows, chosen at random, are left out of everything below but the counts of this section, to "
            f"bound the time that this page takes; {evaluation['rows']:,} were used."
        )


def _gaps(log: Facts) -> Node:
    if log["gap_share"] == 0:
        return said("No cell is missing.")
    empty = f", {counted(log['empty_rows'], 'row')} with nothing observed" if log["empty_rows"] else ""
    sentence = (
        f"{percent(log['gap_share'])} of the cells are missing; {counted(log['complete_rows'], 'complete row')}{empty}"
        f"; {counted(log['distinct_patterns'], 'pattern')} of gaps."
    )
    columns = [(one_line(one["name"]), one["gap_share"]) for one in log["columns"]]
    patterns = [([one_line(name) for name in one["missing"]], one["rows"]) for one in log["common"]]
    rows = [(_named(missing), f"{count:,}", percent(count / log["rows"])) for missing, count in patterns]
    return [
        said(sentence, _together(log["together"])),
        figure(gaps_picture(columns, patterns, log["rows"])),
        folded(
            "The most frequent patterns of gaps as a table",
            words_and_numbers(("missing together", "rows", "share"), rows),
        ),
    ]


def _together(pairs: list[Facts]) -> str | None:
    """Columns whose gaps are related: often one form or one test fills them all."""
    if not pairs:
        return None
    named = "; ".join(
        f"{one_line(one['column'])} and {one_line(one['other'])} (correlation {one['correlation']:.2f})"
        for one in pairs
    )
    return f"Gaps that come together: {named}."


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more if names else "(nothing)"


def _actions(log: Facts, evaluation: Facts) -> Node:
    overlap = {str(one["action"]): one for one in log["overlap"]["actions"]}
    rows = []
    for action in log["actions"]:
        found = overlap.get(str(action["label"]))
        mean = "–" if action["mean_reward"] is None else significant(action["mean_reward"])
        share = percent(action["rows"] / max(log["rewarded"], 1))
        cells = ("–", "–", "–")
        if found is not None:
            smallest = "–" if found["smallest"] is None else f"{found['smallest']:.2g}"
            cells = (smallest, f"{found['effective_sample_size']:,.0f}", f"{found['rows_outside']:,}")
        rows.append((one_line(action["label"]), f"{action['rows']:,}", share, mean, *cells))
    headings = ("action", "rows", "share", f"mean {one_line(evaluation['reward'])}", "smallest propensity")
    known = "as logged" if log["propensity_known"] else "estimated from these rows"
    return [
        words_and_numbers((*headings, "effective sample size", "hardly given"), rows),
        said(
            f"Overlap: propensities, the probabilities of the logged actions, are {known}. effective sample size: how "
            "many equally likely rows would say as much. hardly given: cases like which almost none got the action, so "
            "that its outcome there is extrapolated. Mean outcomes of actions cannot be compared with each "
            "other where sicker people got other actions.",
            css="soft",
        ),
        points(log["overlap"]["verdicts"]),
    ]


def _columns(log: Facts) -> Node:
    rows = [
        (one_line(one["name"]), one["kind"], percent(one["gap_share"]), one_line(one["shows"]))
        for one in log["columns"]
    ]
    return words_and_numbers(("column", "kind", "gaps", "values"), rows, ("column", "kind", "values"))
