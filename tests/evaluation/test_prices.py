"""Prices: learnt ones keep to cross-fitting and to what the rows can tell; a model's own are its expectations."""

import math

import numpy as np
import pytest
from conftest import make_log

from prudent.errors import InputProblem
from prudent.evaluation import LearntPrices
from prudent.evaluation.kernel_ridge import KernelRidge, action_likeness
from prudent.evaluation.prices import Prices, model_prices
from prudent.models import align_log
from prudent.table import Log
from prudent.worlds import DosingWorld


def smooth_world(rows: int = 500, seed: int = 0, gaps: float = 0.2) -> tuple[Log, np.ndarray]:
    """Three arms with curves of their own; also the true mean reward of each, [row, action]."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, 3))
    truth = np.stack([np.sin(values[:, 0]), 0.5 * values[:, 0] + 1, -values[:, 1]], axis=1)
    actions = random.integers(0, 3, rows)
    rewards = truth[np.arange(rows), actions] + 0.3 * random.normal(size=rows)
    return make_log(np.where(random.random(values.shape) < gaps, np.nan, values), actions, rewards), truth


def noise_log(rows: int = 300, seed: int = 1) -> Log:
    random = np.random.default_rng(seed)
    return make_log(random.normal(size=(rows, 4)), random.integers(0, 2, rows), 5 + random.normal(size=rows))


# --- kernel ridge regression ---


def ridge_parts(rows: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    actions = random.integers(0, 3, rows)
    table = random.normal(size=(rows, 2))
    likeness = action_likeness([0, 5, 10])
    return table, likeness, actions, table[:, 0] + actions + 0.2 * random.normal(size=rows)


def alike(ridge: KernelRidge, row: int, action: int, other: int, its_action: int) -> float:
    """The kernel between two rows with their actions, by its formula."""
    squares = sum((float(a) - float(b)) ** 2 for a, b in zip(ridge.table[row], ridge.table[other], strict=True))
    return math.exp(-ridge.width / ridge.table.shape[1] * squares) * float(ridge.likeness[action, its_action])


def predicted_by_hand(ridge: KernelRidge, actions, outcomes, train, row: int, action: int, mean: float) -> float:
    kernel = [[alike(ridge, i, actions[i], j, actions[j]) for j in train] for i in train]
    pulls = np.linalg.inv(np.array(kernel) + ridge.penalty * np.eye(len(train))) @ (outcomes[train] - mean)
    return mean + sum(
        alike(ridge, row, action, j, actions[j]) * float(pull) for j, pull in zip(train, pulls, strict=True)
    )


@pytest.mark.parametrize("cells", [8_000_000, 1])
def test_kernel_ridge_by_hand(cells, monkeypatch):
    monkeypatch.setattr("prudent.evaluation.kernel_ridge.BLOCK_CELLS", cells)
    table, likeness, actions, outcomes = ridge_parts(12)
    ridge, train, rows = KernelRidge(table, likeness, 0.7, 0.3), np.arange(8), np.array([9, 0, 11])
    found = ridge.predict(actions, outcomes, train, rows)
    mean = float(outcomes[:8].mean())
    by_hand = [[predicted_by_hand(ridge, actions, outcomes, train, r, a, mean) for a in range(3)] for r in rows]
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-9)


def test_kernel_ridge_learns_from_the_rows_it_was_given_alone():
    table, likeness, actions, outcomes = ridge_parts()
    ridge, train, rows = KernelRidge(table, likeness, 0.3, 0.1), np.arange(20), np.arange(20, 30)
    found = ridge.predict(actions, outcomes, train, rows)
    changed = np.where(np.arange(30) >= 20, 1e6, outcomes)
    np.testing.assert_array_equal(ridge.predict(actions, changed, train, rows), found)
    swapped = np.where(np.arange(30) >= 20, 0, actions)
    np.testing.assert_array_equal(ridge.predict(swapped, outcomes, train, rows), found)


def test_width_and_penalty_have_the_least_error_of_rows_left_out_one_by_one(monkeypatch):
    """Refitting without each row in turn; the outcomes' mean is of all of them."""
    widths, penalties = (0.1, 1.0), (0.01, 0.3, 10.0)
    monkeypatch.setattr("prudent.evaluation.kernel_ridge.WIDTHS", widths)
    monkeypatch.setattr("prudent.evaluation.kernel_ridge.PENALTIES", penalties)
    table, likeness, actions, clean = ridge_parts(18)
    winners = set()
    for noise in (0.0, 1.0, 5.0):
        outcomes = clean + noise * np.random.default_rng(7).normal(size=18)
        mean, errors = float(outcomes.mean()), {}
        for width in widths:
            for penalty in penalties:
                ridge = KernelRidge(table, likeness, width, penalty)
                errors[width, penalty] = sum(
                    (
                        outcomes[row]
                        - predicted_by_hand(
                            ridge, actions, outcomes, np.delete(np.arange(18), row), row, actions[row], mean
                        )
                    )
                    ** 2
                    for row in range(18)
                )
        chosen = KernelRidge.chosen(table, likeness, actions, outcomes, np.arange(18))
        assert (chosen.width, chosen.penalty) == min(errors, key=lambda tried: errors[tried])
        winners.add((chosen.width, chosen.penalty))
    assert len(winners) > 1


def test_action_likeness():
    doses = action_likeness([0, 5, 10, 20])
    spread = np.std([0, 5, 10, 20])
    for i, one in enumerate([0, 5, 10, 20]):
        for j, other in enumerate([0, 5, 10, 20]):
            assert doses[i, j] == pytest.approx(math.exp(-((one - other) ** 2) / (2 * spread**2)), abs=1e-12)
    half = [[1.0, 0.5], [0.5, 1.0]]
    for two in (["a", "b"], [0, 50], [True, False]):  # of two numbers one cannot say whether they are near
        assert action_likeness(two).tolist() == half
    names = action_likeness([1, 2, "none"])
    assert names.tolist() == (0.5 + 0.5 * np.eye(3)).tolist()
    assert action_likeness(["only"]).tolist() == [[1.0]]
    for likeness in (doses, names):
        assert np.linalg.eigvalsh(likeness).min() > 0  # else the kernel would be none


# --- learnt prices ---


def test_learnt_prices_find_a_smooth_world():
    log, truth = smooth_world()
    found = LearntPrices(folds=3).fit(log, below=-0.5, seed=2)
    best_constant = log.rewards.mean()
    assert np.mean((found.rewards - truth) ** 2) < 0.4 * np.mean((best_constant - truth) ** 2)
    assert found.tail is not None
    assert found.tail.min() >= 0
    assert found.tail.max() <= 1
    logged = found.tail[np.arange(len(log)), log.actions]
    bad = log.rewards < -0.5
    assert logged[bad].mean() > logged[~bad].mean() + 0.2
    assert "cross-fitted" in found.source


def test_same_seed_same_prices():
    log, _ = smooth_world(120)
    one, again, other = (LearntPrices(folds=2).fit(log, below=0.0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.rewards, again.rewards)
    np.testing.assert_array_equal(one.tail, again.tail)
    assert not np.array_equal(one.rewards, other.rewards)


def test_where_there_is_nothing_to_learn_the_mean_remains():
    """And no row's own reward is in its price: one that had seen it would lean towards it."""
    log = noise_log()
    found = LearntPrices().fit(log).rewards
    assert np.abs(found - log.rewards.mean()).mean() < 0.15
    logged = found[np.arange(len(log)), log.actions]
    assert np.corrcoef(logged, log.rewards)[0, 1] < 0.1


def test_an_outlying_reward_does_not_pull_its_own_price():
    log, _ = smooth_world(200, gaps=0.0)
    rows = np.arange(len(log))
    prices = []
    for outlier in (-40.0, 40.0):
        rewards = np.where(rows == 17, outlier, log.rewards)
        changed = make_log(np.asarray(log.values, np.float64), log.actions, rewards)
        prices.append(LearntPrices().fit(changed).rewards[17])
    assert np.abs(prices).max() < 3
    assert prices[1][log.actions[17]] - prices[0][log.actions[17]] < 2  # of 80


def test_prices_beside_that_are_right_get_most_of_the_share():
    log, truth = smooth_world(300)
    beside = Prices(truth, None, "the oracle's")
    alone, together = LearntPrices(folds=3).fit(log), LearntPrices(folds=3).fit(log, beside=beside)
    error, alone_error = (np.abs(found.rewards - truth).mean() for found in (together, alone))
    assert error < 0.1
    assert error < 0.4 * alone_error
    assert together.source == "the oracle's and learnt from these rows, cross-fitted"


def test_prices_beside_that_are_noise_do_little_harm():
    log, truth = smooth_world(300)
    beside = Prices(np.random.default_rng(3).normal(size=truth.shape), None, "a bad model's")
    alone, together = LearntPrices(folds=3).fit(log), LearntPrices(folds=3).fit(log, beside=beside)
    assert np.mean((together.rewards - truth) ** 2) < 1.3 * np.mean((alone.rewards - truth) ** 2)


def test_a_tail_beside_has_a_share_too():
    log, truth = smooth_world(300)
    tail = np.array([[0.5 * math.erfc((q + 0.5) / (0.3 * math.sqrt(2))) for q in row] for row in truth])
    alone = LearntPrices(folds=3).fit(log, below=-0.5)
    together = LearntPrices(folds=3).fit(log, below=-0.5, beside=Prices(truth, tail, "the oracle's"))
    assert alone.tail is not None
    assert together.tail is not None
    assert np.abs(together.tail - tail).mean() < 0.5 * np.abs(alone.tail - tail).mean()


def awkward() -> dict[str, Log]:
    random = np.random.default_rng(8)
    values = random.normal(size=(60, 3))
    site = random.integers(0, 4, 60).astype(float)
    rewards, two = random.normal(size=60), np.arange(60) % 2
    holes = np.where(random.random((60, 3)) < 0.4, np.nan, values)
    holes[5] = np.nan
    empty = np.column_stack([np.full(60, np.nan), values])
    sites = np.column_stack([np.where(random.random(60) < 0.2, np.nan, site), values])
    lone = np.column_stack([np.r_[1.0, 2.0, np.full(58, np.nan)], np.ones(60)])
    return {
        "gaps": make_log(holes, two, rewards),
        "a column of gaps": make_log(empty, two, rewards),
        "nothing but gaps": make_log(np.full((60, 2), np.nan), two, rewards),
        "categories with gaps": make_log(sites, two, rewards, categories={0: 4}),
        "two cells and a constant": make_log(lone, two, rewards),
        "no columns": make_log(np.empty((60, 0)), two, rewards),
        "one action": make_log(values, np.zeros(60, int), rewards),
        "an action taken once": make_log(values, np.r_[2, two[1:]], rewards),
        "constant rewards": make_log(values, two, np.full(60, 2.5)),
        "four rows": make_log(values[:4], two[:4], rewards[:4]),
        "two rows": make_log(values[:2], two[:2], rewards[:2]),
    }


@pytest.mark.parametrize("name", awkward())
def test_awkward_logs(name):
    log = awkward()[name]
    found = LearntPrices(folds=2).fit(log, below=0.0)
    assert found.rewards.shape == (len(log), len(log.action_labels))
    assert np.isfinite(found.rewards).all()
    assert found.tail is not None
    assert found.tail.min() >= 0
    assert found.tail.max() <= 1
    if name == "constant rewards":
        np.testing.assert_allclose(found.rewards, 2.5, atol=1e-9)
        np.testing.assert_allclose(found.tail, 0.0, atol=1e-9)


@pytest.mark.parametrize("folds", [1, 2.0, True, None])
def test_bad_folds(folds):
    with pytest.raises(InputProblem, match="'folds' parameter of LearntPrices"):
        LearntPrices(folds)


def test_prices_of_some_rows():
    prices = Prices(np.arange(6.0).reshape(3, 2), np.ones((3, 2)), "given")
    some = prices.take(np.array([2, 0]))
    assert some.rewards.tolist() == [[4.0, 5.0], [0.0, 1.0]]
    assert some.tail is not None
    assert some.tail.shape == (2, 2)
    assert Prices(prices.rewards, None, "given").take(np.array([True, False, True])).tail is None


# --- a model's own prices ---


def test_model_prices_are_the_models_expectations():
    world = DosingWorld(attributes=3, doses=4, noise=0.5)
    sample = world.sample(30, seed=1)
    fitted = world.exact_model()
    log = Log.from_frame(sample.frame(), action="dose", reward="outcome", kinds=world.kinds)
    below = -2.0
    found = model_prices(fitted, log, below, completions=128)
    policy = fitted.policy(completions=128)
    encoded = align_log(log, fitted).encoded
    np.testing.assert_allclose(found.rewards, policy.chooser.score(encoded).expected, rtol=0, atol=1e-5)
    assert found.tail is not None
    (tables,) = policy.pricing.tables(encoded)
    for row in range(3):
        chances = np.exp(np.asarray(tables.log_weights[row], np.float64))
        for dose in range(4):
            prices = np.asarray(tables.prices[row, :, dose], np.float64)
            by_hand = sum(
                chance * 0.5 * math.erfc(-(below - price) / (0.5 * math.sqrt(2)))
                for chance, price in zip(chances, prices, strict=True)
            )
            assert found.tail[row, dose] == pytest.approx(by_hand, abs=1e-5)
    drawn = world.completions(sample.values, sample.observed, count=2000, seed=3)
    theta = world.theta(drawn.reshape(-1, 3)).reshape(30, 2000, 4)
    scattered = theta + 0.5 * np.random.default_rng(4).normal(size=theta.shape)
    np.testing.assert_allclose(found.tail, (scattered < below).mean(axis=1), rtol=0, atol=0.06)
    assert model_prices(fitted, log, None, completions=128).tail is None
