"""Where a table of advice goes: a file, standard output, or a new table of a database."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from prudent.command_line.files import (
    STANDARD_OUTPUT,
    require_file_destination,
    require_table_destination,
    write_table,
)
from prudent.errors import InputProblem
from prudent.table import PARQUET_ENDINGS, WRITTEN_WORKBOOK, Database, Part, Place, database_of


@dataclass(frozen=True)
class Destination:
    """table: the new table of a database. replace: an existing table of this name, too."""

    out: Place
    table: str | None = None
    replace: bool = False

    @staticmethod
    def of(out: str, table: str | None = None, replace: bool = False) -> "Destination":
        place = Place.of(out)
        if database_of(place) is None:
            return Destination(Place(out), table, replace)  # a # is a part of the name of a file
        return Destination(Place(place.address), table or place.name, replace)

    @property
    def database(self) -> Database | None:
        return database_of(self.out)

    @property
    def path(self) -> Path | None:
        """None for a database behind a URL."""
        return self.out.path

    @property
    def is_standard_output(self) -> bool:
        return self.out.address == STANDARD_OUTPUT

    @property
    def is_text(self) -> bool:
        return self.database is None and not self.out.address.lower().endswith((*PARQUET_ENDINGS, WRITTEN_WORKBOOK))

    def __str__(self) -> str:
        return str(self.out) if self.table is None else f"table '{self.table}' of {self.out}"

    def check(self, read: Iterable[tuple[Place, Part]]) -> None:
        """Refuse now what could not be written later, and what would cost something that is read."""
        database = self.database
        if database is None:
            if self.table is not None or self.replace:
                raise InputProblem(
                    f"--out-table and --replace belong to a database, and '{self.out}' is none; leave them out."
                )
            require_table_destination(self.out.address)
            return
        if self.table is None:
            raise InputProblem(f"'{self.out}' is a database; name the new table with --out-table NAME.")
        if self.path is not None:
            require_file_destination(self.path)
        for place, part in read:
            self._check_input(place, part)
        database.check_new_table(self.out, self.table, self.replace)

    def _check_input(self, place: Place, part: Part) -> None:
        """Without --replace no table that exists is touched; with it, not even a table that may be read."""
        if not self.replace or not self._may_be(place):
            return
        name = part.table or place.name
        if name is None or _last_word(name) == _last_word(self.table or ""):
            raise InputProblem(
                f"--replace could remove the table '{self.table}' while '{place}' is read from; name another "
                f"--out-table, or name the table that is read with --table."
            )

    def _may_be(self, place: Place) -> bool:
        """Whether it is the same database, as far as that can be told: a server has many names."""
        if self.path is None or place.path is None:
            return self.path is None and place.path is None
        return self.path.exists() and place.path.exists() and self.path.samefile(place.path)

    def write(self, frame: pl.DataFrame) -> None:
        database = self.database
        if database is None:
            write_table(frame, self.out.address)
        else:
            database.write(self.out, self.table or "", frame, self.replace)


def _last_word(name: str) -> str:
    """The name of a table without its schema."""
    return name.rpartition(".")[2].casefold()
