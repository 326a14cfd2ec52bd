"""Censored outcomes: rows whose follow-up ended before the outcome was seen."""

import numpy as np

from prudent.errors import InputProblem
from prudent.table.cells import as_labels, row_name
from prudent.table.columns import TRUTHS
from prudent.table.frames import Table

MOST_CENSORED = 0.8
"""With a larger share of censored rows, the column is perhaps written the other way round."""
_NO, _YES = (sorted({pair[at].casefold() for pair in TRUTHS}) for at in (0, 1))


def read_censored(table: Table, name: str, outcomes: np.ndarray) -> tuple[np.ndarray | None, list[str]]:
    """Which rows are censored, None where no row is, and notes; an empty cell is not.

    outcomes: the rewards as they are written, which are not to be trusted in censored rows.
    """
    labels = as_labels(table.cells(name)).str.to_lowercase()
    yes, no = (labels.is_in(texts).fill_null(False).to_numpy() for texts in (_YES, _NO))
    odd = ~(yes | no) & labels.is_not_null().to_numpy()
    if odd.any():
        row = int(np.argmax(odd))
        raise InputProblem(
            f"Column '{name}' (censored) must hold 1 or true where follow-up ended before the outcome was seen, and 0 "
            f"or false elsewhere, but {row_name(row)} holds {labels[row]!r}; correct it, or empty the cell."
        )
    known = np.isfinite(outcomes)
    if yes.any() and known[yes].any() and not known[~yes].any():
        raise InputProblem(
            f"Every row with a reward is marked as censored in '{name}', where 1 or true means that the outcome was "
            "not seen; if it means the opposite there, as in an event column, turn it round."
        )
    return (yes, _censored_notes(name, yes, known)) if yes.any() else (None, [f"No row is censored in '{name}'."])


def _censored_notes(name: str, censored: np.ndarray, known: np.ndarray) -> list[str]:
    count, written = int(censored.sum()), int((censored & known).sum())
    notes = [
        f"{count} of {len(censored)} rows are censored in '{name}': follow-up ended before their outcome was seen."
    ]
    if written:
        notes.append(f"{written} of the censored rows have a reward; it is not used.")
    if censored.mean() > MOST_CENSORED:
        notes.append(f"In '{name}', 1 or true must mean that the outcome was not seen; check that it does.")
    return notes
