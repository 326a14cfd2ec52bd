"""DuckDB files, through Arrow."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, final

import polars as pl

from prudent.errors import InputProblem
from prudent.table.frames import refuse_repeated_names
from prudent.table.sources.database import Database, quoted, quoted_with_schema
from prudent.table.sources.libraries import library
from prudent.table.sources.place import Place

_THIS_FILE_ONLY = {"enable_external_access": "false", "lock_configuration": "true"}
"""A query reads this database, and no other file and no network."""
_AS_THEY_ARE = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"),
    *("BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    "TIMESTAMP WITH TIME ZONE",
)
_NUMBERS = ("DECIMAL", "HUGEINT", "UHUGEINT", "BIGNUM")


@final
class DuckDB(Database):
    def failures(self) -> tuple[type[BaseException], ...]:
        return (_duckdb().Error,)

    @contextmanager
    def reading(self, place: Place) -> Iterator[Any]:
        with _duckdb().connect(place.address, read_only=True, config=_THIS_FILE_ONLY) as connection:
            yield connection

    @contextmanager
    def writing(self, place: Place) -> Iterator[Any]:
        new, done = not os.path.exists(place.address), False
        try:
            with _duckdb().connect(place.address, config=_THIS_FILE_ONLY) as connection:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                done = True
        finally:
            if new and not done:
                with suppress(OSError):
                    os.unlink(place.address)

    def tables(self, connection: Any) -> Mapping[str, str]:
        rows = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            "ORDER BY table_schema <> 'main', table_schema, table_name"
        ).fetchall()
        return {
            name if schema == "main" else f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}"
            for schema, name in rows
        }

    def in_sql(self, name: str) -> str:
        return quoted_with_schema(name)

    def select(self, connection: Any, query: str) -> pl.DataFrame:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or not statements[0].type.name.startswith("SELECT"):
            raise InputProblem(f"A query must be one SELECT. Got {query[:80]!r} instead.")
        found = connection.sql(query)
        refuse_repeated_names(found.columns)
        columns = [_selected(name, str(kind)) for name, kind in zip(found.columns, found.types, strict=True)]
        # not pl.DataFrame: it would keep parts of DuckDB until Python ends, and DuckDB complains about that
        return pl.Series(_Arrow(found.project(", ".join(columns)))).struct.unnest()

    def create(self, connection: Any, table: str, frame: pl.DataFrame) -> None:
        connection.register("prudent_rows", _Arrow(frame))
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM prudent_rows")
        connection.unregister("prudent_rows")


class _Arrow:
    """Rows as nothing but Arrow: where polars and DuckDB recognise each other, they ask for pyarrow."""

    def __init__(self, rows: Any):
        self.rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)


def _duckdb() -> Any:
    return library("duckdb", "databases", "DuckDB")


def _selected(name: str, kind: str) -> str:
    """Numbers as numbers, and what a table of cases has no use for (times of day, lists, identifiers) as text."""
    column = quoted(name)
    if kind in _AS_THEY_ARE:
        return column
    return f"CAST({column} AS {'DOUBLE' if kind.startswith(_NUMBERS) else 'VARCHAR'}) AS {column}"
