"""Which actions may be recommended for which row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from prudent.errors import InputProblem
from prudent.log import ActionLabel
from prudent.reading import to_table

SEPARATOR = ";"


def allowed_actions(
    frame: Any, allowed: str | Sequence[Sequence[ActionLabel]] | None, labels: tuple[ActionLabel, ...], rows: int
) -> np.ndarray:
    """[row, action]: True where the action may be recommended.

    A label that the log never took can be allowed without harm: it is still never recommended.
    """
    if allowed is None:
        return np.ones((rows, len(labels)), bool)
    lists = _listed(frame, allowed) if isinstance(allowed, str) else [list(own) for own in allowed]
    if len(lists) != rows:
        raise InputProblem(f"'allowed' has {len(lists)} entries for {rows} rows. Give one collection of actions per row.")
    names = [str(label) for label in labels]
    return np.array([[own is None or name in own for name in names] for own in _as_text(lists)])


def _listed(frame: Any, column: str) -> list[list[str] | None]:
    table = to_table(frame)
    cells = table.cells(table.find(column, "allowed actions")).to_list()
    return [None if cell is None else str(cell).split(SEPARATOR) for cell in cells]


def _as_text(lists: list[Any]) -> list[set[str] | None]:
    return [None if own is None else {str(label).strip() for label in own} for own in lists]
