"""Doses by number and by label, and how a clinic draws them."""

from collections.abc import Iterable, Sequence

import numpy as np

from prudent.errors import InputProblem


def dose_numbers(labels: Iterable[object], doses: Sequence[float]) -> np.ndarray:
    """The numbers 0, 1, … of doses in the units of a frame, as they come back in advice."""
    numbers = {float(dose): number for number, dose in enumerate(doses)}
    try:
        return np.array([numbers[float(str(label))] for label in labels], dtype=int)
    except (KeyError, ValueError) as problem:
        known = ", ".join(f"{dose:g}" for dose in doses)
        raise InputProblem(f"A dose is not one of this world's ({known}): {problem}.") from None


def draw_doses(propensity: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A dose number per row, drawn with the probabilities [row, dose]."""
    beyond = random.random((len(propensity), 1)) >= np.cumsum(propensity, axis=1)[:, :-1]
    return beyond.sum(axis=1)
