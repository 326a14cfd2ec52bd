"""Which actions may be recommended for which row."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import numpy as np

from prudent.cells import label_text
from prudent.errors import InputProblem
from prudent.log import ActionLabel
from prudent.reading import to_table

SEPARATOR = ";"


def allowed_actions(
    frame: Any,
    allowed: str | Sequence[Collection[ActionLabel] | None] | None,
    labels: tuple[ActionLabel, ...],
    rows: int,
) -> np.ndarray:
    """[row, action]: True where the action may be recommended.

    A label that the log never took can be allowed without harm: it is still never recommended.
    """
    if allowed is None:
        return np.ones((rows, len(labels)), bool)
    lists = _listed(frame, allowed) if isinstance(allowed, str) else _given(allowed)
    if len(lists) != rows:
        raise InputProblem(
            f"'allowed' has {len(lists)} entries for {rows} rows. Give one collection of actions per row."
        )
    names = [label_text(label) for label in labels]
    return np.array([[own is None or name in own for name in names] for own in _as_text(lists)])


def _given(allowed: Any) -> list[list[ActionLabel] | None]:
    collections = (list, tuple, set, frozenset, np.ndarray)
    listed = list(allowed) if isinstance(allowed, collections) else [allowed]
    for own in listed:
        if own is not None and not isinstance(own, collections):
            raise InputProblem(
                f"'allowed' must be one collection of actions per row (or None for any), or the name of a column. "
                f"Got {own!r} instead."
            )
    return [None if own is None else list(own) for own in listed]


def _listed(frame: Any, column: str) -> list[list[str] | None]:
    table = to_table(frame)
    cells = table.cells(table.find(column, "allowed actions")).to_list()
    return [None if cell is None else str(cell).split(SEPARATOR) for cell in cells]


def _as_text(lists: list[Any]) -> list[set[str] | None]:
    # labels in the spelling of the log's: 1.0 and "1" are one action; few labels stand in many rows
    spelled = cache(label_text)
    return [None if own is None else {spelled(str(label)) for label in own} for own in lists]
