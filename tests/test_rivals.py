"""The rivals are real: each finds an obvious best action, lives with gaps and categories, and repeats itself."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.rivals import RIVALS, Boosting, ChainedForest, ChainedPolicyForest

ACTIONS = 3


def small(rival):
    """Fewer imputations and rounds, so that the tests stay quick; the settings otherwise are the benchmark's."""
    if isinstance(rival, Boosting):
        return replace(rival, stages=(25, 60))
    return replace(rival, imputations=1) if isinstance(rival, ChainedForest | ChainedPolicyForest) else rival


def world(rows, seed):
    """Three sites; the best action is the site's own, and a number shifts every reward alike."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 3, rows)
    values = np.stack([site.astype(float), rng.normal(size=rows)], axis=1)
    actions = rng.integers(0, ACTIONS, rows)
    rewards = 2.0 * (actions == site) + 0.3 * values[:, 1] + 0.1 * rng.normal(size=rows)
    return values, actions, rewards, site


@pytest.mark.parametrize("name", RIVALS)
def test_finds_the_obvious_best_action(name):
    values, actions, rewards, _ = world(450, seed=0)
    fitted = small(RIVALS[name]).fit(values, np.array([True, False]), actions, rewards, ACTIONS, seed=0)
    new, _, _, best = world(300, seed=1)
    assert (fitted.predict(new) == best).mean() > 0.9


@pytest.mark.parametrize("name", RIVALS)
def test_lives_with_gaps_missing_rewards_and_an_action_never_seen(name):
    values, actions, rewards, _ = world(300, seed=2)
    values[np.random.default_rng(3).random(values.shape) < 0.3] = np.nan
    values = np.column_stack([values, np.full(300, np.nan)])
    rewards[:5], actions[5:10] = np.nan, -1
    fitted = small(RIVALS[name]).fit(values, np.array([True, False, False]), actions, rewards, ACTIONS + 1, seed=0)
    new = np.array([[np.nan, np.nan, np.nan], [2.0, np.nan, np.nan], [7.0, 0.0, 1.0]])
    prices = fitted.prices(new)
    assert prices.shape == (3, ACTIONS + 1)
    assert np.isneginf(prices[:, ACTIONS]).all()
    assert np.isfinite(prices[:, :ACTIONS]).all()
    assert fitted.predict(new)[1] == 2
    np.testing.assert_allclose(fitted.prices(new), prices, rtol=1e-12)  # threads add up trees in any order
