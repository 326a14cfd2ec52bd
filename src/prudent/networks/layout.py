"""How a record is laid out for the networks: one vector of cells, attributes of the same likelihood side by side.

A number is one cell. A category has a cell for each of its levels, one of which is 1; the levels of all categories lie
end to end, so that an attribute of many levels costs no more than its own. All axes but the last are the caller's.
"""

import abc
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.table import Column, Schema

AT_BOUND = 1e-4
"""Share of the range: numbers this close to a bound count as on it, so that rounding does not move them off."""


class Group(eqx.Module):
    """Attributes that share a likelihood. Cells are those of the group alone, `[..., cell]`."""

    name: ClassVar[str]
    attributes: tuple[int, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return len(self.attributes)

    @property
    def width(self) -> int:
        """The number of cells."""
        return self.size

    def cells(self, values: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        return values

    def values(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        return cells

    def spread(self, per_attribute: Array) -> Array:
        """The same for all cells of an attribute."""
        return per_attribute

    @abc.abstractmethod
    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        """What log p(x | z) is linear in, see `decoder.natural`."""

    def reordered(self, order: np.ndarray) -> "Group":
        """The same group with its attributes in another order."""

        def moved(own: Any) -> Any:
            return tuple(own[index] for index in order) if isinstance(own, tuple) else own[order]

        return type(self)(**{field.name: moved(getattr(self, field.name)) for field in fields(self)})

    @property
    def switches(self) -> tuple[tuple[int, float], ...]:
        """Every (attribute, encoded value) of attributes that cannot move a little, only from level to level."""
        return ()


class Continuous(Group):
    """Real and positive numbers (the latter by their logarithm)."""

    name = "continuous"

    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        return jnp.concatenate([cells**2, cells], axis=-1)


class Bounded(Group):
    """Numbers that heap on two bounds."""

    name = "bounded"
    low: Float[Array, " attribute"]
    high: Float[Array, " attribute"]

    def on_bounds(self, cells: Float[Array, "... cell"]) -> tuple[Array, Array]:
        """Which cells lie on the low bound and which on the high one; numbers beyond a bound count as on it."""
        margin = AT_BOUND * (self.high - self.low)
        return cells <= self.low + margin, cells >= self.high - margin

    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        """[x², x, 1] between the bounds, [1] on the low one, [1] on the high one."""
        at_low, at_high = self.on_bounds(cells)
        between = jnp.where(at_low | at_high, 0.0, 1.0)
        parts = [between * cells**2, between * cells, between, at_low.astype(cells.dtype), at_high.astype(cells.dtype)]
        return jnp.concatenate(parts, axis=-1)


class Counts(Group):
    """Whole numbers 0, 1, 2, … `top`; a cell is the standardised log(1 + count)."""

    name = "count"
    location: Float[Array, " attribute"]
    scale: Float[Array, " attribute"]
    top: tuple[int, ...] = eqx.field(static=True)

    def cells(self, values: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        return straight_through(self.encoded(self.count(values)), values)

    def count(self, cells: Float[Array, "... cell"]) -> Float[Array, "... cell"]:
        """The nearest count, on the scale of log(1 + count)."""
        lifted = jnp.exp(jnp.clip(cells * self.scale + self.location, 0.0, self._log_top))
        return jnp.clip(jnp.ceil(lifted - 1.5), 0.0, jnp.array(self.top))

    def encoded(self, counts: Float[Array, "... cell"]) -> Float[Array, "... cell"]:
        return (jnp.log1p(counts) - self.location) / self.scale

    @property
    def _log_top(self) -> np.ndarray:
        return np.log1p(np.array(self.top, np.float32)) + 1.0

    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        attribute, level = level_slots(tuple(top + 1 for top in self.top))
        return jnp.where(self.count(cells)[..., attribute] == level, 1.0, 0.0)


class Ordinal(Group):
    """Levels with an order; a cell is the standardised number of the level."""

    name = "ordinal"
    first: Float[Array, " attribute"]
    step: Float[Array, " attribute"]
    levels: tuple[int, ...] = eqx.field(static=True)

    def level(self, cells: Float[Array, "... cell"]) -> Float[Array, "... cell"]:
        return jnp.clip(jnp.round((cells - self.first) / self.step), 0, jnp.array(self.levels) - 1)

    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        attribute, level = level_slots(self.levels)
        return jnp.where(self.level(cells)[..., attribute] == level, 1.0, 0.0)

    @property
    def switches(self) -> tuple[tuple[int, float], ...]:
        own = np.asarray(self.first)[:, None] + np.asarray(self.step)[:, None] * np.arange(max(self.levels))
        return _switches(self.attributes, self.levels, own)


class Categorical(Group):
    """Levels without an order; a cell for each."""

    name = "categorical"
    levels: tuple[int, ...] = eqx.field(static=True)

    @property
    def width(self) -> int:
        return sum(self.levels)

    def cells(self, values: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        attribute, level = level_slots(self.levels)
        nearest = jnp.clip(jnp.round(values), 0, jnp.array(self.levels) - 1)
        return jnp.where(nearest[..., attribute] == level, 1.0, 0.0)

    def values(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        _, level = level_slots(self.levels)
        return self.totals(cells * level)

    def spread(self, per_attribute: Array) -> Array:
        return per_attribute[..., level_slots(self.levels)[0]]

    def totals(self, per_level: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        """The sum over the levels of each attribute."""
        return _product(per_level, self._membership)

    def of_attribute(self, per_attribute: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        """As `spread`, for what has a gradient: its derivative is a matrix product too, not a scatter."""
        return _product(per_attribute, self._membership.T)

    @property
    def _membership(self) -> np.ndarray:
        return np.eye(self.size, dtype=np.float32)[level_slots(self.levels)[0]]

    @property
    def tiles(self) -> tuple[tuple[int, int], ...]:
        """The cells in stretches of whole attributes, long enough to be worth a matrix product and no longer."""
        ends, tiles, start = np.cumsum(self.levels).tolist(), [], 0
        for at, end in enumerate(ends):
            following = self.levels[at + 1] if at + 1 < self.size else TILE
            if end - start + following > TILE:
                tiles.append((start, end))
                start = end
        return tuple(tiles)

    def cumulative(self, per_level: Float[Array, "... cell"]) -> Float[Array, "... cell"]:
        """The sum over the levels of the same attribute, up to each."""
        attribute, _ = level_slots(self.levels)
        parts = []
        for start, end in self.tiles:
            own = attribute[start:end]
            upto = np.triu(np.ones((end - start, end - start), np.float32)) * (own[:, None] == own[None, :])
            parts.append(_product(per_level[..., start:end], upto))
        return jnp.concatenate(parts, axis=-1)

    def likeliest(self, per_level: Float[Array, "... cell"]) -> Float[Array, "... cell"]:
        """One-hot at the highest level of each attribute."""
        starts = np.cumsum((0, *self.levels[:-1]))
        places = np.minimum(np.arange(max(self.levels))[None, :], np.array(self.levels)[:, None] - 1)
        best = jnp.argmax(per_level[..., starts[:, None] + places], axis=-1)
        attribute, level = level_slots(self.levels)
        return jnp.where(best[..., attribute] == level, 1.0, 0.0)

    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        return cells

    @property
    def switches(self) -> tuple[tuple[int, float], ...]:
        return _switches(self.attributes, self.levels, np.tile(np.arange(max(self.levels)), (self.size, 1)))


TILE = 64


def _product(left: Array, right: np.ndarray) -> Array:
    """With a matrix of zeros and ones: exact, whatever the device does with matrix products by default."""
    return jnp.matmul(left, jnp.asarray(right), precision=jax.lax.Precision.HIGHEST)


def _switches(
    attributes: tuple[int, ...], levels: tuple[int, ...], values: np.ndarray
) -> tuple[tuple[int, float], ...]:
    return tuple(
        (attribute, float(value))
        for attribute, count, own in zip(attributes, levels, values, strict=True)
        for value in own[:count]
    )


def straight_through(hard: Array, soft: Array) -> Array:
    """The hard value, to the last bit, with the gradient of the soft one."""
    return jax.lax.stop_gradient(hard) + (soft - jax.lax.stop_gradient(soft))


@lru_cache(maxsize=256)
def level_slots(levels: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The levels of all attributes end to end: which attribute each belongs to, and its number within it."""
    attribute = np.repeat(np.arange(len(levels)), levels)
    return attribute, np.concatenate([np.arange(count) for count in levels]).astype(np.float32)


class Layout(eqx.Module):
    """The groups of a schema, and conversions between encoded values and cells.

    Encoded values have the attributes in the schema's order; masks and uniforms that are "by group" have them in the
    order of the groups.
    """

    groups: tuple[Group, ...]
    attributes: int = eqx.field(static=True)

    @property
    def order(self) -> np.ndarray:
        """The attributes in the order of the groups."""
        return np.concatenate([group.attributes for group in self.groups])

    @property
    def width(self) -> int:
        """The number of cells of a record."""
        return sum(group.width for group in self.groups)

    @property
    def numbers(self) -> int:
        """How many cells are numbers; they come first, categories last."""
        return sum(group.width for group in self.groups if not isinstance(group, Categorical))

    @property
    def categories(self) -> Categorical | None:
        """The last group, where there are categories."""
        return next((group for group in self.groups if isinstance(group, Categorical)), None)

    def by_group(self, per_attribute: Array) -> Array:
        """Anything per attribute (a mask, uniforms), in the order of the groups."""
        order = self.order
        return per_attribute if _is_range(order) else per_attribute[..., order]

    def split(self, by_group: Array) -> list[Array]:
        """What is in the order of the groups, one part for each."""
        return _parts(by_group, [group.size for group in self.groups])

    def split_cells(self, cells: Array) -> list[Array]:
        return _parts(cells, [group.width for group in self.groups])

    def cells(self, values: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        """Encoded values as cells; discrete ones at the nearest level."""
        parts = self.split(self.by_group(values))
        return jnp.concatenate([group.cells(own) for group, own in zip(self.groups, parts, strict=True)], axis=-1)

    def values(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        """Cells as encoded values in the schema's order."""
        parts = zip(self.groups, self.split_cells(cells), strict=True)
        by_group = jnp.concatenate([group.values(own) for group, own in parts], axis=-1)
        order = self.order
        return by_group if _is_range(order) else by_group[..., np.argsort(order)]

    def spread(self, by_group: Array) -> Array:
        """What is given per attribute, for every cell of the attribute."""
        parts = zip(self.groups, self.split(by_group), strict=True)
        return jnp.concatenate([group.spread(own) for group, own in parts], axis=-1)

    def statistics(self, cells: Float[Array, "... cell"]) -> Float[Array, "... statistic"]:
        """The statistics that log p(x | z) is linear in, see `decoder.natural`."""
        parts = zip(self.groups, self.split_cells(cells), strict=True)
        return jnp.concatenate([group.statistics(own) for group, own in parts], axis=-1)

    @property
    def bounds(self) -> tuple[Float[Array, " attribute"], Float[Array, " attribute"]]:
        """The encoded bounds of every attribute, infinite where it has none."""
        low, high = np.full((2, self.attributes), [[-np.inf], [np.inf]], np.float32)
        for group in self.groups:
            if isinstance(group, Bounded):
                low[np.array(group.attributes)], high[np.array(group.attributes)] = group.low, group.high
        return jax.device_put((low, high))


def _is_range(order: np.ndarray) -> bool:
    return bool((order == np.arange(len(order))).all())


def _parts(array: Array, sizes: list[int]) -> list[Array]:
    ends = np.cumsum(sizes).tolist()
    return [array[..., end - size : end] for end, size in zip(ends, sizes, strict=True)]


def layout_of(schema: Schema) -> Layout:
    """Group the columns of a schema by likelihood."""
    found: list[Group] = []
    for kinds, make in _GROUPS:
        attributes = tuple(index for index, column in enumerate(schema.columns) if column.likelihood in kinds)
        if attributes:
            found.append(make(attributes, [schema.columns[index] for index in attributes]))
    return Layout(tuple(found), len(schema.columns))


def _placed(numbers: Iterable[float]) -> Float[Array, " attribute"]:
    # `jnp.asarray` compiles a little program for every shape
    return jax.device_put(np.array(list(numbers), np.float32))


def _numbers(columns: list[Column], number: str) -> Float[Array, " attribute"]:
    return _placed(getattr(column, number) for column in columns)


def _bounded(attributes: tuple[int, ...], columns: list[Column]) -> Bounded:
    low, high = (_placed((getattr(c, end) - c.location) / c.scale for c in columns) for end in ("low", "high"))
    return Bounded(attributes, low, high)


def _counts(attributes: tuple[int, ...], columns: list[Column]) -> Counts:
    top = tuple(column.levels - 1 for column in columns)
    return Counts(attributes, _numbers(columns, "location"), _numbers(columns, "scale"), top)


def _ordinal(attributes: tuple[int, ...], columns: list[Column]) -> Ordinal:
    first = _placed(-column.location / column.scale for column in columns)
    step = _placed(1.0 / column.scale for column in columns)
    return Ordinal(attributes, first, step, tuple(column.levels for column in columns))


def _categorical(attributes: tuple[int, ...], columns: list[Column]) -> Categorical:
    return Categorical(attributes, tuple(column.levels for column in columns))


_GROUPS = (
    (("real", "positive"), lambda attributes, columns: Continuous(attributes)),
    (("bounded",), _bounded),
    (("count",), _counts),
    (("ordinal",), _ordinal),
    (("categorical",), _categorical),
)
"""In this order: categories last."""
