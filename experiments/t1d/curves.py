"""The picture of glucose in the four hours after a few meals, under the dose of each strategy."""

from collections.abc import Sequence
from typing import Any

from experiments.strategy_order import representatives
from prudent.show import FADED, INK, MARGIN, SOFT, Box, Element, Line, Picture, Text, wrapped
from prudent.worlds.insulin import NOT_RECORDED, Course, glucose_panel, glucose_scale, pictures, record_entries

WIDTH, RECORD, LABELS, HEIGHT, APART = 980.0, 236.0, 216.0, 208.0, 96.0
LABEL_LINE = 14.0
TITLE = "Glucose after a meal, under the dose of each strategy"
NOTE = (
    "Shaded: under 54 mg/dl (serious hypoglycaemia), under 70, the range from 70 to 180, and over 180. The reward is "
    "of the mean over the last two hours (the bar below). Strategies saw only what is written beside each picture; "
    "lines are what the simulator knows would have happened. Dashed: the best dose, by the truth."
)


def curves_picture(showcase: dict[str, Any]) -> Picture:
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, TITLE, 16, bold=True)]
    y = MARGIN + 30
    for line in wrapped(NOTE, WIDTH - 2 * MARGIN, 11):
        elements.append(Text(MARGIN, y, line, 11, colour=SOFT))
        y += 15
    y += 34
    descriptions = []
    for meal in range(len(showcase["why"])):
        courses = courses_of(showcase, meal)
        panel = Box(MARGIN + RECORD + 34, y, WIDTH - MARGIN - LABELS, y + HEIGHT)
        elements += _record(showcase, meal, y) + glucose_panel(courses, panel, WIDTH)
        elements += _labels(courses, panel)
        lines = "; ".join(" ".join(_lines(course)) for course in courses)
        descriptions.append(f"{showcase['why'][meal]}: {lines}")
        y += HEIGHT + APART
    return Picture(WIDTH, y - APART + 56, tuple(elements), TITLE, ". ".join(descriptions))


def courses_of(showcase: dict[str, Any], meal: int) -> list[Course]:
    """One for each dose that a representative strategy chose, in the order of their caution, then the best dose."""
    names = [str(name) for name in showcase["strategies"]]
    chosen = {names[at]: int(showcase["choice"][meal, at]) for at in representatives(names)}
    return pictures.courses_of(chosen, showcase["units"], showcase["theta"][meal], showcase["curves"][meal])


def _lines(course: Course) -> list[str]:
    first = f"{course.units:g} units: R {course.reward:.2f}, lowest {course.lowest:.0f}".replace("-", "−")
    return [first, *wrapped(", ".join(course.chosen_by), LABELS - 16, 10)]


def _record(showcase: dict[str, Any], meal: int, top: float) -> list[Element]:
    """What was seen of the record, and what was not."""
    why = str(showcase["why"][meal])
    elements: list[Element] = []
    y = top - 14
    for line in wrapped(why[:1].upper() + why[1:], RECORD - 10, 13, bold=True):
        elements.append(Text(MARGIN, y, line, 13, bold=True))
        y += 18
    y += 6
    for words, cell in record_entries(showcase["names"], showcase["full"][meal], showcase["observed"][meal]):
        name, value = (FADED, FADED) if cell == NOT_RECORDED else (SOFT, INK)
        elements.append(Text.fitted(MARGIN, y, words, 124, 11, colour=name))
        elements.append(Text.fitted(MARGIN + 130, y, cell, RECORD - 124, 11, colour=value))
        y += 18
    return elements


def _labels(courses: Sequence[Course], panel: Box) -> list[Element]:
    """Right of the panel, as near to the end of each curve as the others allow, top to bottom as the curves end."""
    up = glucose_scale(courses, panel)
    order = sorted(courses, key=lambda course: -float(course.glucose[-1]))
    heights = [LABEL_LINE * len(_lines(course)) + 6 for course in order]
    places: list[float] = []
    for course, height in zip(order, heights, strict=True):
        wanted = up(float(course.glucose[-1])) - height / 2
        places.append(max([wanted, panel.top - 16, *([places[-1] + heights[len(places) - 1]] if places else [])]))
    # labels below the bottom move up, and push those above them
    floor = panel.bottom + 44
    for at in reversed(range(len(places))):
        places[at] = min(places[at], floor - heights[at])
        floor = places[at]
    elements: list[Element] = []
    for course, place in zip(order, places, strict=True):
        end, y = up(float(course.glucose[-1])), place + 11
        elements.append(Line(((panel.right + 2, end), (panel.right + 12, y - 4)), course.colour, 0.8))
        for at, line in enumerate(_lines(course)):
            size, colour = (11, course.colour) if at == 0 else (10, SOFT)
            elements.append(Text(panel.right + 16, y + LABEL_LINE * at, line, size, colour=colour, bold=at == 0))
    return elements
