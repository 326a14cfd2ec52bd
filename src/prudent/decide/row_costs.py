"""What actions cost in each case, from columns of the table of cases."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from prudent.decide.caution import LARGEST_COST
from prudent.errors import InputProblem, Rule, check
from prudent.table import ActionLabel, label_text, read_numbers, row_name, to_table

_RULES = {"costs": Rule("map action labels to the columns of their costs", lambda value: isinstance(value, Mapping))}


def row_costs(
    frame: Any, costs: Mapping[ActionLabel, str] | None, labels: tuple[ActionLabel, ...]
) -> np.ndarray | None:
    """[row, action], 0 where no column is named; None without columns."""
    if costs is None:
        return None
    check("recommend", _RULES, {"costs": costs})
    table, known = to_table(frame), [label_text(str(label)) for label in labels]
    found = np.zeros((table.rows, len(labels)), np.float32)
    for label, column in costs.items():
        spelled = label_text(str(label))
        if spelled not in known:
            raise InputProblem(
                f"The costs of '{label}' are not for an action of the log; those are {', '.join(known)}."
            )
        if not isinstance(column, str):
            raise InputProblem(
                f"The costs of '{label}' must be the name of a column of the cases. Got {column!r} instead; a cost "
                "that is the same for every case belongs to the policy: model.policy(costs=...)."
            )
        cells = read_numbers(table, table.find(column, f"the costs of '{label}'"), "cost")
        wrong = ~(np.abs(cells) <= LARGEST_COST)
        if wrong.any():
            row = int(np.argmax(wrong))
            held = "is empty" if np.isnan(cells[row]) else f"holds {cells[row]:g}"
            raise InputProblem(
                f"Cost column '{column}' {held} in {row_name(row)}; give a number of at most {LARGEST_COST:g} in every "
                "row, 0 where the action costs nothing."
            )
        found[:, known.index(spelled)] = cells
    return found
