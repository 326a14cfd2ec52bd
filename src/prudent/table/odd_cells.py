"""Cells that cannot be read as the rest of their column: all of them are named at once, with options that mend them."""

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import row_name
from prudent.table.number_texts import COMMA, numbers_from_text

MOST_DECLARED = 5
"""Up to this many different odd values are proposed as gaps; a column with more is proposed as categorical."""
SHOWN = 3

First = TypeVar("First")
Second = TypeVar("Second")


@dataclass(frozen=True)
class OddCells:
    """The odd cells of one column: how many, their first rows (from 1), and the different values among them."""

    column: str
    expected: str
    """What the cell should be, as in "most cells of column 'age' are numbers"."""
    count: int
    rows: tuple[int, ...]
    values: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    """What mends the column on the command line, as ("--missing", "age=old")."""
    otherwise: str | None = None

    @staticmethod
    def of(expected: str, cells: pl.Series, read: pl.Series, otherwise: str | None) -> "OddCells":
        """otherwise: the kind that the column may have instead."""
        odd = cells.is_not_null() & read.is_null()
        values = cells.filter(odd).cast(pl.String).unique(maintain_order=True).to_list()
        options = tuple(("--missing", f"{cells.name}={value}") for value in values)
        if len(values) > MOST_DECLARED:
            options = () if otherwise is None else (("--kind", f"{cells.name}={otherwise}"),)
        rows = tuple(row + 1 for row in odd.arg_true().head(SHOWN).to_list())
        return OddCells(cells.name, expected, int(odd.sum()), rows, tuple(values), options, otherwise)

    @property
    def description(self) -> str:
        where = row_name(self.rows[0] - 1)
        more = f" ({self.count} such cells: {self._examples})" if self.count > 1 else ""
        return f"{self.expected}, but {where} holds {self.values[0]!r}{more}"

    @property
    def _examples(self) -> str:
        return ", ".join(map(repr, self.values[:MOST_DECLARED])) + (" …" if len(self.values) > MOST_DECLARED else "")


@dataclass(frozen=True)
class OddCellsFound:
    """The odd cells of a table, by column: the details of the problem that they are."""

    columns: tuple[OddCells, ...]

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Mend them all on the command line."""
        return tuple(option for odd in self.columns for option in odd.options)

    @property
    def sentence(self) -> str:
        descriptions = [odd.description for odd in self.columns]
        if len(descriptions) == 1:
            text = f"{descriptions[0][0].upper()}{descriptions[0][1:]}; "
        else:
            lines = "".join(f"\n  {description}" for description in descriptions)
            text = f"{len(descriptions)} columns hold cells that cannot be read:{lines}\n"
        if self._have_decimal_commas:
            return f"{text}if these are decimal commas, add --decimal , (decimal=','); if not, correct such cells."
        if not self.options:
            return f"{text}correct such cells or leave them empty."
        pasted = shlex.join(part for option in self.options for part in option)
        return f"{text}correct or empty such cells, or add {pasted}{self._other_ways()}."

    @property
    def _have_decimal_commas(self) -> bool:
        """Whether all of them are numbers once their commas are decimal points."""
        values = pl.Series([value for odd in self.columns for value in odd.values], dtype=pl.String)
        return bool(numbers_from_text(values, COMMA).is_not_null().all() and values.str.contains(",").all())

    def _other_ways(self) -> str:
        labels = [
            shlex.join(("--kind", f"{odd.column}={odd.otherwise}"))
            for odd in self.columns
            if odd.otherwise is not None and odd.options[0][0] != "--kind"
        ]
        if not labels or len(self.columns) > 1:
            return " to read them as gaps" * bool(labels)
        return f" to read them as gaps, or {labels[0]} to read the column as labels"


def odd_cells_problem(columns: Iterable[OddCells]) -> InputProblem:
    found = OddCellsFound(tuple(columns))
    return InputProblem(found.sentence, found)


def odd_cells_of(problem: InputProblem) -> OddCellsFound:
    """The odd cells that a problem names; any other problem is raised again."""
    if isinstance(problem.details, OddCellsFound):
        return problem.details
    raise problem


def read_both(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """What both functions return; where one meets odd cells, the other one's are looked for before all are named."""
    try:
        result = first()
    except InputProblem as problem:
        odd = odd_cells_of(problem)
        try:
            second()
        except InputProblem as other:
            raise odd_cells_problem((*odd.columns, *odd_cells_of(other).columns)) from None
        raise
    return result, second()
