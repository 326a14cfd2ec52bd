"""Unobserved confounding: how strong would a reason that nobody recorded have to be to change the preferred policy?

The marginal sensitivity model (Tan, 2006). Those who decided may have seen more than the record x̃. The probability of
the logged action given all they saw is then not π̂0(A | x̃), but its odds are assumed to be within a factor Γ of it: an
inverse propensity 1/π lies between 1 + (1/π̂0 − 1)/Γ and 1 + (1/π̂0 − 1)Γ. Γ = 1 means that everything was recorded.

Bounds are taken over the errors of the prices, R − θ̂(x̃, A), and added to the prices of the policy's actions. That is
valid for any prices, correct or not: weighted with the true inverse propensities, the mean of θ̂(x̃, A) is exactly the
mean of θ̂ for the policy's actions, whatever else influenced the decision, since θ̂ depends only on the record and the
action. So at the true weights, which are within the bounds, prices plus weighted errors estimate the policy's value;
and as errors vary less than rewards, the bounds are narrower.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from prudent.errors import InputProblem, Rule, check, is_number, require, whole
from prudent.evaluation.intervals import resampled_rows
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.evaluation.sensitivity.policy_contrast import contrast
from prudent.evaluation.sensitivity.recorded_strength import observed_strength
from prudent.evaluation.sensitivity.weight_bounds import LARGEST_GAMMA, Contrast
from prudent.progress import tracked
from prudent.propensity import Propensity
from prudent.show import confounding_sentence, plain_types

GAMMAS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
_GAMMA = Rule(
    f"be numbers from 1 to {LARGEST_GAMMA:.0f}",
    lambda gammas: len(gammas) > 0 and all(is_number(gamma) and 1 <= gamma <= LARGEST_GAMMA for gamma in gammas),
)
_RULES = {"gammas": _GAMMA, "draws": whole(1), "seed": whole()}


@dataclass(frozen=True)
class Bound:
    """The range of a policy's value, or of its gain over `other`, when odds may be off by a factor of `gamma`.

    From `low` to `high` on these rows; with sampling error, from `interval_low` to `interval_high`. NaN or infinite
    where the log has no decision that agrees with the policy.
    """

    policy: str
    other: str | None
    gamma: float
    low: float
    high: float
    interval_low: float
    interval_high: float


@dataclass(frozen=True)
class Tipping:
    """The gain of the preferred policy over `other` when all was recorded, and the Γ from which there may be none.

    `with_error` is the Γ from which the lower end of the bootstrap interval shows no gain: 1 means that the gain is not
    significant even when all was recorded. Infinite: larger than 100.
    """

    other: str
    gain: float
    least_gamma: float
    with_error: float


@dataclass(frozen=True)
class Confounding:
    """What unrecorded reasons could do to a comparison of policies; see `confounding`.

    observed_strength: by how much leaving out each recorded attribute changes the odds of the logged action (see
        `observed_strength`), the strongest first; empty unless requested.
    """

    preferred: str
    confidence: float
    tippings: tuple[Tipping, ...]
    bounds: tuple[Bound, ...]
    observed_strength: dict[str, float]

    @property
    def least(self) -> Tipping:
        """The comparison that the weakest unrecorded reason could overturn."""
        return min(self.tippings, key=lambda tipping: (tipping.least_gamma, tipping.with_error))

    @property
    def least_gamma(self) -> float:
        return self.least.least_gamma

    @property
    def sentence(self) -> str:
        return confounding_sentence(self._facts)

    def __str__(self) -> str:
        return self.sentence

    def to_frame(self) -> pl.DataFrame:
        """Bounds on every value (`other` is empty) and difference, one row per Γ."""
        return pl.DataFrame([plain_types(bound) for bound in self.bounds], schema_overrides={"other": pl.String})

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a Γ beyond 100, and a bound that does not exist, is None."""
        return {**self._facts, "sentence": self.sentence}

    @property
    def _facts(self) -> dict[str, Any]:
        return {
            "preferred": self.preferred,
            "confidence": self.confidence,
            "least": plain_types(self.least),
            "tippings": [plain_types(tipping) for tipping in self.tippings],
            "bounds": [plain_types(bound) for bound in self.bounds],
            "observed_strength": dict(self.observed_strength),
            "largest_gamma": LARGEST_GAMMA,
        }


def confounding(
    estimates: PolicyEstimates,
    preferred: str | None = None,
    other: str | None = None,
    *,
    gammas: Sequence[float] = GAMMAS,
    draws: int = 200,
    seed: int = 0,
    yardstick: Propensity | None = None,
) -> Confounding:
    """How strong an unrecorded reason would have to be for the preferred policy to be no better than another.

    preferred: by default the best, by the headline estimator, of the policies that were evaluated.
    other: by default every other policy that decides some row differently, including the decisions as logged and the
        constant actions.
    gammas: the factors Γ for which bounds are reported.
    draws: resampled logs behind the intervals (Zhao and others, 2019: percentiles of the bounds are valid). The
        propensities and prices are not refitted on each, and the imputation of gaps adds no variance.
    yardstick: a propensity that is fitted without each attribute in turn, so that Γ can be compared with the strength
        of recorded reasons. It costs one fit per attribute and one more.
    """
    check("confounding", _RULES, locals())
    preferred = preferred_policy(estimates, preferred)
    others = _others(estimates, preferred, other)
    names = [(name, None) for name in (preferred, *others)] + [(preferred, name) for name in others]
    explored = [_Explored(*pair, contrast(estimates, *pair), gammas) for pair in names]
    once = np.ones((1, len(estimates.log)))
    resampled = resampled_rows(len(estimates.log), draws, seed, estimates.log.groups)
    for counts in chain([once], resampled):
        for at in tracked(len(explored), "bounds under unrecorded reasons"):
            explored[at].explore(counts)
    sign, confidence = estimates.log.sign, estimates.settings.confidence
    return Confounding(
        preferred,
        confidence,
        tuple(comparison.tipping(sign, confidence) for comparison in explored if comparison.other is not None),
        tuple(bound for comparison in explored for bound in comparison.bounds(sign, confidence)),
        {} if yardstick is None else observed_strength(estimates.log, yardstick, seed),
    )


def confounding_bounds(
    estimates: PolicyEstimates, policy: str, other: str | None = None, *, gamma: float
) -> tuple[float, float]:
    """The lowest and highest value of a policy, or of its gain over another, on these rows at this Γ.

    >>> from prudent import Log
    >>> from prudent.evaluation import evaluate
    >>> table = {"sick": [0, 1] * 40, "dose": [0, 0, 1, 1] * 20, "outcome": [1, 0, 0, 1] * 20}
    >>> evaluation = evaluate(lambda frame: frame["sick"], Log.from_frame(table, action="dose", reward="outcome"))
    >>> low, high = confounding_bounds(evaluation, "policy", "always 1", gamma=2.0)
    """
    check("confounding_bounds", {"gammas": _GAMMA}, {"gammas": [gamma]})
    bounded, once = contrast(estimates, policy, other), np.ones((1, len(estimates.log)))
    low, high = bounded.over(once).lowest(gamma).item(), -bounded.negated.over(once).lowest(gamma).item()
    return (-high, -low) if estimates.log.minimize else (low, high)


def preferred_policy(estimates: PolicyEstimates, preferred: str | None) -> str:
    """The policy that was named or, by default, the best of those that were given, by the headline estimator."""
    if preferred is not None:
        estimates.evidence(preferred)  # a name that does not exist is refused there
        return preferred
    if not estimates.asked:
        raise InputProblem("No policy was given to evaluate; name one of the others with preferred=...")
    values = {name: estimates.log.sign * estimates.estimate(name).value for name in estimates.asked}
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    if not known:
        raise InputProblem("The log has no decision like those of the policies, so none of them can be preferred.")
    return max(known, key=lambda name: known[name])


class _Explored:
    """The bounds of one comparison, first on the log itself and then on resampled ones."""

    def __init__(self, policy: str, other: str | None, contrast: Contrast, gammas: Sequence[float]):
        self.policy, self.other, self.contrast, self.gammas = policy, other, contrast, gammas
        self._lows: list[np.ndarray] = []
        self._highs: list[np.ndarray] = []
        self._least: list[np.ndarray] = []

    def explore(self, counts: np.ndarray) -> None:
        low = self.contrast.over(counts)
        self._lows.append(np.stack([low.lowest(gamma) for gamma in self.gammas], axis=1))
        if self.other is not None:
            self._least.append(low.least_gamma())
        del low  # two sets of cumulative sums need not be held at once
        high = self.contrast.negated.over(counts)
        self._highs.append(-np.stack([high.lowest(gamma) for gamma in self.gammas], axis=1))

    def bounds(self, sign: float, confidence: float) -> list[Bound]:
        lows, highs = np.concatenate(self._lows), np.concatenate(self._highs)
        result = []
        for index, gamma in enumerate(self.gammas):
            low, high = lows[0, index], highs[0, index]
            ends = low, high, _lower_end(lows[1:, index], confidence), -_lower_end(-highs[1:, index], confidence)
            if sign < 0:
                ends = -ends[1], -ends[0], -ends[3], -ends[2]
            result.append(Bound(self.policy, self.other, float(gamma), *map(float, ends)))
        return result

    def tipping(self, sign: float, confidence: float) -> Tipping:
        assert self.other is not None  # the value of a single policy is not a comparison
        least = np.concatenate(self._least)
        gain = self.contrast.over(np.ones((1, len(self.contrast.prices)))).lowest(1.0).item()
        return Tipping(self.other, sign * gain, float(least[0]), _lower_end(least[1:], confidence))


def _lower_end(drawn: np.ndarray, confidence: float) -> float:
    """The lower percentile over resampled logs; a log that cannot say counts as the lowest of all."""
    rising = np.sort(np.where(np.isnan(drawn), -np.inf, drawn))
    return float(rising[max(math.ceil((1 - confidence) / 2 * len(rising)) - 1, 0)])


def _others(estimates: PolicyEstimates, preferred: str, other: str | None) -> list[str]:
    if other is not None:
        estimates.evidence(other)
        require(other != preferred, "confounding", "other", "differ from the preferred policy", other)
        return [other]
    # policies that decide everything alike, and those the log says nothing about, cannot be compared with it
    others = [
        name
        for name in estimates.names
        if math.isfinite(estimates.estimate(name).value) and contrast(estimates, preferred, name).share.any()
    ]
    if not others:
        raise InputProblem(f"The log can only answer for '{preferred}', so there is nothing to compare it with.")
    return others
