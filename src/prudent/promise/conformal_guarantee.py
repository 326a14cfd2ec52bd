"""Guarantee: a conformal lower bound on the reward of the recommended action, valid per pattern of gaps.

Weighted split conformal prediction. Logged decisions that the model was not fitted on are masked down to the gaps of
the case, and the same policy decides them again. Where the logged action agrees with the policy, the reward is compared
with the model's prediction; inverse propensities weight these decisions to represent all.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from prudent.decide import Policy
from prudent.errors import InputProblem, Rule, check, instance, number, optional, require, whole
from prudent.evaluation import require_unseen
from prudent.progress import working
from prudent.promise.conformal_quantile import conformal_quantile, fewest_rows
from prudent.promise.exchangeability import drift, likeness
from prudent.promise.masked_decisions import MaskedDecisions, estimated_noise, predicts_noise
from prudent.propensity import Censoring, Known, LoggingPolicy, Propensity, effective_sample_size, propensity_or_default
from prudent.table import Encoded, Log, count_groups, first_groups, group_codes, one_of_each

MOST_REPLAYS = 20_000
"""Logged decisions that are decided again, over all patterns of the log: with more, coverage hardly varies less."""

COMPLETIONS = 64
"""Of a logged decision that is decided again, see `guarantee`."""

ENOUGH_FACTOR = 2.0
"""The exact form is used when its effective sample size is this many times the smallest that can give a bound."""

ALLOWANCE = 1.5
"""Misses count this many times when propensities are estimated: estimates shrink what is rare, and what the policy does
against the log's habit is rare and often fares worst. Chosen by measuring, see benchmarks/coverage.py."""

_RULES: dict[str, Rule] = {
    "policy": instance(Policy, "a Policy, see model.policy()"),
    "confidence": number(0.5, 1, "()"),
    "propensity": optional(instance(Propensity, "Known(), Boosted() or ImputedLogistic()")),
    "completions": whole(2),
    "seed": whole(),
}


class Bounds(NamedTuple):
    """Lower bounds on rewards (higher is better), NaN where there is none, and what they are based on.

    effective: the effective sample size of the comparable decisions.
    extra_gaps: how many more gaps the least similar of these has than the case; 0 is the exact form, -1 no bound.
    """

    reward: np.ndarray
    effective: np.ndarray
    extra_gaps: np.ndarray


class _Reference(NamedTuple):
    """What one pattern of gaps is compared with: scores and weights of logged decisions, and how each was masked.

    masks: the distinct patterns [mask, attribute] the decisions were masked down to; `mask` numbers them per decision.
    """

    scores: np.ndarray
    weights: np.ndarray
    masks: np.ndarray
    mask: np.ndarray
    effective: float
    extra_gaps: int


@dataclass(frozen=True, eq=False)
class Guarantee:
    """Lower bounds on the reward of the recommended action: at least the share `confidence` of the cases with a given
    pattern of gaps stays above its bound.

    They hold however good the model is, on average over cases with that pattern, when cases and logged decisions are
    alike (exchangeable), gaps do not depend on what they hide, and the propensities are right. A better model makes
    the bounds higher. Actions that `allowed` rules out for a single case are not ruled out in the logged decisions.

    Two forms. Exact: decisions that observed everything the case did, masked down to its pattern. Where these are too
    few, decisions with the fewest extra gaps join (nested); compared with each of these the case is masked in the same
    way. That ignores some of what is known about the case, so the bound is lower; what can be proved for it is less,
    see docs/guarantee.md.

    Where decisions belong to groups, such as patients, several of one group are not exchangeable with a case of a new
    one. Each of the n decisions of a group then counts 1/n, and the case counts as the first of its own group (Lee,
    Barber and Willett, 2023): the bounds hold for one decision of a new group, groups counting equally.

    Where outcomes are censored, the decisions whose outcome was seen also count by how unlikely that was.

    sample_size_per_row: the effective sample size that one logged decision adds on average, see `verdict`.
    logging_policy: how likely actions are for a new case; it gives the case its own weight.
    plausible: the least and the largest probability of each action in the log, [2, action], which limit that.
    allowance: how many times a miss counts, above 1 when propensities are estimated.
    hidden: how many times more a case counts, by action, since outcomes like its own may be censored; ones without.
    notes: warnings about the log, such as rows that the model was fitted on, or decisions that change along it.
    """

    policy: Policy
    decisions: MaskedDecisions
    rows: np.ndarray
    weights: np.ndarray
    sample_size_per_row: float
    logging_policy: LoggingPolicy
    plausible: np.ndarray
    seed: int = 0
    allowance: float = 1.0
    hidden: np.ndarray | float = 1.0
    notes: tuple[str, ...] = ()
    _references: dict[bytes, _Reference] = field(default_factory=dict, repr=False)

    def weighted(self, propensity: Propensity | None = None, *, seed: int = 0) -> "Guarantee":
        """The same guarantee with other propensities; decisions that were masked and decided again are reused."""
        chosen = propensity_or_default(propensity, self.decisions.log, "guarantee")
        fitted, censoring = chosen.fit(self.decisions.log, seed=seed), Censoring.of(self.decisions.log, seed)
        weights, hidden = 1 / fitted.taken, 1.0
        if censoring is not None:
            weights = weights * censoring.weights
            hidden = _largest_by_action(censoring.weights, self.decisions.log)
        per_row = self._sample_size_per_row(weights, seed)
        known = isinstance(chosen, Known) and censoring is None
        allowance, plausible = 1.0 if known else ALLOWANCE, fitted.plausible
        changed = {"weights": weights, "sample_size_per_row": per_row, "plausible": plausible, "allowance": allowance}
        changed["hidden"] = hidden
        return replace(self, **changed, _references={})

    def _case_weights(self, encoded: Encoded, chosen: np.ndarray, cases: np.ndarray) -> np.ndarray:
        """What each case weighs among logged decisions that agree with the policy: the inverse of the probability of
        its recommended action, as estimated from the log and within what the log's own propensities make plausible."""
        records, actions = (encoded.values[cases], encoded.observed[cases]), chosen[cases]
        probabilities = self.logging_policy.probabilities(self.decisions.log.schema, *records)
        likely = np.clip(probabilities[np.arange(len(cases)), actions], *self.plausible[:, actions])
        return np.broadcast_to(self.hidden, self.plausible.shape[1])[actions] / likely

    def _sample_size_per_row(self, weights: np.ndarray, seed: int) -> float:
        """The effective sample size per logged decision, over all patterns together.

        Each decision is masked down to the pattern of another one. A single pattern cannot measure it: where its few
        decisions happen to hold no rare action, all weights look equal, and the bound would be too high.
        """
        agreed, counted = ~np.isnan(self._any_scores(seed)), weights[self.rows] * self._shares(self.rows)
        return self._effective(counted[agreed], self.rows[agreed]) / len(self.rows)

    def _shares(self, rows: np.ndarray) -> np.ndarray:
        """What each of these decisions counts: one over how many of them its group has."""
        groups = self.decisions.log.groups
        if groups is None:
            return np.ones(len(rows))
        codes, count = group_codes(groups[rows])
        return 1 / np.bincount(codes, minlength=count)[codes]

    def _effective(self, weights: np.ndarray, rows: np.ndarray) -> float:
        """The effective sample size of decisions; of groups, where these belong to groups."""
        groups = self.decisions.log.groups
        return effective_sample_size(weights, None if groups is None else groups[rows])

    def _any_scores(self, seed: int) -> np.ndarray:
        """The scores of all decisions, each masked down to the pattern of another one."""
        observed = self.decisions.log.observed[self.rows]
        observed = observed & observed[np.random.default_rng([seed, 1]).permutation(len(observed))]
        with working("guarantee: deciding logged cases again"):
            return self.decisions.scores(self.rows, observed)

    def comparison(self, encoded: Encoded) -> list[str]:
        """What is to be said of whether these cases are like the logged decisions, which the bounds assume."""
        log, rows = self.decisions.log, self.rows
        if log.groups is not None:  # one of each group: several are more alike than decisions of different groups
            rows = rows[one_of_each(log.groups[rows], np.random.default_rng([self.seed, 6]))]
        return likeness(log.take(rows), encoded, self.seed)

    @property
    def confidence(self) -> float:
        return self.decisions.confidence

    @property
    def strict_confidence(self) -> float:
        """The confidence required of logged decisions: above `confidence` when propensities are estimated."""
        return 1 - (1 - self.confidence) / self.allowance

    @property
    def verdict(self) -> str:
        """Whether the log can bound the rewards of this policy, in a sentence."""
        effective, needed = self.sample_size_per_row * len(self.rows), fewest_rows(self.strict_confidence)
        count = count_groups(self.decisions.log.groups, self.rows)
        of_groups = "" if count is None else f" in {count} groups"
        known = f"The {len(self.rows)} decisions of the log{of_groups} have an effective sample size of {effective:.0f}"
        needs = f"a bound at confidence {self.confidence:g} needs {needed}"
        if effective >= needed:
            return f"{known} for this policy; {needs} for a case's pattern of gaps."
        return f"{known} for this policy, and {needs}, so no case gets one; add decisions, or lower the confidence."

    def __repr__(self) -> str:
        return f"<guarantee at confidence {self.confidence:g} for {self.policy!r}>"

    @cached_property
    def enough_rows(self) -> int:
        """Decisions, whether they agree with the policy or not, that are enough for a pattern."""
        needed = ENOUGH_FACTOR * fewest_rows(self.strict_confidence)
        return math.ceil(needed / max(self.sample_size_per_row, 1e-9))

    @cached_property
    def most_rows(self) -> int:
        """The most decisions to compare one pattern with: limits what all patterns of the log would cost, and never
        depends on which cases are bounded together. The first of them in an order drawn by the seed: a random part of
        exchangeable decisions is exchangeable with the case too, so bounds hold as they do with all."""
        patterns = len(np.unique(self.decisions.log.observed[self.rows], axis=0))
        return max(MOST_REPLAYS // patterns, self.enough_rows)

    def bounds(self, encoded: Encoded, chosen: np.ndarray) -> np.ndarray:
        """The bound for each row's chosen action number (-1: none), in internal sign; NaN where none can be given."""
        return self.examine(encoded, chosen).reward

    def examine(self, encoded: Encoded, chosen: np.ndarray) -> Bounds:
        """The bounds, and for each the effective sample size of the logged decisions and how similar they are."""
        chosen = np.asarray(chosen)
        none = np.full(len(chosen), np.nan)
        bounds = Bounds(none, none.copy(), np.full(len(chosen), -1))
        cases = np.flatnonzero(chosen >= 0)
        if not len(cases):
            return bounds
        patterns, which = np.unique(encoded.observed[cases], axis=0, return_inverse=True)
        self._add_references(patterns)
        known = [self._references[pattern.tobytes()] for pattern in patterns]
        references = [known[at] for at in which.reshape(-1)]
        predicted = self._masked_alike(encoded, chosen, cases, references)
        weights = self._case_weights(encoded, chosen, cases)
        for row, reference, weight, low, spread in zip(cases, references, weights, *predicted, strict=True):
            below = low[reference.mask] - reference.scores * spread[reference.mask]
            bound = -conformal_quantile(-below, reference.weights, weight, self.strict_confidence)
            bounds.effective[row] = reference.effective
            if np.isfinite(bound):
                bounds.reward[row], bounds.extra_gaps[row] = bound, reference.extra_gaps
        return bounds

    def _masked_alike(
        self, encoded: Encoded, chosen: np.ndarray, cases: np.ndarray, references: list[_Reference]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Each case predicted under every mask of the decisions it is compared with."""
        lengths = [len(reference.masks) for reference in references]
        rows, observed = np.repeat(cases, lengths), np.concatenate([reference.masks for reference in references])
        if not len(rows):
            return [np.empty(0)] * len(cases), [np.empty(0)] * len(cases)
        values = np.where(observed, encoded.values[rows], 0)
        predicted = self.decisions.predict(values, observed, chosen[rows])
        ends = np.cumsum(lengths)[:-1]
        return np.split(predicted.low, ends), np.split(predicted.spread, ends)

    def _add_references(self, patterns: np.ndarray) -> None:
        """Find what each new pattern is compared with; it depends on nothing but the pattern, so it is kept."""
        new = patterns[np.array([pattern.tobytes() not in self._references for pattern in patterns])]
        if not len(new):
            return
        pools = [self._pool(pattern) for pattern in new]
        lengths, rows = [len(pool) for pool in pools], np.concatenate(pools)
        observed = self.decisions.log.observed[rows] & np.repeat(new, lengths, axis=0)
        with working("guarantee: deciding logged cases again"):
            scores = self.decisions.scores(rows, observed)
        for pattern, at in zip(new, np.split(np.arange(len(rows)), np.cumsum(lengths)[:-1]), strict=True):
            self._references[pattern.tobytes()] = self._reference(pattern, rows[at], observed[at], scores[at])

    def _pool(self, pattern: np.ndarray) -> np.ndarray:
        """The logged decisions a pattern is compared with: those with the fewest extra gaps, as many as are enough.

        How many are enough is fixed before the policy decides them again: to stop when the agreeing ones look enough
        would prefer samples without rare actions.
        """
        extra = (pattern[None, :] & ~self.decisions.log.observed[self.rows]).sum(axis=1)
        counts = np.cumsum(np.bincount(extra))
        count = counts[np.argmax(counts >= min(self.enough_rows, len(extra)))]
        return self.rows[np.argsort(extra, kind="stable")[: min(count, self.most_rows)]]

    def _reference(self, pattern: np.ndarray, rows: np.ndarray, observed: np.ndarray, scores: np.ndarray) -> _Reference:
        agreed, weights = ~np.isnan(scores), self.weights[rows] * self._shares(rows)
        effective = min(self._effective(weights[agreed], rows[agreed]), self.sample_size_per_row * len(rows))
        if effective < self.strict_confidence / (1 - self.strict_confidence) - 1e-9:
            agreed[:] = False  # these give no bound, so cases need not be predicted under their masks
        masks, mask = np.unique(observed[agreed], axis=0, return_inverse=True)
        extra = int((pattern[None, :] & ~observed).sum(axis=1).max())
        return _Reference(scores[agreed], weights[agreed], masks, mask.reshape(-1), effective, extra)


def guarantee(
    policy: Policy,
    log: Log,
    *,
    confidence: float = 0.95,
    propensity: Propensity | None = None,
    completions: int = COMPLETIONS,
    seed: int = 0,
) -> Guarantee:
    """Lower bounds on the rewards that a policy brings, from logged decisions that its model was not fitted on.

    log: read with the model's schema and labels, see `Fitted.read`.
    confidence: the share of cases whose reward is at least the bound.
    propensity: how likely the logged actions were; by default the logged probabilities where the log has them,
        else `Stacked()`.
    completions: of every logged decision that the policy decides again, at most those of the policy. With fewer than
        it has itself, near ties may be decided otherwise, about as often as with another seed, and the bounds are those
        of that policy; it takes in proportion less time.
    """
    check("guarantee", _RULES, locals())
    require(isinstance(log, Log), "guarantee", "log", "be a Log, see model.read(frame)", type(log).__name__)
    _require_same_reading(policy, log)
    consequence = "bounds from them are too high, since the model predicts these rows better than new ones."
    notes = require_unseen([policy.fitted], log, consequence)
    _require_enough(policy, log, confidence)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(log.rewarded))
    replayed = replace(policy, completions=min(completions, policy.completions))
    noise = np.zeros(len(log.action_labels))
    if not predicts_noise(policy):
        # rows that estimate how outcomes scatter cannot also be compared with: they define the unit of their scores
        aside = np.arange(len(rows)) < min(len(rows) // 5, 500)
        if log.groups is not None:
            aside = first_groups(log.groups[rows], int(aside.sum()), np.random.default_rng([seed, 7]))
        noise, rows = estimated_noise(replayed, log.take(rows[aside])), rows[~aside]
    decisions = MaskedDecisions(replayed, log, float(confidence), noise)
    anything = np.stack([np.zeros(len(log.action_labels)), np.ones(len(log.action_labels))])
    likely = LoggingPolicy.fit(log, seed)
    unweighted = Guarantee(policy, decisions, rows, np.zeros(len(log)), 0.0, likely, anything, seed)
    in_order, scores = np.sort(rows), unweighted._any_scores(seed)[np.argsort(rows)]
    if log.groups is not None:
        some = one_of_each(log.groups[in_order], np.random.default_rng([seed, 8]))
        in_order, scores = in_order[some], scores[some]
    return replace(unweighted.weighted(propensity, seed=seed), notes=(*notes, *drift(log.take(in_order), scores, seed)))


def _largest_by_action(weights: np.ndarray, log: Log) -> np.ndarray:
    """How likely the outcome of a case is to be censored is not known, so it counts as the least likely to be seen of
    the decisions with its action."""
    largest = np.ones(len(log.action_labels))
    np.maximum.at(largest, log.actions[log.rewarded], weights[log.rewarded])
    return largest


def _require_same_reading(policy: Policy, log: Log) -> None:
    model = policy.fitted
    if log.schema != model.schema or log.action_labels != model.action_labels or log.sign != model.sign:
        raise InputProblem(
            "The log of the guarantee was not read like the model's: columns, actions or the sign of the reward "
            "differ. Read it with model.read(frame), or split it off the model's log with log.split before fitting."
        )


def _require_enough(policy: Policy, log: Log, confidence: float) -> None:
    usable, needed = int(log.rewarded.sum()), fewest_rows(confidence)
    groups = count_groups(log.groups, log.rewarded)
    needed = needed if predicts_noise(policy) else math.ceil(needed * 5 / 4)
    if usable < needed:
        raise InputProblem(
            f"The log of the guarantee has {usable} decisions with action and reward, and a bound at confidence "
            f"{confidence:g} needs at least {needed}; add decisions, or lower the confidence."
        )
    if groups is not None and groups < needed:
        raise InputProblem(
            f"The {usable} decisions of the guarantee's log belong to {groups} groups by '{log.roles.group}', and a "
            f"bound at confidence {confidence:g} needs at least {needed} of them; add decisions of others, or lower "
            "the confidence."
        )
