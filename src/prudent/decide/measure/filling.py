"""What filling one gap of one record is worth, read off the completions of that record and their prices.

The draws of a record are pairs (value of the gap, price of every action). Knowing the gap means choosing by the prices
that go with its value: a regression of prices on values says which action that is, and what it earns. The model is not
asked again.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int

from prudent.decide.completions import PriceTable
from prudent.decide.plausible_set import PlausibleSet
from prudent.decide.strategies import Strategy

KNOTS = (-1.65, -0.75, 0.0, 0.75, 1.65)
"""Of the spline, in standard deviations of the gap's posterior; beyond the last ones it is a straight line."""

FOLDS = 8
STRATA = 16
SHUFFLES = 8
THRESHOLDS = 8

EXPECTED_ERRORS, WORST_ERRORS, NEXT_TO_NOTHING = 1.5, 2.0, 0.02
"""When a gain stands out from noise: chosen in the dosing world so that uninformative gaps are almost always
reported as 0, while no suggestion is lost that would have helped."""


class Draws(eqx.Module):
    """The weighted completions of one record without x̂, which is a point and not a draw.

    Their number is a multiple of FOLDS and of STRATA. Prices are what the policy chooses from: net of costs and doubt.
    """

    values: Float[Array, "draw attribute"]
    table: PriceTable

    @property
    def weights(self) -> Float[Array, " draw"]:
        return self.table.weights


class Attributes(eqx.Module):
    """Which attributes are numbers to a regression, and which are categories (of at most `levels` levels)."""

    numbers: tuple[int, ...] = eqx.field(static=True)
    categories: tuple[int, ...] = eqx.field(static=True)
    levels: int = eqx.field(static=True)


class Gains(NamedTuple):
    """One record: what knowing each attribute adds to the expected reward, to the best worst case, and to what the
    strategy itself looks at; and the strategy's action for every draw once the attribute is known."""

    expected: Float[Array, " attribute"]
    worst: Float[Array, " attribute"]
    strategy: Float[Array, " attribute"]
    choice: Int[Array, "attribute draw"]


class Gain(NamedTuple):
    """What knowing the gap adds (0 where it cannot be told from noise), and each draw's action once it is known."""

    gain: Float[Array, ""]
    choice: Int[Array, " draw"]


def record_gains(
    draws: Draws, attributes: Attributes, strategy: Strategy, plausible: PlausibleSet, searched: Float[Array, ""]
) -> Gains:
    """All attributes of one record, the observed ones too (they gain nothing).

    The gain for a strategy is in what it maximises: the worst case for `Conservative`, the mean of the tail for
    `TailAverse`, the expected reward for every other one.
    """
    prices, weights = draws.table.prices, draws.weights

    def regressed(payoffs: Array, members: tuple[int, ...], basis: Callable[[Array], Array]) -> list[Gain]:
        columns = draws.values[:, jnp.array(members, int)].T
        # one attribute after the other: with many of them, or many levels, side by side would not fit
        return [jax.lax.map(lambda values: expected_gain(basis(values), payoffs, weights), columns)] if members else []

    def by_regression(payoffs: Array) -> Gain:
        numbers = regressed(payoffs, attributes.numbers, lambda values: spline(values, weights))
        levels = regressed(payoffs, attributes.categories, lambda values: level_columns(values, attributes.levels))
        order = np.argsort(np.array(attributes.numbers + attributes.categories))
        return jax.tree.map(lambda *part: jnp.concatenate(part)[order], *numbers, *levels)

    is_number = np.isin(np.arange(draws.values.shape[1]), attributes.numbers)
    depth = Depth.of(draws, plausible, searched)
    each = (draws.values.T, jnp.asarray(is_number))
    worst = jax.lax.map(lambda one: worst_gain(one[0], one[1], draws, plausible, depth), each)
    expected = by_regression(prices)
    if strategy.tail < 1:
        tail = by_regression(tail_prices(prices, strategy.tail))
        return Gains(expected.gain, worst.gain, tail.gain, tail.choice // THRESHOLDS)
    chosen_by = worst if strategy.needs_worst_case else expected
    return Gains(expected.gain, worst.gain, chosen_by.gain, chosen_by.choice)


def spline(values: Float[Array, " draw"], weights: Float[Array, " draw"]) -> Float[Array, "draw column"]:
    """A smooth basis for a number: a constant, the standardised value, and three cubic bends that end in lines."""
    standard = _standardised(values, weights)
    knots = jnp.array(KNOTS)
    cubes = jnp.maximum(standard[:, None] - knots[None, :], 0.0) ** 3
    last, before = knots[-1], knots[-2]
    share = ((last - knots[:-2]) / (last - before))[None, :]
    bends = cubes[:, :-2] - share * cubes[:, -2:-1] + (share - 1.0) * cubes[:, -1:]
    bends = jax.vmap(_standardised, in_axes=(1, None), out_axes=1)(bends, weights)
    return jnp.concatenate([jnp.ones_like(values)[:, None], standard[:, None], bends], axis=1)


def level_columns(values: Float[Array, " draw"], levels: int) -> Float[Array, "draw column"]:
    """A basis for a category: a constant, and one column per level, so that the ridge shrinks levels to the mean."""
    by_level = jax.nn.one_hot(jnp.round(values).astype(int), levels)
    return jnp.concatenate([jnp.ones_like(values)[:, None], by_level], axis=1)


def _standardised(values: Float[Array, " draw"], weights: Float[Array, " draw"]) -> Float[Array, " draw"]:
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
    gain = jnp.clip(0.5 * (optimistic + cross_fitted), 0.0, perfect)
    stands_out = (cross_fitted > EXPECTED_ERRORS * error) & (gain > NEXT_TO_NOTHING * perfect)
    return Gain(jnp.where(stands_out, gain, 0.0), jnp.argmax(fitted, axis=1))


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
    fitted = jnp.einsum("nfc,fca->nfa", basis.reshape(-1, FOLDS, basis.shape[1]), others).reshape(prices.shape)
    sums = (prices * weights[:, None]).reshape(-1, FOLDS, prices.shape[1]).sum(axis=0)
    without = jnp.argmax(sums.sum(axis=0)[None, :] - sums, axis=1)
    without = jnp.tile(without, prices.shape[0] // FOLDS)
    knowing = jnp.argmax(fitted, axis=1)
    difference = _taken(prices, knowing) - _taken(prices, without)
    gain = weights @ difference
    return gain, jnp.sqrt(weights**2 @ (difference - gain) ** 2)


def _taken(prices: Float[Array, "draw action"], action: Int[Array, " draw"]) -> Float[Array, " draw"]:
    return jnp.take_along_axis(prices, action[:, None], axis=1)[:, 0]


def tail_prices(prices: Float[Array, "draw action"], risk: float) -> Float[Array, "draw choice"]:
    """Prices whose best mean is the best tail mean: t − (t − θ)₊ / risk, highest at t = the tail's quantile.

    The mean of the worst share is thus an expected reward over pairs (action, t), and regression can value it.
    """
    levels = jnp.linspace(0.02, 0.98, THRESHOLDS)
    thresholds = jnp.quantile(prices[::4], levels, axis=0).T
    short = jnp.maximum(thresholds[None] - prices[:, :, None], 0.0)
    return (thresholds[None] - short / risk).reshape(prices.shape[0], -1)


class Depth(NamedTuple):
    """How deep worst cases reach with the gaps as they are: best worst case of the whole set, and of random groups."""

    now: Float[Array, ""]
    in_groups: Float[Array, ""]
    scatter: Float[Array, ""]
    deeper: Float[Array, ""]
    perfect: Float[Array, ""]

    @classmethod
    def of(cls, draws: Draws, plausible: PlausibleSet, searched: Float[Array, ""]) -> "Depth":
        """`searched` is the best worst case that the policy found by search (NaN: it did not search)."""
        shuffles = jnp.asarray(_shuffles(draws.weights.size))
        random = jax.vmap(lambda shuffle: _in_groups(draws.table, shuffle, plausible)[0])(shuffles)
        sampled = jnp.max(_worst(draws.table, plausible))
        now = jnp.fmin(sampled, searched)
        expected, in_groups = jnp.max(draws.weights @ draws.table.prices), jnp.mean(random)
        deeper = jnp.clip((expected - now) / jnp.maximum(expected - in_groups, 1e-9), 1.0, 4.0)
        perfect = draws.weights @ jnp.max(draws.table.prices, axis=1) - now
        return cls(now, in_groups, jnp.std(random, ddof=1), deeper, jnp.maximum(perfect, 0.0))


def worst_gain(
    values: Float[Array, " draw"], is_number: Bool[Array, ""], draws: Draws, plausible: PlausibleSet, depth: Depth
) -> Gain:
    """How much higher the best worst case is, on average, once the gap is known.

    Draws are grouped by the gap's value, and the worst case is taken in each group. A small group has a better worst
    case than a large one merely by its size, so the mean of random groups of the same size is subtracted; and it
    reaches less deep, so the difference is scaled by how much deeper the whole set reaches. Within the scatter of
    random groups the gain is 0.
    """
    order = jnp.argsort(values)
    # once a number is known, plausibility is p(x | x_j): its nearly Gaussian density is divided out
    density_of_gap = jnp.where(is_number, -0.5 * _standardised(values, draws.weights) ** 2, 0.0)
    conditional = eqx.tree_at(lambda t: t.log_density, draws.table, draws.table.log_density - density_of_gap)
    known, choice = _in_groups(conditional, order, plausible)
    raised = known - depth.in_groups
    gain = jnp.clip(depth.deeper * raised, 0.0, depth.perfect)
    by_draw = jnp.zeros_like(order).at[order].set(jnp.repeat(choice, values.size // STRATA))
    return Gain(jnp.where(raised > WORST_ERRORS * depth.scatter, gain, 0.0), by_draw)


def _shuffles(draws: int) -> np.ndarray:
    random = np.random.default_rng(0)
    return np.stack([random.permutation(draws) for _ in range(SHUFFLES)])


def _in_groups(table: PriceTable, order: Int[Array, " draw"], plausible: PlausibleSet) -> tuple[Array, Array]:
    """The best worst case, averaged over groups of draws that follow each other in `order`; and its actions."""

    def group(prices: Array, log_weights: Array, log_density: Array) -> Float[Array, " action"]:
        return _worst(PriceTable(prices, log_weights, log_density), plausible)

    def split(per_draw: Array) -> Array:
        return per_draw[order].reshape(STRATA, -1, *per_draw.shape[1:])

    # a draw of no weight at all would leave a group of such draws without a distribution
    log_weights = split(jnp.log(table.weights + 1e-12))
    worst = jax.vmap(group)(split(table.prices), log_weights, split(table.log_density))
    return jnp.exp(logsumexp(log_weights, axis=1)) @ jnp.max(worst, axis=1), jnp.argmax(worst, axis=1)


def _worst(table: PriceTable, plausible: PlausibleSet) -> Float[Array, " action"]:
    """Each action's worst plausible price among draws; the densest one stands in for x̂."""
    densest = jnp.argmax(table.log_density)

    def lead(per_draw: Array, first: Array) -> Array:
        return jnp.concatenate([first[None], per_draw])

    log_weights = table.log_weights - logsumexp(table.log_weights)
    whole = PriceTable(
        lead(table.prices, table.prices[densest]),
        lead(log_weights, jnp.array(-jnp.inf)),
        lead(table.log_density, table.log_density[densest]),
    )
    return plausible.worst(whole)
