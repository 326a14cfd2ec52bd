"""Heads, layout, encoder and the training program, against SciPy and against what must hold exactly."""

import math
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import KINDS, make_log, read, small_settings, visits
from jaxtyping import TypeCheckError
from scipy import special, stats
from scipy.stats import qmc

from prudent import checks
from prudent.decide import Completions, pool
from prudent.errors import InputProblem
from prudent.models.fitting import record_hashes
from prudent.networks import (
    Decoder,
    GaussianPosterior,
    SetEncoder,
    layout_of,
    normal_quantile,
    quasi_random,
    standard_normal_log_prob,
    training,
    training_run,
)
from prudent.networks import decoder as decoding
from prudent.networks import layout as laid_out
from prudent.networks.decoder import Numbers
from prudent.networks.training import _held_out
from prudent.networks.training_program import learning_rates
from prudent.progress import reporting


@pytest.fixture(scope="module")
def layout(log):
    return layout_of(log.schema)


@pytest.fixture(scope="module")
def decoder(layout):
    return Decoder(layout, latent=3, width=8, key=jax.random.key(0))


@pytest.fixture(scope="module")
def distributions(layout, decoder):
    return decoder(layout, jnp.array([0.3, -1.0, 0.5]))


def of_group(layout, distributions, name):
    return next((g, d) for g, d in zip(layout.groups, distributions, strict=True) if g.name == name)


def test_shapes_are_checked_while_the_tests_run():
    with pytest.raises(TypeCheckError):
        Completions(jnp.zeros((3, 2)), jnp.zeros(3), jnp.zeros(4))
    with pytest.raises(TypeCheckError):
        pool(jnp.zeros(5))


# --- heads ---


def probabilities_of(group, distribution) -> list[np.ndarray]:
    """The probability of every level, attribute by attribute."""
    coefficients, constant = distribution.natural()
    assert (np.asarray(constant) == 0).all()
    levels = tuple(top + 1 for top in group.top) if group.name == "count" else group.levels
    return np.split(np.exp(np.asarray(coefficients, np.float64)), np.cumsum(levels)[:-1])


@pytest.mark.parametrize("name", ["ordinal", "count", "categorical"])
def test_levels_sum_to_one(layout, distributions, name):
    for probabilities in probabilities_of(*of_group(layout, distributions, name)):
        assert probabilities.sum() == pytest.approx(1.0, rel=1e-5)
        assert (probabilities > 0).all()


def test_numbers_are_gaussian(layout, distributions):
    _, numbers = of_group(layout, distributions, "continuous")
    at = np.linspace(-2, 2, numbers.mean.size)
    np.testing.assert_allclose(
        numbers.log_prob(jnp.asarray(at, jnp.float32)), stats.norm.logpdf(at, numbers.mean, numbers.scale), rtol=1e-4
    )


def test_counts_are_a_discretised_logistic(layout):
    """P(k) is the logistic's mass between k − ½ and k + ½, on the scale of log(1 + count); the ends take the tails."""
    group = next(g for g in layout.groups if g.name == "count")
    counts = np.arange(group.top[0] + 1)
    location, scale = float(group.location[0]), float(group.scale[0])
    for mean, deviation in ((0.0, 1.0), (1.0, 0.3), (-1.0, 2.0)):
        edges = np.concatenate([[-np.inf], (np.log(counts[1:] + 0.5) - location) / scale, [np.inf]])
        exact = np.diff(stats.logistic.cdf(edges, mean, deviation * np.sqrt(3) / np.pi))
        own = decoding.Counts(jnp.array([mean]), jnp.array([deviation]), group)
        np.testing.assert_allclose(probabilities_of(group, own)[0], exact, rtol=2e-3, atol=1e-6)
        cells = group.encoded(jnp.asarray(counts, jnp.float32)[:, None])
        np.testing.assert_allclose(np.exp(own.log_prob(cells)[:, 0]), exact, rtol=2e-3, atol=1e-6)
        np.testing.assert_array_equal(group.count(cells)[:, 0], counts)
        drawn = group.count(own.draw(jnp.asarray(quasi_random(8192, 1, 0))))
        shares = np.bincount(np.asarray(drawn[:, 0], int), minlength=len(counts)) / 8192
        np.testing.assert_allclose(shares, exact, atol=2e-3)


def test_a_count_costs_the_same_however_large_it_is():
    """Far out in the tails the probability and its derivatives stay finite."""
    group = laid_out.Counts((0,), jnp.zeros(1), jnp.ones(1), (100_000,))

    def fit(parameters, count):
        return decoding.Counts(parameters[:1], parameters[1:], group).log_prob(group.encoded(count[None]))[0]

    for count in (0.0, 3.0, 99_999.0, 100_000.0):
        for parameters in ((-5.0, 0.02), (0.0, 1.0), (11.0, 0.02)):
            value, slope = jax.value_and_grad(fit)(jnp.array(parameters), jnp.float32(count))
            assert np.isfinite(value)
            assert value <= 0
            assert np.isfinite(slope).all()


def test_ordinal_is_cumulative_logit(layout):
    group = next(g for g in layout.groups if g.name == "ordinal")
    steps, middle = jnp.array([[0.2, 0.7]]), 0.4
    own = decoding._distribution(group, jnp.array([middle]), steps, None)
    thresholds = np.array([0.2 - 1.0, 0.2 - 1.0 + np.log1p(np.exp(0.7 + 0.5))])
    exact = np.diff(np.concatenate([[0.0], special.expit(thresholds - middle), [1.0]]))
    np.testing.assert_allclose(probabilities_of(group, own)[0], exact, rtol=1e-4)
    cells = group.first + group.step * jnp.arange(3.0)[:, None]
    np.testing.assert_allclose(np.exp(own.log_prob(cells)[:, 0]), exact, rtol=1e-4)
    drawn = group.level(own.draw(jnp.asarray(quasi_random(8192, 1, 0))))
    np.testing.assert_allclose(np.bincount(np.asarray(drawn[:, 0], int), minlength=3) / 8192, exact, atol=1e-3)


def three_categories(logits) -> decoding.Categories:
    return decoding.Categories(jnp.asarray(logits, jnp.float32), laid_out.Categorical((0, 1, 2), (2, 3, 70)))


def test_categories_are_softmax_each_within_its_own_levels():
    logits = np.random.default_rng(0).normal(size=75)
    own = three_categories(logits)
    exact = np.concatenate([special.softmax(part) for part in np.split(logits, [2, 5])])
    np.testing.assert_allclose(np.concatenate(probabilities_of(own.group, own)), exact, rtol=1e-4)
    np.testing.assert_allclose(own.probabilities, exact, rtol=1e-4)
    cells = own.group.cells(jnp.array([1.0, 2.0, 40.0]))
    np.testing.assert_allclose(np.exp(own.log_prob(cells)), exact[[1, 4, 45]], rtol=1e-4)
    both = own.counted_log_prob(cells, jnp.array([True, False, True]))
    assert float(both) == pytest.approx(np.log(exact[1]) + np.log(exact[45]), rel=1e-4)


def test_draws_are_as_frequent_as_they_are_likely():
    logits = np.random.default_rng(1).normal(size=75)
    own = three_categories(logits)
    drawn = own.draw(jnp.asarray(quasi_random(8192, 3, 0)))
    np.testing.assert_allclose(drawn.mean(axis=0), own.probabilities, atol=2e-3)
    assert set(np.unique(np.round(drawn, 5)).tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(own.group.totals(jnp.round(drawn)), 1.0)
    ends = own.draw(jnp.array([[1e-6] * 3, [1 - 1e-6] * 3]))
    np.testing.assert_array_equal(own.group.totals(jnp.round(ends)), 1.0)
    best = own.group.values(own.mode())
    assert best.tolist() == [part.argmax() for part in np.split(logits, [2, 5])]
    numbers = Numbers(jnp.array([1.0, -2.0]), jnp.array([0.5, 3.0]))
    drawn = numbers.draw(jnp.asarray(quasi_random(4096, 2, 0)))
    np.testing.assert_allclose(drawn.mean(axis=0), [1.0, -2.0], atol=0.02)
    np.testing.assert_allclose(drawn.std(axis=0), [0.5, 3.0], rtol=0.02)


def test_gradient_passes_a_hard_draw():
    group = laid_out.Categorical((0,), (2,))

    def second_level(logit):
        return decoding.Categories(jnp.stack([jnp.zeros(()), logit]), group).draw(jnp.array([0.5]))[1]

    assert float(jax.grad(second_level)(0.3)) == pytest.approx(special.expit(0.3) * special.expit(-0.3), rel=1e-4)
    counts = laid_out.Counts((0,), jnp.zeros(1), jnp.ones(1), (50,))

    def count(mean):
        return decoding.Counts(mean[None], jnp.ones(1), counts).draw(jnp.array([0.4]))[0]

    assert float(jax.grad(count)(jnp.float32(1.5))) == pytest.approx(1.0)


def test_normal_draws_are_those_of_scipy():
    uniform = np.linspace(1e-5, 1 - 1e-5, 2001)
    np.testing.assert_allclose(normal_quantile(jnp.asarray(uniform)), stats.norm.ppf(uniform), atol=2e-3)


def test_natural_parameters_give_the_log_density(layout, distributions, log):
    coefficients, constant = decoding.natural(distributions)
    everything = jnp.ones(layout.attributes, bool)
    for values in log.values[:10]:
        cells = layout.cells(jnp.asarray(values))
        ours = coefficients @ layout.statistics(cells) + constant
        exact = decoding.log_prob(distributions, layout, cells, everything)
        assert float(ours) == pytest.approx(float(exact), rel=1e-3, abs=1e-3)


def test_only_counted_cells_are_priced(layout, distributions, log):
    cells = layout.cells(jnp.asarray(log.values[0]))

    def fit(counted):
        return float(decoding.log_prob(distributions, layout, cells, layout.by_group(counted)))

    assert fit(jnp.zeros(layout.attributes, bool)) == 0.0
    parts = [fit(jnp.arange(layout.attributes) == at) for at in range(layout.attributes)]
    assert sum(parts) == pytest.approx(fit(jnp.ones(layout.attributes, bool)), rel=1e-4)


def test_many_records_at_once_are_each_by_itself(layout, decoder, log):
    """Leading axes are the caller's: a batch of samples gives the same as record by record."""
    encoder = SetEncoder(layout, embedding=4, summary=12, width=12, latent=3, key=jax.random.key(1))
    values, observed = jnp.asarray(log.values[:5]), layout.by_group(jnp.asarray(log.observed[:5]))
    normal = jax.random.normal(jax.random.key(2), (5, 4, 3))

    @jax.jit
    def drawn_and_judged(values, observed, normal):
        cells = layout.cells(values)
        posterior = encoder(layout, cells, observed)
        drawn = posterior.draw(normal)
        fit = decoding.log_prob(decoder(layout, drawn), layout, cells[..., None, :], observed[..., None, :])
        at_mean = posterior.log_prob_of_draw(jnp.zeros((*values.shape[:-1], 1, 3)))
        return drawn, fit, (posterior.mean, at_mean[..., 0]), encoder.centre(layout, cells, observed)

    together = drawn_and_judged(values, observed, normal)
    for row in range(5):
        alone = drawn_and_judged(values[row], observed[row], normal[row])
        for one, many in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            np.testing.assert_allclose(one, many[row], rtol=1e-4, atol=1e-4)
    # the mean of the posterior and its density there, without the correlations
    np.testing.assert_allclose(together[2][0], together[3][0], atol=1e-6)
    np.testing.assert_allclose(together[2][1], together[3][1], rtol=1e-5)
    single = jax.jit(
        lambda latent: decoding.log_prob(decoder(layout, latent), layout, layout.cells(values[0]), observed[0])
    )
    np.testing.assert_allclose(
        jnp.stack([single(latent) for latent in together[0][0]]), together[1][0], rtol=1e-4, atol=1e-4
    )


# --- layout and encoder ---


def test_values_to_cells_and_back_for_every_kind():
    frame = visits(60, seed=5, gaps=0.0)
    log = read(frame)
    assert [column.kind for column in log.schema.columns] == [
        kind if isinstance(kind, str) else "ordinal" for kind in KINDS.values()
    ]
    layout = layout_of(log.schema)
    back = layout.values(layout.cells(jnp.asarray(log.values)))
    np.testing.assert_allclose(back, log.values, atol=1e-5)
    decoded = log.schema.decode(np.asarray(back))
    assert decoded["ward"] == frame["ward"].tolist()
    assert decoded["grade"] == frame["grade"].tolist()
    assert decoded["smoker"] == frame["smoker"].tolist()
    assert decoded["admitted"] == frame["admitted"].tolist()
    assert decoded["visits"] == frame["visits"].astype(int).tolist()
    np.testing.assert_allclose(decoded["marker"], frame["marker"], rtol=1e-4)


def test_encoder_laws(layout, log):
    encoder = SetEncoder(layout, embedding=4, summary=12, width=12, latent=4, key=jax.random.key(1))
    checks.encoder_laws(layout, encoder, jnp.asarray(log.values[0]))


def test_encoder_token_is_value_embedding_and_bias(layout, log):
    """The folded first layer equals h([x, x·e, b]) written out."""
    encoder = SetEncoder(layout, embedding=4, summary=12, width=12, latent=4, key=jax.random.key(1))
    cells, total = layout.cells(jnp.asarray(log.values[3])), np.zeros(12)
    owner = np.asarray(layout.spread(jnp.arange(layout.attributes)))
    for attribute in range(layout.attributes):
        own = np.flatnonzero(owner == attribute)
        bias = encoder.bias[attribute][None]
        if own[0] >= layout.numbers:
            token = jnp.concatenate([jnp.zeros(1), cells[own] @ encoder.embedding[own], bias])
        else:
            x = cells[own]
            token = jnp.concatenate([x, x * encoder.embedding[own[0]], bias])
        total += np.asarray(jax.nn.leaky_relu(encoder.shared(token), 0.01))
    everything = jnp.ones(layout.attributes, bool)
    np.testing.assert_allclose(encoder.summary(layout, cells, everything), total, rtol=1e-4, atol=1e-4)


def test_posterior_density_of_a_draw():
    factor = np.array([[0.5, 0.0], [0.8, 2.0]])
    posterior = GaussianPosterior(jnp.array([1.0, -1.0]), jnp.asarray(factor, jnp.float32))
    normal = jnp.array([[0.3, -0.7], [1.0, 2.0]])
    exact = stats.multivariate_normal.logpdf(posterior.draw(normal), np.array([1.0, -1.0]), factor @ factor.T)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(posterior.log_prob_of_draw(normal), exact, rtol=1e-4)
    np.testing.assert_allclose(standard_normal_log_prob(normal), stats.norm.logpdf(normal).sum(axis=1), rtol=1e-5)


# --- training ---


def arrays_of(fitted) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(fitted.model, eqx.is_array))]


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(arrays_of(one), arrays_of(other), strict=True))


class Line(eqx.Module):
    """y = slope · x: small enough that the training program itself is what is tried."""

    slope: jax.Array

    def __init__(self, key):
        self.slope = jax.random.normal(key, (1,))


def squared(line, record, points, hiding):
    error = (record["target"] - line.slope[0] * record["observed"][:, 0]) ** 2
    return error, -error


def line_data(rows=100, slope=3.0):
    x = np.random.default_rng(0).normal(size=(rows, 1)).astype(np.float32)
    return {"observed": x, "target": (slope * x[:, 0]).astype(np.float32)}


def train_line(data, progress: bool | None = False, **changes):
    settings = training.Training(**{"learning_rate": 0.1, "batch": 16, "rounds": 6, "steps_per_round": 20} | changes)
    points = quasi_random(2, 1, 0)
    return training.train(Line, squared, data, points=points, training=settings, members=2, seed=0, progress=progress)


def test_loss_falls_and_the_slope_is_recovered():
    trained = train_line(line_data())
    assert (trained.history[-1] > trained.history[0]).all()
    np.testing.assert_allclose(trained.networks.arrays.slope[:, 0], 3.0, atol=0.05)


class TwoLines(eqx.Module):
    first: Line
    second: Line

    def __init__(self, key):
        self.first, self.second = (Line(one) for one in jax.random.split(key))


class Apart:
    """Both lines learn the slope 3; the judge of the first prefers 1 on the way, that of the second 3."""

    parts = ("first", "second")

    def __call__(self, lines, record, points, hiding):
        errors = [squared(line, record, points, hiding)[0] for line in (lines.first, lines.second)]
        liked = [-((line.slope[0] - best) ** 2) for line, best in ((lines.first, 1.0), (lines.second, 3.0))]
        return errors[0] + errors[1], jnp.broadcast_to(jnp.stack(liked), (len(errors[0]), 2))


def test_each_part_keeps_its_own_best_round():
    settings = training.Training(learning_rate=0.05, batch=16, rounds=40, steps_per_round=5, patience=40)
    options = {"points": quasi_random(2, 1, 0), "training": settings, "members": 2, "seed": 0, "progress": False}
    arrays = training.train(TwoLines, Apart(), line_data(), **options).networks.arrays
    np.testing.assert_allclose(arrays.first.slope[:, 0], 1.0, atol=0.2)
    np.testing.assert_allclose(arrays.second.slope[:, 0], 3.0, atol=0.05)


def test_training_goes_on_while_held_out_rows_are_predicted_better():
    slow = {"learning_rate": 0.01, "rounds": 3, "steps_per_round": 10}  # the slope is far from 3 after three rounds
    plain, extended = train_line(line_data(), **slow), train_line(line_data(), extensions=2, **slow)
    assert (len(plain.history), len(extended.history)) == (3, 27)
    np.testing.assert_array_equal(extended.history[:3], plain.history)
    assert (extended.history.max(axis=0) > plain.history.max(axis=0) + 0.1).all()
    # nothing is left to learn: it stops where it was to stop
    assert len(train_line(line_data(), extensions=2, rounds=20).history) <= 20
    # a budget of time is kept
    assert len(train_line(line_data(), extensions=2, seconds=1e-3, **slow).history) == 1


def test_early_stopping_keeps_the_best():
    """The judge prefers slope 1, on the way to the loss's slope 3: what is kept is the round it liked best."""

    def judged_elsewhere(line, record, points, hiding):
        error, _ = squared(line, record, points, hiding)
        return error, jnp.full_like(error, -((line.slope[0] - 1.0) ** 2))

    settings = training.Training(learning_rate=0.05, batch=16, rounds=40, steps_per_round=5, patience=3)
    trained = training.train(
        Line,
        judged_elsewhere,
        line_data(),
        points=quasi_random(2, 1, 0),
        training=settings,
        members=2,
        seed=0,
        progress=False,
    )
    assert len(trained.history) < 40
    assert (len(trained.history) - 1 - trained.best_round >= 3).all()
    np.testing.assert_allclose(
        -((np.asarray(trained.networks.arrays.slope[:, 0]) - 1) ** 2), trained.history.max(axis=0), rtol=1e-4, atol=1e-6
    )


def test_padding_rows_never_influence(monkeypatch):
    plain = train_line(line_data(100))
    monkeypatch.setattr(training, "bucket", lambda rows: 512)
    padded = train_line(line_data(100))
    np.testing.assert_allclose(plain.networks.arrays.slope, padded.networks.arrays.slope, rtol=1e-5)
    np.testing.assert_allclose(plain.history, padded.history, rtol=1e-4, atol=1e-6)


def traces(rows: int, rounds: int, loss, seen: list) -> int:
    seen.clear()
    settings = training.Training(batch=16, rounds=rounds, steps_per_round=5, patience=50)
    points = quasi_random(2, 1, 0)
    training.train(Line, loss, line_data(rows), points=points, training=settings, members=1, seed=0, progress=False)
    return len(seen)


def test_one_program_for_all_tables_of_a_size():
    """Another number of rows in the same bucket reuses the compiled program; so does every later round."""
    seen = []

    def counted(line, record, points, hiding):
        seen.append(1)
        return squared(line, record, points, hiding)

    assert traces(100, 3, counted, seen) > 0
    assert traces(101, 3, counted, seen) == 0
    assert traces(90, 3, counted, seen) == 0
    assert traces(1000, 3, counted, seen) > 0


def test_the_program_is_traced_once_in_a_fit():
    counts = []
    for rounds in (1, 5):
        seen = []

        def counted(line, record, points, hiding, seen=seen):
            seen.append(1)
            return squared(line, record, points, hiding)

        counts.append(traces(100, rounds, counted, seen))
    assert counts[0] == counts[1] > 0


def test_same_seed_same_model(log, fitted_models):
    assert same(small_settings("causal").fit(log, seed=0, progress=False), fitted_models["causal"])
    assert not same(small_settings("causal").fit(log, seed=1, progress=False), fitted_models["causal"])
    checks.same_seed_same_model(small_settings("similarity"), log)


def test_members_differ(fitted_models):
    arrays = jax.tree.leaves(fitted_models["causal"].model.networks.arrays)
    assert all(array.shape[0] == 2 for array in arrays)
    assert any(not np.array_equal(array[0], array[1]) for array in arrays)
    bounds = fitted_models["causal"].report.held_out_bound
    assert len(bounds) == 2
    assert bounds[0] != bounds[1]


def test_progress_is_reported(log, monkeypatch):
    monkeypatch.setattr(training_run, "workers", lambda: 1)
    reported = []
    small_settings("causal").fit(log, seed=0, progress=lambda done, total: reported.append((done, total)))
    assert reported[:4] == [(1, 4), (2, 4), (3, 4), (4, 4)]  # the rounds; then what is learnt of the logged actions
    assert all(1 <= done <= total for done, total in reported)


def test_rows_of_one_record_are_held_out_together():
    records = np.repeat(np.arange(100), 10)
    order = np.random.default_rng(0).permutation(1000)
    held = _held_out(order, 140, records)
    assert len(held) == 140
    assert len(np.unique(records[held])) == 14
    # with no record twice it is as without
    np.testing.assert_array_equal(_held_out(order, 140, np.arange(1000)), _held_out(order, 140, None))


def test_equal_records_are_known_by_their_cells():
    values = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, 0.0], [0.0, np.nan]])
    hashes = record_hashes(make_log(values, [0, 1, 0, 1]))
    assert hashes[0] == hashes[1]
    assert len(set(hashes.tolist())) == 3


def test_a_sum_without_rectifying_is_the_same_where_nothing_is_cut_off(layout, log):
    """A linear h is the rectified one whose tokens are all positive."""
    sizes: dict[str, Any] = {"embedding": 3, "summary": 5, "width": 6, "latent": 2}
    rectified = SetEncoder(layout, **sizes, key=jax.random.key(1))
    lifted = eqx.tree_at(lambda e: e.shared.bias, rectified, jnp.full(5, 1e4))
    plain = SetEncoder(layout, **sizes, rectified=False, key=jax.random.key(1))
    plain = eqx.tree_at(lambda e: e.shared.bias, plain, jnp.full(5, 1e4))
    cells = layout.cells(jnp.asarray(log.values[0]))
    observed = jnp.arange(layout.attributes) % 2 == 0
    summaries = [encoder.summary(layout, cells, observed) for encoder in (lifted, plain)]
    np.testing.assert_allclose(summaries[0], summaries[1], rtol=1e-5)
    checks.encoder_laws(layout, plain, jnp.asarray(log.values[0]))


# --- how long training lasts ---


def test_a_round_in_pieces_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(training_run, "workers", lambda: 1)
    whole = train_line(line_data())
    monkeypatch.setattr(training_run, "PIECE", 1.0)  # every step by itself
    reported = []
    with reporting(lambda done, total: reported.append((done, total))):
        pieces = train_line(line_data(), progress=None)
    assert reported[-1] == (6 * 20, 6 * 20)  # progress moves within a round
    np.testing.assert_array_equal(pieces.networks.arrays.slope, whole.networks.arrays.slope)
    np.testing.assert_array_equal(pieces.history, whole.history)


def test_the_learning_rate_rises_and_falls_to_its_end_however_many_rounds():
    for rounds in (1, 7):
        rates = learning_rates(training.Training(learning_rate=0.1, steps_per_round=50), rounds)
        assert len(rates) == rounds * 50
        assert rates[0] == 0
        assert rates.max() == pytest.approx(0.1)
        assert 0 < rates[-1] < 0.005 * 0.1 * 50 / rounds


def test_another_number_of_rounds_needs_no_other_program():
    seen = []

    def counted(line, record, points, hiding):
        seen.append(1)
        return squared(line, record, points, hiding)

    assert traces(100, 3, counted, seen) > 0
    assert traces(100, 8, counted, seen) == 0


class Clock:
    """Every look at it takes a second."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def test_a_budget_of_time_cuts_the_rounds(monkeypatch):
    """By this clock a round takes 2 seconds, and 3 have passed when that is known."""
    _by_clock(monkeypatch)
    cut = train_line(line_data(), seconds=10.0)
    assert len(cut.history) == 3
    assert cut.cut
    asked = train_line(line_data(), rounds=3)
    np.testing.assert_array_equal(cut.networks.arrays.slope, asked.networks.arrays.slope)
    assert not asked.cut


def _by_clock(monkeypatch):
    clock = Clock()
    for module in (training, training_run):
        monkeypatch.setattr(module, "monotonic", clock)


def test_a_large_budget_changes_nothing_and_a_tiny_one_leaves_a_round(monkeypatch):
    plain = train_line(line_data())
    _by_clock(monkeypatch)
    ample = train_line(line_data(), seconds=1e6)
    assert not ample.cut
    np.testing.assert_array_equal(ample.networks.arrays.slope, plain.networks.arrays.slope)
    assert len(train_line(line_data(), seconds=1e-3).history) == 1


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_a_budget_is_a_number_above_zero(seconds):
    with pytest.raises(InputProblem, match="seconds"):
        training.Training(seconds=seconds)


@pytest.mark.parametrize(("points", "dimensions", "seed"), [(1, 1, 0), (258, 26, 0), (33, 1024, 5)])
def test_quasi_random_points_are_those_of_scipy(points: int, dimensions: int, seed: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # 258 is not a power of 2
        expected = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed)).random(points)
    np.testing.assert_array_equal(
        quasi_random(points, dimensions, seed), np.clip(expected, 1e-6, 1 - 1e-6).astype(np.float32)
    )


def test_more_dimensions_than_are_stored_have_quasi_random_points():
    drawn = quasi_random(16, 1100, 0)
    assert drawn.shape == (16, 1100)
    np.testing.assert_array_equal(np.sort((drawn * 16).astype(int), axis=0), np.arange(16)[:, None].repeat(1100, 1))
