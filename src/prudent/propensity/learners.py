"""How likely was the action that was taken: logging propensities, cross-fitted, and how far the log can be trusted.

The logging policy saw the record with its gaps, so every estimate here is of π0(a | x̃). A row's probability never
comes from a model that saw that row's action: rows are dealt into folds, each fold is predicted by models of the
others, and rows with no action recorded get the mean over the folds' models.

scikit-learn and SciPy are imported inside the functions: `import prudent` stays light.
"""

import warnings
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from prudent.errors import InputProblem, is_whole, require
from prudent.propensity.design_matrices import (
    BOOSTED_COLUMNS,
    across_folds,
    completed_tables,
    deal_folds,
    expected_table,
    native_table,
    numeric_table,
    single_thread,
    standardised,
    with_row_limit,
)
from prudent.propensity.overlap import FittedPropensity
from prudent.propensity.robust_logistic import RobustLogistic, best_shares
from prudent.table import Log

FLOOR = 1e-6

CALIBRATION_ROWS = 20_000
RULE_PENALTIES = (0.03, 0.3, 3.0, 30.0)
PENALTIES = (0.001, 0.01, 0.1, 1.0)  # inverse strengths tried for the logistic regression


@dataclass(frozen=True)
class Known:
    """The probabilities the log itself recorded: where they exist they beat any estimate."""

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Read them; `seed` is here so that every propensity is asked the same way."""
        way_out = "or estimate them with ImputedLogistic() or Boosted()."
        if log.propensities is None:
            raise InputProblem(
                "The log has no column of logged probabilities, so Known() has nothing to read. "
                f"Name the column with propensity=... when reading the log, {way_out}"
            )
        acted = log.actions >= 0
        absent = int(np.isnan(log.propensities[acted]).sum())
        if absent:
            raise InputProblem(
                f"The propensity column is empty in {absent} of the {int(acted.sum())} rows with an action. "
                f"Fill it in, drop these rows, {way_out}"
            )
        wrong = acted & ~((log.propensities > 0) & (log.propensities <= 1))
        if wrong.any():
            raise InputProblem(
                f"The propensity column must be in (0, 1] for an action that was taken; {int(wrong.sum())} rows are"
                f" not, the first with {float(log.propensities[wrong][0])!r}. Correct them, drop these rows, {way_out}"
            )
        taken = np.where(acted, np.maximum(log.propensities, FLOOR), np.nan)
        return FittedPropensity(taken, None, np.asarray(log.actions), log.action_labels)


@dataclass(frozen=True)
class ImputedLogistic:
    """The paper's: multiple imputation, a multinomial logistic regression per completed table, probabilities averaged.

    Gaps are drawn by chained Bayesian regressions on the attributes alone (categorical ones as one-hot columns). They
    use no actions, so one fitted chain serves all folds, and its repeated draws are the imputations. Which cells were
    missing is not itself a predictor; where the logging policy reacted to that, `Boosted` sees it.

    Wide tables stay affordable: each equation uses at most 20 correlated columns, the chain makes fewer rounds as
    columns grow, and beyond 400 encoded columns gaps are filled by the mean. The ridge penalty is chosen inside each
    training fold.
    """

    imputations: int = 5
    folds: int = 5

    def __post_init__(self) -> None:
        whole = "be a whole number of at least"
        require(is_whole(self.imputations, 1), "ImputedLogistic", "imputations", f"{whole} 1", self.imputations)
        require(is_whole(self.folds, 2), "ImputedLogistic", "folds", f"{whole} 2", self.folds)

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        fold = deal_folds(log, self.folds, seed)
        n_actions = len(log.action_labels)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return _logistic(tables, log.actions, n_actions, train, rows)

        with single_thread():
            tables = completed_tables(numeric_table(log), self.imputations, seed)
            each = across_folds(fold, with_row_limit(predict, seed))
        return _fitted(log, each.mean(axis=1), each if len(tables) > 1 else None)


@dataclass(frozen=True)
class BestGuess:
    """People act on their best guess of the whole record, with lapses.

    A logistic rule on the record's expectation given its observed cells (by a joint normal of all columns, see
    `JointNormal`), and a share of actions taken regardless of it (see `RobustLogistic`). Whether the gaps themselves
    enter the rule, and the penalty, are chosen once by held-out log-loss, so that these two depend on all rows. Where
    the rule is neither linear nor monotone, `Boosted` sees more; `Stacked` has both.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        require(is_whole(self.folds, 2), "BestGuess", "folds", "be a whole number of at least 2", self.folds)

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        fold, actions = deal_folds(log, self.folds, seed), np.asarray(log.actions)
        n_actions = len(log.action_labels)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return RobustLogistic.fit(table[train], actions[train], n_actions, penalty).probabilities(table[rows])

        with single_thread():
            guessed = standardised(expected_table(numeric_table(log), seed))
            gaps = standardised(~np.asarray(log.observed))
            tables = [guessed, np.concatenate([guessed, gaps], axis=1)] if gaps.shape[1] else [guessed]
            table, penalty = _best_rule(tables, actions, n_actions, seed)
            return _fitted(log, across_folds(fold, with_row_limit(predict, seed)))


@dataclass(frozen=True)
class Stacked:
    """`BestGuess` and `Boosted` together, in the shares under which the other folds' actions are most likely."""

    folds: int = 5

    def __post_init__(self) -> None:
        require(is_whole(self.folds, 2), "Stacked", "folds", "be a whole number of at least 2", self.folds)

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        parts = [part.fit(log, seed).probabilities for part in (BestGuess(self.folds), Boosted(self.folds))]
        fold, actions = deal_folds(log, self.folds, seed), np.asarray(log.actions)
        both = np.stack([part for part in parts if part is not None])
        likelihoods = both[:, np.arange(len(actions)), np.maximum(actions, 0)]
        result = np.empty(both.shape[1:])
        for held in range(-1, int(fold.max()) + 1):
            shares = best_shares(likelihoods[:, (fold >= 0) & (fold != held)])
            result[fold == held] = np.einsum("p,pra->ra", shares, both[:, fold == held])
        return _fitted(log, result)


@dataclass(frozen=True)
class Boosted:
    """Gradient boosting that takes gaps and categories as they are, calibrated, cross-fitted.

    Calibration chooses the number of rounds and how far to shrink towards the plain action frequencies, for each fold
    by the log-loss of the other folds' out-of-fold predictions: where nothing predicts the action, the frequencies
    remain. (Those predictions come from models that did see the fold, so these two numbers, and only they, depend on
    its actions indirectly.)
    """

    folds: int = 5

    def __post_init__(self) -> None:
        require(is_whole(self.folds, 2), "Boosted", "folds", "be a whole number of at least 2", self.folds)

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
        return _fitted(log, _calibrated(staged, log.actions, fold, seed))


Propensity = Known | ImputedLogistic | BestGuess | Boosted | Stacked


def _fitted(log: Log, probabilities: np.ndarray, imputed: np.ndarray | None = None) -> FittedPropensity:
    """From [row, action], and where gaps were imputed also from each imputation alone, [row, imputation, action]."""
    probabilities = np.maximum(probabilities, FLOOR)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    actions = np.asarray(log.actions)
    index = np.arange(len(actions)), np.maximum(actions, 0)
    taken = np.where(actions >= 0, np.maximum(probabilities[index], FLOOR), np.nan)
    each = None
    if imputed is not None:
        each = np.where(actions >= 0, np.maximum(imputed[index[0], :, index[1]].T, FLOOR), np.nan)
    return FittedPropensity(taken, probabilities, actions, log.action_labels, each)


def _over_all_actions(predicted: np.ndarray, classes: np.ndarray, n_actions: int, n_train: int) -> np.ndarray:
    """Columns for every action: one the training rows never took gets what one more row would have shown, 1/(n+1)."""
    full = np.full((len(predicted), n_actions), 1 / (n_train + 1))
    full[:, classes] = predicted
    return full / full.sum(axis=1, keepdims=True)


def _frequencies(actions: np.ndarray, n_actions: int) -> np.ndarray:
    counts = np.bincount(actions, minlength=n_actions) + 0.5
    return counts / counts.sum()


# --- learners ---


def _best_rule(tables: list[np.ndarray], actions: np.ndarray, n_actions: int, seed: int) -> tuple[np.ndarray, float]:
    """The table and the penalty with the least log-loss on a quarter of the rows, learnt from the others."""
    some = np.random.default_rng(seed).permutation(np.flatnonzero(actions >= 0))[:CALIBRATION_ROWS]
    judged, learnt = some[::4], np.delete(some, np.s_[::4])
    losses: dict[tuple[int, float], float] = {}
    for index, table in enumerate(tables):
        for penalty in RULE_PENALTIES:
            rule = RobustLogistic.fit(table[learnt], actions[learnt], n_actions, penalty)
            own = rule.probabilities(table[judged])[np.arange(len(judged)), actions[judged]]
            losses[index, penalty] = float(-np.log(np.maximum(own, FLOOR)).mean())
    index, penalty = min(losses, key=lambda tried: losses[tried])
    return tables[index], penalty


def _logistic(
    tables: list[np.ndarray], actions: np.ndarray, n_actions: int, train: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Probabilities by each completed table alone: [row, imputation, action]."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if tables[0].shape[1] == 0 or len(np.unique(actions[train])) < 2:
        return np.tile(_frequencies(actions[train], n_actions), (len(rows), len(tables), 1))
    with warnings.catch_warnings():
        # stopping early only means a slightly stronger penalty, and the penalty is chosen by held-out loss anyway
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=_best_penalty(tables[0], actions, n_actions, train), max_iter=200, warm_start=True)
        predicted = np.empty((len(rows), len(tables), n_actions))
        for index, table in enumerate(tables):
            model.fit(table[train], actions[train])
            own = model.predict_proba(table[rows])
            predicted[:, index] = _over_all_actions(own, model.classes_, n_actions, len(train))
    return predicted


def _best_penalty(table: np.ndarray, actions: np.ndarray, n_actions: int, train: np.ndarray) -> float:
    """The inverse strength with the least log-loss on every fourth training row."""
    from sklearn.linear_model import LogisticRegression

    judged, learnt = train[::4], np.delete(train, np.s_[::4])
    if len(np.unique(actions[learnt])) < 2:
        return PENALTIES[0]
    model, losses = LogisticRegression(max_iter=200, warm_start=True), []
    for strength in PENALTIES:
        model.set_params(C=strength).fit(table[learnt], actions[learnt])
        predicted = _over_all_actions(model.predict_proba(table[judged]), model.classes_, n_actions, len(learnt))
        losses.append(-np.log(np.maximum(predicted[np.arange(len(judged)), actions[judged]], FLOOR)).mean())
    return PENALTIES[int(np.argmin(losses))]


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

    present = ~np.isnan(values[train]).all(axis=0)  # scikit-learn refuses a column that is nothing but gaps
    if not present.any() or len(np.unique(actions[train])) < 2:
        return np.tile(_frequencies(actions[train], n_actions), (len(rows), len(stages), 1))
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
        _over_all_actions(predicted, model.classes_, n_actions, len(train))
        for index, predicted in enumerate(islice(model.staged_predict_proba(values[rows]), stages[-1]))
        if index in kept
    ]
    return np.stack(staged, axis=1)


def _calibrated(staged: np.ndarray, actions: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    from scipy.special import log_softmax

    result = np.empty((len(staged), staged.shape[2]))
    logs = np.log(np.maximum(staged, FLOOR))
    for held in range(-1, int(fold.max()) + 1):
        rows, others = np.flatnonzero(fold == held), np.flatnonzero((fold >= 0) & (fold != held))
        if len(rows) == 0:
            continue
        base = np.log(_frequencies(actions[others], staged.shape[2]))
        judged = np.random.default_rng(seed).permutation(others)[:CALIBRATION_ROWS]
        stage, strength = _best_calibration(logs[judged], base, actions[judged])
        result[rows] = np.exp(log_softmax(base + strength * (logs[rows, stage] - base), axis=1))
    return result


def _best_calibration(logs: np.ndarray, base: np.ndarray, actions: np.ndarray) -> tuple[int, float]:
    """Stage and strength s of log p ∝ base + s·(log p̂ − base) with the least log-loss: one convex search per stage."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    found = []
    for stage in range(logs.shape[1]):
        excess = logs[:, stage] - base

        def loss(strength: float, excess: np.ndarray = excess) -> float:
            return -log_softmax(base + strength * excess, axis=1)[np.arange(len(actions)), actions].mean()

        best: Any = minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded")
        found.append((best.fun, stage, float(best.x)))
    return min(found)[1:]
