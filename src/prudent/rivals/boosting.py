"""Gradient boosting, which needs no imputation."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from prudent.propensity import single_thread
from prudent.rivals.designs import Design, Parts
from prudent.rivals.forests import LEAVES
from prudent.rivals.rival import FittedRival, LoggedDecisions


@dataclass(frozen=True)
class Boosting:
    """Gradient boosting that handles gaps and categories itself; leaf size and rounds by cross-validation on the log.

    `stages` are the numbers of rounds tried; one regression for all actions needs more rounds than one per action.
    """

    design: Design
    stages: tuple[int, ...]
    folds: int = 3
    learning_rate: float = 0.06

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival:
        parts = self.design.parts(log.values, log.actions, log.n_actions)
        kinds = np.r_[log.categorical, np.zeros(self.design.extra_columns(log.n_actions), dtype=bool)]
        with single_thread():
            leaf, rounds = self._chosen(parts, log.rewards, kinds, seed)
            models = [
                self._learnt(inputs, log.rewards[rows], kinds, leaf, rounds, seed).predict for rows, inputs in parts
            ]
        return FittedRival(lambda new: self.design.price(models, new, log.seen))

    def _learnt(
        self, inputs: np.ndarray, targets: np.ndarray, kinds: np.ndarray, leaf: int, rounds: int, seed: int
    ) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        empty = np.isnan(inputs).all(axis=0)
        if empty.any():  # scikit-learn refuses a column of gaps only
            inputs = np.where(empty, 0.0, inputs)
        return HistGradientBoostingRegressor(
            learning_rate=self.learning_rate,
            max_iter=rounds,
            max_leaf_nodes=15,
            min_samples_leaf=leaf,
            categorical_features=kinds,  # pyright: ignore[reportArgumentType]  scikit-learn is untyped
            early_stopping=False,  # pyright: ignore[reportArgumentType]
            random_state=seed,
        ).fit(inputs, targets)

    def _chosen(self, parts: Parts, rewards: np.ndarray, kinds: np.ndarray, seed: int) -> tuple[int, int]:
        """Leaf size and rounds with the least squared error over all regressions' held-out rows together."""
        errors = np.zeros((len(LEAVES), len(self.stages)))
        for rows, inputs in parts:
            fold = np.random.default_rng(seed).permutation(len(rows)) % self.folds
            for (index, leaf), held in product(enumerate(LEAVES), range(self.folds)):
                train, test = fold != held, fold == held
                if train.sum() < 2 or not test.any():
                    continue
                model = self._learnt(inputs[train], rewards[rows[train]], kinds, leaf, self.stages[-1], seed)
                staged = list(model.staged_predict(inputs[test]))
                errors[index] += [((staged[k - 1] - rewards[rows[test]]) ** 2).sum() for k in self.stages]
        leaf, stage = np.unravel_index(errors.argmin(), errors.shape)
        return LEAVES[leaf], self.stages[stage]
