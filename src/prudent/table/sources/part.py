"""Which part of a workbook or a database is the table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prudent.errors import InputProblem, Rule, check, optional
from prudent.table.cells import did_you_mean

_TEXT = optional(Rule("be a text that is not empty", lambda value: isinstance(value, str) and value.strip() != ""))
_RULES = {"table": _TEXT, "query": _TEXT, "sheet": _TEXT}


@dataclass(frozen=True)
class Part:
    """None stands for the only table, or the first sheet.

    table: a table or view of a database. query: what to select from it, in SQL. sheet: of an Excel workbook, by name.
    """

    table: str | None = None
    query: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        check("read_table", _RULES, vars(self))
        if self.table is not None and self.query is not None:
            raise InputProblem("A table and a query were given; leave out table= (--table) or query= (--query).")

    def check(self, what: str, takes: Sequence[str]) -> None:
        """Refuse what means nothing for such a place. what: the place in words, as "'log.csv' is a text file"."""
        for name, value in vars(self).items():
            if value is not None and name not in takes:
                raise InputProblem(f"{what}, which has no {name} to choose; leave out {name}= (--{name}).")

    def with_name(self, name: str | None, takes: Sequence[str]) -> "Part":
        """The same with what stood behind a # in the place: a table, or a sheet."""
        if name is None:
            return self
        chosen = takes[0] if takes else "sheet"
        if getattr(self, chosen) not in (None, name):
            raise InputProblem(f"Both #{name} and {chosen}= (--{chosen}) name the {chosen}; leave one out.")
        return replace(self, **{chosen: name})

    def name_among(self, place: object, names: Sequence[str]) -> str:
        """The table that is meant, of those that a database has."""
        if not names:
            raise InputProblem(f"The database '{place}' has no tables; check that it is the right one.")
        if self.table is not None:
            if self.table not in names:
                raise InputProblem(f"'{place}' has no table '{self.table}'. {did_you_mean(self.table, names)}")
            return self.table
        if len(names) > 1:
            raise InputProblem(
                f"'{place}' has {len(names)} tables; name one with table= (--table), or select with query= (--query). "
                f"{did_you_mean('', names)}"
            )
        return names[0]
