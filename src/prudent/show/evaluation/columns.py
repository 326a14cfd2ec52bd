"""Which columns matter, as a table and as a picture, from the facts of `ColumnsThatMatter.to_dict()`."""

import math
from collections.abc import Sequence

from prudent.show.evaluation.estimates import Interval, figures_for, percent_written
from prudent.show.json_types import Facts
from prudent.show.pictures.axes import MARGIN, Scale, across
from prudent.show.pictures.palette import SERIES, SOFT
from prudent.show.pictures.picture import Box, Element, Line, Picture, Point, Text
from prudent.show.sections import Section
from prudent.show.tables import TextTable

TEXT_WIDTH = 120
SHOWN = 20
"""Columns in the picture; the others change fewer decisions."""
WIDTH, NAMES, ROW = 760.0, 170.0, 22.0


def columns_text(facts: Facts) -> str:
    """A line per column, and what the numbers mean."""
    return "\n".join([_table(facts["columns"]).text(TEXT_WIDTH), *_sentences(facts)])


def columns_section(facts: Facts) -> Section:
    """For the command line."""
    return Section("Which columns matter", _table(facts["columns"]), sentences=tuple(_sentences(facts)))


def _table(columns: Sequence[Facts]) -> TextTable:
    losses = [Interval.of(one["loss"]) for one in columns]
    write = figures_for(losses)
    rows = [
        (
            one["column"],
            percent_written(round(one["known"], 3)),
            Interval.of(one["changed"]).written(lambda share: f"{100 * share:.1f}%"),
            loss.written(write),
        )
        for one, loss in zip(columns, losses, strict=True)
    ]
    return TextTable(("column", "has a value", "hidden: other action", "hidden: loss per row"), rows)


def _sentences(facts: Facts) -> list[str]:
    return [
        f"Every column is hidden by itself from the policy ({facts['policy']}) in {facts['rows']:,} later decisions. "
        f"In brackets: intervals of confidence {facts['confidence']:g}; a loss above 0 says that the column helps.",
        "A column that others can stand in for changes little by itself: the model completes it from them.",
    ]


def columns_picture(facts: Facts) -> Picture:
    """Two panels side by side: the share of rows that get another action, and the loss per row."""
    shown = facts["columns"][:SHOWN]
    changed, losses = ([Interval.of(one[key]) for one in shown] for key in ("changed", "loss"))
    percent = [one.times(100.0) for one in changed]
    top = 76.0
    bottom = top + ROW * max(len(shown), 1)
    middle = NAMES + (WIDTH - NAMES) / 2
    panels = Box(NAMES, top, middle - MARGIN / 2, bottom), Box(middle + MARGIN / 2, top, WIDTH - MARGIN, bottom)
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, "What hiding each column does", 16, bold=True)]
    left_out = len(facts["columns"]) - len(shown)
    below = f"The {SHOWN} columns that change most decisions, of {left_out + SHOWN}." if left_out else ""
    elements += [Text(MARGIN, MARGIN + 30, below, colour=SOFT)] if below else []
    for row, one in enumerate(shown):
        elements.append(Text.fitted(MARGIN, _at(row, top) + 4, one["column"], NAMES - MARGIN - 12))
    for panel, intervals, label in (
        (panels[0], percent, "rows with another action, %"),
        (panels[1], losses, "loss per row"),
    ):
        elements += _panel(panel, intervals, label)
    described = "; ".join(
        f"{one['column']}: {share.value:.1f}% other actions, loss {_written(loss.value)}"
        for one, share, loss in zip(shown, percent, losses, strict=True)
    )
    return Picture(WIDTH, bottom + 56, tuple(elements), "What hiding each column does", described)


def _written(loss: float) -> str:
    return "unknown" if math.isnan(loss) else f"{loss:.3g}"


def _at(row: int, top: float) -> float:
    return top + ROW * (row + 0.5)


def _panel(panel: Box, intervals: Sequence[Interval], label: str) -> list[Element]:
    ends = [end for one in intervals for end in (one.low, one.high, one.value) if math.isfinite(end)]
    scale = Scale.around([0.0, *ends], panel.left, panel.right)
    elements: list[Element] = [*across(scale, label, panel, WIDTH)]
    elements.append(Line(((scale(0.0), panel.top), (scale(0.0), panel.bottom)), SOFT))
    for row, one in enumerate(intervals):
        y = _at(row, panel.top)
        if one.exists:
            elements.append(Line(((scale(one.low), y), (scale(one.high), y)), SERIES[0], 2))
        if math.isfinite(one.value):
            elements.append(Point(scale(one.value), y, "circle", 4.5, SERIES[0], f"{one.value:.3g}"))
    return elements
