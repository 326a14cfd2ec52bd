"""Held-out rows with the gaps of the cases that a promise is for: cells hidden from the policies, and nothing else."""

from typing import Any

import numpy as np

from prudent.errors import InputProblem
from prudent.models import Fitted
from prudent.show import counted, percent
from prudent.table import Log

MOST_CASES = 2000  # patterns of more cases than these say nothing new, and would take long to compare
OFTEN = 0.05  # a column that fewer cases have is not worth a word
NAMED = 3


def shown_cells(model: Fitted, log: Log, cases: Any, seed: int) -> tuple[np.ndarray, list[str]]:
    """Which cells of the log's rows policies may see, [row, attribute], so that the gaps are those of the cases; notes.

    log: read as the model reads it. cases: a frame of any common kind.
    """
    wanted, rows = model.schema.encode(cases).observed, log.observed
    if not len(wanted):
        return rows, []
    _require_tested(log, wanted)
    used, shown = log.rewarded, rows.copy()
    shown[used] = matching_gaps(rows[used], wanted, seed)
    hidden = 1 - shown[used].sum() / max(rows[used].sum(), 1)
    note = (
        f"{percent(hidden)} of the recorded cells of the held-out decisions were hidden from the policies, so that the "
        f"gaps are like those of the {counted(len(wanted), 'case')}."
    )
    return shown, [note, *_shortage_notes(log, shown[used], wanted)]


def matching_gaps(observed: np.ndarray, wanted: np.ndarray, seed: int) -> np.ndarray:
    """The observed cells, [row, attribute], that are left when each row gets the gaps of a case, each equally often.

    A cell that a row lacks stays missing. So rows with the most gaps choose first, the case whose cells they lack
    fewest of, and among these the most similar: rows that have the gaps of the cases already are left as they are. A
    row is matched by its gaps alone, at random among equals; it is as if the gaps of the cases had happened to it.
    """
    random, (rows, attributes) = np.random.default_rng([seed, 2]), observed.shape
    some = wanted[random.permutation(len(wanted))[:MOST_CASES]]
    patterns, left = np.unique(np.resize(some, (rows, attributes)), axis=0, return_counts=True)
    cells, sizes = patterns.astype(np.float32), patterns.sum(axis=1)
    order = random.permutation(rows)
    result = observed.copy()
    for row in order[np.argsort(observed[order].sum(axis=1), kind="stable")]:
        shared = cells @ observed[row]
        cost = np.where(left > 0, (sizes - shared) * (attributes + 1) - shared, np.inf)
        chosen = int(np.argmin(cost))
        left[chosen] -= 1
        result[row] &= patterns[chosen]
    return result


def _require_tested(log: Log, wanted: np.ndarray) -> None:
    """A column that no held-out row has was never seen by the policies that are judged."""
    never = ~log.observed[log.rewarded].any(axis=0) & (wanted.mean(axis=0) > OFTEN)
    if never.any():
        at = int(np.argmax(never))
        raise InputProblem(
            f"Column '{log.schema.names[at]}' is empty in every held-out decision and filled in "
            f"{percent(wanted[:, at].mean())} of the cases, so no setting was tested with it; hold out decisions that "
            "have it, or leave the column out of the cases."
        )


def _shortage_notes(log: Log, shown: np.ndarray, wanted: np.ndarray) -> list[str]:
    """What the cases have and the held-out rows lack: nothing can be filled in there."""
    lacking, missing = wanted.mean(axis=0) - shown.mean(axis=0), 1 - shown.mean(axis=0)
    columns = [at for at in np.argsort(-lacking) if lacking[at] > OFTEN]
    if not columns:
        return []
    named = ", ".join(
        f"'{log.schema.names[at]}' ({percent(missing[at])}, not {percent(1 - wanted[:, at].mean())})"
        for at in columns[:NAMED]
    )
    more = f" and {len(columns) - NAMED} more" if len(columns) > NAMED else ""
    return [
        f"The held-out decisions have more gaps than the cases in {named}{more}. Nothing can be filled in, so settings "
        "are judged as if less were known of the cases than is; as a rule that is on the safe side."
    ]
