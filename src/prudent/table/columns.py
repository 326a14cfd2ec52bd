"""One attribute of the record: its kind, and how its cells become numbers a network can use, and back."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from prudent.table.cells import as_days, as_labels, as_numbers, first_stray
from prudent.table.odd_cells import OddCells, odd_cells_problem
from prudent.table.spellings import by_number, positions

Kind = Literal["real", "positive", "count", "bounded", "categorical", "ordinal", "boolean", "date"]
KINDS: tuple[str, ...] = get_args(Kind)
LABELLED = ("categorical", "ordinal", "boolean")

LARGEST_COUNT = 255
OTHER = "(other)"
"""The category that stands for all rare ones where a column has too many; see `column_fitting.MOST_CATEGORIES`."""

LARGEST_ENCODED = 1e6
"""Encoded numbers are held within this, so that a typing error such as 1e300 cannot turn a network's sums infinite."""

TRUTHS = (
    *(("False", "True"), ("0", "1"), ("no", "yes"), ("No", "Yes"), ("NO", "YES")),
    *(("n", "y"), ("N", "Y"), ("f", "t"), ("F", "T")),
)
"""Spellings of no and yes; a boolean column spelled in one way understands the others."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class EncodedColumn:
    """One column encoded: `remarks` are (row, sentence) pairs for the few rows that need one."""

    values: np.ndarray
    observed: np.ndarray
    remarks: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Column:
    """An attribute as the log showed it.

    `location` and `scale` belong to the transformed value (log x for positive, log(1 + x) for count, days for date,
    the level's index for ordinal); `low` and `high` are the log's extremes, or the bounds of a bounded column, in the
    user's units (days since 1970-01-01 for dates). `integral` says that decoded values are whole numbers, whole days,
    or labels that are whole numbers. `reading` says how texts write decimals (`number_texts`) or dates (`date_texts`),
    where that is not clear from the cell alone; `missing` are the values that the user declared to be gaps.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    location: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    integral: bool = False
    reading: str = ""
    missing: tuple[str, ...] = ()

    @property
    def likelihood(self) -> str:
        """The family a decoder models this column with."""
        return {"date": "real", "boolean": "categorical"}.get(self.kind, self.kind)

    @property
    def levels(self) -> int:
        """How many discrete levels there are; 0 for continuous kinds.

        A count's levels are 0, 1, ... and reach half again (at least 5) beyond the largest in the log.
        """
        if self.kind == "count":
            return int(self.high) + max(5, math.ceil(self.high / 2)) + 1
        return len(self.categories)

    def encode(self, cells: pl.Series) -> EncodedColumn:
        """Encode cells whose gaps are null (see `frames.Table.cells`)."""
        return self._encode_labels(cells) if self.kind in LABELLED else self._encode_numbers(cells)

    def decode(self, values: np.ndarray) -> list[Any]:
        """Encoded values in the user's units: whole numbers, category names, ISO dates; NaN becomes None."""
        gaps = np.isnan(values)
        transformed = np.asarray(np.where(gaps, 0.0, values), dtype=np.float64) * self.scale + self.location
        decoded = self._decode_labels(transformed) if self.kind in LABELLED else self._decode_numbers(transformed)
        return [None if gap else cell for gap, cell in zip(gaps.tolist(), decoded, strict=True)]

    def transformed(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers on the scale that `location` and `scale` belong to."""
        if self.kind == "positive":
            return np.log(numbers)
        return np.log1p(numbers) if self.kind == "count" else numbers

    def shown(self, number: float) -> str:
        """A number of this column (days, for a date) as the user would write it."""
        return _iso(number, self.integral) if self.kind == "date" else f"{number:.12g}"

    @property
    def description(self) -> str:
        """The levels or the range, as text."""
        if self.kind not in LABELLED:
            return f"{self.shown(self.low)} to {self.shown(self.high)}"
        shown = (" < " if self.kind == "ordinal" else ", ").join(self.categories[:12])
        return shown + (f" and {len(self.categories) - 12} more" if len(self.categories) > 12 else "")

    def _encode_labels(self, cells: pl.Series) -> EncodedColumn:
        labels = as_labels(cells)
        truths = {label: index for pair in TRUTHS for index, label in enumerate(pair)}
        index = positions(labels, self.categories, truths if self.categories in TRUTHS else None)
        unread = (labels.is_not_null() & index.is_null()).arg_true()
        same = by_number(labels.gather(unread), self.categories)
        index = index.scatter(unread, same)
        found = same.is_not_null()
        respelled = zip(unread.filter(found), labels.gather(unread.filter(found)), same.drop_nulls(), strict=True)
        remarks = tuple(
            (row, f"{self.name}: '{label}' read as '{self.categories[place]}'") for row, label, place in respelled
        )
        unseen = unread.filter(~found)
        treatment = "never seen, treated as missing"
        if OTHER in self.categories and len(unseen):
            index = index.scatter(unseen, self.categories.index(OTHER))
            treatment = f"not among those kept, read as '{OTHER}'"
        rows = zip(unseen.to_list(), labels.gather(unseen).to_list(), strict=True)
        remarks += tuple((row, f"{self.name}: category '{label}' {treatment}") for row, label in rows)
        values = (index.fill_null(0).to_numpy().astype(np.float64) - self.location) / self.scale
        observed = index.is_not_null().to_numpy()
        return EncodedColumn(np.where(observed, values, 0.0), observed, remarks)

    def _encode_numbers(self, cells: pl.Series) -> EncodedColumn:
        return self.encode_numbers(self.read_numbers(cells).fill_null(np.nan).to_numpy())

    def encode_numbers(self, numbers: np.ndarray) -> EncodedColumn:
        """Encode numbers whose gaps are NaN."""
        impossible = self._impossible(numbers)
        observed = ~np.isnan(numbers) & ~impossible
        remarks = self._remarks(impossible, numbers, f"cannot be {self.kind}, treated as missing")
        numbers = np.where(observed, numbers, 1.0)
        if self.kind == "count":
            remarks += self._remarks(numbers != np.round(numbers), numbers, "is not a whole number, rounded")
            numbers = np.round(numbers)
        if self.kind == "bounded":
            remarks += self._beyond_bounds(observed, numbers)
            numbers = np.clip(numbers, self.low, self.high)
        else:
            far = f"is far outside the log's {self.description}, kept"
            lowest, highest = self.farthest
            remarks += self._remarks(observed & ((numbers < lowest) | (numbers > highest)), numbers, far)
        with np.errstate(over="ignore"):
            values = (self.transformed(numbers) - self.location) / self.scale
        values = np.clip(values, -LARGEST_ENCODED, LARGEST_ENCODED)
        return EncodedColumn(np.where(observed, values, 0.0), observed, remarks)

    def _impossible(self, numbers: np.ndarray) -> np.ndarray:
        if self.kind == "positive":
            return np.isinf(numbers) | (numbers <= 0)
        return np.isinf(numbers) | ((numbers < 0) if self.kind == "count" else False)

    def _beyond_bounds(self, observed: np.ndarray, numbers: np.ndarray) -> tuple[tuple[int, str], ...]:
        outside = f"is outside the bounds {self.description}, read as"
        low = self._remarks(observed & (numbers < self.low), numbers, f"{outside} {self.shown(self.low)}")
        return low + self._remarks(observed & (numbers > self.high), numbers, f"{outside} {self.shown(self.high)}")

    def _remarks(self, rows: np.ndarray, numbers: np.ndarray, sentence: str) -> tuple[tuple[int, str], ...]:
        flagged = np.flatnonzero(rows)
        pairs = zip(flagged.tolist(), numbers[flagged].tolist(), strict=True)
        return tuple((row, f"{self.name}: {self.shown(number)} {sentence}") for row, number in pairs)

    def read_numbers(self, cells: pl.Series) -> pl.Series:
        """Cells as numbers (days, for a date); a problem that names all that cannot be read."""
        read = as_days(cells, self.reading) if self.kind == "date" else as_numbers(cells, self.reading)
        if first_stray(cells, read) is None:
            return read
        wanted = "a date such as 2024-03-01" if self.kind == "date" else "a number"
        expected = f"column '{self.name}' needs {wanted} ({self.kind})"
        raise odd_cells_problem([OddCells.of(expected, cells, read, otherwise=None)])

    @property
    def farthest(self) -> tuple[float, float]:
        """The range of the log and once its width on both sides; for the smallest positive number, on the log scale.

        A column that never varied has no range to be outside of.
        """
        width = self.high - self.low
        if width == 0:
            return -math.inf, math.inf
        return (self.low * (self.low / self.high) if self.kind == "positive" else self.low - width), self.high + width

    @property
    def farthest_encoded(self) -> tuple[float, float]:
        """What a fit holds the numbers of its log within, so that a slip such as 1e30 does no more harm than that."""
        if self.kind in LABELLED or self.kind == "bounded":
            return -math.inf, math.inf
        lowest, highest = self.farthest
        ends = np.array([max(lowest, 0.0) if self.kind == "count" else lowest, highest])
        low, high = (self.transformed(ends) - self.location) / self.scale
        return float(low), float(high)

    def _decode_labels(self, positions: np.ndarray) -> list[Any]:
        index = np.clip(np.round(positions), 0, len(self.categories) - 1).astype(int)
        names: tuple[Any, ...] = self.categories
        if self.integral:
            names = tuple(int(label) if label != OTHER else label for label in self.categories)
        elif self.categories == ("False", "True"):
            names = (False, True)
        return [names[position] for position in index.tolist()]

    def _decode_numbers(self, numbers: np.ndarray) -> list[Any]:
        if self.kind == "date":
            return [_iso(days, self.integral) for days in numbers.tolist()]
        if self.kind == "positive":
            numbers = np.exp(np.minimum(numbers, 700.0))
        if self.kind == "count":
            numbers = np.maximum(np.expm1(np.minimum(numbers, 700.0)), 0.0)
        if self.kind == "bounded":
            numbers = np.clip(numbers, self.low, self.high)
        if self.integral or self.kind == "count":
            return [round(number) for number in numbers.tolist()]
        return numbers.tolist()


def _iso(days: float, whole_days: bool) -> str:
    # years 1 to 9999 are all that a datetime can hold
    moment = _EPOCH + timedelta(days=min(max(days, -719_162.0), 2_932_896.0))
    if whole_days:
        return (moment + timedelta(hours=12)).date().isoformat()
    rounded = moment + timedelta(microseconds=500_000)
    return rounded.replace(microsecond=0, tzinfo=None).isoformat()
