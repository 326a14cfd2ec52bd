"""The error for a law that does not hold, and how laws compare numbers."""

from typing import Any

import numpy as np


class LawBroken(AssertionError):
    """A law of prudent does not hold: the message names its number and what was seen instead."""


def hold(condition: Any, law: int, sentence: str) -> None:
    """Raise `LawBroken` unless the condition is true."""
    if not bool(condition):
        raise LawBroken(f"Law {law} is broken: {sentence}")


def close(expected: Any, actual: Any, tolerance: float = 1e-4) -> bool:
    """Equal to float tolerance, relative to the largest number; NaNs must be in the same places."""
    left, right = np.asarray(expected, np.float64), np.asarray(actual, np.float64)
    size = max(1.0, float(np.max(np.abs(left[np.isfinite(left)]), initial=0.0)))
    return left.shape == right.shape and bool(np.allclose(left, right, rtol=0, atol=tolerance * size, equal_nan=True))
