"""The virtual patients follow their reference, and the clinic's log is what it says it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from prudent import InputProblem, Log
from prudent.worlds import InsulinWorld, calculated_bolus, glucose_reward
from prudent.worlds.insulin.clinic import Gaps, nearest
from prudent.worlds.insulin.meals import LATE
from prudent.worlds.insulin.patients import Patients
from prudent.worlds.insulin.physiology import Condition, Meal, basal, simulate

REFERENCE = json.loads((Path(__file__).parent / "reference" / "simglucose.json").read_text())["curves"]
MINUTES = 1441


@pytest.fixture(autouse=True, scope="module")
def short_past() -> Iterator[None]:
    """Tests simulate without optimised programs: the clinic learns from fewer meals here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prudent.worlds.insulin.world.TAUGHT", 500)
        yield


@pytest.fixture(scope="module")
def world() -> InsulinWorld:
    return InsulinWorld()


@pytest.fixture(scope="module")
def sample(world):
    return world.sample(400, seed=1)


def simulated(patients: list[str], carbs: np.ndarray, bolus: np.ndarray) -> np.ndarray:
    known = Patients.virtual()
    who = jnp.array([known.names.index(name) for name in patients])
    bodies, fasting = jax.tree.map(lambda column: column[who], (known.bodies, known.fasting))
    start = Condition(fasting, jax.tree.map(lambda column: jnp.zeros(len(patients)), Meal.none()))
    return np.asarray(jax.jit(jax.vmap(simulate))(bodies, start, jnp.asarray(carbs), jnp.asarray(bolus))[1])


def given(key: str) -> np.ndarray:
    doses = np.zeros((len(REFERENCE), MINUTES), np.float32)
    for row, one in enumerate(REFERENCE):
        for minute, amount in one[key]:
            doses[row, minute] = amount
    return doses


def test_curves_are_those_of_the_reference():
    curves = simulated([one["patient"] for one in REFERENCE], given("meals"), given("boluses"))
    kept = np.array([one["glucose"] for one in REFERENCE])
    assert np.abs(curves[:, ::10] - kept).max() < 0.05  # mg/dl, over 24 hours
    assert np.ptp(kept, axis=1).min() > 50  # no curve is flat


def test_fasting_on_basal_insulin_nothing_moves():
    names = list(Patients.virtual().names)
    nothing = np.zeros((len(names), 600), np.float32)
    curves = simulated(names, nothing, nothing)
    assert np.abs(curves - curves[:, :1]).max() < 0.5


def test_what_can_be_used_up_ends_at_nothing_and_comes_back():
    carbs, bolus = np.zeros((1, 1200), np.float32), np.zeros((1, 1200), np.float32)
    bolus[0, 0], carbs[0, 900] = 200.0, 300.0
    curve = simulated(["child#001"], carbs, bolus)[0]
    assert curve.min() >= 0
    assert curve.min() < 1
    assert curve[900:].max() > 20


def test_basal_insulin_is_within_what_pumps_give():
    known = Patients.virtual()
    hourly = 60 * np.asarray(jax.vmap(basal)(known.bodies))
    assert hourly.min() > 0.1
    assert hourly.max() < 4


@pytest.mark.parametrize(("glucose", "reward"), [(60, -2), (80, 0), (90, 1), (110, 1), (130, 1), (180, 0), (280, -2)])
def test_the_reward_of_the_paper(glucose, reward):
    assert glucose_reward(glucose) == pytest.approx(reward)


def test_every_dose_of_a_meal_is_priced(world, sample):
    assert sample.theta.shape == (400, 10)
    np.testing.assert_allclose(sample.theta, glucose_reward(sample.glucose))
    np.testing.assert_array_equal(sample.rewards, sample.of(sample.theta, sample.actions))
    # more insulin never raises glucose, up to the precision of the simulation
    assert np.diff(sample.glucose, axis=1).max() < 0.01
    assert np.diff(sample.lowest, axis=1).max() < 0.01
    assert (sample.lowest <= sample.glucose + 1e-3).all()


def test_curves_agree_with_the_outcomes(world, sample):
    rows, actions = [3, 7, 250], [0, 4, 9]
    curves = world.curves(sample, rows, actions)
    assert curves.shape == (3, 241)
    np.testing.assert_allclose(curves[:, LATE:].mean(axis=1), sample.glucose[rows, actions], atol=0.01)
    np.testing.assert_allclose(curves.min(axis=1), sample.lowest[rows, actions], atol=0.01)


def test_the_sensor_reads_the_glucose_of_the_moment(world, sample):
    everyone = np.arange(len(sample))
    now = world.curves(sample, everyone, np.zeros(len(sample), int))[:, 0]
    inside = (now > 60) & (now < 380)
    error = sample.full[inside, world.names.index("glucose")] - now[inside]
    assert abs(error.mean()) < 1.5
    assert 4 < error.std() < 8


def test_same_seed_same_sample(world):
    one, same = world.sample(3, seed=5), InsulinWorld().sample(3, seed=5)
    np.testing.assert_array_equal(one.full, same.full)
    np.testing.assert_array_equal(one.actions, same.actions)
    assert not np.array_equal(one.full, world.sample(3, seed=6).full)
    assert not np.allclose(world.clinician.slopes, InsulinWorld(seed=1).clinician.slopes)


def test_the_clinic_knows_something_and_tries_everything(world, sample):
    np.testing.assert_allclose(sample.propensity.sum(axis=1), 1.0)
    assert sample.propensity.min() >= 0.05
    np.testing.assert_allclose(world.propensity(sample.values), sample.propensity)
    clinician = world.clinician.probabilities(sample.values)
    wise = (clinician * sample.theta).sum(axis=1).mean()
    best = world.value(np.full(len(sample), world.best_constant(sample)), sample)
    assert sample.theta.mean() < best < wise < sample.theta.max(axis=1).mean()


def test_propensities_are_those_of_the_log(world):
    many = world.sample(1500, seed=8)
    taken = np.eye(10)[many.actions]
    standard_error = np.sqrt((many.propensity * (1 - many.propensity)).sum(axis=0)) / len(many)
    gap = np.abs(taken.mean(axis=0) - many.propensity.mean(axis=0))
    assert (gap < 4 * standard_error).all()


def test_gaps_at_random_and_by_sickness():
    random = InsulinWorld().sample(1500, seed=2)
    assert np.abs(1 - random.observed.mean(axis=0) - 0.3).max() < 0.045
    np.testing.assert_array_equal(np.isnan(random.values), ~random.observed)
    tested = InsulinWorld(mechanism="mar").sample(1500, seed=2)
    glucose = tested.full[:, 4]
    assert tested.observed[:, 4].all()
    assert abs(1 - tested.observed.mean() - 0.3) < 0.025
    sick = np.abs(glucose - 120) > 60
    assert tested.observed[sick].mean() > tested.observed[~sick].mean() + 0.1
    assert Gaps.of(0.0, "mar", random.full).chances(random.full).max() == 0


def test_who_is_sick_depends_on_glucose_alone(sample):
    gaps = Gaps.of(0.3, "mar", sample.full)
    others = sample.full.copy()
    others[:, np.arange(9) != 4] = 0.0
    np.testing.assert_array_equal(gaps.chances(sample.full), gaps.chances(others))
    assert np.ptp(gaps.chances(sample.full)[:, 0]) > 0.1


def test_trend_and_insulin_on_board_follow_what_came_before(world, sample):
    ago = sample.meals.earlier
    on_board = sample.full[:, world.names.index("insulin_on_board")]
    assert (on_board[ago >= 240] == 0).all()
    recent = (ago < 120) & (sample.meals.earlier_bolus > 1)
    np.testing.assert_allclose(on_board[recent], (sample.meals.earlier_bolus * (1 - ago / 240))[recent], atol=0.006)
    # the sensor's trend is the slope that goes on in the first minutes after the meal, before it can act
    curves = world.curves(sample, np.arange(len(sample)), np.zeros(len(sample), int))
    slope = (curves[:, 3] - curves[:, 0]) / 3
    assert np.corrcoef(slope, sample.full[:, world.names.index("trend")])[0, 1] > 0.8


def test_the_frame_is_a_log_as_it_is(world, sample):
    before = sample.values.copy()
    log = Log.from_frame(sample.frame(), action="dose", reward="outcome", kinds=world.kinds)
    assert len(log) == 400
    assert [column.name for column in log.schema.columns] == list(world.names)
    np.testing.assert_array_equal(log.observed, sample.observed)
    np.testing.assert_array_equal(world.index(log.action_labels), np.arange(10))
    np.testing.assert_array_equal(before, sample.values)
    assert sample.cases().columns == list(world.names)


def test_the_usual_rule():
    record = [70.0, 30.0, 45.0, 10.0, 160.0, 0.0, 50.0, 1.0, 12.0]
    assert calculated_bolus(np.array([record])).tolist() == [5.0]  # 50/10 + 40·45/1800 − 1
    assert calculated_bolus(np.array([[*record[:7], 30.0, 12.0]])).tolist() == [0.0]
    assert nearest(np.array([0.4, 5.6, 99.0]), InsulinWorld().units).tolist() == [0, 5, 9]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"gaps": 1.0}, "'gaps' parameter of InsulinWorld"),
        ({"gaps": 0.9, "mechanism": "mar"}, "under 'mar'"),
        ({"mechanism": "mnar"}, "'mechanism'"),
        ({"seed": -1}, "'seed' parameter"),
    ],
)
def test_bad_settings_are_named(settings, named):
    with pytest.raises(InputProblem, match=named):
        InsulinWorld(**settings)


def test_unknown_doses_are_named(world):
    with pytest.raises(InputProblem, match=r"5\.0"):
        world.index([5.0])
