"""The common core of off-policy estimators: per-row terms, from which value, standard error and intervals follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from prudent.table import group_codes


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a log says about one policy, row by row; higher rewards are better.

    weights: wᵢ = π(Aᵢ | x̃ᵢ) / π̂0(Aᵢ | x̃ᵢ), how many rows like this one the policy would have produced.
    rewards: Rᵢ, or another outcome of the row, such as whether it was a catastrophe.
    logged_prices: θ̂(x̃ᵢ, Aᵢ), the expected reward of the action that was taken.
    policy_prices: Σₐ π(a | x̃ᵢ) θ̂(x̃ᵢ, a), the expected reward of the policy.
    imputed_weights: the weights by each imputation behind π̂0 alone, [imputation, row]; None where the propensity
        imputed nothing.
    groups: which rows belong together, by number; None where rows are independent.

    A row whose outcome was censored has weight 0 and any reward, and the weights of the others allow for it.
    """

    weights: np.ndarray
    rewards: np.ndarray
    logged_prices: np.ndarray
    policy_prices: np.ndarray
    imputed_weights: np.ndarray | None = None
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    def imputations(self) -> "list[Evidence]":
        """The same evidence once per imputation; none where nothing was imputed."""
        several = () if self.imputed_weights is None else self.imputed_weights
        return [replace(self, weights=weights, imputed_weights=None) for weights in several]


@dataclass(frozen=True, eq=False)
class Terms:
    """A value as a sum of ratios of means over rows: Σₚ mean(numeratorₚ) / mean(denominatorₚ), arrays [part, row].

    A mean has a denominator of ones, a self-normalised mean has its weights there. Two policies on the same rows
    are compared by subtracting their terms.

    >>> terms = Terms.mean(np.array([1.0, 3.0])) - Terms.ratio(np.array([0.0, 2.0]), np.array([1.0, 3.0]))
    >>> terms.value
    1.5
    """

    numerators: np.ndarray
    denominators: np.ndarray

    @classmethod
    def mean(cls, values: np.ndarray) -> "Terms":
        return cls.ratio(values, np.ones(len(values)))

    @classmethod
    def ratio(cls, numerator: np.ndarray, denominator: np.ndarray) -> "Terms":
        return cls(np.asarray(numerator, np.float64)[None], np.asarray(denominator, np.float64)[None])

    def __len__(self) -> int:
        return self.numerators.shape[1]

    def __add__(self, other: "Terms") -> "Terms":
        pairs = ((self.numerators, other.numerators), (self.denominators, other.denominators))
        return Terms(*(np.concatenate(pair) for pair in pairs))

    def by_group(self, groups: np.ndarray | None) -> "Terms":
        """The same value with the totals of groups in place of rows, so that its spread is that between groups.

        A ratio of means over rows is the ratio of the means of the totals. So all intervals become clustered: Student's
        by the cluster-robust variance with G − 1 degrees of freedom, the bootstrap by drawing groups, empirical
        Bernstein's by the range of a group's influence.

        >>> terms = Terms.mean(np.array([1.0, 3.0, 8.0])).by_group(np.array([5, 5, 9]))
        >>> terms.value, len(terms)
        (4.0, 2)
        """
        if groups is None:
            return self
        codes, count = group_codes(groups)
        return Terms(group_totals(self.numerators, codes, count), group_totals(self.denominators, codes, count))

    def __neg__(self) -> "Terms":
        return Terms(-self.numerators, self.denominators)

    def __sub__(self, other: "Terms") -> "Terms":
        return self + -other

    @cached_property
    def _parts(self) -> np.ndarray:
        return ratios(self.numerators.mean(axis=1), self.denominators.mean(axis=1))

    @property
    def value(self) -> float:
        """NaN where a denominator is 0."""
        return float(self._parts.sum())

    @cached_property
    def influence(self) -> np.ndarray:
        """The influence of each row on the value, to first order, [row]; its mean is the value, its spread gives the
        standard error."""
        excess = self.numerators - self._parts[:, None] * self.denominators
        return np.sum(ratios(excess, self.denominators.mean(axis=1)[:, None]) + self._parts[:, None], axis=0)


def group_totals(numbers: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Sums of [part, row] over the rows of each group, [part, group]."""
    return np.stack([np.bincount(codes, part, count) for part in numbers])


def ratios(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """Numerator over denominator; NaN, without a warning, where the denominator is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominators == 0, np.nan, numerators / denominators)


def between_imputations(values: Sequence[float]) -> float:
    """The variance that m imputations add, by Rubin's rule: (1 + 1/m) times the variance between them."""
    return (1 + 1 / len(values)) * float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
