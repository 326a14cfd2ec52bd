"""The bad end of a policy's outcomes: the mean of the worst ones, by the weights that also give its value."""

import numpy as np

from prudent.evaluation.terms import Terms


def worst_mean(weights: np.ndarray, rewards: np.ndarray, share: float) -> Terms:
    """The mean of the worst `share` of a policy's outcomes (CVaR), as terms.

    Rockafellar and Uryasev's form, q − E(q − R)⁺ / share at the weighted quantile q; it is flat in q there, so rows
    move it as they move a weighted mean.

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
