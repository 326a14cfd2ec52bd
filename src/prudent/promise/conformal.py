"""Guarantee: a conformal lower bound on the reward of the recommended action, valid per pattern of gaps.

Weighted split conformal prediction. Logged decisions that the model has not seen are masked down to the gaps of the
case, the same policy is asked about them, and those where the log did what the policy says are compared with what the
model predicted: inverse propensities make them stand for all.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from prudent.decide import Policy
from prudent.errors import InputProblem, Rule, check, instance, number, optional, require, whole
from prudent.evaluation import require_unseen
from prudent.promise.masked_decisions import Replay, estimated_noise, knows_noise
from prudent.propensity import Known, Propensity, effective_sample_size, propensity_or_default
from prudent.table import Encoded, Log

MOST_PREDICTIONS = 200_000
COMFORT = 2.0
"""The exact form is used when its decisions say as much as this many times the fewest that can give a bound."""


ALLOWANCE = 1.5
"""Misses count this many times when propensities are estimated: estimates shrink what is rare, and what the policy does
against the log's habit is rare and often fares worst. Chosen by measuring, see benchmarks/coverage.py."""


_RULES: dict[str, Rule] = {
    "policy": instance(Policy, "a Policy, see model.policy()"),
    "confidence": number(0.5, 1, "()"),
    "propensity": optional(instance(Propensity, "Known(), Boosted() or ImputedLogistic()")),
    "seed": whole(),
}


class Bounds(NamedTuple):
    """Lower bounds on rewards (higher is better), NaN where there is none, and what they rest on.

    effective: how many equal decisions the comparable ones say as much as.
    extra_gaps: how many gaps the least similar of these had more than the case; 0 is the exact form, -1 no bound.
    """

    reward: np.ndarray
    effective: np.ndarray
    extra_gaps: np.ndarray


class _Reference(NamedTuple):
    """What one pattern of gaps is held against: scores and weights of logged decisions, and how each was masked.

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
    """A bound that the reward of the recommended action stays above for at least the share `level` of the cases with a
    given pattern of gaps.

    It holds whatever the model is worth, on average over cases with that pattern, when cases and logged decisions are
    alike (exchangeable), gaps do not depend on what they hide, and the propensities are right. A better model makes
    the bound higher. Actions that `allowed` rules out for a single case are not ruled out in the replay.

    Two forms. Exact: decisions that observed all that the case did, masked down to its pattern. Where these are too
    few, decisions with the fewest extra gaps join (nested); against each of these the case is masked alike, so that
    like is compared with like. That wastes some of what is known about the case: the bound is lower, and holds.

    worth: how many equally weighted decisions one logged decision is worth, see `verdict`.
    allowance: how many times a miss counts, above 1 when propensities are estimated.
    """

    replay: Replay
    rows: np.ndarray
    weights: np.ndarray
    worth: float
    allowance: float = 1.0
    _references: dict[bytes, _Reference] = field(default_factory=dict, repr=False)

    def weighted(self, propensity: Propensity | None = None, *, seed: int = 0) -> "Guarantee":
        """The same guarantee with propensities from elsewhere; what was replayed is not replayed again."""
        chosen = propensity_or_default(propensity, self.replay.log, "guarantee")
        taken = chosen.fit(self.replay.log, seed=seed).taken
        allowance = 1.0 if isinstance(chosen, Known) else ALLOWANCE
        worth = self._worth(1 / taken, seed)
        return replace(self, weights=1 / taken, worth=worth, allowance=allowance, _references={})

    def _worth(self, weights: np.ndarray, seed: int) -> float:
        """How many equally weighted decisions one logged decision is worth, over all patterns together.

        Each is masked down to the pattern of another one. A single pattern cannot say it of itself: where its few
        decisions happen to hold no rare action, all look equal, and the bound would come out too high.
        """
        observed = self.replay.log.observed[self.rows]
        observed = observed & observed[np.random.default_rng([seed, 1]).permutation(len(observed))]
        agreed = ~np.isnan(self.replay.scores(self.rows, observed))
        return effective_sample_size(weights[self.rows[agreed]]) / len(self.rows)

    @property
    def policy(self) -> Policy:
        return self.replay.policy

    @property
    def confidence(self) -> float:
        return self.replay.level

    @property
    def held_level(self) -> float:
        """The level that logged decisions are held to: stricter than promised when propensities are estimated."""
        return 1 - (1 - self.confidence) / self.allowance

    @property
    def verdict(self) -> str:
        """What the log can say about this policy at all, in a sentence."""
        rows, worth, needed = len(self.rows), self.worth * len(self.rows), fewest_rows(self.held_level)
        said = f"The {rows} decisions of the log say as much about this policy as {worth:.0f} equal ones"
        if worth >= needed:
            return f"{said}; a bound at confidence {self.confidence:g} needs {needed} for a case's pattern of gaps."
        return (
            f"{said}, and a bound at confidence {self.confidence:g} needs {needed}, so no case gets one; "
            "add later decisions, or lower the level."
        )

    def __repr__(self) -> str:
        return f"<guarantee at confidence {self.confidence:g} for {self.policy!r}>"

    @cached_property
    def enough_rows(self) -> int:
        """Decisions, agreeing or not, with which a pattern is content."""
        return math.ceil(COMFORT * fewest_rows(self.held_level) / max(self.worth, 1e-9))

    @cached_property
    def most_rows(self) -> int:
        """Decisions to compare one pattern with at most: from what the log's own patterns would cost in all, never from
        which cases are asked about together."""
        patterns = len(np.unique(self.replay.log.observed[self.rows], axis=0))
        return max(MOST_PREDICTIONS // patterns, self.enough_rows)

    def bounds(self, encoded: Encoded, chosen: np.ndarray) -> np.ndarray:
        """The bound for each row's chosen action number (-1: none), in internal sign; NaN where none can be given."""
        return self.examine(encoded, chosen).reward

    def examine(self, encoded: Encoded, chosen: np.ndarray) -> Bounds:
        """The bounds, and for each how many logged decisions it rests on and how alike they are."""
        chosen = np.asarray(chosen)
        none = np.full(len(chosen), np.nan)
        found = Bounds(none, none.copy(), np.full(len(chosen), -1))
        asked = np.flatnonzero(chosen >= 0)
        if not len(asked):
            return found
        patterns, which = np.unique(encoded.observed[asked], axis=0, return_inverse=True)
        references = [self._references[pattern.tobytes()] for pattern in self._learnt(patterns)]
        own = [references[at] for at in which.reshape(-1)]
        lows, spreads = self._masked_alike(encoded, chosen, asked, own)
        for row, reference, low, spread in zip(asked, own, lows, spreads, strict=True):
            below = low[reference.mask] - reference.scores * spread[reference.mask]
            bound = -conformal_quantile(-below, reference.weights, reference.effective, self.held_level)
            found.effective[row] = reference.effective
            if np.isfinite(bound):
                found.reward[row], found.extra_gaps[row] = bound, reference.extra_gaps
        return found

    def _masked_alike(
        self, encoded: Encoded, chosen: np.ndarray, asked: np.ndarray, references: list[_Reference]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Each case predicted under every mask of the decisions it is held against: like is compared with like."""
        lengths = [len(reference.masks) for reference in references]
        rows, observed = np.repeat(asked, lengths), np.concatenate([reference.masks for reference in references])
        if not len(rows):
            return [np.empty(0)] * len(asked), [np.empty(0)] * len(asked)
        values = np.where(observed, encoded.values[rows], 0)
        predicted = self.replay.predict(values, observed, chosen[rows])
        ends = np.cumsum(lengths)[:-1]
        return np.split(predicted.low, ends), np.split(predicted.spread, ends)

    def _learnt(self, patterns: np.ndarray) -> np.ndarray:
        """Find what each new pattern is held against; it depends on nothing but the pattern, so it is kept."""
        new = np.array([pattern.tobytes() not in self._references for pattern in patterns])
        if new.any():
            pools = [self._pool(pattern) for pattern in patterns[new]]
            lengths, rows = [len(pool) for pool in pools], np.concatenate(pools)
            observed = self.replay.log.observed[rows] & np.repeat(patterns[new], lengths, axis=0)
            scores = self.replay.scores(rows, observed)
            for pattern, at in zip(patterns[new], np.split(np.arange(len(rows)), np.cumsum(lengths)[:-1]), strict=True):
                self._references[pattern.tobytes()] = self._reference(pattern, rows[at], observed[at], scores[at])
        return patterns

    def _pool(self, pattern: np.ndarray) -> np.ndarray:
        """The logged decisions a pattern is compared with: all of those with the fewest extra gaps that are enough.

        How many are enough is settled before the policy is asked about them: to stop when the agreeing ones look
        enough would prefer samples without rare actions.
        """
        extra = (pattern[None, :] & ~self.replay.log.observed[self.rows]).sum(axis=1)
        counts = np.cumsum(np.bincount(extra))
        count = counts[np.argmax(counts >= min(self.enough_rows, len(extra)))]
        return self.rows[np.argsort(extra, kind="stable")[: min(count, self.most_rows)]]

    def _reference(self, pattern: np.ndarray, rows: np.ndarray, observed: np.ndarray, scores: np.ndarray) -> _Reference:
        agreed = ~np.isnan(scores)
        effective = min(effective_sample_size(self.weights[rows[agreed]]), self.worth * len(rows))
        if effective < self.held_level / (1 - self.held_level) - 1e-9:
            agreed[:] = False  # no bound can come of these, so cases need not be predicted under their masks
        masks, mask = np.unique(observed[agreed], axis=0, return_inverse=True)
        extra = int((pattern[None, :] & ~observed).sum(axis=1).max())
        return _Reference(scores[agreed], self.weights[rows[agreed]], masks, mask.reshape(-1), effective, extra)


def guarantee(
    policy: Policy,
    log: Log,
    *,
    confidence: float = 0.95,
    propensity: Propensity | None = None,
    seed: int = 0,
) -> Guarantee:
    """Lower bounds on the rewards that a policy brings, from logged decisions that its model was not fitted on.

    log: read with the model's own schema and labels, see `Fitted.read`.
    confidence: the share of cases whose reward is at least the bound.
    propensity: how likely the logged actions were; by default the logged probabilities where the log has them,
        else `Stacked()`.
    """
    check("guarantee", _RULES, locals())
    _check_log(policy, log, confidence)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(log.rewarded))
    noise = np.zeros(len(log.action_labels))
    if not knows_noise(policy):
        # rows that say how outcomes scatter cannot also be compared with: they would know their own yardstick
        aside = min(len(rows) // 5, 500)
        noise, rows = estimated_noise(policy, log.take(rows[:aside])), rows[aside:]
    replay = Replay(policy, log, float(confidence), noise)
    return Guarantee(replay, rows, np.zeros(len(log)), 0.0).weighted(propensity, seed=seed)


def conformal_quantile(scores: np.ndarray, weights: np.ndarray, effective: float, level: float) -> float:
    """The score that a new case stays below with probability `level`; ∞ where the scores are too few to say.

    The new case weighs in with an atom at ∞. Its own weight is not known, so the atom gets what it has on average over
    such cases: the mass 1 / (1 + effective), `effective` being the number of equally weighted rows.

    >>> conformal_quantile(np.arange(1.0, 20.0), np.ones(19), 19, 0.9)
    18.0
    >>> conformal_quantile(np.arange(1.0, 9.0), np.ones(8), 8, 0.9)
    inf
    """
    if not len(scores):
        return math.inf
    order = np.argsort(scores)
    mass = np.cumsum(weights[order]) / weights.sum() * effective / (1 + effective)
    reached = mass >= level - 1e-12
    return float(scores[order][np.argmax(reached)]) if reached.any() else math.inf


def fewest_rows(level: float) -> int:
    """The fewest equally weighted decisions from which a bound at this level can be given.

    >>> fewest_rows(0.95), fewest_rows(0.9)
    (19, 9)
    """
    return math.ceil(level / (1 - level) - 1e-9)


def _check_log(policy: Policy, log: Log, confidence: float) -> None:
    fitted = policy.fitted
    require(isinstance(log, Log), "Guarantee", "log", "be a Log, see model.read(frame)", type(log).__name__)
    same = log.schema == fitted.schema and log.action_labels == fitted.action_labels and log.minimize == fitted.minimize
    if not same:
        raise InputProblem(
            "The log of the guarantee was not read as the model's own: columns, actions or the sign of the reward "
            "differ. Read it with model.read(frame), or split it off the model's log with log.split before fitting."
        )
    require_unseen([fitted], log, "the bounds are too high for cases like them.")
    usable, needed = int(log.rewarded.sum()), fewest_rows(confidence)
    needed = needed if knows_noise(policy) else math.ceil(needed * 5 / 4)
    if usable < needed:
        raise InputProblem(
            f"The log of the guarantee has {usable} decisions with action and reward, and a bound at confidence "
            f"{confidence:g} needs at least {needed}; add later decisions, or lower the level."
        )
