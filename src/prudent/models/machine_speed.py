"""How fast this machine is at the moment, beside the one whose seconds are known: a moment of arithmetic, timed."""

from collections.abc import Callable
from functools import cache
from time import perf_counter

import numpy as np

REFERENCE = 0.0017
"""Processor seconds of one run on the machine where the constants of `cost_estimate` were measured."""
RUNS = 100


def timed_arithmetic(clock: Callable[[], float] = perf_counter) -> float:
    """The mean seconds of a run: matrix products and exponentials, in the proportion in which training needs them."""
    random = np.random.default_rng(0)
    left, right = random.normal(size=(2, 48, 48)).astype(np.float32)  # so small that one thread multiplies them
    cells = random.normal(size=60_000).astype(np.float32)
    start = clock()
    for _ in range(RUNS):
        for _ in range(20):
            np.exp(-np.abs(cells))
        for _ in range(300):
            np.matmul(left, right)
    return (clock() - start) / RUNS


@cache
def slowness() -> float:
    """How many times as long as on the reference machine work takes here and now; measured once per process."""
    return timed_arithmetic() / REFERENCE
