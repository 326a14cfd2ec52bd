"""What a completion may hold: numbers within the log's range, and columns that others determine in agreement with them.

A decoder draws every cell by itself, so it can draw an insulin on board below zero, or a genotype that differs from its
own copy in another column. Completions are therefore moved to the nearest record of which the log has examples.
"""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from prudent.networks import MANY_ATTRIBUTES
from prudent.table import Column, Log, Schema

EXAMINED_ROWS = 5_000
FEWEST_ROWS, FEWEST_EXCEPTIONS = 30, 10  # that have both cells, and among them that differ from the usual target
AGREEMENT = 0.995  # the share of rows in which one column must determine the other
EXCESS = 0.1  # and the errors it may leave, as a share of those without it: a column that hardly varies tells nothing
CLOSE = 0.03  # standard deviations; numbers this close count as equal
MOST_SEGMENTS = 64
PASSES = 2  # chains of columns that determine one another settle in two


class Relations(eqx.Module):
    """Pairs of columns of which the source determines the target, in encoded units; the first axis is the pair.

    A step relation has segments of the source between `edges`, each with its target's value and the least and the most
    source that was seen with it; a linear one (`straight`) is slope · source + intercept.
    """

    source: Int[Array, " pair"]
    target: Int[Array, " pair"]
    edges: Float[Array, "pair edge"]
    values: Float[Array, "pair segment"]
    least: Float[Array, "pair segment"]
    most: Float[Array, "pair segment"]
    line: Float[Array, "pair 2"]
    straight: Bool[Array, " pair"]


class Possible(eqx.Module):
    """The range of every attribute in the log, and what determines what; all for one record."""

    low: Float[Array, " attribute"]
    high: Float[Array, " attribute"]
    relations: Relations

    @classmethod
    def anything(cls, attributes: int) -> "Possible":
        low, high = jax.device_put([np.full(attributes, end, np.float32) for end in (-np.inf, np.inf)])
        return cls(low, high, _stacked([]))

    @classmethod
    def blank(cls, attributes: int) -> "Possible":
        """To be filled from a folder; what depends on the log has size 0."""
        nothing = cls.anything(attributes)
        return eqx.tree_at(
            lambda p: (p.relations.edges, p.relations.values, p.relations.least, p.relations.most),
            nothing,
            (jnp.zeros((0, 0)),) * 4,
        )

    @classmethod
    def of(cls, log: Log, seed: int = 0) -> "Possible":
        low, high = jax.device_put(_ranges(log.schema))
        sample = np.random.default_rng(seed).permutation(len(log))[:EXAMINED_ROWS]
        found = list(_related(log.schema, log.values[sample].astype(np.float64), log.observed[sample]))
        return cls(low, high, _stacked(found))

    def held(
        self, values: Float[Array, " attribute"], observed: Bool[Array, " attribute"]
    ) -> Float[Array, " attribute"]:
        """The record with its gaps moved to what is possible; observed cells never change."""
        values = jnp.where(observed, values, jnp.clip(values, self.low, self.high))
        if not self.relations.source.shape[0]:
            return values

        def agree(values: Array, pair: Relations) -> tuple[Array, None]:
            source, target = values[pair.source], values[pair.target]
            known_source, known_target = observed[pair.source], observed[pair.target]
            source = jnp.where(known_source | ~known_target, source, _back(pair, source, target))
            target = jnp.where(known_target, target, _forth(pair, source))
            return values.at[pair.source].set(source).at[pair.target].set(target), None

        for _ in range(PASSES):
            values = jax.lax.scan(agree, values, self.relations)[0]
        return values


def _forth(pair: Relations, source: Float[Array, ""]) -> Float[Array, ""]:
    """The target that goes with a source."""
    segment = jnp.sum(source > pair.edges)
    return jnp.where(pair.straight, pair.line[0] * source + pair.line[1], pair.values[segment])


def _back(pair: Relations, source: Float[Array, ""], target: Float[Array, ""]) -> Float[Array, ""]:
    """The source nearest to this one that goes with a target; itself where none does."""
    fits = jnp.abs(pair.values - target) < CLOSE
    moved = jnp.clip(source, pair.least, pair.most)
    nearest = moved[jnp.argmin(jnp.where(fits, jnp.abs(moved - source), jnp.inf))]
    agrees = jnp.abs(_forth(pair, source) - target) < CLOSE
    stepped = jnp.where(agrees | ~jnp.any(fits), source, nearest)
    return jnp.where(pair.straight, (target - pair.line[1]) / pair.line[0], stepped)


# --- what the log shows ---


class _Pair(NamedTuple):
    source: int
    target: int
    edges: np.ndarray
    values: np.ndarray
    least: np.ndarray
    most: np.ndarray
    line: tuple[float, float] = (1.0, 0.0)
    straight: bool = False


def _stacked(pairs: list[_Pair]) -> Relations:
    """All pairs in arrays of one width: unused edges are infinite, unused segments match no target."""
    width = max((len(pair.values) for pair in pairs), default=1)

    def padded(rows: list[np.ndarray], width: int, filling: float) -> np.ndarray:
        table = np.full((len(rows), width), filling, np.float32)
        for at, row in enumerate(rows):
            table[at, : len(row)] = row
        return table

    arrays = (
        np.array([pair.source for pair in pairs], np.int32),
        np.array([pair.target for pair in pairs], np.int32),
        padded([pair.edges for pair in pairs], width - 1, np.inf),
        padded([pair.values for pair in pairs], width, np.inf),
        padded([pair.least for pair in pairs], width, 0.0),
        padded([pair.most for pair in pairs], width, 0.0),
        np.array([pair.line for pair in pairs], np.float32).reshape(-1, 2),
        np.array([pair.straight for pair in pairs], bool),
    )
    return Relations(*jax.device_put(arrays))


def _ranges(schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """The log's extremes in encoded units; none where a column never varied, and levels are never out of range."""
    low, high = np.full((2, len(schema)), [[-np.inf], [np.inf]], np.float32)
    for index, column in enumerate(schema.columns):
        if (_is_number(column) or column.kind == "count") and column.low < column.high:
            ends = (column.transformed(np.array([column.low, column.high])) - column.location) / column.scale
            low[index], high[index] = ends
    return low, high


def _is_number(column: Column) -> bool:
    return column.likelihood in ("real", "positive", "bounded")


def _related(schema: Schema, values: np.ndarray, observed: np.ndarray) -> Iterator[_Pair]:
    if len(schema) > MANY_ATTRIBUTES:
        return  # hundreds of columns are pixels or the like: pairs of them say nothing, and are too many to look at
    numbers = [_is_number(column) for column in schema.columns]
    for source in range(len(schema)):
        for target in range(len(schema)):
            rows = observed[:, source] & observed[:, target]
            if source == target or rows.sum() < FEWEST_ROWS:
                continue
            one, other = values[rows, source], values[rows, target]
            if numbers[source]:
                pair = (_line if numbers[target] else _thresholds)(one, other)
            else:
                pair = _by_level(one, other, numbers[target])
            if pair is not None:
                yield pair._replace(source=source, target=target)


def _line(source: np.ndarray, target: np.ndarray) -> _Pair | None:
    """Numbers that are the same up to a straight line, such as kilograms and pounds."""
    spread = source.std()
    if spread == 0 or target.std() == 0 or abs(np.corrcoef(source, target)[0, 1]) < 0.99:
        return None
    slope = np.median(np.abs(target - np.median(target))) / max(np.median(np.abs(source - np.median(source))), 1e-9)
    slope *= np.sign(np.corrcoef(source, target)[0, 1])
    intercept = float(np.median(target - slope * source))
    close = np.abs(target - slope * source - intercept) < CLOSE
    if slope == 0 or close.mean() < AGREEMENT:
        return None
    return _Pair(0, 0, np.empty(0), np.zeros(1), np.zeros(1), np.zeros(1), (float(slope), intercept), straight=True)


def _by_level(source: np.ndarray, target: np.ndarray, target_is_number: bool) -> _Pair | None:
    """A level that determines a level or a number, such as a copy, a coarser grouping, or the dose of a group."""
    levels, index, counts = np.unique(source, return_inverse=True, return_counts=True)
    if not 2 <= len(levels) <= MOST_SEGMENTS:
        return None
    if target_is_number:
        typical = np.array([np.median(target[index == at]) for at in range(len(levels))])
        without = np.abs(target - np.median(target)) >= CLOSE
    else:
        typical = np.array([_mode(target[index == at]) for at in range(len(levels))])
        without = target != _mode(target)
    wrong = np.abs(target - typical[index]) >= CLOSE
    wrong |= counts[index] < 2  # a row cannot vouch for itself
    if not _determined(wrong, without):
        return None
    return _Pair(0, 0, (levels[1:] + levels[:-1]) / 2, typical, levels, levels)


def _thresholds(source: np.ndarray, target: np.ndarray) -> _Pair | None:
    """A number that determines a level by thresholds, such as an age and its band."""
    order = np.argsort(source, kind="stable")
    source, target = source[order], target[order]
    changes = np.flatnonzero(target[1:] != target[:-1])
    if len(changes) > 0.02 * len(target) + MOST_SEGMENTS:
        return None
    starts = _long_runs(target)
    if not 2 <= len(starts) <= min(MOST_SEGMENTS, len(target) // 10):
        return None
    segments = np.split(np.arange(len(target)), starts[1:])
    values = np.array([_mode(target[segment]) for segment in segments])
    wrong = target != np.repeat(values, [len(segment) for segment in segments])
    if not _determined(wrong, target != _mode(target)):
        return None
    edges = np.array([(source[start - 1] + source[start]) / 2 for start in starts[1:]])
    seen = [source[part][target[part] == value] for part, value in zip(segments, values, strict=True)]
    return _Pair(0, 0, edges, values, np.array([one.min() for one in seen]), np.array([one.max() for one in seen]))


def _determined(wrong: np.ndarray, without: np.ndarray) -> bool:
    """From the rows in which the target is not what the source says, and those in which it is not the usual one."""
    return without.sum() >= FEWEST_EXCEPTIONS and wrong.mean() <= min(1 - AGREEMENT, EXCESS * without.mean())


def _long_runs(target: np.ndarray) -> list[int]:
    """Where runs of one level begin that are not a single odd row, along the sorted source."""
    begins = np.r_[0, np.flatnonzero(target[1:] != target[:-1]) + 1]
    lengths = np.diff(np.r_[begins, len(target)])
    starts: list[int] = []
    current = np.nan
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        if length >= 3 and target[begin] != current:
            starts.append(begin if starts else 0)
            current = target[begin]
    return starts


def _mode(values: np.ndarray) -> float:
    levels, counts = np.unique(values, return_counts=True)
    return float(levels[np.argmax(counts)])
