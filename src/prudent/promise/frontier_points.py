"""The points of a frontier: what one setting earns and how bad its tail is, from a held-out log or a known truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prudent.decide import Policy, Strategy
from prudent.evaluation import (
    Estimate,
    MaskedPolicy,
    Student,
    Terms,
    as_share,
    estimate_columns,
    evaluate,
    worst_mean,
)
from prudent.promise.certificate import ObservedShare
from prudent.promise.known_truth import KnownTruth, true_decisions
from prudent.propensity import effective_sample_size
from prudent.table import Log

CONFIDENCE = 0.95
WORST_SHARE = 0.05


@dataclass(frozen=True)
class Point:
    """One setting: what it earns, and how bad its tail is. Rewards are in the log's units and sign.

    tail_share: the share of outcomes beyond the threshold. worst_mean: the mean of the worst 5 % of outcomes (CVaR).
    effective_sample_size: the number of equally weighted rows that know as much about this setting as the log does.
    tail_sample_size: the same for the tail share, smaller where bad outcomes weigh more than others.
    alike: all settings that decide every row as this one does, itself included.
    """

    strategy: Strategy
    mean_reward: Estimate
    tail_share: Estimate
    worst_mean: Estimate
    effective_sample_size: float
    tail_sample_size: float
    alike: tuple[str, ...] = ()

    @property
    def observed_share(self) -> ObservedShare:
        return ObservedShare(self.tail_share.value, self.tail_sample_size)

    def to_dict(self) -> dict[str, Any]:
        """Plain facts; a number that does not exist is None."""
        return {
            "strategy": repr(self.strategy),
            "family": self.strategy.family,
            "setting": self.strategy.setting,
            "boldness": self.strategy.boldness,
            **estimate_columns("mean_reward", self.mean_reward),
            **estimate_columns("tail_share", self.tail_share),
            **estimate_columns("worst_mean", self.worst_mean),
            "effective_sample_size": self.effective_sample_size,
            "tail_sample_size": self.tail_sample_size,
            "alike": list(self.alike or (repr(self.strategy),)),
        }


def points_on_log(
    policies: Sequence[Policy], log: Log, below: float, seed: int, shown: np.ndarray | None = None
) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """Points with the numbers of `evaluate`, and its notes; `shown`: the cells of the log that policies may see."""
    named = {repr(policy.strategy): policy for policy in policies}
    judged = named if shown is None else {name: MaskedPolicy(policy, shown) for name, policy in named.items()}
    evaluation = evaluate(judged, log, below=below, confidence=CONFIDENCE, worst_share=WORST_SHARE, seed=seed)
    points = {
        name: Point(
            policy.strategy,
            evaluation.estimate(name),
            evaluation.tail_share(name),
            evaluation.worst_mean(name),
            effective_sample_size(evaluation.evidence(name).weights),
            evaluation.tail_rows(name),
            tuple(other for other in evaluation.alike(name) if other in named),
        )
        for name, policy in named.items()
    }
    referred = max(map(evaluation.referred, named))
    left = (
        f"Settings refer up to {referred} of {len(evaluation.log)} rows to a person; these count as decided as logged."
    )
    notes = (*evaluation.notes, left) if referred else evaluation.notes
    return tuple(points[repr(policy.strategy)] for policy in policies), notes


def points_on_truth(policies: Sequence[Policy], truth: KnownTruth, below: float) -> tuple[Point, ...]:
    """Points from true rewards: every case counts once, and nothing is estimated but the mean over cases."""
    sign, chances = policies[0].fitted.sign, true_decisions(policies, truth)
    names, rewards = [repr(policy.strategy) for policy in policies], np.asarray(truth.rewards, np.float64)
    return tuple(
        _point(
            policy.strategy,
            np.sum(own * rewards, axis=1),
            below,
            sign,
            tuple(name for name, other in zip(names, chances, strict=True) if np.array_equal(own, other)),
        )
        for policy, own in zip(policies, chances, strict=True)
    )


def _point(strategy: Strategy, rewards: np.ndarray, below: float, sign: float, alike: tuple[str, ...]) -> Point:
    rows, tail = len(rewards), (sign * rewards < sign * below) * 1.0
    worst = worst_mean(np.ones(rows), sign * rewards, WORST_SHARE)
    terms = [Terms.mean(rewards), Terms.mean(tail), worst if sign > 0 else -worst]
    mean, share, worst_reward = Student().estimates(terms, confidence=CONFIDENCE)
    # every case counts once, so the counts are exact: the standard error may not lower them
    exact = replace(as_share(replace(share, error=0.0), rows, CONFIDENCE), error=share.error)
    return Point(strategy, mean, exact, worst_reward, float(rows), float(rows), alike)
