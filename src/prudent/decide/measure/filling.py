"""What filling one gap of one record is worth, read off the completions of that record and their prices.

The draws of a record are pairs (value of the gap, price of every action). Knowing the gap means choosing by the prices
that go with its value: a regression of prices on values says which action that is, and what it earns. The model is not
asked again.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int

from prudent.decide.completions import PriceTable
from prudent.decide.measure.regression import Gain, expected_gain, level_columns, spline, standardised, tail_gain
from prudent.decide.plausible_set import PlausibleSet
from prudent.decide.strategies import Strategy

STRATA = 16
SHUFFLES = 8

WORST_ERRORS = 2.0
"""When a gain of the worst case stands out from noise, chosen as those of means (`regression`)."""


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


OfBasis = Callable[[Array, Array, Array], Gain]
"""From a basis, prices and weights to the gain of knowing the attribute."""


class Gains(NamedTuple):
    """One record: what knowing each attribute adds to the expected reward, to the best worst case, and to what the
    strategy itself looks at; and the strategy's action for every draw once the attribute is known."""

    expected: Float[Array, " attribute"]
    worst: Float[Array, " attribute"]
    strategy: Float[Array, " attribute"]
    choice: Int[Array, "attribute draw"]


def record_gains(
    draws: Draws, attributes: Attributes, strategy: Strategy, plausible: PlausibleSet, searched: Float[Array, ""]
) -> Gains:
    """All attributes of one record, the observed ones too (they gain nothing).

    The gain for a strategy is in what it maximises: the worst case for `Conservative`, the mean of the tail for
    `TailAverse`, the expected reward for every other one.
    """
    prices, weights = draws.table.prices, draws.weights

    def regressed(gain: OfBasis, members: tuple[int, ...], basis: Callable[[Array], Array]) -> list[Gain]:
        columns = draws.values[:, jnp.array(members, int)].T
        # one attribute after the other: with many of them, or many levels, side by side would not fit
        return [jax.lax.map(lambda values: gain(basis(values), prices, weights), columns)] if members else []

    def by_regression(gain: OfBasis) -> Gain:
        numbers = regressed(gain, attributes.numbers, lambda values: spline(values, weights))
        levels = regressed(gain, attributes.categories, lambda values: level_columns(values, attributes.levels))
        order = np.argsort(np.array(attributes.numbers + attributes.categories))
        return jax.tree.map(lambda *part: jnp.concatenate(part)[order], *numbers, *levels)

    is_number = np.isin(np.arange(draws.values.shape[1]), attributes.numbers)
    depth = Depth.of(draws, plausible, searched)
    each = (draws.values.T, jnp.asarray(is_number))
    worst = jax.lax.map(lambda one: worst_gain(one[0], one[1], draws, plausible, depth), each)
    expected = by_regression(expected_gain)
    if strategy.tail < 1:
        tail = by_regression(partial(tail_gain, strategy.tail))
        return Gains(expected.gain, worst.gain, tail.gain, tail.choice)
    chosen_by = worst if strategy.needs_worst_case else expected
    return Gains(expected.gain, worst.gain, chosen_by.gain, chosen_by.choice)


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
    density_of_gap = jnp.where(is_number, -0.5 * standardised(values, draws.weights) ** 2, 0.0)
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
        return _worst(PriceTable(prices, log_weights, log_density, gaps=table.gaps), plausible)

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
        gaps=table.gaps,
    )
    return plausible.worst(whole)
