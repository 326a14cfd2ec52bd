"""Types of case: what the mixture of rewards finds in a world where it is true, and the laws it keeps."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COMPLETIONS, make_log, small_settings
from jax.scipy.special import logsumexp

import prudent
from prudent import checks
from prudent.models import fit_many, load
from prudent.models.case_types import TypedModel, _similarity, calibrated
from prudent.networks import TypeNetwork, quasi_random

TYPES, ACTIONS = 3, 4
PROFILES = np.array([[2.0, 0.0, -2.0, 0.0], [-2.0, 1.0, 1.0, 0.0], [0.0, -3.0, 2.0, 0.0]])
CENTRES = 2.5 * np.eye(TYPES, 5)


def draws_of_types(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records [row, attribute] with gaps, their true type, and the action that was taken at random."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, TYPES, rows)
    values = CENTRES[kind] + random.normal(size=(rows, 5))
    return np.where(random.random(values.shape) < 0.3, np.nan, values), kind, random.integers(0, ACTIONS, rows)


def log_of_types(seed: int):
    values, kind, action = draws_of_types(600, seed)
    rewards = PROFILES[kind, action] + 0.2 * np.random.default_rng(seed + 1).normal(size=len(kind))
    return make_log(values, action, rewards)


TRAINING = prudent.Training(rounds=8, steps_per_round=50, batch=64, learning_rate=0.01)


@pytest.fixture(scope="module")
def fitted():
    return small_settings("causal", types=5, training=TRAINING).fit(log_of_types(0), seed=0)


@pytest.fixture(scope="module")
def later(fitted):
    values, kind, _ = draws_of_types(200, seed=2)
    return fitted.schema.decode(values), kind


def test_rewards_of_every_type_are_found(fitted):
    assert isinstance(fitted.model, TypedModel)
    learnt = np.asarray(fitted.model.scale.restore(fitted.model.networks.each(lambda n: n.reward.profiles)))
    for member in learnt:
        nearest = np.abs(member[:, None, :] - PROFILES[None]).max(axis=2).min(axis=0)
        assert (nearest < 0.3).all(), nearest


def test_the_best_action_of_the_type_is_chosen(fitted, later):
    """Nearly as good as Bayes' rule, which knows the world."""
    cases, kind = later
    chosen = np.asarray(fitted.policy(completions=COMPLETIONS).recommend(cases).actions, int)
    earned, constant = PROFILES[kind, chosen].mean(), PROFILES[kind].mean(axis=0).max()
    records = draws_of_types(200, seed=2)[0]
    log_likelihood = -0.5 * np.nansum((records[:, None, :] - CENTRES) ** 2, axis=2)
    best = (np.exp(log_likelihood) / np.exp(log_likelihood).sum(axis=1, keepdims=True) @ PROFILES).argmax(axis=1)
    known = PROFILES[kind, best].mean()
    assert earned > known - 0.15 * (known - constant)


def test_types_teach_the_actions_that_were_not_taken(fitted, later):
    """The share of the true type is right on average: what is called 80 % sure happens 80 % of the time."""
    cases, kind = later
    policy = fitted.policy(completions=COMPLETIONS)
    tables = list(policy.pricing.tables(fitted.schema.encode(cases)))
    weights = np.concatenate([np.exp(np.asarray(table.log_weights)) for table in tables])[:200]
    prices = np.concatenate([np.asarray(table.prices) for table in tables])[:200]
    owner = np.abs(prices[:, :, None, :] - PROFILES).max(axis=3).argmin(axis=2)
    share = np.stack([(weights * (owner == one)).sum(axis=1) for one in range(TYPES)], axis=1)
    np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-4)
    sure = share.max(axis=1)
    right = share.argmax(axis=1) == kind
    assert abs(sure.mean() - right.mean()) < 0.08
    assert right.mean() > 0.75


def test_laws_of_a_model(fitted, later):
    checks.check_model(fitted, {name: cells[:12] for name, cells in later[0].items()}, completions=COMPLETIONS)


@pytest.mark.parametrize("strategy", [prudent.Conservative(c=0.1), prudent.TailAverse()], ids=repr)
def test_laws_of_a_policy(fitted, later, strategy):
    cases = {name: cells[:6] for name, cells in later[0].items()}
    checks.check_policy(fitted.policy(strategy, completions=COMPLETIONS), cases)


def test_plausible_set_does_not_shrink_with_gaps(fitted):
    """A record with nothing but gaps may be of any type, and the paper's c says so."""
    empty = {name: [None] for name in fitted.schema.names}
    for strategy in (prudent.Conservative(c=0.1), prudent.Conservative(risk=0.05)):
        advice = fitted.policy(strategy, completions=COMPLETIONS).recommend(empty)
        # action 3 earns 0 whatever the type; every other one may cost 2 or 3
        assert advice.actions[0] == 3
        assert advice.scored.worst[0, 3] == pytest.approx(0.0, abs=0.2)
        assert advice.scored.worst[0, 1] < -2.5


def test_saved_and_loaded(fitted, later, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    one, other = (model.policy(completions=COMPLETIONS).recommend(later[0]).columns() for model in (fitted, again))
    assert one == other


def test_explanation_and_measuring_work_with_types(fitted, later):
    advice = fitted.policy(prudent.TailAverse(), completions=COMPLETIONS).recommend(
        {name: cells[:3] for name, cells in later[0].items()}, measure=True
    )
    assert "Recommended" in str(advice[0].explain())
    assert np.isfinite(advice.measuring.expected_gain[~advice.encoded.observed]).all()


def test_temperature_makes_networks_as_sure_as_held_out_rows_allow(fitted):
    """Log-odds that were doubled are found out; few rows do not bring them back all the way."""
    log = log_of_types(7)
    scale = fitted.model.scale
    rewards = ((log.rewards - float(scale.location)) / float(scale.scale)).astype(np.float32)
    records = {"values": log.values, "observed": log.observed, "action": log.actions, "reward": rewards}
    records = {name: jnp.asarray(column[:256]) for name, column in records.items()}
    points = jnp.asarray(quasi_random(32, fitted.model.draw_size, 0).reshape(2, 16, -1))
    at_rest = float(calibrated(fitted.model, records, jnp.ones(256), points).temperature)
    assert 0.7 <= at_rest <= 2.0
    loud = eqx.tree_at(
        lambda m: (m.networks.arrays.reward.network.layers[-1], m.networks.arrays.reward.linear),
        fitted.model,
        replace_fn=lambda part: jax.tree.map(lambda leaf: 2.0 * leaf, part),
    )
    assert 1.3 * at_rest < float(calibrated(loud, records, jnp.ones(256), points).temperature) < 2.5 * at_rest


def test_doubt_is_that_of_a_mean(fitted):
    """With some fifty rows of a type and action the doubt of its reward is about noise/√rows."""
    doubts = fitted.model.scale.scale * np.asarray(fitted.model.doubts)
    rewards = np.asarray(fitted.model.scale.restore(fitted.model.networks.each(lambda n: n.reward.profiles)))
    for member, doubt in zip(rewards, doubts, strict=True):
        for profile in PROFILES:
            nearest = np.abs(member - profile).max(axis=1).argmin()
            assert (doubt[nearest] < 0.2).all()
            assert (doubt[nearest] > 0.01).all()


def test_many_logs_in_one_program(fitted, later):
    """Two logs side by side: the first as if it were alone, the second with what its own rows say."""
    swapped = log_of_types(5)
    swapped = replace(swapped, rewards=-swapped.rewards)
    first, second = fit_many(fitted.settings, [log_of_types(0), swapped], seed=0)
    cases, kind = later
    earned = []
    for model in (fitted, first, second):
        chosen = np.asarray(model.policy(completions=COMPLETIONS).recommend(cases).actions, int)
        earned.append(PROFILES[kind, chosen].mean())
    assert earned[1] == pytest.approx(earned[0], abs=0.1)
    assert earned[2] < -1.0
    assert first.report.rows == 600
    assert len(first.report.held_out_bound) == fitted.settings.members


def test_logs_that_do_not_fit_together():
    settings, log = small_settings("causal", types=5), log_of_types(0)
    with pytest.raises(prudent.InputProblem, match="log 2"):
        fit_many(settings, [log, log.take(np.arange(500))])
    with pytest.raises(prudent.InputProblem, match="at least one log"):
        fit_many(settings, [])
    with pytest.raises(prudent.InputProblem, match="'settings' parameter of fit_many"):
        fit_many(prudent.Boosted(), [log])
    sparse = replace(log, rewards=np.where(np.arange(600) < 300, np.nan, log.rewards))
    other = replace(log, rewards=np.where(np.arange(600) < 300, log.rewards, np.nan))
    with pytest.raises(prudent.InputProblem, match="only 0 rows"):
        fit_many(settings, [sparse, other])


def test_mixture_density_by_hand():
    network = TypeNetwork(3, 2, types=4, width=5, key=jax.random.key(0))
    inputs, reward = jnp.array([0.3, -1.0, 2.0]), jnp.float32(0.7)
    shares = np.exp(np.asarray(network.log_shares(inputs), np.float64))
    assert shares.sum() == pytest.approx(1.0, abs=1e-6)
    noise = float(network.noise[1])
    density = np.exp(-0.5 * ((0.7 - np.asarray(network.profiles[:, 1])) / noise) ** 2) / noise / np.sqrt(2 * np.pi)
    assert float(network.log_prob(inputs, jnp.array(1), reward)) == pytest.approx(np.log(shares @ density), abs=1e-5)
    assert float(logsumexp(network.log_joint(inputs, jnp.array(1), reward))) == pytest.approx(
        np.log(shares @ density), abs=1e-5
    )
    np.testing.assert_allclose(network(inputs), shares @ np.asarray(network.profiles), atol=1e-5)


def test_a_type_that_nobody_taught_is_not_like_the_others():
    rewards = jnp.array([[0.0, 0.0], [0.01, 0.0], [0.5, 0.5]])
    doubts = jnp.array([[0.05, 0.05], [0.05, 0.05], [1.0, 1.0]])
    alike = np.asarray(_similarity(rewards, doubts))
    assert alike[0, 1] > 0.95
    assert alike[0, 2] < 1e-6
    np.testing.assert_allclose(np.diag(alike), 1.0)


def test_bad_numbers_of_types():
    for wrong in (0, -3, 257):
        with pytest.raises(prudent.InputProblem, match="'types' parameter of CausalPVAE"):
            prudent.CausalPVAE(types=wrong)
