"""Rows that belong together, such as the visits of one patient: all on one side of every split."""

from hashlib import blake2b

import numpy as np

from prudent.errors import InputProblem
from prudent.table.cells import as_labels
from prudent.table.frames import Table


def read_groups(table: Table, name: str, to_learn: bool) -> tuple[np.ndarray, list[str]]:
    """A number per row that rows of one group share, in this table and in any other, and notes.

    It is a hash of the cell, so that a model knows the groups it has seen without knowing their names. A row with an
    empty cell is a group of its own, with a negative number. to_learn: refuse a column that holds one group only.
    """
    labels = as_labels(table.cells(name))
    present = labels.drop_nulls()
    named = present.unique(maintain_order=True)
    if to_learn and len(named) == 1 and len(present) == len(labels):
        raise InputProblem(
            f"Column '{name}' (the group) holds only {named[0]!r}, so there are no two groups to tell apart; name the "
            "column that says which rows belong together, or leave it out."
        )
    numbers = {label: int.from_bytes(blake2b(label.encode(), digest_size=8).digest()) >> 1 for label in named}
    groups = np.array([-1 - row if label is None else numbers[label] for row, label in enumerate(labels)], np.int64)
    own = [] if not to_learn else [_group_note(name, groups)]
    return groups, [*own, *_empty_note(name, groups)]


def _group_note(name: str, groups: np.ndarray) -> str:
    _, sizes = np.unique(groups, return_counts=True)
    if sizes.max() == 1:
        return f"Every row has its own '{name}', so it makes no difference that rows of a group stay together."
    return (
        f"The rows belong to {len(sizes)} groups by '{name}', of up to {sizes.max()} rows; the rows of a group stay "
        "together in every split, and intervals allow for their likeness."
    )


def _empty_note(name: str, groups: np.ndarray) -> list[str]:
    empty = int((groups < 0).sum())
    rows = "1 row" if empty == 1 else f"{empty} rows"
    return [f"Group '{name}' is empty in {rows}; each of them is a group of its own."] if empty else []


def group_codes(groups: np.ndarray) -> tuple[np.ndarray, int]:
    """The groups numbered from 0 on, one number per row, and how many there are.

    >>> group_codes(np.array([70, 20, 70]))
    (array([1, 0, 1]), 2)
    """
    names, codes = np.unique(groups, return_inverse=True)
    return codes.reshape(-1), len(names)


def count_groups(groups: np.ndarray | None, rows: np.ndarray | None = None) -> int | None:
    """How many groups there are, among all rows or some of them; None without groups."""
    if groups is None:
        return None
    return len(np.unique(groups if rows is None else groups[rows]))


def deal_groups(groups: np.ndarray, folds: int, random: np.random.Generator) -> np.ndarray:
    """The fold of each row, dealt at random and by whole groups; fewer folds where there are fewer groups."""
    codes, count = group_codes(groups)
    return (random.permutation(count) % min(folds, count))[codes]


def first_groups(groups: np.ndarray, rows: int, random: np.random.Generator) -> np.ndarray:
    """Which rows are in groups that are drawn at random until they have about so many rows.

    At least one group is drawn and at least one is not, where there are two. A group that would take the number further
    from `rows` than it was is passed over, so that one huge group cannot be all there is.
    """
    codes, count = group_codes(groups)
    sizes, drawn, total = np.bincount(codes, minlength=count), np.zeros(count, bool), 0
    order = random.permutation(count)
    for group in order:
        if total < rows and sizes[group] <= 2 * (rows - total):
            drawn[group], total = True, total + sizes[group]
    if count > 1 and not drawn.any():
        drawn[np.argmin(sizes)] = True
    if count > 1 and drawn.all():
        drawn[order[-1]] = False
    return drawn[codes]


def every_fourth(rows: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Which rows are set aside to compare penalties and the like: every fourth, or every fourth group."""
    if groups is not None:
        codes, count = group_codes(groups)
        if count > 1:
            return codes % 4 == 0
    return np.arange(rows) % 4 == 0


def one_of_each(groups: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One row of each group at random, by row number, in their order."""
    order = random.permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])
