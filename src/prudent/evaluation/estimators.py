"""Off-policy estimators: what would a policy have earned, had it made the logged decisions?

Each class gives only its per-row terms (w weights, R rewards, θ̂ prices, see `Evidence`); value, interval and tail are
derived once for all. Three of them limit the weights. Their limit is chosen from the data by one rule: among quantiles
of the weights and no limit, the one with the least estimated mean squared error, that is the variance of the value plus
the square of an upper bound on the bias of the limit (the mean of what it takes off the terms and, since the rows that
matter most are few, two standard errors more). The rule is cautious: it seldom limits, so that intervals keep their
coverage; where weights are extreme and prices good, give a limit.
"""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prudent.errors import Rule, check, is_number
from prudent.evaluation.row_terms import Evidence, Terms

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995)
_LIMIT = Rule(
    "be above 0, or None to choose it from the data",
    lambda limit: limit is None or (is_number(limit) and limit > 0) or limit == math.inf,
)


class Estimator(abc.ABC):
    """An off-policy estimator. Subclasses are final."""

    name: str
    uses_prices: bool
    uses_weights: bool

    @abc.abstractmethod
    def terms(self, evidence: Evidence) -> Terms:
        """The per-row terms of the policy's value."""

    def tail_weights(self, evidence: Evidence) -> np.ndarray:
        """The weight of each logged outcome in the policy's distribution of outcomes; zeros without weights."""
        return evidence.weights if self.uses_weights else np.zeros(len(evidence))


@dataclass(frozen=True)
class Direct(Estimator):
    """The mean of the prices of the policy's actions: only as good as the prices."""

    name = "direct"
    uses_prices, uses_weights = True, False

    def terms(self, evidence: Evidence) -> Terms:
        return Terms.mean(evidence.policy_prices)


@dataclass(frozen=True)
class InversePropensity(Estimator):
    """IPS, mean of wR: unbiased if the propensities are correct, with a large variance (Horvitz and Thompson, 1952)."""

    name = "ips"
    uses_prices, uses_weights = False, True

    def terms(self, evidence: Evidence) -> Terms:
        return Terms.mean(evidence.weights * evidence.rewards)


@dataclass(frozen=True)
class ClippedInversePropensity(Estimator):
    """IPS with weights cut at `limit`: less variance, biased towards zero (Ionides, 2008)."""

    limit: float | None = None
    name = "clipped ips"
    uses_prices, uses_weights = False, True

    def __post_init__(self) -> None:
        _require_limit(self)

    def terms(self, evidence: Evidence) -> Terms:
        return Terms.mean(self.tail_weights(evidence) * evidence.rewards)

    def tail_weights(self, evidence: Evidence) -> np.ndarray:
        return _limited(self.limit, evidence, evidence.rewards, np.zeros(len(evidence)), np.minimum)


@dataclass(frozen=True)
class SelfNormalised(Estimator):
    """SNIPS, Σ wR / Σ w: a weighted mean of rewards, never outside their range (Swaminathan and Joachims, 2015)."""

    name = "self-normalised ips"
    uses_prices, uses_weights = False, True

    def terms(self, evidence: Evidence) -> Terms:
        return Terms.ratio(evidence.weights * evidence.rewards, evidence.weights)


@dataclass(frozen=True)
class DoublyRobust(Estimator):
    """DR, the prices corrected by their weighted errors: consistent if either the prices or π̂0 are correct.

    Robins, Rotnitzky and Zhao, 1994; Dudík, Langford and Li, 2011.
    """

    name = "dr"
    uses_prices, uses_weights = True, True

    def terms(self, evidence: Evidence) -> Terms:
        return _corrected(evidence, evidence.weights)


@dataclass(frozen=True)
class SelfNormalisedDoublyRobust(Estimator):
    """DR whose correction is divided by Σ w instead of the number of rows."""

    name = "self-normalised dr"
    uses_prices, uses_weights = True, True

    def terms(self, evidence: Evidence) -> Terms:
        errors = evidence.weights * (evidence.rewards - evidence.logged_prices)
        return Terms.mean(evidence.policy_prices) + Terms.ratio(errors, evidence.weights)


@dataclass(frozen=True)
class LimitedDoublyRobust(Estimator):
    """DR whose weights are limited in some way; `limit` None chooses it from the data. Subclasses are final."""

    limit: float | None = None
    uses_prices, uses_weights = True, True

    def __post_init__(self) -> None:
        _require_limit(self)

    @staticmethod
    @abc.abstractmethod
    def limited(weights: np.ndarray, limit: float) -> np.ndarray:
        """The weights under a limit; ∞ leaves them as they are."""

    def terms(self, evidence: Evidence) -> Terms:
        return _corrected(evidence, self.tail_weights(evidence))

    def tail_weights(self, evidence: Evidence) -> np.ndarray:
        residuals = evidence.rewards - evidence.logged_prices
        return _limited(self.limit, evidence, residuals, evidence.policy_prices, self.limited)


@dataclass(frozen=True)
class SwitchDoublyRobust(LimitedDoublyRobust):
    """DR where the weight is at most `limit`, the model alone where it is larger (Wang, Agarwal and Dudík, 2017)."""

    name = "switch dr"

    @staticmethod
    def limited(weights: np.ndarray, limit: float) -> np.ndarray:
        return np.where(weights <= limit, weights, 0.0)


@dataclass(frozen=True)
class ShrunkDoublyRobust(LimitedDoublyRobust):
    """DR with optimistic shrinkage: weights λw / (w² + λ), λ = `limit`² (Su, Dimakopoulou and others, 2020).

    A weight far below the limit stays as it is; the largest that any can become is half the limit.
    """

    name = "shrunk dr"

    @staticmethod
    def limited(weights: np.ndarray, limit: float) -> np.ndarray:
        return weights / ((weights / limit) ** 2 + 1) if math.isfinite(limit) else weights


def _corrected(evidence: Evidence, weights: np.ndarray) -> Terms:
    return Terms.mean(evidence.policy_prices + weights * (evidence.rewards - evidence.logged_prices))


def _limited(
    limit: float | None,
    evidence: Evidence,
    residuals: np.ndarray,
    base: np.ndarray,
    limiting: Callable[[np.ndarray, float], np.ndarray],
) -> np.ndarray:
    """The weights under the limit that was given, or under the one with the least estimated mean squared error."""
    weights = evidence.weights
    if limit is not None:
        return limiting(weights, limit)
    positive = weights[weights > 0]
    if not len(positive):
        return weights
    limits = [*np.unique(np.quantile(positive, QUANTILES)), math.inf]
    candidates = [
        limiting(weights, one) for one in reversed(limits)
    ]  # among equals, the one that changes the weights least
    errors = [_squared_error(kept, weights, residuals, base, evidence.groups) for kept in candidates]
    return candidates[int(np.argmin(errors))]


def _squared_error(
    kept: np.ndarray, weights: np.ndarray, residuals: np.ndarray, base: np.ndarray, groups: np.ndarray | None
) -> float:
    lost, terms = (weights - kept) * residuals, base + kept * residuals
    if groups is not None:
        lost, terms = (Terms.mean(values).by_group(groups).influence for values in (lost, terms))
    rows = len(terms)
    bias = abs(lost.mean()) + 2 * lost.std() / math.sqrt(rows)
    return float(np.var(terms) / rows + bias**2)


def _require_limit(estimator: ClippedInversePropensity | LimitedDoublyRobust) -> None:
    check(type(estimator).__name__, {"limit": _LIMIT}, vars(estimator))


EVERY_ESTIMATOR: tuple[Estimator, ...] = (
    Direct(),
    InversePropensity(),
    ClippedInversePropensity(),
    SelfNormalised(),
    DoublyRobust(),
    SelfNormalisedDoublyRobust(),
    SwitchDoublyRobust(),
    ShrunkDoublyRobust(),
)
