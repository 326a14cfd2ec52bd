"""Rows that are there several times: a join that went wrong, or an export that was appended to itself."""

import numpy as np

from prudent.table.log import Log

FEWEST_ROWS, SHARE = 20, 0.05
"""Repetitions from so many rows, and such a share of them, on are said."""
MOST_ROWS = 200_000


def distinctive(log: Log) -> np.ndarray:
    """Which rows have a cell that only rows equal to them in every cell share, so that they are no coincidence: records
    of a few whole numbers are alike without being the same case."""
    cells = np.column_stack([np.where(log.observed, log.values, np.nan), log.actions, log.rewards])
    _, record = np.unique(_bytes(cells), return_inverse=True)
    found = np.zeros(len(log), bool)
    for column in cells.T:
        values, which = np.unique(column, return_inverse=True, equal_nan=True)
        pairs = np.unique(which.astype(np.int64) * (record.max() + 1) + record)
        records = np.bincount((pairs // (record.max() + 1)).astype(np.int64), minlength=len(values))
        found |= (records[which] == 1) & ~np.isnan(column)
    return found


def repetitions(log: Log) -> np.ndarray:
    """Which rows repeat an earlier one that is no coincidence."""
    cells = np.column_stack([np.where(log.observed, log.values, np.nan), log.actions, log.rewards])
    again = np.ones(len(log), bool)
    again[np.unique(_bytes(cells), return_index=True)[1]] = False
    return again & distinctive(log) if again.any() else again


def repeated_rows(log: Log) -> list[str]:
    """A sentence where rows with an outcome repeat others in every cell."""
    rows = np.flatnonzero(log.rewarded)[:MOST_ROWS]
    if len(rows) < FEWEST_ROWS:
        return []
    repeated = int(repetitions(log.take(rows)).sum())
    if repeated < max(FEWEST_ROWS / 2, SHARE * len(rows)):
        return []
    return [
        f"{repeated} of {len(rows)} rows repeat another row in every cell, the outcome included: counted as decisions "
        "of their own, they make everything look surer than it is; drop them unless they are."
    ]


def _bytes(cells: np.ndarray) -> np.ndarray:
    whole = np.ascontiguousarray(cells + 0.0)  # -0.0 is 0.0
    return whole.view([("", whole.dtype)] * whole.shape[1]).reshape(-1).view(f"V{whole.shape[1] * 8}")
