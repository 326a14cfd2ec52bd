"""The frontier of the demonstration: what each way to dose earns against how often it ends badly."""

from collections.abc import Sequence

from prudent.command_line.demo.ways import (
    BOLD,
    CAREFUL,
    CLINIC,
    MOST_CAREFUL,
    ORACLE,
    RULE,
    SINGLE,
    STRATEGIES,
    Outcome,
    number,
    percent,
)
from prudent.show import (
    MARGIN,
    OTHERS,
    PAPER,
    SERIES,
    SHAPES,
    SOFT,
    Box,
    Element,
    Line,
    Picture,
    Point,
    Scale,
    Spot,
    Style,
    Text,
    across,
    labels_beside,
    upwards,
)

WIDTH, HEIGHT = 480.0, 380.0
STYLES = {
    **{name: Style(SERIES[at], SHAPES[at], "") for at, name in enumerate(STRATEGIES)},
    **{name: Style(OTHERS, SHAPES[at], "") for at, name in enumerate((RULE, CLINIC, SINGLE, ORACLE))},
}
"""prudent's strategies have colours of their own, what they are compared with is grey."""
NEAR = (*STRATEGIES, RULE)
FROM_BOLD_TO_CAREFUL = (BOLD, CAREFUL, MOST_CAREFUL)


def frontier_picture(outcomes: Sequence[Outcome]) -> Picture:
    """The strategies and the usual rule; what is far from them would crowd them. Full marks are the truth, hollow ones
    what the log had said, each joined to its truth."""
    panel = Box(MARGIN + 34, MARGIN + 18, WIDTH - MARGIN, HEIGHT - 46)
    outcomes = [own for own in outcomes if own.name in NEAR]
    said = [(own.said_bad.value, own.said_mean.value) for own in outcomes if own.said_bad and own.said_mean]
    points = [*said, *((own.bad, own.mean) for own in outcomes)]
    over = Scale.around([0.0, *(100 * bad for bad, _ in points)], panel.left, panel.right)
    up = Scale.around([mean for _, mean in points], panel.bottom, panel.top)
    spots = [Spot(over(100 * own.bad), up(own.mean), own.name, STYLES[own.name]) for own in outcomes]
    path = tuple((spot.x, spot.y) for name in FROM_BOLD_TO_CAREFUL for spot in spots if spot.label == name)
    elements: list[Element] = [Text(MARGIN, panel.top - 10, "mean reward", 11, colour=SOFT), *upwards(up, panel)]
    elements += across(over, "bad outcomes, % of the meals", panel, WIDTH)
    elements.append(Line(path, SERIES[0], 1.4))
    claims: list[Spot] = []
    for own, spot in zip(outcomes, spots, strict=True):
        if own.said_bad and own.said_mean:
            claim = Spot(over(100 * own.said_bad.value), up(own.said_mean.value), "", spot.style)
            claims.append(claim)
            elements.append(Line(((claim.x, claim.y), (spot.x, spot.y)), spot.style.colour, 0.8, "2 3"))
            elements += _hollow(claim, f"{own.name}: the log had said {' and '.join(own.said)} bad")
    for own, spot in zip(outcomes, spots, strict=True):
        tip = f"{own.name}: mean reward {number(own.mean)}, {percent(own.bad)} bad"
        elements.append(Point(spot.x, spot.y, spot.style.shape, 5.0, spot.style.colour, tip))
    elements += labels_beside([*spots, *claims], [path], panel)
    told = "; ".join(f"{own.name}: mean {number(own.mean)}, {percent(own.bad)} bad" for own in outcomes)
    return Picture(WIDTH, HEIGHT, tuple(elements), "Mean reward against bad outcomes", told)


def mark(name: str) -> str:
    """The mark of a way to dose, for a line of text."""
    own = STYLES[name]
    return Picture(14, 14, (Point(7, 7, own.shape, 4.6, own.colour),), name).svg()


def _hollow(spot: Spot, tip: str) -> list[Element]:
    shape, colour = spot.style.shape, spot.style.colour
    if shape in ("cross", "bar"):  # strokes have no inside
        return [Point(spot.x, spot.y, shape, 2.8, colour, tip)]
    return [Point(spot.x, spot.y, shape, 4.4, colour, tip), Point(spot.x, spot.y, shape, 2.0, PAPER, tip)]
