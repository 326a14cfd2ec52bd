"""SQLite files, by Python's own library."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, final
from urllib.parse import quote

import polars as pl

from prudent.table.sources.database import BATCH, FLOATS, INTEGERS, Database, declared, from_batches, quoted
from prudent.table.sources.place import Place

_VIEW = "prudent_selected"
_TYPES = {"INTEGER": INTEGERS, "REAL": FLOATS, "BOOLEAN": (pl.Boolean,)}
_TRUTHS = ("BOOLEAN", "BOOL")


@final
class Sqlite(Database):
    def failures(self) -> tuple[type[BaseException], ...]:
        return sqlite3.Error, sqlite3.Warning

    @contextmanager
    def reading(self, place: Place) -> Iterator[sqlite3.Connection]:
        _undo_what_was_cut_off(place)
        with closing(sqlite3.connect(_address(place, "ro"), uri=True)) as connection:
            yield connection

    @contextmanager
    def writing(self, place: Place) -> Iterator[sqlite3.Connection]:
        new = not os.path.exists(place.address)
        try:
            with closing(sqlite3.connect(_address(place, "rwc"), uri=True, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
        finally:
            if new and os.path.exists(place.address) and os.path.getsize(place.address) == 0:
                os.unlink(place.address)

    def tables(self, connection: Any) -> Mapping[str, str]:
        rows = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_' "
            "ORDER BY name"
        )
        return {name: quoted(name) for (name,) in rows}

    def in_sql(self, name: str) -> str:
        return quoted(name)

    def select(self, connection: Any, query: str) -> pl.DataFrame:
        # a view holds one SELECT and nothing else, and knows the types that its columns were declared with
        connection.execute(f"CREATE TEMP VIEW {_VIEW} AS {query}")
        types = [row[2].upper() for row in connection.execute(f"PRAGMA table_info({_VIEW})")]
        cursor = connection.execute(query)
        frame = from_batches([column[0] for column in cursor.description], iter(lambda: cursor.fetchmany(BATCH), []))
        return frame.with_columns(_as_declared(cells, kind) for cells, kind in zip(frame, types, strict=True))

    def create(self, connection: Any, table: str, frame: pl.DataFrame) -> None:
        columns, rows = declared(frame, _TYPES, "TEXT")
        connection.execute(f"CREATE TABLE {table} ({columns})")
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * rows.width)})", rows.iter_rows())


def _undo_what_was_cut_off(place: Place) -> None:
    """A writer that was killed leaves a journal, and SQLite refuses to read before that is undone, which is a write."""
    if os.path.exists(f"{place.address}-journal"):
        with suppress(sqlite3.Error), closing(sqlite3.connect(_address(place, "rw"), uri=True)) as connection:
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()


def _address(place: Place, mode: str) -> str:
    return f"file:{quote(os.path.abspath(place.address))}?mode={mode}"


def _as_declared(cells: pl.Series, kind: str) -> pl.Series:
    """SQLite keeps truths as 0 and 1."""
    if kind in _TRUTHS and cells.dtype.is_integer() and cells.drop_nulls().is_in([0, 1]).all():
        return cells.cast(pl.Boolean)
    return cells
