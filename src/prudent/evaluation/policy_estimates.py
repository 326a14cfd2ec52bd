"""What a log says about several policies, in numbers: evidence row by row, estimates, differences and tails."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from prudent.errors import InputProblem
from prudent.evaluation.decisions import LOGGED, decided_alike, differing_rows, referred_rows
from prudent.evaluation.diagnosis.support import MOSTLY_OUTSIDE, support
from prudent.evaluation.estimators import Estimator
from prudent.evaluation.intervals import Bootstrap, Estimate, ImputedTerms, Interval, LogarithmicSmoothing
from prudent.evaluation.prices import Prices
from prudent.evaluation.row_terms import Evidence, Terms
from prudent.evaluation.tails import as_share, share_rows, worst_mean
from prudent.propensity import FEW_ROWS, Censoring, FittedPropensity, effective_sample_size
from prudent.table import Log, did_you_mean

HEADLINE = ("self-normalised dr", "dr")
NO_DIFFERENCE = Estimate(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class EvaluationSettings:
    """The settings of `evaluate`."""

    estimators: tuple[Estimator, ...]
    interval: Interval
    confidence: float
    below: float | None
    worst_share: float


@dataclass(frozen=True, eq=False)
class PolicyEstimates:
    """Estimates for policies on the same logged decisions, in the log's units and sign.

    asked: the names of the policies that were given; `names` also has the log's decisions and the constant actions.
    probabilities: of every action by policy, [row, action]; NaN in rows decided as logged.
    censoring: how likely it was to see each outcome; None where none is censored.
    """

    log: Log
    asked: tuple[str, ...]
    probabilities: dict[str, np.ndarray]
    propensity: FittedPropensity
    prices: Prices
    settings: EvaluationSettings
    censoring: Censoring | None = None
    _evidence: dict[tuple[str, bool], Evidence] = field(default_factory=dict, init=False, repr=False)
    _logged: dict[Estimator, ImputedTerms] = field(default_factory=dict, init=False, repr=False)
    _estimates: dict[str, dict[tuple[str, str], Estimate]] = field(default_factory=dict, init=False, repr=False)
    _differences: dict[tuple[object, ...], Estimate] = field(default_factory=dict, init=False, repr=False)
    _drawn: dict[str, dict[tuple[Estimator, str], np.ndarray]] = field(default_factory=dict, init=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.probabilities)

    @property
    def headline(self) -> Estimator:
        """The estimator that is shown first: a doubly robust one where there is one."""
        by_name = {estimator.name: estimator for estimator in self.settings.estimators}
        return next((by_name[name] for name in HEADLINE if name in by_name), self.settings.estimators[0])

    @property
    def rounding(self) -> float:
        """Differences up to this are rounding errors of sums of such rewards, whatever their interval says."""
        rewards = self.log.rewards[self.log.rewarded]
        return 1e-9 * float(rewards.std()) + 1e-13 * float(np.abs(rewards).max())

    @cached_property
    def best_constant(self) -> str | None:
        """The constant action with the best value, of those the log can answer for; None where none has a value.

        An action tried on a few cases only may look best by luck, and nothing could be shown to be better than it. It
        counts only where the log can answer for no constant action at all.

        It is chosen on the rows that policies are then compared on, and that flatters it. So where a policy is shown
        to be better than this one, it is: the constant that is truly best had no larger value here, and against it the
        policy looks at least as good. "Worse" is the side to be careful with, and no conclusion rests on it.
        """
        constants = [name for name in self.names if name not in self.asked and name != LOGGED]
        values = {name: self.log.sign * self.estimate(name).value for name in constants}
        known = sorted((name for name in constants if np.isfinite(values[name])), key=lambda name: -values[name])
        return next(filter(self._answerable, known), next(iter(known), None))

    def _answerable(self, constant: str) -> bool:
        weights = self.evidence(constant).weights
        outside = support(self.propensity, self.probabilities[constant], weights).outside
        independent = effective_sample_size(weights, self.log.groups)
        return independent >= FEW_ROWS and not outside > MOSTLY_OUTSIDE

    def evidence(self, policy: str) -> Evidence:
        """Weights, rewards and prices of a policy, row by row, in the internal sign (higher is better)."""
        return self._cached_evidence(policy, tail=False)

    def tail_evidence(self, policy: str) -> Evidence:
        """The same where the outcome of a row is 1 beyond the threshold, else 0."""
        if self.settings.below is None:
            raise InputProblem("No threshold was given, so there is no tail; evaluate with below=..., a reward.")
        return self._cached_evidence(policy, tail=True)

    def effective_sample_size(self, policy: str) -> float:
        """How many equally weighted rows would say as much as the policy's weighted ones, (Σw)² / Σw²."""
        return effective_sample_size(self.evidence(policy).weights)

    def effective_groups(self, policy: str) -> float | None:
        """How many equally weighted groups would say as much, if the rows of a group were all alike; None without."""
        if self.log.groups is None:
            return None
        return effective_sample_size(self.evidence(policy).weights, self.log.groups)

    def alike(self, policy: str) -> tuple[str, ...]:
        """All policies that decide every row as this one does, itself included: their difference is exactly zero."""
        return tuple(name for name, first in self._first_alike.items() if first == self._first(policy))

    def differently(self, policy: str, other: str) -> float:
        """The share of the rows that two policies decide differently; a row that is referred is decided as logged."""
        decided, others = (self.probabilities[self._first(name)] for name in (policy, other))
        return float(differing_rows(decided, others, self.log.actions).mean())

    def referred(self, policy: str) -> int:
        """Rows that the policy leaves to a person; none in the decisions as logged."""
        return 0 if policy == LOGGED else int(referred_rows(self.probabilities[policy]).sum())

    def estimate(
        self, policy: str, estimator: Estimator | str | None = None, interval: Interval | None = None
    ) -> Estimate:
        """What the policy would have earned per decision."""
        chosen = self._estimator(estimator)
        if self._is_cached(policy, chosen, interval):
            return self._estimates[policy][chosen.name, "value"]
        return self._signed(self._with_interval(self._value(policy, chosen), interval))

    def difference(
        self,
        policy: str,
        other: str = LOGGED,
        estimator: Estimator | str | None = None,
        interval: Interval | None = None,
        confidence: float | None = None,
    ) -> Estimate:
        """How much more `policy` would have earned than `other`, paired: row by row on the same decisions.

        confidence: of the interval; by default that of the evaluation.
        """
        chosen = self._estimator(estimator)
        if self._first(policy) == self._first(other):
            return NO_DIFFERENCE  # known from the decisions; subtracting equal numbers would leave rounding errors
        sure = self.settings.confidence if confidence is None else confidence
        if other == LOGGED and sure == self.settings.confidence and self._is_cached(policy, chosen, interval):
            return self._estimates[policy][chosen.name, "gain"]
        key = self._first(policy), self._first(other), chosen, interval or self.settings.interval, sure
        if key not in self._differences:  # resampling is slow, and the same pair is asked for in several places
            terms = self._value(policy, chosen) - self._value(other, chosen)
            self._differences[key] = self._signed(self._with_interval(terms, interval, sure))
        return self._differences[key]

    def differences(self) -> dict[tuple[str, str], Estimate]:
        """Every pair of the policies that were given, by the headline estimator; see `difference`."""
        values = {name: self._value(name, self.headline) for name in self.asked}
        pairs = list(combinations(self.asked, 2))
        different = [(policy, other) for policy, other in pairs if self._first(policy) != self._first(other)]
        estimates = self.settings.interval.with_imputations(
            [values[policy] - values[other] for policy, other in different], self.settings.confidence
        )
        known = {pair: self._signed(estimate) for pair, estimate in zip(different, estimates, strict=True)}
        return {pair: known.get(pair, NO_DIFFERENCE) for pair in pairs}

    def tail_share(
        self, policy: str, estimator: Estimator | str | None = None, interval: Interval | None = None
    ) -> Estimate:
        """The share of outcomes beyond the threshold that `evaluate` was given; its interval is `as_share`'s."""
        chosen = self._estimator(estimator)
        return self._share(policy, chosen, self._with_interval(self._tail(policy, chosen), interval))

    def tail_rows(self, policy: str) -> float:
        """The effective sample size behind `tail_share` by the headline estimator, see `tails.share_rows`."""
        share = self.tail_share(policy)
        return share_rows(share, self._rows_used(policy, self.headline, share))

    def worst_mean(
        self, policy: str, estimator: Estimator | str | None = None, interval: Interval | None = None
    ) -> Estimate:
        """The mean of the worst outcomes (CVaR), by the estimator's weights; NaN for an estimator without weights."""
        return self._signed(self._with_interval(self._worst_mean(policy, self._estimator(estimator)), interval))

    def at_worst(
        self, policy: str, confidence: float | None = None, reward_range: tuple[float, float] | None = None
    ) -> float:
        """A bound that the policy's value is not worse than, with probability `confidence`, by logarithmic smoothing.

        It holds for any number of rows and any weights, given the range that rewards can have. Without `reward_range`
        it uses the range in these rows, which misses outcomes too rare to have happened yet.
        """
        if reward_range is not None and self.log.minimize:
            reward_range = -reward_range[1], -reward_range[0]
        wanted = self.settings.confidence if confidence is None else confidence
        return self.log.sign * LogarithmicSmoothing(reward_range).lower_bound(self.evidence(policy), wanted)

    def estimates(self, policy: str) -> dict[tuple[str, str], Estimate]:
        """All estimates for a policy, by estimator and quantity: "value", "gain" over the decisions as logged,
        "worst_mean" and, where a threshold was given, "tail_share"."""
        if policy not in self._estimates:
            self._estimates[policy] = self._all_estimates(policy)
        return self._estimates[policy]

    def _all_estimates(self, policy: str) -> dict[tuple[str, str], Estimate]:
        """The intervals of all estimators are computed together, on the same resampled rows."""
        values = {estimator: self._value(policy, estimator) for estimator in self.settings.estimators}
        quantities: dict[str, Callable[[Estimator], ImputedTerms]] = {
            "value": lambda estimator: values[estimator],
            "gain": lambda estimator: values[estimator] - self._value(LOGGED, estimator),
            "worst_mean": lambda estimator: self._worst_mean(policy, estimator),
        }
        if self.settings.below is not None:
            quantities["tail_share"] = lambda estimator: self._tail(policy, estimator)
        keys = [(estimator, name) for estimator in self.settings.estimators for name in quantities]
        estimates = self.settings.interval.with_imputations(
            [quantities[name](estimator) for estimator, name in keys], self.settings.confidence
        )
        found = {
            (by.name, name): self._share(policy, by, estimate) if name == "tail_share" else self._signed(estimate)
            for (by, name), estimate in zip(keys, estimates, strict=True)
        }
        if self._first(policy) == LOGGED:
            found |= {key: NO_DIFFERENCE for key in found if key[1] == "gain"}
        return found

    # --- from evidence to estimates, in the internal sign ---

    def _value(self, policy: str, estimator: Estimator) -> ImputedTerms:
        if policy != LOGGED:
            return self._terms(policy, estimator, "value")
        if estimator not in self._logged:  # every gain is over these
            self._logged[estimator] = self._terms(policy, estimator, "value")
        return self._logged[estimator]

    def _tail(self, policy: str, estimator: Estimator) -> ImputedTerms:
        return self._terms(policy, estimator, "tail_share")

    def _worst_mean(self, policy: str, estimator: Estimator) -> ImputedTerms:
        return self._terms(policy, estimator, "worst_mean")

    def _terms(self, policy: str, estimator: Estimator, quantity: str) -> ImputedTerms:
        """A quantity of a policy, with its values on resampled logs where the interval of the evaluation needs them."""
        return replace(self._undrawn(policy, estimator, quantity), drawn=self._draws(policy).get((estimator, quantity)))

    def _draws(self, policy: str) -> dict[tuple[Estimator, str], np.ndarray]:
        """Logs are resampled once for all quantities of a policy; differences between policies follow from these."""
        interval, first = self.settings.interval, self._first(policy)
        if first not in self._drawn and isinstance(interval, Bootstrap):
            names = ["value", "worst_mean", *([] if self.settings.below is None else ["tail_share"])]
            keys = [(estimator, name) for estimator in self.settings.estimators for name in names]
            drawn = interval.resampled([self._undrawn(first, *key).terms for key in keys])
            self._drawn[first] = dict(zip(keys, drawn, strict=True))
        return self._drawn.get(first, {})

    def _undrawn(self, policy: str, estimator: Estimator, quantity: str) -> ImputedTerms:
        def worst(evidence: Evidence) -> Terms:
            return worst_mean(estimator.tail_weights(evidence), evidence.rewards, self.settings.worst_share)

        if quantity != "tail_share":
            return _imputed_terms(self.evidence(policy), worst if quantity == "worst_mean" else estimator.terms)
        evidence = self.tail_evidence(policy)
        if self.prices.tail is None and not estimator.uses_weights:
            nothing = np.zeros(len(evidence))
            return ImputedTerms(Terms.ratio(nothing, nothing).by_group(evidence.groups))  # unknown: NaN
        return _imputed_terms(evidence, estimator.terms)

    def _share(self, policy: str, estimator: Estimator, estimate: Estimate) -> Estimate:
        return as_share(estimate, self._rows_used(policy, estimator, estimate), self.settings.confidence)

    def _rows_used(self, policy: str, estimator: Estimator, share: Estimate) -> float:
        """The largest effective sample size that a share can have. Where no bad outcome was seen, its error does not
        say how alike the rows of a group are, so groups count."""
        weights = self.evidence(policy).weights if estimator.uses_weights else np.ones(len(self.log))
        return effective_sample_size(weights, None if share.error > 0 else self.log.groups)

    def _with_interval(
        self, terms: ImputedTerms, interval: Interval | None, confidence: float | None = None
    ) -> Estimate:
        chosen = self.settings.interval if interval is None else interval
        if chosen != self.settings.interval:
            terms = replace(terms, drawn=None)  # these are the draws of the evaluation's own interval
        return chosen.with_imputations([terms], self.settings.confidence if confidence is None else confidence)[0]

    def _signed(self, estimate: Estimate) -> Estimate:
        return estimate.negated() if self.log.minimize else estimate

    def _is_cached(self, policy: str, estimator: Estimator, interval: Interval | None) -> bool:
        return interval is None and policy in self._estimates and estimator in self.settings.estimators

    def _estimator(self, estimator: Estimator | str | None) -> Estimator:
        if estimator is None or isinstance(estimator, Estimator):
            return estimator or self.headline
        by_name = {known.name: known for known in self.settings.estimators}
        if estimator not in by_name:
            raise InputProblem(f"There is no estimator '{estimator}' here. {did_you_mean(estimator, by_name)}")
        return by_name[estimator]

    def _cached_evidence(self, policy: str, tail: bool) -> Evidence:
        first = self._first(policy)
        if (first, tail) not in self._evidence:
            self._evidence[first, tail] = self._make_evidence(self.probabilities[first], tail)
        return self._evidence[first, tail]

    def _first(self, policy: str) -> str:
        """The first of the policies that decide as this one does; of those that decide as logged, the log itself."""
        if policy not in self.probabilities:
            raise InputProblem(f"There is no policy '{policy}' here. {did_you_mean(policy, self.names)}")
        return self._first_alike[policy]

    @cached_property
    def _first_alike(self) -> dict[str, str]:
        order = [name for name in (LOGGED, *self.names) if name in self.probabilities]
        first: dict[str, str] = {}
        for name in order:
            known = dict.fromkeys(first.values())
            own = self.probabilities[name]
            alike = (one for one in known if decided_alike(self.probabilities[one], own, self.log.actions))
            first[name] = next(alike, name)
        return {name: first[name] for name in self.names}

    def _make_evidence(self, probabilities: np.ndarray, tail: bool) -> Evidence:
        prices, outcomes = self.prices.rewards, self.log.rewards
        if self.censoring is not None:  # weighted by 0, so any number within the range will do
            outcomes = np.where(self.log.rewarded, outcomes, outcomes[self.log.rewarded].mean())
        if tail and self.settings.below is not None:
            outcomes = (outcomes < self.log.sign * self.settings.below) * 1.0
            # given prices say nothing of the tail: there the weights alone decide
            prices = np.zeros_like(prices) if self.prices.tail is None else self.prices.tail
        rows = np.arange(len(self.log))
        logged = prices[rows, self.log.actions]
        referred = referred_rows(probabilities)
        agreement = np.where(referred, 0.0, probabilities[rows, self.log.actions])
        known = np.where(np.isnan(probabilities), 0.0, probabilities)
        expected = np.where(referred, logged, np.sum(known * prices, axis=1))
        weights, imputed = np.where(referred, 1.0, agreement / self.propensity.taken), self.propensity.imputed
        each = None if imputed is None else np.where(referred[None, :], 1.0, agreement[None, :] / imputed)
        if self.censoring is not None:
            weights = weights * self.censoring.weights
            each = None if each is None else each * self.censoring.weights[None, :]
        return Evidence(weights, outcomes, logged, expected, each, self.log.groups)


def _imputed_terms(evidence: Evidence, terms: Callable[[Evidence], Terms]) -> ImputedTerms:
    values = [terms(imputed).value for imputed in evidence.imputations()]
    return ImputedTerms(terms(evidence).by_group(evidence.groups), values)
