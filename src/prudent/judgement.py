"""Judging by decisions that the model has not seen: per-row weights and rewards in; value, tail and bounds out.

Inside, higher rewards are better and the tail is what lies below a threshold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from prudent.overlap import effective_rows

WORST_SHARE = 0.05
INTERVAL = 0.9
REPLICATES = 400
BLOCK_CELLS = 4_000_000


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error (bootstrap over rows) and a 90 % interval."""

    value: float
    error: float
    low: float
    high: float


@dataclass(frozen=True)
class Judgement:
    """What the held-out rows say about one policy.

    mean_reward; tail_share, the share of outcomes below the threshold; worst_mean, the mean of the worst 5 % (CVaR).
    effective_rows is (Σw)²/Σw²: as many rows of equal weight would say as much. tail_rows is the same for the tail
    share alone, see `tail_rows`.
    """

    mean_reward: Estimate
    tail_share: Estimate
    worst_mean: Estimate
    effective_rows: float
    tail_rows: float


def judge(weights: np.ndarray, rewards: np.ndarray, below: float, seed: int = 0) -> list[Judgement]:
    """Self-normalised estimates for every policy; weights and rewards are [policy, row].

    The bootstrap draws rows once for all policies, so their errors are those of the same table. The tail share's
    interval is Clopper and Pearson's on effective counts, since a bootstrap of no bad outcomes knows no doubt.
    """
    tails = rewards < below
    points = [_summaries(w, r, t, np.ones((1, len(w)))) for w, r, t in zip(weights, rewards, tails, strict=True)]
    draws = np.concatenate(
        [
            np.stack([_summaries(w, r, t, counts) for w, r, t in zip(weights, rewards, tails, strict=True)])
            for counts in _bootstrap(rewards.shape[1], seed)
        ],
        axis=1,
    )
    return [_judgement(w, t, point[0], drawn) for w, t, point, drawn in zip(weights, tails, points, draws, strict=True)]


def _judgement(weights: np.ndarray, tail: np.ndarray, point: np.ndarray, draws: np.ndarray) -> Judgement:
    mean, share, worst = point
    found = draws[np.isfinite(draws[:, 0])]  # a replicate may have drawn no row at all that the policy agrees with
    errors, ends = np.full(3, np.nan), np.full((2, 3), np.nan)
    if len(found) > 1:
        errors = found.std(axis=0, ddof=1)
        ends = np.quantile(found, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2], axis=0)
    rows, level = tail_rows(weights, tail), (1 - INTERVAL) / 2
    low, high = 1 - upper_bound(1 - share, rows, level), upper_bound(share, rows, level)
    return Judgement(
        Estimate(float(mean), float(errors[0]), float(ends[0, 0]), float(ends[1, 0])),
        Estimate(float(share), float(errors[1]), low, high),
        Estimate(float(worst), float(errors[2]), float(ends[0, 2]), float(ends[1, 2])),
        effective_rows(weights),
        rows,
    )


def _bootstrap(rows: int, seed: int) -> Iterator[np.ndarray]:
    """How often each row is drawn, [replicate, row], in blocks that bound memory."""
    block = min(REPLICATES, max(1, BLOCK_CELLS // rows))
    random, even = np.random.default_rng(seed), np.full(rows, 1 / rows)
    for start in range(0, REPLICATES, block):
        yield random.multinomial(rows, even, size=min(block, REPLICATES - start))


def _summaries(weights: np.ndarray, rewards: np.ndarray, tail: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean, tail share and mean of the worst 5 %, [replicate, 3], when each row counts `counts` [replicate, row]."""
    used = np.flatnonzero(weights > 0)
    used = used[np.argsort(rewards[used], kind="stable")]
    if not len(used):
        return np.full((len(counts), 3), np.nan)
    rewards, mass = rewards[used], counts[:, used] * weights[used]
    total = mass.sum(axis=1)
    taken = np.clip(WORST_SHARE * total[:, None] - (np.cumsum(mass, axis=1) - mass), 0.0, mass)
    with np.errstate(invalid="ignore"):
        return np.stack(
            [mass @ rewards / total, mass @ tail[used] / total, taken @ rewards / taken.sum(axis=1)], axis=1
        )


def tail_rows(weights: np.ndarray, tail: np.ndarray) -> float:
    """How many equally weighted rows would know the tail share as well (Korn and Graubard's effective sample size).

    Share · (1 − share) over its variance as a weighted ratio, which notices when bad outcomes weigh more than others;
    never more than `effective_rows`, which is all there is when no outcome, or every one, is bad.
    """
    rows = effective_rows(weights)
    if rows == 0:
        return 0.0
    share = np.sum(weights * tail) / np.sum(weights)
    variance = np.sum((weights * (tail - share)) ** 2) / np.sum(weights) ** 2
    return min(rows, float(share * (1 - share) / variance)) if variance > 0 else rows


def upper_bound(share: float, rows: float, level: float) -> float:
    """Clopper and Pearson's one-sided bound on a share seen in (effective) rows: too low at most `level` of the time.

    >>> round(upper_bound(0.0, 100, 0.05), 4), upper_bound(0.0, 0, 0.05)
    (0.0295, 1.0)
    """
    seen = share * rows
    if not rows > 0 or seen >= rows:
        return 1.0
    return float(betaincinv(seen + 1, rows - seen, 1 - level))


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
