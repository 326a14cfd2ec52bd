"""Forests that split on gaps: missing incorporated in attributes, with a causal forest made doubly robust."""

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from typing import Any

import numpy as np

from experiments.rivals.econml_forests import econml_class
from experiments.rivals.effects.complete_table import CLIP, doubly_robust
from experiments.rivals.effects.study import Answer, Progress, Study
from prudent.errors import check, optional, whole
from prudent.progress import reporting, tracked

COLUMNS_TRIED = 0.5  # at a split; about what grf tries of fifty columns
_RULES = {
    **dict.fromkeys(("trees", "outcome_trees", "propensity_trees"), whole(50)),  # with fewer, some row is in every bag
    **dict.fromkeys(("propensity_leaf", "outcome_leaf"), whole(1)),
    "cores": optional(whole(1)),
}


@dataclass(frozen=True)
class MissingInAttributes:
    """MIA.grf (Mayer, Sverdrup, Gauss, Moyer, Wager, Josse 2020, AOAS): every column twice, then grf's steps.

    With its gaps once below and once above all numbers, a split of a column can send them either way, or apart (Twala,
    Jones, Hand 2008, Pattern Recognition Letters). Then as grf does it (Athey, Tibshirani, Wager 2019, Annals of
    Statistics): out-of-bag regression forests for the outcome and for the treatment, a causal forest on their
    residuals, whose effects are out of bag too, and the doubly robust average.

    Chosen by trial in the rival's favour, on replications of IHDP set aside for that: larger leaves for the treatment
    than for the outcome, causal trees that use all of their subsample for growing and for pricing, and most trees where
    chance matters most, in the causal forest. That forest is EconML's, an extra. `cores` is the number of worker
    processes (None: all cores) and does not change the answer.
    """

    trees: int = 300
    outcome_trees: int = 100
    outcome_leaf: int = 5
    propensity_trees: int = 300
    propensity_leaf: int = 20
    cores: int | None = None

    def __post_init__(self) -> None:
        check("MissingInAttributes", _RULES, vars(self))

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        _causal_forest()  # fails before any work where EconML is missing
        common = self._propensity(doubled(study.values[0]), study.treated, seed) if study.shared else None
        parts = [study.part(at, at + 1) for at in range(study.replications)]
        workers = min(self.cores or os.cpu_count() or 1, study.replications)
        answers = self._each(parts, common, seed, workers)
        with reporting(progress):
            return {"": Answer.joined([next(answers) for _ in tracked(study.replications, "replications")])}

    def _each(self, parts: list[Study], common: np.ndarray | None, seed: int, workers: int) -> Iterator[Answer]:
        """One answer for each replication, in their order."""
        seeds = range(seed, seed + len(parts))
        if workers == 1:
            for part, part_seed in zip(parts, seeds, strict=True):
                yield self._of_one_replication(part, common, part_seed)
            return
        # processes: trees of a few hundred rows spend their time in Python, where threads would wait for each other;
        # spawned, since a fork of a process that runs JAX may hang
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield from pool.map(self._of_one_replication, parts, repeat(common), seeds)

    def _of_one_replication(self, study: Study, propensity: np.ndarray | None, seed: int) -> Answer:
        """`propensity` is None where each replication has its own table, and is then estimated from this one."""
        table, treated, outcomes = doubled(study.values[0]), study.treated, study.outcomes
        chance = self._propensity(table, treated, seed) if propensity is None else propensity
        expected = _out_of_bag(table, outcomes[0], self.outcome_trees, self.outcome_leaf, seed)
        forest = _causal_forest()(
            self.trees, max_features=COLUMNS_TRIED, honest=False, inference=False, n_jobs=1, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EconML and the scikit-learn names it uses warn about one another
            forest.fit(table, (treated - chance)[:, None], (outcomes[0] - expected)[:, None])
            effect = forest.oob_predict(table)[:, 0]
        prices = np.stack([expected - chance * effect, expected + (1 - chance) * effect], axis=-1)
        return doubly_robust(prices[None], chance, treated, outcomes)

    def _propensity(self, table: np.ndarray, treated: np.ndarray, seed: int) -> np.ndarray:
        chance = _out_of_bag(table, treated.astype(np.float64), self.propensity_trees, self.propensity_leaf, seed)
        return np.clip(chance, CLIP, 1 - CLIP)


def doubled(table: np.ndarray) -> np.ndarray:
    """Gaps below all numbers; and every column that has any once more, with its gaps above all numbers.

    >>> doubled(np.array([[1.0, 0.0], [np.nan, 2.0]])).tolist()
    [[1.0, 0.0, 1.0], [-5.0, 2.0, 5.0]]
    """
    gaps = np.isnan(table)
    far = 1 + 2 * np.abs(table[~gaps]).max(initial=0.0)
    return np.hstack([np.where(gaps, -far, table), np.where(gaps, far, table)[:, gaps.any(axis=0)]])


def _out_of_bag(table: np.ndarray, targets: np.ndarray, trees: int, leaf: int, seed: int) -> np.ndarray:
    """A forest's prediction of every row, by the trees that have not seen it."""
    from sklearn.ensemble import RandomForestRegressor

    return (
        RandomForestRegressor(
            trees, min_samples_leaf=leaf, max_features=COLUMNS_TRIED, oob_score=True, random_state=seed
        )
        .fit(table, targets)
        .oob_prediction_
    )


def _causal_forest() -> Any:
    return econml_class("MissingInAttributes", "grf", "CausalForest")
