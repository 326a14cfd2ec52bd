"""The picture of mean reward against the worst rewards: all rows, what the paper prints, and the aim."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiments.results import Results
from experiments.strategy_order import family, rank
from prudent.show import (
    FADED,
    GUARANTEE,
    INK,
    MARGIN,
    PAPER,
    SERIES,
    SHAPES,
    SOFT,
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
    upwards,
    wrapped,
)

DASHES = {"TailAverse(risk)": "", "Conservative(risk)": "7 4", "Conservative(c)": "2 4", "PerAttribute(c)": "9 4 2 4"}
KEY_COLUMNS, KEY_LINE, KEY_GAP, HEAD_LINES = 3, 16.0, 30.0, 1.5


@dataclass(frozen=True)
class Axis:
    """Linear near `best` and logarithmic far from it; `unit` is the distance where one becomes the other."""

    unit: float
    marks: tuple[float, ...]
    best: float = 0.0

    def __call__(self, number: float) -> float:
        apart = number - self.best
        return math.copysign(math.log1p(abs(apart) / self.unit), apart)

    def ticked(self, low: float, high: float, start: float, end: float) -> Scale:
        inside = [mark for mark in self.marks if low <= self(mark) <= high]
        labels = tuple(f"{mark:g}".replace("-", "−") for mark in inside)
        return Scale(low, high, start, end, tuple(self(mark) for mark in inside), labels, "")


@dataclass(frozen=True)
class Aim:
    """The corner to reach: at most `below` rewards below the threshold, and at least `mean`."""

    mean: float
    below: float
    words: str


@dataclass(frozen=True)
class Frontier:
    """What is particular to an experiment.

    threshold: a reward below it is a disaster. of: the unit in which these are counted, such as "in 100". printed: mean
    and count of what the paper prints, by name. together: titles of groups whose rows stand together, whatever their
    model.
    """

    title: str
    threshold: str
    of: str
    means: Axis
    belows: Axis
    aim: Aim | None = None
    printed: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    together: Mapping[str, str] = field(default_factory=lambda: {"trivial": "no model"})

    def by_model(self, rows: Sequence[Results]) -> dict[str, list[Results]]:
        """The rows of each model in the order of their caution; some groups stand together as they are."""
        models: dict[str, list[Results]] = {}
        for row in rows:
            models.setdefault(self.together.get(row["group"], row["model"]), []).append(row)
        unsorted = set(self.together.values())
        return {
            model: members if model in unsorted else sorted(members, key=lambda row: rank(row["strategy"]))
            for model, members in models.items()
        }

    def picture(self, rows: Sequence[Results], width: float = 980.0) -> Picture:
        models = self.by_model(rows)
        panel = Box(MARGIN + 36, MARGIN + 58, width - MARGIN, MARGIN + 58 + 520)
        over, up = self._scales(rows, panel)
        groups = self._spots(models, over, up)
        spots = [spot for group in groups.values() for spot in group]
        elements: list[Element] = [Text(MARGIN, MARGIN + 10, self.title, 16, bold=True)]
        elements.append(Text(MARGIN, panel.top - 14, "mean reward", colour=SOFT))
        elements += upwards(up, panel) + across(over, f"rewards below {self.threshold} {self.of}", panel, width)
        elements += self._aim(over, up, panel)
        for model, members in models.items():
            elements += _paths(members, groups[model])
        elements += [mark for spot in reversed(spots) for mark in self._mark(spot, 4.4)]
        elements += _numbers(spots, panel)
        y = panel.bottom + 58
        for line in wrapped(self._note(rows), width - 2 * MARGIN, 11):
            elements.append(Text(MARGIN, y, line, 11, colour=SOFT))
            y += 15
        key, bottom = self._key(groups, y + 18 + KEY_LINE, width)
        words = "; ".join(
            f"{spot.name}: mean {spot.mean:.2f}, {spot.below:.2f} below {self.threshold}" for spot in spots
        )
        return Picture(width, bottom + 20, (*elements, *key), self.title, words)

    def _note(self, rows: Sequence[Results]) -> str:
        near = "0" if self.means.best == 0 else "the best there is"
        return (
            f"{_replications(rows)}. Both axes are linear near {near} and logarithmic further out. Lines join the "
            "strategies of one model from bold to careful: TailAverse solid, Conservative by risk dashed, by a fixed c "
            "dotted."
        )

    def _scales(self, rows: Sequence[Results], panel: Box) -> tuple[Scale, Scale]:
        aims = [(self.aim.mean, self.aim.below)] if self.aim else []
        pairs = [*aims, *self.printed.values(), *((row["mean"], row["below"]) for row in rows)]
        means, belows = [self.means(mean) for mean, _ in pairs], [self.belows(below) for _, below in pairs]
        over = self.belows.ticked(-0.3, max(belows) + 0.3, panel.left, panel.right)
        return over, self.means.ticked(min(means) - 0.12, max(means) + 0.16, panel.bottom, panel.top)

    def _spots(self, models: dict[str, list[Results]], over: Scale, up: Scale) -> dict[str, list["_Spot"]]:
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
                x, y = over(self.belows(row["below"])), up(self.means(row["mean"]))
                groups[model].append(_Spot(x, y, number, row["name"], row["mean"], row["below"], colour, shape))
        printed = []
        for name, (mean, below) in self.printed.items():
            number += 1
            x, y = over(self.belows(below)), up(self.means(mean))
            printed.append(_Spot(x, y, number, name, mean, below, INK, "circle", hollow=True))
        return groups | ({"as printed in the paper": printed} if printed else {})

    def _aim(self, over: Scale, up: Scale, panel: Box) -> list[Element]:
        if self.aim is None:
            return []
        # a corner at nothing at all still needs room for its marks
        right = over(self.belows(self.aim.below)) + (0 if self.aim.below else 9)
        corner = Box(panel.left, panel.top, right, up(self.means(self.aim.mean)))
        return [
            Area(corner, GUARANTEE, rounded=3, opacity=0.18),
            Text(corner.right + 5, panel.top + 14, self.aim.words, 11, colour=GUARANTEE, halo=True),
        ]

    def _mark(self, spot: "_Spot", size: float) -> list[Element]:
        tip = f"{spot.name}: mean {spot.mean:.3f}, {spot.below:.2f} {self.of} below {self.threshold}".replace("-", "−")
        mark = Point(spot.x, spot.y, spot.shape, size, spot.colour, tip)
        return [mark, Point(spot.x, spot.y, spot.shape, size - 2.2, PAPER, tip)] if spot.hollow else [mark]

    def _key(self, groups: dict[str, list["_Spot"]], top: float, width: float) -> tuple[list[Element], float]:
        """Numbers, names and figures of all rows in columns that end about level; and where they end."""
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
                    elements += self._key_head(model, left, y, each, first=y == top)
                    y += KEY_LINE
                elements += self._key_line(model, spot, left, y, each)
                y, begins, lowest = y + KEY_LINE, False, max(lowest, y)
        return elements, lowest

    def _key_head(self, model: str, left: float, y: float, each: float, first: bool) -> list[Element]:
        name = Text.fitted(left, y, model, each, bold=True)
        if not first:
            return [name]
        # above the name, which may need the whole width
        return [
            name,
            Text(left + each - 52, y - KEY_LINE, "mean", 10, "end", SOFT),
            Text(left + each, y - KEY_LINE, f"below {self.threshold}", 10, "end", SOFT),
        ]

    def _key_line(self, model: str, spot: "_Spot", left: float, y: float, each: float) -> list[Element]:
        name = spot.name.removeprefix(model).lstrip(" ,") or spot.name
        return [
            Text(left + 14, y, str(spot.number), 10, "end", SOFT),
            *self._mark(replace(spot, x=left + 24, y=y - 4), 4.2),
            Text.fitted(left + 34, y, name, each - 126, 11),
            Text(left + each - 52, y, f"{spot.mean:.2f}".replace("-", "−"), 11, "end"),
            Text(left + each, y, f"{spot.below:.2f}", 11, "end"),
        ]


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


def _paths(rows: Sequence[Results], spots: Sequence[_Spot]) -> list[Element]:
    """From the expected reward, which is not careful at all, through each family of strategies."""
    families = [family(row["strategy"]) for row in rows]
    bold = [spot for spot, name in zip(spots, families, strict=True) if name == "MaximumExpectedReward"]
    elements: list[Element] = []
    for wanted, dash in DASHES.items():
        members = [spot for spot, name in zip(spots, families, strict=True) if name == wanted]
        if members and len(members) + len(bold) > 1:
            line = tuple((spot.x, spot.y) for spot in (*bold, *members))
            elements.append(Line(line, members[0].colour, 1.3, dash))
    return elements


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


def _replications(rows: Sequence[Results]) -> str:
    """
    >>> _replications([{"replications": 2}, {"replications": 100}])
    '2 to 100 replications of a row'
    """
    counts = sorted({row["replications"] for row in rows})
    return f"{counts[0]} to {counts[-1]} replications of a row" if len(counts) > 1 else f"{counts[0]} replications"
