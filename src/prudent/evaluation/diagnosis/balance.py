"""Balance: do the rows that agree with a policy look like all rows, once they are weighted?"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from prudent.evaluation.row_terms import ratios
from prudent.table import Column, Log, group_codes

BLOCK_CELLS = 4_000_000  # cells held at once in float64: wide tables are processed in blocks of columns
FLAT = 1e-6  # encoded cells are float32 on a scale of one: a smaller spread is rounding error of a constant column


@dataclass(frozen=True)
class AttributeBalance:
    """How far the rows that agree with a policy are from all rows in one attribute, in its standard deviations.

    before, after: the mean over the policy's rows minus the mean over all rows, over observed cells in encoded space,
        with each row weighted by π(A | x̃), and by π(A | x̃) / π̂0(A | x̃). For categories, the largest difference of a
        level's share, without sign. 0 for a constant column, NaN where no cell is observed.
    chance: the standard error of `after` if the rows (or the groups they belong to) were truly balanced.
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
    square. The ways are π(A | x̃), the weights, their squares, and one.

    by_group: sums of the centred quantity over the rows of each group, by weight and plain, [2, group, quantity]; None
    where rows are independent.
    """

    present: np.ndarray
    centred: np.ndarray
    squared: np.ndarray
    by_group: np.ndarray | None = None

    def standardised(self) -> np.ndarray:
        """Difference before and after weighting and the chance error of the latter, [3, quantity]."""
        rows = self.present[3]
        spread = np.sqrt(np.maximum(ratios(self.squared[3], rows), 0.0))
        scale = np.where(spread <= FLAT, np.inf, spread)
        mean_weight = ratios(self.present[1], rows)
        # a row moves the difference by (w / mean w − 1) times its centred value; the square is multiplied out
        if self.by_group is None:
            moved = ratios(self.squared[2], mean_weight**2) - 2 * ratios(self.squared[1], mean_weight) + self.squared[3]
        else:
            moved = ((ratios(self.by_group[0], mean_weight[None, :]) - self.by_group[1]) ** 2).sum(axis=0)
        differences = ratios(self.centred[:2], self.present[:2])
        return np.stack([*differences, ratios(np.sqrt(np.maximum(moved, 0.0)), rows)]) / scale


def balance(log: Log, agreement: np.ndarray, weights: np.ndarray) -> tuple[AttributeBalance, ...]:
    """One entry per attribute; `agreement` is π(A | x̃) of every row, 1 where the row is decided as logged."""
    ways = np.stack([agreement, weights, weights**2, np.ones(len(log))])
    totals, groups = ways.sum(axis=1), None if log.groups is None else _Groups.of(log.groups, weights)
    balances: list[AttributeBalance] = []
    step = max(1, BLOCK_CELLS // max(len(log), 1))
    for start in range(0, len(log.schema), step):
        block = slice(start, start + step)
        present = log.observed[:, block].astype(np.float64)
        numbers = _of_numbers(ways, np.where(log.observed[:, block], log.values[:, block], 0.0), present, groups)
        differences = numbers.standardised()
        everything = None if groups is None else np.ones((len(log), 1))
        gaps = _of_levels(totals[:, None] - numbers.present, totals[:, None], groups, 1 - present, everything)
        gaps = gaps.standardised()
        for index, column in enumerate(log.schema.columns[block]):
            if column.likelihood == "categorical":
                at = start + index
                own = log.values[:, at], log.observed[:, at]
                differences[:, index] = _largest_level(ways, column, *own, groups)
            balances.append(AttributeBalance(column.name, *map(float, (*differences[:, index], *gaps[:, index]))))
    return tuple(balances)


class _Groups(NamedTuple):
    """Which rows belong together, and the weights of the rows."""

    sums: Any
    weights: np.ndarray

    @classmethod
    def of(cls, groups: np.ndarray, weights: np.ndarray) -> "_Groups":
        from scipy.sparse import csr_array

        codes, count = group_codes(groups)
        rows = len(codes)
        return cls(csr_array((np.ones(rows), (codes, np.arange(rows))), shape=(count, rows)), weights)

    def both(self, quantity: np.ndarray) -> np.ndarray:
        """Sums of [row, quantity] over each group, by weight and plain, [2, group, quantity]."""
        return np.stack([self.sums @ (quantity * self.weights[:, None]), self.sums @ quantity])


def _of_numbers(ways: np.ndarray, values: np.ndarray, present: np.ndarray, groups: _Groups | None) -> _Sums:
    values = values.astype(np.float64)
    centre = values.sum(axis=0) / np.maximum(present.sum(axis=0), 1.0)
    centred = (values - centre[None, :]) * present
    together = None if groups is None else groups.both(centred)
    return _Sums(ways @ present, ways @ centred, ways @ centred**2, together)


def _of_levels(
    inside: np.ndarray,
    total: np.ndarray,
    groups: _Groups | None = None,
    belongs: np.ndarray | None = None,
    counted: np.ndarray | None = None,
) -> _Sums:
    """Indicators need no table: all sums follow from how much of each way of weighting is inside a level.

    belongs, counted: with groups, whether each row is inside the level, and whether it counts at all.
    """
    share = ratios(inside[3], total[3])[None, :]
    together = None
    if groups is not None and belongs is not None and counted is not None:
        together = groups.both(belongs) - share[None] * groups.both(counted)
    return _Sums(
        np.broadcast_to(total, inside.shape),
        inside - share * total,
        inside * (1 - 2 * share) + share**2 * total,
        together,
    )


def _largest_level(
    ways: np.ndarray, column: Column, values: np.ndarray, observed: np.ndarray, groups: _Groups | None
) -> np.ndarray:
    levels = len(column.categories)
    codes = np.where(observed, values, levels).astype(np.int64)
    inside = np.stack([np.bincount(codes, way, levels + 1)[:levels] for way in ways])
    belongs = None if groups is None else (codes[:, None] == np.arange(levels)) * 1.0
    sums = _of_levels(inside, inside.sum(axis=1, keepdims=True), groups, belongs, observed[:, None] * 1.0)
    before, after, chance = sums.standardised()
    last = int(np.argmax(np.abs(after)))
    return np.array([np.max(np.abs(before)), abs(after[last]), chance[last]])
