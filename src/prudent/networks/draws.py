"""Quasi-random points, the same for every record, so that advice does not depend on the other rows of a table.

Scrambled Sobol points, bit for bit those of `scipy.stats.qmc.Sobol`. That module takes half a second to import, which
is a quarter of what the first case in a new process may take, so the few lines of arithmetic stand here.
"""

import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np

BITS = 30
_PLACES = np.arange(BITS - 1, -1, -1)  # of the bits of a number, the highest first


def quasi_random(points: int, dimensions: int, seed: int) -> np.ndarray:
    """Scrambled Sobol points strictly inside the unit cube, [point, dimension]."""
    return np.clip(_sobol(points, dimensions, seed), 1e-6, 1 - 1e-6).astype(np.float32)


def _sobol(points: int, dimensions: int, seed: int) -> np.ndarray:
    directions = _directions()
    if dimensions > len(directions):
        return _sobol_of_scipy(points, dimensions, seed)
    random = np.random.default_rng(seed).spawn(1)[0]
    shift = random.integers(2, size=(dimensions, BITS), dtype=np.uint32).astype(np.int64) << np.arange(BITS)
    # Matoušek's scrambling: the digits of every direction times a random lower triangular matrix, modulo 2
    mixing = np.tril(random.integers(2, size=(dimensions, BITS, BITS), dtype=np.uint32)).astype(np.float32)
    mixing[:, np.arange(BITS), np.arange(BITS)] = 1
    digits = ((directions[:dimensions, :, None] >> _PLACES) & 1).astype(np.float32)
    mixed = (digits @ mixing.transpose(0, 2, 1)).astype(np.int64) & 1
    scrambled = (mixed << _PLACES).sum(axis=2)
    order = np.arange(points)
    order ^= order >> 1  # Gray code
    drawn = np.broadcast_to(shift.sum(axis=1), (points, dimensions)).copy()
    for bit in range(int(points).bit_length()):
        drawn ^= ((order[:, None] >> bit) & 1) * scrambled[:, bit]
    return drawn / 2.0**BITS


@lru_cache(maxsize=1)
def _directions() -> np.ndarray:
    """Sobol's direction numbers, [dimension, bit].

    The file has primitive polynomials and first numbers by S. Joe and F. Y. Kuo ("Constructing Sobol sequences with
    better two-dimensional projections", 2008; BSD licence), of the first 1024 dimensions, as SciPy distributes them.
    """
    with np.load(Path(__file__).with_name("direction_numbers.npz"), allow_pickle=False) as stored:
        polynomials, first = stored["polynomials"].astype(np.int64), stored["numbers"].astype(np.int64)
    numbers = np.zeros((len(polynomials), BITS), np.int64)
    numbers[:, : first.shape[1]] = first
    numbers[0] = 1
    degrees = np.frexp(polynomials)[1] - 1
    for degree in range(1, int(degrees.max()) + 1):
        own = np.flatnonzero((degrees == degree) & (np.arange(len(degrees)) > 0))
        for bit in range(degree, BITS):
            following = numbers[own, bit - degree]
            for back in range(1, degree + 1):
                coefficient = (polynomials[own] >> (degree - back)) & 1
                following = following ^ (coefficient * numbers[own, bit - back] << back)
            numbers[own, bit] = following
    return numbers << _PLACES


def _sobol_of_scipy(points: int, dimensions: int, seed: int) -> np.ndarray:
    from scipy.stats import qmc

    with warnings.catch_warnings():
        # "balance properties require n to be a power of 2": a hint, not a fault
        warnings.simplefilter("ignore", UserWarning)
        return qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed)).random(points)
