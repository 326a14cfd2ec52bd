"""Who would be treated differently from today: how many, from which action to which, and what sets them apart."""

from dataclasses import dataclass

import numpy as np

from prudent.decide import Advice
from prudent.errors import InputProblem
from prudent.table import LABELLED, ActionLabel, Column, Log

MOST_COLUMNS = 8
FEWEST = 5
"""Observed cells on both sides; fewer say nothing about a difference."""


@dataclass(frozen=True)
class Route:
    """Rows that got `logged` and are now advised `advised`; None: referred to a person."""

    logged: ActionLabel
    advised: ActionLabel | None
    rows: int


@dataclass(frozen=True)
class ApartColumn:
    """A column in the rows whose decision changes and in the others.

    changed, unchanged: the mean in the column's units (of a date, as a date), or of the label `level` the share of rows
        that have it. difference: in standard deviations of the column. gaps: the same for which rows have a gap, where
        changed and unchanged are shares.
    """

    column: str
    level: str | None
    gaps: bool
    changed: str | float
    unchanged: str | float
    difference: float


@dataclass(frozen=True)
class ChangedDecisions:
    """Over the `rows` with a logged action. differ: columns that differ most, the largest difference first."""

    rows: int
    changed: int
    referred: int
    routes: tuple[Route, ...]
    differ: tuple[ApartColumn, ...]


def changed_decisions(advice: Advice, log: Log) -> ChangedDecisions:
    """advice: for the rows of the log, in their order."""
    used = np.flatnonzero(log.actions >= 0)
    if not len(used):
        raise InputProblem("No row has a logged action, so there is nothing to compare the advice with.")
    taken, advised = log.actions[used], advice.chosen[used]
    labels = log.action_labels
    pairs, counts = np.unique(np.stack([taken, advised]), axis=1, return_counts=True)
    routes = tuple(
        Route(labels[logged], None if new < 0 else labels[new], int(rows))
        for (logged, new), rows in zip(pairs.T.tolist(), counts, strict=True)
    )
    changed = (advised != taken) & (advised >= 0)
    differ: list[ApartColumn] = []
    if min(changed.sum(), (~changed).sum()) >= FEWEST:
        for at, column in enumerate(log.schema.columns):
            differ += _apart(column, log.values[used, at], log.observed[used, at], changed)
    differ.sort(key=lambda one: -abs(one.difference))
    referred = int((advised < 0).sum())
    return ChangedDecisions(len(used), int(changed.sum()), referred, routes, tuple(differ[:MOST_COLUMNS]))


def _apart(column: Column, values: np.ndarray, observed: np.ndarray, changed: np.ndarray) -> list[ApartColumn]:
    """How far the two groups are apart in what the column holds, and in how often it is empty."""
    found = []
    if 0 < observed.mean() < 1:
        found.append(_of_share(column.name, None, ~observed, changed, gaps=True))
    if min((observed & changed).sum(), (observed & ~changed).sum()) < FEWEST:
        return found
    values, changed = values[observed].astype(np.float64), changed[observed]
    if column.kind in LABELLED:
        codes = np.round(values * column.scale + column.location).astype(int)
        shares = [
            _of_share(column.name, str(column.categories[one]), codes == one, changed) for one in np.unique(codes)
        ]
        return [*found, max(shares, key=lambda one: abs(one.difference))]
    return [*found, _of_numbers(column, values, changed)]


def _of_numbers(column: Column, values: np.ndarray, changed: np.ndarray) -> ApartColumn:
    spread = values.std()
    means = [values[changed].mean(), values[~changed].mean()]
    shown = column.decode(np.array(means))
    difference = 0.0 if spread < 1e-6 else float((means[0] - means[1]) / spread)
    return ApartColumn(column.name, None, False, shown[0], shown[1], difference)


def _of_share(name: str, level: str | None, has: np.ndarray, changed: np.ndarray, gaps: bool = False) -> ApartColumn:
    shares, spread = [float(has[changed].mean()), float(has[~changed].mean())], float(has.std())
    difference = 0.0 if spread == 0 else (shares[0] - shares[1]) / spread
    return ApartColumn(name, level, gaps, shares[0], shares[1], difference)
