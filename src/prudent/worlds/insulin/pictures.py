"""Pictures of glucose in the four hours after a meal, one curve for each dose that somebody chose; and which meals to
show."""

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
"""Age in years from which a patient is an adult."""
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
AS_GOOD, BEST = "best of all doses", "the best dose"


def record_entries(names: Iterable[str], values: Iterable[float], observed: Iterable[bool]) -> list[tuple[str, str]]:
    """The entries of a record with their units, and where nothing is recorded.

    >>> record_entries(["carbs", "insulin_on_board"], [45.0, 1.5], [True, False])
    [('carbs', '45 g'), ('insulin on board', 'not recorded')]
    """
    entries = []
    for name, value, present in zip(names, values, observed, strict=True):
        cell = f"{value:g} {MEASURED_IN.get(str(name), '')}".strip().replace("-", "−") if present else NOT_RECORDED
        entries.append((str(name).replace("_", " "), cell))
    return entries


def instructive_meals(theta: np.ndarray, bold: np.ndarray, careful: np.ndarray, age: np.ndarray) -> dict[int, str]:
    """Up to four meals with the reason to show them, selected by rules and not by hand: where the careful doses gain
    most and where they lose most against the bold ones, then the first child and the first adult of the rest whose dose
    caution changes (or, if there is none, any).

    theta [meal, dose]: the rewards. bold, careful: dose numbers.
    """
    meals = np.arange(len(theta))
    gain = theta[meals, careful] - theta[meals, bold]
    reasons = {int(gain.argmax()): "where caution gains most"}
    reasons.setdefault(int(gain.argmin()), "where caution loses most")
    for grown, word in ((False, "child or teenager"), (True, "adult")):
        others = [int(meal) for meal in meals if (age[meal] >= GROWN) == grown and meal not in reasons]
        changed = [meal for meal in others if bold[meal] != careful[meal]]
        if others:
            how = "whose dose caution changes" if changed else "of the test"
            reasons[(changed or others)[0]] = f"the first {word} {how}"
    return reasons


@dataclass(frozen=True)
class Course:
    """One dose, who chose it, and what follows: the reward, and glucose minute by minute."""

    units: float
    reward: float
    glucose: np.ndarray
    chosen_by: tuple[str, ...]
    colour: Colour
    dash: str = ""

    @property
    def lowest(self) -> float:
        return float(self.glucose.min())

    @property
    def late(self) -> float:
        """The mean from two to four hours after the meal, on which the reward depends."""
        return float(self.glucose[LATE:].mean())


def courses_of(
    chosen: Mapping[str, int], units: Sequence[float] | np.ndarray, theta: np.ndarray, curves: np.ndarray
) -> list[Course]:
    """One for each dose that somebody chose, in the order of `chosen`, then the best dose if nobody chose one as good.

    chosen: dose numbers by name. theta [dose] are the rewards of one meal and curves [dose, minute] its glucose.
    """

    def course(dose: int, chosen_by: Sequence[str], colour: Colour, dash: str = "") -> Course:
        return Course(float(units[dose]), float(theta[dose]), curves[dose], tuple(chosen_by), colour, dash)

    best, courses = int(theta.argmax()), []
    for dose in dict.fromkeys(chosen.values()):
        names = [name for name, number in chosen.items() if number == dose]
        names += [AS_GOOD] if theta[dose] >= theta[best] else []
        courses.append(course(dose, names, SERIES[len(courses) % len(SERIES)]))
    if not any(theta[dose] >= theta[best] for dose in chosen.values()):
        courses.append(course(best, [BEST], INK, "5 4"))
    return courses


def glucose_picture(courses: Sequence[Course], title: str, width: float = 480.0, height: float = 300.0) -> Picture:
    """The curves of one meal; a table beside it says, by colour, who chose which dose."""
    panel = Box(MARGIN + 26, MARGIN + 8, width - MARGIN + 6, height - 44)
    description = "; ".join(
        f"{course.units:g} units ({', '.join(course.chosen_by)}): lowest {course.lowest:.0f}, "
        f"later mean {course.late:.0f} mg/dl"
        for course in courses
    )
    return Picture(width, height, tuple(glucose_panel(courses, panel, width)), title, description)


def glucose_panel(courses: Sequence[Course], panel: Box, width: float) -> list[Element]:
    """Bands, axes and curves in a panel of a picture of that width; the first course lies on top."""
    up = glucose_scale(courses, panel)
    hours = tuple(range(0, AFTER + 1, 60))
    over = Scale(0, AFTER, panel.left, panel.right, hours, tuple(f"{minute // 60} h" for minute in hours), "")
    late = Box(over(LATE), panel.bottom - 3, panel.right, panel.bottom)
    elements: list[Element] = [*_bands(up, panel), *upwards(up, panel)]
    elements += across(over, "hours after the meal", panel, width)
    elements += [Text(panel.left, panel.top - 8, "glucose, mg/dl", 11, colour=SOFT), Area(late, SOFT)]
    for course in reversed(courses):
        levels = enumerate(course.glucose)
        points = tuple((over(minute), up(float(level))) for minute, level in levels if minute % 3 == 0)
        elements.append(Line(points, course.colour, 2.0, course.dash))
    return elements


def glucose_scale(courses: Sequence[Course], panel: Box) -> Scale:
    """From below serious hypoglycaemia, or the lowest curve, to the highest."""
    low = min([46.0, *(course.lowest - 8 for course in courses)])
    high = max([200.0, *(float(course.glucose.max()) + 10 for course in courses)])
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
