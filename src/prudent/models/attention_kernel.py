"""Attention over logged rows as one fused kernel for NVIDIA GPUs; `attention.streamed` is the same in plain JAX.

XLA writes every tile of logits to memory and reads it back for its maximum and its sums; here a tile stays in
registers. Tensor cores are fast in bfloat16, so a float32 number is the sum of three bfloat16 pieces, and a product the
sum of the six products of pieces that matter. Prices are then as accurate as in float32; in TF32, the default of JAX,
they are off by about 10⁻².
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

PIECES = 3
PRODUCTS = ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0))
"""Which piece of a query meets which of a key, small products first; the others are below float32's rounding."""
WIDTH = 64
"""Statistics that are multiplied at once; queries of at most so many stay in shared memory."""
QUERIES, QUERIES_IF_WIDE, ROWS, WARPS, STAGES = 256, 128, 128, 8, 2
"""A tile of logits, by how many warps, with how many tiles of keys on their way: the fastest that shared memory has
room for on an H200."""
LOWEST = -1e30
"""Instead of −∞, whose pieces would be NaN."""


def fused(
    queries: Float[Array, "query statistic"],
    keys: Float[Array, "block row statistic"],
    constants: Float[Array, "block row"],
    values: Float[Array, "block row value"],
    first: Int[Array, " action_and_end"],
    *,
    interpret: bool = False,
) -> tuple[Float[Array, "query action"], Float[Array, "query action value"]]:
    """The highest logit of every action, and the sums of exp(logit − highest)·value over its rows.

    first: the block where each action begins, and the number of blocks.
    """
    # here: only GPUs need it, and importing it takes a twentieth of the time of a first case
    from jax.experimental import pallas
    from jax.experimental.pallas import triton

    # the constant is one more statistic
    asked = jnp.concatenate([queries, jnp.ones((queries.shape[0], 1))], axis=1)
    coefficients = jnp.concatenate([keys, jnp.maximum(constants, LOWEST)[..., None]], axis=2)
    many, statistics = asked.shape
    actions, sums = first.shape[0] - 1, values.shape[2]
    width = -(-statistics // WIDTH) * WIDTH
    at_once = QUERIES if width == WIDTH else QUERIES_IF_WIDE
    tiles = -(-many // at_once)
    # in units of log 2: the hardware has 2ˣ, not eˣ
    in_bits = coefficients.reshape(-1, statistics) * math.log2(math.e)
    top, totals = pallas.pallas_call(
        partial(_one_tile, tiles=tiles, per_block=keys.shape[1] // ROWS),
        grid=(tiles * actions,),
        out_shape=(
            jax.ShapeDtypeStruct((actions, tiles * at_once), jnp.float32),
            jax.ShapeDtypeStruct((actions, sums, tiles * at_once), jnp.float32),
        ),
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=STAGES),
        interpret=interpret,
        name="attention",
    )(
        first,
        _pieces(jnp.pad(asked, ((0, tiles * at_once - many), (0, width - statistics)))),
        _pieces(jnp.pad(in_bits, ((0, 0), (0, width - statistics)))),
        values.reshape(-1, sums).T,
    )
    return top.T[:many] * math.log(2.0), jnp.moveaxis(totals, 2, 0)[:many]


def _one_tile(
    first: Any, queries: Any, keys: Any, values: Any, tops: Any, totals: Any, *, tiles: int, per_block: int
) -> None:
    """One tile of queries with all rows of one action. All programs are with the same action at the same time, so that
    its keys are read from the cache."""
    from jax.experimental import pallas
    from jax.experimental.pallas import triton

    tile, action = pallas.program_id(0) % tiles, pallas.program_id(0) // tiles
    at_once, sums, parts = tops.shape[1] // tiles, values.shape[0], keys.shape[2] // WIDTH
    own = pallas.ds(tile * at_once, at_once)

    def pieces(of: Any, which: Any, part: Any) -> list[Array]:
        return [of[piece, which, pallas.ds(part * WIDTH, WIDTH)] for piece in range(PIECES)]

    asked = pieces(queries, own, 0) if parts == 1 else None

    def step(block: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        top, *added = carry
        here = pallas.ds(block * ROWS, ROWS)

        def product(part: Any, logits: Array) -> Array:
            query, key = asked or pieces(queries, own, part), pieces(keys, here, part)
            for one, other in PRODUCTS:
                logits += triton.dot(query[one], key[other].T)
            return logits

        nothing = jnp.zeros((at_once, ROWS), jnp.float32)
        logits = product(0, nothing) if asked else jax.lax.fori_loop(0, parts, product, nothing)
        highest = jnp.maximum(top, jnp.max(logits, axis=1))
        weights, shrink = jnp.exp2(logits - highest[:, None]), jnp.exp2(top - highest)
        new = [jnp.sum(weights * values[value, here][None, :], axis=1) for value in range(sums)]
        return highest, *(old * shrink + more for old, more in zip(added, new, strict=True))

    nothing = jnp.zeros(at_once, jnp.float32)
    start, end = first[action] * per_block, first[action + 1] * per_block
    # above the constant of padding, so that a block of padding alone adds nothing
    top, *added = jax.lax.fori_loop(start, end, step, (nothing + LOWEST / 2, *(nothing for _ in range(sums))))
    tops[action, own] = top
    for value, total in enumerate(added):
        totals[action, value, own] = total


def _pieces(numbers: Float[Array, "row statistic"]) -> Array:
    """bfloat16 pieces whose sum is the float32 number: the nearest, then the nearest to what is left."""
    pieces, left = [], numbers
    for _ in range(PIECES):
        # not a cast there and back, which the compiler may leave out
        nearest = jax.lax.reduce_precision(left, exponent_bits=8, mantissa_bits=7)
        pieces.append(nearest.astype(jnp.bfloat16))
        left = left - nearest
    return jnp.stack(pieces)
