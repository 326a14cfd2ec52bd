"""Predictions beside what came true: a panel per group, all on the same scale, each with the line of perfect ones."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from prudent.show.pictures.axes import MARGIN, TICK_SIZE, Scale, across, upwards
from prudent.show.pictures.palette import CHOSEN, INK, SOFT
from prudent.show.pictures.picture import Box, Element, Line, Picture, Point, Text
from prudent.show.text import text_width

WIDTH, HEIGHT, BESIDE, TOP, BETWEEN = 720.0, 190.0, 4, 62.0, 74.0
STANDARD_ERRORS = 1.96


class CalibrationSpot(NamedTuple):
    """error: one standard error of `observed`; NaN where there is none."""

    predicted: float
    observed: float
    error: float


def calibration_panels(
    groups: Sequence[tuple[str, Sequence[CalibrationSpot]]], title: str, x_label: str, y_label: str
) -> Picture:
    """At least one group with a spot."""
    spots = [spot for _, own in groups for spot in own]
    ends = [end for spot in spots for end in (spot.predicted, *_interval(spot))]
    low, high = min(ends), max(ends)
    count = max(len(groups), 2) if len(groups) <= BESIDE else BESIDE - 1
    lines = -(-len(groups) // count)
    labels = Scale.around([low, high], TOP + HEIGHT, TOP, 5).labels
    left = MARGIN + max(text_width(label, TICK_SIZE) for label in labels) + 8
    wide = (WIDTH - MARGIN - left) / count
    elements: list[Element] = [
        Text(MARGIN, MARGIN + 10, title, 16, bold=True),
        Text.fitted(MARGIN, MARGIN + 29, f"Upwards: {y_label}, with 95% intervals.", WIDTH - 2 * MARGIN, colour=SOFT),
    ]
    for at, (name, own) in enumerate(groups):
        line, place = divmod(at, count)
        top = TOP + 22 + line * (HEIGHT + BETWEEN)
        begin = left + place * wide
        panel = Box(begin, top, begin + wide - 26, top + HEIGHT)
        elements.append(Text.fitted(begin, top - 7, name, wide - 26, bold=True))
        elements += _panel(panel, own, (low, high), x_label, first=place == 0)
    described = "; ".join(
        f"{name}: " + ", ".join(f"predicted {spot.predicted:.4g}, was {spot.observed:.4g}" for spot in own)
        for name, own in groups
    )
    return Picture(WIDTH, TOP + 22 + lines * (HEIGHT + BETWEEN) - 14, tuple(elements), title, described)


def _panel(
    panel: Box, spots: Sequence[CalibrationSpot], span: tuple[float, float], label: str, first: bool
) -> list[Element]:
    x, y = Scale.around(span, panel.left, panel.right, 5), Scale.around(span, panel.bottom, panel.top, 5)
    upright = upwards(y, panel)
    elements = upright if first else [element for element in upright if isinstance(element, Line)]
    elements = [*elements, *across(x, label, panel, WIDTH)]
    low, high = y.low, y.high
    elements.append(Line(((x(low), y(low)), (x(high), y(high))), SOFT, 1.5, "4 3"))
    for spot in spots:
        above, under = map(y, _interval(spot))
        elements.append(Line(((x(spot.predicted), above), (x(spot.predicted), under)), CHOSEN, 1.5))
        elements.append(Point(x(spot.predicted), y(spot.observed), "circle", 4, CHOSEN, f"{spot.observed:.4g}"))
    elements.append(Line(((panel.left, panel.top), (panel.left, panel.bottom)), INK, 0.5))
    return elements


def _interval(spot: CalibrationSpot) -> tuple[float, float]:
    """Of what came true; the spot itself where its error is not known."""
    reach = STANDARD_ERRORS * spot.error if math.isfinite(spot.error) else 0.0
    return spot.observed - reach, spot.observed + reach
