"""A column fitted to the cells of a log once its kind is known: location and scale, levels, bounds."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import as_labels, first_stray, natural_order, row_name
from prudent.table.column_notes import ColumnNote, option
from prudent.table.columns import LARGEST_COUNT, OTHER, TRUTHS, Column, Kind
from prudent.table.extremes import usual_range
from prudent.table.kind_overrides import check_bounds
from prudent.table.spellings import positions

MOST_CATEGORIES = 50
ONE_VALUE = "hold one value only: dropped."


class ColumnDropped(Exception):
    """Raised where a column cannot be a feature; `note` tells the user why."""

    def __init__(self, column: str, why: str, plural: str):
        self.note = ColumnNote(column, f"Column '{column}' {why}", plural)


def fit_number_column(column: Column, cells: pl.Series) -> Column:
    """A real, positive, count or date column with the location, scale and range of its cells that are not extreme."""
    numbers = column.read_numbers(cells).fill_null(np.nan).to_numpy()
    _refuse_outside_kind(column, numbers)
    finite = numbers[np.isfinite(numbers)]
    if len(finite) == 0:
        raise no_number(column.name)
    usual = usual_range(column.transformed(finite))
    finite = finite[(column.transformed(finite) >= usual[0]) & (column.transformed(finite) <= usual[1])]
    low, high = float(finite.min()), float(finite.max())
    if column.kind == "count" and high > LARGEST_COUNT:
        raise InputProblem(
            f"Column '{column.name}' reaches {high:.12g}, and a count may reach {LARGEST_COUNT} at most; "
            f"use 'positive' or 'real' instead."
        )
    location, scale = _location_and_scale(column.transformed(finite))
    integral = bool(np.all(finite == np.round(finite)))
    return replace(column, location=location, scale=scale, low=low, high=high, integral=integral)


def no_number(name: str) -> ColumnDropped:
    return ColumnDropped(name, "holds no finite number: dropped.", "hold no finite number: dropped.")


def fit_bounded_column(name: str, cells: pl.Series, bounds: tuple[float, float] | None, reading: str = "") -> Column:
    """A column between bounds; by default the log's smallest and largest number.

    The scale is never below a quarter of the range, so that a column that hardly ever leaves one bound (the pixel in a
    corner) is not inflated by its tiny standard deviation.
    """
    column = Column(name, "bounded", reading=reading)
    numbers = column.read_numbers(cells).fill_null(np.nan).to_numpy()
    finite = numbers[np.isfinite(numbers)]
    if len(finite) == 0:
        raise no_number(name)
    low, high = bounds or (float(finite.min()), float(finite.max()))
    if low == high:
        why = f"so its bounds are unknown: dropped; give them, as in kinds={{'{name}': (0, 100)}}."
        raise ColumnDropped(name, f"holds only {low:.12g}, {why}", ONE_VALUE)
    check_bounds(name, (low, high))
    outside = np.isfinite(numbers) & ((numbers < low) | (numbers > high))
    if outside.any():
        row = int(np.argmax(outside))
        raise InputProblem(
            f"Column '{name}' cannot be bounded between {low:.12g} and {high:.12g}: {row_name(row)} holds "
            f"{numbers[row]:.12g}; widen the bounds, or correct or empty such cells."
        )
    share = (finite - low) / (high - low)
    scale = (high - low) * max(float(share.std()), 0.25)
    integral = bool(np.all(finite == np.round(finite))) and low == round(low) and high == round(high)
    location = low + (high - low) * float(share.mean())
    return replace(column, location=location, scale=scale, low=low, high=high, integral=integral)


def _refuse_outside_kind(column: Column, numbers: np.ndarray) -> None:
    finite = np.isfinite(numbers)
    if column.kind == "positive":
        wrong, way_out = finite & (numbers <= 0), "use 'real' instead, or empty such cells"
    elif column.kind == "count":
        wrong, way_out = finite & ((numbers < 0) | (numbers != np.round(numbers))), "use 'real' or 'positive' instead"
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


def fit_ordinal_column(name: str, cells: pl.Series, levels: Sequence[str]) -> Column:
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise InputProblem(f"The levels of column '{name}' must be at least two and all different. Got {list(levels)}.")
    labels = as_labels(cells)
    index = positions(labels, levels)
    stray = first_stray(labels, index)
    if stray is not None:
        raise InputProblem(
            f"Column '{name}' holds {labels[stray]!r} in {row_name(stray)}, which is not among its levels "
            f"{' < '.join(levels)}; add it to them or empty the cell."
        )
    location, scale = _location_and_scale(index.drop_nulls().to_numpy().astype(np.float64))
    return Column(name, "ordinal", tuple(levels), location, scale, integral=_are_whole(levels))


def fit_label_column(name: str, cells: pl.Series, kind: Kind) -> tuple[Column, list[ColumnNote]]:
    """A boolean or categorical column; rare categories beyond the most that are kept share one."""
    counts = (
        as_labels(cells).drop_nulls().value_counts(name="rows").sort(["rows", cells.name], descending=[True, False])
    )
    labels = counts[cells.name].to_list()
    if kind == "boolean":
        pair = tuple(sorted(labels, key=lambda label: (truth_order(label), natural_order(label))))
        if len(pair) == 1:
            pair = next((truth for truth in TRUTHS if pair[0] in truth), pair)
        if len(pair) != 2:
            raise InputProblem(
                f"Column '{name}' cannot be boolean: it holds {len(pair)} different values; use 'categorical'."
            )
        return Column(name, kind, pair, integral=_are_whole(pair)), []
    if len(labels) <= MOST_CATEGORIES:
        return Column(name, kind, tuple(sorted(labels, key=natural_order)), integral=_are_whole(labels)), []
    kept = [label for label in labels if label != OTHER][: MOST_CATEGORIES - 1]
    note = ColumnNote(
        name,
        f"Column '{name}' has {len(labels)} categories: the {len(kept)} most frequent are kept, "
        f"the rest are read as '{OTHER}'; to leave it out, {option('--ignore', name)}.",
        f"have more than {MOST_CATEGORIES} categories: the most frequent are kept, the rest are read as '{OTHER}'.",
    )
    return Column(name, kind, (*sorted(kept, key=natural_order), OTHER), integral=_are_whole(kept)), [note]


def _are_whole(labels: Sequence[str]) -> bool:
    return all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in labels)


def truth_order(label: str) -> int:
    return next((index for pair in TRUTHS for index, spelled in enumerate(pair) if spelled == label), 2)
