"""Rows of the world learnt from the OhioT1DM data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars

    from experiments.t1d.ohio.simulator import OhioWorld

DECIMALS = 3


@dataclass(frozen=True, eq=False)
class OhioSample:
    """Made-up boluses, with what nobody in the clinic could see.

    full [row, context] is the truth and values the record, NaN in the gaps, both on [0, 1]; observed marks the cells
    that are present; glucose [row, dose] what the simulator says of every dose, in mg/dL, and theta its reward by the
    paper's eq 16; actions the dose numbers of the log, rewards how they turned out, propensity [row, dose] the true
    probabilities of whoever wrote the log; patient the number of the patient, as in `world.patients`.
    """

    world: "OhioWorld"
    full: np.ndarray
    values: np.ndarray
    observed: np.ndarray
    theta: np.ndarray
    glucose: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    propensity: np.ndarray
    patient: np.ndarray

    def __len__(self) -> int:
        return len(self.full)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nine contexts."""
        return self.world.names

    @property
    def lowest(self) -> np.ndarray:
        """The same as `glucose`: the simulator knows a mean over 90 minutes and no course, so hypoglycaemia is that
        mean being low."""
        return self.glucose

    def of(self, table: np.ndarray, actions: Any) -> np.ndarray:
        """What a table [row, dose] holds for the chosen doses."""
        return table[np.arange(len(self)), np.asarray(actions)]

    def cases(self) -> "polars.DataFrame":
        """The records as a polars frame, in the units of the data, gaps empty."""
        import polars

        shown = np.round(self.world.pool.context_scale.from_unit(self.values), DECIMALS)
        columns = {name: shown[:, column] for column, name in enumerate(self.names)}
        return polars.DataFrame(columns).fill_nan(None)

    def frame(self) -> "polars.DataFrame":
        """The log as a polars frame: the records, then `dose` (U, as in `world.units`) and `outcome`."""
        import polars

        dose = np.array(self.world.units)[self.actions]
        return self.cases().with_columns(
            polars.Series("dose", dose), polars.Series("outcome", np.round(self.rewards, 4))
        )
