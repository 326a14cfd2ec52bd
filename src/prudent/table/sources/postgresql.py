"""PostgreSQL, by a URL as postgresql://user@host/database; the password stands in it, in PGPASSWORD or in ~/.pgpass."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, final

import polars as pl

from prudent.errors import InputProblem
from prudent.table.sources.database import (
    BATCH,
    FLOATS,
    INTEGERS,
    Database,
    declared,
    from_batches,
    quoted,
    quoted_with_schema,
)
from prudent.table.sources.libraries import library
from prudent.table.sources.place import Place

_SECONDS = 10
_AS_TEXT = ("uuid", "json", "jsonb", "inet", "cidr", "interval", "time", "timetz")
_TYPES = {
    "bigint": INTEGERS,
    "double precision": FLOATS,
    "boolean": (pl.Boolean,),
    "date": (pl.Date,),
    "timestamp": (pl.Datetime,),
}


@final
class PostgreSQL(Database):
    def failures(self) -> tuple[type[BaseException], ...]:
        return (_psycopg().Error,)

    def lost(self) -> type[BaseException]:
        """What is raised where the server cannot be reached, or hangs up."""
        return _psycopg().OperationalError

    @contextmanager
    def lasting(self, place: Place) -> Iterator[Any]:
        """A connection for many transactions, each of which says where it begins."""
        with _connected(place) as connection:
            connection.autocommit = True
            yield connection

    @contextmanager
    def reading(self, place: Place) -> Iterator[Any]:
        with _connected(place) as connection:
            connection.read_only = True
            yield connection

    @contextmanager
    def writing(self, place: Place) -> Iterator[Any]:
        with _connected(place) as connection, connection.transaction():
            yield connection

    def tables(self, connection: Any) -> Mapping[str, str]:
        rows = connection.execute(
            "SELECT n.nspname, c.relname, n.nspname = current_schema() FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
            "AND n.nspname NOT LIKE 'pg\\_t%' ORDER BY 3 DESC, 1, 2"
        ).fetchall()
        return {name if here else f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}" for schema, name, here in rows}

    def in_sql(self, name: str) -> str:
        return quoted_with_schema(name)

    def select(self, connection: Any, query: str) -> pl.DataFrame:
        text, number = _module("types.string").TextLoader, _module("types.numeric").FloatLoader
        for name, loader in (("numeric", number), *((name, text) for name in _AS_TEXT)):
            connection.adapters.register_loader(name, loader)
        # the server keeps such a cursor: it takes one SELECT and nothing else, and hands it over in batches
        with connection.cursor(name="prudent") as cursor:
            cursor.execute(query.rstrip().removesuffix(";"))
            names = [column.name for column in cursor.description]
            return from_batches(names, iter(lambda: cursor.fetchmany(BATCH), []))

    def create(self, connection: Any, table: str, frame: pl.DataFrame) -> None:
        columns, rows = declared(frame, _TYPES, "text")
        connection.execute(f"CREATE TABLE {table} ({columns})")
        with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows.iter_rows():
                copy.write_row(row)


def _psycopg() -> Any:
    return library("psycopg", "databases", "PostgreSQL")


def _module(name: str) -> Any:
    return library(f"psycopg.{name}", "databases", "PostgreSQL")


@contextmanager
def _connected(place: Place) -> Iterator[Any]:
    if set("@/?#") & set(place.password):
        raise InputProblem(
            f"The URL of '{place}' holds one of the signs @ / ? # within its password; write them as %40 %2F %3F %23."
        )
    limit = {} if "connect_timeout" in place.address else {"connect_timeout": _SECONDS}
    with _psycopg().connect(place.address, **limit) as connection:
        yield connection
