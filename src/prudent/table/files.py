"""Tables of any kind in: pandas, polars and pyarrow frames, plain records, and csv, parquet and arrow files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import as_numbers, did_you_mean, first_stray, without_gaps

SEPARATED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


@dataclass(frozen=True)
class Table:
    """A frame of any kind, read one column at a time and never modified.

    Column names are text here, whatever they were in the frame; columns nobody asks for are never converted.
    """

    names: tuple[str, ...]
    rows: int
    sources: Mapping[str, Any]

    def cells(self, name: str, labels: Iterable[str] = ()) -> pl.Series:
        """One column with its gaps as null; gap marks among `labels` are kept as labels."""
        return without_gaps(_to_polars(name, self.sources[name]), labels)

    def declared_order(self, name: str) -> tuple[str, ...]:
        """The levels of an ordered category column (pandas ordered, polars Enum); empty for any other."""
        source = self.sources[name]
        if isinstance(source, nw.Series) and isinstance(source.dtype, nw.Enum):
            return tuple(str(level) for level in source.dtype.categories)
        return ()

    def is_categorical(self, name: str) -> bool:
        """Whether the frame itself says that the column holds categories, even if they look like numbers."""
        source = self.sources[name]
        return isinstance(source, nw.Series) and isinstance(source.dtype, nw.Categorical)

    def find(self, name: str, role: str) -> str:
        """The name itself when the table has it, and otherwise the sentence that helps to find it."""
        if name not in self.sources:
            raise InputProblem(f"The table has no column '{name}' ({role}). {did_you_mean(str(name), self.names)}")
        return name


def to_table(frame: Any) -> Table:
    """A Table of a pandas, polars or pyarrow frame, a mapping of columns, or a list of records."""
    if isinstance(frame, Table):
        return frame
    if isinstance(frame, Mapping):
        return _table_of_columns({str(name): values for name, values in frame.items()})
    if isinstance(frame, (list, tuple)):
        return _table_of_records(frame)
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    _refuse_repeated_names(getattr(frame, "column_names", getattr(frame, "columns", ())))
    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError as problem:
        raise InputProblem(
            f"A table must be a pandas, polars or pyarrow frame, a mapping of columns or a list of records. "
            f"Got {type(frame).__name__} instead."
        ) from problem
    names = tuple(str(name) for name in known.columns)
    return Table(names, len(known), dict(zip(names, known.iter_columns(), strict=True)))


def _refuse_repeated_names(names: Iterable[Any]) -> None:
    texts = [str(name) for name in names]
    for name in texts:
        if texts.count(name) > 1:
            raise InputProblem(
                f"The table has {texts.count(name)} columns named '{name}'; rename or drop all but one of them."
            )


def _table_of_columns(columns: Mapping[str, Any]) -> Table:
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
        return _from_values(name, source)
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
    return _from_values(name, values.tolist())


def _without_time_zone(cells: pl.Series) -> pl.Series:
    if isinstance(cells.dtype, pl.Datetime) and cells.dtype.time_zone is not None:
        return cells.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return cells


def _from_array(name: str, array: np.ndarray) -> pl.Series:
    if array.dtype == object:
        return _from_values(name, array.tolist())
    if np.issubdtype(array.dtype, np.datetime64):
        return pl.Series(name, array.astype("datetime64[us]"))
    return pl.Series(name, array)


def _from_values(name: str, values: list) -> pl.Series:
    """A series of Python values; where their types are mixed, each as text."""
    try:
        cells = _without_time_zone(pl.Series(name, values))
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        cells = pl.Series(name, values, dtype=pl.Object)
    if cells.dtype != pl.Object:
        return cells
    return pl.Series(name, [_text_or_none(value) for value in values], dtype=pl.String)


def _text_or_none(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    return str(value)


def read_table(path: str | PathLike[str]) -> pl.DataFrame:
    """Read a csv (also tsv, and either with .gz), parquet or arrow (feather, ipc) file, told by its ending."""
    file = Path(path)
    ending = file.name.lower()
    if not ending.endswith((*SEPARATED, *PARQUET, *ARROW)):
        raise InputProblem(
            f"'{file}' must end in .csv, .tsv, .parquet or .arrow (also .pq, .feather, .ipc); "
            f"save the table as one of these."
        )
    if not file.is_file():
        raise InputProblem(f"There is no file '{file}'; check the path.")
    try:
        if ending.endswith(SEPARATED):
            return _read_separated(file)
        frame = pl.read_parquet(file, glob=False) if ending.endswith(PARQUET) else pl.read_ipc(file)
    except pl.exceptions.NoDataError as problem:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.") from problem
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as problem:
        reason = str(problem).strip().splitlines()[0].rstrip(".")
        raise InputProblem(
            f"'{file}' cannot be read ({reason}); check that it is an undamaged {file.suffix} file, csv as UTF-8."
        ) from problem
    return _require_columns(file, frame)


def read_as_text(path: str | PathLike[str], names: Sequence[str]) -> pl.DataFrame | None:
    """Columns of a csv or tsv file as the text that stands in it; None for files that have types of their own."""
    file = Path(path)
    if not file.name.lower().endswith(SEPARATED):
        return None
    return pl.read_csv(file, separator=_separator(file), infer_schema=False, glob=False).select(names)


def _separator(file: Path) -> str:
    header = (
        pl.read_csv(file, has_header=False, n_rows=1, separator="\n", quote_char=None, infer_schema=False).item() or ""
    )
    return max(",;\t", key=header.count)


def _read_separated(file: Path) -> pl.DataFrame:
    separator = _separator(file)
    names = pl.read_csv(file, has_header=False, n_rows=1, separator=separator, infer_schema=False).row(0)
    _refuse_repeated_names(name for name in names if name)
    frame = pl.read_csv(file, separator=separator, infer_schema_length=None, glob=False)
    return _require_columns(file, frame.with_columns(_numbers_despite_marks(cells) for cells in frame))


def _numbers_despite_marks(cells: pl.Series) -> pl.Series:
    """A text column whose only texts are gap marks becomes the number column it was meant to be."""
    if cells.dtype != pl.String:
        return cells
    present = without_gaps(cells)
    if present.null_count() == len(present) or written_with_leading_zeros(present):
        return cells
    for dtype in (pl.Int64, pl.Float64):
        numbers = present.cast(dtype, strict=False)
        if first_stray(present, numbers) is None:
            return numbers
    return cells


def written_with_leading_zeros(cells: pl.Series) -> bool:
    """Whether the texts are codes such as "007", which would lose their zeros as numbers."""
    return bool(cells.str.contains(r"^0\d").any()) and first_stray(cells, as_numbers(cells)) is None


def _require_columns(file: Path, frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.")
    return frame


def take_rows(frame: Any, positions: np.ndarray, without: Iterable[str | None] = ()) -> Any:
    """Some rows of a frame, as a frame of the same kind; what is no frame becomes a polars one."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not nw.dependencies.is_into_dataframe(frame):
        table = to_table(frame)
        frame = pl.DataFrame([_to_polars(name, table.sources[name]) for name in table.names])
    known, left_out = nw.from_native(frame, eager_only=True), set(without)
    return known[positions.tolist()].select([n for n in known.columns if str(n) not in left_out]).to_native()


def like(frame: Any, columns: dict[str, list[Any]]) -> Any:
    """New columns as a frame of the same kind; what is no frame (records, a mapping) gets a polars one."""
    if nw.dependencies.is_into_dataframe(frame) and not isinstance(frame, pl.LazyFrame):
        implementation = nw.from_native(frame, eager_only=True).implementation
        if implementation.is_pandas():
            import pandas as pd

            return pd.DataFrame(columns)
        if implementation.is_pyarrow():
            return pl.DataFrame(columns, strict=False).to_arrow()
    return pl.DataFrame(columns, strict=False)
