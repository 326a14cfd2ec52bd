"""What would change a decision, and what to measure before it is made, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from prudent.columns import LABELLED, Column
from prudent.explanation.account import Change, Measurement
from prudent.schema import Encoded
from prudent.strategies import Conservative, Strategy, TailAverse

if TYPE_CHECKING:
    from prudent.advice import Case
    from prudent.measuring import TurningPoint

MOST_CHANGES = 5


def changes(case: Case) -> tuple[Change, ...]:
    """Single cells that would turn the decision, the likeliest first.

    None where the strategy's own first choice was not followed (a draw, a floor, an action not allowed): what would
    turn that choice does not tell what would turn the advice.
    """
    from prudent.measuring import turning_points

    advice, row, policy = case.advice, case.row, case.advice.policy
    values, observed = advice.encoded.values[row], advice.encoded.observed[row]
    first = int(np.argmax(advice.judged.scores[row]))
    if observed.all() or policy.strategy.stochastic or advice.chosen[row] != first:
        return ()
    labels, columns = policy.fitted.action_labels, policy.fitted.schema.columns
    found = [point for point in turning_points(policy, values, observed) if advice.permitted[row, point.action]]
    return tuple(
        Change(
            columns[point.attribute].name, where(columns[point.attribute], point), point.chance, labels[point.action]
        )
        for point in found[:MOST_CHANGES]
    )


def measurements(case: Case) -> tuple[tuple[Measurement, ...], str | None]:
    """Every gap with what knowing it is worth, the most valuable first; and the one to fill first, if any."""
    from prudent.measuring import value_of_measuring

    encoded, row, names = case.advice.encoded, case.row, case.advice.policy.fitted.schema.names
    if encoded.observed[row].all():
        return (), None
    measuring = case.advice.measuring
    if measuring is None:
        alone = Encoded(encoded.values[row][None], encoded.observed[row][None], [""])
        measuring, row = value_of_measuring(case.advice.policy, alone), 0
    found = [
        Measurement(
            names[gap],
            float(measuring.gain[row, gap]),
            float(measuring.expected_gain[row, gap]),
            float(measuring.worst_gain[row, gap]),
            float(measuring.costs[gap]),
        )
        for gap in np.flatnonzero(~encoded.observed[case.row])
    ]
    return tuple(sorted(found, key=lambda own: -own.gain)), measuring.measure_next[row]


def valued_as(strategy: Strategy) -> str:
    """Which reward a measurement's gain is in: what the strategy looks at."""
    if isinstance(strategy, Conservative):
        return "in the worst plausible case"
    return "on average over the worst cases" if isinstance(strategy, TailAverse) else "on average"


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
