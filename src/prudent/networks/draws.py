"""Quasi-random points, the same for every record, so that advice does not depend on the other rows of a table."""

import warnings

import numpy as np
from scipy.stats import qmc


def quasi_random(points: int, dimensions: int, seed: int) -> np.ndarray:
    """Scrambled Sobol points strictly inside the unit cube, [point, dimension]."""
    with warnings.catch_warnings():
        # "balance properties require n to be a power of 2": a hint, not a fault
        warnings.simplefilter("ignore", UserWarning)
        drawn = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed)).random(points)
    return np.clip(drawn, 1e-6, 1 - 1e-6).astype(np.float32)
