"""Balance: do the rows that agree with a policy look like all rows, once they are weighted?"""

from dataclasses import dataclass

import numpy as np

from prudent.evaluation.row_terms import ratios
from prudent.table import Column, Log

BLOCK_CELLS = 4_000_000  # cells held at once in float64: wide tables are processed in blocks of columns
FLAT = 1e-6  # encoded cells are float32 on a scale of one: a smaller spread is rounding error of a constant column


@dataclass(frozen=True)
class AttributeBalance:
    """How far the rows that agree with a policy are from all rows in one attribute, in its standard deviations.

    before, after: the mean over the policy's rows minus the mean over all rows, over observed cells in encoded space,
        with each row weighted by π(A | x̃), and by π(A | x̃) / π̂0(A | x̃). For categories, the largest difference of a
        level's share, without sign. 0 for a constant column, NaN where no cell is observed.
    chance: the standard error of `after` if the rows were truly balanced.
    gaps_before, gaps_after, gaps_chance: the same for the share of gaps.
    """

    attribute: str
    before: float
    after: float
    chance: float
    gaps_before: float
    gaps_after: float
    gaps_chance: float


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over rows by each way of weighting them, [way, quantity]: of presence, of the centred quantity, and of its
    square. The ways are π(A | x̃), the weights, their squares, and one."""

    present: np.ndarray
    centred: np.ndarray
    squared: np.ndarray

    def standardised(self) -> np.ndarray:
        """Difference before and after weighting and the chance error of the latter, [3, quantity]."""
        rows = self.present[3]
        spread = np.sqrt(np.maximum(ratios(self.squared[3], rows), 0.0))
        scale = np.where(spread <= FLAT, np.inf, spread)
        mean_weight = ratios(self.present[1], rows)
        # a row moves the difference by (w / mean w − 1) times its centred value; the square is multiplied out
        moved = ratios(self.squared[2], mean_weight**2) - 2 * ratios(self.squared[1], mean_weight) + self.squared[3]
        differences = ratios(self.centred[:2], self.present[:2])
        return np.stack([*differences, ratios(np.sqrt(np.maximum(moved, 0.0)), rows)]) / scale


def balance(log: Log, agreement: np.ndarray, weights: np.ndarray) -> tuple[AttributeBalance, ...]:
    """One entry per attribute; `agreement` is π(A | x̃) of every row, 1 where the row is decided as logged."""
    ways = np.stack([agreement, weights, weights**2, np.ones(len(log))])
    totals = ways.sum(axis=1)
    balances: list[AttributeBalance] = []
    step = max(1, BLOCK_CELLS // max(len(log), 1))
    for start in range(0, len(log.schema), step):
        block = slice(start, start + step)
        present = log.observed[:, block].astype(np.float64)
        numbers = _of_numbers(ways, np.where(log.observed[:, block], log.values[:, block], 0.0), present)
        differences = numbers.standardised()
        gaps = _of_levels(totals[:, None] - numbers.present, totals[:, None]).standardised()
        for index, column in enumerate(log.schema.columns[block]):
            if column.likelihood == "categorical":
                at = start + index
                differences[:, index] = _largest_level(ways, column, log.values[:, at], log.observed[:, at])
            balances.append(AttributeBalance(column.name, *map(float, (*differences[:, index], *gaps[:, index]))))
    return tuple(balances)


def _of_numbers(ways: np.ndarray, values: np.ndarray, present: np.ndarray) -> _Sums:
    values = values.astype(np.float64)
    centre = values.sum(axis=0) / np.maximum(present.sum(axis=0), 1.0)
    centred = (values - centre[None, :]) * present
    return _Sums(ways @ present, ways @ centred, ways @ centred**2)


def _of_levels(inside: np.ndarray, total: np.ndarray) -> _Sums:
    """Indicators need no table: all sums follow from how much of each way of weighting is inside a level."""
    share = ratios(inside[3], total[3])[None, :]
    return _Sums(
        np.broadcast_to(total, inside.shape),
        inside - share * total,
        inside * (1 - 2 * share) + share**2 * total,
    )


def _largest_level(ways: np.ndarray, column: Column, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    levels = len(column.categories)
    codes = np.where(observed, values, levels).astype(np.int64)
    inside = np.stack([np.bincount(codes, way, levels + 1)[:levels] for way in ways])
    before, after, chance = _of_levels(inside, inside.sum(axis=1, keepdims=True)).standardised()
    last = int(np.argmax(np.abs(after)))
    return np.array([np.max(np.abs(before)), abs(after[last]), chance[last]])
