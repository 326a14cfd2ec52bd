"""Who gains more than others: effects per row, learnt from noisy scores and shrunk towards the average."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from prudent.errors import check, whole
from prudent.evaluation.effects.row_terms import TwoArms
from prudent.evaluation.row_terms import group_totals
from prudent.propensity import (
    BOOSTED_COLUMNS,
    across_folds,
    deal_folds,
    native_table,
    single_thread,
    with_row_limit,
)
from prudent.table import Encoded, Log, group_codes

STAGES = (10, 30, 100)


@dataclass(frozen=True)
class BoostedEffects:
    """The doubly robust learner: gradient boosting of the scores on the record, gaps as they are, cross-fitted.

    A row's score has its effect as mean and a variance of about 1/e(1 − e), so rows are weighted by e(1 − e). Predicted
    effects are shrunk towards the average: for each fold, the number of trees (or the effects by the prices in place of
    trees) and the share of them to keep are those with the least squared error on the other folds' rows. Unless the
    improvement is more than chance would bring, the share is 0: the same effect for everyone.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        check("BoostedEffects", {"folds": whole(2)}, vars(self))

    def fit(self, log: Log, arms: TwoArms, seed: int = 0) -> np.ndarray:
        """An effect for each row, from trees that were grown without it."""
        fold, boosted = self._cross_fitted(log, arms, seed)
        candidates = np.concatenate([boosted, (arms.prices[:, 1] - arms.prices[:, 0])[:, None]], axis=1)
        candidates = candidates - candidates.mean(axis=0)
        scores, precision = arms.scores, _precision(arms)
        excess, effects = scores - scores.mean(), np.full(len(scores), scores.mean())
        for held in range(int(fold.max()) + 1):
            rows, others = fold == held, fold != held
            groups = None if log.groups is None else log.groups[others]
            which, share = _best_share(candidates[others], excess[others], precision[others], groups)
            effects[rows] += share * candidates[rows, which]
        return effects

    def predict(self, log: Log, arms: TwoArms, new_rows: Encoded, seed: int = 0) -> np.ndarray:
        """An effect for each new row, from trees grown on the whole log; how many, and how much of them is believed, is
        chosen by the cross-fitted trees."""
        _, boosted = self._cross_fitted(log, arms, seed)
        scores, precision = arms.scores, _precision(arms)
        which, share = _best_share(boosted - boosted.mean(axis=0), scores - scores.mean(), precision, log.groups)
        table, categorical = native_table(log)
        both = np.concatenate([table, _like_native(log, table, new_rows)])
        grow = with_row_limit(partial(_boosted, both, categorical, scores, precision, seed), seed)
        with single_thread():
            grown = grow(np.arange(len(log)), np.arange(len(both)))[:, which]
        return scores.mean() + share * (grown[len(log) :] - grown[: len(log)].mean())

    def _cross_fitted(self, log: Log, arms: TwoArms, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The fold of each row, and effects less their average by trees of the other folds, [row, stage]."""
        fold = deal_folds(log, self.folds, seed)
        grow = partial(_boosted, *native_table(log), arms.scores, _precision(arms), seed)
        with single_thread():
            return fold, across_folds(fold, with_row_limit(grow, seed), "effects by boosting")


def _precision(arms: TwoArms) -> np.ndarray:
    return arms.taken * (1 - arms.taken)


def _like_native(log: Log, table: np.ndarray, new_rows: Encoded) -> np.ndarray:
    """New rows encoded as `native_table` encodes the log; a category that the log lacks is a gap."""
    values = np.where(new_rows.observed, new_rows.values, np.nan).astype(np.float64)
    for index, column in enumerate(log.schema.columns):
        if column.likelihood == "categorical":
            seen = log.observed[:, index]
            codes = dict(zip(log.values[seen, index].tolist(), table[seen, index].tolist(), strict=True))
            values[:, index] = [codes.get(code, np.nan) for code in values[:, index]]
    return values


def _best_share(
    candidates: np.ndarray, excess: np.ndarray, precision: np.ndarray, groups: np.ndarray | None = None
) -> tuple[int, float]:
    """The candidate, and the share of it from 0 to 1, with the least weighted squared error; 0 where that is chance."""
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
    moved = weights * candidates * residuals
    if groups is not None:
        moved = group_totals(moved.T, *group_codes(groups)).T
    errors = np.sqrt((moved**2).sum(axis=0)) / scale
    shares = np.clip(slopes, 0.0, 1.0)
    gains = scale * (2 * shares * slopes - shares**2)
    # a share fitted to pure noise lowers the error by scale·errors² here, and raises it as much on new rows
    beyond_chance = varies & (gains > 2 * scale * errors**2)
    if not beyond_chance.any():
        return 0, 0.0
    best = int(np.argmax(np.where(beyond_chance, gains, -np.inf)))
    return best, float(shares[best])


def _boosted(
    table: np.ndarray,
    categorical: np.ndarray,
    scores: np.ndarray,
    precision: np.ndarray,
    seed: int,
    train: np.ndarray,
    rows: np.ndarray,
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
