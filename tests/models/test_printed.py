"""The paper's models as printed: their options do what they say, and the forms of equation 12 are told apart."""

import json
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import prudent
from prudent.decide.model import price_draws
from prudent.models import PRINTED_NOISE, reward_scale
from prudent.models.folder import sealed
from prudent.models.similarity import SimilarityModel, logged_rows
from prudent.networks import Decoder, layout_of
from prudent.networks import decoder as decoding
from prudent.networks.training_program import learning_rates
from prudent.table import Column, Schema

SIZES = prudent.Sizes(latent=4, width=12, embedding=4, summary=12)
QUICK = prudent.ImputedLogistic(imputations=1, folds=2)


@pytest.fixture(scope="module")
def printed(log):
    """CPVAE as printed, two passes over the log."""
    settings = prudent.CPVAE.as_printed(len(log), 2, SIZES, batch=32, propensity=QUICK)
    return settings.fit(log, seed=0, progress=False)


@eqx.filter_jit
def _compiled_prices(model, values):
    return model.prices(values)


def _prices(model, values):
    """Of the only member, [record, action]."""
    return np.asarray(_compiled_prices(model, values))[:, 0]


# --- equation 12 ---


@pytest.mark.parametrize(("form", "moves_with"), [("inverse_propensity", False), ("centred", True)])
def test_a_constant_in_all_rewards_is_in_all_prices_unless_equation_12_is_as_printed(
    fitted_models, log, form, moves_with
):
    fitted = fitted_models["similarity"]
    networks, layout = fitted.model.networks, fitted.model.networks.shared.layout
    taken, rows = QUICK.fit(log, seed=0).taken, np.flatnonzero(log.rewarded)
    values, count = jnp.asarray(log.values[:4]), len(log.action_labels)
    settings = replace(fitted.settings, form=form, propensity=QUICK)

    def prices(rewards):
        moved = replace(log, rewards=rewards)
        prepared = settings.prepare(moved, 0)
        assert prepared.scale.location == reward_scale(moved, "raw" if not moves_with else "standardised").location
        logged = logged_rows(networks, moved, prepared.columns["reward"], taken, rows)
        return prepared.origin + _prices(SimilarityModel(networks, logged, prepared.scale, count, form), values)

    added = prices(log.rewards + 100) - prices(log.rewards)
    assert np.allclose(added, 100, atol=0.01) == moves_with
    if moves_with:
        return
    # the printed form is linear in the rewards: what a constant adds is the price of that constant
    np.testing.assert_allclose(
        added, prices(np.full(len(log), 1.0) + 1e-3 * (np.arange(len(log)) == 0)) * 100, rtol=0.02
    )
    logged = logged_rows(networks, log, log.rewards, taken, rows)
    keys, constants = np.asarray(logged.keys[0], float), np.asarray(logged.constants[0], float)
    queries = np.asarray(jax.jit(jax.vmap(lambda record: layout.statistics(layout.cells(record))))(values), float)
    logits = np.einsum("brs,qs->qbr", keys, queries) + constants
    weights = np.exp(logits - logits.max(axis=(1, 2), keepdims=True))
    weights /= weights.sum(axis=(1, 2), keepdims=True)
    own = np.asarray(logged.action)[:, None] == np.arange(count)
    by_hand = np.einsum("qbr,br,ba->qa", weights, np.asarray(logged.gain, float), own)
    np.testing.assert_allclose(prices(log.rewards), by_hand, rtol=1e-3, atol=1e-3)


# --- training and networks ---


def test_plain_adam_keeps_one_rate_and_learns_from_every_row(printed, log):
    training = printed.settings.training
    assert set(learning_rates(training, 2).tolist()) == {np.float32(1e-3)}
    assert (training.clip, training.weight_decay, training.rounds) == (None, 0.0, 2)
    assert training.rounds * training.steps_per_round * training.batch >= 2 * len(log)
    assert any("No rows were held out" in note for note in printed.report.notes)
    with pytest.raises(prudent.InputProblem, match="hold out"):
        prudent.CausalPVAE(training=training)


def test_networks_are_plain_with_a_diagonal_posterior_and_fixed_noise(printed, log):
    network = printed.model.networks.shared
    cells = network.layout.cells(jnp.zeros(network.layout.attributes))
    seen = jnp.ones(network.layout.attributes, bool)
    encode = jax.jit(lambda: printed.model.networks.each(lambda n: n.encode(cells, seen, jnp.int32(0)).factor)[0])
    factor = np.asarray(encode())
    np.testing.assert_array_equal(factor, np.diag(np.diag(factor)))
    assert printed.model.networks.arrays.decoder.heads.weight.shape[-1] == SIZES.width  # no linear path from z
    assert not np.any(printed.model.networks.arrays.prior_mean), "p(z | a) = N(0, I) is not trained"
    numbers = layout_of(Schema(tuple(Column(f"x{at}", "real") for at in range(3))))
    some = Decoder(numbers, latent=2, width=4, plain=True, noise=(0.5, None, 0.5), key=jax.random.key(0))
    every = Decoder(numbers, latent=2, width=4, plain=True, noise=(0.5,) * 3, key=jax.random.key(0))
    assert [decoder.heads.weight.shape[0] for decoder in (some, every)] == [6, 3]
    scale = _scale(some(numbers, jnp.ones(2)))
    assert scale[0] == scale[2] == 0.5
    assert scale[1] != 0.5
    np.testing.assert_array_equal(_scale(every(numbers, jnp.ones(2))), 0.5)


def _scale(distributions):
    (numbers,) = distributions
    return numbers.scale


def test_rewards_are_seen_as_asked(printed, log):
    rewards = log.rewards[log.rewarded]
    assert printed.model.scale.location == np.float32(rewards.min())
    assert printed.model.scale.scale == np.float32(rewards.max() - rewards.min())
    raw = prudent.CPVAE.as_printed(len(log), 2, rewards="raw", noise=None, reward_noise=0.3)
    assert (reward_scale(log, raw.rewards).location, reward_scale(log, raw.rewards).scale) == (0, 1)
    weights = raw.weights_of(QUICK.fit(log, seed=0))
    np.testing.assert_allclose(weights, 1 / QUICK.fit(log, seed=0).taken)
    assert prudent.CPVAE.as_printed(len(log), 2).sizes.noise == pytest.approx(PRINTED_NOISE)


# --- prices from the record ---


def test_the_price_of_the_most_likely_completion_is_read_off_the_record_itself(printed, log):
    model = printed.model
    values, observed = jnp.asarray(log.values[3]), jnp.asarray(log.observed[3])
    assert not observed.all()
    uniforms = jnp.asarray(np.random.default_rng(0).random((1, 8, model.draw_size)), jnp.float32)
    completions, table, literal = _both(model, values, observed, uniforms)
    full, seen = jnp.append(values, 0.0), jnp.append(observed, False)

    def fed(network, action):
        latent = network.encode(network.layout.cells(full), seen, action).mean
        return network.layout.values(decoding.mode(network.decode(latent, action)))[-1]

    by_hand = jax.jit(lambda: model.networks.each(lambda n: jnp.stack([fed(n, jnp.int32(a)) for a in range(3)]))[0])()
    np.testing.assert_allclose(table.prices[0], model.scale.restore(by_hand), rtol=1e-4, atol=1e-5)
    assert np.ptp(np.asarray(table.prices[1:]), axis=0).min() > 0, "draws have prices of their own"
    # candidates from the prior are complete records, and priced as such
    np.testing.assert_allclose(literal.prices[1:], _prices(model, completions.values[1:]), rtol=1e-4)
    np.testing.assert_allclose(literal.prices[0], table.prices[0], rtol=1e-4, atol=1e-5)


@eqx.filter_jit
def _both(model, values, observed, uniforms):
    """The table of draws, and literal candidates with theirs."""
    _, table = price_draws(model, values, observed, uniforms, False)
    completions, literal = price_draws(model, values, observed, uniforms, True)
    return completions, table, literal


def test_a_saved_model_is_the_same_and_one_without_the_new_settings_loads(printed, cases, tmp_path):
    printed.save(tmp_path / "model")
    again = prudent.load(tmp_path / "model")
    assert again.settings == printed.settings
    strategy = prudent.Conservative(c=0.1, per_attribute=True)
    policies = [one.policy(strategy, completions=16, search=prudent.Search(steps=0)) for one in (printed, again)]
    one, other = (policy.recommend(cases.iloc[:8]).to_frame() for policy in policies)
    assert one.equals(other)
    path = tmp_path / "model" / "model.json"
    stored = json.loads(path.read_text())
    for name in ("schedule", "hold_out"):
        del stored["settings"]["training"][name]
    del stored["sha256"]
    path.write_bytes(sealed(stored))
    assert prudent.load(tmp_path / "model").settings.training.hold_out
