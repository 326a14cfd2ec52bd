"""How well gaps are filled: observed cells of rows that the model has not seen are hidden, completed and compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from prudent.decide import Completions, Model, Policy, weighted_quantiles
from prudent.errors import InputProblem
from prudent.networks import compiled
from prudent.table import LABELLED, Column, Log

HIDDEN = 0.2
"""The share of the observed cells of a row that are hidden at once: what is left must still say something."""
RANGE = (0.05, 0.5, 0.95)
FEWEST = 10
"""Hidden cells of a column; an error of fewer says nothing."""


@dataclass(frozen=True)
class FilledColumn:
    """The hidden cells of one column.

    error: of a number, the mean distance of the median completion from the truth, in the column's units (days, for a
        date); of a label, the share of cells whose likeliest label is wrong. usual_error: the same for the median of
        the column's other cells, or their most frequent label.
    covered: the share of numbers within the range that holds 90 % of the completions; None for labels.
    """

    column: str
    kind: str
    cells: int
    error: float
    usual_error: float
    covered: float | None


@dataclass(frozen=True)
class FilledGaps:
    """Columns in the log's order; `too_few` had fewer than `FEWEST` hidden cells."""

    rows: int
    hidden_share: float
    columns: tuple[FilledColumn, ...]
    too_few: tuple[str, ...]


class _Filled(NamedTuple):
    """What stands in for one hidden cell, in encoded units: the ends of the range and the middle of it."""

    low: float
    middle: float
    high: float


def filled_gaps(policy: Policy, log: Log, most_rows: int, seed: int) -> FilledGaps:
    random = np.random.default_rng([seed, 11])
    if len(log) > most_rows:
        log = log.take(np.sort(random.permutation(len(log))[:most_rows]))
    hidden = hidden_cells(log.observed, random)
    if not hidden.any():
        raise InputProblem("No row has two observed cells, so none can be hidden and completed from the others.")
    filled = _fill(policy, log, hidden)
    columns, too_few = [], []
    for at, column in enumerate(log.schema.columns):
        rows = np.flatnonzero(hidden[:, at])
        rest = log.values[log.observed[:, at] & ~hidden[:, at], at]
        if len(rows) < FEWEST or not len(rest):
            too_few.append(column.name)
            continue
        columns.append(_compared(column, log.values[rows, at], [filled[row, at] for row in rows.tolist()], rest))
    if not columns:
        raise InputProblem(f"No column has {FEWEST} cells that could be hidden and completed from others.")
    return FilledGaps(len(log), HIDDEN, tuple(columns), tuple(too_few))


def hidden_cells(observed: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Which cells to hide: a share of those that each row has, at least one, and never all."""
    order = np.argsort(np.where(observed, random.random(observed.shape), 2.0), axis=1)
    rank = np.argsort(order, axis=1)
    known = observed.sum(axis=1)
    count = np.where(known >= 2, np.maximum(np.round(HIDDEN * known), 1), 0)
    return observed & (rank < count[:, None])


def _fill(policy: Policy, log: Log, hidden: np.ndarray) -> dict[tuple[int, int], _Filled]:
    labelled = [column.kind in LABELLED for column in log.schema.columns]
    filled = {}
    for row, completions in enumerate(_completed(policy, log, hidden)):
        values, weights = np.asarray(completions.values, np.float64), np.exp(np.asarray(completions.log_weights))
        gaps = np.flatnonzero(hidden[row])
        ends = [weighted_quantiles(values[:, gaps], weights, share) for share in RANGE]
        for place, at in enumerate(gaps):
            numbers = [float(end[place]) for end in ends]
            if labelled[at]:
                numbers[1] = _likeliest(values[:, at], weights)
            filled[row, int(at)] = _Filled(*numbers)
    return filled


def _likeliest(values: np.ndarray, weights: np.ndarray) -> float:
    levels, codes = np.unique(np.round(values, 4), return_inverse=True)
    return float(levels[np.bincount(codes.reshape(-1), weights).argmax()])


def _completed(policy: Policy, log: Log, hidden: np.ndarray) -> Iterator[Completions]:
    """The completions of every row without its hidden cells."""
    pricing, encoded = policy.pricing, log.encoded.masked(~hidden)
    left = len(log)
    for values, observed in pricing.chunks(encoded, "completing hidden cells"):
        chunk = _complete(pricing.model, values, observed, pricing.uniforms)
        for row in range(min(left, len(values))):
            yield jax.tree.map(lambda leaf, row=row: np.asarray(leaf)[row], chunk)
        left -= len(values)


@compiled
def _complete(
    model: Model,
    values: Float[Array, "row attribute"],
    observed: Bool[Array, "row attribute"],
    uniforms: Float[Array, "member sample uniform"],
) -> Completions:
    return jax.vmap(lambda one, seen: model.complete(one, seen, uniforms, False))(values, observed)


def _compared(column: Column, truth: np.ndarray, filled: list[_Filled], rest: np.ndarray) -> FilledColumn:
    low, middle, high = (np.array(part) for part in zip(*filled, strict=True))
    if column.kind in LABELLED:
        usual = _likeliest(rest.astype(np.float64), np.ones(len(rest)))
        wrong, usually = (float((np.abs(truth - guess) > 1e-3).mean()) for guess in (middle, usual))
        return FilledColumn(column.name, column.kind, len(truth), wrong, usually, None)
    true, low, middle, high, usual = (
        _in_units(column, np.atleast_1d(part)) for part in (truth, low, middle, high, np.median(rest))
    )
    # encoded numbers are single precision, and ends of the range may be the truth itself
    slack = 1e-5 * (np.abs(true) + (column.high - column.low))
    covered = float(((low - slack <= true) & (true <= high + slack)).mean())
    error, usually = (float(np.abs(true - guess).mean()) for guess in (middle, usual))
    return FilledColumn(column.name, column.kind, len(truth), error, usually, covered)


def _in_units(column: Column, encoded: np.ndarray) -> np.ndarray:
    """Numbers of the column; days for a date."""
    if column.kind == "date":
        return encoded.astype(np.float64) * column.scale + column.location
    return np.array(column.decode(encoded.astype(np.float64)), dtype=np.float64)
