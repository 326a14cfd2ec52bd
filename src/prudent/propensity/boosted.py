"""Propensities by gradient boosting, calibrated.

scikit-learn and SciPy are imported inside the functions, so that `import prudent` stays light.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from prudent.errors import check, whole
from prudent.propensity.cross_fitting import across_folds, deal_folds, single_thread, with_row_limit
from prudent.propensity.design_matrices import BOOSTED_COLUMNS, native_table
from prudent.propensity.fitted_propensity import FLOOR, FittedPropensity, action_frequencies, for_all_actions
from prudent.table import Log

CALIBRATION_ROWS = 20_000  # the most rows that calibrate one fold

WIDE, MOST_TELLING = 1000, 200
"""With more columns than the first, so many are boosted on."""

_RULES = {"folds": whole(2)}


@dataclass(frozen=True)
class Boosted:
    """Gradient boosting that takes gaps and categories as they are, calibrated, cross-fitted.

    Calibration (predicted probabilities that match how often the action is taken) chooses the number of rounds and how
    far to shrink towards the overall action frequencies, for each fold by the log-loss of the other folds' out-of-fold
    predictions: where nothing predicts the action, the frequencies remain. (Those predictions come from models that did
    see the fold, so these two numbers, and only they, depend on its actions indirectly.)
    """

    folds: int = 5

    def __post_init__(self) -> None:
        check("Boosted", _RULES, vars(self))

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        fold = deal_folds(log, self.folds, seed)
        values, categorical = native_table(log)
        n_actions = len(log.action_labels)
        # one tree per action and round: many actions get fewer rounds, so that the time stays bounded
        longest = int(np.clip(500 / max(n_actions, 1), 20, 100))
        stages = (longest // 8, longest // 3, longest)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return _boosting(values, categorical, log.actions, n_actions, train, rows, stages, seed)

        with single_thread():
            staged = across_folds(fold, with_row_limit(predict, seed))
        return FittedPropensity.of(log, _calibrated(staged, log.actions, fold, seed))


def _boosting(
    values: np.ndarray,
    categorical: np.ndarray,
    actions: np.ndarray,
    n_actions: int,
    train: np.ndarray,
    rows: np.ndarray,
    stages: tuple[int, ...],
    seed: int,
) -> np.ndarray:
    """Probabilities after each number of rounds in `stages`: [row, stage, action]."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    present = ~np.isnan(values[train]).all(axis=0)  # scikit-learn refuses a column that has only gaps
    present &= _most_telling(values[train], actions[train])
    if not present.any() or len(np.unique(actions[train])) < 2:
        return np.tile(action_frequencies(actions[train], n_actions), (len(rows), len(stages), 1))
    values = values[:, present]
    model = HistGradientBoostingClassifier(
        max_iter=stages[-1],
        max_leaf_nodes=8,
        l2_regularization=1.0,
        max_features=min(1.0, BOOSTED_COLUMNS / values.shape[1]),
        categorical_features=categorical[present],  # pyright: ignore[reportArgumentType]  scikit-learn is untyped
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    ).fit(values[train], actions[train])
    kept = {stage - 1 for stage in stages}
    staged = [
        for_all_actions(predicted, model.classes_, n_actions, len(train))
        for index, predicted in enumerate(islice(model.staged_predict_proba(values[rows]), stages[-1]))
        if index in kept
    ]
    return np.stack(staged, axis=1)


def _most_telling(values: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Of thousands of columns, the few whose means or gaps differ most between the actions: the others would take
    minutes, and an action that follows from none of them is not found among thousands either."""
    if values.shape[1] <= WIDE:
        return np.ones(values.shape[1], bool)
    known = ~np.isnan(values)
    centred = np.where(known, values - np.nanmean(values, axis=0, where=known), 0.0)
    spread = np.sqrt((centred**2).mean(axis=0))
    telling = np.zeros(values.shape[1])
    for action in np.unique(actions):
        rows = actions == action
        for table, scale in ((centred, spread), (known - known.mean(axis=0), known.std(axis=0))):
            difference = np.divide(table[rows].mean(axis=0), scale, out=np.zeros(len(telling)), where=scale > 0)
            telling = np.maximum(telling, np.abs(difference) * np.sqrt(rows.sum()))
    return telling >= np.sort(telling)[-MOST_TELLING]


def _calibrated(staged: np.ndarray, actions: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    from scipy.special import log_softmax

    result = np.empty((len(staged), staged.shape[2]))
    logs = np.log(np.maximum(staged, FLOOR))
    for held in range(-1, int(fold.max()) + 1):
        rows, others = np.flatnonzero(fold == held), np.flatnonzero((fold >= 0) & (fold != held))
        if len(rows) == 0:
            continue
        base = np.log(action_frequencies(actions[others], staged.shape[2]))
        sample = np.random.default_rng(seed).permutation(others)[:CALIBRATION_ROWS]
        stage, strength = _best_calibration(logs[sample], base, actions[sample])
        result[rows] = np.exp(log_softmax(base + strength * (logs[rows, stage] - base), axis=1))
    return result


def _best_calibration(logs: np.ndarray, base: np.ndarray, actions: np.ndarray) -> tuple[int, float]:
    """Stage and strength s of log p ∝ base + s·(log p̂ − base) with the least log-loss: one convex search per stage."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    candidates = []
    for stage in range(logs.shape[1]):
        excess = logs[:, stage] - base

        def loss(strength: float, excess: np.ndarray = excess) -> float:
            return -log_softmax(base + strength * excess, axis=1)[np.arange(len(actions)), actions].mean()

        best: Any = minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded")
        candidates.append((best.fun, stage, float(best.x)))
    return min(candidates)[1:]
