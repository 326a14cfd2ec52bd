"""Propensities that the log itself recorded."""

from dataclasses import dataclass

import numpy as np

from prudent.errors import InputProblem
from prudent.propensity.fitted_propensity import FLOOR, FittedPropensity
from prudent.table import Log


@dataclass(frozen=True)
class Known:
    """The probabilities the log itself recorded: where they exist they are better than any estimate."""

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Read them from the log; `seed` is not used and is here so that all propensities are called the same way."""
        way_out = "or estimate them with ImputedLogistic() or Boosted()."
        if log.propensities is None:
            raise InputProblem(
                "The log has no column of logged probabilities, so Known() has nothing to read. "
                f"Name the column with propensity=... when reading the log, {way_out}"
            )
        acted = log.actions >= 0
        absent = int(np.isnan(log.propensities[acted]).sum())
        if absent:
            raise InputProblem(
                f"The propensity column is empty in {absent} of the {int(acted.sum())} rows with an action. "
                f"Fill it in, drop these rows, {way_out}"
            )
        wrong = acted & ~((log.propensities > 0) & (log.propensities <= 1))
        if wrong.any():
            raise InputProblem(
                f"The propensity column must be in (0, 1] for an action that was taken; {int(wrong.sum())} rows are"
                f" not, the first with {float(log.propensities[wrong][0])!r}. Correct them, drop these rows, {way_out}"
            )
        taken = np.where(acted, np.maximum(log.propensities, FLOOR), np.nan)
        return FittedPropensity(taken, None, np.asarray(log.actions), log.action_labels)
