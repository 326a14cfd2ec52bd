"""Rows of the world learnt from the OhioT1DM data."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class OhioSample:
    """Simulated boluses, with what nobody in the clinic could see.

    full [row, context] is the truth and values the record, NaN in the gaps, both on [0, 1]; observed marks the cells
    that are present; glucose [row, dose] what the simulator says of every dose, in mg/dL, and theta its reward by the
    paper's eq 16; actions the dose numbers of the log, rewards how they turned out, propensity [row, dose] the true
    probabilities of the logging policy; patient the number of the patient, as in `world.patients`. The simulator
    knows a mean over 90 minutes only, so how low glucose falls is not known.
    """

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
