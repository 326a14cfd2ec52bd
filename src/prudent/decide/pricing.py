"""Pricing: records completed and every action priced on each completion, in chunks of fixed size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.decide.caution import Caution
from prudent.decide.completions import Completions, PriceTable
from prudent.decide.model import HasDraws, HasTypes, Model, price_completions, price_table, priced_and_examined
from prudent.decide.plausible_set import PlausibleSet
from prudent.decide.search import MovableCells, Search, movable_cells, search_worst
from prudent.networks import compiled, layout_of, quasi_random, side_by_side, use_compilation_cache
from prudent.progress import tracked
from prudent.table import Encoded, Schema

FEW_ROWS, MANY_ROWS = 8, 32
CHUNK_CELLS = 2_000_000
"""Completed cells held at once: the number of rows per chunk follows, so memory does not grow with the table, and a
chunk takes a few seconds at most."""
LOOKS, SEARCHED = 10, 16
"""Records that a walker of the search looks at beside switched levels; they take less memory than completions."""
ACCELERATED, ACCELERATED_ROWS = 32, 4096
"""An accelerator has the memory for so many times as much, and needs so many rows to be busy."""


@dataclass(frozen=True, eq=False)
class Pricing:
    """What the price tables of a policy depend on.

    completions: how many plausible records each case is completed into.
    literal: candidates as the paper prints it, see `Strategy.literal`.
    doubt: the caution that a search for worst cases takes into account.
    every_density: whether the density of every completion is computed, or of as many as the worst case takes.
    """

    model: Model
    schema: Schema
    completions: int
    seed: int
    literal: bool
    search: Search
    plausible_set: PlausibleSet
    doubt: float
    every_density: bool = True

    @property
    def searched(self) -> bool:
        """Whether the worst case is searched for, or only looked up among the draws."""
        return self.search.steps > 0

    def draws_like(self, other: "Pricing") -> bool:
        """Whether both complete and price records alike, whatever they search for then."""
        same = self.completions == other.completions and self.seed == other.seed and self.literal == other.literal
        return self is other or (self.model is other.model and same and (self.doubt > 0) == (other.doubt > 0))

    def shared_with(self, other: "Pricing") -> bool:
        """Whether both give the same tables, so that they need to be made only once."""
        if not self.draws_like(other) or not (self.searched or other.searched):
            return self.draws_like(other)
        searches = [(one.search, one.plausible_set, one.doubt) for one in (self, other)]
        return self is other or bool(eqx.tree_equal(*searches))

    @property
    def examined(self) -> bool:
        """Whether densities are computed for some of the completions only."""
        drawn = isinstance(self.model, HasDraws) and not isinstance(self.model, HasTypes)
        return drawn and not (self.every_density or self.searched or self.literal)

    @cached_property
    def _variants(self) -> "dict[tuple[int, bool], Pricing]":
        return {}

    def variant(self, completions: int | None = None, every_density: bool | None = None) -> "Pricing":
        """The same but for these; kept, since what depends on it takes longer to make than one case to price."""
        chosen = (
            self.completions if completions is None else completions,
            self.every_density if every_density is None else every_density,
        )
        if chosen not in self._variants:
            self._variants[chosen] = replace(self, completions=chosen[0], every_density=chosen[1])
        return self._variants[chosen]

    @cached_property
    def _cells(self) -> MovableCells:
        return movable_cells(layout_of(self.schema))

    @cached_property
    def uniforms(self) -> Array:
        """Quasi-random draws, shared by all records."""
        members, size = self.model.members, self.model.draw_size
        each = -(-self.completions // members)
        points = quasi_random(each * members, size, self.seed).reshape(each, members, size)
        return jax.device_put(np.ascontiguousarray(points.transpose(1, 0, 2)))

    @cached_property
    def _cells_per_row(self) -> int:
        """Cells that are completed for one record or, where that is more, looked at in one step of the search."""
        attributes, size = len(self.schema), layout_of(self.schema).width
        drawn = self.uniforms.shape[0] * self.uniforms.shape[1] * size
        if not self.searched:
            return drawn
        actions = eqx.filter_eval_shape(self.model.price, jnp.zeros(attributes)).shape[-1]
        walkers = actions * self.search.starts
        return max(drawn, walkers * (len(self._cells.switches) + LOOKS) * size // SEARCHED)

    def chunks(self, encoded: Encoded, label: str = "completing and pricing") -> Iterator[tuple[Array, Array]]:
        """Encoded values and what is observed, in chunks of fixed size; the last one is padded with its last row.

        label: of the step, for who waits for it.
        """
        use_compilation_cache()
        rows = len(encoded.flags)
        # two sizes only, so that at most two programs are compiled; a few cases are taken one by one
        times, many = (1, MANY_ROWS) if jax.default_backend() == "cpu" else (ACCELERATED, ACCELERATED_ROWS)
        most = 1 << max(times * CHUNK_CELLS // self._cells_per_row, 1).bit_length() - 1
        chunk = 1 if rows <= FEW_ROWS else min(many, most)
        for part in tracked(-(-rows // chunk), label):
            index = np.minimum(np.arange(part * chunk, (part + 1) * chunk), rows - 1)
            yield jax.device_put((encoded.values[index], encoded.observed[index]))

    def completed(self, encoded: Encoded) -> Iterator[tuple[Completions, PriceTable]]:
        """Completions and price tables, chunk by chunk; the last chunk is padded."""
        return (one for (one,) in completed_together([self], encoded))

    def tables(self, encoded: Encoded) -> Iterator[PriceTable]:
        """The price tables alone."""
        return (tables for _, tables in self.completed(encoded))

    def detail(self, values: np.ndarray, observed: np.ndarray) -> tuple[Completions, PriceTable]:
        """Everything about one encoded record: its completions and all prices."""
        use_compilation_cache()
        # a table of one row, so that its program serves here too
        value, shown = jax.device_put((values[None], observed[None]))
        completed = self._with_search(shown, self._drawn(value, shown, False))
        completions, table = jax.tree.map(lambda leaf: leaf[0], completed)
        if table.doubt is not None:
            return completions, table
        return completions, eqx.tree_at(lambda t: t.doubt, table, _doubts(self.model, completions), is_leaf=_absent)

    def _complete(self, values: Array, observed: Array) -> tuple[Completions, PriceTable]:
        """Completions and price tables of a chunk, with what a search adds to them."""
        return self._with_search(observed, self._drawn(values, observed, self.examined))

    def _drawn(self, values: Array, observed: Array, examined: bool) -> tuple[Completions, PriceTable]:
        return _completed(self.model, values, observed, self.uniforms, self.literal, self.doubt > 0, examined)

    def _with_search(
        self, observed: Array, completed: tuple[Completions, PriceTable]
    ) -> tuple[Completions, PriceTable]:
        if not self.searched:
            return completed
        # what does not move the worst case of an action is left out, so that policies share one program
        caution = Caution(self.doubt, 0.0, jnp.zeros(0))
        plausible = _plausible(self.plausible_set, completed[1])
        return _searched(self.model, self.search, self._cells, caution, observed, *completed, *plausible)


def completed_together(several: Sequence[Pricing], encoded: Encoded) -> Iterator[list[tuple[Completions, PriceTable]]]:
    """What each of several pricings that draw alike makes of the same chunks: records are completed once for all, and
    each adds what it searches for."""
    largest = max(several, key=lambda one: one._cells_per_row)  # a chunk that it has room for suits all
    label = "searching worst cases" if largest.searched else "completing and pricing"

    def of_chunk(chunk: tuple[Array, Array]) -> list[tuple[Completions, PriceTable]]:
        values, observed = chunk
        drawn = largest._drawn(values, observed, largest.examined)
        return jax.block_until_ready([one._with_search(observed, drawn) for one in several])

    yield from side_by_side(of_chunk, largest.chunks(encoded, label))


@compiled
def _completed(
    model: Model, values: Array, observed: Array, uniforms: Array, literal: bool, doubt: bool, examined: bool
) -> tuple[Completions, PriceTable]:
    """Completions and price tables of many records."""

    def one(values: Array, observed: Array) -> tuple[Completions, PriceTable]:
        if examined:
            assert isinstance(model, HasDraws)
            return priced_and_examined(model, values, observed, uniforms, doubt)
        return price_table(model, values, observed, uniforms, literal, doubt)

    return jax.vmap(one)(values, observed)


@compiled
def _doubts(model: Model, completions: Completions) -> Any:
    return price_completions(model, completions.values, completions.log_weights, completions.log_density).doubt


def _absent(leaf: object) -> bool:
    return leaf is None


@compiled
def _plausible(plausible: PlausibleSet, tables: PriceTable) -> tuple[Array, Array]:
    return jax.vmap(lambda table: (plausible.inside(table), plausible.edge(table)))(tables)


@compiled
def _searched(
    model: Model, search: Search, cells: MovableCells, caution: Caution, observed: Array, *completed: Any
) -> tuple[Completions, PriceTable]:
    return search_worst(model, search, cells, caution, observed, *completed)
