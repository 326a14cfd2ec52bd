"""The picture of mean reward against the worst rewards: all rows, what the paper prints, and the aim."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from experiments.mnist.order import family, rank
from experiments.mnist.settings import PRINTED
from experiments.pages import Results
from prudent.pictures import Picture
from prudent.pictures.axes import MARGIN, Scale, across, upwards
from prudent.pictures.palette import FADED, GUARANTEE, INK, PAPER, SERIES, SOFT, Colour
from prudent.pictures.picture import SHAPES, Area, Box, Element, Line, Point, Shape, Text
from prudent.pictures.text import wrapped

AIM = -0.9
"""The mean to reach with no reward below −7."""
BELOW_UNIT, MEAN_UNIT = 0.05, 0.2
COUNTS = (0, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
REWARDS = (-9, -6, -4, -3, -2, -1.5, -1, -0.7, -0.5, -0.4, -0.3, -0.2, -0.1, 0)
DASHES = {"TailAverse(risk)": "", "Conservative(risk)": "7 4", "Conservative(c)": "2 4", "PerAttribute(c)": "9 4 2 4"}
KEY_COLUMNS, KEY_LINE, KEY_GAP, HEAD_LINES = 3, 16.0, 30.0, 1.5


def by_model(rows: Sequence[Results]) -> dict[str, list[Results]]:
    """The rows of each model in the order of their caution; what needs no model stands together."""
    found: dict[str, list[Results]] = {}
    for row in rows:
        found.setdefault("no model" if row["group"] == "trivial" else row["model"], []).append(row)
    return {model: sorted(own, key=lambda row: rank(row["strategy"])) for model, own in found.items()}


@dataclass(frozen=True)
class _Spot:
    """A row on the canvas; its number stands beside it and in the key."""

    x: float
    y: float
    number: int
    name: str
    mean: float
    below: float
    colour: Colour
    shape: Shape
    hollow: bool = False


def stretched(number: float, unit: float) -> float:
    """Even near 0 and logarithmic far from it; `unit` is where the one becomes the other."""
    return math.copysign(math.log1p(abs(number) / unit), number)


def frontier_picture(rows: Sequence[Results], width: float = 980.0) -> Picture:
    title = "Mean reward against rewards below −7"
    models = by_model(rows)
    panel = Box(MARGIN + 36, MARGIN + 58, width - MARGIN, MARGIN + 58 + 520)
    over, up = _frontier_scales(rows, panel)
    groups = _spots(models, over, up)
    spots = [spot for own in groups.values() for spot in own]
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, title, 16, bold=True)]
    elements.append(Text(MARGIN, panel.top - 14, "mean reward", colour=SOFT))
    elements += upwards(up, panel) + across(over, "rewards below −7 in 1000", panel, width)
    elements += _aim(over, up, panel)
    for model, own in models.items():
        elements += _paths(own, groups[model])
    elements += [mark for spot in reversed(spots) for mark in _mark(spot, 4.4)]
    elements += _numbers(spots, panel)
    note = (
        f"{_replications(rows)}. Both axes are even near 0 and logarithmic further out. Lines join the "
        "strategies of one model from bold to careful: TailAverse whole, Conservative by risk dashed, by a fixed c "
        "dotted."
    )
    y = panel.bottom + 58
    for line in wrapped(note, width - 2 * MARGIN, 11):
        elements.append(Text(MARGIN, y, line, 11, colour=SOFT))
        y += 15
    key, bottom = _key(groups, y + 18, width)
    told = "; ".join(f"{spot.name}: mean {spot.mean:.2f}, {spot.below:.2f} below −7" for spot in spots)
    return Picture(width, bottom + 20, (*elements, *key), title, told)


def _frontier_scales(rows: Sequence[Results], panel: Box) -> tuple[Scale, Scale]:
    pairs = [(AIM, 0.0), *_printed().values(), *((row["mean"], row["below"]) for row in rows)]
    below = [stretched(own, BELOW_UNIT) for _, own in pairs]
    means = [stretched(own, MEAN_UNIT) for own, _ in pairs]
    over = Scale(-0.3, max(below) + 0.3, panel.left, panel.right, (), (), "")
    up = Scale(min(means) - 0.12, max(means) + 0.16, panel.bottom, panel.top, (), (), "")
    return _with_ticks(over, COUNTS, BELOW_UNIT), _with_ticks(up, REWARDS, MEAN_UNIT)


def _with_ticks(scale: Scale, marks: Sequence[float], unit: float) -> Scale:
    inside = [mark for mark in marks if scale.low <= stretched(mark, unit) <= scale.high]
    labels = tuple(f"{mark:g}".replace("-", "−") for mark in inside)
    ticks = tuple(stretched(mark, unit) for mark in inside)
    return Scale(scale.low, scale.high, scale.start, scale.end, ticks, labels, "")


def _spots(models: dict[str, list[Results]], over: Scale, up: Scale) -> dict[str, list[_Spot]]:
    """The rows of each model and the printed ones, numbered in the order of the key."""
    groups: dict[str, list[_Spot]] = {}
    number, drawn = 0, 0
    for model, rows in models.items():
        grey = all(row["group"] == "trivial" for row in rows)
        colour, shape = (FADED, "circle") if grey else (SERIES[drawn % len(SERIES)], SHAPES[drawn % 5])
        drawn += not grey
        groups[model] = []
        for row in rows:
            number += 1
            x, y = over(stretched(row["below"], BELOW_UNIT)), up(stretched(row["mean"], MEAN_UNIT))
            groups[model].append(_Spot(x, y, number, row["name"], row["mean"], row["below"], colour, shape))
    printed = []
    for name, (mean, below) in _printed().items():
        number += 1
        x, y = over(stretched(below, BELOW_UNIT)), up(stretched(mean, MEAN_UNIT))
        printed.append(_Spot(x, y, number, name, mean, below, INK, "circle", hollow=True))
    return groups | {"as printed in the paper": printed}


def _printed() -> dict[str, tuple[float, float]]:
    return {name: (mean, below) for name, (mean, _, below, _) in PRINTED.items()}


def _aim(over: Scale, up: Scale, panel: Box) -> list[Element]:
    """The corner to reach: nothing below −7 and a mean of −0.9 or better."""
    corner = Box(panel.left, panel.top, over(0) + 9, up(stretched(AIM, MEAN_UNIT)))
    words = f"aim: none below −7, mean {AIM:g} or better".replace("-", "−")
    return [
        Area(corner, GUARANTEE, rounded=3, opacity=0.18),
        Text(corner.right + 5, panel.top + 14, words, 11, colour=GUARANTEE, halo=True),
    ]


def _paths(rows: Sequence[Results], spots: Sequence[_Spot]) -> list[Element]:
    """From expectation, which is no caution at all, through each family of strategies."""
    families = [family(row["strategy"]) for row in rows]
    bold = [spot for spot, own in zip(spots, families, strict=True) if own == "MaximumExpectedReward"]
    elements: list[Element] = []
    for wanted, dash in DASHES.items():
        own = [spot for spot, name in zip(spots, families, strict=True) if name == wanted]
        if own and len(own) + len(bold) > 1:
            line = tuple((spot.x, spot.y) for spot in (*bold, *own))
            elements.append(Line(line, own[0].colour, 1.3, dash))
    return elements


def _mark(spot: _Spot, size: float) -> list[Element]:
    tip = f"{spot.name}: mean {spot.mean:.3f}, {spot.below:.2f} in 1000 below −7".replace("-", "−")
    mark = Point(spot.x, spot.y, spot.shape, size, spot.colour, tip)
    return [mark, Point(spot.x, spot.y, spot.shape, size - 2.2, PAPER, tip)] if spot.hollow else [mark]


def _numbers(spots: Sequence[_Spot], panel: Box) -> list[Element]:
    """Each spot's number in the nearest free place around it, with a hair line where that is not beside it.

    Where all places are taken it is left out; the key and the tip of the mark still name the spot.
    """
    taken = [Box(spot.x - 5, spot.y - 5, spot.x + 5, spot.y + 5) for spot in spots]
    elements: list[Element] = []
    for spot in spots:
        best = next((text for text in _around(spot) if _free(text.box, taken, panel)), None)
        if best is None:
            continue
        box = best.box
        taken.append(Box(box.left - 2, box.top, box.right + 2, box.bottom))
        x, y = best.x, best.y - 4
        if math.hypot(x - spot.x, y - spot.y) > 16:
            elements.append(Line(((spot.x, spot.y), (x, y)), FADED, 0.6))
        elements.append(best)
    return elements


def _free(box: Box, taken: Sequence[Box], panel: Box) -> bool:
    return panel.holds(box) and not any(box.overlaps(other) for other in taken)


def _around(spot: _Spot) -> list[Text]:
    turns = [math.pi * (at / 8) for at in (0, 14, 2, 12, 4, 8, 10, 6, 15, 1, 13, 3, 11, 5, 9, 7)]
    places = [
        (spot.x + far * math.cos(turn), spot.y + far * math.sin(turn) + 4)
        for far in (12.0, 15.0, 22.0, 30.0, 40.0, 52.0, 66.0)
        for turn in turns
    ]
    return [Text(x, y, str(spot.number), 10, "middle", spot.colour, halo=True) for x, y in places]


def _key(groups: dict[str, list[_Spot]], top: float, width: float) -> tuple[list[Element], float]:
    """Numbers, names and figures of all rows, model by model, in columns that end about level; and where they end."""
    each = (width - 2 * MARGIN - KEY_GAP * (KEY_COLUMNS - 1)) / KEY_COLUMNS
    lines = sum(map(len, groups.values())) + HEAD_LINES * (len(groups) + KEY_COLUMNS - 1)
    foot = top + KEY_LINE * lines / KEY_COLUMNS
    elements: list[Element] = []
    left, y, lowest = MARGIN, top, top
    for model, spots in groups.items():
        begins = True
        for spot in spots:
            if y + (HEAD_LINES * KEY_LINE if begins else 0.0) > foot:
                left, y, begins = left + each + KEY_GAP, top, True
            if begins:
                y += (HEAD_LINES - 1) * KEY_LINE if y > top else 0.0
                elements += _key_head(model, left, y, each, first=y == top)
                y += KEY_LINE
            elements += _key_line(model, spot, left, y, each)
            y, begins, lowest = y + KEY_LINE, False, max(lowest, y)
    return elements, lowest


def _key_head(model: str, left: float, y: float, each: float, first: bool) -> list[Element]:
    name = Text.fitted(left, y, model, each - (108 if first else 0), bold=True)
    if not first:
        return [name]
    return [name, Text(left + each - 52, y, "mean", 10, "end", SOFT), Text(left + each, y, "below −7", 10, "end", SOFT)]


def _key_line(model: str, spot: _Spot, left: float, y: float, each: float) -> list[Element]:
    name = spot.name.removeprefix(model).lstrip(" ,") or spot.name
    return [
        Text(left + 14, y, str(spot.number), 10, "end", SOFT),
        *_mark(replace(spot, x=left + 24, y=y - 4), 4.2),
        Text.fitted(left + 34, y, name, each - 126, 11),
        Text(left + each - 52, y, f"{spot.mean:.2f}".replace("-", "−"), 11, "end"),
        Text(left + each, y, f"{spot.below:.2f}", 11, "end"),
    ]


def _replications(rows: Sequence[Results]) -> str:
    """
    >>> _replications([{"replications": 2}, {"replications": 100}])
    '2 to 100 replications of a row'
    """
    counts = sorted({row["replications"] for row in rows})
    return f"{counts[0]} to {counts[-1]} replications of a row" if len(counts) > 1 else f"{counts[0]} replications"
