"""Files in: csv, tsv, parquet and arrow."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import first_stray, without_gaps, written_with_leading_zeros
from prudent.table.frames import refuse_repeated_names

SEPARATED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


def read_table(path: str | PathLike[str]) -> pl.DataFrame:
    """Read a csv (also tsv, and either with .gz), parquet or arrow (feather, ipc) file; the ending says which."""
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
    """Columns of a csv or tsv file as the text in it; None for formats that store types."""
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
    refuse_repeated_names(name for name in names if name)
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


def _require_columns(file: Path, frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.")
    return frame
