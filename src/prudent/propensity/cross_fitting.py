"""Cross-fitting: each row is predicted by a model that was fitted without it.

Rows are dealt into folds, each fold is predicted by models of the other folds, and rows with no action recorded get
the mean over the folds' models. Used by the propensities and by everything else that learns from the same log that it
judges.
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
