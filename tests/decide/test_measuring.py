"""The value of measuring: exact in the dosing world, and estimated from completions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted_model import Counter
from jax.scipy.special import ndtri

import prudent
from prudent.decide import Completions, Model, PlausibleSet, PriceTable, turning_points, value_of_measuring
from prudent.decide.measure.filling import Attributes, Draws, record_gains
from prudent.models import FitReport, Fitted
from prudent.table import Column, Schema
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")


class Coin(Model):
    """Three independent standard attributes; action 1 earns what 'decides' shows, action 0 nothing.

    'idle' changes no price. 'both' adds the same to every action, so it changes no decision.
    """

    @property
    def members(self) -> int:
        return 1

    @property
    def draw_size(self) -> int:
        return 3

    def complete(self, values, observed, uniforms, literal):
        drawn = jnp.where(observed[None, :], values[None, :], ndtri(uniforms[0]))
        log_density = jnp.sum(jnp.where(observed[None, :], 0.0, -0.5 * drawn**2), axis=1)
        centre = jnp.where(observed, values, 0.0)
        count = drawn.shape[0]
        return Completions(
            jnp.concatenate([centre[None], drawn]),
            jnp.concatenate([jnp.array([-jnp.inf]), jnp.full(count, -jnp.log(count))]),
            jnp.concatenate([jnp.zeros(1), log_density]),
        )

    def price(self, values):
        return (jnp.array([0.0, 1.0]) * values[0] + values[2])[None]


def coin(minimize: bool = False) -> Fitted:
    schema = Schema(tuple(Column(name, "real", low=-3.0, high=3.0) for name in ("decides", "idle", "both")))
    return Fitted(Coin(), None, schema, ("wait", "treat"), minimize, FitReport(1, 1, 1, (), ()))


NOTHING_KNOWN = {"decides": [None], "idle": [None], "both": [None]}


def test_a_gap_that_decides_everything_comes_first_and_the_others_are_worth_exactly_nothing():
    measuring = value_of_measuring(coin().policy(), NOTHING_KNOWN)
    assert measuring.measure_next == ["decides"]
    # E max(0, X) of a standard normal
    np.testing.assert_allclose(measuring.expected_gain[0, 0], 1 / np.sqrt(2 * np.pi), atol=0.03)
    assert measuring.expected_gain[0, 1:].tolist() == [0.0, 0.0]
    assert measuring.worst_gain[0, 0] > 0.3
    assert measuring.worst_gain[0, 1] == 0.0


def test_rows_of_which_nothing_is_worth_measuring_get_none():
    cases = {"decides": [0.3, 0.3], "idle": [None, 1.0], "both": [None, 1.0]}
    measuring = value_of_measuring(coin().policy(), cases)
    assert measuring.measure_next == [None, None]
    assert np.isnan(measuring.measure_value).all()
    assert np.isnan(measuring.gain[1]).all()
    np.testing.assert_array_equal(measuring.expected_gain[0], [np.nan, 0.0, 0.0])


def test_costs_flip_the_choice():
    policy = coin().policy()
    free = value_of_measuring(policy, NOTHING_KNOWN)
    dear = value_of_measuring(policy, NOTHING_KNOWN, costs={"decides": 0.5})
    some = value_of_measuring(policy, NOTHING_KNOWN, costs={"decides": 0.1, "idle": 3})
    assert dear.measure_next == [None]
    assert some.measure_next == ["decides"]
    np.testing.assert_allclose(some.measure_value, free.measure_value - 0.1, rtol=1e-6)
    np.testing.assert_array_equal(some.expected_gain, free.expected_gain)
    assert some.costs.tolist() == [0.1, 3.0, 0.0]


def test_what_an_action_costs_counts():
    # treating costs more than it can ever bring, so that knowing does not help
    assert value_of_measuring(coin().policy(costs={"treat": 9.0}), NOTHING_KNOWN).measure_next == [None]


def test_a_minimised_reward_has_the_same_gains():
    plain, minimised = (value_of_measuring(coin(minimize=m).policy(), NOTHING_KNOWN) for m in (False, True))
    np.testing.assert_array_equal(plain.gain, minimised.gain)
    assert minimised.measure_value[0] > 0


def test_turning_points_are_where_the_decision_turns():
    for strategy in (prudent.MaximumExpectedReward(), prudent.Conservative(risk=0.1)):
        policy = coin().policy(strategy, costs={"treat": 0.2})
        encoded = policy.fitted.schema.encode(NOTHING_KNOWN)
        (point,) = turning_points(policy, encoded.values[0], encoded.observed[0])
        assert (point.attribute, point.action, point.high, point.levels) == (0, 1, np.inf, ())
        np.testing.assert_allclose(point.low, 0.2, atol=0.2)
        np.testing.assert_allclose(point.chance, 0.42, atol=0.06)


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({"decide": 1.0}, "Did you mean 'decides'"),
        ({"idle": -1.0}, "at least 0 for 'idle'"),
        ({"idle": "much"}, "at least 0 for 'idle'"),
        (["idle"], "map column names"),
    ],
)
def test_bad_costs_are_told(costs, sentence):
    with pytest.raises(prudent.InputProblem, match=sentence):
        value_of_measuring(coin().policy(), NOTHING_KNOWN, costs=costs)


def test_an_empty_table_is_told():
    with pytest.raises(prudent.InputProblem, match="no rows"):
        value_of_measuring(coin().policy(), {"decides": [], "idle": [], "both": []})


@pytest.fixture(scope="module")
def careful(fitted_models):
    return fitted_models["causal"].policy(prudent.Conservative(risk=0.1), completions=64)


def test_every_kind_of_column_runs_and_a_row_alone_is_the_row_in_the_batch(fitted_models, cases):
    policy = fitted_models["causal"].policy(completions=64)
    together = value_of_measuring(policy, cases)
    observed = policy.fitted.schema.encode(cases).observed
    np.testing.assert_array_equal(np.isnan(together.expected_gain), observed)
    assert together.measure_next[0] is None
    assert (together.gain[~observed] >= 0).all()
    assert (together.worst_gain[~observed] >= 0).all()
    some = [7, 1, 0, 5]
    apart = value_of_measuring(policy, cases.iloc[some])
    np.testing.assert_allclose(apart.expected_gain, together.expected_gain[some], atol=1e-4)
    np.testing.assert_allclose(apart.worst_gain, together.worst_gain[some], atol=1e-3)
    assert [together.measure_next[row] for row in some] == apart.measure_next


def test_worst_cases_found_for_the_advice_are_not_searched_for_again():
    """Rows are completed for the advice and, with more draws, for the measuring; and for nothing else."""
    counter, world = Counter(), DosingWorld(attributes=3, doses=3, gaps=0.5)
    policy = counter.model(world.exact_model()).policy(prudent.Conservative(risk=0.1))
    assert policy.searched
    cases = world.sample(8, seed=1).cases()
    advice = policy.recommend(cases, measure=True)
    assert counter.rows() == 8 + 8
    alone = value_of_measuring(policy, cases)
    assert advice.measuring is not None
    np.testing.assert_array_equal(advice.measuring.gain, alone.gain)
    assert advice.measuring.measure_next == alone.measure_next


def test_a_careful_policy_is_served_by_the_worst_case(careful, cases):
    few = cases.iloc[:8]
    measuring = value_of_measuring(careful, few)
    np.testing.assert_array_equal(measuring.gain, measuring.worst_gain)
    encoded = careful.fitted.schema.encode(few)
    points = turning_points(careful, encoded.values[1], encoded.observed[1])
    chosen = careful.recommend(few).chosen[1]
    assert all(point.action != chosen and 0 < point.chance <= 1.001 for point in points)
    assert [point.chance for point in points] == sorted((point.chance for point in points), reverse=True)


@pytest.fixture(scope="module")
def world() -> DosingWorld:
    return DosingWorld(attributes=4, doses=5, categorical=1, seed=3)


@pytest.mark.parametrize(
    ("strategy", "settings"), [("expected", {}), ("conservative", {"risk": 0.1}), ("tail", {"risk": 0.2})]
)
def test_exact_values_agree_with_brute_force(world, strategy, settings):
    sample = world.sample(6, seed=1)
    exact = world.value_of_measuring(sample, strategy=strategy, **settings)
    np.testing.assert_array_equal(np.isnan(exact), sample.observed)
    now = world.scores(strategy, sample, **settings).max(axis=1)
    drawn = world.completions(sample.values, sample.observed, count=4000, seed=2)
    for row, column in np.argwhere(~sample.observed)[:6]:
        seen = sample.observed[row].copy()
        seen[column] = True
        after = world.scores(strategy, drawn[row], np.tile(seen, (4000, 1)), **settings).max(axis=1)
        error = after.std() / np.sqrt(4000)
        assert abs(after.mean() - now[row] - exact[row, column]) < 4 * error + 0.01


def test_estimates_from_exact_completions_agree_with_exact_values(world):
    sample = world.sample(24, seed=5)
    drawn = world.completions(sample.values, sample.observed, count=512, seed=6)
    prices = world.theta(drawn.reshape(-1, 4)).reshape(24, 512, -1)
    density = world.log_density(drawn.reshape(-1, 4)).reshape(24, 512)
    attributes = Attributes((0, 1, 2), (3,), 3)

    @jax.jit
    @jax.vmap
    def gains(values, prices, density):
        draws = Draws(values, PriceTable(prices, jnp.full(512, -jnp.log(512.0)), density))
        tail = prudent.TailAverse(risk=0.2)
        return record_gains(draws, attributes, tail, PlausibleSet(risk=0.1), jnp.float32(jnp.nan))

    found = gains(*(jnp.asarray(part, jnp.float32) for part in (drawn, prices, density)))
    gaps = ~sample.observed
    for estimate, strategy, settings, off in (
        (found.expected, "expected", {}, 0.05),
        (found.strategy, "tail", {"risk": 0.2}, 0.15),
        (found.worst, "conservative", {"risk": 0.1}, 0.5),
    ):
        exact = world.value_of_measuring(sample, strategy=strategy, **settings)[gaps]
        own = np.asarray(estimate)[gaps]
        assert np.corrcoef(own, exact)[0, 1] > 0.85
        assert np.abs(own - exact).mean() < off
