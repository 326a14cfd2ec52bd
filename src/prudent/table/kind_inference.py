"""Which kind a column of the log is: the kind that the user set, or else what its cells look like."""

from typing import cast

import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import (
    as_days,
    as_labels,
    as_numbers,
    first_stray,
    label_text,
    natural_order,
    stray_count,
    written_as_codes,
)
from prudent.table.column_fitting import (
    MOST_CATEGORIES,
    ONE_VALUE,
    ColumnDropped,
    fit_bounded_column,
    fit_label_column,
    fit_number_column,
    fit_ordinal_column,
    no_number,
    truth_order,
)
from prudent.table.column_notes import ColumnNote, option
from prudent.table.columns import LABELLED, LARGEST_COUNT, TRUTHS, Column, Kind
from prudent.table.date_texts import date_order
from prudent.table.extremes import extreme_note, usual_range
from prudent.table.frames import Table
from prudent.table.identifiers import FEWEST_ROWS, are_keys, is_named_as_identifier
from prudent.table.kind_overrides import DATE_ORDERS, KindOverride, bounds_of
from prudent.table.missing_codes import missing_codes
from prudent.table.number_texts import best_reading
from prudent.table.odd_cells import OddCells, odd_cells_problem
from prudent.table.ordered_texts import natural_levels
from prudent.table.reading_notes import (
    are_days_as_numbers,
    date_notes,
    days_as_numbers_note,
    level_note,
    number_notes,
    spelling_notes,
    unit_note,
)
from prudent.table.spellings import one_spelling

COUNT_STARTS = 5
FEW_CODES = 10

NAME = "NAME"
"""Stands for a column, or a pattern of columns, in a sentence about many."""
TWO_NUMBERS = "hold two whole numbers each"


def infer_column(name: str, table: Table, override: KindOverride | None) -> tuple[Column, list[ColumnNote]]:
    """The column as the user set it or as it looks, with notes; raises ColumnDropped where it cannot be a feature."""
    labels = [] if override is None or isinstance(override, str) else list(override)
    cells = table.cells(name, [str(label).strip() for label in labels])
    if cells.null_count() == len(cells):
        raise ColumnDropped(name, "is empty in every row: dropped.", "are empty in every row: dropped.")
    if override is not None:
        column = _overridden_column(name, cells, override)
        return column, _infinite_note(column, cells) + _extreme_note(column, cells)
    if cells.drop_nulls().n_unique() == 1:
        raise ColumnDropped(name, f"holds only {str(cells.drop_nulls()[0])!r}: dropped.", ONE_VALUE)
    order = table.declared_order(name)
    if order:
        return fit_ordinal_column(name, cells, [label_text(label) for label in order]), [level_note(name, order)]
    if table.is_categorical(name):
        return _inferred_text(name, cells)
    column, notes = _inferred_column(name, cells)
    codes = [code.note for code in missing_codes(column, cells)]
    return column, notes + _infinite_note(column, cells) + (codes or _extreme_note(column, cells))


def _extreme_note(column: Column, cells: pl.Series) -> list[ColumnNote]:
    if column.kind in LABELLED or column.kind == "bounded":
        return []
    numbers = column.read_numbers(cells).drop_nulls().to_numpy()
    shown = column.shown(column.low), column.shown(column.high)
    return extreme_note(column.name, numbers[np.isfinite(numbers)], (column.low, column.high), shown)


def _overridden_column(name: str, cells: pl.Series, override: KindOverride) -> Column:
    bounds = bounds_of(override)
    reading = best_reading(cells) if cells.dtype == pl.String else ""
    if bounds is not None or override == "bounded":
        return fit_bounded_column(name, cells, bounds, reading)
    if not isinstance(override, str):
        return fit_ordinal_column(name, cells, [label_text(label) for label in override])
    if override in DATE_ORDERS or override == "date":
        order = DATE_ORDERS.get(override) or (date_order(cells)[0] if cells.dtype == pl.String else "")
        return fit_number_column(Column(name, "date", reading=order), cells)
    if override == "ordinal":
        return fit_ordinal_column(name, cells, _levels(name, cells))
    if override == "boolean":
        return fit_label_column(name, one_spelling(cells)[0], "boolean")[0]
    if override in LABELLED:
        return fit_label_column(name, cells, "categorical")[0]
    return fit_number_column(Column(name, cast(Kind, override), reading=reading), cells)


def _levels(name: str, cells: pl.Series) -> list[str]:
    """The levels of a column that is to be ordinal: numbers by size, bands and known scales by their natural order."""
    stray = first_stray(cells, as_numbers(cells))
    labels = as_labels(cells).drop_nulls().unique().to_list()
    if stray is None:
        return sorted(labels, key=natural_order)
    levels = natural_levels(labels)
    if levels is None:
        example = option("--kind", f"{name}=ordinal:low<high")
        raise InputProblem(
            f"Column '{name}' holds text such as {str(cells[stray])!r}, whose order is unknown; list its "
            f"levels, lowest first: kinds={ {name: ['low', 'high']} } or {example}."
        )
    return levels


def _inferred_column(name: str, cells: pl.Series) -> tuple[Column, list[ColumnNote]]:
    if cells.dtype == pl.Boolean:
        return fit_label_column(name, cells, "boolean")
    if cells.dtype in (pl.Date, pl.Datetime):
        return fit_number_column(Column(name, "date"), cells), []
    return _inferred_numeric(name, cells) if cells.dtype != pl.String else _inferred_from_text(name, cells)


def _inferred_from_text(name: str, cells: pl.Series) -> tuple[Column, list[ColumnNote]]:
    """Numbers or dates if every text is one, levels if they have a natural order, otherwise labels.

    Where most texts are numbers or dates, the others are odd cells.
    """
    reading = best_reading(cells)
    order, proven = date_order(cells)
    numbers, days = as_numbers(cells, reading), as_days(cells, order)
    codes = written_as_codes(cells)
    if stray_count(cells, numbers) == 0 and not codes:
        column, notes = _inferred_numeric(name, cells, reading)
        return column, number_notes(name, cells, reading) + notes
    if stray_count(cells, days) == 0:
        return fit_number_column(Column(name, "date", reading=order), cells), date_notes(name, order, proven)
    if _natural_levels(cells) is None and not codes:
        for wanted, read in (("numbers", numbers), ("dates", days)):
            if 0 < stray_count(cells, read) <= (len(cells) - cells.null_count()) / 2:
                expected = f"most cells of column '{name}' are {wanted}"
                raise odd_cells_problem([OddCells.of(expected, cells, read, otherwise="categorical")])
    return _inferred_text(name, cells)


def _natural_levels(cells: pl.Series) -> list[str] | None:
    labels = as_labels(cells).drop_nulls().unique()
    return natural_levels(labels.to_list()) if len(labels) <= MOST_CATEGORIES else None


def _inferred_text(name: str, cells: pl.Series) -> tuple[Column, list[ColumnNote]]:
    cells, other_spellings = one_spelling(cells)
    notes = spelling_notes(name, other_spellings)
    labels = as_labels(cells).drop_nulls()
    distinct = labels.n_unique()
    if distinct == 1:
        raise ColumnDropped(name, f"holds only {labels[0]!r}: dropped.", ONE_VALUE)
    if distinct == 2 and tuple(sorted(labels.unique().to_list(), key=truth_order)) in TRUTHS:
        return fit_label_column(name, cells, "boolean")[0], notes
    units = unit_note(name, labels)
    if (
        units is None
        and not _are_sentences(labels)
        and (distinct == len(labels) >= FEWEST_ROWS or (is_named_as_identifier(name) and distinct > MOST_CATEGORIES))
    ):
        raise _identifier(name, distinct, len(labels), "categorical")
    if distinct == len(labels) >= FEWEST_ROWS or (distinct > MOST_CATEGORIES and distinct > len(labels) / 2):
        if units is not None:
            raise ColumnDropped(name, f"{units}: dropped.", f"{units}: dropped.")
        way_out = "turn it into categories, numbers or dates like 2024-03-01"
        raise ColumnDropped(
            name,
            f"looks like free text ({distinct} values, {len(labels)} rows): dropped; to use it, {way_out}.",
            f"look like free text: dropped; to use such a column, {way_out}.",
        )
    levels = _natural_levels(cells)
    if levels is not None:
        return fit_ordinal_column(name, cells, levels), [*notes, level_note(name, levels)]
    column, many = fit_label_column(name, cells, "categorical")
    if units is not None:
        notes.append(ColumnNote(name, f"Column '{name}' {units}: read as categories.", f"{units}: read as categories."))
    return column, notes + many


def _are_sentences(labels: pl.Series) -> bool:
    """Whether the labels have three words and more on average, as no key has."""
    words = labels.str.count_matches(r"\p{L}+").mean()
    return isinstance(words, float) and words >= 3


def _identifier(name: str, distinct: int, rows: int, kind: str) -> ColumnDropped:
    why = f"looks like an identifier ({distinct} values, {rows} rows): dropped; if not, {_ways_out(name, kind)}."
    return ColumnDropped(name, why, f"look like identifiers: dropped; if not, {_ways_out(NAME, kind)}.")


def _inferred_numeric(name: str, cells: pl.Series, reading: str = "") -> tuple[Column, list[ColumnNote]]:
    read = as_numbers(cells, reading)
    finite = read.is_finite().fill_null(False)
    numbers = read.filter(finite).to_numpy()
    if len(numbers) == 0:
        raise no_number(name)
    if numbers.min() == numbers.max():
        raise ColumnDropped(name, f"holds only {numbers[0]:.12g}: dropped.", ONE_VALUE)
    plain = cells.dtype != pl.String or stray_count(cells, cells.cast(pl.Float64, strict=False)) == 0
    if np.all(numbers == np.round(numbers)) and plain:
        return _inferred_whole(name, cells.set(~finite, None), numbers)
    kind = "positive" if _right_skewed(numbers) else "real"
    return fit_number_column(Column(name, kind, reading=reading), cells), []


def _inferred_whole(name: str, cells: pl.Series, numbers: np.ndarray) -> tuple[Column, list[ColumnNote]]:
    values = np.unique(numbers)
    named_as_id = is_named_as_identifier(name)
    if (named_as_id and len(values) > MOST_CATEGORIES) or _number_the_rows(numbers, len(values), named_as_id):
        raise _identifier(name, len(values), len(numbers), "real")
    if are_days_as_numbers(values):
        kind = "positive" if _right_skewed(numbers) else "real"
        return fit_number_column(Column(name, kind), cells), [days_as_numbers_note(name, values)]
    repeated = len(numbers) >= 3 * len(values)
    holds = f"Column '{name}' holds only {', '.join(f'{value:.0f}' for value in values[:FEW_CODES])}"
    if values.tolist() == [0, 1]:
        return fit_label_column(name, cells, "boolean")
    if len(values) == 2 and repeated:
        read = "read as boolean; if these are quantities,"
        note = ColumnNote(
            name, f"{holds}: {read} {_ways_out(name, 'real')}.", f"{TWO_NUMBERS}: {read} {_ways_out(NAME, 'real')}."
        )
        return fit_label_column(name, cells, "boolean")[0], [note]
    if named_as_id:
        read = "read as categorical; if not,"
        note = ColumnNote(
            name,
            f"Column '{name}' is named as an identifier: {read} {_ways_out(name, 'real')}.",
            f"are named as identifiers: {read} {_ways_out(NAME, 'real')}.",
        )
        return fit_label_column(name, cells, "categorical")[0], [note]
    # a count starts near nothing; whole numbers that do not (an age, a pulse) are measurements
    if values[0] < 0 or values[0] > COUNT_STARTS or values[-1] > LARGEST_COUNT:
        return fit_number_column(Column(name, "positive" if _right_skewed(numbers) else "real"), cells), []
    read = "read as count; if these are codes,"
    note = ColumnNote(name, f"{holds}: {read} {_ways_out(name)}.", f"hold few whole numbers: {read} {_ways_out(NAME)}.")
    return fit_number_column(Column(name, "count"), cells), [note] if repeated and len(values) <= FEW_CODES else []


def _number_the_rows(numbers: np.ndarray, distinct: int, named_as_id: bool) -> bool:
    return (named_as_id and distinct == len(numbers) >= FEWEST_ROWS) or are_keys(numbers)


def _right_skewed(numbers: np.ndarray) -> bool:
    if numbers.min() <= 0:
        return False
    numbers = numbers[numbers <= usual_range(numbers)[1]]
    skewness, of_logarithm = _skewness(numbers / numbers.max()), _skewness(np.log(numbers))
    return skewness > 1 and abs(of_logarithm) < skewness


def _skewness(numbers: np.ndarray) -> float:
    centred = numbers - numbers.mean()
    spread = centred.std()
    return float(np.mean((centred / spread) ** 3)) if spread > 0 else 0.0


def _infinite_note(column: Column, cells: pl.Series) -> list[ColumnNote]:
    if column.kind in LABELLED or not (cells.dtype.is_float() or cells.dtype == pl.String):
        return []
    infinite = int(as_numbers(cells).is_infinite().sum())
    sentence = f"Column '{column.name}' holds {infinite} infinite number{'s' * (infinite > 1)}: treated as missing."
    return [ColumnNote(column.name, sentence, "hold infinite numbers: treated as missing.")] * (infinite > 0)


def _ways_out(name: str, kind: str = "categorical") -> str:
    return f"set kinds={ {name: kind} } or {option('--kind', f'{name}={kind}')}"
