"""Which kind a column of the log is: the kind that the user set, or else what its cells look like."""

import re
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
    row_name,
    stray_count,
    written_with_leading_zeros,
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
from prudent.table.column_notes import ColumnNote
from prudent.table.columns import LABELLED, LARGEST_COUNT, TRUTHS, Column, Kind
from prudent.table.frames import Table
from prudent.table.kind_overrides import KindOverride, bounds_of

COUNT_STARTS = 5
FEW_CODES = 10
UNIQUE_ROWS = 20

NAME = "NAME"
"""Stands for a column, or a pattern of columns, in a sentence about many."""
TWO_NUMBERS = "hold two whole numbers each"

_NAME_OF_AN_ID = re.compile(r"(?i:(^|[\W_])(id|ids|uuid|guid|mrn)$|^id[\W_])|[a-z]I[dD]$|^Unnamed: 0$")


def infer_column(name: str, table: Table, override: KindOverride | None) -> tuple[Column, list[ColumnNote]]:
    """The column as the user set it or as it looks, with notes; raises ColumnDropped where it cannot be a feature."""
    labels = [] if override is None or isinstance(override, str) else list(override)
    cells = table.cells(name, [str(label).strip() for label in labels])
    if cells.null_count() == len(cells):
        raise ColumnDropped(name, "is empty in every row: dropped.", "are empty in every row: dropped.")
    if override is not None:
        return _overridden_column(name, cells, override), _infinite_note(name, cells)
    if cells.drop_nulls().n_unique() == 1:
        raise ColumnDropped(name, f"holds only {str(cells.drop_nulls()[0])!r}: dropped.", ONE_VALUE)
    order = table.declared_order(name)
    if order:
        note = ColumnNote(
            name,
            f"Column '{name}' has ordered categories: read as ordinal {' < '.join(order)}; if not, {_ways_out(name)}.",
            f"have ordered categories: read as ordinal; if not, {_ways_out(NAME)}.",
        )
        return fit_ordinal_column(name, cells, [label_text(label) for label in order]), [note]
    if table.is_categorical(name):
        return _inferred_text(name, cells)
    column, notes = _inferred_column(name, cells)
    return column, notes + _infinite_note(name, cells)


def _overridden_column(name: str, cells: pl.Series, override: KindOverride) -> Column:
    bounds = bounds_of(override)
    if bounds is not None or override == "bounded":
        return fit_bounded_column(name, cells, bounds)
    if not isinstance(override, str):
        return fit_ordinal_column(name, cells, [label_text(label) for label in override])
    if override == "ordinal":
        stray = first_stray(cells, as_numbers(cells))
        if stray is not None:
            raise InputProblem(
                f"Column '{name}' holds text such as {str(cells[stray])!r}, whose order is unknown; list its "
                f"levels, lowest first: kinds={{'{name}': ['low', 'high']}} or --kind '{name}=ordinal:low<high'."
            )
        levels = sorted(as_labels(cells).drop_nulls().unique().to_list(), key=natural_order)
        return fit_ordinal_column(name, cells, levels)
    if override in LABELLED:
        return fit_label_column(name, cells, "boolean" if override == "boolean" else "categorical")[0]
    return fit_number_column(Column(name, cast(Kind, override)), cells)


def _inferred_column(name: str, cells: pl.Series) -> tuple[Column, list[ColumnNote]]:
    if cells.dtype == pl.Boolean:
        return fit_label_column(name, cells, "boolean")
    if cells.dtype in (pl.Date, pl.Datetime):
        return fit_number_column(Column(name, "date"), cells), []
    if cells.dtype != pl.String:
        return _inferred_numeric(name, cells)
    for read, kind in ((as_numbers(cells), "number"), (as_days(cells), "date")):
        strays = stray_count(cells, read)
        if strays == 0 and kind == "date":
            return fit_number_column(Column(name, "date"), cells), []
        if strays == 0 and not written_with_leading_zeros(cells):
            return _inferred_numeric(name, cells)
        stray = first_stray(cells, read)
        if stray is not None and strays <= (len(cells) - cells.null_count()) / 2:
            raise InputProblem(
                f"Most cells of column '{name}' are {kind}s, but {row_name(stray)} holds {str(cells[stray])!r}; "
                f"correct or empty such cells, or {_ways_out(name)}."
            )
    return _inferred_text(name, cells)


def _inferred_text(name: str, cells: pl.Series) -> tuple[Column, list[ColumnNote]]:
    labels = as_labels(cells).drop_nulls()
    distinct = labels.n_unique()
    if distinct == 2 and tuple(sorted(labels.unique().to_list(), key=truth_order)) in TRUTHS:
        return fit_label_column(name, cells, "boolean")
    if distinct == len(labels) >= UNIQUE_ROWS or (_NAME_OF_AN_ID.search(name) and distinct > MOST_CATEGORIES):
        raise _identifier(name, distinct, len(labels))
    if distinct > MOST_CATEGORIES and distinct > len(labels) / 2:
        way_out = "turn it into categories, numbers or dates like 2024-03-01"
        raise ColumnDropped(
            name,
            f"looks like free text ({distinct} values, {len(labels)} rows, such as {str(labels[0])[:40]!r}): dropped; "
            f"to use it, {way_out}.",
            f"look like free text: dropped; to use such a column, {way_out}.",
        )
    return fit_label_column(name, cells, "categorical")


def _identifier(name: str, distinct: int, rows: int) -> ColumnDropped:
    why = f"looks like an identifier ({distinct} values, {rows} rows): dropped."
    return ColumnDropped(name, why, "look like identifiers: dropped.")


def _inferred_numeric(name: str, cells: pl.Series) -> tuple[Column, list[ColumnNote]]:
    read = as_numbers(cells)
    finite = read.is_finite().fill_null(False)
    numbers = read.filter(finite).to_numpy()
    if len(numbers) == 0:
        raise no_number(name)
    if numbers.min() == numbers.max():
        raise ColumnDropped(name, f"holds only {numbers[0]:.12g}: dropped.", ONE_VALUE)
    if np.all(numbers == np.round(numbers)):
        return _inferred_whole(name, cells.set(~finite, None), numbers)
    return fit_number_column(Column(name, "positive" if _right_skewed(numbers) else "real"), cells), []


def _inferred_whole(name: str, cells: pl.Series, numbers: np.ndarray) -> tuple[Column, list[ColumnNote]]:
    values = np.unique(numbers)
    named_as_id = bool(_NAME_OF_AN_ID.search(name))
    if (named_as_id and len(values) > MOST_CATEGORIES) or _numbers_the_rows(numbers, len(values), named_as_id):
        raise _identifier(name, len(values), len(numbers))
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


def _numbers_the_rows(numbers: np.ndarray, distinct: int, named_as_id: bool) -> bool:
    if distinct < len(numbers) or distinct < UNIQUE_ROWS:
        return False
    return named_as_id or numbers.max() == numbers.min() + distinct - 1 or bool(np.all(np.diff(numbers) > 0))


def _right_skewed(numbers: np.ndarray) -> bool:
    if numbers.min() <= 0:
        return False
    skewness, of_logarithm = _skewness(numbers / numbers.max()), _skewness(np.log(numbers))
    return skewness > 1 and abs(of_logarithm) < skewness


def _skewness(numbers: np.ndarray) -> float:
    centred = numbers - numbers.mean()
    spread = centred.std()
    return float(np.mean((centred / spread) ** 3)) if spread > 0 else 0.0


def _infinite_note(name: str, cells: pl.Series) -> list[ColumnNote]:
    if not (cells.dtype.is_float() or cells.dtype == pl.String):
        return []
    infinite = int(as_numbers(cells).is_infinite().sum())
    sentence = f"Column '{name}' holds {infinite} infinite number{'s' * (infinite > 1)}: treated as missing."
    return [ColumnNote(name, sentence, "hold infinite numbers: treated as missing.")] * (infinite > 0)


def _ways_out(name: str, kind: str = "categorical") -> str:
    return f"set kinds={{'{name}': '{kind}'}} or --kind {name}={kind}"
