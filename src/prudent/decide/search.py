"""The worst case by search: from the worst plausible completions, go down in price without leaving the plausible set.

Sampling alone understates how bad a plausible case can be: the lowest of a few hundred draws is not the lowest of the
set they were drawn from. What the search finds joins the completions with no weight, so means and shares do not change
and the worst case can only become worse.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from prudent.decide.caution import Caution
from prudent.decide.completions import Completions, PriceTable
from prudent.decide.model import HasDensity, HasLimits, Model, price_completions
from prudent.errors import check, whole
from prudent.networks import Layout

SWITCHES_TRIED = 2
"""In each of the two looks of a step."""
ALONG, AROUND = (0.0, 0.5, 1.0), (0.999, 0.97, 0.9)
"""Where a ray is looked at: shares of its length, then of the way to where the plausible set should end."""
FIRST_STEP, AFTER_SUCCESS, AFTER_FAILURE = 1.5, 1.2, 0.4
"""In units of the posterior's own spread (Mahalanobis)."""


class Search(eqx.Module):
    """How hard to search: for every action, from its `starts` worst plausible completions, `steps` steps each.

    Numbers move along the price's gradient, measured by how the completions themselves vary together, and are drawn
    back towards the most likely completion onto the edge of the plausible set. Levels of the other kinds are switched
    where that lowers the price and stays plausible. With no steps there is no search.

    >>> Search(starts=0)
    Traceback (most recent call last):
        ...
    prudent.errors.InputProblem: The 'starts' parameter of Search must be a whole number of at least 1. Got 0 instead.
    """

    starts: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def __init__(self, starts: int = 2, steps: int = 6):
        check("Search", {"starts": whole(1), "steps": whole()}, {"starts": starts, "steps": steps})
        self.starts, self.steps = starts, steps


class MovableCells(eqx.Module):
    """Which cells may move: the attributes that are numbers, and every (attribute, value) of the other kinds.

    `low` and `high` are what no number may leave; infinite for kinds without bounds.
    """

    numbers: tuple[int, ...] = eqx.field(static=True)
    switches: tuple[tuple[int, float], ...] = eqx.field(static=True)
    low: Float[Array, " attribute"]
    high: Float[Array, " attribute"]

    def within(self, values: Float[Array, "... attribute"]) -> Float[Array, "... attribute"]:
        return jnp.clip(values, self.low, self.high)

    @property
    def free(self) -> np.ndarray:
        """Of every attribute, whether it is a number."""
        return np.isin(np.arange(self.low.size), self.numbers)

    @property
    def switch_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        attribute, level = zip(*self.switches, strict=True)
        return np.array(attribute), np.array(level, np.float32)

    def current(self, here: Bool[Array, " switch"]) -> Int[Array, " switch"]:
        """For every switch, the one that its attribute stands at, of those marked."""
        attribute, _ = self.switch_arrays
        _, starts, owner, counts = np.unique(attribute, return_index=True, return_inverse=True, return_counts=True)
        places = starts[:, None] + np.minimum(np.arange(counts.max())[None, :], counts[:, None] - 1)
        return (jnp.asarray(starts) + jnp.argmax(here[places], axis=1))[owner]


class _Point(NamedTuple):
    """One walker of the search: its record, that record's price and density, and the length of its next step."""

    values: Float[Array, " attribute"]
    price: Float[Array, ""]
    log_density: Float[Array, ""]
    reach: Float[Array, ""]


def movable_cells(layout: Layout) -> MovableCells:
    switches = tuple(switch for group in layout.groups for switch in group.switches)
    levelled = {attribute for attribute, _ in switches}
    numbers = tuple(int(attribute) for attribute in layout.order if attribute not in levelled)
    return MovableCells(numbers, switches, *layout.bounds)


def search_worst(
    model: Model,
    search: Search,
    cells: MovableCells,
    caution: Caution,
    observed: Bool[Array, " attribute"],
    completions: Completions,
    table: PriceTable,
    inside: Bool[Array, " completion"],
    edge: Float[Array, ""],
) -> tuple[Completions, PriceTable]:
    """Add, for every action, the worst plausible record that was found (one record with gaps; vmap for many).

    `inside` marks the plausible completions and `edge` is the log-density down to which others would be. Where x̂ is
    alone nothing else is weighed, and so nothing is searched: as c goes to 1 the advice stays that of x̂.
    """
    others = inside & (completions.log_density < completions.log_density[0])
    edge = jnp.where(jnp.any(others), edge, jnp.inf)
    landscape = _Landscape.of(model, caution, observed, cells, completions, edge, table.shift)
    prices = caution.outcome(table).prices
    starts = jnp.argsort(jnp.where(inside[:, None], prices, jnp.inf), axis=0)[: search.starts].T

    def from_start(action: Array, start: Array) -> _Point:
        # with fewer plausible completions than starts a walker would begin outside: x̂ always belongs
        begin = jnp.where(inside[start], start, 0)
        reach = jnp.float32(FIRST_STEP)
        first = _Point(completions.values[begin], prices[begin, action], completions.log_density[begin], reach)
        return landscape.walk(first, action, search.steps)

    ends = jax.vmap(lambda action, rows: jax.vmap(lambda start: from_start(action, start))(rows))(
        jnp.arange(prices.shape[1]), starts
    )
    best = jnp.argmin(ends.price, axis=1)
    values = jnp.take_along_axis(ends.values, best[:, None, None], axis=1)[:, 0]
    density = jnp.take_along_axis(ends.log_density, best[:, None], axis=1)[:, 0]
    return _joined(model, completions, table, values, density)


class _Landscape(eqx.Module):
    """The price of one record's completions and the edge of what is plausible.

    spread: how each completion's free numbers differ from their mean, times the root of its weight.
    brings_along: how far the numbers of completions with a level lie from the mean of all; zero where none has it.
    """

    model: Model
    caution: Caution
    observed: Bool[Array, " attribute"]
    cells: MovableCells
    completions: Completions
    edge: Float[Array, ""]
    free: Bool[Array, " attribute"]
    spread: Float[Array, "completion attribute"]
    brings_along: Float[Array, "switch attribute"]
    shift: Float[Array, " action"] | None

    @classmethod
    def of(
        cls,
        model: Model,
        caution: Caution,
        observed: Bool[Array, " attribute"],
        cells: MovableCells,
        completions: Completions,
        edge: Float[Array, ""],
        shift: Float[Array, " action"] | None,
    ) -> "_Landscape":
        values, weights = completions.values, jnp.exp(completions.log_weights)
        free, mean = jnp.asarray(cells.free) & ~observed, weights @ values
        spread = jnp.where(free[None, :], values - mean[None, :], 0.0) * jnp.sqrt(weights)[:, None]
        brings_along = jnp.zeros((0, values.shape[1]))
        if cells.switches:
            attribute, level = cells.switch_arrays
            share = jnp.where(values[:, attribute] == level[None, :], weights[:, None], 0.0)
            total = jnp.sum(share, axis=0)[:, None]
            apart = share.T @ values / jnp.maximum(total, 1e-9) - mean[None, :]
            brings_along = jnp.where(free[None, :] & (total > 0), apart, 0.0)
        return cls(model, caution, observed, cells, completions, edge, free, spread, brings_along, shift)

    def prices(self, values: Float[Array, "tried attribute"], action: Array) -> Float[Array, " tried"]:
        nothing = jnp.zeros(values.shape[0])
        table = _shifted(price_completions(self.model, values, nothing, nothing), self.shift)
        return self.caution.outcome(table).prices[:, action]

    def log_density(self, values: Float[Array, "tried attribute"]) -> Float[Array, " tried"]:
        assert isinstance(self.model, HasDensity)  # the policy has checked
        assert self.completions.evidence is not None
        return self.model.log_density(values, self.completions.evidence)

    def within(self, values: Float[Array, "tried attribute"]) -> Float[Array, "tried attribute"]:
        """The nearest records that can occur."""
        bounded = self.cells.within(values)
        if not isinstance(self.model, HasLimits):
            return bounded
        possible = self.model.possible_record
        return jax.vmap(lambda one: possible(one, self.observed))(bounded)

    def walk(self, point: _Point, action: Array, steps: int) -> _Point:
        """Each step goes to the lowest plausible record it finds, downhill or with a level switched; or stays."""

        def step(point: _Point, _: None) -> tuple[_Point, None]:
            centre, aim = self._downhill(point, action)
            switched = self._switched(point, action)

            def look(best: tuple[_Point, Array], switched: Array) -> tuple[tuple[_Point, Array], None]:
                lowest, shares = best
                ray = self.within(centre[None, :] + jnp.outer(shares, aim - centre))
                tried = jnp.concatenate([ray, switched])
                density = self.log_density(tried)
                lowest = self._lowest(lowest, tried, density, action)
                return (lowest, self._near_edge(shares, density[: shares.size])), None

            # first all along the ray, then closely where it should leave the plausible set; one program for both
            lowest = jax.lax.scan(look, (point, jnp.array(ALONG)), switched)[0][0]
            changed = jnp.where(lowest.price < point.price, AFTER_SUCCESS, AFTER_FAILURE)
            return lowest._replace(reach=changed * point.reach), None

        return jax.lax.scan(step, point, None, length=steps)[0]

    def _lowest(self, point: _Point, tried: Array, density: Array, action: Array) -> _Point:
        prices = jnp.where(density >= self.edge, self.prices(tried, action), jnp.inf)
        best = jnp.argmin(prices)
        better = _Point(tried[best], prices[best], density[best], point.reach)
        return jax.tree.map(lambda new, old: jnp.where(prices[best] < point.price, new, old), better, point)

    def _near_edge(self, shares: Array, density: Array) -> Array:
        """Shares of the way around the plausible set's end: along a ray the log-density is near a parabola."""
        outside = jnp.argmax(density < self.edge)  # the first; 0, the centre, where none is
        depth = jnp.maximum(density[0] - density[outside], 1e-6)
        end = shares[outside] * jnp.sqrt(jnp.maximum(density[0] - self.edge, 0.0) / depth)
        return jnp.where(outside > 0, end, 1.0) * jnp.array(AROUND)

    def _downhill(self, point: _Point, action: Array) -> tuple[Array, Array]:
        """The middle of the plausible set, and a gradient step of the missing numbers to be drawn back towards it."""
        if not self.cells.numbers:
            return point.values, point.values
        slope = jax.grad(lambda values: self.prices(values[None], action)[0])(point.values)
        slope = jnp.where(self.free, slope, 0.0)
        # Σ·slope with Σ the weighted covariance of the completions; never formed, so many gaps cost little
        down = self.spread.T @ (self.spread @ slope) + 1e-4 * slope
        aim = point.values - point.reach * down / jnp.sqrt(jnp.maximum(slope @ down, 1e-20))
        return jnp.where(self.free, self._centre(point.values), point.values), aim

    def _switched(self, point: _Point, action: Array) -> Float[Array, "look tried attribute"]:
        """The lowest records with one missing cell of a discrete kind at another level, for each of the two looks."""
        values = point.values
        if not self.cells.switches:
            return jnp.zeros((2, 0, values.size))
        attribute, level = self.cells.switch_arrays
        here = values[attribute] == level
        may_switch = ~self.observed[attribute] & ~here
        # the numbers that go with the old level are exchanged for those that go with the new one
        old = self.brings_along[self.cells.current(here)]
        moved = jnp.where(self.free[None, :], self.brings_along - old, 0.0)
        candidates = jnp.where(attribute[:, None] == np.arange(values.size)[None, :], level[:, None], values[None, :])
        candidates = jnp.where(may_switch[:, None], self.within(candidates + moved), values[None, :])
        prices = jnp.where(may_switch, self.prices(candidates, action), jnp.inf)
        lowest = jax.lax.top_k(-prices, min(2 * SWITCHES_TRIED, len(attribute)))[1]
        return candidates[jnp.resize(lowest, (2 * SWITCHES_TRIED,))].reshape(2, SWITCHES_TRIED, -1)

    def _centre(self, values: Float[Array, " attribute"]) -> Float[Array, " attribute"]:
        """The likely numbers beside these levels: x̂, moved by what each level that differs from x̂'s brings along."""
        likely = self.completions.values[0]
        if not self.cells.switches:
            return likely
        attribute, level = self.cells.switch_arrays
        sign = jnp.where(values[attribute] == level, 1.0, 0.0) - jnp.where(likely[attribute] == level, 1.0, 0.0)
        return likely + sign @ self.brings_along


def _shifted(table: PriceTable, shift: Float[Array, " action"] | None) -> PriceTable:
    return table if shift is None else table.shifted(shift)


def _joined(
    model: Model, completions: Completions, table: PriceTable, values: Array, density: Float[Array, " action"]
) -> tuple[Completions, PriceTable]:
    """Found records behind the draws, with no weight; none counts as denser than x̂."""
    nothing = jnp.full(density.shape, -jnp.inf)
    density = jnp.minimum(density, completions.log_density[0])
    more = _shifted(price_completions(model, values, nothing, density), table.shift)

    def both(drawn: Array | None, added: Array | None) -> Array | None:
        return None if drawn is None or added is None else jnp.concatenate([drawn, added])

    joined = PriceTable(
        jnp.concatenate([table.prices, more.prices]),
        jnp.concatenate([table.log_weights, nothing]),
        jnp.concatenate([table.log_density, density]),
        both(table.doubt, more.doubt),
        both(table.noise, more.noise),
        shift=table.shift,
    )
    everything = jnp.concatenate([completions.values, values])
    return Completions(everything, joined.log_weights, joined.log_density, completions.evidence), joined
