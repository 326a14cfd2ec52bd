"""Who gains more than others: effects per row, learnt from noisy scores and believed no more than they deserve."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.errors import is_whole, require
from prudent.evaluation.effects.row_terms import TwoArms
from prudent.propensity import (
    BOOSTED_COLUMNS,
    across_folds,
    deal_folds,
    native_table,
    single_thread,
    with_row_limit,
)
from prudent.table import Log

STAGES = (10, 30, 100)


@dataclass(frozen=True)
class BoostedEffects:
    """The doubly robust learner: gradient boosting of the scores on the record, gaps as they are, cross-fitted.

    A row's score has its effect as mean and a variance of about 1/e(1 − e), which is how rows are weighted. What is
    found is shrunk towards the average effect: for each fold, the number of trees (or the effects by the prices in
    place of trees) and the share of it to believe are those with the least squared error on the other folds' rows. No
    share at all, the same effect for everyone, wins unless the gain is more than chance would bring.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        require(is_whole(self.folds, 2), "BoostedEffects", "folds", "be a whole number of at least 2", self.folds)

    def fit(self, log: Log, arms: TwoArms, seed: int = 0) -> np.ndarray:
        """An effect for each row, from trees that were grown without it."""
        fold = deal_folds(log, self.folds, seed)
        table, categorical = native_table(log)
        scores, precision = arms.scores, arms.taken * (1 - arms.taken)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return _boosted(table, categorical, scores, precision, train, rows, seed)

        with single_thread():
            boosted = across_folds(fold, with_row_limit(predict, seed))
        candidates = np.concatenate([boosted, (arms.prices[:, 1] - arms.prices[:, 0])[:, None]], axis=1)
        candidates = candidates - candidates.mean(axis=0)
        excess, result = scores - scores.mean(), np.full(len(scores), scores.mean())
        for held in range(int(fold.max()) + 1):
            rows, others = fold == held, fold != held
            which, share = _believed(candidates[others], excess[others], precision[others])
            result[rows] += share * candidates[rows, which]
        return result


def _believed(candidates: np.ndarray, excess: np.ndarray, precision: np.ndarray) -> tuple[int, float]:
    """The candidate and the share of it, from 0 to 1, with the least weighted squared error; 0 where that is chance."""
    if not precision.any():
        return 0, 0.0
    weights = precision[:, None]
    excess = excess - np.average(excess, weights=precision)
    candidates = candidates - np.average(candidates, axis=0, weights=precision)
    scale = (weights * candidates**2).sum(axis=0)
    varies = scale > 0
    scale = np.where(varies, scale, 1.0)
    slopes = (weights * candidates * excess[:, None]).sum(axis=0) / scale
    residuals = excess[:, None] - slopes * candidates
    errors = np.sqrt(((weights * candidates * residuals) ** 2).sum(axis=0)) / scale
    shares = np.clip(slopes, 0.0, 1.0)
    gains = scale * (2 * shares * slopes - shares**2)
    # a share fitted to pure noise lowers the error by scale·errors² here, and raises it as much on new rows
    worth = varies & (gains > 2 * scale * errors**2)
    if not worth.any():
        return 0, 0.0
    best = int(np.argmax(np.where(worth, gains, -np.inf)))
    return best, float(shares[best])


def _boosted(
    table: np.ndarray,
    categorical: np.ndarray,
    scores: np.ndarray,
    precision: np.ndarray,
    train: np.ndarray,
    rows: np.ndarray,
    seed: int,
) -> np.ndarray:
    """How far each row's effect is from the average one after each number of trees in `STAGES`: [row, stage]."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    train = train[precision[train] > 0]
    present = ~np.isnan(table[train]).all(axis=0)  # scikit-learn refuses a column that is nothing but gaps
    if not present.any() or len(train) < 2:
        return np.zeros((len(rows), len(STAGES)))
    model: Any = HistGradientBoostingRegressor(
        max_iter=STAGES[-1],
        max_leaf_nodes=8,
        l2_regularization=1.0,
        max_features=min(1.0, BOOSTED_COLUMNS / int(present.sum())),
        categorical_features=categorical[present],  # pyright: ignore[reportArgumentType]
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    ).fit(table[train][:, present], scores[train], sample_weight=precision[train] / precision[train].mean())
    staged = [part for done, part in enumerate(model.staged_predict(table[rows][:, present]), 1) if done in STAGES]
    return np.stack(staged, axis=1) - np.average(scores[train], weights=precision[train])
