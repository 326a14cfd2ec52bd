"""Which kind a column of the log is: what the user said, or else what its cells look like."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import polars as pl

from prudent.cells import as_days, as_labels, as_numbers, first_stray, label_text, natural_order, row_name, stray_count
from prudent.columns import KINDS, LABELLED, LARGEST_COUNT, OTHER, TRUTHS, Column, Kind
from prudent.errors import InputProblem
from prudent.reading import Table, written_with_leading_zeros

AskedKind = Kind | Sequence[str]
"""A kind by name, or a list of labels from lowest to highest, which means ordinal."""

MOST_CATEGORIES = 50
COUNT_STARTS = 5
FEW_CODES = 10
UNIQUE_ROWS = 20

_NAME_OF_AN_ID = re.compile(r"(?i:(^|[\W_])(id|ids|uuid|guid|mrn)$|^id[\W_])|[a-z]I[dD]$|^Unnamed: 0$")


class Dropped(Exception):
    """Why a column is no use as a feature: the note that tells the user."""


def column_of(name: str, table: Table, asked: AskedKind | None) -> tuple[Column, list[str]]:
    """The column as the user asked for it or as it looks, with notes; raises Dropped where it is no feature."""
    labels = [] if asked is None or isinstance(asked, str) else list(asked)
    cells = table.cells(name, [str(label).strip() for label in labels])
    if cells.null_count() == len(cells):
        raise Dropped(f"Column '{name}' is empty in every row: dropped.")
    if asked is not None:
        return _asked_column(name, cells, asked), _infinite_note(name, cells)
    if cells.drop_nulls().n_unique() == 1:
        raise Dropped(f"Column '{name}' holds only {str(cells.drop_nulls()[0])!r}: dropped.")
    order = table.declared_order(name)
    if order:
        note = (
            f"Column '{name}' has ordered categories: read as ordinal {' < '.join(order)}; if not, {_ways_out(name)}."
        )
        return _ordinal(name, cells, [label_text(label) for label in order]), [note]
    if table.is_categorical(name):
        return _inferred_text(name, cells)
    column, notes = _inferred_column(name, cells)
    return column, notes + _infinite_note(name, cells)


def _asked_column(name: str, cells: pl.Series, asked: AskedKind) -> Column:
    if not isinstance(asked, str):
        return _ordinal(name, cells, [label_text(label) for label in asked])
    if asked == "ordinal":
        strays = first_stray(cells, as_numbers(cells))
        if strays is not None:
            raise InputProblem(
                f"Column '{name}' holds text such as {str(cells[strays])!r}, whose order cannot be known; list its "
                f"levels, lowest first: kinds={{'{name}': ['low', 'high']}} or --kind '{name}=ordinal:low<high'."
            )
        return _ordinal(name, cells, sorted(as_labels(cells).drop_nulls().unique().to_list(), key=natural_order))
    if asked in LABELLED:
        return _labelled(name, cells, "boolean" if asked == "boolean" else "categorical")[0]
    return _measured(Column(name, cast(Kind, asked)), cells)


def _inferred_column(name: str, cells: pl.Series) -> tuple[Column, list[str]]:
    if cells.dtype == pl.Boolean:
        return _labelled(name, cells, "boolean")
    if cells.dtype in (pl.Date, pl.Datetime):
        return _measured(Column(name, "date"), cells), []
    if cells.dtype != pl.String:
        return _inferred_numeric(name, cells)
    for read, kind in ((as_numbers(cells), "number"), (as_days(cells), "date")):
        strays = stray_count(cells, read)
        if strays == 0 and kind == "date":
            return _measured(Column(name, "date"), cells), []
        if strays == 0 and not written_with_leading_zeros(cells):
            return _inferred_numeric(name, cells)
        stray = first_stray(cells, read)
        if stray is not None and strays <= (len(cells) - cells.null_count()) / 2:
            raise InputProblem(
                f"Most cells of column '{name}' are {kind}s, but {row_name(stray)} holds {str(cells[stray])!r}; "
                f"correct or empty such cells, or {_ways_out(name)}."
            )
    return _inferred_text(name, cells)


def _inferred_text(name: str, cells: pl.Series) -> tuple[Column, list[str]]:
    labels = as_labels(cells).drop_nulls()
    distinct = labels.n_unique()
    if distinct == 2 and tuple(sorted(labels.unique().to_list(), key=_truth_order)) in TRUTHS:
        return _labelled(name, cells, "boolean")
    if distinct == len(labels) >= UNIQUE_ROWS or (_NAME_OF_AN_ID.search(name) and distinct > MOST_CATEGORIES):
        raise Dropped(f"Column '{name}' looks like an identifier ({distinct} values, {len(labels)} rows): dropped.")
    if distinct > MOST_CATEGORIES and distinct > len(labels) / 2:
        raise Dropped(
            f"Column '{name}' looks like free text ({distinct} values, {len(labels)} rows, such as "
            f"{str(labels[0])[:40]!r}): dropped; to use it, turn it into categories, numbers or dates like 2024-03-01."
        )
    return _labelled(name, cells, "categorical")


def _truth_order(label: str) -> int:
    return next((index for pair in TRUTHS for index, spelled in enumerate(pair) if spelled == label), 2)


def _inferred_numeric(name: str, cells: pl.Series) -> tuple[Column, list[str]]:
    read = as_numbers(cells)
    finite = read.is_finite().fill_null(False)
    numbers = read.filter(finite).to_numpy()
    if len(numbers) == 0:
        raise Dropped(f"Column '{name}' holds no finite number: dropped.")
    if numbers.min() == numbers.max():
        raise Dropped(f"Column '{name}' holds only {numbers[0]:.12g}: dropped.")
    if np.all(numbers == np.round(numbers)):
        return _inferred_whole(name, cells.set(~finite, None), numbers)
    return _measured(Column(name, "positive" if _right_skewed(numbers) else "real"), cells), []


def _inferred_whole(name: str, cells: pl.Series, numbers: np.ndarray) -> tuple[Column, list[str]]:
    values = np.unique(numbers)
    named_as_id = bool(_NAME_OF_AN_ID.search(name))
    if (named_as_id and len(values) > MOST_CATEGORIES) or _numbers_the_rows(numbers, len(values), named_as_id):
        raise Dropped(f"Column '{name}' looks like an identifier ({len(values)} values, {len(numbers)} rows): dropped.")
    repeated = len(numbers) >= 3 * len(values)
    holds = f"Column '{name}' holds only {', '.join(f'{value:.0f}' for value in values[:FEW_CODES])}"
    if values.tolist() == [0, 1]:
        return _labelled(name, cells, "boolean")
    if len(values) == 2 and repeated:
        note = f"{holds}: read as boolean; if these are quantities, {_ways_out(name, 'real')}."
        return _labelled(name, cells, "boolean")[0], [note]
    if named_as_id:
        note = f"Column '{name}' is named as an identifier: read as categorical; if not, {_ways_out(name, 'real')}."
        return _labelled(name, cells, "categorical")[0], [note]
    # a count starts near nothing; whole numbers that do not (an age, a pulse) are measurements
    if values[0] < 0 or values[0] > COUNT_STARTS or values[-1] > LARGEST_COUNT:
        return _measured(Column(name, "positive" if _right_skewed(numbers) else "real"), cells), []
    note = f"{holds}: read as count; if these are codes, {_ways_out(name)}."
    return _measured(Column(name, "count"), cells), [note] if repeated and len(values) <= FEW_CODES else []


def _numbers_the_rows(numbers: np.ndarray, distinct: int, named_as_id: bool) -> bool:
    if distinct < len(numbers) or distinct < UNIQUE_ROWS:
        return False
    return named_as_id or numbers.max() == numbers.min() + distinct - 1 or bool(np.all(np.diff(numbers) > 0))


def _right_skewed(numbers: np.ndarray) -> bool:
    if numbers.min() <= 0:
        return False
    plain, logarithm = _skewness(numbers / numbers.max()), _skewness(np.log(numbers))
    return plain > 1 and abs(logarithm) < plain


def _skewness(numbers: np.ndarray) -> float:
    centred = numbers - numbers.mean()
    spread = centred.std()
    return float(np.mean((centred / spread) ** 3)) if spread > 0 else 0.0


def _measured(column: Column, cells: pl.Series) -> Column:
    """Fill in what the log shows of a real, positive, count or date column."""
    numbers = column.read_numbers(cells).fill_null(np.nan).to_numpy()
    _refuse_outside_kind(column, numbers)
    seen = numbers[np.isfinite(numbers)]
    if len(seen) == 0:
        raise Dropped(f"Column '{column.name}' holds no finite number: dropped.")
    low, high = float(seen.min()), float(seen.max())
    if column.kind == "count" and high > LARGEST_COUNT:
        raise InputProblem(
            f"Column '{column.name}' reaches {high:.12g}, and a count ends at {LARGEST_COUNT}; "
            f"say 'positive' or 'real' instead."
        )
    location, scale = _location_and_scale(column.transformed(seen))
    integral = bool(np.all(seen == np.round(seen)))
    return replace(column, location=location, scale=scale, low=low, high=high, integral=integral)


def _refuse_outside_kind(column: Column, numbers: np.ndarray) -> None:
    finite = np.isfinite(numbers)
    if column.kind == "positive":
        wrong, way_out = finite & (numbers <= 0), "say 'real' instead, or empty such cells"
    elif column.kind == "count":
        wrong, way_out = finite & ((numbers < 0) | (numbers != np.round(numbers))), "say 'real' or 'positive' instead"
    else:
        return
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputProblem(
            f"Column '{column.name}' cannot be {column.kind}: {row_name(row)} holds {numbers[row]:.12g}; {way_out}."
        )


def _location_and_scale(transformed: np.ndarray) -> tuple[float, float]:
    # dividing first keeps squares finite for numbers near the end of float64
    unit = float(np.abs(transformed).max()) or 1.0
    shrunk = transformed / unit
    spread = float(shrunk.std())
    return float(shrunk.mean()) * unit, (spread if spread > 1e-12 else 1.0) * unit


def _ordinal(name: str, cells: pl.Series, levels: Sequence[str]) -> Column:
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise InputProblem(f"The levels of column '{name}' must be at least two and all different. Got {list(levels)}.")
    labels = as_labels(cells)
    index = labels.replace_strict(list(levels), range(len(levels)), default=None, return_dtype=pl.Int32)
    stray = first_stray(labels, index)
    if stray is not None:
        raise InputProblem(
            f"Column '{name}' holds {labels[stray]!r} in {row_name(stray)}, which is not among its levels "
            f"{' < '.join(levels)}; add it to them or empty the cell."
        )
    location, scale = _location_and_scale(index.drop_nulls().to_numpy().astype(np.float64))
    return Column(name, "ordinal", tuple(levels), location, scale, integral=_are_whole(levels))


def _labelled(name: str, cells: pl.Series, kind: Kind) -> tuple[Column, list[str]]:
    counts = (
        as_labels(cells).drop_nulls().value_counts(name="rows").sort(["rows", cells.name], descending=[True, False])
    )
    labels = counts[cells.name].to_list()
    if kind == "boolean":
        pair = tuple(sorted(labels, key=lambda label: (_truth_order(label), natural_order(label))))
        if len(pair) == 1:
            pair = next((truth for truth in TRUTHS if pair[0] in truth), pair)
        if len(pair) != 2:
            raise InputProblem(
                f"Column '{name}' cannot be boolean: it holds {len(pair)} different values; say 'categorical'."
            )
        return Column(name, kind, pair, integral=_are_whole(pair)), []
    if len(labels) <= MOST_CATEGORIES:
        return Column(name, kind, tuple(sorted(labels, key=natural_order)), integral=_are_whole(labels)), []
    kept = [label for label in labels if label != OTHER][: MOST_CATEGORIES - 1]
    note = (
        f"Column '{name}' has {len(labels)} categories: the {len(kept)} most frequent are kept, "
        f"the rest are read as '{OTHER}'."
    )
    return Column(name, kind, (*sorted(kept, key=natural_order), OTHER), integral=_are_whole(kept)), [note]


def _are_whole(labels: Sequence[str]) -> bool:
    return all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in labels)


def _infinite_note(name: str, cells: pl.Series) -> list[str]:
    if not (cells.dtype.is_float() or cells.dtype == pl.String):
        return []
    infinite = int(as_numbers(cells).is_infinite().sum())
    return [f"Column '{name}' holds {infinite} infinite number{'s' * (infinite > 1)}: treated as missing."] * (
        infinite > 0
    )


def _ways_out(name: str, kind: str = "categorical") -> str:
    return f"say kinds={{'{name}': '{kind}'}} or --kind {name}={kind}"


def check_kinds(kinds: Mapping[str, AskedKind]) -> None:
    """Raise the sentence for a kind there is not, before any cell is read."""
    for name, asked in kinds.items():
        if isinstance(asked, str) and asked not in KINDS:
            raise InputProblem(f"Column '{name}' cannot have the kind {asked!r}; the kinds are {', '.join(KINDS)}.")
        if not isinstance(asked, (str, list, tuple)):
            raise InputProblem(
                f"Column '{name}' must be given a kind or a list of labels, lowest first. Got {asked!r} instead."
            )
