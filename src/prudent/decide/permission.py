"""Which actions may be recommended for which row."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from prudent.errors import InputProblem
from prudent.table import ActionLabel, label_text, to_table

SEPARATOR = ";"

Rule = Callable[[Mapping[str, Any]], Collection[ActionLabel] | None]
"""From one row, as a mapping of column names to cells (None in a gap), to the actions it may get (None: any)."""

Allowed = str | Sequence[Collection[ActionLabel] | None] | Rule | None


def allowed_actions(
    frame: Any,
    allowed: Allowed,
    labels: tuple[ActionLabel, ...],
    rows: int,
) -> np.ndarray:
    """[row, action]: True where the action may be recommended.

    A label that never occurs in the log may be allowed: it is still never recommended.
    """
    if allowed is None:
        return np.ones((rows, len(labels)), bool)
    if callable(allowed):
        lists = _given([allowed(row) for row in _rows(frame)])
    else:
        lists = _listed(frame, allowed, labels) if isinstance(allowed, str) else _given(allowed)
    if len(lists) != rows:
        raise InputProblem(
            f"'allowed' has {len(lists)} entries for {rows} rows. Give one collection of actions per row."
        )
    names = [label_text(label) for label in labels]
    return np.array([[row is None or name in row for name in names] for row in _as_text(lists)])


def _rows(frame: Any) -> list[dict[str, Any]]:
    """Rows as a user's rule sees them: every column of the table, including those the model does not know."""
    table = to_table(frame)
    columns = {name: table.cells(name).to_list() for name in table.names}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _given(allowed: Any) -> list[list[ActionLabel] | None]:
    collections = (list, tuple, set, frozenset, np.ndarray)
    listed = list(allowed) if isinstance(allowed, collections) else [allowed]
    for row in listed:
        if row is not None and not isinstance(row, collections):
            raise InputProblem(
                f"'allowed' must be one collection of actions per row (or None for any), or the name of a column. "
                f"Got {row!r} instead."
            )
    return [None if row is None else list(row) for row in listed]


def _listed(frame: Any, column: str, labels: Sequence[ActionLabel]) -> list[list[str] | None]:
    table = to_table(frame)
    # an action may be called None or NA: where it stands alone, it does not mean "any"
    cells = table.cells(table.find(column, "allowed actions"), [str(label) for label in labels]).to_list()
    return [None if cell is None else str(cell).split(SEPARATOR) for cell in cells]


def _as_text(lists: list[Any]) -> list[set[str] | None]:
    # labels in the spelling of the log's: 1.0 and "1" are one action; few labels stand in many rows
    spelled = cache(label_text)
    return [None if row is None else {spelled(str(label)) for label in row} for row in lists]
