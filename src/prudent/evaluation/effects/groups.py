"""Rows in groups with readable names: the levels of a column, bins of its numbers, and its gaps."""

from itertools import pairwise

import numpy as np

from prudent.errors import InputProblem
from prudent.table import LABELLED, Column, Log, did_you_mean, label_text

MISSING = "(missing)"


def groups_of(log: Log, name: str, bins: int) -> list[tuple[str, np.ndarray]]:
    """Names and rows of the groups of a column: each level, or quantile bins of a number, and gaps by themselves.

    >>> table = {"age": [31, 54, None, 47, 65], "dose": [0, 1, 0, 1, 1], "outcome": [1, 0, 1, 1, 0]}
    >>> log = Log.from_frame(table, action="dose", reward="outcome")
    >>> [(name, rows.tolist()) for name, rows in groups_of(log, "age", 2)]
    [('up to 47', [0, 3]), ('above 47', [1, 4]), ('(missing)', [2])]
    """
    if name not in log.schema.names:
        raise InputProblem(f"The log has no column '{name}' to group by. {did_you_mean(str(name), log.schema.names)}")
    index = log.schema.names.index(name)
    column, present = log.schema.columns[index], log.observed[:, index]
    values = log.values[:, index].astype(np.float64)
    levels, cuts = np.unique(values[present]), np.zeros(0)
    by_level = column.kind in LABELLED or len(levels) <= bins
    if len(levels):
        cuts = levels if by_level else quantile_cuts(values[present], bins)
    shown = [_shown(column, cut) for cut in cuts]
    names = shown if by_level else _bin_names(shown)
    belongs = np.where(present, np.searchsorted(cuts, values), -1)
    groups = [(text, np.flatnonzero(belongs == at)) for at, text in enumerate(names)]
    return groups + [(MISSING, np.flatnonzero(~present))] * (not present.all())


def quantile_cuts(values: np.ndarray, bins: int) -> np.ndarray:
    """Upper ends, each one of the values, of at most `bins` groups of about equal size; the last group has none."""
    cuts = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
    return cuts[cuts < values.max()]


def _bin_names(cuts: list[str]) -> list[str]:
    between = [f"above {low} to {high}" for low, high in pairwise(cuts)]
    return [f"up to {cuts[0]}", *between, f"above {cuts[-1]}"] if cuts else ["all"]


def _shown(column: Column, value: float) -> str:
    decoded = column.decode(np.array([value]))[0]
    # encoded values are single precision: more digits would be noise
    return f"{decoded:.6g}" if isinstance(decoded, float) else label_text(decoded)
