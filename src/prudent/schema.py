"""Schema and column kinds: infer them from a log, encode any table with them, decode back to the user's units."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from prudent.cells import did_you_mean
from prudent.columns import KINDS, LABELLED, LARGEST_COUNT, Column, Kind
from prudent.errors import InputProblem, is_number, require
from prudent.kinds import AskedKind, Dropped, check_kinds, column_of
from prudent.reading import Table, to_table

__all__ = ["AskedKind", "Column", "Encoded", "Kind", "Schema", "parse_kind", "read_kinds"]


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
        cls, frame: Any, kinds: Mapping[str, AskedKind] | None = None, ignore: Iterable[str] = ()
    ) -> tuple["Schema", tuple[str, ...]]:
        """The schema of a log's features and, in plain sentences, what was noticed on the way.

        `kinds` overrules what the cells look like: a kind by name, or a list of labels from lowest to highest,
        which means ordinal.
        """
        table, kinds = to_table(frame), dict(kinds or {})
        left_out = {table.find(name, "to ignore") for name in _names(ignore)}
        _check_asked(table, kinds, left_out)
        if table.rows == 0:
            raise InputProblem("The table has no rows; a log needs at least two.")
        columns: list[Column] = []
        notes: list[str] = []
        for name in table.names:
            if name in left_out:
                continue
            try:
                column, noticed = column_of(name, table, kinds.get(name))
            except Dropped as why:
                notes.append(str(why))
            else:
                columns.append(column)
                notes.extend(noticed)
        if not columns:
            raise InputProblem(
                " ".join(["The table has no column left to learn from; add columns that describe the case.", *notes])
            )
        return cls(tuple(columns)), tuple(notes)

    def encode(self, frame: Any) -> Encoded:
        """Encode a table's columns, found by name; other columns and their order do not matter.

        A category never seen, an infinite number, and a number that its kind cannot be count as missing; a number
        farther outside the log's range than that range is wide is kept; each is flagged on its row.
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


def _check_asked(table: Table, kinds: Mapping[str, AskedKind], left_out: set[str]) -> None:
    check_kinds(kinds)
    for name in kinds:
        table.find(name, "named in kinds")
        if name in left_out:
            raise InputProblem(
                f"Column '{name}' is given a kind but is no feature here (it is the action, the reward, the propensity "
                f"or ignored); drop it from kinds."
            )


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
    sound(stored["kind"] != "positive" or stored["low"] > 0, "low is not positive")
    sound(stored["kind"] != "count" or 0 <= stored["low"] <= stored["high"] <= LARGEST_COUNT, "range is no count")
    sound(isinstance(stored["integral"], bool), "integral is neither true nor false")
    numbers = {field: float(stored[field]) for field in ("location", "scale", "low", "high")}
    return Column(**{**stored, **numbers, "categories": tuple(categories)})


def parse_kind(text: str) -> tuple[str, AskedKind]:
    """Read what follows --kind on the command line.

    >>> parse_kind("site=categorical")
    ('site', 'categorical')
    >>> parse_kind("grade=ordinal:low<mid<high")
    ('grade', ['low', 'mid', 'high'])
    """
    name, equals, kind = (part.strip() for part in text.rpartition("="))
    if not (name and equals and kind):
        raise InputProblem(f"A kind must be written COLUMN=KIND or COLUMN=ordinal:LOW<...<HIGH. Got {text!r} instead.")
    kind, colon, levels = (part.strip() for part in kind.partition(":"))
    if colon and kind != "ordinal":
        raise InputProblem(f"Only ordinal takes levels, as in {name}=ordinal:low<mid<high. Got {text!r} instead.")
    asked: AskedKind = [level.strip() for level in levels.split("<")] if colon else kind  # pyright: ignore[reportAssignmentType]
    check_kinds({name: asked})
    return name, asked


def read_kinds(path: str | PathLike[str]) -> dict[str, AskedKind]:
    """Read a small .json or .toml file that maps column names to a kind or a list of labels, lowest first."""
    file = Path(path)
    readers = {".json": json.loads, ".toml": tomllib.loads}
    if file.suffix.lower() not in readers:
        raise InputProblem(f"The file of kinds '{file}' must end in .json or .toml; save it as one of these.")
    try:
        kinds = readers[file.suffix.lower()](file.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise InputProblem(f"There is no file '{file}'; check the path.") from problem
    except (OSError, ValueError) as problem:
        raise InputProblem(f"The file of kinds '{file}' cannot be read ({problem}); correct it.") from problem
    if not isinstance(kinds, dict):
        raise InputProblem(f"The file of kinds '{file}' must map column names to kinds. Got {kinds!r} instead.")
    check_kinds(kinds)
    return kinds
