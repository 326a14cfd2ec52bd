"""The paper's propensity: multiple imputation and logistic regression.

scikit-learn is imported inside the functions, so that `import prudent` stays light.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from prudent.errors import check, whole
from prudent.progress import working
from prudent.propensity.cross_fitting import across_folds, deal_folds, single_thread, with_row_limit
from prudent.propensity.design_matrices import completed_tables, numeric_table
from prudent.propensity.fitted_propensity import FLOOR, FittedPropensity, action_frequencies, for_all_actions
from prudent.table import Log, every_fourth

INVERSE_PENALTIES = (0.001, 0.01, 0.1, 1.0)  # scikit-learn's C, from the strongest ridge penalty to the weakest

_RULES = {"imputations": whole(1), "folds": whole(2)}


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
        check("ImputedLogistic", _RULES, vars(self))

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        fold = deal_folds(log, self.folds, seed)
        n_actions = len(log.action_labels)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return _logistic(tables, log, n_actions, train, rows)

        with single_thread():
            with working("propensities, imputing gaps"):
                tables = completed_tables(numeric_table(log), self.imputations, seed)
            by_imputation = across_folds(fold, with_row_limit(predict, seed))
        return FittedPropensity.of(log, by_imputation.mean(axis=1), by_imputation if len(tables) > 1 else None)


def _logistic(tables: list[np.ndarray], log: Log, n_actions: int, train: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Probabilities by each completed table alone: [row, imputation, action]."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    actions = log.actions
    if tables[0].shape[1] == 0 or len(np.unique(actions[train])) < 2:
        return np.tile(action_frequencies(actions[train], n_actions), (len(rows), len(tables), 1))
    with warnings.catch_warnings():
        # stopping early only means a slightly stronger penalty, and the penalty is chosen by held-out loss anyway
        warnings.simplefilter("ignore", ConvergenceWarning)
        inverse_penalty = _best_inverse_penalty(tables[0], log, n_actions, train)
        model = LogisticRegression(C=inverse_penalty, max_iter=200, warm_start=True)
        probabilities = np.empty((len(rows), len(tables), n_actions))
        for index, table in enumerate(tables):
            model.fit(table[train], actions[train])
            predicted = model.predict_proba(table[rows])
            probabilities[:, index] = for_all_actions(predicted, model.classes_, n_actions, len(train))
    return probabilities


def _best_inverse_penalty(table: np.ndarray, log: Log, n_actions: int, train: np.ndarray) -> float:
    """The one with the least log-loss on every fourth training row, or group."""
    from sklearn.linear_model import LogisticRegression

    actions, aside = log.actions, every_fourth(len(train), None if log.groups is None else log.groups[train])
    held_out, fitted = train[aside], train[~aside]
    if len(np.unique(actions[fitted])) < 2:
        return INVERSE_PENALTIES[0]
    model, losses = LogisticRegression(max_iter=200, warm_start=True), []
    for inverse_penalty in INVERSE_PENALTIES:
        model.set_params(C=inverse_penalty).fit(table[fitted], actions[fitted])
        predicted = for_all_actions(model.predict_proba(table[held_out]), model.classes_, n_actions, len(fitted))
        losses.append(-np.log(np.maximum(predicted[np.arange(len(held_out)), actions[held_out]], FLOOR)).mean())
    return INVERSE_PENALTIES[int(np.argmin(losses))]
