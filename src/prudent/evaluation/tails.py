"""The tail of a policy's outcomes: the mean of the worst ones, and intervals for the share of bad ones."""

import numpy as np
from scipy.special import betaincinv

from prudent.evaluation.intervals import Estimate
from prudent.evaluation.row_terms import Terms


def worst_mean(weights: np.ndarray, rewards: np.ndarray, share: float) -> Terms:
    """The mean of the worst `share` of a policy's outcomes (CVaR), as terms.

    Rockafellar and Uryasev's form, q − E(q − R)⁺ / share at the weighted quantile q. It is flat in q there, so its
    standard error is that of a weighted mean.

    >>> worst_mean(np.array([1.0, 1.0, 1.0, 1.0]), np.array([4.0, 1.0, 2.0, 3.0]), 0.5).value
    1.5
    """
    used = np.flatnonzero(weights > 0)
    if not len(used):
        return Terms.ratio(np.zeros(len(weights)), np.zeros(len(weights)))
    order = used[np.argsort(rewards[used], kind="stable")]
    mass = np.cumsum(weights[order])
    quantile = rewards[order[min(int(np.searchsorted(mass, share * mass[-1])), len(order) - 1)]]
    shortfall = np.maximum(quantile - rewards, 0.0) / share
    return Terms.ratio(weights * (quantile - shortfall), weights)


def as_share(estimate: Estimate, rows: float, confidence: float) -> Estimate:
    """An estimate of a share with Clopper and Pearson's interval on effective counts.

    Bad outcomes are few and of unequal weight, so a symmetric interval is too short on the side that matters, and where
    none were observed it claims that there are none. `rows` is the largest effective sample size they can have.

    >>> none = as_share(Estimate(0.0, 0.0, 0.0, 0.0), rows=100, confidence=0.9)
    >>> none.low, round(none.high, 4)
    (0.0, 0.0295)
    """
    if not np.isfinite(estimate.value):
        return estimate
    share, significance = float(np.clip(estimate.value, 0.0, 1.0)), (1 - confidence) / 2
    rows = share_rows(estimate, rows)
    low, high = 1 - upper_bound(1 - share, rows, significance), upper_bound(share, rows, significance)
    return Estimate(share, estimate.error, low, high)


def share_rows(estimate: Estimate, rows: float) -> float:
    """The effective sample size of an estimated share: equally weighted rows that would give its standard error.

    Share · (1 − share) over the variance (Korn and Graubard), which sees when bad outcomes weigh more than others; at
    most `rows`, the effective sample size of the weights.

    >>> round(share_rows(Estimate(0.2, 0.05, 0.1, 0.3), rows=100)), share_rows(Estimate(0.0, 0.0, 0.0, 0.0), rows=100)
    (64, 100)
    """
    if not estimate.error > 0:
        return rows
    # within an error of 0 or 1, where an estimate may even lie beyond, the spread there says more than the share
    near = float(np.clip(estimate.value, min(estimate.error, 0.5), max(1 - estimate.error, 0.5)))
    return min(rows, near * (1 - near) / estimate.error**2)


def upper_bound(share: float, rows: float, significance: float) -> float:
    """Clopper and Pearson's one-sided bound on a share seen in (effective) rows; too low with a probability of at most
    `significance`.

    >>> round(upper_bound(0.0, 100, 0.05), 4), upper_bound(0.0, 0, 0.05)
    (0.0295, 1.0)
    """
    seen = share * rows
    if not rows > 0 or seen >= rows:
        return 1.0
    return float(betaincinv(seen + 1, rows - seen, 1 - significance))
