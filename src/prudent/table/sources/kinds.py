"""Every kind of place that a table can be in: how it is recognised, and what reads it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem
from prudent.table.separated import Faithful
from prudent.table.sources.database import Database
from prudent.table.sources.duckdb import DuckDB
from prudent.table.sources.folder import parts_of
from prudent.table.sources.part import Part
from prudent.table.sources.place import Place
from prudent.table.sources.postgresql import PostgreSQL
from prudent.table.sources.sqlite import Sqlite
from prudent.table.sources.statistics_files import STATISTICS, read_statistics
from prudent.table.sources.text import TEXT_ENDINGS, TextFormat, read_separated
from prudent.table.sources.typed_files import ARROW, PARQUET, read_arrow, read_parquet
from prudent.table.sources.workbook import WORKBOOK, read_workbook

Read = tuple[pl.DataFrame, list[str]]
DATABASE_FILES = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")
_DUCKDB_FILES = (".duckdb", ".ddb")


@dataclass(frozen=True)
class Reading:
    """What a table is read with, beside its place. part: of a workbook or a database. The others are for text files."""

    part: Part = Part()
    written: TextFormat = TextFormat()
    faithful: Faithful = Faithful()

    @property
    def of_text(self) -> tuple[TextFormat, Faithful]:
        return self.written, self.faithful


@dataclass(frozen=True)
class Kind:
    """words: what the place is. takes: the parts that can be chosen."""

    words: str
    read: Callable[[Reading], Read]
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _FileKind:
    words: str
    read: Callable[[Path, Reading], Read]
    takes: tuple[str, ...] = ()


_FILES = {
    (*TEXT_ENDINGS, ".zip"): _FileKind("a text file", lambda file, how: read_separated([file], *how.of_text)),
    PARQUET: _FileKind("a parquet file", lambda file, _: (read_parquet([file]), [])),
    ARROW: _FileKind("an arrow file", lambda file, _: (read_arrow(file), [])),
    WORKBOOK: _FileKind("a workbook", lambda file, how: read_workbook(file, how.part), ("sheet",)),
    STATISTICS: _FileKind("a file of Stata, SPSS or SAS", lambda file, _: read_statistics(file)),
}
ENDINGS = (*(ending for endings in _FILES for ending in endings), *DATABASE_FILES)


def kind_of(place: Place) -> Kind:
    """The kind of an existing place; an InputProblem where there is none, or where it is of no kind that is known."""
    file = place.path
    if file is not None and file.is_dir():
        return Kind("a folder of parts with the same columns", lambda how: _read_folder(file, how))
    if file is not None:
        if not file.name.lower().endswith(ENDINGS):
            raise InputProblem(
                f"'{place}' must end in .csv, .tsv, .txt (also .gz, .bz2, .xz, .zst, .zip), .parquet, .arrow, .xlsx, "
                f".dta, .sav, .sas7bdat, .xpt, .duckdb, .sqlite or .db, or be a folder of parts or a URL as "
                f"postgresql://user@host/database; save the table as one of these."
            )
        if not file.is_file():
            raise InputProblem(f"There is no file '{place}'; check the path.")
    database = database_of(place)
    if database is not None:
        return Kind("a database", lambda how: database.read(place, how.part), ("table", "query"))
    assert file is not None
    known = next(kind for endings, kind in _FILES.items() if file.name.lower().endswith(endings))
    return Kind(known.words, lambda how: known.read(file, how), known.takes)


def _read_folder(folder: Path, how: Reading) -> Read:
    parts = parts_of(folder)
    if parts[0].name.lower().endswith(PARQUET):
        return read_parquet(parts, folder), []
    return read_separated(parts, *how.of_text)


def database_of(place: Place) -> Database | None:
    """The database that a place is or, as its ending says, would become; None for other files. A .db file may be of
    either kind."""
    file = place.path
    if file is None:
        return PostgreSQL()
    if not file.name.lower().endswith(DATABASE_FILES):
        return None
    if not file.exists():
        return DuckDB() if file.name.lower().endswith(_DUCKDB_FILES) else Sqlite()
    with file.open("rb") as opened:
        start = opened.read(16)
    if start == b"SQLite format 3\0":
        return Sqlite()
    if start[8:12] == b"DUCK":
        return DuckDB()
    raise InputProblem(f"'{place}' is no database of SQLite or DuckDB; check that it is an undamaged file.")


def text_files(place: Place) -> list[Path]:
    """The files that are read as text; none where a place stores types."""
    file = place.path
    if file is None:
        return []
    files = parts_of(file) if file.is_dir() else [file]
    return files if files[0].name.lower().endswith((*TEXT_ENDINGS, ".zip")) else []
