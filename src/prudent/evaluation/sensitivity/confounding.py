"""Unobserved confounding: how strong would a reason that nobody recorded have to be to change the preferred policy?

The marginal sensitivity model (Tan, 2006). Whoever decided may have seen more than the record x̃. The probability of the
logged action given all that was seen is then not π̂0(A | x̃), but its odds are assumed to be within a factor Γ of those:
an inverse propensity 1/π lies between 1 + (1/π̂0 − 1)/Γ and 1 + (1/π̂0 − 1)Γ. Γ = 1 means that everything was recorded.

Bounds are taken over the errors of the prices, R − θ̂(x̃, A), and added to the prices of the policy's actions. That is
valid for any prices, right or wrong: weighted with the true inverse propensities, θ̂(x̃, A) averages to exactly what
θ̂ says of the policy's actions, whatever else moved the decision, since θ̂ depends on nothing but the record and the
action. So at the true weights, which are in the box, prices plus weighted errors estimate the policy's value; and as
errors scatter less than rewards, the box moves them less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from prudent.errors import InputProblem, is_number, is_whole, require
from prudent.evaluation.evaluation import Evaluation
from prudent.evaluation.intervals import resampled_rows
from prudent.evaluation.sensitivity.policy_contrast import contrast
from prudent.evaluation.sensitivity.recorded_strength import observed_strength
from prudent.evaluation.sensitivity.weight_bounds import LARGEST_GAMMA, Contrast
from prudent.propensity import Propensity
from prudent.show import plain_types

GAMMAS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True)
class Bound:
    """What a policy's value, or how much more it earns than `other`, can be when odds may be off by `gamma`.

    From `low` to `high` on these rows; with sampling error too, from `interval_low` to `interval_high`. NaN or infinite
    where the log holds no decision like the policy's.
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
    """How much the preferred policy earns over `other` when all was recorded, and the Γ from which it might be nothing.

    `with_error` is the Γ from which the lower end of the bootstrap interval is no gain: 1 means that the gain is not
    even significant when all was recorded. Infinite: none up to 100.
    """

    other: str
    gain: float
    least_gamma: float
    with_error: float


@dataclass(frozen=True)
class Confounding:
    """What unrecorded reasons could do to a comparison of policies; see `confounding`.

    observed_strength: by how much leaving out each recorded attribute changes the odds of the logged action (see
        `observed_strength`), the strongest first; empty unless asked for.
    """

    preferred: str
    confidence: float
    tippings: tuple[Tipping, ...]
    bounds: tuple[Bound, ...]
    observed_strength: dict[str, float]

    @property
    def least(self) -> Tipping:
        """The comparison that the weakest unrecorded reason could overturn."""
        return min(self.tippings, key=lambda one: (one.least_gamma, one.with_error))

    @property
    def least_gamma(self) -> float:
        return self.least.least_gamma

    @property
    def sentence(self) -> str:
        """For people."""
        return " ".join([_tipping_sentence(self.preferred, self.least), *_strength_sentences(self.observed_strength)])

    def __str__(self) -> str:
        return self.sentence

    def to_frame(self) -> pl.DataFrame:
        """Bounds on every value (`other` is empty) and difference, one row per Γ."""
        return pl.DataFrame([plain_types(one) for one in self.bounds], schema_overrides={"other": pl.String})

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a Γ beyond 100, and a bound that does not exist, is None."""
        return {
            "preferred": self.preferred,
            "confidence": self.confidence,
            "least": plain_types(self.least),
            "tippings": [plain_types(one) for one in self.tippings],
            "bounds": [plain_types(one) for one in self.bounds],
            "observed_strength": dict(self.observed_strength),
            "sentence": self.sentence,
        }


def confounding(
    evaluation: Evaluation,
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
    other: by default every other policy that decides otherwise somewhere, the decisions as logged and the constant
        actions among them.
    gammas: the factors Γ for which bounds are reported.
    draws: resampled logs behind the intervals (Zhao and others, 2019: percentiles of the bounds are valid). The
        propensities and prices are not learnt anew on each, and imputations of gaps add nothing to them.
    yardstick: a propensity to be fitted without each attribute in turn, so that Γ can be compared with the strength of
        recorded reasons. It costs one fit per attribute and one more.
    """
    _check(gammas, draws, seed)
    preferred = preferred_policy(evaluation, preferred)
    others = _others(evaluation, preferred, other)
    names = [(name, None) for name in (preferred, *others)] + [(preferred, name) for name in others]
    found = [_Explored(*pair, contrast(evaluation, *pair), gammas) for pair in names]
    once = np.ones((1, len(evaluation.log)))
    for counts in chain([once], resampled_rows(len(evaluation.log), draws, seed)):
        for one in found:
            one.explore(counts)
    minimize, confidence = evaluation.log.minimize, evaluation.judging.confidence
    return Confounding(
        preferred,
        confidence,
        tuple(one.tipping(minimize, confidence) for one in found if one.other is not None),
        tuple(bound for one in found for bound in one.bounds(minimize, confidence)),
        {} if yardstick is None else observed_strength(evaluation.log, yardstick, seed),
    )


def confounding_bounds(
    evaluation: Evaluation, policy: str, other: str | None = None, *, gamma: float
) -> tuple[float, float]:
    """The least and the most a policy's value, or its difference to another's, can be on these rows at this Γ.

    >>> from prudent import Log
    >>> from prudent.evaluation import evaluate
    >>> table = {"sick": [0, 1] * 40, "dose": [0, 0, 1, 1] * 20, "outcome": [1, 0, 0, 1] * 20}
    >>> found = evaluate(lambda frame: frame["sick"], Log.from_frame(table, action="dose", reward="outcome"))
    >>> low, high = confounding_bounds(found, "policy", "always 1", gamma=2.0)
    """
    _check([gamma], 1, 0)
    own, once = contrast(evaluation, policy, other), np.ones((1, len(evaluation.log)))
    low, high = own.over(once).lowest(gamma).item(), -own.negated.over(once).lowest(gamma).item()
    return (-high, -low) if evaluation.log.minimize else (low, high)


def preferred_policy(evaluation: Evaluation, preferred: str | None) -> str:
    """The policy that was named or, of those that were asked about, the best by the headline estimator."""
    if preferred is not None:
        evaluation.evidence(preferred)  # a name that does not exist is refused there
        return preferred
    if not evaluation.asked:
        raise InputProblem("No policy was asked about; name one of the others with preferred=...")
    sign = -1.0 if evaluation.log.minimize else 1.0
    values = {name: sign * evaluation.estimate(name).value for name in evaluation.asked}
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    if not known:
        raise InputProblem("The log has no decision like those of the policies, so none of them can be preferred.")
    return max(known, key=lambda name: known[name])


class _Explored:
    """The bounds of one contrast, first on the log itself and then on resampled ones."""

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

    def bounds(self, minimize: bool, confidence: float) -> list[Bound]:
        lows, highs = np.concatenate(self._lows), np.concatenate(self._highs)
        result = []
        for index, gamma in enumerate(self.gammas):
            low, high = lows[0, index], highs[0, index]
            ends = low, high, _lower_end(lows[1:, index], confidence), -_lower_end(-highs[1:, index], confidence)
            if minimize:
                ends = -ends[1], -ends[0], -ends[3], -ends[2]
            result.append(Bound(self.policy, self.other, float(gamma), *map(float, ends)))
        return result

    def tipping(self, minimize: bool, confidence: float) -> Tipping:
        assert self.other is not None  # a value alone has nothing to tip over
        least = np.concatenate(self._least)
        gain = self.contrast.over(np.ones((1, len(self.contrast.prices)))).lowest(1.0).item()
        return Tipping(self.other, -gain if minimize else gain, float(least[0]), _lower_end(least[1:], confidence))


def _lower_end(drawn: np.ndarray, confidence: float) -> float:
    """The lower percentile over resampled logs, one of them; a log that cannot say counts as the lowest of all."""
    rising = np.sort(np.where(np.isnan(drawn), -np.inf, drawn))
    return float(rising[max(math.ceil((1 - confidence) / 2 * len(rising)) - 1, 0)])


def _others(evaluation: Evaluation, preferred: str, other: str | None) -> list[str]:
    if other is not None:
        evaluation.evidence(other)
        require(other != preferred, "confounding", "other", "differ from the preferred policy", other)
        return [other]
    # neither a policy that decides everything alike nor one that the log says nothing about can be held against it
    found = [
        name
        for name in evaluation.names
        if math.isfinite(evaluation.estimate(name).value) and contrast(evaluation, preferred, name).share.any()
    ]
    if not found:
        raise InputProblem(f"The log speaks of no policy but '{preferred}', so there is nothing to compare it with.")
    return found


def _check(gammas: Sequence[float], draws: int, seed: int) -> None:
    right = len(gammas) > 0 and all(is_number(one) and 1 <= one <= LARGEST_GAMMA for one in gammas)
    require(right, "confounding", "gammas", f"be numbers from 1 to {LARGEST_GAMMA:.0f}", gammas)
    require(is_whole(draws, 1), "confounding", "draws", "be a whole number of at least 1", draws)
    require(is_whole(seed), "confounding", "seed", "be a whole number of at least 0", seed)


# --- for people ---


def _tipping_sentence(preferred: str, least: Tipping) -> str:
    if least.least_gamma == 1:
        return f"'{preferred}' is not seen to be better than '{least.other}', even if every reason was recorded."
    if math.isinf(least.with_error):
        return (
            f"No unrecorded reason that changes the odds of the logged action by a factor of up to "
            f"{LARGEST_GAMMA:.0f} would make '{preferred}' no better than '{least.other}', even with sampling error."
        )
    error = (
        "with sampling error none is needed, for the gain is not significant."
        if least.with_error == 1
        else f"with sampling error, {least.with_error:.3g}."
    )
    factor = f"{LARGEST_GAMMA:.0f}" if math.isinf(least.least_gamma) else f"{least.least_gamma:.3g}"
    return (
        f"An unrecorded reason would have to change the odds of the logged action by a factor of at least {factor} "
        f"before '{preferred}' could be no better than '{least.other}'; {error}"
    )


def _strength_sentences(strength: dict[str, float]) -> list[str]:
    if not strength:
        return []
    name, most = next(iter(strength.items()))
    return [f"Of the recorded attributes the strongest, '{name}', changes them by a factor of up to {most:.3g}."]
