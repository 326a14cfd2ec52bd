"""The weighted quantile of conformal prediction, and the number of rows it needs."""

import math

import numpy as np


def conformal_quantile(scores: np.ndarray, weights: np.ndarray, effective: float, confidence: float) -> float:
    """The score that a new case stays below with probability `confidence`; ∞ where the scores are too few to say.

    The new case joins with an atom at ∞. Its weight is not known, so the atom gets the mass that such cases have on
    average, 1 / (1 + effective), `effective` being the effective sample size.

    >>> conformal_quantile(np.arange(1.0, 20.0), np.ones(19), 19, 0.9)
    18.0
    >>> conformal_quantile(np.arange(1.0, 9.0), np.ones(8), 8, 0.9)
    inf
    """
    if not len(scores):
        return math.inf
    order = np.argsort(scores)
    mass = np.cumsum(weights[order]) / weights.sum() * effective / (1 + effective)
    reached = mass >= confidence - 1e-12
    return float(scores[order][np.argmax(reached)]) if reached.any() else math.inf


def fewest_rows(confidence: float) -> int:
    """The smallest effective sample size from which a bound at this confidence can be given.

    >>> fewest_rows(0.95), fewest_rows(0.9)
    (19, 9)
    """
    return math.ceil(confidence / (1 - confidence) - 1e-9)
