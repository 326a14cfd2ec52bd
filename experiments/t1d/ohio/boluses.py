"""One row per bolus: nine contexts of the half hour before it, its dose, and the glucose that followed."""

from dataclasses import dataclass

import numpy as np

from experiments.t1d.ohio.reader import Patient
from experiments.t1d.ohio.windows import BasalRate, Windows

CONTEXTS = (
    *("glucose", "skin_temperature", "air_temperature", "skin_conductance"),
    *("steps", "exercise", "heart_rate", "basal", "carbs"),
)
BEFORE = 30.0
AFTER = (30.0, 120.0)


@dataclass(frozen=True, eq=False)
class BolusRows:
    """The boluses of one patient, in order of time.

    contexts [row, context] has NaN where nothing was measured; doses in U; targets the mean glucose 30 to 120 minutes
    after, in mg/dL; times in minutes.
    """

    times: np.ndarray
    contexts: np.ndarray
    doses: np.ndarray
    targets: np.ndarray

    def __len__(self) -> int:
        return len(self.times)

    @property
    def measured(self) -> np.ndarray:
        """Which contexts have a value in at least one row, [context]."""
        return np.asarray((~np.isnan(self.contexts)).any(axis=0))

    def filled(self, otherwise: np.ndarray) -> np.ndarray:
        """The contexts with each gap filled by the patient's mean, or by `otherwise` where there is none.

        Neither a Gaussian nor the trees can be fitted to gaps. Keeping only complete rows would lose every bolus for
        which the wrist band was off, most of them for some patients, and the rest would not be typical days. The price:
        the filled contexts vary less and are less correlated than they were.
        """
        present = ~np.isnan(self.contexts)
        sums, counts = np.where(present, self.contexts, 0.0).sum(axis=0), present.sum(axis=0)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)
        return np.where(present, self.contexts, means)


def bolus_rows(patient: Patient) -> BolusRows:
    """The rows of a patient's boluses that have a dose, and glucose readings 30 to 120 minutes after.

    A bolus counts in full when it begins, whether it is given at once or, square or dual, until its end: that is when
    it was decided. What begins at the same second (the two parts of a dual bolus) is one decision, and its doses are
    added. Boluses that follow each other within half an hour are separate decisions.
    """
    bolus = patient.spans["bolus"]
    dosed = ~np.isnan(bolus.values)
    times, decision = np.unique(bolus.begins[dosed], return_inverse=True)
    doses = np.bincount(decision, weights=bolus.values[dosed], minlength=len(times))
    targets = Windows(times + AFTER[0], times + AFTER[1]).mean(patient.readings["glucose_level"])
    kept = ~np.isnan(targets)
    return BolusRows(times[kept], contexts_at(patient, times[kept]), doses[kept], targets[kept])


def contexts_at(patient: Patient, times: np.ndarray) -> np.ndarray:
    """The nine contexts over the 30 minutes up to each time, [row, context], NaN where nothing was measured.

    What the patient reports is 0 when there is no report, unless the half hour began before the record did; what a
    sensor measures is a gap without readings. An exercise counts in full in the half hour in which it began.
    """
    half_hour = Windows(times - BEFORE, times)
    series = patient.readings
    steps = np.where(half_hour.holds(series["basis_steps"]), half_hour.total(series["basis_steps"]), np.nan)
    covered = half_hour.start >= patient.begins
    columns = {
        "glucose": half_hour.mean(series["glucose_level"]),
        "skin_temperature": half_hour.mean(series["basis_skin_temperature"]),
        "air_temperature": half_hour.mean(series["basis_air_temperature"]),
        "skin_conductance": half_hour.mean(series["basis_gsr"]),
        "steps": steps,
        "exercise": np.where(covered, half_hour.total(series["exercise"]), np.nan),
        "heart_rate": half_hour.mean(series["basis_heart_rate"]),
        "basal": BasalRate.of(patient).mean(half_hour),
        "carbs": np.where(covered, half_hour.total(series["meal"]), np.nan),
    }
    return np.stack([columns[name] for name in CONTEXTS], axis=1)
