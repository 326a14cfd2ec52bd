"""A world of bolus doses learnt from the OhioT1DM data, after Turgay, Bulucu and Tekin (2020)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from os import PathLike

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from experiments.t1d.ohio.boluses import CONTEXTS, BolusRows, bolus_rows
from experiments.t1d.ohio.clinician import Clinician
from experiments.t1d.ohio.draws import UnitGaussian
from experiments.t1d.ohio.pool import Pool
from experiments.t1d.ohio.reader import Patient, read_folder
from experiments.t1d.ohio.sample import OhioSample
from prudent.errors import InputProblem, is_number, is_whole, require
from prudent.worlds import glucose_reward

DOSES = 10


@dataclass(frozen=True, eq=False)
class OhioWorld:
    """Choose one of ten bolus doses from nine contexts of the half hour before, a share `gaps` of which is missing.

    A made-up bolus takes its patient at random, each as often as any other, and its contexts from that patient's
    Gaussian, cut to the range of the data. Gradient boosting learnt the mean glucose 30 to 120 minutes after from
    context and dose, each patient counting the same; eq 16 of the paper makes a reward of it, without noise. The
    doses are equally spaced from the smallest to the largest bolus in the data. Make it with `from_folder`.

    patients: those who are in it. set_aside: those who are not, since one of the nine was never measured for them, or
    since none of their boluses is followed by glucose readings. A cell that was never measured for its patient is
    always a gap.
    """

    patients: tuple[str, ...]
    set_aside: tuple[str, ...]
    pool: Pool
    gaussians: tuple[UnitGaussian, ...]
    simulator: GradientBoostingRegressor
    clinician: Clinician
    gaps: float = 0.3

    @staticmethod
    def from_folder(
        folder: str | PathLike[str], *, patients: Collection[str] | None = None, gaps: float = 0.3
    ) -> "OhioWorld":
        """Learn the world from a folder of OhioT1DM files.

        patients: the numbers of those to use, such as ("559", "540"). Otherwise it is those with all nine contexts:
        the cohort of 2018, the paper's six, for the wrist band of 2020 has neither heart rate nor steps nor air
        temperature. In a folder without any such patient, it is everybody.
        """
        return OhioWorld.from_patients(read_folder(folder), patients=patients, gaps=gaps)

    @staticmethod
    def from_patients(
        everybody: Iterable[Patient], *, patients: Collection[str] | None = None, gaps: float = 0.3
    ) -> "OhioWorld":
        """Learn the world from patients that are already read."""
        require(is_number(gaps) and 0 <= gaps < 1, "OhioWorld", "gaps", "be in [0, 1)", gaps)
        tables = {patient.id: bolus_rows(patient) for patient in everybody}
        chosen = _chosen(tables, patients)
        pool = Pool.of([tables[each] for each in chosen])
        equal = pool.equalised()
        taken = np.round(pool.doses * (DOSES - 1)).astype(int)
        learner = GradientBoostingRegressor(loss="huber", n_estimators=100, max_depth=5, random_state=0)
        return OhioWorld(
            patients=chosen,
            set_aside=tuple(each for each in tables if each not in chosen),
            pool=pool,
            gaussians=tuple(
                UnitGaussian.of(each, pool.contexts[pool.patient == number]) for number, each in enumerate(chosen)
            ),
            simulator=learner.fit(_with_dose(pool.contexts, pool.doses)[equal], pool.targets[equal]),
            clinician=Clinician.taught(pool.contexts[equal], taken[equal], DOSES),
            gaps=gaps,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The nine contexts."""
        return CONTEXTS

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each context's column, as `Log.from_frame(kinds=…)` takes it."""
        return dict.fromkeys(CONTEXTS, "real")

    @property
    def levels(self) -> np.ndarray:
        """The ten doses on [0, 1]."""
        return np.linspace(0.0, 1.0, DOSES)

    @property
    def units(self) -> tuple[float, ...]:
        """The ten doses in U; the action number is the index."""
        return tuple(np.round(self.pool.dose_scale.from_unit(self.levels), 4).tolist())

    def sample(self, rows: int, seed: int = 0) -> OhioSample:
        """Fresh boluses, their gaps, what was given and how it turned out."""
        require(is_whole(rows, 1), "OhioWorld.sample", "rows", "be a whole number of 1 or more", rows)
        require(is_whole(seed), "OhioWorld.sample", "seed", "be a whole number of 0 or more", seed)
        random = np.random.default_rng(seed)
        patient = random.integers(len(self.patients), size=rows)
        full = np.empty((rows, len(CONTEXTS)))
        for number, gaussian in enumerate(self.gaussians):
            rows_of_patient = patient == number
            full[rows_of_patient] = gaussian.draw(int(rows_of_patient.sum()), random)
        observed = (random.random(full.shape) >= self.gaps) & self.pool.measured[patient]
        values = np.where(observed, full, np.nan)
        propensity = self.propensity(values)
        actions = np.sum(random.random((rows, 1)) >= np.cumsum(propensity, axis=1)[:, :-1], axis=1)
        glucose = self.glucose(full)
        theta = glucose_reward(glucose)
        rewards = theta[np.arange(rows), actions]
        return OhioSample(full, values, observed, theta, glucose, actions, rewards, propensity, patient)

    def propensity(self, values: np.ndarray) -> np.ndarray:
        """The probability of every dose in the log, [row, dose]; `values` have NaN in the gaps."""
        return 0.5 * self.clinician.probabilities(values) + 0.5 / DOSES

    def glucose(self, full: np.ndarray) -> np.ndarray:
        """The simulated mean glucose under every dose, [row, dose] in mg/dL, of complete contexts on [0, 1]."""
        repeated, doses = np.repeat(full, DOSES, axis=0), np.tile(self.levels, len(full))
        return self.simulator.predict(_with_dose(repeated, doses)).reshape(len(full), DOSES)


def _chosen(tables: dict[str, BolusRows], patients: Collection[str] | None) -> tuple[str, ...]:
    """The patients to learn from, in order."""
    usable = {name: table for name, table in tables.items() if len(table)}
    if patients is not None:
        wanted = [str(each) for each in patients]
        known = ", ".join(usable) or "none"
        must = f"name patients who have boluses with glucose readings after them ({known})"
        require(bool(wanted) and set(wanted) <= set(usable), "OhioWorld", "patients", must, patients)
        return tuple(name for name in usable if name in wanted)
    if not usable:
        raise InputProblem(
            f"None of the patients {', '.join(tables)} has a bolus with glucose readings 30 to 120 minutes after it. "
            f"Use the complete files, whose <bolus> and <glucose_level> are filled."
        )
    complete = tuple(name for name, table in usable.items() if table.measured.all())
    return complete or tuple(usable)


def _with_dose(contexts: np.ndarray, doses: np.ndarray) -> np.ndarray:
    return np.concatenate([contexts, doses[:, None]], axis=1)
