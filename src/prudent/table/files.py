"""The door for tables: from a file, a folder or a database to a frame, with one sentence where that fails."""

from collections.abc import Iterable, Sequence
from os import PathLike

import polars as pl

from prudent.errors import InputProblem
from prudent.table.separated import Faithful
from prudent.table.sources.kinds import Kind, Reading, kind_of, text_files
from prudent.table.sources.packed import DAMAGE
from prudent.table.sources.part import Part
from prudent.table.sources.place import Place
from prudent.table.sources.text import TextFormat, read_texts

_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, *DAMAGE)


def read_table(
    path: str | PathLike[str] | Place,
    *,
    table: str | None = None,
    query: str | None = None,
    sheet: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: Iterable[str] = (),
) -> pl.DataFrame:
    """Read a table from where it is.

    path: a csv or tsv file (also .gz, .bz2, .xz, .zst, .zip), a parquet or arrow file, a folder of such parts, an Excel
    workbook, a file of Stata, SPSS or SAS, a DuckDB or SQLite file, or the URL of a PostgreSQL database.
    table, query: which table of a database, or what to select from it. sheet: of a workbook; default: the first.
    sep, decimal, encoding: how a csv or tsv file is written. Default: what it looks like (see `TextFormat`).
    text: columns of such a file, or patterns of them, that stay text even if they hold nothing but numbers. Codes with
    leading zeros and numbers of 16 digits and more do so by themselves.
    """
    names = (text,) if isinstance(text, str) else tuple(text)
    written, part = TextFormat(sep, decimal, encoding), Part(table, query, sheet)
    return read_with_notes(path, written, Faithful(names), part)[0]


def read_with_notes(
    path: str | PathLike[str] | Place, written: TextFormat, faithful: Faithful = Faithful(), part: Part = Part()
) -> tuple[pl.DataFrame, list[str]]:
    """The table, and what was guessed about the way it is written."""
    place = Place.of(path)
    kind = kind_of(place)
    part = part.with_name(place.name, kind.takes)
    part.check(f"'{place}' is {kind.words}", kind.takes)
    frame, notes = _read(place, kind, Reading(part, written, faithful))
    if frame.width == 0:
        raise _empty(place)
    return frame, notes


def read_as_text(path: str | PathLike[str] | Place, names: Sequence[str], written: TextFormat) -> pl.DataFrame | None:
    """Columns of csv or tsv files as the text in them; None for places that store types."""
    files = text_files(Place.of(path))
    return read_texts(files, written)[0].select(names) if files else None


def _read(place: Place, kind: Kind, how: Reading) -> tuple[pl.DataFrame, list[str]]:
    try:
        return kind.read(how)
    except pl.exceptions.NoDataError as problem:
        raise _empty(place) from problem
    except _FAILURES as problem:
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        raise InputProblem(
            f"'{place}' cannot be read ({lines[0].rstrip('.')}); check that it is undamaged, and {kind.words}."
        ) from problem


def _empty(place: Place) -> InputProblem:
    return InputProblem(f"'{place}' is empty; it needs a line of column names and rows below it.")
