"""How the attributes of a record are grouped for the networks: attributes of the same likelihood together."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.table import Column, Schema

GroupedCells = tuple[Array, ...]
"""The cells of one record, one array per group: numbers [attribute], or one-hot levels [attribute, level]."""

GROUPS = ("continuous", "bounded", "ordinal", "count", "categorical")
_GROUP_OF = {"real": "continuous", "positive": "continuous"}

AT_BOUND = 1e-4
"""Share of the range: numbers this close to a bound count as on it, so that rounding does not move them off."""


class Group(eqx.Module):
    """Attributes that share a likelihood.

    A discrete group is padded to the longest of its attributes; `present` marks the real levels and `level_values`
    holds each level's encoded value. Of a bounded group `level_values` holds the two encoded bounds.
    """

    name: str = eqx.field(static=True)
    attributes: tuple[int, ...] = eqx.field(static=True)
    level_values: Float[Array, "member_attribute level"]
    present: Float[Array, "member_attribute level"]

    @property
    def discrete(self) -> bool:
        return self.name not in ("continuous", "bounded")

    @property
    def embedded(self) -> bool:
        """Categories have no order, so networks see them one-hot; every other kind is a number to them."""
        return self.name == "categorical"

    @property
    def size(self) -> int:
        return len(self.attributes)

    @property
    def levels(self) -> int:
        return self.level_values.shape[1] if self.discrete else 0


class Layout(eqx.Module):
    """The groups of a schema, and conversions between encoded values and grouped cells, all for one record."""

    groups: tuple[Group, ...]
    attributes: int = eqx.field(static=True)

    def cells(self, values: Float[Array, " attribute"]) -> GroupedCells:
        """Split encoded values into groups; discrete ones become one-hot at the nearest level."""
        result = []
        for group in self.groups:
            cells = values[jnp.array(group.attributes)]
            if group.discrete:
                distance = jnp.where(group.present > 0, jnp.abs(cells[:, None] - group.level_values), jnp.inf)
                cells = jnp.eye(group.levels)[jnp.argmin(distance, axis=1)]
            result.append(cells)
        return tuple(result)

    def values(self, cells: GroupedCells) -> Float[Array, " attribute"]:
        """Put groups back into one vector of encoded values."""
        by_group = [encoded_values(group, of_group) for group, of_group in zip(self.groups, cells, strict=True)]
        order = np.argsort(np.concatenate([group.attributes for group in self.groups]))
        return jnp.concatenate(by_group)[order]

    def inputs(self, cells: GroupedCells) -> Float[Array, " input"]:
        """A complete record as the input of a feed-forward network: numbers as they are, categories one-hot."""
        by_group = [
            of_group.reshape(-1) if group.embedded else encoded_values(group, of_group)
            for group, of_group in zip(self.groups, cells, strict=True)
        ]
        return jnp.concatenate(by_group)

    @property
    def input_size(self) -> int:
        return sum(group.size * group.levels if group.embedded else group.size for group in self.groups)

    @property
    def one_hot_size(self) -> int:
        """The numbers that a complete record takes in the networks: discrete groups are padded, see `Group`."""
        return sum(group.size * max(group.levels, 1) for group in self.groups)

    def statistics(self, cells: GroupedCells) -> Float[Array, " statistic"]:
        """The statistics that log p(x | z) is linear in, see `decoder.natural`: [x², x] of numbers, levels one-hot.

        Of bounded numbers: [x², x, 1] between the bounds, [1] on the low one, [1] on the high one.
        """
        return jnp.concatenate(
            [_statistics(group, of_group) for group, of_group in zip(self.groups, cells, strict=True)]
        )

    @property
    def bounds(self) -> tuple[Float[Array, " attribute"], Float[Array, " attribute"]]:
        """The encoded bounds of every attribute, infinite where it has none."""
        low, high = np.full((2, self.attributes), [[-np.inf], [np.inf]], np.float32)
        for group in self.groups:
            if group.name == "bounded":
                low[np.array(group.attributes)], high[np.array(group.attributes)] = np.asarray(group.level_values).T
        return jnp.asarray(low), jnp.asarray(high)

    def split(self, per_attribute: Array) -> tuple[Array, ...]:
        """Split any per-attribute vector (a mask, uniforms) by group."""
        return tuple(per_attribute[jnp.array(group.attributes)] for group in self.groups)

    def hold(self, observed: tuple[Array, ...], known: GroupedCells, drawn: GroupedCells) -> GroupedCells:
        """Observed cells keep their value; only gaps take the drawn one."""
        return tuple(
            jnp.where(seen[:, None] if group.discrete else seen, old, new)
            for group, seen, old, new in zip(self.groups, observed, known, drawn, strict=True)
        )


def encoded_values(group: Group, cells: Array) -> Array:
    """The cells of one group as one encoded value per attribute."""
    return jnp.sum(cells * group.level_values, axis=1) if group.discrete else cells


def _statistics(group: Group, cells: Array) -> Array:
    if group.discrete:
        return cells.reshape(-1)
    if group.name != "bounded":
        return jnp.stack([cells**2, cells], axis=1).reshape(-1)
    at_low, at_high = at_bounds(cells, *group.level_values.T)
    between = jnp.where(at_low | at_high, 0.0, 1.0)
    inside = [between * cells**2, between * cells, between]
    return jnp.stack([*inside, at_low.astype(cells.dtype), at_high.astype(cells.dtype)], axis=1).reshape(-1)


def at_bounds(cells: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Which numbers lie on the low bound and which on the high one; numbers beyond a bound count as on it."""
    margin = AT_BOUND * (high - low)
    return cells <= low + margin, cells >= high - margin


def _level_values(column: Column) -> np.ndarray:
    if column.likelihood == "bounded":
        return (np.array([column.low, column.high]) - column.location) / column.scale
    index = np.arange(column.levels, dtype=np.float64)
    if column.likelihood == "categorical":
        return index
    return ((np.log1p(index) if column.likelihood == "count" else index) - column.location) / column.scale


def layout_of(schema: Schema) -> Layout:
    """Group the columns of a schema by likelihood."""
    members: dict[str, list[int]] = {name: [] for name in GROUPS}
    for index, column in enumerate(schema.columns):
        members[_GROUP_OF.get(column.likelihood, column.likelihood)].append(index)
    groups = []
    for name, attributes in members.items():
        if not attributes:
            continue
        tables = [] if name == "continuous" else [_level_values(schema.columns[index]) for index in attributes]
        width = max((len(table) for table in tables), default=0)
        values, present = np.zeros((2, len(attributes), width), np.float32)
        for row, table in enumerate(tables):
            values[row, : len(table)], present[row, : len(table)] = table, 1.0
        groups.append(Group(name, tuple(attributes), jnp.asarray(values), jnp.asarray(present)))
    return Layout(tuple(groups), len(schema.columns))
