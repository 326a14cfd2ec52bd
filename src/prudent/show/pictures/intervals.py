"""Rows of a name with a number and, where it has one, its interval: policies, columns."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from prudent.show.pictures.axes import MARGIN, Scale, across
from prudent.show.pictures.palette import CHOSEN, INK, SOFT, Colour
from prudent.show.pictures.picture import Box, Element, Line, Picture, Point, Shape, Text
from prudent.show.text import wrapped

WIDTH, NAMES, ROW = 720.0, 210.0, 25.0


class IntervalRow(NamedTuple):
    """low, high: NaN where there is no interval. written: what stands for it in words."""

    name: str
    value: float
    low: float
    high: float
    written: str
    colour: Colour = CHOSEN
    shape: Shape = "circle"


def interval_rows(
    rows: Sequence[IntervalRow], title: str, axis: str, reference: float | None = None, below: str = ""
) -> Picture:
    """reference: a value that all are compared with, drawn as a dashed line. below: a remark under the title."""
    elements: list[Element] = [
        Text(MARGIN, MARGIN + 10 + 20 * at, line, 16, bold=True)
        for at, line in enumerate(wrapped(title, WIDTH - 2 * MARGIN, 16, bold=True))
    ]
    y = MARGIN + 10 + 20 * (len(elements) - 1)
    for line in wrapped(below, WIDTH - 2 * MARGIN, 12) if below else []:
        y += 18
        elements.append(Text(MARGIN, y, line, 12, colour=SOFT))
    top = y + 18
    panel = Box(NAMES, top, WIDTH - MARGIN, top + ROW * len(rows) + 6)
    ends = [end for row in rows for end in (row.value, row.low, row.high) if math.isfinite(end)]
    scale = Scale.around([*ends, *([] if reference is None else [reference])], panel.left, panel.right)
    elements += across(scale, axis, panel, WIDTH)
    if reference is not None:
        x = scale(reference)
        elements.append(Line(((x, panel.top), (x, panel.bottom)), SOFT, 1.5, "4 3"))
    for at, row in enumerate(rows):
        y = top + ROW * (at + 0.5) + 3
        elements.append(Text.fitted(MARGIN, y + 4, row.name, NAMES - MARGIN - 12, colour=INK))
        if math.isfinite(row.low + row.high):
            elements.append(Line(((scale(row.low), y), (scale(row.high), y)), row.colour, 2))
        if math.isfinite(row.value):
            elements.append(Point(scale(row.value), y, row.shape, 4.5, row.colour, f"{row.name}: {row.written}"))
    described = "; ".join(f"{row.name}: {row.written}" for row in rows)
    return Picture(WIDTH, panel.bottom + 50, tuple(elements), title, described)
