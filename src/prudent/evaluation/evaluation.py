"""Evaluation: what a log says about several policies, with intervals, tails and comparisons. Rewards are in the log's
units and sign."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.evaluation.decisions import LOGGED, referred_rows
from prudent.evaluation.estimators import Estimator
from prudent.evaluation.intervals import Estimate, Imputed, Interval, LogarithmicSmoothing
from prudent.evaluation.prices import Prices
from prudent.evaluation.row_terms import Evidence, Terms, between_imputations
from prudent.evaluation.tails import as_share, share_rows, worst_mean
from prudent.propensity import FittedPropensity, effective_sample_size
from prudent.show import plain_types
from prudent.table import Log, did_you_mean

if TYPE_CHECKING:
    from prudent.evaluation.cross_fitting import CrossFitted
    from prudent.evaluation.diagnosis.diagnosis import Diagnosis
    from prudent.evaluation.sensitivity.confounding import Confounding
    from prudent.evaluation.sensitivity.missing_values import ShiftedMissingness
    from prudent.models import Fitted

HEADLINE = ("self-normalised dr", "dr")


@dataclass(frozen=True)
class Judging:
    """How policies are judged: the settings of `evaluate`."""

    estimators: tuple[Estimator, ...]
    interval: Interval
    confidence: float
    below: float | None
    worst_share: float


class Measured(NamedTuple):
    """Something about a policy before it has an interval: its terms, and its value by each imputation alone."""

    terms: Terms
    imputed: list[float]

    @classmethod
    def of(cls, evidence: Evidence, terms: Callable[[Evidence], Terms]) -> "Measured":
        return cls(terms(evidence), [terms(one).value for one in evidence.imputations()])

    def minus(self, other: "Measured") -> "Measured":
        """Paired: the difference on the same rows and imputations."""
        pairs = zip(self.imputed, other.imputed, strict=True)
        return Measured(self.terms - other.terms, [own - theirs for own, theirs in pairs])


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Policies judged on the same logged decisions.

    asked: the names of the policies that were given; `names` has also the log's own decisions and constant actions.
    probabilities: of every action by policy, [row, action]; NaN in rows decided as logged.
    """

    log: Log
    asked: tuple[str, ...]
    probabilities: dict[str, np.ndarray]
    propensity: FittedPropensity
    prices: Prices
    judging: Judging
    notes: tuple[str, ...]
    _evidence: dict[tuple[str, bool], Evidence] = field(default_factory=dict, init=False, repr=False)
    _logged: dict[Estimator, Measured] = field(default_factory=dict, init=False, repr=False)
    _estimates: dict[str, dict[tuple[str, str], Estimate]] = field(default_factory=dict, init=False, repr=False)
    _diagnoses: "dict[str, Diagnosis]" = field(default_factory=dict, init=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.probabilities)

    @property
    def headline(self) -> Estimator:
        """The estimator that is shown first: doubly robust where it was asked for."""
        found = {one.name: one for one in self.judging.estimators}
        return next((found[name] for name in HEADLINE if name in found), self.judging.estimators[0])

    def evidence(self, policy: str) -> Evidence:
        """Weights, rewards and prices of a policy, row by row, in the inner sign (higher is better)."""
        return self._found(policy, tail=False)

    def tail_evidence(self, policy: str) -> Evidence:
        """The same for another outcome of each row: 1 where it was beyond the threshold, else 0."""
        if self.judging.below is None:
            raise InputProblem("No threshold was given, so there is no tail; evaluate with below=..., a reward.")
        return self._found(policy, tail=True)

    def estimate(
        self, policy: str, estimator: Estimator | str | None = None, interval: Interval | None = None
    ) -> Estimate:
        """What the policy would have earned per decision."""
        chosen = self._estimator(estimator)
        if self._known(policy, chosen, interval):
            return self._estimates[policy][chosen.name, "value"]
        return self._signed(self._interval(self._value(policy, chosen), interval))

    def difference(
        self,
        policy: str,
        other: str = LOGGED,
        estimator: Estimator | str | None = None,
        interval: Interval | None = None,
    ) -> Estimate:
        """How much more `policy` would have earned than `other`, paired: row by row on the same decisions."""
        chosen = self._estimator(estimator)
        if other == LOGGED and self._known(policy, chosen, interval):
            return self._estimates[policy][chosen.name, "gain"]
        found = self._value(policy, chosen).minus(self._value(other, chosen))
        return self._signed(self._interval(found, interval))

    def differences(self) -> dict[tuple[str, str], Estimate]:
        """Every pair of the policies that were asked about, by the headline estimator; see `difference`."""
        values = {name: self._value(name, self.headline) for name in self.asked}
        pairs = list(combinations(self.asked, 2))
        found = self._intervals([values[one].minus(values[other]) for one, other in pairs], None)
        return {pair: self._signed(own) for pair, own in zip(pairs, found, strict=True)}

    def tail_share(
        self, policy: str, estimator: Estimator | str | None = None, interval: Interval | None = None
    ) -> Estimate:
        """The share of outcomes beyond the threshold that `evaluate` was given; its interval is `as_share`'s."""
        chosen = self._estimator(estimator)
        return self._share(policy, chosen, self._interval(self._tail(policy, chosen), interval))

    def tail_rows(self, policy: str) -> float:
        """The effective sample size behind `tail_share` by the headline estimator, see `tails.share_rows`."""
        return share_rows(self.tail_share(policy), self._weighted_rows(policy, self.headline))

    def worst_mean(
        self, policy: str, estimator: Estimator | str | None = None, interval: Interval | None = None
    ) -> Estimate:
        """The mean of the worst outcomes (CVaR), by the estimator's weights; NaN for an estimator without weights."""
        return self._signed(self._interval(self._worst(policy, self._estimator(estimator)), interval))

    def at_worst(
        self, policy: str, confidence: float | None = None, reward_range: tuple[float, float] | None = None
    ) -> float:
        """What the policy's value is at worst, with probability `confidence`, by logarithmic smoothing.

        It holds for any number of rows and however large the weights, given the range that rewards can have; without
        `reward_range` that of the rows at hand, which leaves out what is too rare to have happened yet.
        """
        if reward_range is not None and self.log.minimize:
            reward_range = -reward_range[1], -reward_range[0]
        wanted = self.judging.confidence if confidence is None else confidence
        bound = LogarithmicSmoothing(reward_range).lower_bound(self.evidence(policy), wanted)
        return -bound if self.log.minimize else bound

    def confounding(self, preferred: str | None = None, other: str | None = None, **options: Any) -> "Confounding":
        """How strong unrecorded reasons for the logged actions would have to be to change which policy is preferred.

        Options as in `prudent.evaluation.sensitivity.confounding.confounding`.
        """
        from prudent.evaluation.sensitivity.confounding import confounding

        return confounding(self, preferred, other, **options)

    def missingness(self, fitted: "Fitted | CrossFitted", **options: Any) -> "ShiftedMissingness":
        """What becomes of the preferred policy if missing cells differ from what the rest of the records say.

        Options as in `prudent.evaluation.sensitivity.missing_values.shifted_missingness`.
        """
        from prudent.evaluation.sensitivity.missing_values import shifted_missingness

        return shifted_missingness(self, fitted, **options)

    def diagnose(self, policy: str) -> "Diagnosis":
        """Whether the log can answer for this policy: weights, overlap, balance, and a verdict in a sentence."""
        from prudent.evaluation.diagnosis.diagnosis import diagnose

        if policy not in self._diagnoses:
            self._diagnoses[policy] = diagnose(self, policy)
        return self._diagnoses[policy]

    def estimates(self, policy: str) -> dict[tuple[str, str], Estimate]:
        """All there is about a policy, by the estimator's name and what is estimated: "value", "gain" over the
        decisions as logged, "worst_mean" and, where a threshold was given, "tail_share"."""
        if policy not in self._estimates:
            self._estimates[policy] = self._all_estimates(policy)
        return self._estimates[policy]

    def to_frame(self) -> pl.DataFrame:
        """One row per policy and estimator: value, gain over the decisions as logged, tail and worst mean."""
        return pl.DataFrame([record for policy in self.names for record in self._records(policy)], strict=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types for JSON; the keys are in `prudent.evaluation.telling.facts`."""
        from prudent.evaluation.telling import facts

        return facts(self)

    def __str__(self) -> str:
        from prudent.evaluation.telling import text

        return text(self)

    def _records(self, policy: str) -> Iterator[dict[str, Any]]:
        found = self.estimates(policy)
        for one in self.judging.estimators:
            record: dict[str, Any] = {"policy": policy, "estimator": one.name}
            for (estimator, name), estimate in found.items():
                record |= estimate_columns(name, estimate) if estimator == one.name else {}
            yield record

    def _all_estimates(self, policy: str) -> dict[tuple[str, str], Estimate]:
        """The intervals of all estimators are found together, on the same resampled rows."""
        values = {one: self._value(policy, one) for one in self.judging.estimators}
        wanted: dict[str, Callable[[Estimator], Measured]] = {
            "value": lambda one: values[one],
            "gain": lambda one: values[one].minus(self._value(LOGGED, one)),
            "worst_mean": lambda one: self._worst(policy, one),
        }
        if self.judging.below is not None:
            wanted["tail_share"] = lambda one: self._tail(policy, one)
        keys = [(one, name) for one in self.judging.estimators for name in wanted]
        found = self._intervals([wanted[name](one) for one, name in keys], None)
        return {
            (one.name, name): self._share(policy, one, own) if name == "tail_share" else self._signed(own)
            for (one, name), own in zip(keys, found, strict=True)
        }

    # --- from evidence to estimates, in the inner sign ---

    def _value(self, policy: str, estimator: Estimator) -> Measured:
        if policy != LOGGED:
            return Measured.of(self.evidence(policy), estimator.terms)
        if estimator not in self._logged:  # every gain is over these
            self._logged[estimator] = Measured.of(self.evidence(policy), estimator.terms)
        return self._logged[estimator]

    def _tail(self, policy: str, estimator: Estimator) -> Measured:
        evidence = self.tail_evidence(policy)
        if self.prices.tail is None and not estimator.uses_weights:
            return Measured(Terms.ratio(np.zeros(len(evidence)), np.zeros(len(evidence))), [])  # nothing to go by
        return Measured.of(evidence, estimator.terms)

    def _share(self, policy: str, estimator: Estimator, found: Estimate) -> Estimate:
        return as_share(found, self._weighted_rows(policy, estimator), self.judging.confidence)

    def _weighted_rows(self, policy: str, estimator: Estimator) -> float:
        return effective_sample_size(self.evidence(policy).weights) if estimator.uses_weights else len(self.log)

    def _worst(self, policy: str, estimator: Estimator) -> Measured:
        def terms(evidence: Evidence) -> Terms:
            return worst_mean(estimator.tail_weights(evidence), evidence.rewards, self.judging.worst_share)

        return Measured.of(self.evidence(policy), terms)

    def _intervals(self, measured: Sequence[Measured], interval: Interval | None) -> list[Estimate]:
        imputed = [Imputed(between_imputations(one.imputed), len(one.imputed)) for one in measured]
        chosen = self.judging.interval if interval is None else interval
        return chosen.estimates([one.terms for one in measured], imputed, self.judging.confidence)

    def _interval(self, measured: Measured, interval: Interval | None) -> Estimate:
        return self._intervals([measured], interval)[0]

    def _signed(self, estimate: Estimate) -> Estimate:
        return estimate.negated() if self.log.minimize else estimate

    def _known(self, policy: str, estimator: Estimator, interval: Interval | None) -> bool:
        return interval is None and policy in self._estimates and estimator in self.judging.estimators

    def _estimator(self, estimator: Estimator | str | None) -> Estimator:
        if estimator is None or isinstance(estimator, Estimator):
            return estimator or self.headline
        found = {one.name: one for one in self.judging.estimators}
        if estimator not in found:
            raise InputProblem(f"There is no estimator '{estimator}' here. {did_you_mean(estimator, found)}")
        return found[estimator]

    def _found(self, policy: str, tail: bool) -> Evidence:
        if policy not in self.probabilities:
            raise InputProblem(f"There is no policy '{policy}' here. {did_you_mean(policy, self.names)}")
        if (policy, tail) not in self._evidence:
            self._evidence[policy, tail] = self._made(self.probabilities[policy], tail)
        return self._evidence[policy, tail]

    def _made(self, chances: np.ndarray, tail: bool) -> Evidence:
        prices, outcomes = self.prices.rewards, self.log.rewards
        if tail and self.judging.below is not None:
            outcomes = (outcomes < (-self.judging.below if self.log.minimize else self.judging.below)) * 1.0
            # given prices say nothing of the tail: there the weights alone decide
            prices = np.zeros_like(prices) if self.prices.tail is None else self.prices.tail
        rows = np.arange(len(self.log))
        logged = prices[rows, self.log.actions]
        referred = referred_rows(chances)
        own = np.where(referred, 0.0, chances[rows, self.log.actions])
        expected = np.where(referred, logged, np.sum(np.where(np.isnan(chances), 0.0, chances) * prices, axis=1))
        weights, each = np.where(referred, 1.0, own / self.propensity.taken), self.propensity.imputed
        imputed = None if each is None else np.where(referred[None, :], 1.0, own[None, :] / each)
        return Evidence(weights, outcomes, logged, expected, imputed)


def estimate_columns(name: str, estimate: Estimate) -> dict[str, float | None]:
    """An estimate as columns of a table: name, name_error, name_low, name_high."""
    return {name if key == "value" else f"{name}_{key}": number for key, number in plain_types(estimate).items()}
