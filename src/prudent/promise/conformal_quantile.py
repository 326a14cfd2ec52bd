"""The weighted quantile of conformal prediction, and the number of rows it needs."""

import math

import numpy as np


def conformal_quantile(scores: np.ndarray, weights: np.ndarray, case_weight: float, confidence: float) -> float:
    """The score that a new case stays below with probability `confidence`; ∞ where the scores are too few to say.

    The new case joins with its own weight, and as if its score were ∞ (Tibshirani and others, 2019): a case whose
    action was rare for its like weighs much, and is bounded only where the scores weigh far more.

    >>> conformal_quantile(np.arange(1.0, 20.0), np.ones(19), 1.0, 0.9)
    18.0
    >>> conformal_quantile(np.arange(1.0, 20.0), np.ones(19), 3.0, 0.9)
    inf
    """
    if not len(scores):
        return math.inf
    order = np.argsort(scores)
    mass = np.cumsum(weights[order]) / (weights.sum() + case_weight)
    reached = mass >= confidence - 1e-12
    return float(scores[order][np.argmax(reached)]) if reached.any() else math.inf


def fewest_rows(confidence: float) -> int:
    """The smallest effective sample size from which a bound at this confidence can be given.

    >>> fewest_rows(0.95), fewest_rows(0.9)
    (19, 9)
    """
    return math.ceil(confidence / (1 - confidence) - 1e-9)
