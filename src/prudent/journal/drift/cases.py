"""Comparing the cases that were served with those that the model has learnt from, column by column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prudent.journal.cells import to_json
from prudent.journal.drift.comparison import Comparison, Subject
from prudent.journal.drift.two_samples import mixes_differ, more_than, shares_differ
from prudent.models import ColumnCounts, Fitted, Reference
from prudent.show import percent
from prudent.table import LABELLED, Column, to_table

ORDERED_LABELS = "ordinal"


def different(cases: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each case once: one that is asked about again and again is one case."""
    return list({to_json(case): case for case in cases}.values())


def compare_cases(fitted: Fitted, reference: Reference, cases: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    schema = fitted.schema
    table = to_table([{name: case.get(name) for name in schema.names} for case in cases])
    now = reference.counts_of(schema, schema.encode(table))
    found = []
    for column, then, later in zip(schema.columns, reference.columns, now.columns, strict=True):
        cells = table.cells(column.name, column.categories, column.missing)
        present = cells.drop_nulls()
        unread = len(present) - later.observed
        found.append(_gaps(column, then, ColumnCounts(later.gaps - unread, (), later.bins), unread))
        found.append(_unread(column, then, later.observed, unread, present.to_list()))
        found.append(_values(column, then, later))
    return [one for one in found if one is not None]


def _gaps(column: Column, then: ColumnCounts, now: ColumnCounts, unread: int) -> Comparison:
    counts = [(then.gaps, then.observed), (now.gaps, now.observed + unread)]
    shares = [percent(gaps / max(gaps + others, 1)) for gaps, others in counts]
    return Comparison(Subject.GAPS, column.name, f"{shares[0]} empty", f"{shares[1]} empty", shares_differ(*counts))


def _unread(column: Column, then: ColumnCounts, read: int, unread: int, present: Sequence[Any]) -> Comparison | None:
    """Labels that the model does not know, and numbers that its kind of column cannot hold."""
    if unread == 0:
        return None
    known = set(column.categories)
    new = sorted({str(cell) for cell in present} - known)[:3] if column.kind in LABELLED else []
    names = f" ({', '.join(map(repr, new))})" if new else ""
    p = more_than((0, then.observed), (unread, read))
    return Comparison(Subject.UNREAD, column.name, "none", f"{unread} of {unread + read}{names}", p)


def _values(column: Column, then: ColumnCounts, now: ColumnCounts) -> Comparison | None:
    if len(then.bins) < 2 or now.observed == 0 or then.observed == 0:
        return None
    labels = column.kind in LABELLED
    p = mixes_differ(then.bins, now.bins, ordered=not labels or column.kind == ORDERED_LABELS)
    before, after = (_label_words if labels else _number_words)(column, then, now)
    return Comparison(Subject.VALUES, column.name, before, after, p)


def _label_words(column: Column, then: ColumnCounts, now: ColumnCounts) -> tuple[str, str]:
    """The label whose share changed most."""
    shares = [np.array(counts.bins) / counts.observed for counts in (then, now)]
    most = int(np.argmax(np.abs(shares[1] - shares[0])))
    before, after = (f"{column.categories[most]}: {percent(share[most])}" for share in shares)
    return before, after


def _number_words(column: Column, then: ColumnCounts, now: ColumnCounts) -> tuple[str, str]:
    """Where the middle half lies, as far as the bins tell."""
    return _middle_half(column, then), _middle_half(column, now)


def _middle_half(column: Column, counts: ColumnCounts) -> str:
    edges = np.array(counts.edges)
    cumulated = np.cumsum(counts.bins) / counts.observed
    if len(edges) < 4:
        share = counts.bins[-1] / counts.observed
        return f"{percent(share)} above {column.decode(edges[-1:])[0]:.6g}"
    # at an edge the share below it is known; between edges it is taken to rise evenly
    quarters = np.interp((0.25, 0.5, 0.75), cumulated[:-1], edges)
    low, middle, high = (_shown(cell) for cell in column.decode(quarters))
    return f"median {middle} (middle half {low} to {high})"


def _shown(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, int | float) else str(cell)
