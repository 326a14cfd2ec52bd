"""The rivals are real: each finds an obvious best action, lives with gaps and categories, and repeats itself."""

import numpy as np
import pytest

from experiments.rivals.actions import (
    ActionAsFeature,
    Boosting,
    ChainedImputation,
    ChainedPolicyForest,
    Forest,
    Linear,
    LoggedDecisions,
    MeanImputation,
    PartialVAEImputation,
    PerAction,
)
from prudent import Sizes, Training
from prudent.errors import InputProblem
from prudent.rivals.imputation import DRAWS
from prudent.rivals.linear import Line

ACTIONS = 3
CATEGORICAL = np.array([True, False])
COMPLETING = PartialVAEImputation(
    imputations=DRAWS,  # as many draws for the log as at decision: one program for both
    samples=4,
    points=16,
    sizes=Sizes(latent=3, width=12, embedding=4, summary=12),
    training=Training(rounds=6, steps_per_round=30, batch=32, learning_rate=0.02),
)

# fewer imputations and rounds than anyone would compare with, so that the tests stay quick
RIVALS = {
    "boosting per action": Boosting(PerAction(), stages=(25, 60)),
    "boosting, action as feature": Boosting(ActionAsFeature(), stages=(25, 60)),
    "mean, forests per action": Forest(PerAction()),
    "mean, forest, action as feature": Forest(ActionAsFeature()),
    "chained, forests per action": Forest(PerAction(), ChainedImputation(1)),
    "chained, forest, action as feature": Forest(ActionAsFeature(), ChainedImputation(1)),
    "chained, policy forest": ChainedPolicyForest(imputations=1),
    "mean, lines per action": Linear(PerAction()),
    "partial VAE, lines per action": Linear(PerAction(), COMPLETING),
}
EVERY = list(RIVALS)


def world(rows, seed):
    """Three sites; each site has another best action, and a number shifts every reward equally."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 3, rows)
    values = np.stack([site.astype(float), rng.normal(size=rows)], axis=1)
    actions = rng.integers(0, ACTIONS, rows)
    rewards = 2.0 * (actions == site) + 0.3 * values[:, 1] + 0.1 * rng.normal(size=rows)
    return values, actions, rewards, site


@pytest.mark.parametrize("name", EVERY)
def test_finds_the_obvious_best_action(name):
    values, actions, rewards, _ = world(450, seed=0)
    fitted = RIVALS[name].fit(LoggedDecisions.of(values, CATEGORICAL, actions, rewards, ACTIONS), seed=0)
    new, _, _, best = world(300, seed=1)
    assert (fitted.predict(new) == best).mean() > 0.9


@pytest.mark.parametrize("name", EVERY)
def test_lives_with_gaps_missing_rewards_and_an_action_never_seen(name):
    values, actions, rewards, _ = world(300, seed=2)
    values[np.random.default_rng(3).random(values.shape) < 0.3] = np.nan
    values = np.column_stack([values, np.full(300, np.nan)])
    rewards[:5], actions[5:10] = np.nan, -1
    given = values.copy()
    fitted = RIVALS[name].fit(
        LoggedDecisions.of(values, np.array([True, False, False]), actions, rewards, ACTIONS + 1), seed=0
    )
    np.testing.assert_array_equal(values, given)
    new = np.array([[np.nan, np.nan, np.nan], [2.0, np.nan, np.nan], [7.0, 0.0, 1.0]])
    prices = fitted.prices(new)
    assert prices.shape == (3, ACTIONS + 1)
    assert np.isneginf(prices[:, ACTIONS]).all()
    assert np.isfinite(prices[:, :ACTIONS]).all()
    assert fitted.predict(new)[1] == 2
    np.testing.assert_allclose(fitted.prices(new), prices, rtol=1e-12)  # threads add up trees in any order


def test_one_line_for_all_actions_is_the_best_constant():
    """Nothing is multiplied with the action, so LR1 gives everyone the same: what is best on average."""
    values, actions, rewards, _ = world(450, seed=0)
    rewards = rewards + np.array([0.0, 0.0, 0.5])[actions]
    fitted = Linear(ActionAsFeature()).fit(LoggedDecisions.of(values, CATEGORICAL, actions, rewards, ACTIONS))
    prices = fitted.prices(world(50, seed=1)[0])
    np.testing.assert_allclose(prices[:, 2] - prices[:, 0], prices[0, 2] - prices[0, 0])
    assert (fitted.predict(values) == 2).all()


def test_lines_recover_a_plane_and_their_error_is_that_of_leaving_one_out():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(30, 2)), np.ones(30)])
    targets = 3 + table[:, 0] - 2 * table[:, 1]
    line = Line.of(table, targets)
    np.testing.assert_allclose(line.coefficients, [1, -2, 0], atol=1e-3)
    noisy = targets + rng.normal(size=30)
    others = [np.arange(30) != row for row in range(30)]
    plain = [np.linalg.lstsq(table[rows], noisy[rows])[0] for rows in others]
    left_out = sum((noisy[row] - table[row] @ plain[row]) ** 2 for row in range(30))
    assert Line.of(table, noisy).error <= left_out * 1.001  # no penalty is one of those tried
    assert Line.of(table, noisy).error > 0.8 * left_out


def test_lines_live_with_an_action_taken_once():
    values, actions, rewards, _ = world(60, seed=0)
    actions[actions == 2] = 0
    actions[7] = 2
    prices = Linear(PerAction()).fit(LoggedDecisions.of(values, CATEGORICAL, actions, rewards, ACTIONS)).prices(values)
    np.testing.assert_allclose(prices[:, 2], rewards[7])


@pytest.mark.parametrize("imputation", [MeanImputation(), COMPLETING], ids=lambda imputation: type(imputation).__name__)
def test_a_record_alone_is_priced_as_in_a_batch(imputation):
    values, actions, rewards, _ = world(300, seed=2)
    values[np.random.default_rng(3).random(values.shape) < 0.3] = np.nan
    fitted = Linear(PerAction(), imputation).fit(
        LoggedDecisions.of(values, CATEGORICAL, actions, rewards, ACTIONS), seed=0
    )
    together = fitted.prices(values[:270])
    for row in (0, 1, 2, 3, 269):
        np.testing.assert_allclose(fitted.prices(values[row : row + 1])[0], together[row], rtol=1e-5)
    again = Linear(PerAction(), imputation).fit(
        LoggedDecisions.of(values, CATEGORICAL, actions, rewards, ACTIONS), seed=0
    )
    np.testing.assert_array_equal(again.prices(values[:270]), together)


def test_a_partial_vae_draws_gaps_from_what_is_seen():
    """A level and a number that say the same; the shapes are those of the tests above, and so is the program."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 300)
    full = np.column_stack([2.0 * level, 50 + 10 * level + rng.normal(size=300)])
    gaps = rng.random(full.shape) < 0.3
    gaps[gaps.all(axis=1)] = False
    completed = COMPLETING.fit(np.where(gaps, np.nan, full), CATEGORICAL, seed=0)
    assert len(completed) == COMPLETING.imputations
    for table in completed:
        levels, numbers = table.log[:, :3], table.log[:, 3]
        np.testing.assert_array_equal(numbers[~gaps[:, 1]], full[~gaps[:, 1], 1])
        np.testing.assert_array_equal(levels.sum(axis=1), 1)
        assert (levels.argmax(axis=1) == level)[gaps[:, 0]].mean() > 0.65  # a guess would be right for a third
        assert np.abs(numbers - full[:, 1])[gaps[:, 1]].mean() < 5
    assert not np.array_equal(completed[0].log, completed[1].log)
    drawn = [table[0, 3] for table in completed[0].draws(np.array([[4.0, np.nan]]))]
    assert len(set(drawn)) == DRAWS
    assert 60 < np.mean(drawn) < 80


def test_settings_are_checked():
    with pytest.raises(InputProblem, match="The 'imputations' parameter of PartialVAEImputation"):
        PartialVAEImputation(imputations=0)
    with pytest.raises(InputProblem, match="The 'imputations' parameter of ChainedImputation"):
        ChainedImputation(0)
    with pytest.raises(InputProblem, match="'rewards' parameter"):
        LoggedDecisions.of(np.zeros((3, 1)), np.zeros(1, bool), np.full(3, -1), np.zeros(3), 2)
