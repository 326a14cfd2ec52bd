"""A log as a model reads it: its columns, its scales, its actions."""

from dataclasses import replace

import numpy as np

from prudent.decide import FittedModel
from prudent.errors import InputProblem
from prudent.table import Encoded, Log, label_text


def read_by(log: Log, fitted: FittedModel) -> Log:
    """The log as a model reads it: its columns, its scales, its actions. Rows stay the same."""
    if log.schema == fitted.schema and log.action_labels == fitted.action_labels and log.minimize == fitted.minimize:
        return log
    if log.minimize != fitted.minimize:
        raise InputProblem(
            "The log and the model disagree on whether a lower reward is better (minimize); read the log with "
            "fitted.read(frame)."
        )
    if log.source is None or log.positions is None:
        raise InputProblem(
            "The log was not read as the model's own was, and the table behind it is not known; read it with "
            "fitted.read(frame)."
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


def encoded_rows(log: Log) -> Encoded:
    return Encoded(log.values, log.observed, [""] * len(log))


def require_labels(fitted: FittedModel, log: Log) -> None:
    """A model's answers are by the number of the action, so it must number them as the log does."""
    if tuple(map(label_text, fitted.action_labels)) != tuple(map(label_text, log.action_labels)):
        raise InputProblem(
            f"The model knows the actions {', '.join(map(label_text, fitted.action_labels))} and the log has "
            f"{', '.join(map(label_text, log.action_labels))}; read the log with fitted.read(frame)."
        )
