"""Schema and column kinds: infer them from a log, encode any table with them, decode back to the user's units."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from prudent.errors import InputProblem, is_number, require
from prudent.table.cells import closest_name, did_you_mean, without_gaps
from prudent.table.column_fitting import ColumnDropped
from prudent.table.column_notes import ColumnNote, count_and_names, merged_sentences
from prudent.table.columns import KINDS, LABELLED, LARGEST_COUNT, Column, EncodedColumn
from prudent.table.date_texts import DAY_FIRST, MONTH_FIRST
from prudent.table.frames import Table, to_table
from prudent.table.kind_inference import infer_column
from prudent.table.kind_overrides import KindOverride, overrides_by_column
from prudent.table.missing_values import Missing, missing_by_column
from prudent.table.number_texts import COMMA, EITHER
from prudent.table.odd_cells import OddCells, odd_cells_of, odd_cells_problem

MOST_LEVELS = 5000
FEW_LEVELS = 50
"""When inferred counts have more than `MOST_LEVELS` in total, those with more than `FEW_LEVELS` become bounded."""


READINGS = {"date": (DAY_FIRST, MONTH_FIRST)} | dict.fromkeys(LABELLED, ())
"""How texts of a kind may be read; all other kinds are numbers."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table in encoded space: `values` float32 [row, column] (0 in gaps), `observed` (True = present), per row the
    warnings about it ("" when there are none), and notes on the table as a whole."""

    values: np.ndarray
    observed: np.ndarray
    flags: list[str]
    notes: tuple[str, ...] = ()

    def masked(self, shown: np.ndarray) -> "Encoded":
        """The same records with only some of their cells; a gap stays a gap."""
        observed = self.observed & shown
        return Encoded(np.where(observed, self.values, 0), observed, self.flags)


FEW_ROWS = 64
"""In a table of so few rows labels are looked up one by one: an operation on a whole column takes longer."""


def _encoded(column: Column, table: Table) -> EncodedColumn:
    source = table.source(column.name)
    numeric = source.dtype.is_float() or source.dtype.is_integer()
    if numeric and not column.missing and column.kind not in (*LABELLED, "date"):
        return column.encode_numbers(source.to_numpy().astype(np.float64))
    plain = numeric or source.dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum)
    if column.kind not in LABELLED or len(source) > FEW_ROWS or not plain:
        return column.encode(table.cells(column.name, column.categories, column.missing))
    cells = [_encoded_label(column, source.dtype, cell) for cell in source.to_list()]
    remarks = tuple((row, cell.remark) for row, cell in enumerate(cells) if cell.remark is not None)
    return EncodedColumn(np.array([cell.value for cell in cells]), np.array([cell.observed for cell in cells]), remarks)


class _EncodedLabel(NamedTuple):
    value: float
    observed: bool
    remark: str | None


@lru_cache(maxsize=4096)
def _encoded_label(column: Column, dtype: pl.DataType, cell: Any) -> _EncodedLabel:
    cells = without_gaps(pl.Series(column.name, [cell], dtype=dtype), column.categories, column.missing)
    encoded = column.encode(cells)
    remark = encoded.remarks[0][1] if encoded.remarks else None
    return _EncodedLabel(float(encoded.values[0]), bool(encoded.observed[0]), remark)


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
        cls,
        frame: Any,
        kinds: Mapping[str, KindOverride] | None = None,
        ignore: Iterable[str] = (),
        missing: Missing = (),
        not_missing: Missing = (),
    ) -> tuple["Schema", tuple[str, ...]]:
        """The schema of a log's features, and notes for the user on how columns were read.

        `kinds` overrides what the cells look like: a kind by name, a list of labels from lowest to highest, which
        means ordinal, or two numbers, which means bounded between them. A name that no column has may be a pattern,
        as in {"pixel*": (0, 255)}. `missing` declares values to be gaps: for all columns, as in [999], or by column or
        pattern, as in {"age": 999}; `not_missing` declares texts to be values that look like gaps, as in
        {"arm": "None"}.
        """
        table = to_table(frame)
        table = table.with_missing(missing_by_column(missing, table), missing_by_column(not_missing, table))
        left_out = {table.find(name, "to ignore") for name in _names(ignore)}
        overrides = overrides_by_column(kinds or {}, table, left_out)
        if table.rows == 0:
            raise InputProblem("The table has no rows; a log needs at least two.")
        columns, notes = _columns_of(table, (name for name in table.names if name not in left_out), overrides)
        columns, notes = _without_long_counts(table, columns, notes, overrides)
        if not columns:
            empty = "The table has no column left to learn from; add columns that describe the case."
            raise InputProblem(" ".join([empty, *merged_sentences(notes)]))
        return cls(tuple(columns)), merged_sentences(notes)

    def encode(self, frame: Any) -> Encoded:
        """Encode a table's columns by name; other columns and their order do not matter.

        A column that the table lacks is a column of gaps, with a note; a table without any of them is refused. A
        category never seen, an infinite number, and a number that the column's kind excludes count as missing; a
        number outside the bounds of a bounded column is read as the nearest bound; a number farther outside the log's
        range than that range is wide is kept. Each of these is flagged on its row.
        """
        table = to_table(frame)
        notes = self._notes_on_absent_columns(table)
        values = np.zeros((table.rows, len(self.columns)), dtype=np.float32)
        observed = np.zeros(values.shape, dtype=bool)
        remarks: dict[int, list[str]] = {}
        odd: list[OddCells] = []
        for position, column in enumerate(self.columns):
            if column.name not in table.sources:
                continue
            try:
                encoded = _encoded(column, table)
            except InputProblem as problem:
                odd += [replace(cells, options=()) for cells in odd_cells_of(problem).columns]
                continue
            values[:, position], observed[:, position] = encoded.values, encoded.observed
            for row, remark in encoded.remarks:
                remarks.setdefault(row, []).append(remark)
        if odd:
            raise odd_cells_problem(odd)
        flags = [""] * table.rows
        for row, sentences in remarks.items():
            flags[row] = "; ".join(sentences)
        return Encoded(values, observed, flags, notes)

    def decode(self, values: Any) -> dict[str, list[Any]]:
        """Encoded values [row, column] in the user's units and names; NaN becomes None."""
        array = np.asarray(values, dtype=np.float64)
        fits = array.ndim == 2 and array.shape[1] == len(self.columns)
        require(fits, "Schema.decode", "values", f"have shape [row, {len(self.columns)}]", array.shape)
        return {column.name: column.decode(array[:, index]) for index, column in enumerate(self.columns)}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types only."""
        return {
            "columns": [
                asdict(column) | {"categories": list(column.categories), "missing": list(column.missing)}
                for column in self.columns
            ]
        }

    @classmethod
    def from_json(cls, stored: Any) -> "Schema":
        """The schema that `to_json` stored; InputProblem where it is damaged."""
        columns = stored.get("columns") if isinstance(stored, Mapping) else None
        if not isinstance(columns, list) or not columns:
            raise InputProblem("The stored schema is damaged: it has no list of columns; fit the model again.")
        schema = cls(tuple(_column_from_json(column) for column in columns))
        if len(set(schema.names)) < len(schema.names):
            raise InputProblem("The stored schema is damaged: two columns have one name; fit the model again.")
        return schema

    def _notes_on_absent_columns(self, table: Table) -> tuple[str, ...]:
        absent = [name for name in self.names if name not in table.sources]
        own = set(self.names)
        free = [name for name in table.names if name not in own]
        if len(absent) == len(self.names):
            hint = f" {did_you_mean(absent[0], free)}" if free else ""
            raise InputProblem(
                f"The table has none of the model's columns ({count_and_names(absent)}); name them as in the log.{hint}"
            )
        meant = {name: found for name in absent if (found := closest_name(name, free)) is not None}
        notes = [
            f"The table has no column '{name}': read as missing in every row. Did you mean '{found}'?"
            for name, found in meant.items()
        ]
        plain = [name for name in absent if name not in meant]
        if plain:
            notes.append(f"The table lacks {count_and_names(plain)}: read as missing in every row.")
        return tuple(notes)


def _names(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _columns_of(
    table: Table, names: Iterable[str], overrides: Mapping[str, KindOverride]
) -> tuple[list[Column], list[ColumnNote]]:
    columns: list[Column] = []
    notes: list[ColumnNote] = []
    odd: list[OddCells] = []
    for name in names:
        try:
            column, column_notes = infer_column(name, table, overrides.get(name))
        except ColumnDropped as dropped:
            notes.append(dropped.note)
        except InputProblem as problem:
            odd += odd_cells_of(problem).columns
        else:
            columns.append(replace(column, missing=table.missing.get(name, ())))
            notes.extend(column_notes)
    if odd:
        raise odd_cells_problem(odd)
    return columns, notes


def _without_long_counts(
    table: Table, columns: list[Column], notes: list[ColumnNote], overrides: Mapping[str, KindOverride]
) -> tuple[list[Column], list[ColumnNote]]:
    """A count is modelled level by level; where hundreds of columns are long counts, they become bounded numbers.

    Pixels are an example. All share the same bounds: that one pixel never reached 255 means nothing.
    """
    counts = [column for column in columns if column.kind == "count" and column.name not in overrides]
    long = [column for column in counts if column.levels > FEW_LEVELS]
    levels = sum(column.levels for column in counts)
    if levels <= MOST_LEVELS or not long:
        return columns, notes
    bounds = min(column.low for column in long), max(column.high for column in long)
    replaced, new_notes = _columns_of(table, [column.name for column in long], {column.name: bounds for column in long})
    instead = {column.name: column for column in replaced}
    kept = [note for note in notes if note.column not in instead]
    names = [column.name for column in long]
    pattern = re.sub(r"\d+$", "*", names[0])
    sentence = (
        f"Whole numbers in {count_and_names(names)}: read as bounded between {bounds[0]:.0f} and {bounds[1]:.0f}, "
        f"since all counts together would have {levels} levels; if they are counts, set "
        f"kinds={{'{pattern}': 'count'}} or --kind '{pattern}=count'."
    )
    columns = [instead.get(column.name, column) for column in columns]
    return columns, [*kept, *new_notes, ColumnNote(names[0], sentence, sentence)]


def _column_from_json(stored: Any) -> Column:
    def expect(condition: bool, problem: str) -> None:
        if not condition:
            raise InputProblem(f"The stored schema is damaged: {problem} in {stored!r}; fit the model again.")

    expect(isinstance(stored, Mapping), "a column is not an object")
    stored = dict(stored)
    expect(set(stored) == {field.name for field in fields(Column)}, "wrong fields")
    expect(isinstance(stored["name"], str), "name not text")
    expect(stored["kind"] in KINDS, "unknown kind")
    categories = stored["categories"]
    expect(isinstance(categories, list) and all(isinstance(label, str) for label in categories), "category not text")
    expect(len(set(categories)) == len(categories), "repeated categories")
    expect((len(categories) > 0) == (stored["kind"] in LABELLED), "categories do not fit the kind")
    for field in ("location", "scale", "low", "high"):
        expect(is_number(stored[field]), f"{field} is not a number")
    expect(stored["scale"] > 0, "scale is not above 0")
    expect(stored["low"] <= stored["high"], "low is above high")
    expect(stored["kind"] != "bounded" or stored["low"] < stored["high"], "there is nothing between the bounds")
    expect(stored["kind"] != "positive" or stored["low"] > 0, "low is not positive")
    expect(stored["kind"] != "count" or 0 <= stored["low"] <= stored["high"] <= LARGEST_COUNT, "not a count's range")
    expect(isinstance(stored["integral"], bool), "integral is neither true nor false")
    expect(stored["reading"] in ("", *READINGS.get(stored["kind"], (COMMA, EITHER))), "unknown reading")
    missing = stored["missing"]
    expect(isinstance(missing, list) and all(isinstance(label, str) for label in missing), "missing value not text")
    numbers = {field: float(stored[field]) for field in ("location", "scale", "low", "high")}
    return Column(**{**stored, **numbers, "categories": tuple(categories), "missing": tuple(missing)})
