"""GANITE on small worlds whose outcomes are known for every action."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.rivals.actions import GANITE, Contest, LoggedDecisions
from prudent.errors import InputProblem

ROWS = 600
SMALL = GANITE(
    alphas=(1.0, 2.0),
    widths=(24, 24),
    counterfactual=Contest(rounds=8, steps_per_round=50, batch=64, learning_rate=5e-3),
    inference=Contest(rounds=8, steps_per_round=50, batch=64, learning_rate=5e-3),
)
NUMBERS = np.zeros(3, bool)


def surface(values, actions):
    """Rewards of all actions [row, action]: each action has its own slope, so that none is best for everyone."""
    turns = 2 * np.pi * np.arange(actions) / actions
    return 5 + 2 * (values[:, :1] * np.cos(turns) + values[:, 1:2] * np.sin(turns))


def world(actions, seed=0, rows=ROWS, gaps=(0.0, 0.0, 0.3)):
    """Records, their rewards under every action, what was done, and how it turned out.

    The third attribute is worth nothing, so that its gaps do no harm. All logs have as many usable rows and as many
    columns, so that a program for each number of actions serves all tests.
    """
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(rows, 3))
    theta, taken = surface(full, actions), rng.integers(0, actions, rows)
    rewards = theta[np.arange(rows), taken] + 0.2 * rng.normal(size=rows)
    return np.where(rng.random(full.shape) < gaps, np.nan, full), theta, taken, rewards


@pytest.fixture(scope="module")
def learnt():
    values, _, taken, rewards = world(4)
    return SMALL.fit(LoggedDecisions.of(values, NUMBERS, taken, rewards, 4), seed=0)


def error(fitted, values, theta):
    return np.mean((fitted.prices(values) - theta) ** 2)


def test_learns_all_outcomes_better_than_the_mean(learnt):
    values, theta, _, _ = world(4, seed=1)
    assert error(learnt, values, theta) < 0.1 * theta.var()  # without its first adversary it is above 0.3
    gained = theta[np.arange(ROWS), learnt.predict(values)].mean() - theta.mean(axis=0).max()
    assert gained > 0.95 * (theta.max(axis=1).mean() - theta.mean(axis=0).max())


def test_the_second_block_learns_without_its_adversary():
    values, _, taken, rewards = world(4)
    fitted = replace(SMALL, beta=0.0).fit(LoggedDecisions.of(values, NUMBERS, taken, rewards, 4), seed=0)
    values, theta, _, _ = world(4, seed=1)
    assert error(fitted, values, theta) < 0.1 * theta.var()


def test_a_record_alone_is_priced_as_in_a_batch(learnt):
    values = world(4, seed=1)[0]
    together = learnt.prices(values)
    for row in (0, 255, 256, ROWS - 1):
        np.testing.assert_allclose(learnt.prices(values[row : row + 1])[0], together[row], rtol=1e-5)


def test_shuffled_actions_teach_nothing_about_actions():
    values, _, taken, rewards = world(4)
    shuffled = np.random.default_rng(2).permutation(taken)
    fitted = SMALL.fit(LoggedDecisions.of(values, NUMBERS, shuffled, rewards, 4), seed=0)
    new, theta, _, _ = world(4, seed=1)
    gained = theta[np.arange(ROWS), fitted.predict(new)].mean() - theta.mean(axis=0).max()
    assert gained < 0.3 * (theta.max(axis=1).mean() - theta.mean(axis=0).max())


def test_repeats_itself_with_gaps_all_over_and_an_action_never_seen():
    values, _, taken, rewards = world(4, rows=ROWS + 10, gaps=(0.3, 0.3, 0.3))
    rewards[:5], taken[5:10] = np.nan, -1
    fits = [SMALL.fit(LoggedDecisions.of(values, NUMBERS, taken, rewards, 5), seed=seed) for seed in (1, 1, 2)]
    new = np.array([[np.nan, np.nan, np.nan], [2.0, np.nan, 0.0], [np.nan, -2.0, np.nan]])
    prices = fits[0].prices(new)
    assert np.isneginf(prices[:, 4]).all()
    assert np.isfinite(prices[:, :4]).all()
    assert prices[1:].argmax(axis=1).tolist() == [0, 3]
    np.testing.assert_array_equal(fits[1].prices(new), prices)
    assert not np.array_equal(fits[2].prices(new), prices)


def test_settings_are_checked():
    with pytest.raises(InputProblem, match="The 'alphas' parameter of GANITE"):
        GANITE(alphas=())
    with pytest.raises(InputProblem, match="The 'beta' parameter of GANITE"):
        GANITE(beta=-1.0)
