"""Attention over logged rows as one fused kernel for NVIDIA GPUs; `attention.streamed` is the same in plain JAX.

XLA writes every tile of logits to memory and reads it back for its maximum and its sums; here a tile stays in
registers. Tensor cores are fast in bfloat16, so a float32 number is the sum of three bfloat16 pieces, and a product the
sum of the six products of pieces that matter. Prices are then as accurate as in float32; in TF32, the default of JAX,
they are off by 10⁻² and more.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Int

PIECES = 3
PRODUCTS = ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0))
"""Which piece of a query meets which of a key, small products first; the others are below float32's rounding."""
WIDTH = 64
"""Statistics that are multiplied at once; queries of at most so many stay in shared memory."""
QUERIES, ROWS, WARPS, STAGES = 128, 128, 8, 3
"""A tile of logits, by how many warps, with how many tiles of keys on their way."""
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
    many, statistics = queries.shape
    rows = keys.shape[1]
    actions, sums = first.shape[0] - 1, values.shape[2]
    tiles, width = -(-many // QUERIES), -(-statistics // WIDTH) * WIDTH
    query_pieces = _pieces(jnp.pad(queries, ((0, tiles * QUERIES - many), (0, width - statistics))))
    # in units of log 2: the hardware has 2ˣ, not eˣ
    in_bits = jnp.pad(keys.reshape(-1, statistics), ((0, 0), (0, width - statistics))) * math.log2(math.e)
    lowest = jnp.maximum(constants.reshape(-1) * math.log2(math.e), LOWEST)

    def kernel(first_ref: Any, query_ref: Any, key_ref: Any, constant_ref: Any, value_ref: Any, *out: Any) -> None:
        # all programs are with the same action at the same time, so that its keys are read from the cache
        tile, action = pallas.program_id(0) % tiles, pallas.program_id(0) // tiles
        own = pallas.ds(tile * QUERIES, QUERIES)

        def held(ref: Any, of: Any, part: Any) -> list[Array]:
            return [ref[piece, of, pallas.ds(part * WIDTH, WIDTH)] for piece in range(PIECES)]

        asked = held(query_ref, own, 0) if width == WIDTH else None

        def step(block: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
            top, *added = carry
            here = pallas.ds(block * ROWS, ROWS)

            def product(part: Any, logits: Array) -> Array:
                query, key = asked or held(query_ref, own, part), held(key_ref, here, part)
                for one, other in PRODUCTS:
                    logits += triton.dot(query[one], key[other].T)
                return logits

            nothing = jnp.zeros((QUERIES, ROWS), jnp.float32)
            logits = product(0, nothing) if asked else jax.lax.fori_loop(0, width // WIDTH, product, nothing)
            logits += constant_ref[here][None, :]
            highest = jnp.maximum(top, jnp.max(logits, axis=1))
            weights, shrink = jnp.exp2(logits - highest[:, None]), jnp.exp2(top - highest)
            new = [jnp.sum(weights * value_ref[value, here][None, :], axis=1) for value in range(sums)]
            return highest, *(old * shrink + more for old, more in zip(added, new, strict=True))

        per_block = rows // ROWS
        nothing = jnp.zeros(QUERIES, jnp.float32)
        # above the constant of padding, so that a block of padding alone adds nothing
        start = (jnp.full(QUERIES, LOWEST / 2, jnp.float32), *(nothing for _ in range(sums)))
        end = first_ref[action + 1] * per_block
        top, *added = jax.lax.fori_loop(first_ref[action] * per_block, end, step, start)
        top_ref, sum_ref = out
        top_ref[action, own] = top
        for value, total in enumerate(added):
            sum_ref[action, value, own] = total

    top, totals = pallas.pallas_call(
        kernel,
        grid=(tiles * actions,),
        out_shape=(
            jax.ShapeDtypeStruct((actions, tiles * QUERIES), jnp.float32),
            jax.ShapeDtypeStruct((actions, sums, tiles * QUERIES), jnp.float32),
        ),
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=STAGES),
        interpret=interpret,
        name="attention",
    )(first, query_pieces, _pieces(in_bits), lowest, values.reshape(-1, sums).T)
    return top.T[:many] * math.log(2.0), jnp.moveaxis(totals, 2, 0)[:many]


def _pieces(numbers: Float[Array, "row statistic"]) -> Array:
    """bfloat16 pieces whose sum is the float32 number: the nearest, then the nearest to what is left."""
    pieces, left = [], numbers
    for _ in range(PIECES):
        # not a cast there and back, which the compiler may leave out
        nearest = jax.lax.reduce_precision(left, exponent_bits=8, mantissa_bits=7)
        pieces.append(nearest.astype(jnp.bfloat16))
        left = left - nearest
    return jnp.stack(pieces)
