"""Numbers that stand apart from the rest of a column and are usual codes for "not recorded", such as 999 or -1."""

from typing import NamedTuple

import numpy as np
import polars as pl

from prudent.table.cells import as_days, as_labels, as_numbers
from prudent.table.column_notes import ColumnNote, option
from prudent.table.columns import LABELLED, Column

HIGH = frozenset(
    (
        *(9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9998, 9999, 99999, 999999, 9999999),
        *(99.9, 999.9, 9999.9, 99.99, 999.99),
    )
)
LOW = frozenset((-1, -7, -8, -9, -77, -88, -98, -99, -777, -888, -998, -999, -9999, -99999, -999999, -99.9, -999.9))
_NO_DATES = (
    *("1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01", "1970-01-01"),
    *("2099-12-31", "2100-01-01", "2999-12-31", "9999-12-31"),
)
DATES = frozenset((np.array(_NO_DATES, dtype="datetime64[D]") - np.datetime64("1970-01-01")).astype(float).tolist())
FEWEST_ROWS = 2
MANY_VALUES = 10


class MissingCode(NamedTuple):
    """A value that may stand for a gap, as the table writes it, with its rows and what the other rows hold."""

    column: str
    value: str
    rows: int
    others: str

    @property
    def sentence(self) -> str:
        times = f"{self.rows} row{'s' * (self.rows > 1)}"
        return (
            f"Column '{self.column}' holds {self.value} in {times}, far from the other values ({self.others}): if it "
            f"stands for a gap, add {option('--missing', f'{self.column}={self.value}')} or "
            f"missing={ {self.column: self.value} }."
        )

    @property
    def note(self) -> ColumnNote:
        return ColumnNote(self.column, self.sentence, self.sentence)


def missing_codes(column: Column, cells: pl.Series) -> list[MissingCode]:
    """The codes in a column of numbers or dates; cells have their gaps as null."""
    if column.kind in LABELLED and not column.integral:
        return []
    dates = column.kind == "date"
    read = as_days(cells, column.reading) if dates else as_numbers(cells, column.reading)
    numbers = read.fill_null(np.nan).to_numpy()
    finite = numbers[np.isfinite(numbers)]
    found, others = standing_apart(finite, DATES if dates else HIGH, DATES if dates else LOW)
    if not found:
        return []
    kept = finite[~np.isin(finite, found)]
    # a labelled column of whole numbers has no numbers to be shown with
    shown = [f"{number:.12g}" if column.kind in LABELLED else column.shown(float(number)) for number in others]
    return [
        MissingCode(
            column.name,
            as_labels(cells.slice(int(np.argmax(numbers == code)), 1)).item(),
            int((finite == code).sum()),
            f"{shown[0]} to {shown[1]}" if len(kept) else "none",
        )
        for code in found
    ]


def standing_apart(
    numbers: np.ndarray, high: frozenset[float], low: frozenset[float]
) -> tuple[list[float], tuple[float, float]]:
    """The codes at either end of the numbers that are isolated and repeated, and the range of the other numbers.

    >>> standing_apart(np.array([31.0, 54, 47, 60, 999, 999]), HIGH, LOW)
    ([999.0], (31.0, 60.0))
    """
    nothing = [], (0.0, 0.0)
    if len(numbers) == 0 or not (float(numbers.max()) in high or float(numbers.min()) in low):
        return nothing
    values, counts = np.unique(numbers, return_counts=True)
    above = _codes_above(values, counts, high)
    below = _codes_above(-values[::-1], counts[::-1], frozenset(-code for code in low))
    if not below and values[0] < 0:
        below = _only_negatives(values, counts, low)
    kept = values[below : len(values) - above]
    if above + below == 0 or len(kept) < FEWEST_ROWS:
        return nothing
    found = [*values[:below].tolist(), *values[len(values) - above :].tolist()]
    return found, (float(kept[0]), float(kept[-1]))


def _codes_above(values: np.ndarray, counts: np.ndarray, codes: frozenset[float]) -> int:
    """How many of the largest values are codes far above the rest."""
    most = 0
    while most < len(values) and float(values[-1 - most]) in codes:
        most += 1
    for count in range(most, 0, -1):
        if _isolated(values, counts, len(values) - count):
            return count
    return 0


def _isolated(values: np.ndarray, counts: np.ndarray, start: int) -> bool:
    """Whether the values from `start` are repeated and far from those before: by half their range and five times every
    step between them; or a spike, farther away than the steps near it and much more frequent than its neighbours.
    """
    rest, rows = values[:start], int(counts[start:].sum())
    if len(rest) < 2 or rows < FEWEST_ROWS:
        return False
    gap, steps = values[start] - rest[-1], np.diff(rest)
    if gap > 0.5 * (rest[-1] - rest[0]) and gap > 5 * steps.max():
        return True
    near = len(rest) // 2
    usual = counts[:start][near:].mean()
    return bool(len(rest) >= MANY_VALUES and rows >= max(5, 5 * usual) and gap > 3 * steps[near:].max())


def _only_negatives(values: np.ndarray, counts: np.ndarray, codes: frozenset[float]) -> int:
    """-1 in a column of many different numbers that is otherwise never negative."""
    negative = int((values < 0).sum())
    are_codes = all(float(value) in codes for value in values[:negative])
    enough = counts[:negative].sum() >= FEWEST_ROWS and len(values) - negative >= MANY_VALUES
    return negative if are_codes and enough else 0
