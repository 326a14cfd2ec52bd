"""The picture of one decision: a row per action with its mean outcome, expected and in the worst plausible case, and
the range of single outcomes. Labels are wrapped, never cut."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TypeGuard

from prudent.show.numbers import Figures
from prudent.show.pictures.axes import MARGIN, Scale, across
from prudent.show.pictures.palette import CHOSEN, FADED, GUARANTEE, INK, OTHERS, SOFT, WARNING, WASH, Colour
from prudent.show.pictures.picture import Area, Box, Element, Line, Picture, Point, Text
from prudent.show.text import one_line, text_width, wrapped

ROW, LINE, HEAD_LINE = 28.0, 15.0, 13.0
SHORTEST_LABEL, LONGEST_LABEL = 40.0, 230.0
EXPECTED, WORST = "expected mean", "worst mean"


@dataclass(frozen=True)
class PriceRow:
    """One action as it is drawn; rewards in the user's sign. A `worst` or `guarantee` that is unknown is None.

    allowed: whether it could be recommended; it is grey where not, and its label says why.
    expected, low, high, worst: mean outcomes, over what the gaps may hold. outcome: between which values nine of ten
    single outcomes lie, None where that is unknown.
    """

    label: str
    expected: float
    low: float
    high: float
    worst: float | None
    guarantee: float | None = None
    chosen: bool = False
    allowed: bool = True
    outcome: tuple[float, float] | None = None


@dataclass(frozen=True)
class _Layout:
    """Labels left, the panel in the middle, two columns of figures right. bands: the top and bottom of each row."""

    width: float
    panel: Box
    scale: Scale
    figures: Figures
    expected_end: float
    name: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    bands: tuple[tuple[float, float], ...]

    @classmethod
    def of(
        cls, rows: Sequence[PriceRow], name: str, floor: float | None, figures: Figures, top: float, width: float
    ) -> "_Layout":
        room = min(
            max(SHORTEST_LABEL, *(text_width(one_line(row.label), 12, bold=True) for row in rows)), LONGEST_LABEL
        )
        heads = tuple(wrapped(one_line(name), room + 8, 11))
        labels = tuple(tuple(wrapped(one_line(row.label), room, 12, bold=True)) for row in rows)
        top += HEAD_LINE * max(len(heads) - 1, 0)
        edges = list(accumulate((max(ROW, LINE * len(label) + 13) for label in labels), initial=top))
        worst = max(text_width(figures(row.worst), 12, bold=True) for row in rows)
        expected = max(text_width(figures(row.expected), 12, bold=True) for row in rows)
        expected_end = width - MARGIN - max(worst, text_width(WORST, 11)) - 18
        right = expected_end - max(expected, text_width(EXPECTED, 11)) - 16
        panel = Box(MARGIN + room + 16, top, right, edges[-1])
        scale = Scale.around(_shown(rows, floor), panel.left + 8, panel.right - 8, most=9)
        bands = tuple(pairwise(edges))
        return cls(width, panel, scale, figures, expected_end, heads, labels, bands)


def price_rows(
    rows: Sequence[PriceRow],
    *,
    title: str,
    name: str,
    axis: str,
    floor: float | None = None,
    note: str = "",
    origin: float = 0.0,
    width: float = 760.0,
) -> Picture:
    """Rows from top to bottom as given, under the `name` of what they are. `note` is written below the legend; `origin`
    is what the numbers were computed as distances from."""
    room = width - 2 * MARGIN
    elements: list[Element] = [
        Text(MARGIN, MARGIN + 10 + 20 * at, line, 16, bold=True)
        for at, line in enumerate(wrapped(one_line(title), room, 16, bold=True))
    ]
    figures = Figures.of((number for row in rows for number in (row.expected, row.worst)), origin)
    layout = _Layout.of(rows, name, floor, figures, MARGIN + 20 * len(elements) + 24, width)
    panel = layout.panel
    elements += _bands(rows, layout)
    elements += across(layout.scale, axis, panel, width)
    elements += _column_heads(layout)
    if floor is not None:
        elements += _floor(layout.scale(floor), panel)
    for row, label, (top, bottom) in zip(rows, layout.labels, layout.bands, strict=True):
        y = (top + bottom) / 2
        elements += _marks(row, y, layout) + _words(row, label, y, layout)
    legend, bottom = _legend(rows, panel.bottom + 62, width)
    elements += legend
    for line in wrapped(one_line(note), room, 11):
        bottom += 18
        elements.append(Text(MARGIN, bottom, line, 11, colour=SOFT))
    return Picture(width, bottom + 16, tuple(elements), title, _description(rows, layout.figures))


def _shown(rows: Sequence[PriceRow], floor: float | None) -> list[float]:
    marks = ((row.expected, row.low, row.high, row.worst, row.guarantee, *(row.outcome or ())) for row in rows)
    numbers = [number for row in marks for number in row]
    return [number for number in (*numbers, floor) if _is_finite(number)] or [0.0]


def _is_finite(number: float | None) -> TypeGuard[float]:
    return number is not None and math.isfinite(number)


def _bands(rows: Sequence[PriceRow], layout: _Layout) -> list[Element]:
    left, right = MARGIN - 10, layout.width - MARGIN + 10
    chosen = [band for row, band in zip(rows, layout.bands, strict=True) if row.chosen]
    return [Area(Box(left, top, right, bottom), WASH, rounded=5) for top, bottom in chosen]


def _column_heads(layout: _Layout) -> list[Element]:
    y = layout.panel.top - 9
    first = y - HEAD_LINE * (len(layout.name) - 1)
    return [
        *(Text(MARGIN, first + HEAD_LINE * at, line, 11, colour=SOFT) for at, line in enumerate(layout.name)),
        Text(layout.expected_end, y, EXPECTED, 11, "end", SOFT),
        Text(layout.width - MARGIN, y, WORST, 11, "end", SOFT),
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
    elements: list[Element] = []
    if row.outcome is not None:
        elements.append(_whisker(scale(row.outcome[0]), scale(row.outcome[1]), y, colour))
    elements.append(Area(Box(low - 1, y - 4, high + 1, y + 4), colour, rounded=4, opacity=0.35))
    if _is_finite(row.worst):
        x = scale(row.worst)
        elements.append(Line(((x, y), (min(max(x, low), high), y)), colour, 1.5))
        elements.append(Point(x, y, "bar", 7, colour, f"worst plausible mean {figures(row.worst)}"))
    elements.append(Point(scale(row.expected), y, "circle", 5.5, colour, f"expected mean {figures(row.expected)}"))
    if _is_finite(row.guarantee):
        elements.append(Point(scale(row.guarantee), y, "diamond", 5, GUARANTEE, f"guaranteed {figures(row.guarantee)}"))
    return elements


def _whisker(low: float, high: float, y: float, colour: Colour) -> Line:
    """A thin line with a cap at either end."""
    points = ((low, y - 3), (low, y + 3), (low, y), (high, y), (high, y - 3), (high, y + 3))
    return Line(points, colour, 1)


def _words(row: PriceRow, label: Sequence[str], y: float, layout: _Layout) -> list[Element]:
    colour = INK if row.allowed else FADED
    first = y + 4 - LINE * (len(label) - 1) / 2
    return [
        *(Text(MARGIN, first + LINE * at, line, colour=colour, bold=row.chosen) for at, line in enumerate(label)),
        Text(layout.expected_end, y + 4, layout.figures(row.expected), 12, "end", colour, row.chosen),
        Text(layout.width - MARGIN, y + 4, layout.figures(row.worst), 12, "end", colour, row.chosen),
    ]


def _legend(rows: Sequence[PriceRow], y: float, width: float) -> tuple[list[Element], float]:
    """Each kind of mark with its word, in as many lines as it needs; and where it ends."""
    shown: list[tuple[str, Element]] = [
        (EXPECTED, Point(9, -4, "circle", 5.5, OTHERS)),
        ("mean in 5% to 95% of the plausible cases", Area(Box(0, -8, 18, 0), OTHERS, rounded=4, opacity=0.35)),
        ("worst plausible mean", Point(9, -4, "bar", 7, OTHERS)),
    ]
    if any(row.outcome is not None for row in rows):
        shown.append(("9 of 10 single outcomes", _whisker(0, 18, -4, OTHERS)))
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
    if isinstance(mark, Line):
        return replace(mark, points=tuple((left + x, top + y) for left, top in mark.points))
    assert isinstance(mark, Point)
    return replace(mark, x=mark.x + x, y=mark.y + y)


def _description(rows: Sequence[PriceRow], figures: Figures) -> str:
    """The picture in words, for people who cannot see it."""
    return "; ".join(
        f"{one_line(row.label)}{' (recommended)' if row.chosen else ''}: expected mean {figures(row.expected)}, "
        f"mean in 5% to 95% of the plausible cases {figures(row.low)} to {figures(row.high)}, "
        f"worst plausible mean {figures(row.worst)}{_single(row, figures)}"
        for row in rows
    )


def _single(row: PriceRow, figures: Figures) -> str:
    if row.outcome is None:
        return ""
    return f", 9 of 10 single outcomes {figures(row.outcome[0])} to {figures(row.outcome[1])}"
