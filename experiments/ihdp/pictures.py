"""Two pictures of the results: the error against the share of missing cells, and how errors are distributed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from experiments.command import Files
from experiments.ihdp.settings import GROUPS
from experiments.results import Results
from prudent.show import (
    CHOSEN,
    FADED,
    GUARANTEE,
    INK,
    MARGIN,
    OTHERS,
    SERIES,
    SOFT,
    WASH,
    Area,
    Box,
    Colour,
    Element,
    Line,
    Picture,
    Point,
    Scale,
    Shape,
    Text,
    across,
    text_width,
    upwards,
    wrapped,
)

TOO_FAR = 2.7
"""A method whose error exceeds so many times that of complete data at any share is named below, not drawn."""
APART = 16.0
LINE_SHAPES: tuple[Shape, ...] = ("circle", "square", "diamond", "triangle", "cross")
ROW, GROUP_GAP = 23.0, 9.0
GROUP_COLOURS: dict[str, Colour] = {"trivial": FADED, "rival": OTHERS, "ours": CHOSEN, "limit": GUARANTEE}


def files(out: Path) -> Files:
    """Both pictures of the stored results of the first page, where it has rows."""
    page = json.loads((out / "ihdp.json").read_text(encoding="utf-8"))["pages"]["shared"]
    methods, count = best_variants(page["shares"]), page["replications"]
    if not methods:
        return {}
    return {
        "pictures/errors.svg": errors_picture(methods, count).svg(),
        "pictures/distribution.svg": distribution_picture(methods, count).svg(),
    }


@dataclass(frozen=True)
class Drawn:
    """One method by its best variant: its row at every share."""

    name: str
    group: str
    rows: dict[float, Results]

    @property
    def errors(self) -> list[float]:
        return [row["error"] for row in self.rows.values()]


def best_variants(shares: Results) -> list[Drawn]:
    """Methods that were run at every share, each by the variant with the smallest mean error over the shares."""
    methods: dict[str, list[Drawn]] = {}
    tables = list(shares.values())
    for name in tables[0] if tables else ():
        # readings of the paper's models are in the tables; most would be off the scale
        if all(name in rows for rows in tables) and tables[0][name]["group"] != "paper":
            rows = {float(share): rows[name] for share, rows in shares.items()}
            methods.setdefault(tables[0][name]["method"], []).append(Drawn(name, tables[0][name]["group"], rows))
    best = [min(variants, key=lambda variant: mean(variant.errors)) for variants in methods.values()]
    return sorted(best, key=lambda method: GROUPS.index(method.group))  # type: ignore[arg-type]


# --- the error against the share ---


@dataclass(frozen=True)
class _Style:
    colour: Colour
    shape: Shape
    thick: float


def errors_picture(methods: Sequence[Drawn], replications: int, width: float = 820.0, height: float = 500.0) -> Picture:
    limit = min(
        (method for method in methods if method.group == "limit"), key=lambda method: mean(method.errors), default=None
    )
    others = [method for method in methods if method.group != "limit"]
    far = [method for method in others if limit is not None and max(method.errors) > TOO_FAR * mean(limit.errors)]
    shown = [method for method in others if method not in far]
    title = "Error of the average effect against the share of cells that are missing"
    note = f"Mean |τ̂ − 4| over {replications} replications; each method by its best variant."
    if far:
        away = ", ".join(f"{method.name} ({_range(method.errors)})" for method in far)
        note += f" Too far up to be drawn: {away}."
    notes = wrapped(note, width - 2 * MARGIN, 11)
    labels = max(text_width(method.name, 12, bold=True) for method in [*shown, *([limit] if limit else [])])
    panel = Box(MARGIN + 40, MARGIN + 56, width - MARGIN - labels - 34, height - 62 - 16 * len(notes))
    numbers = [error for method in [*shown, *([limit] if limit else [])] for error in method.errors]
    up = Scale.around(numbers, panel.bottom, panel.top)
    right = _shares_scale(sorted(methods[0].rows), panel)
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, title, 16, bold=True)]
    elements.append(Text(MARGIN, panel.top - 14, "mean |τ̂ − 4|", colour=SOFT))
    elements += upwards(up, panel) + across(right, "cells missing, in %", panel, width)
    ends: list[tuple[float, str, Colour, bool]] = []
    if limit is not None:
        y = up(mean(limit.errors))
        elements.append(Line(((panel.left, y), (panel.right, y)), INK, 1.5, "6 5"))
        ends.append((y, limit.name, INK, False))
    for method, style in reversed(_styles(shown)):  # what matters is drawn last, above the others
        spots = tuple((right(100 * share), up(row["error"])) for share, row in method.rows.items())
        elements.append(Line(spots, style.colour, style.thick))
        size = 5.0 if style.thick > 2 else 4.0 if style.thick > 1.2 else 2.5
        elements += [
            Point(*spot, style.shape, size, style.colour, f"{method.name}: {error:.3f}")
            for spot, error in zip(spots, method.errors, strict=True)
        ]
        ends.append((spots[-1][1], method.name, style.colour, method.group == "ours"))
    elements += _end_labels(ends, panel)
    for at, line in enumerate(notes):
        elements.append(Text(MARGIN, panel.bottom + 56 + 16 * at, line, 11, colour=SOFT))
    words = "; ".join(f"{method.name}: " + ", ".join(f"{error:.3f}" for error in method.errors) for method in methods)
    return Picture(width, height, tuple(elements), title, words)


def _range(numbers: Sequence[float]) -> str:
    low, high = f"{min(numbers):.2f}", f"{max(numbers):.2f}"
    return low if low == high else f"{low} to {high}"


def _shares_scale(shares: Sequence[float], panel: Box) -> Scale:
    """Ticks where there are measurements; a single share stands in the middle."""
    marks = tuple(100 * share for share in shares)
    air = 0.05 * (marks[-1] - marks[0]) or 5.0
    labels = tuple(f"{mark:g}" for mark in marks)
    return Scale(marks[0] - air, marks[-1] + 0.3 * air, panel.left, panel.right, marks, labels, "")


def _styles(methods: Sequence[Drawn]) -> list[tuple[Drawn, _Style]]:
    """Ours thick, then the best rivals each in its own colour; what is left is thin and grey."""
    order = sorted(methods, key=lambda method: (method.group != "ours", method.group == "trivial", mean(method.errors)))
    styled = []
    for at, method in enumerate(order):
        if at < len(SERIES) and method.group != "trivial":
            thick = 2.8 if method.group == "ours" else 1.8
            styled.append((method, _Style(SERIES[at], LINE_SHAPES[at % len(LINE_SHAPES)], thick)))
        else:
            styled.append((method, _Style(FADED, "circle", 1.0)))
    return styled


def _end_labels(ends: Sequence[tuple[float, str, Colour, bool]], panel: Box) -> list[Element]:
    """Each line's name right of the panel, moved apart where names would touch, with a thin line to where it ends."""
    order = sorted(ends, key=lambda end: end[0])
    places = spread([end[0] for end in order], APART, panel.top, panel.bottom)
    elements: list[Element] = []
    for (y, name, colour, ours), place in zip(order, places, strict=True):
        elements.append(Line(((panel.right + 3, y), (panel.right + 19, place)), FADED, 0.7))
        elements.append(Text(panel.right + 24, place + 4, name, 12, colour=colour, bold=ours))
    return elements


def spread(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Ascending places at least `apart` from each other, near those wanted, and between `low` and `high` if they fit.

    >>> spread([1.0, 1.0, 9.0], 2.0, 0.0, 10.0)
    [0.0, 2.0, 9.0]
    """
    clusters: list[list[float]] = []  # first place, count, sum of wanted first places
    for at in wanted:
        clusters.append([at, 1.0, at])
        while len(clusters) > 1 and clusters[-2][0] + clusters[-2][1] * apart > clusters[-1][0]:
            _, count, total = clusters.pop()
            before = clusters[-1]
            before[2] += total - count * before[1] * apart
            before[1] += count
            before[0] = before[2] / before[1]
    places = [first + step * apart for first, count, _ in clusters for step in range(int(count))]
    for at in range(len(places)):
        places[at] = max(places[at], low + at * apart)
    for at in range(len(places)):
        places[-1 - at] = min(places[-1 - at], high - at * apart)
    return places


# --- the distribution of errors ---


def distribution_picture(methods: Sequence[Drawn], replications: int, width: float = 980.0) -> Picture:
    title = "How far the estimated effect is from the true one, in single replications"
    labels = max(text_width(method.name, 12, bold=True) for method in methods)
    shares = sorted(methods[0].rows)
    top = MARGIN + 62
    places = _row_places(methods, top)
    bottom = places[-1] + ROW / 2 + 4
    panels = _panels(len(shares), MARGIN + labels + 14, width, top, bottom)
    ends = [number for method in methods for row in method.rows.values() for number in row["signed_quantiles"]]
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, title, 16, bold=True)]
    ours = [y for method, y in zip(methods, places, strict=True) if method.group == "ours"]
    if ours:
        band = Box(MARGIN - 10, min(ours) - ROW / 2, width - MARGIN + 10, max(ours) + ROW / 2)
        elements.append(Area(band, WASH, rounded=5))
    for method, y in zip(methods, places, strict=True):
        elements.append(Text(MARGIN, y + 4, method.name, bold=method.group == "ours"))
    for share, (panel, figures) in zip(shares, panels, strict=True):
        scale = Scale.around(ends, panel.left + 6, panel.right - 6, most=6)
        elements.append(Text(panel.left, top - 12, f"{100 * share:g} % missing", 12, bold=True))
        elements.append(Text(figures, top - 12, "mean |τ̂ − 4|", 10, "end", SOFT))
        elements += across(scale, "τ̂ − 4", panel, width) if len(shares) == 1 else _axis(scale, panel)
        elements.append(Line(((scale(0.0), top - 4), (scale(0.0), bottom)), SOFT, 1.2))
        for method, y in zip(methods, places, strict=True):
            elements += _box(method.rows[share], GROUP_COLOURS[method.group], y, scale)
            bold = method.group == "ours"
            elements.append(Text(figures, y + 4, f"{method.rows[share]['error']:.3f}", 11, "end", INK, bold))
    note = (
        f"{replications} replications; each method by its best variant. Point: median; bar: the middle half; line: all "
        "but the smallest and the largest twentieth."
    )
    for at, line in enumerate(wrapped(note, width - 2 * MARGIN, 11)):
        elements.append(Text(MARGIN, bottom + 56 + 16 * at, line, 11, colour=SOFT))
    words = "; ".join(f"{method.name}: middle half {_middle_half(method)}" for method in methods)
    return Picture(width, bottom + 76, tuple(elements), title, words)


def _row_places(methods: Sequence[Drawn], top: float) -> list[float]:
    """The middle of every row; a little air between groups."""
    places, y, before = [], top + ROW / 2 + 2, methods[0].group
    for method in methods:
        y += GROUP_GAP if method.group != before else 0.0
        places.append(y)
        y, before = y + ROW, method.group
    return places


def _panels(count: int, left: float, width: float, top: float, bottom: float) -> list[tuple[Box, float]]:
    """Panels side by side, and where the figures right of each end."""
    figures, between = 46.0, 26.0
    each = (width - MARGIN - left - between * (count - 1)) / count
    starts = [left + at * (each + between) for at in range(count)]
    return [(Box(start, top, start + each - figures, bottom), start + each) for start in starts]


def _axis(scale: Scale, panel: Box) -> list[Element]:
    """The same axis below each of several panels, with its short title in the middle of the panel."""
    elements = [element for element in across(scale, "", panel, 2 * panel.right) if getattr(element, "text", "x")]
    return [*elements, Text((panel.left + panel.right) / 2, panel.bottom + 35, "τ̂ − 4", 12, "middle")]


def _box(row: Results, colour: Colour, y: float, scale: Scale) -> list[Element]:
    lowest, low, middle, high, highest = map(scale, row["signed_quantiles"])
    words = f"median {row['signed_quantiles'][2]:+.3f}"
    return [
        Line(((lowest, y), (highest, y)), colour, 1.4),
        Area(Box(low, y - 5, high, y + 5), colour, rounded=2.5, opacity=0.45),
        Point(middle, y, "circle", 3.6, colour, words),
    ]


def _middle_half(method: Drawn) -> str:
    halves = [(row["signed_quantiles"][1], row["signed_quantiles"][3]) for row in method.rows.values()]
    return ", ".join(f"{low:+.2f} to {high:+.2f}" for low, high in halves)
