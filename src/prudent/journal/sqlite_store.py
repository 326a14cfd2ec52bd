"""A journal in a SQLite file: a write-ahead log that is flushed to the disk at every commit."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from prudent.errors import InputProblem
from prudent.journal.store import Session, Store
from prudent.table import Place, database_of

PATIENCE = 30.0
"""Seconds to wait for other writers."""
_PAUSE = 0.02


@dataclass(frozen=True)
class _Session:
    connection: sqlite3.Connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def change(self, sql: str, *rows: Sequence[Any]) -> None:
        for row in rows or ((),):
            self.connection.execute(sql, row)


@final
class SqliteStore(Store):
    for_update = ""

    def __init__(self, place: Place, must_exist: bool):
        path = place.path
        assert path is not None
        _check(path, must_exist)
        self._place, self._database, self._lock = place, database_of(Place("journal.sqlite")), threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        with self._said():
            self._connection = self._connected()

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[Session]:
        with self._lock, self._said():
            connection = self._own_connection()
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield _Session(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # of a full disk, SQLite has undone it already
                    connection.execute("ROLLBACK")
                raise

    def has_table(self, session: Session, name: str) -> bool:
        return bool(session.rows("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)))

    def is_foreign(self, session: Session) -> bool:
        return bool(session.rows("SELECT 1 FROM sqlite_schema LIMIT 1"))

    def lock(self, session: Session) -> None:
        pass  # a writing transaction is the only one

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _own_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InputProblem(f"The journal '{self._place}' is closed; open it again with Journal.open.")
        if self._process != os.getpid():
            # that of the parent may be neither used nor closed by a forked process
            self._of_parent, self._connection, self._process = self._connection, self._connected(), os.getpid()
        return self._connection

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._place.address, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            _switch_to_write_ahead(connection)
            # NORMAL would outlive a killed process, but not a power cut
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _said(self) -> Iterator[None]:
        assert self._database is not None
        with self._database.said_of(self._place):
            yield


def _check(path: Path, must_exist: bool) -> None:
    if must_exist and not path.is_file():
        raise InputProblem(f"There is no journal '{path}'; check the path, or let 'prudent serve' write one.")
    if path.is_dir():
        raise InputProblem(f"'{path}' is a folder; name a file for the journal, such as '{path / 'journal.sqlite'}'.")
    if not path.parent.is_dir():
        raise InputProblem(f"There is no folder '{path.parent}' to write '{path.name}' in; make it first.")
    if path.exists():
        with path.open("rb") as file:
            start = file.read(16)
        if start not in (b"", b"SQLite format 3\0"):
            raise InputProblem(f"'{path}' is no SQLite file, so it is no journal; name another file.")


def _switch_to_write_ahead(connection: sqlite3.Connection) -> None:
    """Wait by hand: SQLite does not, where two processes open a new file at once."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                return
            raise InputProblem("SQLite cannot keep a write-ahead log there, as on some network drives; name another.")
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
