"""Tests of whether two samples come from one source, by counts in bins; and what many of them say together.

All are permutation tests: given the counts of both samples together, every way of dealing the rows out is equally
likely if nothing has changed. So they hold for few rows, rare labels and ties.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats

DEGREE = 3
"""Shifts, spreads and skews: the order of the polynomials of Neyman's smooth test."""
DRAWS = 20_000
LOOK_AGAIN = 0.2
"""A p-value of the approximation below this is replaced by one of drawn tables."""
_SEED = 20_240_301


def shares_differ(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Fisher's exact test, of counts (with, without)."""
    return float(np.asarray(stats.fisher_exact([one, other]))[1])


def more_than(one: tuple[int, int], other: tuple[int, int]) -> float:
    """The same, of `other` having a larger share."""
    return float(np.asarray(stats.fisher_exact([other, one], alternative="greater"))[1])


def mixes_differ(one: Sequence[int], other: Sequence[int], ordered: bool) -> float:
    """ordered: the bins have an order, and shifts along it are looked for (Neyman's smooth test on ranks); else any
    difference is (Pearson's)."""
    counts = np.array([one, other], dtype=np.int64)
    counts = counts[:, counts.sum(axis=0) > 0]
    rows, bins = counts.sum(axis=1), counts.shape[1]
    if bins < 2 or rows.min() == 0:
        return 1.0
    pooled = counts.sum(axis=0)
    scores = _polynomials(pooled) if ordered else _indicators(pooled)
    found = float(_distance(counts[1:], rows, pooled, scores)[0])
    approximate = float(stats.chi2.sf(found, scores.shape[1]))
    if approximate > LOOK_AGAIN:
        return approximate
    dealt = np.random.default_rng(_SEED).multivariate_hypergeometric(pooled, rows[1], DRAWS, method="marginals")
    as_far = int((_distance(dealt, rows, pooled, scores) >= found * (1 - 1e-9)).sum())
    # beyond what draws can tell, the approximation
    return (as_far + 1) / (DRAWS + 1) if as_far else min(approximate, 1 / (DRAWS + 1))


def _indicators(pooled: np.ndarray) -> np.ndarray:
    """Orthonormal under the pooled shares, and to the constant: their distance is Pearson's."""
    return _orthonormal(np.eye(len(pooled))[:, :-1], pooled)


def _polynomials(pooled: np.ndarray) -> np.ndarray:
    """Of the middle ranks of the bins."""
    shares = pooled / pooled.sum()
    ranks = np.cumsum(shares) - shares / 2
    degree = min(DEGREE, len(pooled) - 1)
    return _orthonormal(np.stack([(2 * ranks - 1) ** power for power in range(1, degree + 1)], axis=1), pooled)


def _orthonormal(columns: np.ndarray, pooled: np.ndarray) -> np.ndarray:
    weights = np.sqrt(pooled / pooled.sum())[:, None]
    basis, _ = np.linalg.qr(weights * np.column_stack([np.ones(len(pooled)), columns]))
    return basis[:, 1:] / weights


def _distance(dealt: np.ndarray, rows: np.ndarray, pooled: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """How far the scores' means of a sample are from what dealing expects: about χ² with a degree for each score."""
    total = rows.sum()
    spread = rows[1] * rows[0] / (total - 1)  # the variance of a sum of standardised scores, without replacement
    return ((dealt @ scores) ** 2).sum(axis=1) / spread


def farther_than(values: np.ndarray, margin: float) -> float:
    """Whether a mean is farther than `margin` from 0: Student's test of the nearer end of the margin, on both sides."""
    if len(values) < 3 or not values.std() > 0:
        return 1.0
    error = values.std(ddof=1) / np.sqrt(len(values))
    beyond = (abs(values.mean()) - margin) / error
    return float(min(1.0, 2 * stats.t.sf(beyond, len(values) - 1)))


def share_above(count: int, rows: int, limit: float) -> float:
    """Whether a share is above `limit`: the exact binomial test."""
    return float(stats.binom.sf(count - 1, rows, limit)) if rows else 1.0


def adjusted(p_values: Sequence[float]) -> list[float]:
    """By Holm's method: those at most α are found with a chance of at most α that any of them is false."""
    order = np.argsort(p_values)
    raised = np.asarray(p_values)[order] * (len(p_values) - np.arange(len(p_values)))
    result = np.empty(len(p_values))
    result[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return result.tolist()
