"""Attention over logged rows (SPVAE, eq 12): sums of exp(logit)·value over the rows of each action, for many queries.

A logit is log p(x | x̃ᵢ): the statistics of x (the query) times the natural parameters of row i (the key), plus a
constant. Rows are in blocks of one action, and blocks are taken one after the other with a running maximum (online
softmax), so that no memory, of gradients either, grows with the log times the queries.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int

from prudent.models.attention_kernel import fused

ON_PROCESSOR, ON_ACCELERATOR = 4096, 65536
"""Queries taken at once: a tile of logits should fit a processor's cache, and an accelerator should be busy."""
LOWEST = -1e30
FUSED_ON = "9"
"""The generation of NVIDIA GPUs (compute capability) that the fused kernel was measured on; others run plain JAX."""


class Rows(NamedTuple):
    """Logged rows in blocks of one action each, sorted by action; padding has a constant of −∞ and values of zero."""

    keys: Float[Array, "block row statistic"]
    constants: Float[Array, "block row"]
    values: Float[Array, "block row value"]
    action: Int[Array, " block"]
    first: Int[Array, " action_and_end"]
    """The block where each action begins, and the number of blocks."""

    @classmethod
    def of(cls, keys: Array, constants: Array, values: Array, action: Array, actions: int) -> "Rows":
        """Blocks sorted by action; the rows are constants to gradients."""
        first = jnp.searchsorted(action, jnp.arange(actions + 1)).astype(jnp.int32)
        keys, constants, values = jax.lax.stop_gradient((keys, constants, values))
        return cls(keys, constants, values, action, first)


class Sums(NamedTuple):
    """Per query and action: the highest logit, and the sums of exp(logit − highest)·value over the action's rows."""

    highest: Float[Array, "query action"]
    totals: Float[Array, "query action value"]

    def over_own(self) -> Float[Array, "query action"]:
        """The first sum over the second, within each action; zero for an action without rows."""
        has_rows = self.totals[..., 1] > 0
        return jnp.where(has_rows, self.totals[..., 0] / jnp.where(has_rows, self.totals[..., 1], 1.0), 0.0)

    def over_all(self) -> Float[Array, "query action"]:
        """The first sum of each action over the second of all actions."""
        relative = jnp.exp(self.highest - jnp.max(self.highest, axis=1, keepdims=True))
        return relative * self.totals[..., 0] / jnp.sum(relative * self.totals[..., 1], axis=1, keepdims=True)


@jax.custom_vjp
def attend(queries: Float[Array, "query statistic"], rows: Rows) -> Sums:
    """The sums of every query. Differentiable in the queries, with the highest logits held fixed: no ratio of sums
    depends on them."""
    return Sums(*_sums((queries,), rows))


def _forward(queries: Array, rows: Rows) -> tuple[Sums, tuple[Any, ...]]:
    sums = attend(queries, rows)
    return sums, (queries, sums.highest, rows)


def _backward(held: tuple[Any, ...], slopes: Sums) -> tuple[Array, None]:
    queries, highest, rows = held
    return _pulled_back((queries, highest, slopes.totals), rows), None


attend.defvjp(_forward, _backward)


def streamed(queries: Float[Array, "query statistic"], rows: Rows) -> tuple[Array, Array]:
    """`attend` in plain JAX, for as many queries as are taken at once."""
    across, actions = _across(queries), rows.first.shape[0] - 1

    def block(carry: tuple[Array, Array], of_block: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
        (top, totals), (keys, constants, values, action) = carry, of_block
        logits = _logits(keys, constants, across)
        highest = jnp.maximum(top[action], jnp.max(logits, axis=0))
        added = _product(values.T, jnp.exp(logits - highest[None, :]))
        shrink = jnp.exp(top[action] - highest)
        return (top.at[action].set(highest), totals.at[action].set(totals[action] * shrink[None, :] + added)), None

    many, value = queries.shape[0], rows.values.shape[2]
    start = (jnp.full((actions, many), LOWEST), jnp.zeros((actions, value, many)))
    (top, totals), _ = jax.lax.scan(block, start, rows[:4])
    return top.T, jnp.moveaxis(totals, 2, 0)


def _streamed_back(queries: Array, highest: Array, slopes: Array, rows: Rows) -> Array:
    """From slopes in the sums to slopes in the queries: Σ exp(logit − highest)·(slopes·values)·key over all rows."""
    across, top, per_action = _across(queries), highest.T, jnp.moveaxis(slopes, 0, 2)

    def block(pulled: Array, of_block: tuple[Array, ...]) -> tuple[Array, None]:
        keys, constants, values, action = of_block
        weights = jnp.exp(_logits(keys, constants, across) - top[action][None, :])
        return pulled + _product(keys.T, weights * _product(values, per_action[action])), None

    return jax.lax.scan(block, jnp.zeros_like(queries.T), rows[:4])[0].T


def _across(queries: Float[Array, "query statistic"]) -> Float[Array, "statistic_and_one query"]:
    return jnp.concatenate([queries.T, jnp.ones((1, queries.shape[0]))])


def _logits(keys: Array, constants: Array, across: Array) -> Float[Array, "row query"]:
    """The constant is one more statistic, so that no tile is read only to add it; sums over rows are products, too."""
    return _product(jnp.concatenate([keys, constants[:, None]], axis=1), across)


def _product(one: Array, other: Array) -> Array:
    # accelerators would otherwise round to TF32 or bfloat16: logits of some thousand would be off by more than one
    return jnp.matmul(one, other, precision=jax.lax.Precision.HIGHEST)


def _in_parts(function: Callable[..., Any], at_once: int, per_query: tuple[Array, ...], rows: Rows) -> Any:
    """`function` of at most so many queries at a time, in parts of equal size."""
    many = per_query[0].shape[0]
    parts = -(-many // at_once)
    if parts <= 1:
        return function(*per_query, rows)
    size = -(-many // parts)

    def split(array: Array) -> Array:
        padding = [(0, parts * size - many), *((0, 0) for _ in array.shape[1:])]
        return jnp.pad(array, padding).reshape(parts, size, *array.shape[1:])

    done = jax.lax.map(lambda part: function(*part, rows), tuple(map(split, per_query)))
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:])[:many], done)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` in plain JAX, in parts that suit the machine."""
    there = partial(_in_parts, function, ON_ACCELERATOR)
    here = partial(_in_parts, function, ON_PROCESSOR)
    return lambda per_query, rows: jax.lax.platform_dependent(per_query, rows, cpu=here, default=there)


def _fastest(per_query: tuple[Array], rows: Rows) -> tuple[Array, Array]:
    """`streamed`, or the fused kernel on a machine that has been seen to run it."""
    if not _runs_fused():
        return _plain(streamed)(per_query, rows)
    return jax.lax.platform_dependent(per_query, rows, cuda=_fused, default=_plain(streamed))


def _fused(per_query: tuple[Array], rows: Rows) -> tuple[Array, Array]:
    return fused(per_query[0], rows.keys, rows.constants, rows.values, rows.first)


def _runs_fused() -> bool:
    if jax.default_backend() != "gpu":
        return False
    return str(getattr(jax.devices()[0], "compute_capability", "")).partition(".")[0] == FUSED_ON


def _merging(function: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """`function(per_query, rows)` under `vmap` sees one long table of queries: completions of many records make large
    products. Where the rows differ as well (replications), `plain` runs side by side."""
    call = custom_vmap(function)

    @call.def_vmap
    def _(size: int, batched: list[Any], per_query: tuple[Array, ...], rows: Rows) -> tuple[Any, Any]:
        if any(jax.tree.leaves(batched[1])):
            axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, tuple(batched))
            done = jax.vmap(plain, in_axes=axes)(per_query, rows)
        else:
            every = [
                array if is_batched else jnp.broadcast_to(array, (size, *array.shape))
                for array, is_batched in zip(per_query, batched[0], strict=True)
            ]
            long = call(tuple(array.reshape(-1, *array.shape[2:]) for array in every), rows)
            done = jax.tree.map(lambda array: array.reshape(size, -1, *array.shape[1:]), long)
        return done, jax.tree.map(lambda _: True, done)

    return call


_sums = _merging(_fastest, _plain(streamed))
_pulled_back = _merging(_plain(_streamed_back), _plain(_streamed_back))
