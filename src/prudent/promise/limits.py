"""Judging settings by decisions that the model has not seen, and showing that one keeps its tail within a limit.

Inside, higher rewards are better and the tail is what lies below a threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prudent.evaluation import Bootstrap, Estimate, Terms, upper_bound, worst_mean
from prudent.propensity import effective_sample_size

WORST_SHARE = 0.05
INTERVAL = 0.9
REPLICATES = 400


@dataclass(frozen=True)
class Judgement:
    """What the held-out rows say about one policy.

    mean_reward; tail_share, the share of outcomes below the threshold; worst_mean, the mean of the worst 5 % (CVaR).
    effective_sample_size is (Σw)²/Σw²: how many rows of equal weight would be as informative. tail_rows is the same for
    the tail share alone, see `tail_rows`.
    """

    mean_reward: Estimate
    tail_share: Estimate
    worst_mean: Estimate
    effective_sample_size: float
    tail_rows: float


def judge(weights: np.ndarray, rewards: np.ndarray, below: float, seed: int = 0) -> list[Judgement]:
    """Self-normalised estimates for every policy; weights and rewards are [policy, row].

    The bootstrap draws rows once for all policies, so their errors are those of the same table. The tail share's
    interval is Clopper and Pearson's on effective counts, since a bootstrap of no bad outcomes knows no doubt.
    """
    tails = rewards < below
    terms = [
        part
        for w, r, t in zip(weights, rewards, tails, strict=True)
        for part in (Terms.ratio(w * r, w), Terms.ratio(w * t, w), worst_mean(w, r, WORST_SHARE))
    ]
    found = Bootstrap(REPLICATES, seed).estimates(terms, confidence=INTERVAL)
    return [_judgement(w, t, *found[3 * i : 3 * i + 3]) for i, (w, t) in enumerate(zip(weights, tails, strict=True))]


def _judgement(weights: np.ndarray, tail: np.ndarray, mean: Estimate, share: Estimate, worst: Estimate) -> Judgement:
    rows, level = tail_rows(weights, tail), (1 - INTERVAL) / 2
    low, high = 1 - upper_bound(1 - share.value, rows, level), upper_bound(share.value, rows, level)
    return Judgement(mean, Estimate(share.value, share.error, low, high), worst, effective_sample_size(weights), rows)


def tail_rows(weights: np.ndarray, tail: np.ndarray) -> float:
    """How many equally weighted rows would know the tail share as well (Korn and Graubard's effective sample size).

    Share · (1 − share) over its variance as a weighted ratio, which notices when bad outcomes weigh more than others;
    never more than `effective_sample_size`, which is all there is when no outcome, or every one, is bad.
    """
    rows = effective_sample_size(weights)
    if rows == 0:
        return 0.0
    share = np.sum(weights * tail) / np.sum(weights)
    variance = np.sum((weights * (tail - share)) ** 2) / np.sum(weights) ** 2
    return min(rows, float(share * (1 - share) / variance)) if variance > 0 else rows


def certified(
    families: Sequence[Sequence[int]], judged: Sequence[Judgement], limit: float, confidence: float
) -> list[int]:
    """The policies whose tail share is shown to be within the limit, all of them at once with the given confidence.

    Each family is tested in its order, which must not depend on the outcomes, by the fallback procedure (Wiens, 2003),
    one of those that Learn-then-Test (Angelopoulos and others, 2021) builds on: what may go wrong, 1 − confidence, is
    shared equally by all policies, and one that passes hands its share on to the next. So a family that holds from its
    most careful policy on is soon tested as if it were alone, and one whose first policy fails is not lost.
    """
    own = share_of_level(families, confidence)
    passed: list[int] = []
    for family in families:
        level = own
        for index in family:
            holds = upper_bound(judged[index].tail_share.value, judged[index].tail_rows, level) <= limit
            passed += [index] if holds else []
            level = own + level if holds else own
    return passed


def share_of_level(families: Sequence[Sequence[int]], confidence: float) -> float:
    """What may go wrong for one policy when nothing was handed on to it."""
    return (1 - confidence) / sum(len(family) for family in families)


def rows_needed(share: float, rows: float, limit: float, level: float) -> float:
    """How many effective rows would bring the bound down to the limit if the share stayed as it is; ∞ if none would."""
    if not share < limit:
        return float("inf")
    low, high = rows, max(rows, 1.0)
    while upper_bound(share, high, level) > limit and high < 1e12:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_bound(share, middle, level) > limit else (low, middle)
    return high
