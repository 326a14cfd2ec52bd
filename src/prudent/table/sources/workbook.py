"""Excel workbooks."""

import io
import logging
from pathlib import Path
from typing import Any

import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import did_you_mean
from prudent.table.frames import refuse_repeated_names
from prudent.table.sources.libraries import library
from prudent.table.sources.packed import check_archive
from prudent.table.sources.part import Part
from prudent.table.sources.typed_files import plain_numbers

# a column without cells is worth no warning; without a handler, Python prints it
logging.getLogger("fastexcel").addHandler(logging.NullHandler())

WORKBOOK = (".xlsx", ".xlsm", ".xls", ".ods")


def read_workbook(file: Path, part: Part) -> tuple[pl.DataFrame, list[str]]:
    """The named sheet, by default the first one that is not empty; its first row has the names of the columns."""
    fastexcel = library("fastexcel", "files", f"Reading '{file}'")
    check_archive(file)
    try:
        book = fastexcel.read_excel(file)
        names = book.sheet_names
        if part.sheet is not None and part.sheet not in names:
            raise InputProblem(f"'{file}' has no sheet '{part.sheet}'. {did_you_mean(part.sheet, names)}")
        chosen = part.sheet or next((name for name in names if _cells(book, name)), names[0])
        if not _cells(book, chosen):
            raise pl.exceptions.NoDataError(f"empty sheet '{chosen}'")
        _refuse_repeated_headers(book, chosen)
        how = {"infer_schema_length": None, "drop_empty_rows": False}
        frame = _without_empty_end(pl.read_excel(file, sheet_name=chosen, engine="calamine", **how))
    except fastexcel.FastExcelError as problem:
        raise OSError(str(problem)) from problem
    others = len(names) - 1
    seen = f"'{file.name}' has {len(names)} sheets, and '{chosen}' is read; sheet= (--sheet) names another."
    return plain_numbers(frame), [seen] * (others > 0 and part.sheet is None)


MOST_ROWS, LONGEST_TEXT, EXACT = 1_048_575, 32_767, 2**53
"""What a sheet can hold below its header, a cell can hold, and a number of a cell can count to."""


def require_workbooks() -> None:
    """Refuse before the work begins a workbook that could not be written after it."""
    library("xlsxwriter", "files", "Writing a workbook")


def workbook_bytes(frame: pl.DataFrame) -> bytes:
    """A workbook with one sheet. Its texts stay texts: none becomes a formula or a link."""
    xlsxwriter = library("xlsxwriter", "files", "Writing a workbook")
    if len(frame) > MOST_ROWS:
        raise InputProblem(f"A workbook holds {MOST_ROWS:,} rows, and there are {len(frame):,}; write a .csv file.")
    content = io.BytesIO()
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(content, {**plain, "nan_inf_to_errors": True, "in_memory": True}) as book:
        frame.with_columns(map(_as_cells, frame)).write_excel(book, float_precision=6)
    return content.getvalue()


def _as_cells(cells: pl.Series) -> pl.Series:
    if cells.dtype.is_integer() and (cells.abs() > EXACT).any():
        return cells.cast(pl.String)
    if cells.dtype == pl.String and (cells.str.len_chars() > LONGEST_TEXT).any():
        raise InputProblem(
            f"A cell of a workbook holds {LONGEST_TEXT:,} signs, and one of column '{cells.name}' has more; write a "
            f".csv file."
        )
    return cells


def _without_empty_end(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the rows below the last one with a cell; an empty row above it is a case of which nothing is known."""
    if frame.width == 0:
        return frame
    full = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
    return frame.head(int(full[-1]) + 1 if len(full) else 0)


def _cells(book: Any, name: str) -> int:
    sheet = book.load_sheet(name, header_row=None, n_rows=2)
    return sheet.width * sheet.height


def _refuse_repeated_headers(book: Any, name: str) -> None:
    header = book.load_sheet(name, header_row=None, n_rows=1, dtypes="string").to_polars()
    refuse_repeated_names(cell for cell in header.row(0) if cell)
