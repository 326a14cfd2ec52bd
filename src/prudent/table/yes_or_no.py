"""Outcomes with two values: true and false, or yes and no, are 1 and 0."""

from typing import NamedTuple

import numpy as np
import polars as pl

YES, NO = ("yes", "true", "y", "t"), ("no", "false", "n", "f")


class Answers(NamedTuple):
    """The cells as 1 and 0, NaN in gaps, and which is which."""

    numbers: np.ndarray
    note: str


def yes_or_no(cells: pl.Series) -> Answers | None:
    """The cells as numbers if all of them are answers; None where one is something else.

    >>> answers = yes_or_no(pl.Series("died", ["Yes", None, "no"]))
    >>> answers.numbers.tolist(), answers.note
    ([1.0, nan, 0.0], "Reward 'died': 'Yes' is read as 1 and 'no' is read as 0.")
    """
    if cells.dtype == pl.Boolean:
        return Answers(_numbers(cells), f"Reward '{cells.name}': true is read as 1 and false as 0.")
    if cells.dtype != pl.String:
        return None
    words = cells.str.to_lowercase()
    if cells.null_count() == len(cells) or not words.is_in([*YES, *NO]).fill_null(True).all():
        return None
    yes = words.is_in(list(YES))
    meant = {1: cells.filter(yes.fill_null(False)), 0: cells.filter(~yes.fill_null(True))}
    read = [f"'{found[0]}' is read as {number}" for number, found in meant.items() if len(found)]
    return Answers(_numbers(yes), f"Reward '{cells.name}': {' and '.join(read)}.")


def _numbers(cells: pl.Series) -> np.ndarray:
    return cells.cast(pl.Float64).fill_null(np.nan).to_numpy()
