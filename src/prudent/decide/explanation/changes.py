"""What would change a decision, and what to measure before it is made, in the user's units."""

import math
from collections.abc import Callable

import numpy as np

from prudent.decide.explanation.explanation import Change, Measurement
from prudent.decide.explanation.subject import Subject
from prudent.decide.measure.value import TurningPoint, turning_points, value_of_measuring
from prudent.table import LABELLED, Column

MOST_CHANGES = 5


def changes(subject: Subject) -> tuple[Change, ...]:
    """Single cells that would turn the decision, the likeliest first.

    None where the strategy's own first choice was not followed (a draw, a floor, an action not allowed): what would
    turn that choice does not tell what would turn the advice.
    """
    chooser, observed = subject.chooser, subject.observed
    first = int(np.argmax(np.where(subject.supported.open, subject.scored.scores, -np.inf)))
    if observed.all() or chooser.strategy.stochastic or subject.chosen != first:
        return ()
    labels, columns = chooser.fitted.action_labels, chooser.fitted.schema.columns
    points = turning_points(subject, subject.values, observed, scored=subject.scored_alone, valued=subject.valued)
    permitted = [point for point in points if subject.permitted[point.action] and subject.supported.open[point.action]]
    return tuple(
        Change(
            columns[point.attribute].name, where(columns[point.attribute], point), point.chance, labels[point.action]
        )
        for point in permitted[:MOST_CHANGES]
    )


def measurements(subject: Subject) -> tuple[tuple[Measurement, ...], str | None]:
    """Every gap with what knowing it is worth, the most valuable first; and the one to fill first, if any."""
    if subject.observed.all():
        return (), None
    measuring, row = subject.measuring, subject.row
    if measuring is None:
        known = {"scored": subject.scored_alone, "valued": subject.valued}
        measuring, row = value_of_measuring(subject, subject.alone, **known), 0
    names = subject.chooser.fitted.schema.names
    gains = [
        Measurement(
            names[gap],
            float(measuring.gain[row, gap]),
            float(measuring.expected_gain[row, gap]),
            float(measuring.worst_gain[row, gap]),
            float(measuring.costs[gap]),
        )
        for gap in np.flatnonzero(~subject.observed)
    ]
    return tuple(sorted(gains, key=lambda one: -one.gain)), measuring.measure_next[row]


def where(column: Column, point: TurningPoint) -> str:
    """The values of a turning point in words: "below 62", "at least 3", "before 2024-03-01", "north or west"."""
    if column.kind in LABELLED:
        return " or ".join(column.categories[level] for level in point.levels)
    low, high = _number(column, point.low), _number(column, point.high)
    if column.kind == "date":
        return _between("after", "before", low, high, column.shown)
    if column.integral or column.kind == "count":
        # borders lie between whole numbers: what is above 2.4 is at least 3
        low, high = low if math.isinf(low) else math.ceil(low), high if math.isinf(high) else math.floor(high)
        return f"{low:.0f}" if low == high else _between("at least", "at most", low, high, lambda end: f"{end:.0f}")
    return _between("above", "below", low, high, lambda end: f"{end:.3g}" if abs(end) < 1000 else f"{end:.0f}")


def _between(above: str, below: str, low: float, high: float, shown: Callable[[float], str]) -> str:
    if math.isfinite(low) and math.isfinite(high):
        return f"between {shown(low)} and {shown(high)}" if shown(low) != shown(high) else f"about {shown(low)}"
    return f"{below} {shown(high)}" if math.isinf(low) else f"{above} {shown(low)}"


def _number(column: Column, encoded: float) -> float:
    """An encoded number in the user's units, not rounded; an open end stays open."""
    if math.isinf(encoded):
        return encoded
    plain = min(encoded * column.scale + column.location, 700.0)
    if column.kind == "positive":
        return math.exp(plain)
    return max(math.expm1(plain), 0.0) if column.kind == "count" else encoded * column.scale + column.location
