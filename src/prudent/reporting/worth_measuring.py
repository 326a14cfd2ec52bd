"""What to measure: over many cases, which gap is most often worth filling before deciding, and what that is worth."""

from dataclasses import dataclass

import numpy as np

from prudent.decide import Policy, value_of_measuring
from prudent.errors import InputProblem
from prudent.table import Log


@dataclass(frozen=True)
class ColumnToMeasure:
    """missing: rows with a gap there. first: rows in which it is the gap most worth filling. mean_gain: of filling it,
    over the rows with a gap there, in reward units; positive is better."""

    column: str
    missing: int
    first: int
    mean_gain: float


@dataclass(frozen=True)
class WorthMeasuring:
    """Columns with a gap, those most often worth filling first. with_gaps: rows that have any. worth: rows in which
    some gap is worth filling; mean_gain: of filling the best gap, over all rows."""

    rows: int
    with_gaps: int
    worth: int
    mean_gain: float
    gain_measure: str
    columns: tuple[ColumnToMeasure, ...]


def worth_measuring(policy: Policy, log: Log, most_rows: int, seed: int) -> WorthMeasuring:
    if log.observed.all():
        raise InputProblem("No cell of this log is empty, so there is nothing left to measure.")
    if len(log) > most_rows:
        log = log.take(np.sort(np.random.default_rng([seed, 13]).permutation(len(log))[:most_rows]))
    found = value_of_measuring(policy, log.encoded)
    first = np.array([name or "" for name in found.measure_next])
    columns = [
        ColumnToMeasure(
            name,
            int(missing.sum()),
            int((first == name).sum()),
            float(np.maximum(found.gain[missing, at], 0.0).mean()),
        )
        for at, name in enumerate(log.schema.names)
        if (missing := ~log.observed[:, at]).any()
    ]
    columns.sort(key=lambda one: (-one.first, -one.mean_gain))
    value = np.nan_to_num(found.measure_value)
    return WorthMeasuring(
        rows=len(log),
        with_gaps=int((~log.observed).any(axis=1).sum()),
        worth=int((first != "").sum()),
        mean_gain=float(value.mean()),
        gain_measure=policy.strategy.gain_words,
        columns=tuple(columns),
    )
