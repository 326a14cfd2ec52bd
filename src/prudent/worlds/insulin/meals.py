"""Meals of virtual patients: what happened before, what a clinic's record says, and the outcome of every dose."""

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prudent.worlds.insulin.patients import Patients
from prudent.worlds.insulin.physiology import Amounts, Body, Condition, Meal, simulate

HISTORY = 300
"""Minutes that are simulated before the meal."""
AFTER = 240
"""Minutes that are simulated from the meal on."""
LATE = 120
"""The outcome is the mean glucose from this minute after the meal to the last."""
ON_BOARD = 240.0
"""Minutes after which a pump counts a bolus as used up."""
TREND = 15
"""Minutes over which a sensor's trend is taken."""
BLOCK = 512
"""Meals simulated at once: one program for any number of them."""

NAMES = (
    "weight",
    "age",
    "total_daily_insulin",
    "carb_ratio",
    "glucose",
    "trend",
    "carbs",
    "insulin_on_board",
    "hour",
)
DECIMALS = (1, 0, 1, 1, 0, 2, 0, 2, 1)

TYPICAL = ((7.5, 0.8), (12.5, 1.1), (19.0, 1.2))
"""Breakfast, lunch, dinner: the hour, and the size relative to 60 g for 70 kg."""
USUAL_GRAMS, USUAL_WEIGHT = 60.0, 70.0
LEAST, MOST = 10.0, 150.0
GLUCOSE = ("plasma_glucose", "tissue_glucose", "skin_glucose")
PerPatient = TypeVar("PerPatient", Body, Amounts)


Column = Any
"""An array over meals outside the simulation (NumPy or JAX), a scalar inside it."""


class Meals(NamedTuple):
    """Meals about to be eaten, with what nobody knows exactly.

    glucose_factor: glucose `HISTORY` minutes ago, relative to its basal level. The meal before this one was eaten
    `earlier` minutes ago (0 g where there was none), with its bolus.
    """

    patient: Column
    hour: Column
    carbs: Column
    glucose_factor: Column
    earlier: Column
    earlier_carbs: Column
    earlier_bolus: Column


class Courses(NamedTuple):
    """Simulated glucose of meals: the sensor's now and `TREND` minutes ago, and for each dose the mean of the late
    glucose and the lowest glucose."""

    now: Column
    ago: Column
    late: Column
    lowest: Column


def draw(patients: Patients, count: int, random: np.random.Generator) -> Meals:
    """Any patient, at breakfast, lunch or dinner, some hours after a meal that was dosed well or badly."""
    patient = random.integers(len(patients), size=count)
    hours, sizes = np.array(TYPICAL)[random.integers(len(TYPICAL), size=count)].T
    usual = USUAL_GRAMS * np.sqrt(patients.weight[patient] / USUAL_WEIGHT)

    def grams(size: np.ndarray | float) -> np.ndarray:
        return np.clip(usual * size * np.exp(0.35 * random.normal(size=count)), LEAST, MOST)

    earlier = np.where(random.random(count) < 0.75, grams(0.8), 0.0)
    return Meals(
        patient=patient,
        hour=hours + random.normal(size=count),
        carbs=grams(sizes),
        glucose_factor=np.exp(0.25 * random.normal(size=count)),
        earlier=random.integers(90, HISTORY, size=count),
        earlier_carbs=earlier,
        earlier_bolus=earlier / patients.carb_ratio[patient] * np.exp(0.4 * random.normal(size=count)),
    )


def record(patients: Patients, meals: Meals, courses: Courses, random: np.random.Generator) -> np.ndarray:
    """The record of each meal, [meal, attribute]: files are out of date, sensors err, carbohydrates are guessed."""
    count, patient = len(meals.patient), meals.patient

    def about(values: np.ndarray, share: float) -> np.ndarray:
        return values * np.exp(share * random.normal(size=count))

    now, ago = np.asarray(courses.now, float), np.asarray(courses.ago, float)
    columns = (
        about(patients.weight[patient], 0.02),
        patients.age[patient],
        about(patients.total_daily_insulin[patient], 0.08),
        about(patients.carb_ratio[patient], 0.08),
        np.clip(now + 6.0 * random.normal(size=count), 40.0, 400.0),
        (now - ago) / TREND + 0.2 * random.normal(size=count),
        about(meals.carbs, 0.15),
        meals.earlier_bolus * np.clip(1 - meals.earlier / ON_BOARD, 0.0, 1.0),
        meals.hour,
    )
    return np.stack([np.round(column, places) for column, places in zip(columns, DECIMALS, strict=True)], axis=1)


def courses_of(patients: Patients, meals: Meals, units: tuple[float, ...]) -> Courses:
    """Simulate what came before each meal, then the meal under every dose."""
    doses = jnp.asarray(units, jnp.float32)
    blocks = [_courses(patients.bodies, patients.fasting, _single(meals, rows), doses) for rows in _blocks(meals)]
    return Courses(*(np.concatenate(columns)[: len(meals.patient)] for columns in zip(*blocks, strict=True)))


def curves_of(patients: Patients, meals: Meals, units: np.ndarray) -> np.ndarray:
    """Sensor glucose at every minute from the meal to `AFTER` minutes later, [meal, minute], under one dose each."""
    given = np.asarray(units, np.float32)
    blocks = [
        _curves(patients.bodies, patients.fasting, _single(meals, rows), jnp.asarray(given[rows]))
        for rows in _blocks(meals)
    ]
    return np.concatenate(blocks)[: len(meals.patient)]


def _blocks(meals: Meals) -> list[np.ndarray]:
    """Row numbers in blocks of the same length: the last is filled up by repeating rows."""
    count = len(meals.patient)
    return [np.arange(start, start + BLOCK) % count for start in range(0, count, BLOCK)]


def _single(meals: Meals, rows: np.ndarray) -> Meals:
    """Some of the meals, in single precision."""
    types = (np.int32 if np.issubdtype(column.dtype, np.integer) else np.float32 for column in meals)
    return Meals(*(jnp.asarray(column[rows], type_) for column, type_ in zip(meals, types, strict=True)))


@jax.jit
def _courses(bodies: Body, fasting: Amounts, meals: Meals, doses: Float[Array, " dose"]) -> Courses:
    def course(meal: Meals) -> Courses:
        body = _of(bodies, meal.patient)
        start, before = _until_now(body, _of(fasting, meal.patient), meal)
        curves = jax.vmap(lambda units: _from_now(body, start, meal.carbs, units))(doses)
        now, ago = curves[0, 0], before[HISTORY - TREND]
        return Courses(now, ago, curves[:, LATE:].mean(axis=1), curves.min(axis=1))

    return jax.vmap(course)(meals)


@jax.jit
def _curves(bodies: Body, fasting: Amounts, meals: Meals, units: Float[Array, " meal"]) -> Float[Array, "meal minute"]:
    def curve(meal: Meals, given: Float[Array, ""]) -> Float[Array, " minute"]:
        body = _of(bodies, meal.patient)
        start, _ = _until_now(body, _of(fasting, meal.patient), meal)
        return _from_now(body, start, meal.carbs, given)

    return jax.vmap(curve)(meals, units)


def _of(everyone: PerPatient, patient: Int[Array, ""]) -> PerPatient:
    return jax.tree.map(lambda column: column[patient], everyone)


def _until_now(body: Body, fasted: Amounts, meal: Meals) -> tuple[Condition, Float[Array, " minute"]]:
    """The patient's condition at the beginning of the meal, and the glucose of the hours before."""
    changed = {name: getattr(fasted, name) * meal.glucose_factor for name in GLUCOSE}
    start = Condition(fasted._replace(**changed), Meal.none())
    minutes = jnp.arange(HISTORY) == HISTORY - meal.earlier
    return simulate(body, start, minutes * meal.earlier_carbs, minutes * meal.earlier_bolus)


def _from_now(
    body: Body, start: Condition, carbs: Float[Array, ""], units: Float[Array, ""]
) -> Float[Array, " minute"]:
    first = jnp.arange(AFTER + 1) == 0
    return simulate(body, start, first * carbs, first * units)[1]
