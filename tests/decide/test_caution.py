"""Prices as lower bounds, costs of acting, permissions by rule: what steers the choice beside the strategy."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COMPLETIONS, read, small_settings

from benchmarks.doubt import LuckyClinic, lucky
from prudent import Conservative, InputProblem, MaximumExpectedReward, TailAverse
from prudent.decide import PriceTable, Status
from prudent.decide.caution import Caution
from prudent.table import Encoded
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")

WORLD = DosingWorld(attributes=4, doses=3)


def table(prices, doubt=None, noise=None):
    rows = len(prices)
    weights = jnp.concatenate([jnp.array([-jnp.inf]), jnp.full(rows - 1, -jnp.log(rows - 1.0))])
    doubt, noise = (None if part is None else jnp.asarray(part, jnp.float32) for part in (doubt, noise))
    return PriceTable(jnp.asarray(prices, jnp.float32), weights, jnp.zeros(rows), doubt, noise)


def test_lower_bounds_by_hand():
    prices, doubt, noise = [[1.0, 2.0], [3.0, 4.0]], [[0.1, 0.5], [0.2, 1.0]], [[0.3, 0.0], [0.3, 0.0]]
    caution = Caution(2.0, 1.0, jnp.array([0.0, 0.25]))
    assert np.allclose(caution.outcome(table(prices, doubt, noise)).prices, [[0.5, 1.0], [2.3, 2.0]])
    assert np.allclose(caution.net(table(prices, doubt, noise)).prices, [[0.5, 0.75], [2.3, 1.75]])
    # a model that does not say how unsure it is is taken at its word
    assert np.allclose(caution.outcome(table(prices)).prices, prices)


@pytest.mark.parametrize("strategy", [MaximumExpectedReward(), TailAverse(risk=0.3), Conservative(risk=0.1)], ids=repr)
def test_doubt_turns_any_strategy_away_from_a_price_that_is_only_a_guess(strategy):
    sure_and_guess = table([[1.0, 1.2]] * 5, doubt=[[0.1, 1.0]] * 5)
    assert strategy.scores(Caution(0.0, 0.0, jnp.zeros(2)).net(sure_and_guess)).argmax() == 1
    assert strategy.scores(Caution(1.0, 0.0, jnp.zeros(2)).net(sure_and_guess)).argmax() == 0


def test_doubt_avoids_a_rare_action_that_was_lucky():
    found = lucky(LuckyClinic(rows=300), 1, small_settings("causal"), doubts=(0.0, 3.0))
    assert found["doubt 0"]["rare"] > 0.3
    assert found["doubt 3"]["rare"] < 0.2 * found["doubt 0"]["rare"]
    assert found["doubt 3"]["mean_reward"] > found["doubt 0"]["mean_reward"] + 0.2


def test_doubt_lowers_the_worst_reward_and_not_the_expected(fitted_models, cases):
    plain, doubting, noisy = (
        fitted_models["causal"].policy(completions=COMPLETIONS, **options).recommend(cases)
        for options in ({}, {"doubt": 1.0}, {"noise": 1.0})
    )
    assert np.allclose(plain.scored.expected, doubting.scored.expected, atol=1e-5)
    assert (doubting.scored.worst < plain.scored.worst).all()
    drop = plain.scored.worst - noisy.scored.worst
    assert np.allclose(drop, drop[:1], atol=1e-4)


def exact(**options):
    fitted = WORLD.exact_model()
    return fitted.policy(completions=COMPLETIONS, **options), WORLD.sample(30, seed=4)


def test_costs_steer_the_choice_and_leave_rewards_alone():
    free, sample = exact()
    dear, _ = exact(costs={"5": 100.0, 0: 0.0})
    without, with_costs = free.recommend(sample.cases()), dear.recommend(sample.cases())
    assert 5 in without.actions
    assert 5 not in with_costs.actions
    assert np.allclose(without.scored.expected, with_costs.scored.expected)
    kept = without.chosen == with_costs.chosen
    assert kept.any()
    assert np.allclose(without.expected_reward[kept], with_costs.expected_reward[kept])


def test_costs_count_against_a_minimised_reward_too(frame, cases):
    flipped = frame.assign(outcome=-frame["outcome"])
    settings = small_settings("causal")
    up, down = settings.fit(read(frame), seed=0), settings.fit(read(flipped, minimize=True), seed=0)
    costs = {"none": 0.4}
    one = up.policy(costs=costs, completions=COMPLETIONS).recommend(cases)
    other = down.policy(costs=costs, completions=COMPLETIONS).recommend(cases)
    assert one.actions == other.actions
    assert one.actions != up.policy(completions=COMPLETIONS).recommend(cases).actions


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"costs": {"7 mg": 1.0}}, "'7 mg'"),
        ({"costs": {"5": float("nan")}}, "'costs' parameter of policy.*'5'.*nan"),
        ({"costs": {"5": 1e39}}, r"'costs' parameter of policy.*'5'.*1e\+39"),
        ({"doubt": -1}, "'doubt' parameter.*-1"),
        ({"noise": -0.5}, "'noise' parameter.*-0.5"),
    ],
)
def test_bad_options(options, named):
    with pytest.raises(InputProblem, match=named):
        exact(**options)


def test_nothing_is_recommended_by_prices_that_are_no_numbers(fitted_models, cases):
    fitted = fitted_models["causal"]
    for broken in (jnp.inf, jnp.nan):
        model = eqx.tree_at(lambda model: model.scale.location, fitted.model, jnp.float32(broken))
        with pytest.raises(InputProblem, match=r"'high'.*not a finite number"):
            replace(fitted, model=model).policy(completions=COMPLETIONS).recommend(cases)


def test_allowed_by_a_rule():
    policy, sample = exact()
    frame = sample.cases()

    def rule(row):
        if row["weight"] is None:
            return []
        return None if row["weight"] > 78 else ["0", 5]

    advice = policy.recommend(frame, allowed=rule)
    for weight, action, status in zip(frame["weight"], advice.actions, advice.status, strict=True):
        if weight is None:
            assert action is None
            assert status is Status.NOT_ALLOWED
        elif weight <= 78:
            assert action in (0, 5)
    assert advice.permitted.shape == (30, 3)
    free = policy.recommend(frame)
    heavy = np.array([weight is not None and weight > 78 for weight in frame["weight"]])
    assert (advice.chosen[heavy] == free.chosen[heavy]).all()


def test_what_is_no_collection_is_told():
    policy, sample = exact()
    wrong: Any = lambda row: 5  # noqa: E731
    with pytest.raises(InputProblem, match="allowed"):
        policy.recommend(sample.cases(), allowed=wrong)


class BoundsOfAnother:
    """Lower bounds that were made for another policy."""

    policy = None

    def bounds(self, encoded: Encoded, chosen: np.ndarray) -> np.ndarray:
        return np.zeros(len(chosen))

    def comparison(self, encoded: Encoded) -> list[str]:
        return []


def test_a_guarantee_of_another_policy_is_refused():
    policy, sample = exact()
    with pytest.raises(InputProblem, match="'guarantee' parameter"):
        policy.recommend(sample.cases(), guarantee=BoundsOfAnother())
