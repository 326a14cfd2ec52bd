"""The range of single outcomes: exact where it can be, the user's sign, none without noise; and how often it holds."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from conftest import COMPLETIONS, visits
from scipy.stats import norm

from prudent.decide import Circumstances, MaximumExpectedReward, outcome_quantile, outcome_scale, outcome_spread
from prudent.decide.outcomes import chance_best
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")


def test_quantiles_of_one_gaussian_and_of_a_mixture():
    single = partial(outcome_quantile, jnp.array([2.0, 9.0]), jnp.array([3.0, 1.0]), jnp.array([1.0, 0.0]))
    for share in (0.05, 0.5, 0.95):
        assert single(jnp.float32(share)) == pytest.approx(norm.ppf(share, 2, 3), abs=1e-4)
    prices, scale, weights = np.array([-5.0, 0.0, 1.0]), np.array([0.1, 1.0, 0.5]), np.array([0.04, 0.56, 0.4])
    for share in (0.03, 0.05, 0.95):
        mixture = partial(outcome_quantile, *map(jnp.asarray, (prices, scale, weights)))
        found = float(mixture(share=jnp.float32(share)))
        assert weights @ norm.cdf((found - prices) / scale) == pytest.approx(share, abs=1e-5)
    mean, spread = outcome_spread(*map(jnp.asarray, (prices, scale, weights)))
    assert mean == pytest.approx(weights @ prices)
    assert spread == pytest.approx(np.sqrt(weights @ (scale**2 + prices**2) - (weights @ prices) ** 2))


@pytest.mark.parametrize(
    ("mean", "other", "sd", "other_sd"), [(0.671, 0.569, 0.105, 0.037), (0.0, 0.0, 1.0, 2.0), (1.0, -1.0, 0.3, 0.1)]
)
def test_the_chance_to_be_best_counts_doubt_exactly_for_two_actions(mean, other, sd, other_sd):
    prices, doubt = np.array([[9.0, 0.0], [mean, other]]), np.array([[1.0, 1.0], [sd, other_sd]])
    chances = chance_best(prices, np.array([0.0, 1.0]), doubt)
    assert chances.sum() == pytest.approx(1)
    assert chances[0] == pytest.approx(norm.cdf((mean - other) / np.hypot(sd, other_sd)), abs=0.005)


def test_the_chance_to_be_best_mixes_the_gaps_and_without_doubt_counts_them_alone():
    prices, weights = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]), np.array([0.3, 0.7])
    for doubt in (None, np.zeros((2, 3))):
        assert chance_best(prices, weights, doubt).tolist() == pytest.approx([0.3, 0.7, 0.0])
    first = norm.cdf(1 / np.hypot(0.8, 0.6))
    doubt = np.tile([0.8, 0.6, 0.0], (2, 1))
    far = prices - np.array([[0.0, 0.0, 9.0]])
    assert chance_best(far, weights, doubt)[0] == pytest.approx(0.3 * first + 0.7 * (1 - first), abs=0.005)


def test_doubt_and_noise_add_as_variances():
    noise, doubt = jnp.full((2, 1), 3.0), jnp.full((2, 1), 4.0)
    assert outcome_scale(noise, doubt).tolist() == [[5.0], [5.0]]
    assert outcome_scale(noise, None).tolist() == [[3.0], [3.0]]


def test_the_range_of_a_complete_record_is_that_of_its_noise():
    world = DosingWorld(noise=0.5)
    sample = world.sample(8, seed=1)
    complete = pd.DataFrame(sample.full, columns=list(world.exact_model().schema.names))
    advice = world.exact_model().policy(completions=COMPLETIONS).recommend(complete)
    for end, share in ((advice.outcome_low, 0.05), (advice.outcome_high, 0.95)):
        np.testing.assert_allclose(end, advice.expected_reward + 0.5 * norm.ppf(share), atol=1e-3)


def test_columns_of_the_advice_and_of_a_minimised_reward(fitted_models: Any, cases: pd.DataFrame):
    causal = fitted_models["causal"]
    advice = causal.policy(completions=COMPLETIONS).recommend(cases)
    names = list(advice.to_frame().columns)
    assert names[names.index("worst_reward") + 1 :][:2] == ["outcome_low", "outcome_high"]
    assert (advice.outcome_low < advice.expected_reward).all()
    assert (advice.expected_reward < advice.outcome_high).all()
    flipped = replace(causal, minimize=True).policy(completions=COMPLETIONS).recommend(cases)
    np.testing.assert_array_equal(flipped.outcome_low, -advice.outcome_high)
    np.testing.assert_array_equal(flipped.outcome_high, -advice.outcome_low)


def test_a_referred_row_and_a_model_without_noise_have_no_range(fitted_models: Any, cases: pd.DataFrame):
    referred = fitted_models["causal"].policy(completions=COMPLETIONS, floor=99.0).recommend(cases.head(3))
    assert referred.columns()["outcome_low"] == [None] * 3
    given = fitted_models["causal"].policy(completions=COMPLETIONS, floor=99.0, fallback="low").recommend(cases.head(3))
    assert None not in given.columns()["outcome_high"]
    silent = fitted_models["conditional"].policy(completions=COMPLETIONS).recommend(cases.head(3))
    assert silent.columns()["outcome_low"] == silent.columns()["outcome_high"] == [None] * 3


def test_the_range_widens_with_doubt_whether_or_not_a_policy_subtracts_it(fitted_models: Any, cases: pd.DataFrame):
    causal = fitted_models["causal"]
    plain = causal.policy(completions=COMPLETIONS)
    advice = plain.recommend(cases.head(1))  # a complete record
    table = plain.pricing.detail(advice.encoded.values[0], advice.encoded.observed[0])[1]
    at = int(advice.chosen[0])
    sd = jnp.sqrt(table.noise**2 + table.doubt**2)
    circumstances = Circumstances.of(table.prices, sd, table.weights)
    score = causal.model.calibration_with_doubt.uncorrected(jnp.float32(norm.ppf(0.05)), circumstances)[at]
    assert advice.outcome_low[0] == pytest.approx(advice.expected_reward[0] + float(score * sd[0, at]), rel=2e-3)
    assert advice.outcome_low[0] > advice.expected_reward[0] + float(score * 1.2 * sd[0, at])
    assert advice.outcome_low[0] < advice.expected_reward[0] + float(score * table.noise[0, at]) - 1e-3
    careful = causal.policy(completions=COMPLETIONS, doubt=1e-6).recommend(cases)
    np.testing.assert_allclose(careful.outcome_low, plain.recommend(cases).outcome_low, rtol=1e-3, atol=1e-3)


def test_nine_of_ten_true_outcomes_lie_in_the_range():
    """With the exact posterior; how often it holds for fitted models is measured in docs/careful.md."""
    world = DosingWorld(noise=0.5)
    sample = world.sample(800, seed=3)
    policy = world.exact_model().policy(MaximumExpectedReward(), completions=COMPLETIONS)
    advice = policy.recommend(sample.cases())
    outcomes = sample.theta[np.arange(800), advice.chosen] + 0.5 * np.random.default_rng(4).normal(size=800)
    inside = (advice.outcome_low <= outcomes) & (outcomes <= advice.outcome_high)
    assert inside.mean() == pytest.approx(0.9, abs=0.04)


def test_most_outcomes_of_a_small_fitted_model_lie_in_the_range(fitted_models: Any):
    later = visits(400, seed=5)
    advice = fitted_models["causal"].policy(completions=COMPLETIONS).recommend(later.drop(columns=["dose", "outcome"]))
    agreed = np.array([one == other for one, other in zip(advice.actions, later["dose"], strict=True)])
    outcomes = later["outcome"].to_numpy()[agreed]
    inside = (advice.outcome_low[agreed] <= outcomes) & (outcomes <= advice.outcome_high[agreed])
    assert agreed.sum() > 80
    assert 0.75 < inside.mean() < 1
    assert (outcomes < advice.worst_reward[agreed]).mean() > (outcomes < advice.outcome_low[agreed]).mean()
