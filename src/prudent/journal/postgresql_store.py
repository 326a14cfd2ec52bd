"""A journal on a PostgreSQL server, which may go away and come back."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, final

from prudent.errors import InputProblem
from prudent.journal.store import Session, Store
from prudent.table import Place, PostgreSQL

PAUSES = (0.1, 0.4, 1.0, 2.0)
"""Seconds to wait before trying again to connect."""
_FINAL = ("authentication", "does not exist", "no password")
"""Words of a server that will not change its mind."""
_LOCK = 7_203_141_859
"""Any number, the same in every process."""


@dataclass(frozen=True)
class _Session:
    connection: Any

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql.replace("?", "%s"), values).fetchall()

    def change(self, sql: str, *rows: Sequence[Any]) -> None:
        with self.connection.cursor() as cursor:
            if rows:
                cursor.executemany(sql.replace("?", "%s"), rows)
            else:
                cursor.execute(sql)


@final
class PostgresqlStore(Store):
    for_update = " FOR UPDATE"

    def __init__(self, place: Place):
        self._place, self._lock, self._server = place, threading.RLock(), PostgreSQL()
        self._lost = self._server.lost()
        self._opened: ExitStack | None = ExitStack()
        self._connection: Any = None
        self._process = os.getpid()
        with self._server.said_of(place):
            self._connected()

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[Session]:
        with self._lock, self._server.said_of(self._place):
            connection = self._connected()
            with connection.transaction():
                yield _Session(connection)

    def has_table(self, session: Session, name: str) -> bool:
        return session.rows("SELECT to_regclass(?) IS NOT NULL", (name,))[0][0]

    def is_foreign(self, session: Session) -> bool:
        return False  # a server is shared by many

    def lock(self, session: Session) -> None:
        session.rows(f"SELECT pg_advisory_xact_lock({_LOCK})")

    def close(self) -> None:
        with self._lock:
            if self._opened is not None and self._process == os.getpid():
                self._opened.close()
            self._opened = self._connection = None

    def _connected(self) -> Any:
        """The connection, or a new one where the server has hung up or this process was forked."""
        if self._opened is None:
            raise InputProblem(f"The journal '{self._place}' is closed; open it again with Journal.open.")
        if self._process != os.getpid():
            self._of_parent = self._opened, self._connection  # may be neither used nor closed here
            self._opened, self._connection, self._process = ExitStack(), None, os.getpid()
        if self._connection is not None and self._is_alive():
            return self._connection
        self._opened.close()
        for pause in (*PAUSES, None):
            try:
                self._connection = self._opened.enter_context(self._server.lasting(self._place))
                return self._connection
            except self._lost as problem:
                if pause is None or any(words in str(problem) for words in _FINAL):
                    raise
                time.sleep(pause)
        raise AssertionError

    def _is_alive(self) -> bool:
        if self._connection.closed:
            return False
        try:
            self._connection.execute("")
        except self._lost:
            return False
        return True
