"""What databases have in common: they list tables, read one or a query without changing anything, and write one."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import polars as pl

from prudent.errors import InputProblem
from prudent.table.frames import column_of, refuse_repeated_names
from prudent.table.sources.part import Part
from prudent.table.sources.place import Place

BATCH = 50_000
"""Rows that are fetched at once."""
_LONGEST = 300
"""Characters of what a database says."""
INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
FLOATS = (pl.Float32, pl.Float64)


class Database(ABC):
    """One kind of database; it keeps nothing, not even a connection."""

    @abstractmethod
    def failures(self) -> tuple[type[BaseException], ...]:
        """What its library raises; an InputProblem where that is not installed."""

    @abstractmethod
    def reading(self, place: Place) -> AbstractContextManager[Any]:
        """A connection that cannot change anything."""

    @abstractmethod
    def writing(self, place: Place) -> AbstractContextManager[Any]:
        """A connection within one transaction: what is done in the block is there when it ends well, else nothing."""

    @abstractmethod
    def tables(self, connection: Any) -> Mapping[str, str]:
        """Tables and views: how people call them, and how SQL does."""

    @abstractmethod
    def in_sql(self, name: str) -> str:
        """A name for a new table, quoted."""

    @abstractmethod
    def select(self, connection: Any, query: str) -> pl.DataFrame:
        """The result of one SELECT; anything else is refused."""

    @abstractmethod
    def create(self, connection: Any, table: str, frame: pl.DataFrame) -> None:
        """A new table with these rows. table: as it is called in SQL."""

    def read(self, place: Place, part: Part) -> tuple[pl.DataFrame, list[str]]:
        with self.said_of(place, part.query), self.reading(place) as connection:
            if part.query is not None:
                return self.select(connection, part.query), []
            tables = self.tables(connection)
            name = part.name_among(place, list(tables))
            return self.select(connection, f"SELECT * FROM {tables[name]}"), []

    def check_new_table(self, place: Place, name: str, replace: bool) -> None:
        """Refuse before the work begins what `write` would refuse after it."""
        self.failures()  # needs the library
        if place.path is None or place.path.exists():
            with self.said_of(place), self.writing(place) as connection:
                self._existing(connection, place, name, replace)

    def write(self, place: Place, name: str, frame: pl.DataFrame, replace: bool) -> None:
        """Create a table. An existing one is replaced only if that is asked for; NaN becomes NULL."""
        frame = frame.with_columns(cells.fill_nan(None) for cells in frame if cells.dtype.is_float())
        with self.said_of(place), self.writing(place) as connection:
            existing = self._existing(connection, place, name, replace)
            if existing is not None:
                connection.execute(f"DROP TABLE {existing}")
            self.create(connection, existing or self.in_sql(name), frame)

    def _existing(self, connection: Any, place: Place, name: str, replace: bool) -> str | None:
        same = [sql for known, sql in self.tables(connection).items() if known.casefold() == name.casefold()]
        if same and not replace:
            raise InputProblem(f"'{place}' already has a table '{name}'; name another, or replace it with --replace.")
        return same[0] if same else None

    @contextmanager
    def said_of(self, place: Place, query: str | None = None) -> Iterator[None]:
        """One sentence of what the database says, without a password."""
        try:
            yield
        except self.failures() as problem:
            raise InputProblem(_sentence(place, problem, query)) from None  # the cause may hold the password


def _sentence(place: Place, problem: BaseException, query: str | None) -> str:
    words = re.split(r"LINE 1:|CONTEXT:", str(problem))[0].split()
    reason = place.without_secrets(" ".join(words))[:_LONGEST].rstrip(" .:")
    if query is not None:
        return f"The query on '{place}' fails: {reason}."
    return f"The database '{place}' cannot be used: {reason}."


def quoted(name: str) -> str:
    """A name in SQL.

    >>> print(quoted('an "odd" name'))
    "an ""odd"" name"
    """
    return '"{}"'.format(name.replace('"', '""'))


def quoted_with_schema(name: str) -> str:
    """What stands before a point is a schema.

    >>> quoted_with_schema("results.advice")
    '"results"."advice"'
    """
    return ".".join(quoted(piece) for piece in name.split(".", 1))


def from_batches(names: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]]) -> pl.DataFrame:
    """A frame of rows that come in batches; a column of mixed values is text."""
    refuse_repeated_names(names)
    pieces: list[list[pl.Series]] = [[] for _ in names]
    for rows in batches:
        for piece, name, cells in zip(pieces, names, zip(*rows, strict=True), strict=True):
            piece.append(_plain(column_of(name, list(cells))))
    return pl.DataFrame([_joined(name, piece) for name, piece in zip(names, pieces, strict=True)])


def _plain(cells: pl.Series) -> pl.Series:
    """Lists and the like as text."""
    if not cells.dtype.is_nested() and cells.dtype != pl.Binary:
        return cells
    return pl.Series(cells.name, [None if cell is None else str(cell) for cell in cells.to_list()], dtype=pl.String)


def _joined(name: str, pieces: list[pl.Series]) -> pl.Series:
    dtypes = {piece.dtype for piece in pieces} - {pl.Null()}
    if not dtypes:
        return pl.Series(name, [None] * sum(map(len, pieces)), dtype=pl.String)
    numbers = all(dtype.is_numeric() for dtype in dtypes)
    dtype = dtypes.pop() if len(dtypes) == 1 else pl.Float64() if numbers else pl.String()
    return pl.concat([piece.cast(dtype) for piece in pieces])


def declared(frame: pl.DataFrame, types: Mapping[str, Sequence[Any]], text: str) -> tuple[str, pl.DataFrame]:
    """The columns of a CREATE TABLE, and the rows that go into it. types: of polars, by what they are called there;
    everything else becomes text."""
    names = {dtype: name for name, dtypes in types.items() for dtype in dtypes}
    kinds = [names.get(dtype.base_type(), text) for dtype in frame.dtypes]
    columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in zip(frame.columns, kinds, strict=True))
    texts = [column for column, kind in zip(frame.columns, kinds, strict=True) if kind == text]
    return columns, frame.with_columns(frame[column].cast(pl.String) for column in texts)
