"""How well one column predicts another by itself, held out row by row: the base of the search for leaks."""

from typing import NamedTuple

import numpy as np

NEIGHBOURS = 3
FEW = 4
"""Rows with a value that fewer than this many have are predicted from the rows with the nearest values."""


class Windows(NamedTuple):
    """For every row, in the order of a column's values, the rows that predict it: from `start` up to `stop`."""

    order: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    @staticmethod
    def of(values: np.ndarray, observed: np.ndarray) -> "Windows":
        """Rows with the same value predict each other, and so do rows with a gap; rare values have neighbours."""
        keys = np.where(observed, values.astype(np.float64), np.inf)
        # equal values in an order that has nothing to do with the rows'
        order = np.lexsort((np.random.default_rng(0).permutation(len(keys)), keys))
        at, places = keys[order], np.arange(len(keys))
        first = np.searchsorted(at, at, side="left")
        last = np.searchsorted(at, at, side="right")
        rare = last - first < FEW
        start = np.where(rare, np.maximum(places - NEIGHBOURS, 0), first)
        stop = np.where(rare, np.minimum(places + NEIGHBOURS + 1, len(keys)), last)
        return Windows(order, start, stop)

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """The sum of each row's window without the row itself, in the column's order; [row] or [row, class]."""
        sorted_numbers = numbers[self.order].astype(np.float64)
        total = np.concatenate((np.zeros((1, *numbers.shape[1:])), np.cumsum(sorted_numbers, axis=0)))
        return total[self.stop] - total[self.start] - sorted_numbers

    def sizes(self) -> np.ndarray:
        return self.stop - self.start - 1


class Accuracy(NamedTuple):
    """The share of rows whose class is predicted right, and the share that the most frequent class has."""

    right: float
    guessed: float

    @property
    def skill(self) -> float:
        """How far from guessing (0) to certainty (1)."""
        return (self.right - self.guessed) / (1 - self.guessed) if self.guessed < 1 else 0.0


def class_accuracy(windows: Windows, classes: np.ndarray, count: int) -> Accuracy:
    """Each row's class predicted by vote of the other rows in its window."""
    votes = windows.sums(np.eye(count)[classes])
    right = votes.argmax(axis=1) == classes[windows.order]
    return Accuracy(float(right.mean()), float(np.bincount(classes, minlength=count).max() / len(classes)))


def rank_fit(windows: Windows, ranks: np.ndarray) -> float:
    """R² of ranks predicted from the other rows' ranks."""
    sizes = windows.sizes()
    predicted = np.where(sizes > 0, windows.sums(ranks) / np.maximum(sizes, 1), ranks.mean())
    actual = ranks[windows.order]
    spread = float(((actual - actual.mean()) ** 2).sum())
    return 1 - float(((actual - predicted) ** 2).sum()) / spread if spread > 0 else 0.0


def auc_fit(windows: Windows, truth: np.ndarray) -> float:
    """The area under the ROC curve of a yes-or-no outcome, predicted from the other rows."""
    sizes = windows.sizes()
    predicted = np.where(sizes > 0, windows.sums(truth) / np.maximum(sizes, 1), truth.mean())
    return area_under_curve(predicted, truth[windows.order])


def area_under_curve(scores: np.ndarray, truth: np.ndarray) -> float:
    """The chance that a random true row has a higher score than a random false one, ties counting half."""
    positive = truth.astype(bool)
    count = int(positive.sum())
    if count in (0, len(truth)):
        return 0.5
    ranks = average_ranks(scores)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(truth) - count)))


def average_ranks(numbers: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal numbers share the mean of theirs.

    >>> average_ranks(np.array([10.0, 30.0, 10.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def matched_share(first: np.ndarray, second: np.ndarray) -> float:
    """How nearly two columns of codes are the same up to other names: the share of rows in pairs of partners.

    Rows that hold the most common value of both do not count: two columns that hardly vary are not copies.
    """
    pairs, inverse, counts = np.unique(np.stack((first, second)), axis=1, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    by_frequency = np.argsort(-counts, kind="stable")
    partner_of_first: dict[int, int] = {}
    partner_of_second: dict[int, int] = {}
    for at in by_frequency.tolist():
        one, other = int(pairs[0, at]), int(pairs[1, at])
        if one not in partner_of_first and other not in partner_of_second:
            partner_of_first[one], partner_of_second[other] = other, one
    partners = np.array([partner_of_first.get(int(one)) == int(other) for one, other in pairs.T])
    counted = inverse != by_frequency[0]
    return float(partners[inverse[counted]].mean()) if counted.any() else 0.0
