"""Gradient boosting, which needs no imputation."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from experiments.rivals.policies.designs import Design, Parts
from experiments.rivals.policies.forests import LEAVES
from experiments.rivals.policies.rival import Decisions, FittedRival
from prudent.propensity import single_thread


@dataclass(frozen=True)
class Boosting:
    """Gradient boosting that takes gaps and categories natively; leaf size and rounds by cross-validation on the log.

    `stages` are the numbers of rounds tried; one regression for all actions needs more of them than one for each.
    """

    design: Design
    stages: tuple[int, ...]
    folds: int = 3
    learning_rate: float = 0.06

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival:
        log = Decisions.usable(values, actions, rewards, n_actions)
        parts = self.design.parts(log.values, log.actions, n_actions)
        kinds = np.r_[np.asarray(categorical, dtype=bool), np.zeros(self.design.extra_columns(n_actions), dtype=bool)]
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
        if empty.any():  # scikit-learn refuses a column that is nothing but gaps
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
