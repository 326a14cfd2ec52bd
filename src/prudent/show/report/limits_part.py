"""What speaks against relying on the report, in plain words."""

from collections.abc import Iterator

import htpy

from prudent.show.json_types import Facts
from prudent.show.numbers import counted, percent
from prudent.show.report.filled_part import FEW, NOMINAL
from prudent.show.report.parts import Part, folded, said, unanswered
from prudent.show.section_elements import points
from prudent.show.text import one_line

TOO_SURE = 0.1
MOST_NAMES = 6
ALWAYS = (
    "The model knows only what was recorded. Where the logged actions had reasons that were not written down, "
    "every number here that compares actions may be wrong ('prudent evaluate --sensitivity' says by how much).",
    "These are past decisions of one place and time. Before use elsewhere, report on a log from there; after a change "
    "of practice, report again.",
    "Columns are not checked for what was recorded after the decision: a table does not show when a cell was written.",
)


def limits_part(report: Facts) -> Part:
    limits = report["limits"]
    reading = [one for one in limits["reading"] if one not in limits["leaks"]]
    return Part(
        "limits",
        "Limits",
        [
            said(limits["verdict"]),
            points([*dict.fromkeys(_found(report))]),
            htpy.h3["Always"],
            points(ALWAYS),
            folded(f"How the log was read ({counted(len(reading), 'note')})", points(reading)) if reading else None,
            folded(f"Notes of the fit ({len(limits['fit'])})", points(limits["fit"])) if limits["fit"] else None,
        ],
    )


def computed_limits(report: Facts) -> list[str]:
    """What this log itself speaks against, the most serious first."""
    return list(dict.fromkeys(_found(report)))


def _found(report: Facts) -> Iterator[str]:
    limits = report["limits"]
    yield from limits["leaks"]
    yield from limits["findings"]
    if not limits["fit_known"]:
        yield "The model does not say which rows it was fitted on, so whether this log is new to it was not checked."
    if limits["few_rows"] is not None:
        yield (
            f"Only {counted(limits['few_rows'], 'decision')} could be evaluated: intervals are wide, and differences "
            "that matter may not show."
        )
    for label in limits["never"]:
        yield f"Nobody in this log got '{one_line(label)}': nothing here says how it would do."
    if limits["empty_columns"]:
        names = ", ".join(map(one_line, limits["empty_columns"]))
        yield f"In this log every cell is empty in: {names}. The model completes them from the rest."
    yield from limits["warnings"]
    yield from limits["overlap"]
    yield from _unlike(limits["unlike"])
    yield from _gaps(report["gaps"])


def _gaps(gaps: Facts) -> Iterator[str]:
    if unanswered(gaps):
        return
    worse = [one_line(one["column"]) for one in gaps["columns"] if one["error"] > one["usual_error"]]
    if worse:
        yield f"Gaps of {_named(worse)} are filled no better than by their usual value."
    sure = [
        one
        for one in gaps["columns"]
        if one["covered"] is not None and one["cells"] >= FEW and one["covered"] < NOMINAL - TOO_SURE
    ]
    if sure:
        names = _named([f"{one_line(one['column'])} ({percent(one['covered'])})" for one in sure])
        yield f"The model is too sure of what gaps hold in {names}: 90% ranges should hold 90% of the hidden cells."


def _unlike(unlike: Facts | None) -> Iterator[str]:
    if unlike is None:
        yield (
            "Whether this log is like the one that the model learnt from was not checked; --learnt-from with that log "
            "does."
        )
    elif unlike["features"]:
        yield (
            f"This log is not like the one that the model learnt from (permutation test, p = {unlike['p_value']:.3f}): "
            f"{_named([one_line(one) for one in unlike['features']])}."
        )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
