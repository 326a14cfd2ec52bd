"""Columns that say the same twice: copies, other units, other names for the same labels."""

import numpy as np

from prudent.table.columns import LABELLED
from prudent.table.finding import Finding
from prudent.table.log import Log
from prudent.table.one_column import matched_share

MOST_ROWS = 2000
MOST_COLUMNS = 200
FEWEST_ROWS = 30
FEWEST_OTHERS = 5
SAME = 0.995
GLANCE, PROMISING = 300, 0.8
CLOSE = 0.02
"""Numbers count as equal up to another unit within this share of a standard deviation."""


def copies(log: Log, left_out: set[str]) -> list[Finding]:
    """For each column that repeats another one in nearly every row where both are present, a finding; of the two, the
    one with more gaps is named. Columns that are to be left out anyway are not compared.

    Wide tables (images) are not searched: neighbouring pixels are alike and no mistake.
    """
    columns = log.schema.columns
    if len(columns) > MOST_COLUMNS:
        return []
    rows = np.arange(len(log))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    values, observed = log.values[rows].astype(np.float64), log.observed[rows]
    order = sorted(range(len(columns)), key=lambda at: -int(observed[:, at].sum()))
    order = [at for at in order if columns[at].name not in left_out]
    found: list[Finding] = []
    kept: list[int] = []
    for second in order:
        for first in kept:
            both = observed[:, first] & observed[:, second]
            labels = columns[first].kind in LABELLED or columns[second].kind in LABELLED
            share = _same_share(values[both, first], values[both, second], labels)
            if share >= SAME:
                found.append(_finding(columns[first].name, columns[second].name, share))
                break
        else:
            kept.append(second)
    return found


def _finding(first: str, second: str, share: float) -> Finding:
    seen = f"repeats column '{first}' in {100 * share:.3g} % of the rows that have both"
    return Finding.to_ignore(second, "copy of a column", f"{seen}, perhaps in other words or units")


def _same_share(first: np.ndarray, second: np.ndarray, labels: bool) -> float:
    """The share of rows in which one column follows from the other, both ways."""
    if len(first) < FEWEST_ROWS:
        return 0.0
    matched = _matched(first, second) if _values_repeat(first) and _values_repeat(second) else 0.0
    return matched if labels or matched >= SAME else max(matched, _on_a_line(first, second))


def _values_repeat(numbers: np.ndarray) -> bool:
    """Where values do not repeat, that each has one partner means nothing."""
    return len(np.unique(numbers)) * 5 <= len(numbers)


def _matched(first: np.ndarray, second: np.ndarray) -> float:
    one, codes = np.unique(first, return_inverse=True)
    other, partners = np.unique(second, return_inverse=True)
    # where hardly any row differs from the most common one, anything matches
    common = min(np.bincount(codes).max(), np.bincount(partners).max())
    if abs(len(one) - len(other)) > 0.1 * len(one) + 1 or len(first) - common < FEWEST_OTHERS:
        return 0.0
    # columns of one content have hardly more pairs of values than values
    pairs = len(np.unique(codes * len(other) + partners))
    return matched_share(codes, partners) if pairs <= 1.5 * max(len(one), len(other)) + 10 else 0.0


def _on_a_line(first: np.ndarray, second: np.ndarray) -> float:
    """The share of rows near the line through most of the points; a few wrong rows do not tilt it."""
    glance = slice(GLANCE)
    if first[glance].std() == 0 or second[glance].std() == 0:
        return 0.0
    # most pairs differ so much that a few rows show it
    if abs(np.corrcoef(first[glance], second[glance])[0, 1]) < PROMISING:
        return 0.0
    kept = np.ones(len(first), dtype=bool)
    errors = np.zeros(len(first))
    for _ in range(2):
        slope, height = np.polyfit(first[kept], second[kept], 1)
        errors = np.abs(second - slope * first - height)
        kept = errors <= np.quantile(errors, 0.95)
    return float((errors <= CLOSE * second.std()).mean())
