"""The usual ways as policies: fitted to a log, and asked about a frame of cases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.errors import InputProblem
from prudent.progress import Progress, reporting, tracked
from prudent.rivals.boosting import Boosting
from prudent.rivals.designs import PerAction
from prudent.rivals.forests import Forest
from prudent.rivals.linear import Linear
from prudent.rivals.rival import FittedRival, LoggedDecisions, Rival
from prudent.table import ActionLabel, Encoded, Log, Schema, to_table

USUAL: dict[str, Rival] = {
    "gradient boosting": Boosting(PerAction(), stages=(25, 50, 100, 200)),
    "random forests": Forest(PerAction()),
    "ridge regression": Linear(PerAction()),
}
"""A regression per action: boosting with gaps as they are, forests and ridge with gaps filled by means."""


@dataclass(frozen=True, eq=False)
class RivalPolicy:
    """A fitted rival as a policy: from a frame of cases to an action for each."""

    rival: FittedRival
    schema: Schema
    action_labels: tuple[ActionLabel, ...]

    @classmethod
    def fit(cls, rival: Rival, log: Log, seed: int = 0) -> "RivalPolicy":
        """Learn from the rows that have an action and a reward."""
        if not log.rewarded.any():
            raise InputProblem("The log has no row with both an action and a reward, so nothing can be learned.")
        labelled = np.array([column.likelihood == "categorical" for column in log.schema.columns])
        values = _with_gaps(log.encoded)
        logged = LoggedDecisions.of(values, labelled, log.actions, log.rewards, len(log.action_labels))
        return cls(rival.fit(logged, seed), log.schema, log.action_labels)

    def __call__(self, cases: Any) -> list[ActionLabel]:
        values = _with_gaps(self.schema.encode(to_table(cases)))
        return [self.action_labels[at] for at in self.rival.predict(values)]


def usual_policies(
    log: Log, seed: int = 0, rivals: Mapping[str, Rival] = USUAL, progress: Progress = None
) -> dict[str, RivalPolicy]:
    """Policies of gradient boosting, random forests and ridge regression, fitted to a log.

    >>> log = Log.from_frame(
    ...     {"age": [20, 60] * 40, "dose": ["low", "high", "high", "low"] * 20, "outcome": [1, 1, 0, 0] * 20},
    ...     action="dose",
    ...     reward="outcome",
    ... )
    >>> usual_policies(log, rivals={"ridge": Linear(PerAction())})["ridge"]({"age": [20, 60]})
    ['low', 'high']
    """
    with reporting(progress):
        named = list(rivals.items())
        steps = tracked(len(named), "the usual ways")
        return {named[at][0]: RivalPolicy.fit(named[at][1], log, seed) for at in steps}


def _with_gaps(encoded: Encoded) -> np.ndarray:
    return np.where(encoded.observed, encoded.values, np.nan).astype(np.float64)
