"""Cross-fitting: each row is predicted by a model that was fitted without it.

Rows are dealt into folds, those of one group into one; each fold is predicted by models of the other folds, and rows
with no action recorded get the mean over the folds' models. Used by the propensities and by everything else that learns
from the same log that it judges.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from prudent.errors import InputProblem
from prudent.progress import tracked
from prudent.table import Log

LEARNING_ROWS = 50_000  # the most rows that one fold's learner is fitted on

Predictor = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (training rows, rows to predict) -> [row, ..., action]


def single_thread() -> AbstractContextManager[object]:
    """Limit numerical libraries to one thread.

    The number of training rows is bounded, so threads gain little, and on a busy machine they wait for one another.
    """
    import sklearn.ensemble  # noqa: F401  only libraries that are already loaded can be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def deal_folds(log: Log, folds: int, seed: int) -> np.ndarray:
    """Fold of each row, -1 with no action. Dealing in order of action stratifies, and cannot fail on rare actions.

    The rows of a group are dealt as one, in the place of the rarest action among them.
    """
    acted = np.random.default_rng(seed).permutation(np.flatnonzero(log.actions >= 0))
    if len(acted) < 2:
        raise InputProblem(
            f"Propensities and prices are learnt from the rows with an action, and the log has {len(acted)}. At least "
            "2 are needed; name the right action column, or give logged probabilities (Known()) and prices."
        )
    actions, fold = np.asarray(log.actions), np.full(len(log.actions), -1)
    if log.groups is not None:
        fold[acted] = _group_folds(log.groups[acted], actions[acted], folds)
        return fold
    acted = acted[np.argsort(actions[acted], kind="stable")]
    fold[acted] = np.arange(len(acted)) % min(folds, len(acted))
    return fold


def _group_folds(groups: np.ndarray, actions: np.ndarray, folds: int) -> np.ndarray:
    """The fold of each row; the order of the rows is random."""
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    count = len(first)
    if count < 2:
        raise InputProblem(
            "All rows with an action belong to one group, so none can be predicted from others; use a log of at least "
            "two groups, or give logged probabilities (Known()) and prices."
        )
    rarity = np.empty(actions.max() + 1, np.int64)
    rarity[np.argsort(np.bincount(actions), kind="stable")] = np.arange(len(rarity))
    rarest = np.full(count, len(rarity))
    np.minimum.at(rarest, codes.reshape(-1), rarity[actions])
    fold = np.empty(count, np.int64)
    fold[np.lexsort((first, rarest))] = np.arange(count) % min(folds, count)
    return fold[codes.reshape(-1)]


def across_folds(fold: np.ndarray, predict: Predictor, label: str = "propensities, fold by fold") -> np.ndarray:
    """Predict every fold from the others; rows in no fold get the mean over the folds' models.

    label: of the step, for who waits for it.
    """
    folds, result = int(fold.max()) + 1, None
    for held in tracked(folds, label):
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

    def limited(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
        if len(train) > LEARNING_ROWS:
            train = np.sort(np.random.default_rng(seed).choice(train, LEARNING_ROWS, replace=False))
        return predict(train, rows)

    return limited
