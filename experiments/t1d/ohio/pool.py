"""The boluses of several patients on one scale: what the simulator and the clinician learn from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.t1d.ohio.boluses import CONTEXTS, BolusRows
from prudent.errors import InputProblem


@dataclass(frozen=True, eq=False)
class UnitScale:
    """Min-max to [0, 1] per column; a column that never varies is 0."""

    lowest: np.ndarray
    width: np.ndarray

    @staticmethod
    def of(values: np.ndarray) -> "UnitScale":
        """The scale on which the columns' lowest values are 0 and their highest 1."""
        return UnitScale(values.min(axis=0), np.ptp(values, axis=0))

    def to_unit(self, values: np.ndarray) -> np.ndarray:
        """On [0, 1]."""
        return (values - self.lowest) / np.where(self.width > 0, self.width, 1.0)

    def from_unit(self, values: np.ndarray) -> np.ndarray:
        """In the units of the data."""
        return self.lowest + self.width * values


@dataclass(frozen=True, eq=False)
class Pool:
    """All boluses: contexts [row, context] and doses [row] on [0, 1], targets in mg/dL, patient numbers 0, 1, …

    measured [patient, context]: whether a patient's context was ever measured.
    """

    contexts: np.ndarray
    doses: np.ndarray
    targets: np.ndarray
    patient: np.ndarray
    measured: np.ndarray
    context_scale: UnitScale
    dose_scale: UnitScale

    @staticmethod
    def of(tables: Sequence[BolusRows]) -> "Pool":
        """Fill the gaps patient by patient, then scale all patients together.

        A context that a patient never had measured takes the mean over the other patients' means, and 0 when nobody
        had it: a constant without information. The world shows such a cell as a gap, always.
        """
        measured = np.stack([table.measured for table in tables])
        means = np.stack([table.filled(np.zeros(len(CONTEXTS))).mean(axis=0) for table in tables])
        others = np.where(measured, means, 0.0).sum(axis=0) / np.maximum(measured.sum(axis=0), 1)
        contexts = np.concatenate([table.filled(others) for table in tables])
        doses = np.concatenate([table.doses for table in tables])
        if np.ptp(doses) == 0:
            raise InputProblem(
                f"All {len(doses)} boluses have a dose of {doses[0]:g} U, so that nothing can be learnt about others. "
                f"Use more patients or the complete files."
            )
        context_scale, dose_scale = UnitScale.of(contexts), UnitScale.of(doses)
        return Pool(
            contexts=context_scale.to_unit(contexts),
            doses=dose_scale.to_unit(doses),
            targets=np.concatenate([table.targets for table in tables]),
            patient=np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
            measured=measured,
            context_scale=context_scale,
            dose_scale=dose_scale,
        )

    def equalised(self, seed: int = 0) -> np.ndarray:
        """Row numbers in which every patient occurs as often as the one with most boluses.

        Each of a patient's rows is repeated as often as fits, and the rest is chosen at random without repetition.
        """
        random = np.random.default_rng(seed)
        counts = np.bincount(self.patient)
        most = int(counts.max())
        numbers = []
        for patient in range(len(counts)):
            rows = np.flatnonzero(self.patient == patient)
            numbers += [np.tile(rows, most // len(rows)), random.permutation(rows)[: most % len(rows)]]
        return np.concatenate(numbers)
