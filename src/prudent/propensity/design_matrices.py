"""Tables as scikit-learn's learners want them, and cross-fitting: what the propensities and the prices share.

scikit-learn is imported inside the functions: `import prudent` stays light.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from prudent.errors import InputProblem
from prudent.propensity.joint_normal import JointNormal
from prudent.table import Log

IMPUTER_ROWS = 5_000  # what the chained equations are fitted on at most; all rows are completed
LEARNING_ROWS = 50_000  # what one fold's learner is fitted on at most
NEAREST_COLUMNS = 20  # predictors per chained equation in wide tables
CHAINED_COLUMNS = 400  # beyond this many encoded columns gaps are filled by the mean
JOINT_COLUMNS = 50  # beyond this many a joint normal is dear
ONE_HOT_LEVELS = 20  # rarer levels of a categorical column share one
BOOSTED_COLUMNS = 40  # each split of a boosted tree looks at about this many columns
BOOSTED_LEVELS = 250  # scikit-learn's boosting takes at most 255 levels; rarer ones become gaps


def single_thread() -> AbstractContextManager[object]:
    """Learning rows are bounded, so threads gain little, and on a busy machine they wait for one another."""
    import sklearn.ensemble  # noqa: F401  only libraries that are already loaded can be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


Predictor = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (training rows, rows to predict) -> [row, ..., action]


def deal_folds(log: Log, folds: int, seed: int) -> np.ndarray:
    """Fold of each row, -1 with no action. Dealing in order of action stratifies, and cannot fail on rare actions."""
    acted = np.random.default_rng(seed).permutation(np.flatnonzero(log.actions >= 0))
    if len(acted) < 2:
        raise InputProblem(
            f"Propensities and prices are learnt from the rows with an action, and the log has {len(acted)}. At least "
            "2 are needed; name the right action column, or give logged probabilities (Known()) and prices."
        )
    acted = acted[np.argsort(np.asarray(log.actions)[acted], kind="stable")]
    fold = np.full(len(log.actions), -1)
    fold[acted] = np.arange(len(acted)) % min(folds, len(acted))
    return fold


def across_folds(fold: np.ndarray, predict: Predictor) -> np.ndarray:
    folds, result = int(fold.max()) + 1, None
    for held in range(folds):
        rows = np.flatnonzero((fold == held) | (fold < 0))
        predicted = predict(np.flatnonzero((fold >= 0) & (fold != held)), rows)
        if result is None:
            result = np.zeros((len(fold), *predicted.shape[1:]))
        share = np.where(fold[rows] == held, 1.0, 1 / folds).reshape(-1, *(1,) * (predicted.ndim - 1))
        result[rows] += share * predicted
    assert result is not None  # there are always at least two folds
    return result


def with_row_limit(predict: Predictor, seed: int) -> Predictor:
    """The same predictor on at most LEARNING_ROWS training rows, so that huge logs cost no more than large ones."""

    def bounded(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
        if len(train) > LEARNING_ROWS:
            train = np.sort(np.random.default_rng(seed).choice(train, LEARNING_ROWS, replace=False))
        return predict(train, rows)

    return bounded


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
    """Draw the gaps by chained equations; with no gaps, or too many columns for chains, one table is all there is."""
    gaps, width = np.isnan(table), table.shape[1]
    if not gaps.any():
        return [table]
    if width > CHAINED_COLUMNS:
        return [np.where(gaps, np.nanmean(table, axis=0), table)]
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    rng = np.random.default_rng(seed)
    some = rng.permutation(len(table))[: IMPUTER_ROWS if width <= NEAREST_COLUMNS else IMPUTER_ROWS // 2]
    chain = IterativeImputer(
        sample_posterior=True,
        max_iter=int(np.clip(160 // width, 2, 10)),
        n_nearest_features=NEAREST_COLUMNS if width > NEAREST_COLUMNS else None,
        keep_empty_features=True,
        random_state=seed,
    ).fit(table[some])
    return [np.asarray(chain.transform(table)) for _ in range(imputations)]


def expected_table(table: np.ndarray, seed: int) -> np.ndarray:
    """Fill every gap by its expectation given the row's other cells; in very wide tables by its column's mean."""
    gaps, width = np.isnan(table), table.shape[1]
    if not gaps.any():
        return table
    filled = np.where(gaps, np.nanmean(table, axis=0), table)
    some = np.random.default_rng(seed).permutation(len(table))[:IMPUTER_ROWS]
    known = ~np.isnan(table[some]).all(axis=0)
    varying = known & (np.nanstd(np.where(known, table[some], 0.0), axis=0) > 0)  # a rare level may be absent
    if width <= JOINT_COLUMNS and varying.any():
        normal = JointNormal.fit(table[np.ix_(some, varying)])
        filled[:, varying] = normal.expected(table[:, varying])
    return filled


def standardised(table: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and deviation 1; those that never vary are left out."""
    table = table[:, table.std(axis=0) > 0]
    return (table - table.mean(axis=0)) / table.std(axis=0)
