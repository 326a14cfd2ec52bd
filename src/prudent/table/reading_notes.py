"""Notes on how the texts of a column were read: decimal commas, limits, percents, dates, bands, spellings, units."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from prudent.table.column_notes import ColumnNote, option
from prudent.table.date_texts import DAY_FIRST
from prudent.table.number_texts import COMMA, EITHER, number_spellings

LEVELS_SHOWN = 12
SPELLINGS_SHOWN = 4
MOST_UNITS = 5
FEWEST_DAYS = 3
_WITH_UNIT = r"^[-+]?\d+(?:[.,]\d+)?\s*(\p{L}[\p{L}\d/²³^]*)$"


def number_notes(name: str, cells: pl.Series, reading: str) -> list[ColumnNote]:
    """What was not plainly a number, with counts."""
    counts = number_spellings(cells, reading)
    facts = []
    if reading in (COMMA, EITHER):
        facts.append("decimal commas are read as decimal points")
    if counts.limits:
        facts.append(f"limits such as <5 are read as the number, 5 ({_cells(counts.limits)})")
    if counts.percents:
        facts.append(f"percent signs are left out ({_cells(counts.percents)})")
    if counts.thousands:
        wrong = "" if reading else "; if these are decimal commas, read the file with --decimal ,"
        facts.append(f"thousands separators are left out ({_cells(counts.thousands)}){wrong}")
    return [ColumnNote(name, f"Column '{name}': {fact}.", f"have odd numbers: {fact}.") for fact in facts]


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"


def date_notes(name: str, order: str, proven: bool) -> list[ColumnNote]:
    """How dates such as 3/4/2020 were read, and the way out where no cell tells."""
    if not order:
        return []
    first, other = ("day", "month-first") if order == DAY_FIRST else ("month", "day-first")
    kind = f"date:{other}"
    way_out = "if not, " if proven else f"no cell tells whether that is right; if the {other[:-6]} is first, "
    text = f"dates such as 3/4/2020 are read with the {first} first; {way_out}set kinds="
    sentence = f"Column '{name}': {text}{ {name: kind} } or {option('--kind', f'{name}={kind}')}."
    return [ColumnNote(name, sentence, f"hold dates: {text}{ {'NAME': kind} } or --kind NAME={kind}.")]


def are_days_as_numbers(values: np.ndarray) -> bool:
    """Whether all whole numbers are days written as 20240301."""
    if len(values) < FEWEST_DAYS or values.min() < 19000101 or values.max() > 21001231:
        return False
    days = pl.Series(values).cast(pl.Int64).cast(pl.String).str.to_date("%Y%m%d", strict=False)
    return days.null_count() == 0


def days_as_numbers_note(name: str, values: np.ndarray) -> ColumnNote:
    day = f"{values[0]:.0f}"
    written = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    text = (
        "days written as numbers: they are read as plain numbers, where 20240131 and 20240201 are 70 apart; to have "
        f"them read as dates, write {day} as {written}"
    )
    return ColumnNote(name, f"Column '{name}' holds {text}.", f"hold {text}.")


def level_note(name: str, levels: Sequence[str]) -> ColumnNote:
    shown = " < ".join(levels[:LEVELS_SHOWN]) + (" < …" if len(levels) > LEVELS_SHOWN else "")
    way_out = f"set kinds={ {name: 'categorical'} } or {option('--kind', f'{name}=categorical')}"
    return ColumnNote(
        name,
        f"Column '{name}' has ordered categories: read as ordinal {shown}; if not, {way_out}.",
        "have ordered categories: read as ordinal; if not, set kinds={'NAME': 'categorical'} or "
        "--kind NAME=categorical.",
    )


def spelling_notes(name: str, others: Mapping[str, Sequence[str]]) -> list[ColumnNote]:
    """others: the kept spelling of each label, with the others."""
    if not others:
        return []
    shown = "; ".join(
        f"{', '.join(map(repr, rest[:SPELLINGS_SHOWN]))} as {kept!r}" for kept, rest in list(others.items())[:3]
    )
    more = "; …" if len(others) > 3 else ""
    sentence = (
        f"Column '{name}' spells labels in several ways: {shown}{more} (the most frequent) are read as one; to keep "
        f"them apart, set kinds={ {name: 'categorical'} } or {option('--kind', f'{name}=categorical')}."
    )
    return [ColumnNote(name, sentence, "spell labels in several ways: the most frequent spelling is kept.")]


def unit_note(name: str, labels: pl.Series) -> str | None:
    """A verb phrase where nearly all labels are numbers with a unit behind them."""
    distinct = labels.unique()
    units = distinct.str.extract(_WITH_UNIT, 1).drop_nulls()
    if len(distinct) < 5 or len(units) < 0.9 * len(distinct) or units.n_unique() > MOST_UNITS:
        return None
    shown = ", ".join(repr(unit) for unit in units.value_counts(sort=True)[name].head(SPELLINGS_SHOWN).to_list())
    return f"holds numbers with units ({shown}), which are not converted; write plain numbers in one unit to use them"
