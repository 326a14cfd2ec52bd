"""Aligning a log with a fitted model: the model's columns, scales and actions."""

from dataclasses import replace

import numpy as np

from prudent.decide import FittedModel
from prudent.errors import InputProblem
from prudent.table import Log, label_text


def align_log(log: Log, fitted: FittedModel) -> Log:
    """The same rows with the columns, scales and actions of the model."""
    if log.schema == fitted.schema and log.action_labels == fitted.action_labels and log.minimize == fitted.minimize:
        return log
    if log.minimize != fitted.minimize:
        raise InputProblem(
            "The log and the model disagree on whether a lower reward is better (minimize); read the log with "
            "fitted.read(frame)."
        )
    if log.source is None or log.positions is None:
        raise InputProblem(
            "The log was not read with the model's columns and actions, and the table it came from is not known; read "
            "it with fitted.read(frame)."
        )
    positions = {label_text(label): index for index, label in enumerate(fitted.action_labels)}
    codes = np.array([positions.get(label_text(label), -1) for label in log.action_labels] + [-1])
    encoded = fitted.schema.encode(log.cases())
    return replace(
        log,
        schema=fitted.schema,
        values=encoded.values,
        observed=encoded.observed,
        actions=codes[log.actions],
        action_labels=fitted.action_labels,
    )


def require_same_actions(fitted: FittedModel, log: Log) -> None:
    """A model's prices are in the order of its actions, so the log must have the same actions in the same order."""
    if tuple(map(label_text, fitted.action_labels)) != tuple(map(label_text, log.action_labels)):
        raise InputProblem(
            f"The model knows the actions {', '.join(map(label_text, fitted.action_labels))} and the log has "
            f"{', '.join(map(label_text, log.action_labels))}; read the log with fitted.read(frame)."
        )
