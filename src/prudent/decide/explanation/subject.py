"""The subject of an explanation: one row of an advice, with everything that was known when it was decided."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prudent.decide.choice import Chooser, Scored
from prudent.decide.measure.value import Measuring, Valued, valued_gaps
from prudent.decide.status import Status
from prudent.decide.support import Supported
from prudent.table import ActionLabel, Encoded


@dataclass(frozen=True, eq=False)
class Subject:
    """One encoded record and the advice for it.

    row: in the table that was asked about; `measuring`, where it was asked for, is of that whole table.
    scored, supported: of this row alone. chosen: the number of the action that the strategy chose, -1 for none.
    """

    chooser: Chooser
    row: int
    values: np.ndarray
    observed: np.ndarray
    scored: Scored
    action: ActionLabel | None
    chosen: int
    permitted: np.ndarray
    supported: Supported
    status: Status
    flags: str
    guaranteed_reward: float | None
    measuring: Measuring | None

    @property
    def scored_alone(self) -> Scored:
        """`scored` as that of a table of this one row."""
        return Scored(*(np.asarray(part)[None] for part in self.scored))

    @property
    def alone(self) -> Encoded:
        """A table of this one row."""
        return Encoded(self.values[None], self.observed[None], [""])

    @cached_property
    def valued(self) -> list[Valued]:
        """What filling each gap would change: for what to measure and for what would turn the advice."""
        return list(valued_gaps(self.chooser, self.alone, self.scored_alone))
