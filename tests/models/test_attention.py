"""Attention over logged rows, beside eq 12 and its two fractions in float64."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from prudent.decide import Model
from prudent.decide.model import price_completions
from prudent.models import attention, attention_kernel
from prudent.models.attention import Rows, attend, streamed
from prudent.models.attention_kernel import fused
from prudent.models.similarity import Logged

BLOCK, STATISTICS = 256, 6
COUNTS = {
    "not whole blocks": (300, 17, 256),
    "an action without rows": (40, 0, 260),
    "one action only": (300,),
}
FORMS = ("self_normalised", "inverse_propensity", "matching")


def logged(counts: tuple[int, ...], statistics: int = STATISTICS, size: float = 1.0, matching: bool = False) -> Logged:
    """Rows of random keys in blocks of one action each; an action without rows is a block of padding."""
    random = np.random.default_rng(0)
    blocks = [max(1, -(-count // BLOCK)) for count in counts]
    real = np.zeros((sum(blocks), BLOCK), bool)
    for count, end, own in zip(counts, np.cumsum(blocks), blocks, strict=True):
        real[end - own : end].reshape(-1)[:count] = True
    keys = random.normal(size=(1, *real.shape, statistics)) * size
    share = np.where(real, 1.0 if matching else 1 / random.uniform(0.1, 0.9, real.shape), 0.0)
    return Logged(
        jnp.asarray(keys, jnp.float32),
        jnp.asarray(np.where(real, random.normal(size=real.shape) * size, -np.inf)[None], jnp.float32),
        jnp.asarray(share * random.normal(size=real.shape), jnp.float32),
        jnp.asarray(share, jnp.float32),
        jnp.asarray(np.repeat(np.arange(len(counts)), blocks), jnp.int32),
    )


def queries(count: int, statistics: int = STATISTICS) -> jax.Array:
    return jnp.asarray(np.random.default_rng(1).normal(size=(count, statistics)), jnp.float32)


def exact(rows: Logged, asked: Any, actions: int, form: str) -> np.ndarray:
    """The definition, in float64 and with all logits at once: θ̂ of every query and action."""
    keys, constants = (np.asarray(part, np.float64)[0] for part in (rows.keys, rows.constants))
    gain, share = (np.asarray(part, np.float64).reshape(-1) for part in (rows.gain, rows.share))
    taken = np.repeat(np.asarray(rows.action), BLOCK)
    logits = np.asarray(asked, np.float64) @ keys.reshape(-1, keys.shape[-1]).T + constants.reshape(-1)
    result = np.zeros((len(logits), actions))
    for action in range(actions):
        own = (taken == action) & np.isfinite(constants.reshape(-1))
        if not own.any():
            continue
        among = np.isfinite(constants.reshape(-1)) if form == "inverse_propensity" else own
        weights = np.exp(logits - logits[:, among].max(axis=1, keepdims=True), where=among, out=np.zeros_like(logits))
        below = weights.sum(axis=1) if form == "inverse_propensity" else weights @ share
        result[:, action] = (weights * own) @ gain / below
    return result


def kernel(asked: jax.Array, rows: Rows) -> attention.Sums:
    return attention.Sums(*fused(asked, *rows[:3], rows.first, interpret=True))


def rows_of(one: Logged, actions: int) -> Rows:
    return Rows.of(one.keys[0], one.constants[0], jnp.stack([one.gain, one.share], axis=-1), one.action, actions)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", COUNTS)
def test_prices_are_those_of_the_definition(name, form):
    counts = COUNTS[name]
    rows, asked = logged(counts, matching=form == "matching"), queries(40)
    prices = rows.prices(asked, len(counts), form)
    np.testing.assert_allclose(prices[0], exact(rows, asked, len(counts), form), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("way", [attend, kernel], ids=["plain", "fused kernel"])
def test_large_logits_neither_overflow_nor_vanish(way):
    """Logits of ±10⁴ and more: only differences to the highest of each action count."""
    counts = (300, 17, 256)
    rows, asked = logged(counts, size=3000.0), queries(40)
    rows = Logged(jnp.round(rows.keys), jnp.round(rows.constants), rows.gain, rows.share, rows.action)
    asked = jnp.round(asked * 4) / 4  # so that float32 has every logit exactly
    sums = way(asked, rows_of(rows, 3))
    assert float(jnp.abs(sums.highest).max()) > 1e4
    np.testing.assert_allclose(sums.over_own(), exact(rows, asked, 3, "self_normalised"), rtol=1e-5)


@pytest.mark.parametrize("statistics", [STATISTICS, 70], ids=["narrow", "wide"])
@pytest.mark.parametrize("name", COUNTS)
def test_the_fused_kernel_computes_what_plain_jax_does(name, statistics):
    counts = COUNTS[name]
    rows = rows_of(logged(counts, statistics), len(counts))
    asked = queries(130, statistics)
    own, plain = kernel(asked, rows), attention.Sums(*streamed(asked, rows))
    has_rows = np.array(counts) > 0
    np.testing.assert_allclose(own.highest[:, has_rows], plain.highest[:, has_rows], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(own.totals, plain.totals, rtol=1e-4, atol=1e-4)  # gains of both signs cancel
    np.testing.assert_array_equal(own.totals[:, ~has_rows], 0.0)


@pytest.mark.parametrize(("products", "low", "high"), [(6, 0.0, 1e-4), (1, 1e-2, np.inf)], ids=["all six", "one"])
def test_the_fused_kernel_is_as_accurate_as_float32(monkeypatch, products, low, high):
    """Because of the products of small pieces: terms of some hundred cancel, and bfloat16 alone has three digits."""
    monkeypatch.setattr(attention_kernel, "PRODUCTS", attention_kernel.PRODUCTS[-products:])
    rows, asked = logged((300, 17, 256), 50, size=10.0), queries(40, 50)
    error = np.abs(np.asarray(kernel(asked, rows_of(rows, 3)).over_own()) - exact(rows, asked, 3, "self_normalised"))
    assert low <= error.max() < high


def test_many_queries_are_taken_in_parts():
    rows, asked, sizes = rows_of(logged(COUNTS["not whole blocks"]), 3), queries(101), []

    def noting(part: jax.Array, rows: Rows) -> tuple[jax.Array, jax.Array]:
        sizes.append(part.shape[0])
        return streamed(part, rows)

    parts = attention._in_parts(noting, 16, (asked,), rows)
    assert set(sizes) == {15}
    for one, other in zip(parts, streamed(asked, rows), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def _of_one(rows: Rows) -> Callable[[jax.Array], jax.Array]:
    return lambda query: attend(query[None], rows).over_own()[0]


def test_under_vmap_queries_become_one_table():
    """Prices of single records under any number of vmaps are one product with all of them."""
    rows, asked = rows_of(logged((300, 17, 256)), 3), queries(24)
    nested = jax.vmap(jax.vmap(_of_one(rows)))
    np.testing.assert_allclose(
        nested(asked.reshape(4, 6, -1)).reshape(24, 3), attend(asked, rows).over_own(), rtol=1e-4, atol=1e-5
    )
    program = str(jax.make_jaxpr(nested)(asked.reshape(4, 6, -1)))
    assert f"f32[{BLOCK},24]" in program  # a tile of logits


def test_rows_may_differ_as_well():
    """Replications: another table of rewards each, or everything else too."""
    rows, asked = rows_of(logged((300, 17, 256)), 3), queries(5)
    once = attend(asked, rows).over_own()
    doubled = jnp.stack([rows.values, rows.values.at[..., 0].multiply(2.0)])
    rewards = jax.vmap(lambda values: attend(asked, rows._replace(values=values)).over_own())(doubled)
    np.testing.assert_allclose(rewards, jnp.stack([once, 2 * once]), rtol=1e-4, atol=1e-5)
    everything = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), rows)
    alike = jax.vmap(lambda own: attend(asked, own).over_own())(everything)
    np.testing.assert_allclose(alike, jnp.stack([once, once]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_those_of_the_definition(form):
    counts = COUNTS["an action without rows"]
    rows, asked = logged(counts, matching=form == "matching"), np.asarray(queries(7), np.float64)
    slopes = np.random.default_rng(2).normal(size=(7, 3))
    step = 1e-5
    expected = np.stack(
        [
            np.sum(slopes * (exact(rows, asked + move, 3, form) - exact(rows, asked - move, 3, form)), axis=1)
            for move in step * np.eye(STATISTICS)
        ],
        axis=1,
    ) / (2 * step)
    own = jax.grad(lambda asked: jnp.sum(slopes * rows.prices(asked, 3, form)[0]))(jnp.asarray(asked, jnp.float32))
    np.testing.assert_allclose(own, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("slope", [False, True], ids=["prices", "gradients"])
def test_memory_does_not_grow_with_the_log(slope):
    def bytes_held(counts: tuple[int, ...]) -> int:
        rows = rows_of(logged(counts), 2)

        def prices(asked: jax.Array, rows: Rows) -> jax.Array:
            return jnp.sum(attend(asked, rows).over_own())

        program = jax.jit(jax.grad(prices) if slope else prices).lower(queries(64), rows).compile()
        held = program.memory_analysis()
        assert held is not None
        return held.temp_size_in_bytes

    few, many = bytes_held((2 * BLOCK, BLOCK)), bytes_held((40 * BLOCK, 20 * BLOCK))
    assert many < few + 57 * BLOCK * 64 * 4 / 10  # a tenth of what the logits of the added rows would take


class Doubled(Model):
    """A model of one member whose prices of a table are not those of its single records, to see which are asked for."""

    @property
    def members(self) -> int:
        return 1

    @property
    def draw_size(self) -> int:
        return 1

    def complete(self, values: Any, observed: Any, uniforms: Any, literal: bool) -> Any:
        raise NotImplementedError

    def price(self, values: jax.Array) -> jax.Array:
        return values[None]

    def prices(self, values: jax.Array) -> jax.Array:
        return 2 * values[:, None]


def test_completions_are_priced_as_a_table():
    values = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(price_completions(Doubled(), values, jnp.zeros(3), jnp.zeros(3)).prices, 2 * values)
    np.testing.assert_array_equal(Model.prices(Doubled(), values), values[:, None])


def test_the_price_of_one_record_is_its_price_in_a_table(fitted_models, log):
    model = fitted_models["similarity"].model
    records = jnp.asarray(log.values[:5])
    price = eqx.filter_jit(type(model).price)
    many, single = model.prices(records), jnp.stack([price(model, record) for record in records])
    assert many.shape == (5, model.members, model.actions)
    np.testing.assert_allclose(many, single, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("platform", "is_fused"), [("cuda", True), ("cpu", False)])
def test_the_kernel_runs_where_it_was_measured_and_nowhere_else(monkeypatch, platform, is_fused):
    """A machine with such a GPU may still run a program on its processor."""
    monkeypatch.setattr(attention, "_runs_fused", lambda: True)
    rows, asked = rows_of(logged((30, 17)), 2), queries(9)  # shapes of no other test: programs are remembered by shape
    program = jax.jit(attend).trace(asked, rows).lower(lowering_platforms=(platform,)).as_text()
    assert ("triton" in program) == is_fused
