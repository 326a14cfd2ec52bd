"""Columns that look like identifiers of patients, or of others who come back: several rows each belong together."""

import re

import polars as pl

from prudent.table.cells import as_labels
from prudent.table.column_notes import option
from prudent.table.finding import Finding
from prudent.table.frames import to_table
from prudent.table.identifiers import FEWEST_ROWS, is_named_as_identifier
from prudent.table.log import Log

REPEATED = "rows of one"
ROWS_EACH, MOST_EACH = 1.2, 0.1
"""Rows for each value on average at least, and the largest share of the rows that one value may have."""
SHARE_REPEATED = 0.3
"""Of the rows, so many must share their value with another."""
MOSTLY = 0.9
"""Of the cells, so many must have a digit and no space."""

_SOMEBODY = re.compile(r"(?i)(^|[\W_])(pat(ient)?|pid|subject|person|participant|client|member|mrn)([\W_]|$|id$)")
_CODE = re.compile(r"^\S*\d\S*$")


def repeated_identifiers(log: Log) -> list[Finding]:
    """The column that most looks like it says whose rows these are, where several rows are of one."""
    if log.source is None or log.roles.group is not None:
        return []
    table, found = to_table(log.source), []
    for name in table.names:
        if name in log.roles.names or not _is_named(name):
            continue
        cells = table.cells(name)
        if cells.dtype.is_float() and not (cells.drop_nulls() % 1 == 0).all():
            continue
        labels = as_labels(cells).drop_nulls()
        sizes = labels.value_counts(sort=True)["count"]
        if _repeats(labels, sizes):
            found.append((not _SOMEBODY.search(name), len(found), name, len(sizes), len(labels)))
    return [_finding(name, values, rows) for _, _, name, values, rows in sorted(found)[:1]]


def _is_named(name: str) -> bool:
    return is_named_as_identifier(name) or bool(_SOMEBODY.search(name))


def _repeats(labels: pl.Series, sizes: pl.Series) -> bool:
    """Many values, several rows each, and codes rather than words, which a diagnosis or a ward would be."""
    rows, counts = len(labels), sizes.to_numpy()
    if len(counts) < FEWEST_ROWS or rows < ROWS_EACH * len(counts) or counts.max() > MOST_EACH * rows:
        return False
    codes = int(labels.str.contains(_CODE.pattern).sum())
    return counts[counts > 1].sum() >= SHARE_REPEATED * rows and codes > MOSTLY * rows


def _finding(name: str, values: int, rows: int) -> Finding:
    sentence = (
        f"Column '{name}' repeats, with {values} values in {rows} rows, as if several rows were of one patient. Such "
        f"rows are not independent: keep them together with {option('--group', name)}."
    )
    return Finding(name, REPEATED, sentence, ("--group", name))
