"""Frames of any kind as one `Table`: pandas, polars and pyarrow frames, mappings of columns, lists of records."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import did_you_mean, without_gaps


@dataclass(frozen=True)
class Table:
    """A frame of any kind, read one column at a time and never modified.

    Column names are text here, whatever they were in the frame; a column is converted only when it is read. `missing`
    has the values of each column that were declared to be gaps, `kept` those declared to be none.
    """

    names: tuple[str, ...]
    rows: int
    sources: Mapping[str, Any]
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_patterns(self.names)

    def with_missing(
        self, missing: Mapping[str, tuple[str, ...]], kept: Mapping[str, tuple[str, ...]] | None = None
    ) -> "Table":
        return replace(self, missing={**self.missing, **missing}, kept={**self.kept, **(kept or {})})

    def cells(self, name: str, labels: Iterable[str] = (), missing: Sequence[str] | None = None) -> pl.Series:
        """One column with its gaps as null; gap marks among `labels` are kept as labels.

        missing: values that are gaps as well. Default: those declared for the column.
        """
        gaps = self.missing.get(name, ()) if missing is None else missing
        return without_gaps(self.source(name), (*labels, *self.values_like_gaps(name)), gaps)

    def values_like_gaps(self, name: str) -> tuple[str, ...]:
        """Texts that are values whatever they look like: those that the user or the frame declares."""
        return (*self.kept.get(name, ()), *self.declared_order(name))

    def source(self, name: str) -> pl.Series:
        """One column as it was given."""
        return _to_polars(name, self.sources[name])

    def declared_order(self, name: str) -> tuple[str, ...]:
        """The levels of an ordered category column (pandas ordered, polars Enum); empty for any other."""
        source = self.sources[name]
        if isinstance(source, nw.Series) and isinstance(source.dtype, nw.Enum):
            return tuple(str(level) for level in source.dtype.categories)
        return ()

    def is_categorical(self, name: str) -> bool:
        """Whether the frame declares the column to be categorical, even if its categories look like numbers."""
        source = self.sources[name]
        return isinstance(source, nw.Series) and isinstance(source.dtype, nw.Categorical)

    def find(self, name: str, role: str) -> str:
        """The name itself when the table has it; otherwise an InputProblem that suggests the closest name."""
        if name not in self.sources:
            raise InputProblem(f"The table has no column '{name}' ({role}). {did_you_mean(str(name), self.names)}")
        return name


def to_table(frame: Any) -> Table:
    """A Table of a pandas, polars or pyarrow frame, a mapping of columns, a list of records, or one record.

    >>> to_table({"age": 54, "ward": None}).rows, to_table({"age": [54, 31], "ward": [None, "north"]}).rows
    (1, 2)
    """
    if isinstance(frame, Table):
        return frame
    if isinstance(frame, Mapping):
        if frame and all(map(_is_one_cell, frame.values())):
            return _table_of_records([frame])
        return _table_of_columns({str(name): values for name, values in frame.items()})
    if isinstance(frame, (list, tuple)):
        return _table_of_records(frame)
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    refuse_repeated_names(getattr(frame, "column_names", getattr(frame, "columns", ())))
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError as problem:
        raise InputProblem(
            f"A table must be a pandas, polars or pyarrow frame, a mapping of columns or a list of records. "
            f"Got {type(frame).__name__} instead."
        ) from problem
    names = tuple(str(name) for name in wrapped.columns)
    return Table(names, len(wrapped), dict(zip(names, wrapped.iter_columns(), strict=True)))


def _is_one_cell(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, Number, np.generic, date)) or _is_missing_mark(value)


def _is_missing_mark(value: Any) -> bool:
    """Whether it is pandas' NA or NaT; pandas itself may not be installed."""
    return type(value).__name__ in ("NAType", "NaTType")


def refuse_repeated_names(names: Iterable[Any]) -> None:
    for name, columns in Counter(str(name) for name in names).items():
        if columns > 1:
            raise InputProblem(f"The table has {columns} columns named '{name}'; rename or drop all but one of them.")


def refuse_patterns(names: Iterable[str]) -> None:
    """Polars takes such a name for a pattern of names, wherever it stands."""
    for name in names:
        if name.startswith("^") and name.endswith("$"):
            raise InputProblem(
                f"The name of column '{name}' begins with ^ and ends with $, as a pattern does; rename it."
            )


def _table_of_columns(columns: Mapping[str, Any]) -> Table:
    single = [name for name, values in columns.items() if _is_one_cell(values)]
    if single:
        raise InputProblem(
            f"Column '{single[0]}' of the table is a single cell, {columns[single[0]]!r}, and others are lists; give "
            f"every column a list, or every column one cell."
        )
    lists = {name: values if isinstance(values, np.ndarray) else list(values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise InputProblem(f"The columns of the table differ in length: {lengths}; make them equally long.")
    return Table(tuple(lists), next(iter(lengths.values()), 0), lists)


def _table_of_records(records: Sequence[Any]) -> Table:
    for index, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InputProblem(
                f"A list given as a table must hold records that map column to cell. Item {index} is {record!r}."
            )
    names = dict.fromkeys(str(name) for record in records for name in record)
    return Table(tuple(names), len(records), {name: [record.get(name) for record in records] for name in names})


def _to_polars(name: str, source: Any) -> pl.Series:
    if isinstance(source, list):
        return column_of(name, source)
    if isinstance(source, np.ndarray):
        return _from_array(name, source)
    native = source.to_native()
    if isinstance(native, pl.Series):
        return _without_time_zone(native.alias(name))
    if source.implementation.is_pyarrow():
        return _without_time_zone(pl.Series(name, native))
    if isinstance(source.dtype, nw.Datetime):
        utc = (
            source if source.dtype.time_zone is None else source.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        )
        return pl.Series(name, utc.to_numpy().astype("datetime64[us]"))
    array = source.to_numpy()
    if array.dtype != object:
        return _from_array(name, array)
    values = array.copy()
    values[source.is_null().to_numpy()] = None
    return column_of(name, values.tolist())


def _without_time_zone(cells: pl.Series) -> pl.Series:
    if isinstance(cells.dtype, pl.Datetime) and cells.dtype.time_zone is not None:
        return cells.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return cells


def _from_array(name: str, array: np.ndarray) -> pl.Series:
    if array.dtype == object:
        return column_of(name, array.tolist())
    if np.issubdtype(array.dtype, np.datetime64):
        return pl.Series(name, array.astype("datetime64[us]"))
    return pl.Series(name, array)


def column_of(name: str, values: list) -> pl.Series:
    """A series of Python values; values of mixed types all become text."""
    name = _as_unicode(name)
    try:
        cells = _without_time_zone(pl.Series(name, values))
    except (TypeError, ValueError, OverflowError, RuntimeError, pl.exceptions.PolarsError):  # 1e999 as a Decimal
        cells = pl.Series(name, [_text_or_none(value) for value in values], dtype=pl.String)
    if cells.dtype != pl.Object:
        return cells
    return pl.Series(name, [_text_or_none(value) for value in values], dtype=pl.String)


def _text_or_none(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value and _as_unicode(value)
    if _is_missing_mark(value) or value != value:
        return None
    return _as_unicode(str(value))


def _as_unicode(text: str) -> str:
    """Halves of a character, which no file can hold, as Python writes them."""
    return text.encode(errors="backslashreplace").decode()


def take_rows(frame: Any, positions: np.ndarray, without: Iterable[str | None] = ()) -> Any:
    """Some rows of a frame, as a frame of the same kind; records and mappings become a polars frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not nw.dependencies.is_into_dataframe(frame):
        table = to_table(frame)
        frame = pl.DataFrame([_to_polars(name, table.sources[name]) for name in table.names])
    wrapped, left_out = nw.from_native(frame, eager_only=True), set(without)
    kept = [name for name in wrapped.columns if str(name) not in left_out]
    return wrapped[positions.tolist()].select(kept).to_native()


def frame_like(frame: Any, columns: dict[str, list[Any]]) -> Any:
    """Columns, one cell per row of `frame`, as a frame of the same kind and with the same index; a polars frame where
    it is a list of records or a mapping."""
    if nw.dependencies.is_into_dataframe(frame) and not isinstance(frame, pl.LazyFrame):
        implementation = nw.from_native(frame, eager_only=True).implementation
        if implementation.is_pandas():
            import pandas as pd

            return pd.DataFrame(columns, index=frame.index)
        if implementation.is_pyarrow():
            return pl.DataFrame(columns, strict=False).to_arrow()
    return pl.DataFrame(columns, strict=False)
