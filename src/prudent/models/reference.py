"""What the cases looked like that a model has learnt from: counts by column, to be compared with later cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.errors import is_number, is_whole
from prudent.table import LABELLED, Column, Encoded, Log, Schema

MOST_BINS, ROWS_PER_BIN = 20, 20
"""A bin holds so many rows or more: no edge tells of a single one."""


@dataclass(frozen=True)
class ColumnCounts:
    """How often a column was a gap, and how often it was in each bin: at each label, or between two edges.

    edges: in encoded units, one fewer than bins; the first and the last bin have no end. Labels have none.
    """

    gaps: int
    edges: tuple[float, ...]
    bins: tuple[int, ...]

    @property
    def observed(self) -> int:
        return sum(self.bins)

    @staticmethod
    def of(column: Column, values: np.ndarray, observed: np.ndarray) -> "ColumnCounts":
        edges = () if column.kind in LABELLED else _edges(values[observed])
        return ColumnCounts.at(edges, column, values, observed)

    @staticmethod
    def at(edges: Sequence[float], column: Column, values: np.ndarray, observed: np.ndarray) -> "ColumnCounts":
        """Other encoded cells in the same bins."""
        present = values[observed].astype(np.float64)
        if column.kind in LABELLED:
            size, place = len(column.categories), np.round(present * column.scale + column.location).astype(int)
        else:
            size, place = len(edges) + 1, np.searchsorted(edges, present)
        counts = np.bincount(np.clip(place, 0, size - 1), minlength=size)
        return ColumnCounts(int((~observed).sum()), tuple(map(float, edges)), tuple(map(int, counts)))


@dataclass(frozen=True)
class Reference:
    """Counts of every column of a log, in the order of its schema."""

    rows: int
    columns: tuple[ColumnCounts, ...]

    @staticmethod
    def of(log: Log) -> "Reference":
        return Reference(
            len(log),
            tuple(
                ColumnCounts.of(column, log.values[:, place], log.observed[:, place])
                for place, column in enumerate(log.schema.columns)
            ),
        )

    def counts_of(self, schema: Schema, encoded: Encoded) -> "Reference":
        """Other cases in the same bins."""
        each = enumerate(zip(self.columns, schema.columns, strict=True))
        return Reference(
            len(encoded.flags),
            tuple(
                ColumnCounts.at(counts.edges, column, encoded.values[:, place], encoded.observed[:, place])
                for place, (counts, column) in each
            ),
        )

    @staticmethod
    def from_json(stored: Any, schema: Schema) -> "Reference":
        """What `dataclasses.asdict` gave; ValueError where it is damaged."""
        if not isinstance(stored, Mapping) or not isinstance(stored.get("columns"), list):
            raise ValueError("what the log's columns looked like")
        columns = [ColumnCounts(one["gaps"], tuple(one["edges"]), tuple(one["bins"])) for one in stored["columns"]]
        reference = Reference(stored["rows"], tuple(columns))
        if len(columns) != len(schema) or not all(map(reference._fits, columns, schema.columns)):
            raise ValueError("what the log's columns looked like")
        return reference

    def _fits(self, counts: ColumnCounts, column: Column) -> bool:
        bins = len(column.categories) if column.kind in LABELLED else len(counts.edges) + 1
        whole = all(map(is_whole, (counts.gaps, *counts.bins, self.rows)))
        rising = all(map(is_number, counts.edges)) and list(counts.edges) == sorted(set(counts.edges))
        return whole and rising and len(counts.bins) == bins and counts.gaps + counts.observed == self.rows


def _edges(values: np.ndarray) -> tuple[float, ...]:
    """Between the values of about equally many rows; never at a value, so that rounding moves nothing."""
    bins = min(MOST_BINS, len(values) // ROWS_PER_BIN)
    if bins < 2:
        return ()
    ordered = np.sort(values.astype(np.float64))
    changes = np.flatnonzero(np.diff(ordered) > 0)  # the last row of each value
    wanted = len(ordered) * np.arange(1, bins) / bins - 1
    at = np.unique(changes[np.abs(changes[:, None] - wanted).argmin(axis=0)]) if len(changes) else changes
    at = np.array(_far_apart(at.tolist(), len(ordered)), dtype=int)
    return tuple(map(float, (ordered[at] + ordered[at + 1]) / 2))


def _far_apart(lasts: list[int], rows: int) -> list[int]:
    """The last rows of bins, without those that would leave a bin with too few."""
    kept: list[int] = []
    for last in lasts:
        if last - (kept[-1] if kept else -1) >= ROWS_PER_BIN and rows - 1 - last >= ROWS_PER_BIN:
            kept.append(last)
    return kept
