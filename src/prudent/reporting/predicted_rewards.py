"""How well rewards are predicted: did cases that were expected to do well do well?"""

from dataclasses import dataclass

import numpy as np

from prudent.decide import Advice
from prudent.errors import InputProblem
from prudent.table import ActionLabel, Log

MOST_BINS, LEAST_IN_BIN = 6, 15


@dataclass(frozen=True)
class PredictedBin:
    """Rows of one action with similar predictions: their mean prediction, mean outcome and its standard error."""

    predicted: float
    observed: float
    error: float
    rows: int


@dataclass(frozen=True)
class PredictedAction:
    """The rows that got one action; numbers are None where there are no or too few of them.

    mean_error: the mean distance of outcomes from their predictions. usual_error: from the action's own mean outcome,
        which no prediction has: it knows these rows.
    explained: the share of the outcomes' variance that the predictions explain; below 0 they are worse than the mean.
    """

    action: ActionLabel
    rows: int
    predicted: float | None
    observed: float | None
    mean_error: float | None
    usual_error: float | None
    explained: float | None
    bins: tuple[PredictedBin, ...]


@dataclass(frozen=True)
class PredictedRewards:
    """By action, for all rows with an action and a reward.

    covered: the share of outcomes within the range that should hold 90 % of single outcomes, in the `covered_rows` rows
    that got what is advised; None without any.
    """

    rows: int
    explained: float | None
    covered: float | None
    covered_rows: int
    actions: tuple[PredictedAction, ...]


def predicted_rewards(advice: Advice, log: Log) -> PredictedRewards:
    """advice: for the rows of the log, in their order."""
    used = np.flatnonzero(log.rewarded)
    if not len(used):
        raise InputProblem("No row has both an action and a reward, so predictions have nothing to be compared with.")
    taken, outcome = log.actions[used], log.sign * log.rewards[used]
    predicted = advice.chooser.fitted.reported(advice.scored.expected[used, taken])
    actions = tuple(
        _of_action(label, predicted[taken == at], outcome[taken == at]) for at, label in enumerate(log.action_labels)
    )
    low, high = advice.outcome_low[used], advice.outcome_high[used]
    as_advised = (advice.chosen[used] == taken) & np.isfinite(low + high)
    inside = (low <= outcome) & (outcome <= high)
    covered = float(inside[as_advised].mean()) if as_advised.any() else None
    return PredictedRewards(len(used), _explained(predicted, outcome), covered, int(as_advised.sum()), actions)


def _of_action(label: ActionLabel, predicted: np.ndarray, outcome: np.ndarray) -> PredictedAction:
    if not len(outcome):
        return PredictedAction(label, 0, None, None, None, None, None, ())
    return PredictedAction(
        action=label,
        rows=len(outcome),
        predicted=float(predicted.mean()),
        observed=float(outcome.mean()),
        mean_error=float(np.abs(outcome - predicted).mean()),
        usual_error=float(np.abs(outcome - outcome.mean()).mean()),
        explained=_explained(predicted, outcome),
        bins=tuple(_bins(predicted, outcome)),
    )


def _explained(predicted: np.ndarray, outcome: np.ndarray) -> float | None:
    spread = float(((outcome - outcome.mean()) ** 2).sum())
    return None if len(outcome) < 2 or spread == 0 else 1 - float(((outcome - predicted) ** 2).sum()) / spread


def _bins(predicted: np.ndarray, outcome: np.ndarray) -> list[PredictedBin]:
    """Of equal size, the lowest predictions first."""
    count = min(max(len(outcome) // LEAST_IN_BIN, 1), MOST_BINS)
    parts = np.array_split(np.argsort(predicted, kind="stable"), count)
    return [
        PredictedBin(
            float(predicted[rows].mean()),
            float(outcome[rows].mean()),
            float(outcome[rows].std(ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else float("nan"),
            len(rows),
        )
        for rows in parts
    ]
