"""Charts of named series: points, joined or not, with a legend and with labels that do not overlap."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real

from prudent.errors import InputProblem
from prudent.show.pictures.axes import MARGIN, TICK_SIZE, Scale, across, named, upwards
from prudent.show.pictures.palette import INK, SERIES, SOFT, Colour
from prudent.show.pictures.picture import SHAPES, Box, Element, Line, Picture, Point, Shape, Text
from prudent.show.text import one_line, shortened, text_width, wrapped

DASHES = ("", "7 4", "2 4")


@dataclass(frozen=True)
class Series:
    """Points (x, y) or (x, y, label) under one name, joined in their order or not."""

    name: str
    points: Sequence[tuple[float, float] | tuple[float, float, str]]
    joined: bool = True


@dataclass(frozen=True)
class Style:
    """How a series is drawn."""

    colour: Colour
    shape: Shape
    dash: str


@dataclass(frozen=True)
class Spot:
    """A point on the canvas with the label to be written beside it."""

    x: float
    y: float
    label: str
    style: Style

    @property
    def box(self) -> Box:
        return Box(self.x - 6, self.y - 6, self.x + 6, self.y + 6)


def scatter_lines(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    title: str,
    width: float = 720.0,
    height: float = 460.0,
    log_x: bool = False,
) -> Picture:
    """A chart of several series. A point's label is left out where it would cover another; points that are not finite
    are left out too, and a line is broken there. With `log_x` the horizontal axis is logarithmic.

    >>> chart = scatter_lines([Series("careful", [(0, 1.0), (1, 0.5, "risk 0.1")])], "gaps", "reward", "One line")
    >>> [text.text for text in chart.texts if "risk" in text.text]
    ['risk 0.1']
    """
    finite = [(point[0], point[1]) for line in series for point in line.points if _is_finite(point)]
    if not finite:
        raise InputProblem("A chart needs at least one point with finite coordinates; 'series' has none.")
    heading, top = _heading(title, series, width)
    y_scale = Scale.around([y for _, y in finite], height - 56, top)
    left = MARGIN + max(text_width(label, TICK_SIZE) for label in y_scale.labels) + 8
    panel = Box(left, top, width - MARGIN, height - 56)
    if log_x and min(x for x, _ in finite) <= 0:
        raise InputProblem("A logarithmic axis shows positive numbers only; 'series' has others, so leave log_x out.")
    x_scale = (Scale.of_magnitudes if log_x else Scale.around)([x for x, _ in finite], panel.left, panel.right)
    lines, spots = _placed(series, x_scale, y_scale)
    named_y = Text.fitted(MARGIN, top - 12, named(y_label, y_scale), width - 2 * MARGIN, colour=SOFT)
    elements = [*heading, named_y, *upwards(y_scale, panel), *across(x_scale, x_label, panel, width), *lines]
    elements += [Point(spot.x, spot.y, spot.style.shape, 4.5, spot.style.colour, spot.label) for spot in spots]
    elements += labels_beside(spots, [line.points for line in lines], panel)
    description = f"{y_label} against {x_label}: " + ", ".join(line.name for line in series)
    return Picture(width, height, tuple(elements), title, description)


def _is_finite(point: Sequence[object]) -> bool:
    return all(isinstance(number, Real) and math.isfinite(number) for number in point[:2])


def _style(index: int) -> Style:
    dash = DASHES[index // len(SERIES) % len(DASHES)]
    return Style(SERIES[index % len(SERIES)], SHAPES[index % len(SHAPES)], dash)


def _heading(title: str, series: Sequence[Series], width: float) -> tuple[list[Element], float]:
    """The title, wrapped, and the legend in as many rows as it needs; and where the panel may begin."""
    room = width - 2 * MARGIN
    elements: list[Element] = []
    y = MARGIN + 10
    for line in wrapped(one_line(title), room, 16, bold=True):
        elements.append(Text(MARGIN, y, line, 16, bold=True))
        y += 20
    y += 4
    x = MARGIN
    for index, line in enumerate(series):
        name = shortened(one_line(line.name), room - 34, 12)
        needed = 34 + text_width(name, 12)
        if x > MARGIN and x + needed > width - MARGIN:
            x, y = MARGIN, y + 19
        style = _style(index)
        if line.joined:
            elements.append(Line(((x, y - 4), (x + 26, y - 4)), style.colour, 2, style.dash))
        elements += [Point(x + 13, y - 4, style.shape, 4.5, style.colour), Text(x + 33, y, name)]
        x += needed + 20
    return elements, y + 40


def _placed(series: Sequence[Series], x_scale: Scale, y_scale: Scale) -> tuple[list[Line], list[Spot]]:
    lines: list[Line] = []
    spots: list[Spot] = []
    for index, named_points in enumerate(series):
        style = _style(index)
        for run in _runs(named_points.points):
            placed = [Spot(x_scale(p[0]), y_scale(p[1]), one_line(p[2]) if len(p) > 2 else "", style) for p in run]
            spots += placed
            if named_points.joined and len(placed) > 1:
                lines.append(Line(tuple((spot.x, spot.y) for spot in placed), style.colour, 2, style.dash))
    return lines, spots


def _runs(points: Iterable[tuple]) -> list[list[tuple]]:
    """Consecutive points that are all finite."""
    runs: list[list[tuple]] = [[]]
    for point in points:
        if _is_finite(point):
            runs[-1].append(point)
        else:
            runs.append([])
    return [run for run in runs if run]


def labels_beside(spots: list[Spot], lines: list[tuple[tuple[float, float], ...]], panel: Box) -> list[Element]:
    """A label beside each point where no other label or point is; of several free places the one crossed by the fewest
    lines."""
    taken = [spot.box for spot in spots]
    elements: list[Element] = []
    for spot in spots:
        free = [
            text
            for text in _candidates(spot)
            if panel.holds(text.box) and not any(text.box.overlaps(box) for box in taken if box != spot.box)
        ]
        if spot.label and free:
            best = min(free, key=lambda text: sum(_crosses(line, text.box) for line in lines))
            taken.append(best.box)
            elements.append(best)
    return elements


def _candidates(spot: Spot) -> list[Text]:
    places = [(9, 4, "start"), (0, -10, "middle"), (0, 19, "middle"), (-9, 4, "end")]
    corners = [(7, -7, "start"), (7, 15, "start"), (-7, -7, "end"), (-7, 15, "end")]
    return [
        Text(spot.x + dx, spot.y + dy, spot.label, 11, anchor, INK, halo=True)  # type: ignore[arg-type]
        for dx, dy, anchor in places + corners
    ]


def _crosses(line: tuple[tuple[float, float], ...], box: Box) -> bool:
    """Whether a line runs through a box, checked every few units along it."""
    for (x0, y0), (x1, y1) in pairwise(line):
        steps = int(math.hypot(x1 - x0, y1 - y0) / 3) + 1
        for step in range(steps + 1):
            x, y = x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps
            if box.left < x < box.right and box.top < y < box.bottom:
                return True
    return False
