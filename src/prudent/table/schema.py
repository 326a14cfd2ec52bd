"""Schema and column kinds: infer them from a log, encode any table with them, decode back to the user's units."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from prudent.errors import InputProblem, is_number, require
from prudent.table.cells import did_you_mean
from prudent.table.column_notes import Note, several, told
from prudent.table.column_scales import Dropped
from prudent.table.columns import KINDS, LABELLED, LARGEST_COUNT, Column, Kind
from prudent.table.files import Table, to_table
from prudent.table.kinds import column_of
from prudent.table.requested_kinds import KindOverride, kinds_by_column, parse_kind, read_kinds

__all__ = ["KindOverride", "Column", "Encoded", "Kind", "Schema", "parse_kind", "read_kinds"]

MOST_LEVELS = 5000
FEW_LEVELS = 50
"""When inferred counts have more than `MOST_LEVELS` together, those with more than `FEW_LEVELS` become bounded."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table in encoded space: `values` float32 [row, column] (0 in gaps), `observed` (True = present), and per
    row what was noticed about it ("" when nothing)."""

    values: np.ndarray
    observed: np.ndarray
    flags: list[str]


@dataclass(frozen=True)
class Schema:
    """The attributes of a record, in the log's column order.

    >>> schema, notes = Schema.infer({"age": [31, 54, None, 47], "ward": ["north", "south", "north", ""]})
    >>> [(column.name, column.kind) for column in schema.columns]
    [('age', 'real'), ('ward', 'categorical')]
    >>> encoded = schema.encode({"ward": ["south", "east"], "age": [None, 40]})
    >>> encoded.observed.tolist(), encoded.flags
    ([[False, True], [True, False]], ['', "ward: category 'east' never seen, treated as missing"])
    """

    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @classmethod
    def infer(
        cls, frame: Any, kinds: Mapping[str, KindOverride] | None = None, ignore: Iterable[str] = ()
    ) -> tuple["Schema", tuple[str, ...]]:
        """The schema of a log's features and, in plain sentences, what was noticed on the way.

        `kinds` overrules what the cells look like: a kind by name, a list of labels from lowest to highest, which
        means ordinal, or two numbers, which means bounded between them. A name that is no column's may be a pattern,
        as in {"pixel*": (0, 255)}.
        """
        table = to_table(frame)
        left_out = {table.find(name, "to ignore") for name in _names(ignore)}
        asked = kinds_by_column(kinds or {}, table, left_out)
        if table.rows == 0:
            raise InputProblem("The table has no rows; a log needs at least two.")
        columns, notes = _columns_of(table, (name for name in table.names if name not in left_out), asked)
        columns, notes = _without_long_counts(table, columns, notes, asked)
        if not columns:
            empty = "The table has no column left to learn from; add columns that describe the case."
            raise InputProblem(" ".join([empty, *told(notes)]))
        return cls(tuple(columns)), told(notes)

    def encode(self, frame: Any) -> Encoded:
        """Encode a table's columns, found by name; other columns and their order do not matter.

        A category never seen, an infinite number, and a number that its kind cannot be count as missing; a number
        outside the bounds of a bounded column is read as the nearest bound; a number farther outside the log's range
        than that range is wide is kept; each is flagged on its row.
        """
        table = to_table(frame)
        self._require_columns(table)
        values = np.zeros((table.rows, len(self.columns)), dtype=np.float32)
        observed = np.zeros(values.shape, dtype=bool)
        remarks: dict[int, list[str]] = {}
        for position, column in enumerate(self.columns):
            encoded = column.encode(table.cells(column.name, column.categories))
            values[:, position], observed[:, position] = encoded.values, encoded.observed
            for row, remark in encoded.remarks:
                remarks.setdefault(row, []).append(remark)
        flags = [""] * table.rows
        for row, sentences in remarks.items():
            flags[row] = "; ".join(sentences)
        return Encoded(values, observed, flags)

    def decode(self, values: Any) -> dict[str, list[Any]]:
        """Encoded values [row, column] in the user's units and names; NaN becomes None."""
        array = np.asarray(values, dtype=np.float64)
        fits = array.ndim == 2 and array.shape[1] == len(self.columns)
        require(fits, "Schema.decode", "values", f"have shape [row, {len(self.columns)}]", array.shape)
        return {column.name: column.decode(array[:, at]) for at, column in enumerate(self.columns)}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types only, so that a stored schema is text anyone can read."""
        return {"columns": [asdict(column) | {"categories": list(column.categories)} for column in self.columns]}

    @classmethod
    def from_json(cls, stored: Any) -> "Schema":
        """The schema that `to_json` stored; damage is an InputProblem."""
        columns = stored.get("columns") if isinstance(stored, Mapping) else None
        if not isinstance(columns, list) or not columns:
            raise InputProblem("The stored schema is damaged: it has no list of columns; fit the model again.")
        schema = cls(tuple(_column_from_json(column) for column in columns))
        if len(set(schema.names)) < len(schema.names):
            raise InputProblem("The stored schema is damaged: two columns have one name; fit the model again.")
        return schema

    def _require_columns(self, table: Table) -> None:
        absent = [name for name in self.names if name not in table.sources]
        if absent:
            free = [name for name in table.names if name not in self.names]
            hint = f" {did_you_mean(absent[0], free)}" if free else ""
            more = f" (and {len(absent) - 1} more: {', '.join(absent[1:6])})" if len(absent) > 1 else ""
            raise InputProblem(f"The table has no column '{absent[0]}'{more}; add it, empty cells are fine.{hint}")


def _names(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _columns_of(
    table: Table, names: Iterable[str], asked: Mapping[str, KindOverride]
) -> tuple[list[Column], list[Note]]:
    columns: list[Column] = []
    notes: list[Note] = []
    for name in names:
        try:
            column, noticed = column_of(name, table, asked.get(name))
        except Dropped as why:
            notes.append(why.note)
        else:
            columns.append(column)
            notes.extend(noticed)
    return columns, notes


def _without_long_counts(
    table: Table, columns: list[Column], notes: list[Note], asked: Mapping[str, KindOverride]
) -> tuple[list[Column], list[Note]]:
    """A count is modelled level by level; where hundreds of columns are long ones, they are bounded numbers instead.

    Pixels are the case in point. All share their bounds: that one pixel never reached 255 says nothing about it.
    """
    counts = [column for column in columns if column.kind == "count" and column.name not in asked]
    long = [column for column in counts if column.levels > FEW_LEVELS]
    levels = sum(column.levels for column in counts)
    if levels <= MOST_LEVELS or not long:
        return columns, notes
    bounds = min(column.low for column in long), max(column.high for column in long)
    read, noticed = _columns_of(table, [column.name for column in long], {column.name: bounds for column in long})
    instead = {column.name: column for column in read}
    kept = [note for note in notes if note.column not in instead]
    names = [column.name for column in long]
    wanted = re.sub(r"\d+$", "*", names[0])
    sentence = (
        f"Whole numbers in {several(names)}: read as bounded between {bounds[0]:.0f} and {bounds[1]:.0f}, since with "
        f"all counts level by level there would be {levels} levels; if not, say kinds={{'{wanted}': 'count'}} or "
        f"--kind '{wanted}=count'."
    )
    columns = [instead.get(column.name, column) for column in columns]
    return columns, [*kept, *noticed, Note(names[0], sentence, sentence)]


def _column_from_json(stored: Any) -> Column:
    def sound(condition: bool, what: str) -> None:
        if not condition:
            raise InputProblem(f"The stored schema is damaged: {what} in {stored!r}; fit the model again.")

    sound(isinstance(stored, Mapping) and set(stored) == {field.name for field in fields(Column)}, "wrong fields")
    sound(isinstance(stored["name"], str), "name is no text")
    sound(stored["kind"] in KINDS, "unknown kind")
    categories = stored["categories"]
    sound(isinstance(categories, list) and all(isinstance(one, str) for one in categories), "categories are no texts")
    sound(len(set(categories)) == len(categories), "repeated categories")
    sound((len(categories) > 0) == (stored["kind"] in LABELLED), "categories do not fit the kind")
    for field in ("location", "scale", "low", "high"):
        sound(is_number(stored[field]), f"{field} is no number")
    sound(stored["scale"] > 0, "scale is not above 0")
    sound(stored["low"] <= stored["high"], "low is above high")
    sound(stored["kind"] != "bounded" or stored["low"] < stored["high"], "there is nothing between the bounds")
    sound(stored["kind"] != "positive" or stored["low"] > 0, "low is not positive")
    sound(stored["kind"] != "count" or 0 <= stored["low"] <= stored["high"] <= LARGEST_COUNT, "range is no count")
    sound(isinstance(stored["integral"], bool), "integral is neither true nor false")
    numbers = {field: float(stored[field]) for field in ("location", "scale", "low", "high")}
    return Column(**{**stored, **numbers, "categories": tuple(categories)})
