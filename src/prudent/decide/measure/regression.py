"""What knowing one attribute is worth, by regressing the prices of a record's draws on its values.

The gain of a mean, and that of the mean of the worst share.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

KNOTS = (-1.65, -0.75, 0.0, 0.75, 1.65)
"""Of the spline, in standard deviations of the gap's posterior; beyond the last ones it is a straight line."""

FOLDS = 8

SMALLEST_SPREAD = 0.2
"""Of a price once a gap is known, as a share of its mean spread."""

EXPECTED_ERRORS, NEXT_TO_NOTHING = 1.5, 0.02
"""When a gain stands out from noise: chosen in the dosing world so that uninformative gaps are almost always
reported as 0, while no suggestion is lost that would have helped."""


class Gain(NamedTuple):
    """What knowing the gap adds (0 where it cannot be told from noise), and each draw's action once it is known."""

    gain: Float[Array, ""]
    choice: Int[Array, " draw"]


def spline(values: Float[Array, " draw"], weights: Float[Array, " draw"]) -> Float[Array, "draw column"]:
    """A smooth basis for a number: a constant, the standardised value, and three cubic bends that end in lines."""
    standard = standardised(values, weights)
    knots = jnp.array(KNOTS)
    cubes = jnp.maximum(standard[:, None] - knots[None, :], 0.0) ** 3
    last, before = knots[-1], knots[-2]
    share = ((last - knots[:-2]) / (last - before))[None, :]
    bends = cubes[:, :-2] - share * cubes[:, -2:-1] + (share - 1.0) * cubes[:, -1:]
    bends = jax.vmap(standardised, in_axes=(1, None), out_axes=1)(bends, weights)
    return jnp.concatenate([jnp.ones_like(values)[:, None], standard[:, None], bends], axis=1)


def level_columns(values: Float[Array, " draw"], levels: int) -> Float[Array, "draw column"]:
    """A basis for a category: a constant, and one column per level, so that the ridge shrinks levels to the mean."""
    by_level = jax.nn.one_hot(jnp.round(values).astype(int), levels)
    return jnp.concatenate([jnp.ones_like(values)[:, None], by_level], axis=1)


def standardised(values: Float[Array, " draw"], weights: Float[Array, " draw"]) -> Float[Array, " draw"]:
    centred = values - weights @ values
    spread = jnp.sqrt(weights @ centred**2)
    return jnp.where(spread > 1e-6, centred / jnp.maximum(spread, 1e-6), 0.0)


def expected_gain(
    basis: Float[Array, "draw column"], prices: Float[Array, "draw action"], weights: Float[Array, " draw"]
) -> Gain:
    """Σ w max_a m_a(x_j) − max_a Σ w θ_a, with m_a(x_j) = E[θ_a | x_j] by regression.

    Choosing and valuing on the same draws overstates the gain, choosing on other folds than those valued on
    understates it, both by about as much, so their mean is given. It is 0 where the second, the cross-fitted one, is
    within its standard error, or where the mean is negligible beside knowing everything.
    """
    every, others = _coefficients(basis, prices, weights)
    fitted = basis @ every
    optimistic = weights @ jnp.max(fitted, axis=1) - jnp.max(weights @ fitted)
    cross_fitted, error = _cross_fitted(basis, prices, weights, others)
    perfect = jnp.maximum(weights @ jnp.max(prices, axis=1) - jnp.max(weights @ prices), 0.0)
    return Gain(_told_from_noise(optimistic, cross_fitted, error, perfect), jnp.argmax(fitted, axis=1))


def _told_from_noise(optimistic: Array, cross_fitted: Array, error: Array, perfect: Array) -> Float[Array, ""]:
    gain = jnp.clip(0.5 * (optimistic + cross_fitted), 0.0, perfect)
    stands_out = (cross_fitted > EXPECTED_ERRORS * error) & (gain > NEXT_TO_NOTHING * perfect)
    return jnp.where(stands_out, gain, 0.0)


def tail_gain(
    risk: float,
    basis: Float[Array, "draw column"],
    prices: Float[Array, "draw action"],
    weights: Float[Array, " draw"],
) -> Gain:
    """The same for the mean of the worst `risk` share, which then belongs to what the gap still leaves open.

    Once x_j is known, a price is m_a(x_j) + s_a(x_j)·ε_a: mean and spread by regression, and the tail of ε from all
    draws together, so that a small share does not rest on the few draws of a small neighbourhood of x_j.
    """
    # quasi-random draws that follow each other lie far apart, so every eighth of them would be a fold of neighbours
    order = np.random.default_rng(0).permutation(prices.shape[0])
    basis, prices, weights = basis[order], prices[order], weights[order]
    every, others = _coefficients(basis, prices, weights)
    fitted = basis @ every
    apart = jnp.abs(prices - fitted)
    spread, other_spreads = _coefficients(basis, apart, weights)
    least = SMALLEST_SPREAD * (weights @ apart) + 1e-6

    def beyond(means: Array, spreads: Array) -> tuple[Array, Array]:
        """How far below its mean the tail of a price is, once x_j is known, and the tail itself."""
        scale = jnp.maximum(spreads, least)
        depth = scale * tail_mean((prices - means) / scale, weights, risk)
        return depth, means + depth

    depth_now = tail_mean(prices, weights, risk) - weights @ prices
    best_now = jnp.argmax(weights @ prices + depth_now)
    now = jnp.max(weights @ prices + depth_now)
    known = beyond(fitted, basis @ spread)[1]
    depth, chosen_by = beyond(_of_folds(basis, others), _of_folds(basis, other_spreads))
    knowing = jnp.argmax(chosen_by, axis=1)
    difference = _taken(prices + depth, knowing) - prices[:, best_now] - depth_now[best_now]
    cross_fitted = weights @ difference
    error = jnp.sqrt(weights**2 @ (difference - cross_fitted) ** 2)
    perfect = jnp.maximum(weights @ jnp.max(prices, axis=1) - now, 0.0)
    optimistic = weights @ jnp.max(known, axis=1) - now
    choice = jnp.argmax(known, axis=1)[np.argsort(order)]
    return Gain(_told_from_noise(optimistic, cross_fitted, error, perfect), choice)


def tail_mean(
    prices: Float[Array, "draw action"], weights: Float[Array, " draw"], risk: float
) -> Float[Array, " action"]:
    """The mean of the worst `risk` share of the weight, exactly (as `TailAverse`)."""
    order = jnp.argsort(prices, axis=0)
    sorted_weights = weights[order]
    before = jnp.cumsum(sorted_weights, axis=0) - sorted_weights
    taken = jnp.clip(risk - before, 0.0, sorted_weights)
    return jnp.sum(taken * jnp.take_along_axis(prices, order, axis=0), axis=0) / jnp.sum(taken, axis=0)


def _coefficients(basis: Array, prices: Array, weights: Array) -> tuple[Array, Array]:
    """Ridge coefficients from all draws [column, action], and without each fold [fold, column, action].

    The ridge has the weight of one effective draw and does not shrink the constant.
    """
    columns = basis.shape[1]
    weighted = (basis * weights[:, None]).reshape(-1, FOLDS, columns)
    gram = jnp.einsum("nfc,nfd->fcd", weighted, basis.reshape(-1, FOLDS, columns))
    moment = jnp.einsum("nfc,nfa->fca", weighted, prices.reshape(-1, FOLDS, prices.shape[1]))
    ridge = jnp.diag(jnp.full(columns, 1.0).at[0].set(1e-6)) * jnp.sum(weights**2)
    total, both = gram.sum(axis=0) + ridge, moment.sum(axis=0)
    return _solve(total, both), jax.vmap(_solve)(total[None] - gram, both[None] - moment)


def _solve(gram: Float[Array, "column column"], moment: Float[Array, "column action"]) -> Float[Array, "column action"]:
    """Gauss-Jordan for a positive definite matrix: thousands of tiny systems at once, without calls to LAPACK."""

    def eliminate(column: Array, system: Array) -> Array:
        row = system[column] / system[column, column]
        return (system - system[:, column][:, None] * row[None, :]).at[column].set(row)

    system = jax.lax.fori_loop(0, gram.shape[0], eliminate, jnp.concatenate([gram, moment], axis=1))
    return system[:, gram.shape[0] :]


def _cross_fitted(basis: Array, prices: Array, weights: Array, others: Array) -> tuple[Array, Array]:
    """The gain when both actions, knowing the gap and not, are chosen on the other folds; and its standard error."""
    fitted = _of_folds(basis, others)
    sums = (prices * weights[:, None]).reshape(-1, FOLDS, prices.shape[1]).sum(axis=0)
    without = jnp.argmax(sums.sum(axis=0)[None, :] - sums, axis=1)
    without = jnp.tile(without, prices.shape[0] // FOLDS)
    knowing = jnp.argmax(fitted, axis=1)
    difference = _taken(prices, knowing) - _taken(prices, without)
    gain = weights @ difference
    return gain, jnp.sqrt(weights**2 @ (difference - gain) ** 2)


def _of_folds(basis: Float[Array, "draw column"], others: Float[Array, "fold column action"]) -> Array:
    """What is predicted for every draw without its fold, [draw, action]."""
    by_fold = jnp.einsum("nfc,fca->nfa", basis.reshape(-1, FOLDS, basis.shape[1]), others)
    return by_fold.reshape(basis.shape[0], -1)


def _taken(prices: Float[Array, "draw action"], action: Int[Array, " draw"]) -> Float[Array, " draw"]:
    return jnp.take_along_axis(prices, action[:, None], axis=1)[:, 0]
