"""Completing records before a regression sees them: by means, or by draws of chained equations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from prudent.errors import check, whole
from prudent.propensity import single_thread

DRAWS = 4
"""Draws of each imputation at decision time: prices average over imputations × DRAWS completions."""

WIDE = 30
"""From this many columns on, chains are shorter and each equation has fewer predictors."""


@dataclass(frozen=True)
class Completed:
    """A log completed once, and the way to complete new records: both numeric, categories as one-hot columns."""

    log: np.ndarray
    draws: Callable[[np.ndarray], list[np.ndarray]]


class Imputation(Protocol):
    """How gaps are filled. From attributes only: at decision time there is no reward to impute from."""

    @property
    def marks_gaps(self) -> bool:
        """Whether columns that mark the gaps may be added for a regression, if that helps it."""
        ...

    def fit(self, values: np.ndarray, categorical: np.ndarray, seed: int) -> list[Completed]: ...


@dataclass(frozen=True)
class MeanImputation:
    """A gap becomes its column's mean in the log."""

    @property
    def marks_gaps(self) -> bool:
        return True

    def fit(self, values: np.ndarray, categorical: np.ndarray, seed: int) -> list[Completed]:
        numeric = Numeric.of(values, categorical)
        means = np.nan_to_num(_column_means(numeric(values)))

        def filled(new: np.ndarray) -> np.ndarray:
            table = numeric(new)
            return np.where(np.isnan(table), means, table)

        return [Completed(filled(values), lambda new: [filled(new)])]


@dataclass(frozen=True)
class ChainedImputation:
    """Multiple imputation by chained equations: scikit-learn's IterativeImputer, drawing, from different seeds.

    Draws start from the same seed every time, so the same table gets the same completions; but one stream serves all
    gaps of a table, so a record alone is completed differently than in a batch.
    """

    imputations: int = 5

    def __post_init__(self) -> None:
        check("ChainedImputation", {"imputations": whole(1)}, vars(self))

    @property
    def marks_gaps(self) -> bool:
        return False

    def fit(self, values: np.ndarray, categorical: np.ndarray, seed: int) -> list[Completed]:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer

        numeric = Numeric.of(values, categorical)
        table = numeric(values)
        wide = table.shape[1] > WIDE
        completed = []
        for k in range(self.imputations):
            with single_thread():
                chain = IterativeImputer(
                    sample_posterior=True,
                    max_iter=4 if wide else 10,
                    n_nearest_features=20 if wide else None,
                    keep_empty_features=True,
                    random_state=seed + k,
                ).fit(table)
            fitted = _Chain(numeric, chain, seed + k)
            draws = partial(fitted.draws, number=DRAWS)
            completed.append(Completed(fitted.draws(values, 1)[0], draws))
        return completed


@dataclass(frozen=True)
class _Chain:
    numeric: "Numeric"
    chain: Any
    seed: int

    def draws(self, values: np.ndarray, number: int) -> list[np.ndarray]:
        table = self.numeric(values)
        if not np.isnan(table).any():
            return [table]
        self.chain.random_state_ = np.random.RandomState(self.seed)
        with single_thread():
            return [self.chain.transform(table) for _ in range(number)]


@dataclass(frozen=True)
class Numeric:
    """Categories as one-hot columns (a level not seen in the log is all zeros), NaN staying NaN."""

    levels: tuple[np.ndarray | None, ...]

    @classmethod
    def of(cls, values: np.ndarray, categorical: np.ndarray) -> "Numeric":
        columns = zip(values.T, np.asarray(categorical, dtype=bool), strict=True)
        return cls(tuple(np.unique(column[~np.isnan(column)]) if kind else None for column, kind in columns))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        blocks = []
        for column, levels in zip(values.T, self.levels, strict=True):
            block = column[:, None]
            blocks.append(block if levels is None else np.where(np.isnan(block), np.nan, block == levels))
        return np.hstack(blocks)


def beside_gaps(table: np.ndarray, gaps: np.ndarray, with_gaps: bool) -> np.ndarray:
    """A completed table, followed by a column for each attribute that marks its gaps where `with_gaps`."""
    return np.hstack([table, gaps]) if with_gaps else table


def gap_choices(imputation: Imputation, gaps: np.ndarray) -> tuple[bool, ...]:
    """Whether to add columns that mark the gaps: the choices worth trying on this log."""
    return (False, True) if imputation.marks_gaps and gaps.any() else (False,)


def mean_over_completions(
    completed: Sequence[Completed], new: np.ndarray, with_gaps: bool, price: Callable[[int, np.ndarray], np.ndarray]
) -> np.ndarray:
    """`price(imputation, completed table)` averaged over all completions."""
    gaps = np.isnan(new)
    return np.mean(
        [price(k, beside_gaps(table, gaps, with_gaps)) for k, one in enumerate(completed) for table in one.draws(new)],
        axis=0,
    )


def _column_means(table: np.ndarray) -> np.ndarray:
    present = ~np.isnan(table)
    return np.where(present, table, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
