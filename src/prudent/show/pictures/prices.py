"""The picture of one decision: a row per action with its plausible range, its expectation and its worst case."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from prudent.show.numbers import Figures
from prudent.show.pictures.axes import MARGIN, Scale, across
from prudent.show.pictures.palette import CHOSEN, FADED, GUARANTEE, INK, OTHERS, SOFT, WARNING, WASH
from prudent.show.pictures.picture import Area, Box, Element, Line, Picture, Point, Text
from prudent.show.text import one_line, text_width, wrapped

ROW = 28.0
SHORTEST_LABEL, LONGEST_LABEL = 40.0, 230.0
NOT_ALLOWED = " (not allowed)"


@dataclass(frozen=True)
class PriceRow:
    """One action as it is drawn; rewards in the user's sign. A `worst` or `guarantee` that is unknown is None."""

    label: str
    expected: float
    low: float
    high: float
    worst: float | None
    guarantee: float | None = None
    chosen: bool = False
    allowed: bool = True


@dataclass(frozen=True)
class _Layout:
    """Labels left, the panel in the middle, two columns of figures right."""

    width: float
    panel: Box
    scale: Scale
    figures: Figures
    expected_end: float

    @classmethod
    def of(cls, rows: Sequence[PriceRow], floor: float | None, top: float, width: float) -> "_Layout":
        figures = Figures.of(number for row in rows for number in (row.expected, row.worst))
        labels = max(text_width(_name(row), 12, bold=True) for row in rows)
        worst = max(text_width(figures(row.worst), 12, bold=True) for row in rows)
        expected = max(text_width(figures(row.expected), 12, bold=True) for row in rows)
        expected_end = width - MARGIN - max(worst, text_width("worst", 11)) - 18
        right = expected_end - max(expected, text_width("expected", 11)) - 16
        panel = Box(MARGIN + min(max(labels, SHORTEST_LABEL), LONGEST_LABEL) + 16, top, right, top + ROW * len(rows))
        scale = Scale.around(_shown(rows, floor), panel.left + 8, panel.right - 8, most=9)
        return cls(width, panel, scale, figures, expected_end)


def price_rows(
    rows: Sequence[PriceRow],
    *,
    title: str,
    name: str,
    axis: str,
    floor: float | None = None,
    note: str = "",
    width: float = 760.0,
) -> Picture:
    """Rows from top to bottom as given, under the `name` of what they are. `note` is written below the legend."""
    room = width - 2 * MARGIN
    elements: list[Element] = [
        Text(MARGIN, MARGIN + 10 + 20 * at, line, 16, bold=True)
        for at, line in enumerate(wrapped(one_line(title), room, 16, bold=True))
    ]
    layout = _Layout.of(rows, floor, MARGIN + 20 * len(elements) + 24, width)
    panel = layout.panel
    elements += _bands(rows, layout)
    elements += across(layout.scale, axis, panel, width)
    elements += _column_heads(name, layout)
    if floor is not None:
        elements += _floor(layout.scale(floor), panel)
    for at, row in enumerate(rows):
        y = panel.top + ROW * (at + 0.5)
        elements += _marks(row, y, layout) + _words(row, y, layout)
    legend, bottom = _legend(rows, panel.bottom + 62, width)
    elements += legend
    for line in wrapped(one_line(note), room, 11):
        bottom += 18
        elements.append(Text(MARGIN, bottom, line, 11, colour=SOFT))
    return Picture(width, bottom + 16, tuple(elements), title, _description(rows, layout.figures))


def _shown(rows: Sequence[PriceRow], floor: float | None) -> list[float]:
    numbers = [n for row in rows for n in (row.expected, row.low, row.high, row.worst, row.guarantee)]
    return [number for number in (*numbers, floor) if _is_finite(number)] or [0.0]


def _is_finite(number: float | None) -> TypeGuard[float]:
    return number is not None and math.isfinite(number)


def _name(row: PriceRow) -> str:
    return one_line(row.label) + ("" if row.allowed else NOT_ALLOWED)


def _bands(rows: Sequence[PriceRow], layout: _Layout) -> list[Element]:
    tops = [layout.panel.top + ROW * at for at, row in enumerate(rows) if row.chosen]
    return [Area(Box(MARGIN - 10, y, layout.width - MARGIN + 10, y + ROW), WASH, rounded=5) for y in tops]


def _column_heads(name: str, layout: _Layout) -> list[Element]:
    y = layout.panel.top - 9
    return [
        Text.fitted(MARGIN, y, name, layout.panel.left - MARGIN - 4, 11, colour=SOFT),
        Text(layout.expected_end, y, "expected", 11, "end", SOFT),
        Text(layout.width - MARGIN, y, "worst", 11, "end", SOFT),
    ]


def _floor(x: float, panel: Box) -> list[Element]:
    word = text_width("floor", 11) / 2
    inside = min(max(x, panel.left + word), panel.right - word)
    return [
        Line(((x, panel.top - 4), (x, panel.bottom)), WARNING, 1.5, "5 4"),
        Text(inside, panel.top - 9, "floor", 11, "middle", WARNING),
    ]


def _marks(row: PriceRow, y: float, layout: _Layout) -> list[Element]:
    scale, figures = layout.scale, layout.figures
    colour = CHOSEN if row.chosen else OTHERS if row.allowed else FADED
    low, high = scale(row.low), scale(row.high)
    elements: list[Element] = [Area(Box(low - 1, y - 4, high + 1, y + 4), colour, rounded=4, opacity=0.35)]
    if _is_finite(row.worst):
        x = scale(row.worst)
        elements.append(Line(((x, y), (min(max(x, low), high), y)), colour, 1.5))
        elements.append(Point(x, y, "bar", 7, colour, f"worst plausible case {figures(row.worst)}"))
    elements.append(Point(scale(row.expected), y, "circle", 5.5, colour, f"expected {figures(row.expected)}"))
    if _is_finite(row.guarantee):
        elements.append(Point(scale(row.guarantee), y, "diamond", 5, GUARANTEE, f"guaranteed {figures(row.guarantee)}"))
    return elements


def _words(row: PriceRow, y: float, layout: _Layout) -> list[Element]:
    colour = INK if row.allowed else FADED
    room = layout.panel.left - MARGIN - 16
    return [
        Text.fitted(MARGIN, y + 4, _name(row), room, colour=colour, bold=row.chosen),
        Text(layout.expected_end, y + 4, layout.figures(row.expected), 12, "end", colour, row.chosen),
        Text(layout.width - MARGIN, y + 4, layout.figures(row.worst), 12, "end", colour, row.chosen),
    ]


def _legend(rows: Sequence[PriceRow], y: float, width: float) -> tuple[list[Element], float]:
    """Each kind of mark with its word, in as many lines as it needs; and where it ends."""
    shown: list[tuple[str, Element]] = [
        ("expected", Point(9, -4, "circle", 5.5, OTHERS)),
        ("5% to 95% of the plausible cases", Area(Box(0, -8, 18, 0), OTHERS, rounded=4, opacity=0.35)),
        ("worst plausible case", Point(9, -4, "bar", 7, OTHERS)),
    ]
    if any(_is_finite(row.guarantee) for row in rows):
        shown.append(("guaranteed", Point(9, -4, "diamond", 5, GUARANTEE)))
    if any(row.chosen for row in rows):
        shown.insert(0, ("recommended", Area(Box(0, -9, 18, 1), WASH, rounded=3)))
    elements: list[Element] = []
    x = MARGIN
    for word, mark in shown:
        needed = 25 + text_width(word, 11)
        if x > MARGIN and x + needed > width - MARGIN:
            x, y = MARGIN, y + 18
        elements += [_moved(mark, x, y), Text(x + 25, y, word, 11, colour=SOFT)]
        x += needed + 18
    return elements, y


def _moved(mark: Element, x: float, y: float) -> Element:
    if isinstance(mark, Area):
        box = mark.box
        return replace(mark, box=Box(box.left + x, box.top + y, box.right + x, box.bottom + y))
    assert isinstance(mark, Point)
    return replace(mark, x=mark.x + x, y=mark.y + y)


def _description(rows: Sequence[PriceRow], figures: Figures) -> str:
    """The picture in words, for people who cannot see it."""
    return "; ".join(
        f"{_name(row)}{' (recommended)' if row.chosen else ''}: expected {figures(row.expected)}, "
        f"range {figures(row.low)} to {figures(row.high)}, worst {figures(row.worst)}"
        for row in rows
    )
