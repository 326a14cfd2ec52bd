"""A policy's value, or the difference of two, split into what is known and what depends on uncertain weights.

Two policies are compared where they differ. With z the inverse propensity of the logged action,
V₁ − V₂ = E(θ̂₁ − θ̂₂) + E[(π₁(A) − π₂(A)) z (R − θ̂)], and where π₁(A) = π₂(A) no weight matters. The rows where π₁(A)
is larger and those where it is smaller each have a total weight of E½Σₐ|π₁(a) − π₂(a)|, the share of decisions on
which the two differ, so each side is that share times its weighted mean. A row that one of the two leaves as logged has
a known outcome there; of the other's weight π₁(A) z only what goes beyond the logged decision itself can move.
"""

from dataclasses import dataclass

import numpy as np

from prudent.evaluation.decisions import referred_rows
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.evaluation.sensitivity.weight_bounds import Contrast, Part


def contrast(estimates: PolicyEstimates, policy: str, other: str | None = None) -> Contrast:
    """A policy's value, or its difference from another's, with weights that depend on Γ; in the internal sign."""
    evidence, first = estimates.evidence(policy), _Probabilities.of(estimates, policy)
    errors, odds = evidence.rewards - evidence.logged_prices, 1 / estimates.propensity.taken - 1
    if other is None:
        part = _of_those_seen(estimates, first.part(first.taken, odds, errors))
        return Contrast(evidence.policy_prices, np.ones(len(errors)), (part,))
    second = _Probabilities.of(estimates, other)
    prices = evidence.policy_prices - estimates.evidence(other).policy_prices
    alike, single = first.referred & second.referred, first.referred ^ second.referred
    apart = np.sum(np.abs(first.filled - second.filled), axis=1) / 2
    otherwise = 1 - np.where(first.referred, second.taken, first.taken)  # of rows that one of the two leaves as logged
    share = np.where(alike, 0.0, np.where(single, otherwise, apart))
    parts = first.against(second, odds, errors), second.against(first, odds, -errors)
    return Contrast(prices, share, tuple(_of_those_seen(estimates, part) for part in parts))


def _of_those_seen(estimates: PolicyEstimates, part: Part) -> Part:
    """Where outcomes are censored, those that were seen count for the others, too."""
    if estimates.censoring is None:
        return part
    weights = estimates.censoring.weights
    return Part(part.outcomes, weights * part.base, weights * part.loose)


@dataclass(frozen=True, eq=False)
class _Probabilities:
    """Which rows a policy leaves as logged, its probabilities elsewhere [row, action], and those of what was done."""

    referred: np.ndarray
    filled: np.ndarray
    taken: np.ndarray

    @classmethod
    def of(cls, estimates: PolicyEstimates, policy: str) -> "_Probabilities":
        probabilities, log = estimates.probabilities[policy], estimates.log
        referred = referred_rows(probabilities)
        filled = np.where(referred[:, None], 0.0, probabilities)
        return cls(referred, filled, np.where(referred, 1.0, filled[np.arange(len(log)), log.actions]))

    def part(self, share: np.ndarray, odds: np.ndarray, errors: np.ndarray) -> Part:
        """Rows weigh `share` times their inverse propensity; what is left as logged weighs one."""
        return Part(errors, share, np.where(self.referred, 0.0, share * odds))

    def against(self, other: "_Probabilities", odds: np.ndarray, errors: np.ndarray) -> Part:
        """The rows where this policy takes the logged action more often than the other, weighted by how much more."""
        both = ~self.referred & ~other.referred
        more = np.where(both, np.maximum(self.taken - other.taken, 0.0), 0.0)
        # against what is left as logged π z − 1 = π (z − 1) − (1 − π): the row that both decide alike cancels
        only = ~self.referred & other.referred
        base = np.where(self.referred & ~other.referred, 1 - other.taken, more)
        return Part(errors, base, np.where(only, self.taken, more) * odds)
