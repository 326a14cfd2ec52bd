"""A log's features as the matrices that scikit-learn's learners take: with gaps, or with the gaps filled.

scikit-learn is imported inside the functions, so that `import prudent` stays light.
"""

import numpy as np

from prudent.propensity.joint_normal import JointNormal
from prudent.table import Log

IMPUTER_ROWS = 5_000  # the most rows that the chained equations are fitted on; all rows are completed
NEAREST_COLUMNS = 20  # predictors per chained equation in wide tables
CHAINED_COLUMNS = 400  # beyond this many encoded columns gaps are filled by the mean
JOINT_COLUMNS = 50  # beyond this many encoded columns a joint normal is too expensive
ONE_HOT_LEVELS = 20  # rarer levels of a categorical column share one
BOOSTED_COLUMNS = 40  # each split of a boosted tree looks at about this many columns
BOOSTED_LEVELS = 250  # scikit-learn's boosting takes at most 255 levels; rarer ones become gaps


def _ranks(column: np.ndarray) -> np.ndarray:
    """Category indices renumbered from the most to the least frequent; NaN stays."""
    present = ~np.isnan(column)
    levels, inverse, counts = np.unique(column[present], return_inverse=True, return_counts=True)
    rank = np.empty(len(levels))
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(levels))
    ranked = np.full(len(column), np.nan)
    ranked[present] = rank[inverse]
    return ranked


def native_table(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Encoded values with NaN in the gaps, categories as small whole numbers, and which columns are categorical."""
    values = np.where(log.observed, log.values, np.nan).astype(np.float64)
    categorical = np.array([column.likelihood == "categorical" for column in log.schema.columns], dtype=bool)
    for index in np.flatnonzero(categorical):
        ranks = _ranks(values[:, index])
        values[:, index] = np.where(ranks < BOOSTED_LEVELS, ranks, np.nan)
    return values, categorical


def numeric_table(log: Log) -> np.ndarray:
    """Encoded values with NaN in the gaps and categories as one-hot columns; columns that never vary are left out."""
    values, categorical = native_table(log)
    columns = []
    for index in range(values.shape[1]):
        column = values[:, index]
        if categorical[index]:
            levels = min(int(np.nanmax(column, initial=-1)) + 1, ONE_HOT_LEVELS)
            columns += [np.where(np.isnan(column), np.nan, column == level) for level in range(levels)]
        else:
            columns.append(column)
    varying = [column for column in columns if np.nanmax(column, initial=-np.inf) > np.nanmin(column, initial=np.inf)]
    return np.stack(varying, axis=1) if varying else np.empty((len(values), 0))


def completed_tables(table: np.ndarray, imputations: int, seed: int) -> list[np.ndarray]:
    """Draw the gaps by chained equations; one table where there are no gaps or too many columns for chains."""
    gaps, width = np.isnan(table), table.shape[1]
    if not gaps.any():
        return [table]
    if width > CHAINED_COLUMNS:
        return [np.where(gaps, np.nanmean(table, axis=0), table)]
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(table))[: IMPUTER_ROWS if width <= NEAREST_COLUMNS else IMPUTER_ROWS // 2]
    chain = IterativeImputer(
        sample_posterior=True,
        max_iter=int(np.clip(160 // width, 2, 10)),
        n_nearest_features=NEAREST_COLUMNS if width > NEAREST_COLUMNS else None,
        keep_empty_features=True,
        random_state=seed,
    ).fit(table[sample])
    return [np.asarray(chain.transform(table)) for _ in range(imputations)]


def expected_table(table: np.ndarray, seed: int) -> np.ndarray:
    """Fill every gap by its expectation given the row's other cells; in very wide tables by its column's mean."""
    gaps, width = np.isnan(table), table.shape[1]
    if not gaps.any():
        return table
    filled = np.where(gaps, np.nanmean(table, axis=0), table)
    sample = np.random.default_rng(seed).permutation(len(table))[:IMPUTER_ROWS]
    known = ~np.isnan(table[sample]).all(axis=0)
    varying = known & (np.nanstd(np.where(known, table[sample], 0.0), axis=0) > 0)  # a rare level may be absent
    if width <= JOINT_COLUMNS and varying.any():
        normal = JointNormal.fit(table[np.ix_(sample, varying)])
        filled[:, varying] = normal.expected(table[:, varying])
    return filled


def standardised(table: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and standard deviation 1; those that never vary are left out."""
    table = table[:, table.std(axis=0) > 0]
    return (table - table.mean(axis=0)) / table.std(axis=0)
