"""Insulin doses for meals, with gaps in the records; a simulator knows the outcome of every dose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from prudent.errors import Rule, check, number, one_of, require, whole
from prudent.worlds.doses import dose_numbers, draw_doses
from prudent.worlds.insulin.clinic import Clinician, Gaps
from prudent.worlds.insulin.meals import NAMES, Meals, courses_of, curves_of, draw, record
from prudent.worlds.insulin.patients import Patients

UNITS = (0.0, 1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 12.0, 16.0, 21.0)
LOW, SERIOUSLY_LOW = 70.0, 54.0
"""Glucose, mg/dl, below which hypoglycaemia begins, and below which it is serious."""
TAUGHT = 4000
"""Meals from which the clinic learnt to prescribe."""

_RULES: dict[str, Rule] = {"gaps": number(0, 1, "[)"), "mechanism": one_of("mcar", "mar"), "seed": whole()}
_SAMPLE_RULES: dict[str, Rule] = {"rows": whole(1), "seed": whole()}


def glucose_reward(glucose: Any) -> np.ndarray:
    """The paper's reward of a mean glucose in mg/dl (eq 16): 1 from 90 to 130, falling fast below and slowly above.

    >>> glucose_reward([60, 80, 90, 130, 180, 280]).tolist()
    [-2.0, 0.0, 1.0, 1.0, 0.0, -2.0]
    """
    level = np.asarray(glucose, dtype=float)
    return np.minimum(np.minimum((level - 80.0) / 10.0, 1.0), (180.0 - level) / 50.0)


@dataclass(frozen=True)
class InsulinWorld:
    """Choose one of ten insulin doses for the meal of a virtual patient, from a record with gaps.

    The patients are the thirty of the UVA/Padova simulator. Each meal is eaten some hours after another meal that was
    dosed well or badly. The record has nine attributes, as a clinic's file and a sensor would have them (sensors err,
    carbohydrates are guessed), and the share `gaps` of its cells is missing: at random ("mcar"), or less often the
    farther glucose is from its target ("mar"). The reward of a dose is eq 16 of the mean glucose from two to four hours
    after the meal. The log is written by a clinic that sees the record with its gaps: half of its doses come from a
    logistic regression that learnt to prescribe by the usual rule, half are drawn uniformly. `seed` fixes the clinic.

    >>> world = InsulinWorld()
    >>> sample = world.sample(20, seed=1)
    >>> sample.theta.shape, world.value(sample.theta.argmax(axis=1), sample) > world.value(sample.actions, sample)
    ((20, 10), True)
    """

    gaps: float = 0.3
    mechanism: str = "mcar"
    seed: int = 0

    def __post_init__(self) -> None:
        check("InsulinWorld", _RULES, vars(self))
        most = 0.95 if self.mechanism == "mcar" else 0.8
        must = f"be in [0, {most}] under '{self.mechanism}'"
        require(self.gaps <= most, "InsulinWorld", "gaps", must, self.gaps)

    @property
    def units(self) -> tuple[float, ...]:
        """The ten doses, in units of insulin."""
        return UNITS

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of a record."""
        return NAMES

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each attribute's column, as `Log.from_frame(kinds=…)` takes it."""
        return {name: "real" if name in ("trend", "insulin_on_board", "hour") else "positive" for name in NAMES}

    @property
    def patients(self) -> Patients:
        return Patients.virtual()

    @cached_property
    def clinician(self) -> Clinician:
        """The clinician, who learnt to prescribe from complete records of the past."""
        return Clinician.taught(self._past, UNITS, np.random.default_rng([self.seed, 1]))

    @cached_property
    def cells(self) -> Gaps:
        """How likely each cell is missing."""
        return Gaps.of(self.gaps, self.mechanism, self._past)

    @cached_property
    def _past(self) -> np.ndarray:
        return self._recorded(TAUGHT, np.random.default_rng([self.seed, 0]))[2]

    def _recorded(self, rows: int, random: np.random.Generator) -> "tuple[Meals, Any, np.ndarray]":
        meals = draw(self.patients, rows, random)
        courses = courses_of(self.patients, meals, UNITS)
        return meals, courses, record(self.patients, meals, courses, random)

    def sample(self, rows: int, seed: int = 0) -> "InsulinSample":
        """Fresh meals, the gaps of their records, what the clinic gave and how it turned out."""
        check("InsulinWorld.sample", _SAMPLE_RULES, {"rows": rows, "seed": seed})
        random = np.random.default_rng([seed, self.seed, 2])
        meals, courses, full = self._recorded(rows, random)
        observed = random.random(full.shape) >= self.cells.chances(full)
        values = np.where(observed, full, np.nan)
        propensity = self.propensity(values)
        actions = draw_doses(propensity, random)
        late, lowest = np.asarray(courses.late, float), np.asarray(courses.lowest, float)
        theta = glucose_reward(late)
        rewards = theta[np.arange(rows), actions]
        return InsulinSample(
            self, full, values, observed, theta, late, lowest, actions, rewards, propensity, meals.patient, meals
        )

    def propensity(self, values: np.ndarray) -> np.ndarray:
        """The clinic's probability of every dose, [row, dose]; `values` have NaN in the gaps."""
        return 0.5 * self.clinician.probabilities(values) + 0.5 / len(UNITS)

    def curves(self, sample: "InsulinSample", rows: Sequence[int] | np.ndarray, actions: Any) -> np.ndarray:
        """Glucose at every minute of the four hours from the meal on, [row, 241], of some rows under these doses."""
        chosen = np.asarray(rows)
        meals = Meals(*(column[chosen] for column in sample.meals))
        return curves_of(self.patients, meals, np.array(UNITS)[np.asarray(actions)])

    def index(self, labels: Iterable[object]) -> np.ndarray:
        """The dose numbers 0, 1, … of doses in units, as they come back in advice."""
        return dose_numbers(labels, UNITS)

    def value(self, actions: Any, sample: "InsulinSample") -> float:
        """The mean reward of these doses."""
        return float(sample.of(sample.theta, actions).mean())

    def best_constant(self, sample: "InsulinSample") -> int:
        """The single dose that would have been best for all meals together."""
        return int(sample.theta.mean(axis=0).argmax())

    def low(self, actions: Any, sample: "InsulinSample", below: float = LOW) -> float:
        """The share of meals with glucose below 70 mg/dl, or another level, at some time in the four hours after."""
        return float((sample.of(sample.lowest, actions) < below).mean())


@dataclass(frozen=True, eq=False)
class InsulinSample:
    """Meals of an insulin world, with the truth that nobody in the clinic could see.

    full [row, attribute] is the record without gaps and values the record with NaN in the gaps; observed marks the
    cells that are present. For every dose: theta [row, dose] the reward, glucose [row, dose] the mean from two to four
    hours after the meal, lowest [row, dose] the lowest in the four hours. actions are the dose numbers of the log,
    rewards how they turned out, propensity [row, dose] the clinic's true probabilities, patient the patient's number.
    """

    world: InsulinWorld
    full: np.ndarray
    values: np.ndarray
    observed: np.ndarray
    theta: np.ndarray
    glucose: np.ndarray
    lowest: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    propensity: np.ndarray
    patient: np.ndarray
    meals: Meals

    def __len__(self) -> int:
        return len(self.full)

    def of(self, table: np.ndarray, actions: Any) -> np.ndarray:
        """What a table [row, dose] holds for the chosen doses."""
        return table[np.arange(len(self)), np.asarray(actions)]

    def cases(self) -> pl.DataFrame:
        """The records as a polars frame, gaps empty."""
        return pl.DataFrame(dict(zip(NAMES, self.values.T, strict=True))).fill_nan(None)

    def frame(self) -> pl.DataFrame:
        """The log as a polars frame: the records, then `dose` (units) and `outcome`."""
        return self.cases().with_columns(
            pl.Series("dose", np.array(UNITS)[self.actions]),
            pl.Series("outcome", np.round(self.rewards, 4)),
        )
