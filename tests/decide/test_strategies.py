"""Strategies against tables worked out by hand, and against a world small enough to enumerate."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COMPLETIONS

from prudent.decide import (
    BestFrequencyLottery,
    Comparison,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    PriceTable,
    Strategy,
    TailAverse,
)
from prudent.networks import quasi_random
from prudent.worlds import ErasureWorld

# x̂ first, without weight; then four draws with uneven weights, from the densest to the least dense
PRICES = np.array([[5.0, 4.0], [5.0, 4.0], [1.0, 3.0], [6.0, 2.0], [-9.0, 1.0]])
WEIGHTS = np.array([0.0, 0.4, 0.3, 0.2, 0.1])
DENSITY = np.log(np.array([1.0, 0.9, 0.5, 0.2, 0.01]))


def table(prices: np.ndarray = PRICES, weights: Any = WEIGHTS, density: np.ndarray = DENSITY) -> PriceTable:
    with np.errstate(divide="ignore"):
        parts = (prices, np.log(np.asarray(weights, float)), density)
    own, log_weights, log_density = (jnp.asarray(part, jnp.float32) for part in parts)
    return PriceTable(own, log_weights, log_density)


@pytest.mark.parametrize(
    ("strategy", "scores"),
    [
        (Imputation(), [5.0, 4.0]),
        (MaximumExpectedReward(), [0.4 * 5 + 0.3 * 1 + 0.2 * 6 - 0.9, 1.6 + 0.9 + 0.4 + 0.1]),
        (Conservative(c=0.95), [5.0, 4.0]),
        (Conservative(c=0.6), [5.0, 4.0]),
        (Conservative(c=0.4), [1.0, 3.0]),
        (Conservative(c=0.1), [1.0, 2.0]),
        (Conservative(c=0.0), [-9.0, 1.0]),
        (Conservative(c=0.1, paper_literal=True), [1.0, 2.0]),
        # mass before each draw: 0, .4, .7, .9; a draw is in while what is denser has not reached 1 − risk
        (Conservative(risk=0.7), [5.0, 4.0]),
        (Conservative(risk=0.6), [5.0, 4.0]),
        (Conservative(risk=0.5), [1.0, 3.0]),
        (Conservative(risk=0.3), [1.0, 3.0]),
        (Conservative(risk=0.2), [1.0, 2.0]),
        (Conservative(risk=0.1), [1.0, 2.0]),
        (Conservative(risk=0.05), [-9.0, 1.0]),
        (Conservative(risk=0.0), [-9.0, 1.0]),
        # worst first, action 0: −9 (.1), 1 (.3), 5 (.4), 6 (.2); action 1: 1 (.1), 2 (.2), 3 (.3), 4 (.4)
        (TailAverse(risk=0.1), [-9.0, 1.0]),
        (TailAverse(risk=0.2), [(-0.9 + 0.1) / 0.2, (0.1 + 0.2) / 0.2]),
        (TailAverse(risk=0.5), [(-0.9 + 0.3 + 0.5) / 0.5, (0.1 + 0.4 + 0.6) / 0.5]),
        (TailAverse(risk=1.0), [2.6, 3.0]),
        (TailAverse(risk=0.05, measure="quantile"), [-9.0, 1.0]),
        (TailAverse(risk=0.1, measure="quantile"), [-9.0, 1.0]),
        (TailAverse(risk=0.11, measure="quantile"), [1.0, 2.0]),
        (TailAverse(risk=0.4, measure="quantile"), [1.0, 3.0]),
        (TailAverse(risk=0.41, measure="quantile"), [5.0, 3.0]),
        (TailAverse(risk=1.0, measure="quantile"), [6.0, 4.0]),
        (MostOftenBest(), [0.6, 0.4]),
        (BestFrequencyLottery(), [0.6, 0.4]),
    ],
    ids=repr,
)
def test_scores_worked_out_by_hand(strategy, scores):
    np.testing.assert_allclose(strategy.scores(table()), scores, rtol=1e-5)


def test_equally_dense_completions_enter_together():
    equal = table(density=np.zeros(5))
    for strategy in (Conservative(risk=0.9), Conservative(c=0.99), Conservative(risk=0.05)):
        np.testing.assert_allclose(strategy.scores(equal), [-9.0, 1.0])
    pairs = table(density=np.array([0.0, 0.0, -1.0, -1.0, -2.0]))
    assert Conservative(risk=0.5).plausible_set.inside(pairs).tolist() == [True, True, True, True, False]
    assert Conservative(risk=0.6).plausible_set.inside(pairs).tolist() == [True, True, False, False, False]


def test_even_weights_at_the_border_of_the_set():
    """Twenty draws of 0.05 each: risk 0.05 leaves out exactly the least dense one, whatever floats sum to."""
    for count in (20, 40, 100, 200):
        prices = np.arange(count + 1.0)[::-1, None] * np.ones((1, 2))
        even = table(prices, [0.0] + [1 / count] * count, np.linspace(0, -5, count + 1))
        assert int(Conservative(risk=0.05).plausible_set.inside(even).sum()) == 1 + count - count // 20


def test_the_most_likely_completion_belongs_without_weight():
    """x̂ has no weight: it moves the worst case, never the mean."""
    worse = PRICES.copy()
    worse[0] = [-100.0, 50.0]
    changed = table(worse)
    np.testing.assert_allclose(Conservative(risk=0.05).scores(changed), [-100.0, 1.0])
    for strategy in (MaximumExpectedReward(), TailAverse(), MostOftenBest()):
        np.testing.assert_allclose(strategy.scores(changed), strategy.scores(table()), rtol=1e-5)


def test_ties_go_to_the_first_action():
    tied = table(np.ones((5, 2)))
    for strategy in (Imputation(), MaximumExpectedReward(), Conservative(), TailAverse(), MostOftenBest()):
        assert int(jnp.argmax(strategy.scores(tied))) == 0


def test_entropy_in_bits():
    assert float(table().action_entropy) == pytest.approx(-(0.6 * np.log2(0.6) + 0.4 * np.log2(0.4)), abs=1e-5)
    assert float(table(np.array([[2.0, 1.0]] * 5)).action_entropy) == pytest.approx(0.0, abs=1e-6)
    assert float(table().effective_completions) == pytest.approx(1 / (0.16 + 0.09 + 0.04 + 0.01), rel=1e-5)


def test_lottery_draws_in_proportion(fitted_models, cases):
    """Over many seeds each row's action is drawn as often as it is best; with one seed it is always the same."""
    fitted = fitted_models["causal"]
    encoded = fitted.schema.encode(cases)
    policy = fitted.policy(BestFrequencyLottery(), completions=64)
    chooser = policy.chooser
    scored, everything = chooser.score(encoded), np.ones((len(cases), 3), bool)
    seeds = 600
    counts = np.zeros_like(scored.scores)
    for seed in range(seeds):
        chosen, *_ = replace(chooser, seed=seed).choose(scored, encoded, everything)
        assert (chosen >= 0).all()
        counts[np.arange(len(cases)), chosen] += 1
    np.testing.assert_allclose(counts / seeds, scored.scores, atol=0.12)
    assert np.abs(counts / seeds - scored.scores).mean() < 0.02
    assert policy.recommend(cases).actions == policy.recommend(cases).actions


def test_lottery_never_draws_what_is_not_allowed(fitted_models, cases):
    advice = (
        fitted_models["causal"].policy(BestFrequencyLottery(), completions=64).recommend(cases, [["none"]] * len(cases))
    )
    assert set(advice.actions) == {"none"}


def _exact_tables(world: ErasureWorld) -> list[PriceTable]:
    """The price table of every record with gaps, from the enumerated posterior; gaps read as 0 make x̂."""
    tables = []
    for posterior in world.posterior(world.degraded):
        most_likely = int(np.argmax(posterior))
        order = np.concatenate([[most_likely], np.arange(len(posterior))])
        weights = np.concatenate([[0.0], posterior])
        with np.errstate(divide="ignore"):
            density = np.log(posterior)[order]
        tables.append(table(world.theta_of_records[order], weights, density))
    return tables


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("imputation", Imputation()),
        ("expected", MaximumExpectedReward()),
        ("conservative", Conservative(c=0.1)),
        ("conservative", Conservative(risk=0.05)),
        ("most often best", MostOftenBest()),
    ],
)
def test_exact_posterior_gives_the_exact_scores(name, strategy):
    world = ErasureWorld()
    exact = world.scores(name, world.degraded)
    ours = np.array([strategy.scores(one) for one in _exact_tables(world)])
    np.testing.assert_allclose(ours, exact, atol=1e-5)
    chosen = np.argmax(ours, axis=1)
    tied = np.abs(exact[:, 0] - exact[:, 1]) < 1e-6
    assert ((chosen == world.act(name, world.degraded)) | tied).all()


def test_action_entropy_of_the_appendix():
    world = ErasureWorld()
    entropies = np.array([float(one.action_entropy) for one in _exact_tables(world)])
    assert float(world.degraded_probability @ entropies) == pytest.approx(0.571, abs=5e-4)


def test_quasi_random_points_are_inside_and_repeat():
    points = quasi_random(100, 7, seed=3)
    assert points.shape == (100, 7)
    assert points.min() > 0
    assert points.max() < 1
    np.testing.assert_array_equal(points, quasi_random(100, 7, seed=3))
    assert not np.array_equal(points, quasi_random(100, 7, seed=4))
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=0.02)


class LeastSpread(Strategy):
    """A user's own rule: nothing but `scores`."""

    def scores(self, table: PriceTable) -> jax.Array:
        return -jnp.ptp(table.prices, axis=0)


def test_a_strategy_of_ones_own_needs_only_scores(fitted_models, cases):
    """Everything that reads a strategy (policy, explanation, frontier's families) has a default for it."""
    strategy = LeastSpread()
    policy = fitted_models["causal"].policy(strategy, completions=COMPLETIONS)
    advice = policy.recommend(cases)
    assert not policy.searched
    assert policy.plausible_set.risk == 0.05
    scores = advice.scored.scores
    assert [policy.fitted.action_labels[best] for best in scores.argmax(axis=1)] == advice.actions
    best, other = strategy.reason(Comparison("a", "b", "1", "0.5")).split(";")
    assert ("a" in best, "b" in other) == (True, True)
    assert (strategy.family, strategy.setting) == (repr(strategy), "")
