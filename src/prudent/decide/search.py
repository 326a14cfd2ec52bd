"""The worst case by search: from the worst plausible completions, go down in price without leaving the plausible set.

Sampling alone understates how bad a plausible case can be: the lowest of a few hundred draws is not the lowest of the
set they were drawn from. What the search finds joins the completions with no weight, so means and shares do not change
and the worst case can only become worse.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    observed: Bool[Array, "row attribute"],
    completions: Completions,
    table: PriceTable,
    inside: Bool[Array, "row completion"],
    edge: Float[Array, " row"],
) -> tuple[Completions, PriceTable]:
    """Add, for every action, the worst plausible record that was found.

    For many records with gaps, so that the loops over steps stand outside of `vmap`: inside, they would be traced anew
    for every level of it. `inside` marks the plausible completions and `edge` is the log-density down to which others
    would be. Where x̂ is alone nothing else is weighed, and so nothing is searched: as c goes to 1 the advice stays that
    of x̂.
    """
    others = inside & (completions.log_density < completions.log_density[:, :1])
    edge = jnp.where(jnp.any(others, axis=1), edge, jnp.inf)
    grounds = jax.vmap(lambda *record: _Ground.of(cells, *record))(observed, completions, edge, table.shift)
    prices = jax.vmap(lambda one: caution.outcome(one).prices)(table)
    points, actions = jax.vmap(lambda *record: _starts(search.starts, *record))(inside, prices, completions)

    def each(function: Callable[..., Any]) -> Callable[..., Any]:
        """For every walker of every record."""

        def of_record(ground: _Ground, actions: Array, *of_walkers: Any) -> Any:
            landscape = _Landscape(model, caution, cells, ground)
            return jax.vmap(lambda action, *own: function(landscape, action, *own))(actions, *of_walkers)

        return lambda *of_walkers: jax.vmap(of_record)(grounds, actions, *of_walkers)

    def step(points: _Point, _: Any) -> tuple[_Point, None]:
        """To the lowest plausible record that is found, downhill or with a level switched; or stay."""
        ways = each(_Landscape.ways)(points)

        def look(best: tuple[_Point, Array], switched: Array) -> tuple[tuple[_Point, Array], None]:
            return each(_Landscape.look)(ways.ray, switched, *best), None

        # first all along the ray, then closely where it should leave the plausible set; one program for both
        along = jnp.broadcast_to(jnp.array(ALONG), (*actions.shape, len(ALONG)))
        lowest = jax.lax.scan(look, (points, along), jnp.moveaxis(ways.switched, 2, 0))[0][0]
        changed = jnp.where(lowest.price < points.price, AFTER_SUCCESS, AFTER_FAILURE)
        return lowest._replace(reach=changed * points.reach), None

    ends = jax.lax.scan(step, points, None, length=search.steps)[0]
    return jax.vmap(lambda *record: _joined(model, search.starts, *record))(completions, table, ends)


def _starts(
    starts: int,
    inside: Bool[Array, " completion"],
    prices: Float[Array, "completion action"],
    completions: Completions,
) -> tuple["_Point", Int[Array, " walker"]]:
    """The walkers of a record: for every action, at its worst plausible completions; and the actions."""
    rows = jnp.argsort(jnp.where(inside[:, None], prices, jnp.inf), axis=0)[:starts].T.reshape(-1)
    # with fewer plausible completions than starts a walker would begin outside: x̂ always belongs
    rows = jnp.where(inside[rows], rows, 0)
    actions = jnp.repeat(jnp.arange(prices.shape[1]), starts)
    reach = jnp.full(rows.shape, FIRST_STEP)
    return _Point(completions.values[rows], prices[rows, actions], completions.log_density[rows], reach), actions


class _Ground(NamedTuple):
    """What the search knows of one record.

    spread: how each completion's free numbers differ from their mean, times the root of its weight.
    brings_along: how far the numbers of completions with a level lie from the mean of all; zero where none has it.
    """

    observed: Bool[Array, " attribute"]
    likely: Float[Array, " attribute"]
    evidence: Float[Array, " member"] | None
    edge: Float[Array, ""]
    shift: Float[Array, " action"] | None
    free: Bool[Array, " attribute"]
    spread: Float[Array, "completion attribute"]
    brings_along: Float[Array, "switch attribute"]

    @classmethod
    def of(
        cls,
        cells: MovableCells,
        observed: Bool[Array, " attribute"],
        completions: Completions,
        edge: Float[Array, ""],
        shift: Float[Array, " action"] | None,
    ) -> "_Ground":
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
        return cls(observed, values[0], completions.evidence, edge, shift, free, spread, brings_along)


class _Ways(NamedTuple):
    """Where a walker may go: along a ray from a centre to an aim, or with a level switched, for each of two looks."""

    ray: tuple[Float[Array, " attribute"], Float[Array, " attribute"]]
    switched: Float[Array, "look tried attribute"]


class _Landscape(NamedTuple):
    """The price of one record's completions and the edge of what is plausible."""

    model: Model
    caution: Caution
    cells: MovableCells
    ground: _Ground

    def prices(self, values: Float[Array, "tried attribute"], action: Array) -> Float[Array, " tried"]:
        nothing = jnp.zeros(values.shape[0])
        table = price_completions(self.model, values, nothing, nothing, bool(self.caution.doubt))
        table = _shifted(table, self.ground.shift)
        return self.caution.outcome(table).prices[:, action]

    def log_density(self, values: Float[Array, "tried attribute"]) -> Float[Array, " tried"]:
        assert isinstance(self.model, HasDensity)  # the policy has checked
        assert self.ground.evidence is not None
        return self.model.log_density(values, self.ground.evidence)

    def within(self, values: Float[Array, "tried attribute"]) -> Float[Array, "tried attribute"]:
        """The nearest records that can occur."""
        bounded = self.cells.within(values)
        if not isinstance(self.model, HasLimits):
            return bounded
        possible = self.model.possible_record
        return jax.vmap(lambda one: possible(one, self.ground.observed))(bounded)

    def ways(self, action: Array, point: _Point) -> _Ways:
        return _Ways(self._downhill(point, action), self._switched(point, action))

    def look(
        self, action: Array, ray: tuple[Array, Array], switched: Array, lowest: _Point, shares: Array
    ) -> tuple[_Point, Array]:
        """The lowest plausible record seen so far, and where to look next on the ray."""
        centre, aim = ray
        tried = jnp.concatenate([self.within(centre[None, :] + jnp.outer(shares, aim - centre)), switched])
        density = self.log_density(tried)
        return self._lowest(lowest, tried, density, action), self._near_edge(shares, density[: shares.size])

    def _lowest(self, point: _Point, tried: Array, density: Array, action: Array) -> _Point:
        prices = jnp.where(density >= self.ground.edge, self.prices(tried, action), jnp.inf)
        best = jnp.argmin(prices)
        better = _Point(tried[best], prices[best], density[best], point.reach)
        return jax.tree.map(lambda new, old: jnp.where(prices[best] < point.price, new, old), better, point)

    def _near_edge(self, shares: Array, density: Array) -> Array:
        """Shares of the way around the plausible set's end: along a ray the log-density is near a parabola."""
        edge = self.ground.edge
        outside = jnp.argmax(density < edge)  # the first; 0, the centre, where none is
        depth = jnp.maximum(density[0] - density[outside], 1e-6)
        end = shares[outside] * jnp.sqrt(jnp.maximum(density[0] - edge, 0.0) / depth)
        return jnp.where(outside > 0, end, 1.0) * jnp.array(AROUND)

    def _downhill(self, point: _Point, action: Array) -> tuple[Array, Array]:
        """The middle of the plausible set, and a gradient step of the missing numbers to be drawn back towards it."""
        if not self.cells.numbers:
            return point.values, point.values
        free, spread = self.ground.free, self.ground.spread
        slope = jax.grad(lambda values: self.prices(values[None], action)[0])(point.values)
        slope = jnp.where(free, slope, 0.0)
        # Σ·slope with Σ the weighted covariance of the completions; never formed, so many gaps cost little
        down = spread.T @ (spread @ slope) + 1e-4 * slope
        aim = point.values - point.reach * down / jnp.sqrt(jnp.maximum(slope @ down, 1e-20))
        return jnp.where(free, self._centre(point.values), point.values), aim

    def _switched(self, point: _Point, action: Array) -> Float[Array, "look tried attribute"]:
        """The lowest records with one missing cell of a discrete kind at another level, for each of the two looks."""
        values = point.values
        if not self.cells.switches:
            return jnp.zeros((2, 0, values.size))
        attribute, level = self.cells.switch_arrays
        here = values[attribute] == level
        may_switch = ~self.ground.observed[attribute] & ~here
        # the numbers that go with the old level are exchanged for those that go with the new one
        brings_along = self.ground.brings_along
        moved = jnp.where(self.ground.free[None, :], brings_along - brings_along[self.cells.current(here)], 0.0)
        candidates = jnp.where(attribute[:, None] == np.arange(values.size)[None, :], level[:, None], values[None, :])
        candidates = jnp.where(may_switch[:, None], self.within(candidates + moved), values[None, :])
        prices = jnp.where(may_switch, self.prices(candidates, action), jnp.inf)
        lowest = jax.lax.top_k(-prices, min(2 * SWITCHES_TRIED, len(attribute)))[1]
        return candidates[jnp.resize(lowest, (2 * SWITCHES_TRIED,))].reshape(2, SWITCHES_TRIED, -1)

    def _centre(self, values: Float[Array, " attribute"]) -> Float[Array, " attribute"]:
        """The likely numbers beside these levels: x̂, moved by what each level that differs from x̂'s brings along."""
        likely = self.ground.likely
        if not self.cells.switches:
            return likely
        attribute, level = self.cells.switch_arrays
        sign = jnp.where(values[attribute] == level, 1.0, 0.0) - jnp.where(likely[attribute] == level, 1.0, 0.0)
        return likely + sign @ self.ground.brings_along


def _shifted(table: PriceTable, shift: Float[Array, " action"] | None) -> PriceTable:
    return table if shift is None else table.shifted(shift)


def _joined(
    model: Model, starts: int, completions: Completions, table: PriceTable, ends: _Point
) -> tuple[Completions, PriceTable]:
    """The worst records of every action behind the draws, with no weight; none counts as denser than x̂."""
    best = jnp.argmin(ends.price.reshape(-1, starts), axis=1) + starts * np.arange(table.prices.shape[1])
    values, density = ends.values[best], jnp.minimum(ends.log_density[best], completions.log_density[0])
    nothing = jnp.full(density.shape, -jnp.inf)
    more = _shifted(price_completions(model, values, nothing, density, table.doubt is not None), table.shift)

    def both(drawn: Array | None, added: Array | None) -> Array | None:
        return None if drawn is None or added is None else jnp.concatenate([drawn, added])

    joined = PriceTable(
        jnp.concatenate([table.prices, more.prices]),
        jnp.concatenate([table.log_weights, nothing]),
        jnp.concatenate([table.log_density, density]),
        both(table.doubt, more.doubt),
        both(table.noise, more.noise),
        shift=table.shift,
        gaps=table.gaps,
    )
    everything = jnp.concatenate([completions.values, values])
    return Completions(
        everything, joined.log_weights, joined.log_density, completions.evidence, completions.gaps
    ), joined
