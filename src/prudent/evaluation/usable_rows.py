"""Which rows of a log can be used for evaluation: those with an action and a reward that no model was fitted on."""

from collections.abc import Sequence

import numpy as np

from prudent.decide import FittedModel
from prudent.errors import InputProblem
from prudent.models import align_log
from prudent.table import Log, count_groups, distinctive

REFUSE_ABOVE, WARN_ABOVE = 0.5, 0.01  # shares of the rows that a model was fitted on
FEW_GROUPS = 40  # from so many on, intervals between groups cover about as often as they claim
DISTINCT_ROWS = 20  # fewer are too few to compare by


def require_unseen(models: Sequence[FittedModel], log: Log, consequence: str) -> list[str]:
    """Refuse rows that one of the models was fitted on (more than half), and warn from one in a hundred on.

    Other rows of groups that it was fitted on, such as later visits of the same patients, are a warning, too. Returns
    the warnings; `consequence` completes their sentence: what follows for the numbers that are reported.
    """
    largest = max((share_seen(model, log) for model in models), default=0.0)
    if largest > REFUSE_ABOVE:
        raise InputProblem(
            f"The model was fitted on these rows ({largest:.0%} of the {len(log)}), so they would only confirm what it "
            "learnt from them. Use decisions that were held out of the fit (Log.split, or --hold-out when fitting); "
            "to evaluate on the whole log, fit without each part of it in turn (--cross-fit 5; cross_fit in Python)."
        )
    if largest > WARN_ABOVE:
        return [f"About {largest:.0%} of the rows are identical to rows the model was fitted on; {consequence}"]
    known = max((groups_seen(model, log).mean() for model in models), default=0.0)
    if known > WARN_ABOVE:
        return [
            f"About {known:.0%} of the rows have a '{log.roles.group}' whose other rows the model was fitted on, so it "
            f"may know them better than new ones; {consequence}"
        ]
    return []


def groups_seen(model: FittedModel, log: Log) -> np.ndarray:
    """Which rows of a log belong to a group that the model was fitted on; where either has no groups, none."""
    if log.groups is None or not len(model.groups):
        return np.zeros(len(log), bool)
    return np.isin(log.groups, model.groups)


def share_seen(model: FittedModel, log: Log) -> float:
    """The share of the log's rows that the model was fitted on, judged by rows that occur only once.

    Where records are a few whole numbers, different cases look alike. So rows that occur twice, in the log or among the
    model's, are ignored, and where hardly any row is unique the share counts as 0.
    """
    if not len(model.fingerprints):
        return 0.0
    rows = align_log(log, model)
    rows = rows.take(rows.rewarded)  # the model may not know all of the log's actions
    prints = rows.fingerprints()
    _, inverse, counts = np.unique(prints, return_inverse=True, return_counts=True)
    fitted_prints, fitted_counts = np.unique(model.fingerprints, return_counts=True)
    unique = (counts[inverse] == 1) & ~np.isin(prints, fitted_prints[fitted_counts > 1])
    if unique.sum() < min(DISTINCT_ROWS, len(log)):
        # nearly every row is there several times: those that can be no coincidence tell, each counted once
        unique = distinctive(rows)
        if len(np.unique(prints[unique])) < min(DISTINCT_ROWS, len(log)):
            return 0.0
    return float(rows_seen(model, rows)[unique].mean())


def rows_seen(model: FittedModel, log: Log) -> np.ndarray:
    """Which rows of a log, aligned with this model, are identical to rows it was fitted on; rows without a reward are
    not."""
    seen = np.zeros(len(log), bool)
    seen[log.rewarded] = np.isin(log.fingerprints(), model.fingerprints)
    return seen


def few_groups(log: Log) -> list[str]:
    """A warning where the rows belong to few groups."""
    count = count_groups(log.groups)
    if count is None or count == len(log) or count >= FEW_GROUPS:
        return []
    return [
        f"The rows belong to {count} groups by '{log.roles.group}'; intervals of fewer than {FEW_GROUPS} groups may be "
        "too short."
    ]


def rows_left_out(log: Log) -> list[str]:
    """A note on rows without an action or a reward; censored rows are not left out."""
    count = int((~log.followed).sum())
    return [f"{count} of {len(log)} rows have no action or no reward, and are left out."] if count else []
