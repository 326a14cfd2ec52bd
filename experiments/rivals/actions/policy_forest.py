"""EconML's doubly robust policy forest on completed records."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.rivals.econml_forests import econml_class
from prudent.rivals import (
    CORES,
    LEAVES,
    ActionAsFeature,
    ChainedImputation,
    FittedRival,
    LoggedDecisions,
    mean_over_completions,
    out_of_bag_error,
)


@dataclass(frozen=True)
class ChainedPolicyForest:
    """Multiple imputation and EconML's doubly robust policy forest; leaf values averaged over imputations.

    The reward and propensity models that it needs are cross-fitted: a random forest for the reward (leaf size by
    out-of-bag error), logistic regression for the propensity. In one trial dosing world leaves of 5 beat larger ones,
    using a whole subsample for growing and pricing a tree beat splitting it (`honest`), and averaged leaf values beat
    votes, so those are the settings. Prices are relative to the first action. Actions in fewer rows than cross-fitting
    needs are never chosen.
    """

    imputations: int = 5
    folds: int = 3
    trees: int = 200

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival:
        _policy_forest()  # fails before any work where EconML is missing
        n_actions, counts = log.n_actions, np.bincount(log.actions, minlength=log.n_actions)
        kept = np.flatnonzero(counts >= 2 * self.folds)
        if len(kept) < 2:
            only = np.where(np.arange(n_actions) == counts.argmax(), 0, -np.inf)
            return FittedRival(lambda new: np.tile(only, (len(new), 1)))
        rows = np.isin(log.actions, kept)
        taken, outcomes = np.searchsorted(kept, log.actions[rows]), log.rewards[rows]
        completed = ChainedImputation(self.imputations).fit(log.values[rows], log.categorical, seed)
        parts = ActionAsFeature().parts(completed[0].log, taken, len(kept))
        leaf = min(LEAVES, key=lambda size: out_of_bag_error(parts, outcomes, size, seed))
        forests = [self._learnt(one.log, taken, outcomes, leaf, seed + k) for k, one in enumerate(completed)]

        def price(new: np.ndarray) -> np.ndarray:
            prices = np.full((len(new), n_actions), -np.inf)
            prices[:, kept] = mean_over_completions(
                completed, new, False, lambda k, table: forests[k].policy_model_.predict_value(table)
            )
            return prices

        return FittedRival(price)

    def _learnt(self, table: np.ndarray, actions: np.ndarray, rewards: np.ndarray, leaf: int, seed: int) -> Any:
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.linear_model import LogisticRegression

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EconML and the scikit-learn names it uses warn about one another
            return _policy_forest()(
                model_regression=RandomForestRegressor(
                    100, min_samples_leaf=leaf, max_features=0.5, n_jobs=CORES, random_state=seed
                ),
                model_propensity=LogisticRegression(max_iter=1000),
                min_propensity=0.01,
                cv=self.folds,
                n_estimators=self.trees,
                min_samples_leaf=5,
                honest=False,
                n_jobs=CORES,
                random_state=seed,
            ).fit(rewards, actions, X=table)


def _policy_forest() -> Any:
    return econml_class("ChainedPolicyForest", "policy", "DRPolicyForest")
