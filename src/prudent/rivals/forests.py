"""Random forests on completed records."""

import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from prudent.rivals.designs import Design, Parts
from prudent.rivals.imputation import (
    Imputation,
    MeanImputation,
    beside_gaps,
    gap_choices,
    mean_over_completions,
)
from prudent.rivals.rival import FittedRival, LoggedDecisions

LEAVES = (5, 10, 20)
SMALL_FOREST, FOREST, SMALLEST_FOREST = 60, 300, 100
CORES = 2


@dataclass(frozen=True)
class Forest:
    """Random forests (Breiman 2001) on each completed table, prices averaged over completions: RF1 and RF2.

    Leaf size, and whether columns that mark the gaps are added, by out-of-bag error on the first table.
    """

    design: Design
    imputation: Imputation = MeanImputation()

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival:
        completed = self.imputation.fit(log.values, log.categorical, seed)

        def parts(k: int, with_gaps: bool) -> Parts:
            return self.design.parts(beside_gaps(completed[k].log, log.gaps, with_gaps), log.actions, log.n_actions)

        first = {with_gaps: parts(0, with_gaps) for with_gaps in gap_choices(self.imputation, log.gaps)}
        leaf, with_gaps = min(
            product(LEAVES, first),
            key=lambda setting: out_of_bag_error(first[setting[1]], log.rewards, setting[0], seed),
        )
        trees = max(SMALLEST_FOREST, FOREST // len(completed))
        ensembles = [
            [grown(inputs, log.rewards[rows], leaf, trees, seed + k).predict for rows, inputs in parts(k, with_gaps)]
            for k in range(len(completed))
        ]

        def price(new: np.ndarray) -> np.ndarray:
            return mean_over_completions(
                completed, new, with_gaps, lambda k, table: self.design.price(ensembles[k], table, log.seen)
            )

        return FittedRival(price)


def grown(inputs: np.ndarray, targets: np.ndarray, leaf: int, trees: int, seed: int, bag: bool = False) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(
        trees, min_samples_leaf=leaf, max_features=0.5, oob_score=bag, n_jobs=CORES, random_state=seed
    ).fit(inputs, targets)


def out_of_bag_error(parts: Parts, rewards: np.ndarray, leaf: int, seed: int) -> float:
    """The squared error of small forests with this leaf size, over all regressions together."""
    total = 0.0
    for rows, inputs in parts:
        if len(rows) < 10:  # too few for out-of-bag predictions
            continue
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            forest = grown(inputs, rewards[rows], leaf, SMALL_FOREST, seed, bag=True)
        total += float(((forest.oob_prediction_ - rewards[rows]) ** 2).sum())
    return total
