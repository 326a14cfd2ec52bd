"""Glucose in the four hours after a meal under every dose that somebody chose: which meals to show, and the drawing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prudent.show import (
    GUARANTEE,
    INK,
    MARGIN,
    RULE,
    SERIES,
    SOFT,
    WARNING,
    Area,
    Box,
    Colour,
    Element,
    Line,
    Picture,
    Scale,
    Text,
    across,
    upwards,
)
from prudent.worlds.insulin.meals import AFTER, LATE
from prudent.worlds.insulin.world import LOW, SERIOUSLY_LOW

HIGH = 180.0
"""Glucose, mg/dl, above which it is too high."""
GROWN = 18
"""Years from which a patient is an adult."""
TICKS = (54, 70, 120, 180, 240, 300, 360, 420)
MEASURED_IN = {
    "weight": "kg",
    "age": "years",
    "total_daily_insulin": "units a day",
    "carb_ratio": "g per unit",
    "glucose": "mg/dl",
    "trend": "mg/dl a minute",
    "carbs": "g",
    "insulin_on_board": "units",
    "hour": "o'clock",
}
NOT_RECORDED = "not recorded"
NO_BETTER, BEST = "no dose is better", "the best dose"


def recorded(names: Iterable[str], values: Iterable[float], observed: Iterable[bool]) -> list[tuple[str, str]]:
    """What a record says, name by name, and where it says nothing.

    >>> recorded(["carbs", "insulin_on_board"], [45.0, 1.5], [True, False])
    [('carbs', '45 g'), ('insulin on board', 'not recorded')]
    """
    told = []
    for name, value, seen in zip(names, values, observed, strict=True):
        cell = f"{value:g} {MEASURED_IN.get(str(name), '')}".strip().replace("-", "−") if seen else NOT_RECORDED
        told.append((str(name).replace("_", " "), cell))
    return told


def telling_meals(theta: np.ndarray, bold: np.ndarray, careful: np.ndarray, age: np.ndarray) -> dict[int, str]:
    """Up to four meals with why they are shown, by rules, none picked by hand: where the careful doses gain most and
    where they lose most against the bold ones, then the first child and the first adult of the rest whose dose caution
    changes (or, if there is none, any). `theta` [meal, dose] are the rewards; `bold` and `careful` are dose numbers."""
    meals = np.arange(len(theta))
    gain = theta[meals, careful] - theta[meals, bold]
    found = {int(gain.argmax()): "where caution gains most"}
    found.setdefault(int(gain.argmin()), "where caution loses most")
    for grown, word in ((False, "child or teenager"), (True, "adult")):
        able = [int(meal) for meal in meals if (age[meal] >= GROWN) == grown and meal not in found]
        changed = [meal for meal in able if bold[meal] != careful[meal]]
        if able:
            how = "whose dose caution changes" if changed else "of the test"
            found[(changed or able)[0]] = f"the first {word} {how}"
    return found


@dataclass(frozen=True)
class Course:
    """One dose, whoever chose it, and what follows: the reward, and glucose minute by minute."""

    units: float
    reward: float
    glucose: np.ndarray
    who: tuple[str, ...]
    colour: Colour
    dash: str = ""

    @property
    def lowest(self) -> float:
        return float(self.glucose.min())

    @property
    def late(self) -> float:
        """The mean from two to four hours after the meal, which the reward is of."""
        return float(self.glucose[LATE:].mean())


def courses_of(
    chosen: Mapping[str, int], units: Sequence[float] | np.ndarray, theta: np.ndarray, curves: np.ndarray
) -> list[Course]:
    """One for each dose that somebody chose, in the order of who did, then the best dose if nobody chose one as good.

    chosen: dose numbers by name. theta [dose] are the rewards of one meal and curves [dose, minute] its glucose.
    """

    def course(dose: int, who: Sequence[str], colour: Colour, dash: str = "") -> Course:
        return Course(float(units[dose]), float(theta[dose]), curves[dose], tuple(who), colour, dash)

    best, found = int(theta.argmax()), []
    for dose in dict.fromkeys(chosen.values()):
        who = [name for name, own in chosen.items() if own == dose]
        who += [NO_BETTER] if theta[dose] >= theta[best] else []
        found.append(course(dose, who, SERIES[len(found) % len(SERIES)]))
    if not any(theta[dose] >= theta[best] for dose in chosen.values()):
        found.append(course(best, [BEST], INK, "5 4"))
    return found


def glucose_picture(courses: Sequence[Course], title: str, width: float = 480.0, height: float = 300.0) -> Picture:
    """The curves of one meal alone; who chose which is for the reader to find beside it, by colour."""
    panel = Box(MARGIN + 26, MARGIN + 8, width - MARGIN + 6, height - 44)
    told = "; ".join(
        f"{own.units:g} units ({', '.join(own.who)}): lowest {own.lowest:.0f}, later mean {own.late:.0f} mg/dl"
        for own in courses
    )
    return Picture(width, height, tuple(glucose_panel(courses, panel, width)), title, told)


def glucose_panel(courses: Sequence[Course], panel: Box, width: float) -> list[Element]:
    """Bands, axes and curves in a panel of a picture of that width; the first course lies on top."""
    up = glucose_scale(courses, panel)
    hours = tuple(range(0, AFTER + 1, 60))
    over = Scale(0, AFTER, panel.left, panel.right, hours, tuple(f"{minute // 60} h" for minute in hours), "")
    late = Box(over(LATE), panel.bottom - 3, panel.right, panel.bottom)
    elements: list[Element] = [*_bands(up, panel), *upwards(up, panel)]
    elements += across(over, "hours after the meal", panel, width)
    elements += [Text(panel.left, panel.top - 8, "glucose, mg/dl", 11, colour=SOFT), Area(late, SOFT)]
    for own in reversed(courses):
        points = tuple((over(minute), up(float(level))) for minute, level in enumerate(own.glucose) if minute % 3 == 0)
        elements.append(Line(points, own.colour, 2.0, own.dash))
    return elements


def glucose_scale(courses: Sequence[Course], panel: Box) -> Scale:
    """From below serious hypoglycaemia, or the lowest curve, to the highest."""
    low = min([46.0, *(own.lowest - 8 for own in courses)])
    high = max([200.0, *(float(own.glucose.max()) + 10 for own in courses)])
    ticks = tuple(float(tick) for tick in TICKS if low <= tick <= high)
    return Scale(low, high, panel.bottom, panel.top, ticks, tuple(f"{tick:.0f}" for tick in ticks), "")


def _bands(up: Scale, panel: Box) -> list[Element]:
    low, high = up.low, up.high
    ranges = (
        (low, SERIOUSLY_LOW, WARNING, 0.3),
        (SERIOUSLY_LOW, LOW, WARNING, 0.14),
        (LOW, HIGH, GUARANTEE, 0.1),
        (HIGH, high, RULE, 0.55),
    )
    return [
        Area(Box(panel.left, up(end), panel.right, up(start)), colour, opacity=shade)
        for start, end, colour, shade in ranges
    ]
