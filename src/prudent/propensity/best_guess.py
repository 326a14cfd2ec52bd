"""A propensity for people who act on their best guess of the whole record."""

from dataclasses import dataclass

import numpy as np

from prudent.errors import check, whole
from prudent.progress import working
from prudent.propensity.cross_fitting import across_folds, deal_folds, single_thread, with_row_limit
from prudent.propensity.design_matrices import expected_table, numeric_table, standardised
from prudent.propensity.fitted_propensity import FittedPropensity
from prudent.propensity.robust_logistic import RobustLogistic, chosen_by_log_loss
from prudent.table import Log

SELECTION_ROWS = 20_000  # the most rows on which the features and the penalty are chosen
PENALTIES = (0.03, 0.3, 3.0, 30.0)

_RULES = {"folds": whole(2)}


@dataclass(frozen=True)
class BestGuess:
    """People act on their best guess of the whole record, and sometimes regardless of it.

    A logistic model on the record's expectation given its observed cells (by a joint normal of all columns, see
    `JointNormal`), with a share of actions taken regardless of the record (see `RobustLogistic`). Whether the pattern
    of gaps is a predictor too, and the penalty, are chosen once by held-out log-loss, so these two choices depend on
    all rows. Where the rule is neither linear nor monotone, `Boosted` sees more; `Stacked` has both.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        check("BestGuess", _RULES, vars(self))

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        fold, actions = deal_folds(log, self.folds, seed), np.asarray(log.actions)
        n_actions = len(log.action_labels)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return RobustLogistic.fit(table[train], actions[train], n_actions, penalty).probabilities(table[rows])

        with single_thread():
            with working("propensities, filling gaps"):
                guessed = standardised(expected_table(numeric_table(log), seed))
            gaps = standardised(~np.asarray(log.observed))
            tables = [guessed, np.concatenate([guessed, gaps], axis=1)] if gaps.shape[1] else [guessed]
            sample = np.random.default_rng(seed).permutation(np.flatnonzero(actions >= 0))[:SELECTION_ROWS]
            sampled = [table[sample] for table in tables]
            together = None if log.groups is None else log.groups[sample]
            best, penalty = chosen_by_log_loss(sampled, actions[sample], n_actions, PENALTIES, groups=together)
            table = tables[best]
            return FittedPropensity.of(log, across_folds(fold, with_row_limit(predict, seed)))
