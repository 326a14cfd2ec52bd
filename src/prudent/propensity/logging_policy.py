"""The logging policy as a model that can be asked about new records: which actions do cases like this one get?"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from prudent.propensity.cross_fitting import single_thread
from prudent.propensity.fitted_propensity import FittedPropensity
from prudent.propensity.overlap import Overlap
from prudent.propensity.robust_logistic import RobustLogistic, chosen_by_log_loss
from prudent.table import Log, Schema

MOST_ROWS, FEWEST_ROWS, MOST_WORK = 20_000, 1_000, 5e7
"""Rows that it is fitted on: so many that rows × features × actions stay within the work, which bounds its time."""
SELECTION_ROWS = 6_000  # the most on which features and penalty are chosen
SELECTION_ROUNDS = 60  # to compare penalties, a fit need not be finished
BLOCK_CELLS = 8_000_000  # features held at once
STEPS = 8  # each number is also cut at so many quantiles
MOST_FEATURES = 300  # steps beyond this many features would cost more than they tell
FARTHEST = 4.0  # standard deviations; a number farther out counts as this far
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
"""The strongest leaves nothing but the action frequencies, as a randomised trial needs."""


class LoggingPolicy(NamedTuple):
    """π0(a | x̃) as a logistic model of the observed cells and the gaps, and how often each action was taken with a
    known reward.

    Numbers enter as they are and, where held-out log-loss prefers it, also as steps at their quantiles, since
    treatments often start at a threshold or are given in the middle of a range. Coefficients only: no row of the log is
    kept, so that it can be saved with a model.
    """

    rule: RobustLogistic
    steps: np.ndarray
    rows: np.ndarray

    @classmethod
    def fit(cls, log: Log, seed: int = 0) -> "LoggingPolicy":
        actions, n_actions = np.asarray(log.actions), len(log.action_labels)
        width = 2 * len(log.schema) + sum(column.levels for column in log.schema.columns)
        rows = int(np.clip(MOST_WORK / (width * n_actions), FEWEST_ROWS, MOST_ROWS))
        sample = np.random.default_rng(seed).permutation(np.flatnonzero(actions >= 0))[:rows]
        values, observed, taken = log.values[sample], log.observed[sample], actions[sample]
        steps = _steps(log.schema, values, observed)
        choices = [steps[:, :0], steps]
        tables = [_features(log.schema, values, observed, choices[0])]
        if 0 < steps.size <= MOST_FEATURES - tables[0].shape[1]:
            tables.append(_features(log.schema, values, observed, steps))
        with single_thread():
            some = slice(min(SELECTION_ROWS, max(rows // 3, FEWEST_ROWS)))
            sampled = [table[some] for table in tables]
            together = None if log.groups is None else log.groups[sample][some]
            best, penalty = chosen_by_log_loss(
                sampled, taken[some], n_actions, PENALTIES, SELECTION_ROUNDS, groups=together
            )
            rule = RobustLogistic.fit(tables[best], taken, n_actions, penalty)
        rewarded = np.bincount(actions[log.rewarded], minlength=n_actions).astype(np.int64)
        return cls(rule, choices[best], rewarded)

    def probabilities(self, schema: Schema, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """[row, action], for encoded records."""
        # block by block: a million rows have gigabytes of features
        block = max(1, BLOCK_CELLS // len(self.rule.weights))
        parts = [
            self.rule.probabilities(_features(schema, values[at : at + block], observed[at : at + block], self.steps))
            for at in range(0, max(len(values), 1), block)
        ]
        return np.concatenate(parts)

    def overlap(self, log: Log) -> Overlap:
        """How well the log that it was fitted on covers each action."""
        return FittedPropensity.of(log, self.probabilities(log.schema, log.values, log.observed)).overlap()

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What is saved, by name."""
        return {**self.rule._asdict(), "steps": self.steps, "rows": self.rows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], schema: Schema, actions: int) -> "LoggingPolicy":
        """What `to_arrays` gave; ValueError where it does not fit the schema and the actions."""
        rule = RobustLogistic(*(np.asarray(arrays[name], np.float64) for name in RobustLogistic._fields))
        steps, rows = np.asarray(arrays["steps"], np.float64), np.asarray(arrays["rows"])
        fits = steps.ndim == 2 and len(steps) == len(_numbers(schema)) and rows.dtype == np.int64
        if fits:
            width = _features(schema, np.zeros((1, len(schema))), np.zeros((1, len(schema)), bool), steps).shape[1]
            shapes = [part.shape for part in (*rule, rows)]
            fits = shapes == [(width, actions), (actions,), (3,), (actions,), (actions,)]
        if not fits or not all(np.isfinite(part).all() for part in (*rule, steps)) or (rows < 0).any():
            raise ValueError("the logging policy")
        return cls(rule, steps, rows)


def _numbers(schema: Schema) -> list[int]:
    return [index for index, column in enumerate(schema.columns) if column.likelihood != "categorical"]


def _steps(schema: Schema, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The quantiles of every number in the log, [number, step]."""
    numbers = _numbers(schema)
    if not numbers:  # of which NumPy makes another shape
        return np.zeros((0, STEPS))
    shares = np.arange(1, STEPS + 1) / (STEPS + 1)
    cells = np.where(observed[:, numbers], values[:, numbers], np.nan)
    cells[:, np.isnan(cells).all(axis=0)] = 0.0
    return np.nanquantile(cells, shares, axis=0).T.astype(np.float64)


def _features(schema: Schema, values: np.ndarray, observed: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Encoded records as columns that are 0 in gaps: numbers, levels one-hot, gaps, and which steps a number is above.

    Encoded numbers have mean 0 in the log, so a gap counts as an average cell, and its own column corrects that.
    """
    seen, numbers = np.asarray(observed, bool), _numbers(schema)
    levels = [
        (values[:, [index]] == np.arange(column.levels)) & seen[:, [index]]
        for index, column in enumerate(schema.columns)
        if column.likelihood == "categorical"
    ]
    known, cells = seen[:, numbers], values[:, numbers]
    clipped = np.where(known, np.clip(cells, -FARTHEST, FARTHEST), 0.0)
    above = np.where(known[:, :, None], (cells[:, :, None] > steps[None]) - 0.5, 0.0).reshape(len(values), -1)
    return np.concatenate([clipped, *levels, ~seen, above], axis=1).astype(np.float64)
