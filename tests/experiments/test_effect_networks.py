"""CEVAE and MissDeepCausal on a world where a latent variable confounds by a known amount."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from scipy import stats

from experiments.rivals.effects import Answer, CausalEffectVAE, Method, MissDeepCausal, Study, chunks, complete_table
from experiments.rivals.effects.cevae import elu
from experiments.rivals.effects.miss_deep_causal import MIWAE, SMALLEST_SCALE
from experiments.rivals.effects.network_inputs import Tables
from prudent.networks import Training, quasi_random

ROWS, EFFECT, SLOPE = 300, 2.0, 1.5
BIAS = SLOPE * 2 / np.sqrt(np.pi)  # of the difference in means: E[z|treated] − E[z|control] is 2/√π, see `confounded`


def confounded(replications: int, share: float = 0.2) -> tuple[Study, np.ndarray, np.ndarray]:
    """z ~ N(0,1) moves six attributes (one of two levels), the treatment [z + noise > 0] and y = 2t + 1.5z + noise.

    Returns the study, z and the complete attributes.
    """
    random = np.random.default_rng(5)
    z = random.normal(size=ROWS)
    attributes = z[:, None] * np.array([1, -1, 0.8, 1, -0.9, 1]) + 0.4 * random.normal(size=(ROWS, 6))
    attributes[:, 5] = np.where(attributes[:, 5] > 0, 2.0, 1.0)
    treated = z + random.normal(size=ROWS) > 0
    outcomes = EFFECT * treated + SLOPE * z + 0.3 * random.normal(size=(replications, ROWS))
    gaps = random.random(attributes.shape) < share
    return Study.of(np.where(gaps, np.nan, attributes), treated, outcomes), z, attributes


def difference_in_means(study: Study) -> np.ndarray:
    return study.outcomes[:, study.treated].mean(axis=1) - study.outcomes[:, ~study.treated].mean(axis=1)


def one_table_each(study: Study) -> Study:
    return Study(np.repeat(study.values, study.replications, axis=0), study.binary, study.treated, study.outcomes)


CEVAE = CausalEffectVAE(
    latent=2, width=16, depth=1, draws=16, chunk=2, training=Training(learning_rate=0.01, rounds=6, steps_per_round=40)
)
MDC = MissDeepCausal(
    latent=2,
    width=16,
    samples=5,
    members=1,
    points=128,
    draws=5,
    chunk=2,
    training=Training(learning_rate=0.01, rounds=6, steps_per_round=40),
)


@pytest.fixture(scope="module")
def world():
    return confounded(4)


@pytest.fixture(scope="module")
def cevae_answer(world) -> Answer:
    return CEVAE.estimate(world[0])[""]


@pytest.fixture(scope="module")
def mdc_answers(world) -> dict[str, Answer]:
    return MDC.estimate(world[0])


def test_difference_in_means_is_wrong_by_what_the_world_says(world):
    np.testing.assert_allclose(difference_in_means(world[0]) - EFFECT, BIAS, atol=0.25)


# --- what networks see ---


def test_gaps_lie_at_the_mean_and_levels_at_zero_and_one():
    nan = np.nan
    table = [[1.0, 2.0, nan], [3.0, 1.0, nan], [nan, nan, nan], [5.0, 2.0, nan]]
    tables = Tables.of(Study.of(table, [True, True, False, False], np.zeros(4)))
    np.testing.assert_allclose(tables.inputs[0, :, 0], np.array([-1, 0, 0, 1]) * np.sqrt(1.5), rtol=1e-6)
    np.testing.assert_allclose(tables.targets[0, :, 1], [1, 0, 2 / 3, 1], rtol=1e-6)
    assert (tables.inputs[0, :, 2] == 0).all()
    np.testing.assert_array_equal(tables.observed[0], np.isfinite(table))


def test_the_last_chunk_repeats_its_last_replication(world):
    for study in (world[0], one_table_each(world[0])):
        first, last = chunks(study, 3)
        assert (first.genuine, last.genuine, last.study.replications) == (3, 1, 3)
        assert last.study.shared == study.shared
        np.testing.assert_array_equal(last.study.outcomes, study.outcomes[[3, 3, 3]])


def test_elu_is_elu():
    values = jnp.linspace(-20, 5, 51)
    np.testing.assert_allclose(elu(values), jax.nn.elu(values), atol=1e-6)
    assert np.isfinite(jax.grad(lambda x: elu(x))(jnp.float32(200.0)))


# --- CEVAE ---


def test_cevae_removes_most_of_the_confounding(world, cevae_answer):
    assert isinstance(CEVAE, Method)
    assert cevae_answer.prices.shape == (4, ROWS, 2)
    assert np.abs(cevae_answer.effect - EFFECT).max() < 0.35 * BIAS


def test_cevae_replications_do_not_hear_of_each_other(world, cevae_answer):
    alone = CEVAE.estimate(world[0].part(0, 2))[""]
    np.testing.assert_allclose(alone.prices, cevae_answer.prices[:2], atol=1e-4)
    assert np.abs(cevae_answer.effect[0] - cevae_answer.effect[1]) > 1e-4


# --- MIWAE ---


def test_weights_of_a_decoder_that_ignores_z_are_the_exact_evidence():
    network = MIWAE((False, True), latent=2, width=4, key=jax.random.key(0))
    last = network.decoder.layers[-1]
    flat = (jnp.zeros_like(last.weight), jnp.array([0.5, -1.0, 2.0, 0.0]))
    network = eqx.tree_at(lambda net: (net.decoder.layers[-1].weight, net.decoder.layers[-1].bias), network, flat)
    record = {"inputs": jnp.array([1.0, 0.3]), "targets": jnp.array([1.0, 1.0]), "observed": jnp.array([True, True])}
    latents, log_weights = eqx.filter_jit(network.sample)(record, jnp.asarray(quasi_random(4096, 2, 0)))
    scale = SMALLEST_SCALE + np.log1p(np.exp(2.0))
    evidence = stats.norm.logpdf(1.0, 0.5, scale) - np.log1p(np.exp(1.0))
    assert logsumexp(log_weights) - np.log(4096) == pytest.approx(evidence, abs=0.01)
    np.testing.assert_allclose(jax.nn.softmax(log_weights) @ latents, 0.0, atol=0.05)


def test_miwae_finds_the_latent_variable(world):
    study, z, _ = world
    mean = np.column_stack([np.ones(ROWS), MDC.latents(study, seed=0)[0][0, 0]])
    left = z - mean @ np.linalg.lstsq(mean, z, rcond=None)[0]
    assert left.var() < 0.25 * z.var()


def test_draws_of_z_scatter_around_its_mean(world):
    means, draws = MDC.latents(world[0], seed=0)
    assert means.shape == (1, 1, ROWS, 2)
    assert draws.shape == (1, 1, 5, ROWS, 2)
    assert draws.std(axis=2).min() >= 0 < draws.std(axis=2).mean()
    # five draws each: the mean over draws errs by a fraction of their spread, and over 600 numbers on neither side
    assert abs((draws.mean(axis=2) - means).mean()) < 0.1 * draws.std(axis=2).mean()


# --- MissDeepCausal ---


def test_missdeepcausal_removes_most_of_the_confounding(mdc_answers):
    assert isinstance(MDC, Method)
    kinds = ("OLS", "OLS per arm", "AIPW", "residual on residual")
    assert list(mdc_answers) == [f"{way} {kind}" for way in ("process", "mi") for kind in kinds]
    for name, answer in mdc_answers.items():
        assert answer.prices.shape == (4, ROWS, 2), name
        assert np.abs(answer.effect - EFFECT).max() < 0.35 * BIAS, name


def test_missdeepcausal_is_one_fit_whatever_the_replications(world, mdc_answers, monkeypatch):
    monkeypatch.setattr(complete_table, "REPLICATIONS_AT_ONCE", 1)
    again = MDC.estimate(world[0].part(0, 2))
    for name, answer in again.items():
        np.testing.assert_allclose(answer.effect, mdc_answers[name].effect[:2], atol=1e-6, err_msg=name)


def test_missdeepcausal_with_a_table_for_each_replication(world):
    answers = MDC.estimate(one_table_each(world[0].part(0, 3)))
    for name, answer in answers.items():
        assert answer.effect.shape == (3,), name
        assert np.abs(answer.effect - EFFECT).max() < 0.35 * BIAS, name


def test_estimators_are_exact_where_outcomes_are_linear_in_the_table(world):
    study, z, _ = world
    exact = Study(study.values, study.binary, study.treated, (EFFECT * study.treated + SLOPE * z)[None])
    answers = complete_table.pooled([z[:, None], np.column_stack([z, z**2])], exact)
    for name in ("OLS", "OLS per arm", "AIPW"):
        assert answers[name].effect == pytest.approx(EFFECT, abs=1e-9)
