"""What a wrong dose costs, and the moments of that cost when the needed dose is Gaussian."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from prudent.errors import Rule, check, number, one_of

_RULES: dict[str, Rule] = {
    "power": Rule("be 1 or 2", (1, 2).__contains__),
    "overdose": number(0, ends="(]"),
    "jump": number(0),
    "margin": number(0),
}


@dataclass(frozen=True)
class Loss:
    """The cost of giving a dose too high by `excess` (negative: too low).

    |excess| ** power, times `overdose` on the high side, and `jump` more once the excess is over `margin`.
    It grows away from zero on both sides, which keeps every exact quantity of the dosing world simple.

    >>> Loss.named("cliff").of(np.array([-2.0, 0.5, 1.5])).tolist()
    [2.0, 0.5, 6.5]
    """

    power: int = 1
    overdose: float = 1.0
    jump: float = 0.0
    margin: float = 1.0

    def __post_init__(self) -> None:
        check("Loss", _RULES, vars(self))

    @staticmethod
    def named(name: str) -> "Loss":
        """The three losses that have names: 'quadratic' (overdose costs three times as much), 'absolute', 'cliff'."""
        check("Loss.named", {"name": one_of(*NAMED)}, {"name": name})
        return NAMED[name]

    def of(self, excess: np.ndarray) -> np.ndarray:
        """The cost itself, for any shape."""
        side = np.where(excess > 0, self.overdose, 1.0)
        return side * np.abs(excess) ** self.power + self.jump * (excess > self.margin)

    def furthest_over(self, level: np.ndarray) -> np.ndarray:
        """The largest excess >= 0 that costs no more than `level`: the inverse of the high side."""
        before = (level / self.overdose) ** (1 / self.power)
        if self.jump == 0:
            return before
        after = (np.maximum(level - self.jump, 0.0) / self.overdose) ** (1 / self.power)
        return np.where(before <= self.margin, before, np.maximum(after, self.margin))

    def furthest_under(self, level: np.ndarray) -> np.ndarray:
        """The largest shortfall >= 0 that costs no more than `level`."""
        return level ** (1 / self.power)

    def tail(self, level: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P(loss > level) and E[loss; loss > level] for an excess that is N(mean, sd**2); sd may be 0."""
        over, under = self.furthest_over(level), self.furthest_under(level)
        mass_over, moment_over = _upper_moments(over, mean, sd, self.power)
        mass_under, moment_under = _upper_moments(under, -mean, sd, self.power)
        cost = self.overdose * moment_over + moment_under
        if self.jump:
            cost = cost + self.jump * ndtr(-_standard(np.maximum(over, self.margin), mean, sd))
        return mass_over + mass_under, cost

    def mean(self, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """E[loss] for an excess that is N(mean, sd**2)."""
        return self.tail(np.zeros(()), mean, sd)[1]

    def tail_mass(self, level: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """P(loss > level) alone."""
        over = ndtr(-_standard(self.furthest_over(level), mean, sd))
        return over + ndtr(-_standard(self.furthest_under(level), -mean, sd))

    def switch(self, gap: float) -> float:
        """How far above a dose the needed one must lie before the next dose, `gap` higher, is the better of the two."""
        low, high = 0.0, gap
        for _ in range(80):
            middle = (low + high) / 2
            lower_is_better = self.of(np.array(-middle)) <= self.of(np.array(gap - middle))
            low, high = (middle, high) if lower_is_better else (low, middle)
        return high


NAMED = {"quadratic": Loss(power=2, overdose=3.0), "absolute": Loss(), "cliff": Loss(jump=5.0, margin=1.0)}


def _standard(bound: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """(bound - mean) / sd; with sd 0 it is ∞ or −∞, so that a point lies above the bound only when strictly above."""
    distance = bound - mean
    safe = np.where(sd > 0, sd, 1.0)
    return np.where(sd > 0, distance / safe, np.where(distance < 0, -np.inf, np.inf))


def _upper_moments(bound: np.ndarray, mean: np.ndarray, sd: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray]:
    """P(u > bound) and E[u ** power; u > bound] for u ~ N(mean, sd**2)."""
    standard = _standard(bound, mean, sd)
    mass = ndtr(-standard)
    density = np.exp(-0.5 * standard**2) / np.sqrt(2 * np.pi)
    if power == 1:
        return mass, mean * mass + sd * density
    return mass, (mean**2 + sd**2) * mass + sd * (mean + bound) * density
