"""Rewards far from zero: numbers of seven digits, in which models compute, could not tell actions apart there."""

import numpy as np
import polars as pl
import pytest
from conftest import read, small_settings, visits

import prudent
from prudent.decide import advice_table

OFFSET = 1e7


@pytest.fixture(scope="module")
def far():
    return small_settings("causal").fit(read(visits().assign(outcome=lambda table: table["outcome"] + OFFSET)), seed=0)


@pytest.mark.parametrize("strategy", [prudent.Conservative(risk=0.2), prudent.AtMost(0.1, below=-1.0)])
def test_advice_does_not_depend_on_where_zero_is(fitted_models, far, cases, strategy):
    moved = prudent.AtMost(0.1, below=OFFSET - 1.0) if isinstance(strategy, prudent.AtMost) else strategy
    near = fitted_models["causal"].policy(strategy, floor=-0.5).recommend(cases)
    away = far.policy(moved, floor=OFFSET - 0.5).recommend(cases)
    assert list(away.actions) == list(near.actions)
    for name in ("expected_reward", "worst_reward", "outcome_low", "outcome_high"):
        np.testing.assert_allclose(getattr(away, name) - OFFSET, getattr(near, name), atol=1e-3)


def test_evaluations_and_guarantees_move_with_the_rewards(fitted_models, far, cases):
    def judged(model, offset):
        later = model.read(visits(300, seed=5).assign(outcome=lambda table: table["outcome"] + offset))
        policy = model.policy()
        evaluation = prudent.evaluate(policy, later, below=offset - 1.0)
        guarantee = prudent.guarantee(policy, later, confidence=0.8)
        return evaluation, policy.recommend(cases, guarantee=guarantee).guaranteed_reward

    (near, near_bounds), (away, away_bounds) = judged(fitted_models["causal"], 0.0), judged(far, OFFSET)
    np.testing.assert_allclose(away_bounds - OFFSET, near_bounds, atol=2e-3)
    for estimator in ("direct", "dr"):
        moved, value = (one.estimate("policy", estimator).value for one in (away, near))
        assert moved - OFFSET == pytest.approx(value, abs=1e-3)


def test_the_origin_is_saved(far, cases, tmp_path):
    far.save(tmp_path / "model")
    again = prudent.load(tmp_path / "model")
    assert again.origin == far.origin != 0
    np.testing.assert_array_equal(
        again.policy().recommend(cases).expected_reward, far.policy().recommend(cases).expected_reward
    )


def test_explanations_move_with_the_rewards(fitted_models, far, cases):
    near, away = (model.policy().recommend(cases)[0].explain() for model in (fitted_models["causal"], far))
    for one, other in zip(near.prices, away.prices, strict=True):
        assert other.action == one.action
        assert other.expected_reward - OFFSET == pytest.approx(one.expected_reward, abs=1e-3)
        assert other.low_reward - OFFSET == pytest.approx(one.low_reward, abs=1e-3)


def test_what_is_written_tells_rewards_apart(fitted_models, far, cases):
    near, away = (model.policy().recommend(cases) for model in (fitted_models["causal"], far))
    as_csv = pl.read_csv(advice_table(away, pl.DataFrame(), as_text=True).write_csv().encode())
    for name in ("expected_reward", "worst_reward", "outcome_low"):
        np.testing.assert_allclose(as_csv[name].to_numpy() - OFFSET, getattr(near, name), atol=1e-3)
    one, other = near[0].explain(), away[0].explain()
    assert other.runner_up == one.runner_up
    assert ("level" in other.reason) == ("level" in one.reason)
    price = next(price for price in other.prices if price.action == other.about)
    assert f"{price.expected_reward:.2f}" in str(other)
    mean = away.summary()["actions"][0]["expected_reward"]
    assert str(mean)[:9] in str(away)
