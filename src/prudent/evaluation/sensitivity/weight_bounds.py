"""How far a weighted mean can move when every weight is only known to lie in an interval.

The largest and smallest self-normalised means over intervals of weights (Zhao, Small and Bhattacharya, 2019) follow
from sorting the outcomes: the mean is lowest when the rows below some threshold have their largest weight and those
above it their smallest. Everything is vectorised over resampled logs, and since weights are linear in Γ and in 1/Γ, one
set of cumulative sums serves every Γ.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prudent.evaluation.row_terms import ratios

LARGEST_GAMMA = 100.0
HALVINGS = 40  # of the logarithm of Γ: far more precise than anyone needs


@dataclass(frozen=True, eq=False)
class Part:
    """Outcomes averaged with weights base + loose · γ, where γ may be anywhere in [1/Γ, Γ] in each row; arrays [row].

    A row with loose = 0 has a weight that is known.
    """

    outcomes: np.ndarray
    base: np.ndarray
    loose: np.ndarray

    def negated(self) -> "Part":
        return Part(-self.outcomes, self.base, self.loose)

    @cached_property
    def _rising(self) -> np.ndarray:
        moving = np.flatnonzero(self.loose > 0)
        return moving[np.argsort(self.outcomes[moving], kind="stable")]

    def over(self, counts: np.ndarray) -> "Thresholds":
        """The part on logs in which each row occurs so often, [draw, row]."""
        order = self._rising
        loose = counts[:, order] * self.loose[order]
        weights, totals = np.zeros((2, len(counts), len(order) + 1))
        np.cumsum(loose, axis=1, out=weights[:, 1:])
        np.cumsum(loose * self.outcomes[order], axis=1, out=totals[:, 1:])
        known = counts @ np.stack([self.base, self.base * self.outcomes], axis=1)
        return Thresholds(self.outcomes[order], known[:, 0], known[:, 1], weights, totals)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Sums from which the weighted mean follows for any Γ and any number of lowest outcomes that weigh most.

    outcomes [row], rising; the others by draw: weight and total (weight · outcome) of the known parts [draw], and of
    the loose parts of the first 0, 1, … rows, [draw, row + 1].
    """

    outcomes: np.ndarray
    known_weight: np.ndarray
    known_total: np.ndarray
    loose_weight: np.ndarray
    loose_total: np.ndarray

    def mean(self, heavy: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """The weighted mean by draw when the first `heavy` rows have their largest weight and the rest the smallest."""
        draws = np.arange(len(heavy))
        weight, total = self.loose_weight[draws, heavy], self.loose_total[draws, heavy]
        return ratios(
            self.known_total + gamma * total + (self.loose_total[:, -1] - total) / gamma,
            self.known_weight + gamma * weight + (self.loose_weight[:, -1] - weight) / gamma,
        )

    def lowest(self, gamma: np.ndarray) -> np.ndarray:
        """The least weighted mean by draw; NaN where nothing weighs.

        One more heavy row lowers the mean as long as its outcome is below it, and from the first that does not none
        does: the best threshold is searched by halving.
        """
        size = len(self.outcomes)
        first, last = np.zeros(len(gamma), np.int64), np.full(len(gamma), size)
        while (first < last).any():
            middle = (first + last) // 2
            outcome = self.outcomes[np.minimum(middle, size - 1)]
            lowers = (first < last) & (outcome < self.mean(middle, gamma))
            first, last = np.where(lowers, middle + 1, first), np.where(lowers, last, middle)
        return self.mean(first, gamma)


@dataclass(frozen=True, eq=False)
class Contrast:
    """A value, or the difference of two, as far as weights decide it: mean(prices) + mean(share) · Σ weighted means.

    No row has a loose weight in two parts, so each part may be bounded separately and the bounds are attained.
    """

    prices: np.ndarray
    share: np.ndarray
    parts: tuple[Part, ...]

    @cached_property
    def negated(self) -> "Contrast":
        return Contrast(-self.prices, self.share, tuple(part.negated() for part in self.parts))

    def over(self, counts: np.ndarray) -> "Resampled":
        means = counts @ np.stack([self.prices, self.share], axis=1) / counts.sum(axis=1, keepdims=True)
        return Resampled(means[:, 0], means[:, 1], tuple(part.over(counts) for part in self.parts))


@dataclass(frozen=True, eq=False)
class Resampled:
    """A contrast on resampled logs; `prices` and `share` are their means [draw]."""

    prices: np.ndarray
    share: np.ndarray
    parts: tuple[Thresholds, ...]

    def lowest(self, gamma: float | np.ndarray) -> np.ndarray:
        """The least the contrast can be, by draw, when odds may be off by `gamma`; NaN where the log cannot say."""
        each = np.broadcast_to(np.asarray(gamma, np.float64), self.prices.shape)
        moved = self.share * np.sum([part.lowest(each) for part in self.parts], axis=0)
        return self.prices + np.where(self.share == 0, 0.0, moved)

    def least_gamma(self) -> np.ndarray:
        """The smallest Γ at which the contrast might not be above 0, by draw; infinite where it is larger than 100.

        What the log cannot say might be anything, so NaN counts as not above 0.
        """
        small, large = np.zeros(self.prices.shape), np.full(self.prices.shape, np.log(LARGEST_GAMMA))
        for _ in range(HALVINGS):
            middle = (small + large) / 2
            above = self.lowest(np.exp(middle)) > 0
            small, large = np.where(above, middle, small), np.where(above, large, middle)
        gamma = np.where(self.lowest(1.0) > 0, np.exp(large), 1.0)
        return np.where(self.lowest(LARGEST_GAMMA) > 0, np.inf, gamma)
