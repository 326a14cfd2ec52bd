"""How estimates and their intervals are written."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from prudent.show.json_types import Facts
from prudent.show.numbers import Figures, significant

Judgement = Literal["better", "worse", "not clearly different", "no difference", "unknown"]


class Interval(NamedTuple):
    """An estimate from plain facts; NaN where a number does not exist."""

    value: float
    error: float
    low: float
    high: float

    @classmethod
    def of(cls, facts: Facts) -> "Interval":
        return cls(*(math.nan if facts[key] is None else facts[key] for key in cls._fields))

    def times(self, sign: float) -> "Interval":
        """The same for a quantity of the other sign, where the sign is -1."""
        low, high = sorted((sign * self.low, sign * self.high)) if self.exists else (math.nan, math.nan)
        return Interval(sign * self.value, self.error, low, high)

    @property
    def exists(self) -> bool:
        return math.isfinite(self.low + self.high)

    def judged(self, minimize: bool, rounding: float) -> Judgement:
        """What a difference says of the first of two policies; one up to `rounding` is none at all.

        >>> Interval(-2e-15, 0.0, -2e-15, -2e-15).judged(minimize=False, rounding=1e-9)
        'no difference'
        """
        better = self.times(-1.0 if minimize else 1.0)
        if not better.exists:
            return "unknown"
        if max(abs(better.low), abs(better.high)) <= rounding:
            return "no difference"
        return "better" if better.low > rounding else "worse" if better.high < -rounding else "not clearly different"

    def written(self, write: Callable[[float], str]) -> str:
        """In brackets after the value, as in tables."""
        return f"{write(self.value)} [{write(self.low)}, {write(self.high)}]" if self.exists else write(self.value)


def figures_for(estimates: list[Interval]) -> Callable[[float], str]:
    """Writes numbers with the decimals that their standard errors leave meaningful, and a minus sign that can be
    typed."""
    errors = [one.error for one in estimates if math.isfinite(one.error) and one.error > 0]
    numbers = [abs(one.value) for one in estimates if math.isfinite(one.value)]
    write = Figures.of(numbers) if not errors else _by_errors(numbers, errors)
    return lambda number: write(number).replace("−", "-")


def _by_errors(numbers: list[float], errors: list[float]) -> Figures:
    largest, typical = max([*numbers, *errors]), sorted(errors)
    median = (typical[(len(typical) - 1) // 2] + typical[len(typical) // 2]) / 2
    return Figures.to(median / 2, largest)


def in_sentence(estimate: Interval) -> str:
    """A value with its interval, where it has one, to two digits of the interval's width.

    >>> in_sentence(Interval(0.314, 0.1, 0.118, 0.51))
    '0.31 (0.12 to 0.51)'
    """
    value, low, high = digits(estimate, estimate.value, estimate.low, estimate.high)
    return f"{value} ({low} to {high})" if estimate.exists else value


def digits(estimate: Interval, *numbers: float) -> list[str]:
    """Numbers to two digits of the interval's width."""
    width = estimate.high - estimate.low
    if not (math.isfinite(width) and width > 0):
        return [significant(number) for number in numbers]
    decimals = min(max(1 - math.floor(math.log10(width)), 0), 6)
    return [f"{number:z.{decimals}f}" for number in numbers]


def share_written(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.1%}"


def percent_written(share: float) -> str:
    return f"{100 * share:.4g}%"
