"""Support: an action is open to a case only if cases like it got it often enough for its reward to be known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prudent.errors import Rule, check, number, optional, whole
from prudent.propensity import LoggingPolicy, least_propensity, least_rows
from prudent.show import one_line
from prudent.table import ActionLabel, Encoded, Schema

_RULES: dict[str, Rule] = {"propensity": optional(number(0, 1, "[)")), "rows": optional(whole())}


class Supported(NamedTuple):
    """For every row and action: the share of similar logged cases that got the action, and whether it is open."""

    propensity: np.ndarray
    open: np.ndarray


@dataclass(frozen=True)
class Support:
    """When an action is open to a case.

    propensity: at least this share of the logged cases that resemble it got the action. Default: 50 rows of the
        log, but at least 0.005 and at most 0.02; with many actions a fifth of an equal share.
    rows: the log has at least this many rewards of the action. Default: 30; in a small log half of an equal share, or
        five.
    """

    propensity: float | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        check("Support", _RULES, vars(self))

    def least_propensity(self, logged: LoggingPolicy) -> float:
        if self.propensity is not None:
            return self.propensity
        return least_propensity(len(logged.rows), int(logged.rows.sum()))

    def least_rows(self, logged: LoggingPolicy) -> int:
        return least_rows(int(logged.rows.sum()), len(logged.rows)) if self.rows is None else self.rows

    def of(self, logged: LoggingPolicy, schema: Schema, encoded: Encoded) -> Supported:
        """Which actions are open to encoded records."""
        propensity = logged.probabilities(schema, encoded.values, encoded.observed)
        enough = logged.rows >= self.least_rows(logged)
        return Supported(propensity, (propensity >= self.least_propensity(logged)) & enough[None, :])


def closed_words(
    logged: LoggingPolicy, support: Support, labels: Sequence[ActionLabel], action: int, propensity: np.ndarray
) -> str:
    """Why an action is closed to a case, from the propensities of that case."""
    rows, least_rows = int(logged.rows[action]), support.least_rows(logged)
    share, least = float(propensity[action]), support.least_propensity(logged)
    reasons = [f"the log has {rows} rows of it ({least_rows} needed)"] if rows < least_rows else []
    reasons += (
        [f"it was given to {100 * share:.3g}% of similar cases ({100 * least:.3g}% needed)"] if share < least else []
    )
    return f"'{one_line(labels[action])}' is closed: {' and '.join(reasons)}"
