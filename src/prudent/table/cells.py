"""Reading the cells of one column: which of them are gaps, and the others as numbers, days or labels."""

import difflib
import math
import re
from collections.abc import Iterable, Sequence

import polars as pl

from prudent.errors import InputProblem
from prudent.table.date_texts import days_from_text
from prudent.table.number_texts import numbers_from_text

GAP_MARKS = (
    *("", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "NaT", "null", "NULL", "None"),
    *("?", "-", "--", ".", "missing", "Missing", "MISSING"),
)
"""Texts that mean "nothing recorded". "unknown" and "none" are not among them: they are answers in many tables."""

_OTHER_SPELLINGS = r"(?i)^(-?\d+\.0+|-0|true|false)$"
_MICROSECONDS_PER_DAY = 86_400e6


def without_gaps(cells: pl.Series, labels: Iterable[str] = (), missing: Sequence[str] = ()) -> pl.Series:
    """The cells with every kind of gap as null; a gap mark that the user named as a label stays a label.

    missing: values, spelled as by `label_text`, that the user declared to be gaps as well.
    """
    present = _without_marks(cells, labels)
    return present.set(as_labels(present).is_in(list(missing)).fill_null(False), None) if missing else present


def _without_marks(cells: pl.Series, labels: Iterable[str]) -> pl.Series:
    if cells.dtype.is_float():
        return cells.fill_nan(None)
    if cells.dtype.is_decimal() or cells.dtype == pl.Null:
        return cells.cast(pl.Float64)
    if cells.dtype in (pl.Categorical, pl.Enum, pl.String):
        text = cells.cast(pl.String).str.strip_chars()
        marks = [mark for mark in GAP_MARKS if mark not in set(labels)]
        return text.set(text.is_in(marks).fill_null(False), None)
    if cells.dtype.is_integer() or cells.dtype in (pl.Boolean, pl.Date, pl.Datetime):
        return cells
    raise InputProblem(
        f"Column '{cells.name}' holds cells of type {cells.dtype}; turn them into numbers, text or dates first, "
        f"or leave the column out with ignore=['{cells.name}']."
    )


def as_numbers(cells: pl.Series, reading: str = "") -> pl.Series:
    """Cells as float64, null where a cell is not a number; `reading` says how texts write decimals."""
    if cells.dtype.is_temporal():
        return pl.Series(cells.name, [None], dtype=pl.Float64).new_from_index(0, len(cells))
    if cells.dtype == pl.String:
        return numbers_from_text(cells, reading).fill_nan(None)
    return cells.cast(pl.Float64, strict=False).fill_nan(None)


def as_days(cells: pl.Series, reading: str = "") -> pl.Series:
    """Cells as days since 1970-01-01 (float64, UTC), null where a cell is not a date."""
    if cells.dtype == pl.Date:
        return cells.to_physical().cast(pl.Float64)
    if isinstance(cells.dtype, pl.Datetime):
        return cells.dt.epoch("us").cast(pl.Float64) / _MICROSECONDS_PER_DAY
    if cells.dtype == pl.String:
        return days_from_text(cells, reading)
    return pl.Series(cells.name, [None], dtype=pl.Float64).new_from_index(0, len(cells))


def as_labels(cells: pl.Series) -> pl.Series:
    """Cells as text in one spelling, so that 1, 1.0 and "1" are the same category, and so are True and "true"."""
    if cells.dtype == pl.Boolean:
        return cells.replace_strict([False, True], ["False", "True"], return_dtype=pl.String)
    text = cells.cast(pl.String)
    if cells.dtype.is_integer() or cells.dtype.is_temporal() or not text.str.contains(_OTHER_SPELLINGS).any():
        return text
    text = text.str.replace(r"^(-?\d+)\.0+$", "$1").str.replace(r"^-0$", "0")
    return text.str.replace(r"(?i)^true$", "True").str.replace(r"(?i)^false$", "False")


def label_text(label: object) -> str:
    """One label in the spelling of `as_labels`.

    >>> label_text(2.0), label_text("2"), label_text(True), label_text("true")
    ('2', '2', 'True', 'True')
    """
    return as_labels(pl.Series([str(label).strip()])).item()


def first_stray(cells: pl.Series, read: pl.Series) -> int | None:
    """The first row whose cell is present but could not be read."""
    return (cells.is_not_null() & read.is_null()).arg_max() if stray_count(cells, read) else None


def stray_count(cells: pl.Series, read: pl.Series) -> int:
    return int((cells.is_not_null() & read.is_null()).sum())


SLIPS = 0.01
"""Up to this share of a column's numbers may be written with leading zeros without the column being one of codes."""


def have_leading_zeros(cells: pl.Series) -> bool:
    """Whether a text is a whole number written as 007."""
    return bool(cells.str.contains(r"^0\d+$").any())


def written_as_codes(cells: pl.Series) -> bool:
    """Whether the texts are codes such as "007" or identifiers of 16 digits and more, which numbers would not keep."""
    digits = cells.str.contains(r"^\d+$").fill_null(False)
    present = len(cells) - cells.null_count()
    whole = cells.filter(digits)
    if len(whole) == 0:
        return False
    zeros, long = int(whole.str.contains(r"^0\d").sum()), int((whole.str.len_bytes() >= EXACT_DIGITS).sum())
    decimals = cells.filter(~digits).drop_nulls().cast(pl.Float64, strict=False).is_not_null().any()
    return not decimals and (zeros > SLIPS * present or long > SLIPS * present)


EXACT_DIGITS = 16
"""Whole numbers of so many digits are not exact in floating point."""


def natural_order(label: str | int | float | bool) -> tuple:
    """Sort key: numbers by size and before text, and text with numbers inside as people sort it; no two labels tie.

    >>> sorted(["dose 10", "dose 2", "10", "9"], key=natural_order)
    ['9', '10', 'dose 2', 'dose 10']
    """
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return (0, number, (), str(label))
    return (1, 0.0, tuple(map(_piece_order, re.split(r"(\d+)", str(label)))), str(label))


def _piece_order(piece: str) -> tuple[str, int, str]:
    """Whole numbers by their digits: Python converts no more than some thousands of them."""
    digits = piece.lstrip("0")
    return ("", len(digits), digits) if piece.isdecimal() else (piece.casefold(), 0, "")


def row_name(index: int) -> str:
    """How every message refers to a row of the user's table."""
    return f"row {index + 1} (counting from 1)"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The closest name as a question, or else the names that exist.

    >>> did_you_mean("agee", ["age", "site"])
    "Did you mean 'age'?"
    """
    names = list(candidates)
    match = closest_name(name, names)
    if match is not None:
        return f"Did you mean '{match}'?"
    shown = ", ".join(f"'{known}'" for known in names[:12])
    return f"There is {shown}{' and more' if len(names) > 12 else ''}."


def closest_name(name: str, names: Sequence[str]) -> str | None:
    """The name that this one is probably a misspelling of."""
    close = difflib.get_close_matches(name.casefold(), [known.casefold() for known in names], n=1, cutoff=0.6)
    return next(known for known in names if known.casefold() == close[0]) if close else None
