"""Calibration of the propensities: of the actions predicted with probability one in five, was one in five taken?"""

import math
from dataclasses import dataclass

import numpy as np

from prudent.propensity import FittedPropensity
from prudent.table import group_codes

# finer near zero, where a small mistake in a probability is a large one in a weight
EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BLOCK_CELLS = 4_000_000


@dataclass(frozen=True)
class CalibrationBin:
    """The predicted probabilities above `low` and up to `high`: their mean, how often the action was taken, how many.

    Each row of the log counts once for every action.
    """

    low: float
    high: float
    predicted: float
    observed: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """How far predicted probabilities of actions are from how often these were taken.

    bins: the bins that are not empty.
    error: the expected calibration error, the mean of |predicted − observed| over all probabilities.
    chance: about what `error` would be if the probabilities were correct.
    misplaced: the share of decisions that would have to fall on another action for the two to agree: half the sum of
        the errors of a row's actions.
    """

    bins: tuple[CalibrationBin, ...]
    error: float
    chance: float
    misplaced: float


def calibration(propensity: FittedPropensity, groups: np.ndarray | None = None) -> Calibration | None:
    """Reliability of the probabilities of all actions together; None where only those of the taken ones are known.

    groups: which rows belong together; what chance would show is then found from how much groups differ.
    """
    if propensity.probabilities is None:
        return None
    actions = propensity.probabilities.shape[1]
    sums = _sums(propensity.probabilities, propensity.actions)
    used = np.flatnonzero(sums[0])
    count, predicted, taken, variance = sums[:, used]
    if groups is not None:
        variance = _between_groups(propensity.probabilities, propensity.actions, groups)[used]
    error = float(np.abs(predicted - taken).sum() / count.sum())
    # the mean size of a normal error of sd s is s·√(2/π)
    chance = float(np.sqrt(2 / math.pi * variance).sum() / count.sum())
    columns = (predicted / count, taken / count, count)
    bins = tuple(
        CalibrationBin(EDGES[at], EDGES[at + 1], float(mean), float(share), int(number))
        for at, mean, share, number in zip(used, *columns, strict=True)
    )
    return Calibration(bins, error, chance, error * actions / 2)


def _sums(probabilities: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Per bin: how many probabilities, their sum, how many of their actions were taken, the sum of p(1 − p)."""
    rows, width = probabilities.shape
    sums, size = np.zeros((4, len(EDGES) - 1)), len(EDGES) - 1
    step = max(1, BLOCK_CELLS // width)
    for start in range(0, rows, step):
        part, done = probabilities[start : start + step], actions[start : start + step]
        flat = part.ravel()
        place = np.clip(np.searchsorted(EDGES, flat, side="left") - 1, 0, size - 1)
        taken = place.reshape(part.shape)[np.arange(len(part)), done]
        sums += [
            np.bincount(place, minlength=size),
            np.bincount(place, flat, size),
            np.bincount(taken, minlength=size),
            np.bincount(place, flat * (1 - flat), size),
        ]
    return sums


def _between_groups(probabilities: np.ndarray, actions: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Per bin: the sum of squares of each group's actions taken less those predicted."""
    codes, count = group_codes(groups)
    size, excess = len(EDGES) - 1, np.zeros(count * (len(EDGES) - 1))
    for action in range(probabilities.shape[1]):
        own = probabilities[:, action]
        place = np.clip(np.searchsorted(EDGES, own, side="left") - 1, 0, size - 1)
        excess += np.bincount(codes * size + place, (actions == action) - own, count * size)
    return (excess.reshape(count, size) ** 2).sum(axis=0)
