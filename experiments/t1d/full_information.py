"""What could be known: a learner that sees the outcome of every dose for many meals."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from experiments.chosen_actions import Chosen
from experiments.pieces import Progress
from experiments.t1d.data import LEARNT, Clinic, Draw, Replication, Size
from prudent.propensity import single_thread

OTHERS = 9_990
"""Replications from here on are of meals that nothing else uses."""
BLOCK = 20_000
DISASTER_WEIGHT = 3.0
"""How many units of reward a disaster costs in the second row. The best of 1, 3, 10 and 30 in a trial on the very meals
of the test, with classifiers for the disasters: a limit may be given an advantage."""


@dataclass(frozen=True)
class FullInformation:
    """Gradient boosting on records with gaps of other meals, for each dose separately: its outcome, and whether that is
    below `threshold`. The first row takes the best outcome, the second also weighs disasters."""

    threshold: float
    meals: int = 60_000
    stages: int = 300

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        draw, records = replication.draw, replication.tested.values
        expected, disasters = (
            np.stack([model.predict(records) for model in models], axis=1)
            for models in _learnt(self, draw.clinic, draw.seed)
        )
        careful = expected - DISASTER_WEIGHT * disasters
        return Chosen(("for the mean", "for the tail"), np.stack([expected.argmax(axis=1), careful.argmax(axis=1)]))


@lru_cache(maxsize=2)
def _learnt(settings: FullInformation, clinic: Clinic, seed: int) -> tuple[list[Any], list[Any]]:
    """For every dose what to expect of a record, and how likely a disaster is."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    blocks = range(-(-settings.meals // BLOCK))
    meals = [Draw(clinic, Size(min(settings.meals, BLOCK)), seed, OTHERS + block).sample(LEARNT) for block in blocks]
    records, outcomes = (np.concatenate([getattr(sample, name) for sample in meals]) for name in ("values", "theta"))

    def learn(target: np.ndarray) -> Any:
        model = HistGradientBoostingRegressor(
            learning_rate=0.06,
            max_iter=settings.stages,
            early_stopping=False,  # pyright: ignore[reportArgumentType]
            random_state=seed,
        )
        return model.fit(records, target)

    with single_thread():
        expected = [learn(outcome) for outcome in outcomes.T]
        return expected, [learn((outcome < settings.threshold).astype(float)) for outcome in outcomes.T]
