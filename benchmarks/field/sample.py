"""What a method gets, and how its choices are judged where the truth is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from prudent.table import Log

DEVELOPMENT = range(100)
"""Seeds to try ideas on."""
REPORTED = range(2000, 3000)
"""Seeds of what is reported. Nothing may be chosen on them."""
FRESH = 4000
"""Cases that are decided on, in the generated problems."""


def seeds(count: int, reported: bool) -> range:
    """The first seeds of the kind."""
    return (REPORTED if reported else DEVELOPMENT)[:count]


@dataclass(frozen=True, eq=False)
class Sample:
    """A log with its columns `action` and `reward`, fresh cases with gaps, and the truth about them.

    expected: the mean reward of every action given the complete record, [case, action], actions in the order of
    `labels`. complete: the cases without gaps, where they are kept.
    """

    frame: pl.DataFrame
    cases: pl.DataFrame
    expected: np.ndarray
    labels: tuple[Any, ...]
    complete: pl.DataFrame | None = None

    def log(self) -> Log:
        return Log.from_frame(self.frame, action="action", reward="reward")

    def value(self, chosen: Any) -> float:
        """The mean reward of these actions (labels, one for each case)."""
        place = {label: at for at, label in enumerate(self.labels)}
        return float(self.expected[np.arange(len(self.cases)), [place[label] for label in list(chosen)]].mean())

    @property
    def constant(self) -> float:
        """The value of the best single action for all cases."""
        return float(self.expected.mean(axis=0).max())

    @property
    def oracle(self) -> float:
        """The value of the best action of each complete record: more than any method can reach through the gaps."""
        return float(self.expected.max(axis=1).mean())

    def score(self, chosen: Any) -> float:
        """The share of the way from the best constant action (0) to the oracle (1)."""
        return (self.value(chosen) - self.constant) / (self.oracle - self.constant)
