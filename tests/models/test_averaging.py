"""Prices as an average of network, trees, linear regression and Gaussian process."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import prudent
from prudent.models.averaging.fitting import _shares
from prudent.models.averaging.gaussian_process import Surface, usual
from prudent.models.averaging.linear import Moments
from prudent.models.averaging.trees import PATIENCE, TREES, Boosting, Table, grown_while_better
from prudent.networks import layout_of, neighbour_mixing

ROWS = 600


@pytest.fixture(scope="module")
def fitted_causal(fitted_models: Mapping[str, Any]) -> Any:
    return fitted_models["causal"]


def _steps(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features, actions, rewards and the expected reward of each action: which one is better changes at a step."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(ROWS, 3)).astype(np.float32)
    expected = np.stack([np.where(features[:, 0] > 0.3, 1.0, -1.0), np.where(features[:, 1] > 0, 0.5, -0.5)], axis=1)
    actions = random.integers(2, size=ROWS)
    return features, actions, expected[np.arange(ROWS), actions] + 0.3 * random.normal(size=ROWS), expected


def test_trees_learn_steps_and_compute_the_same_compiled() -> None:
    features, actions, rewards, _ = _steps(0)
    table = Table.of(features, actions, rewards, 2)
    boosting = Boosting(table, seed=0, judged=table).grown_to(5)
    few = jax.vmap(boosting.trees)(jnp.asarray(features))  # trees that are not grown yet have no value
    np.testing.assert_allclose(few, boosting.predicted[5], atol=1e-4)
    trees = boosting.grown_to(100).trees
    np.testing.assert_allclose(jax.vmap(trees)(jnp.asarray(features)), boosting.predicted[-1], atol=1e-4)
    np.testing.assert_array_equal(few, jax.vmap(Boosting(table, seed=0).grown_to(5).trees)(jnp.asarray(features)))
    fresh, _, _, expected = _steps(1)
    new = np.asarray(jax.vmap(trees)(jnp.asarray(fresh)))
    assert np.mean((new - expected) ** 2) < 0.1 * np.mean(expected**2)


def test_trees_are_grown_while_rows_that_were_left_out_say_so() -> None:
    features, actions, rewards, _ = _steps(0)
    learnt, left = (Table.of(features, actions, rewards, 2).take(np.arange(ROWS) % 2 == part) for part in (0, 1))
    errors = grown_while_better([boosting := Boosting(learnt, seed=0, judged=left)])
    rows = np.arange(len(left.actions))
    path = [((after[rows, left.actions] - left.rewards) ** 2).sum() for after in boosting.predicted[1:]]
    np.testing.assert_allclose(errors, path)
    assert len(errors) - 1 - int(np.argmin(errors)) in (PATIENCE, TREES - 1 - int(np.argmin(errors)))
    noise = left._replace(rewards=np.random.default_rng(1).normal(size=len(left.rewards)))
    assert len(grown_while_better([Boosting(learnt, seed=0, judged=noise)])) < len(errors)


def test_trees_of_ordered_actions_learn_an_action_from_its_neighbours() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(ROWS, 1)).astype(np.float32)
    expected = np.where(features > 0, 1.0, -1.0) * np.linspace(-1, 1, 7)
    actions = np.where(random.random(ROWS) < 0.02, 5, random.choice([0, 1, 2, 3, 4, 6], size=ROWS))
    table = Table.of(features, actions, expected[np.arange(ROWS), actions], 7)
    errors = [
        np.mean((Boosting(table, 0, mixing, table).grown_to(TREES).predicted[-1][:, 5] - expected[:, 5]) ** 2)
        for mixing in (None, neighbour_mixing(7))
    ]
    assert errors[1] < 0.5 * errors[0]


def test_regression_has_slopes_for_all_and_for_each_action() -> None:
    random = np.random.default_rng(0)
    features, actions = random.normal(size=(4000, 2)) + 3, random.integers(2, size=4000)
    slopes, constants = np.array([[1.0, 2.0], [0.5, 0.5]]), np.array([1.0, -1.0])
    rewards = (features @ slopes + constants)[np.arange(4000), actions]
    exact = Moments(features, actions, rewards, 2).fit(1e-3, 1e-3)
    np.testing.assert_allclose(exact.slopes, slopes, atol=0.01)
    np.testing.assert_allclose(exact.constants, constants, atol=0.05)
    alike = Moments(features, actions, rewards, 2).fit(1e-3, 1e9)
    np.testing.assert_allclose(alike.slopes[:, 0], alike.slopes[:, 1], atol=1e-3)


def _smooth(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns, of which the last says nothing, actions, rewards and the expected reward of each action."""
    random = np.random.default_rng(seed)
    columns = random.normal(size=(rows, 3)) * [1.0, 2.0, 1.0] + 1.0
    expected = np.stack([np.sin(columns[:, 0]), 0.3 * columns[:, 1] + np.sin(columns[:, 0])], axis=1)
    actions = random.integers(2, size=rows)
    return columns, actions, expected[np.arange(rows), actions] + 0.2 * random.normal(size=rows), expected


def test_the_search_for_strengths_follows_the_gradient_of_the_evidence() -> None:
    columns, actions, rewards, _ = _smooth(0, 60)
    surface, at, rows = Surface(columns, actions, rewards, np.eye(2)), usual(3) + 0.2, np.arange(50)
    steps = 1e-5 * np.eye(len(at))
    slopes = [(surface.loss(at + step, rows)[0] - surface.loss(at - step, rows)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(surface.loss(at, rows)[1], slopes, rtol=1e-5, atol=1e-6)


def test_a_process_with_all_rows_as_landmarks_is_exact() -> None:
    columns, actions, rewards, _ = _smooth(0, 80)
    alike = np.array([[1.0, 0.4], [0.4, 1.0]])
    surface = Surface(columns, actions, rewards, alike)
    strengths = surface.strengths()
    linear, own_linear, smooth, own_smooth, noise = strengths.variances
    places = surface.columns * np.exp(strengths.relevance)
    near = np.exp(-0.5 * ((places[:, None] - places[None]) ** 2).sum(axis=2))

    def prior(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        own = alike[left][:, right]
        return (linear + own_linear * own) * (places @ places.T) + (smooth + own_smooth * own) * near + own + 0.1

    known = prior(actions, actions) + noise * np.eye(80)
    rows = [prior(np.full(80, action), actions) for action in (0, 1)]
    wanted = np.stack([rewards.mean() + row @ np.linalg.solve(known, rewards - rewards.mean()) for row in rows], axis=1)
    found = jax.vmap(surface.fit(strengths))(jnp.asarray(columns, jnp.float32))
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_a_process_learns_curves_from_few_rows_and_which_columns_count() -> None:
    columns, actions, rewards, _ = _smooth(0, 300)
    surface = Surface(columns, actions, rewards, np.eye(2))
    strengths = surface.strengths()
    assert strengths.relevance[2] < strengths.relevance[0] - 1
    fresh, _, _, expected = _smooth(1, 300)
    found = np.asarray(jax.vmap(surface.fit(strengths))(jnp.asarray(fresh, jnp.float32)))
    assert np.mean((found - expected) ** 2) < 0.05 * np.var(expected)


@pytest.mark.parametrize("speak", [True, False])
def test_a_process_reads_gaps_only_where_they_say_something_about_rewards(speak: bool) -> None:
    columns, actions, rewards, _ = _smooth(0, 300)
    gaps = (np.random.default_rng(5).random((300, 2)) < 0.4).astype(float)
    surface = Surface(np.hstack([columns, gaps]), actions, rewards + 1.5 * speak * gaps[:, 0] * actions, np.eye(2), 2)
    strengths = surface.strengths()
    assert strengths.gaps_speak == speak
    records = (
        np.hstack([columns[:5], np.tile([[0.0, 0.0]], (5, 1))]),
        np.hstack([columns[:5], np.tile([[1.0, 0.0]], (5, 1))]),
    )
    process = surface.fit(strengths)
    present, missing = (np.asarray(jax.vmap(process)(jnp.asarray(each, jnp.float32))) for each in records)
    assert np.allclose(missing - present, [0.0, 1.5 * speak], atol=0.6 if speak else 1e-5)


def test_a_constant_column_and_many_rows_are_no_problem() -> None:
    columns, actions, rewards, expected = _smooth(0, 1000)
    columns[:, 2] = 7.0
    surface = Surface(columns, actions, rewards, np.eye(2))
    found = np.asarray(jax.vmap(surface.fit(surface.strengths()))(jnp.asarray(columns, jnp.float32)))
    assert np.mean((found - expected) ** 2) < 0.05 * np.var(expected)


def test_shares_go_to_who_predicts_held_out_rewards_and_are_equal_before_any() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=2000)
    predictions = np.stack([truth, random.normal(size=2000), truth + 2 * random.normal(size=2000)])
    rewards = truth + random.normal(size=2000)
    many, few = _shares(predictions, rewards), _shares(predictions[:, :2], rewards[:2])
    assert many[0] > 0.9
    assert many.sum() == pytest.approx(1) == few.sum()
    assert np.all(many >= 0)
    assert np.ptp(few) < np.ptp(many)


def _predictions(fitted: Any, cases: Any) -> tuple[np.ndarray, np.ndarray]:
    """What the average and the network alone expect, in reward units."""
    encoded = fitted.schema.encode(cases)
    alone = replace(fitted, model=eqx.tree_at(lambda model: model.average, fitted.model, None))
    return tuple(one.policy(completions=16).chooser.score(encoded).expected for one in (fitted, alone))


def test_expected_rewards_are_the_average(fitted_causal: Any, cases: Any) -> None:
    model, encoded = fitted_causal.model, fitted_causal.schema.encode(cases)
    average, network = _predictions(fitted_causal, cases)
    layout = layout_of(fitted_causal.schema)
    policy, means = fitted_causal.policy(completions=16), []
    for row in range(len(cases)):
        completions, table = policy.pricing.detail(encoded.values[row], encoded.observed[row])
        means.append(table.weights @ layout.cells(completions.values))
    others = jax.vmap(lambda *record: jnp.stack(model.average.others(layout, *record)))(
        jnp.asarray(encoded.values), jnp.asarray(encoded.observed), jnp.stack(means)
    )
    shares = np.asarray(model.average.shares)
    assert shares.sum() == pytest.approx(1, abs=1e-5)
    restored = float(model.scale.location) + float(model.scale.scale) * np.asarray(others)
    wanted = shares[0] * network + np.einsum("p,rpa->ra", shares[1:], restored)
    np.testing.assert_allclose(average, wanted, atol=1e-3)


def test_the_report_says_the_shares(fitted_causal: Any) -> None:
    sentence = fitted_causal.report.choices[-1]
    shares = [f"{share:.0%}" for share in np.asarray(fitted_causal.model.average.shares)]
    assert all(f"({share})" in sentence for share in shares)


def test_the_network_alone_has_no_average(log: prudent.Log) -> None:
    settings = prudent.CausalPVAE(prices="network")
    assert eqx.filter_eval_shape(settings.blank, log.schema, 2).average is None
    with pytest.raises(prudent.InputProblem, match="prices"):
        prudent.CausalPVAE(prices="trees")
