"""How likely each cell of a dosing world is missing: equally, or more often for some patients than for others."""

import numpy as np
from scipy.special import expit

from prudent.errors import InputProblem
from prudent.worlds.contexts import Contexts

STEEPNESS = 1.5


def always_observed(contexts: Contexts) -> int:
    """How many leading numeric attributes are never missing under "mar": a quarter of them, at least one."""
    return max(1, contexts.numeric // 4)


def gap_probabilities(contexts: Contexts, share: float, mechanism: str, full: np.ndarray) -> np.ndarray:
    """The probability of a gap for every cell of `full`; its mean over the world is `share`.

    "mar": the leading attributes are always observed and decide how often the others are missing: a logistic curve in
    their standardised mean, rising for every second attribute and falling for the rest. Such gaps are ignorable: the
    posterior needs no model of them.
    """
    if mechanism == "mcar" or share == 0:
        return np.full(full.shape, share)
    kept, width = always_observed(contexts), full.shape[1]
    wanted = share * width / (width - kept) if width > kept else 1.0
    if wanted >= 0.98:
        raise InputProblem(
            f"The 'gaps' parameter of DosingWorld cannot be {share} under 'mar' with {width} attributes, {kept} of "
            f"them always observed. Lower it or use more attributes."
        )
    average = np.concatenate([np.full(kept, 1 / kept), np.zeros(contexts.numeric - kept)])
    centres = contexts.centres @ average
    within = average @ contexts.covariance @ average
    spread = np.sqrt(within + contexts.prior @ centres**2)
    sd = float(np.sqrt(within) / spread)
    rising = _level(wanted, centres / spread, sd, contexts.prior)
    # the falling half has another level: with categories the score need not be symmetric
    falling = _level(wanted, -centres / spread, sd, contexts.prior)
    score = full[:, :kept].mean(axis=1, keepdims=True) / spread
    sign = np.where(np.arange(width - kept) % 2 == 0, 1.0, -1.0)
    probability = expit(np.where(sign > 0, rising, falling) + STEEPNESS * sign * score)
    return np.concatenate([np.zeros((len(full), kept)), probability], axis=1)


def _level(wanted: float, centres: np.ndarray, sd: float, prior: np.ndarray) -> float:
    """The intercept at which the logistic curve averages `wanted` over the score's mixture of Gaussians."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    score = STEEPNESS * (centres[:, None] + sd * nodes)
    mass = prior[:, None] * weights / weights.sum()
    low, high = -40.0, 40.0
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(mass * expit(middle + score)) < wanted else (low, middle)
    return high
