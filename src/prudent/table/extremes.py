"""Numbers so far from all others that they are probably slips: they must not set the scale of a column."""

import numpy as np

from prudent.table.column_notes import ColumnNote, option

TIMES = 10.0
"""A number is extreme if it is farther from the others than so many times their whole range."""
FEWEST = 10
"""Of fewer numbers none is extreme."""
FEW_VALUES = 20
"""With fewer different values than this, how often each occurs says where the middle of the column is."""


def usual_range(numbers: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest number that are not extreme.

    Beginning with the middle half, the range grows by the nearest number until that is too far away. Long tails are
    none of its business: there, every number has others nearly as large.

    >>> usual_range(np.array([31.0, 54, 47, 60, -1e30, 38, 44, 58, 41, 35]))
    (31.0, 60.0)
    """
    values = np.unique(numbers)
    if len(numbers) < FEWEST:
        return float(values[0]), float(values[-1])
    # distinct values, so that a column of mostly zeros has a middle, too
    middle = numbers if len(values) < FEW_VALUES else values
    low, high = (int(np.searchsorted(values, np.quantile(middle, at, method="nearest"))) for at in (0.25, 0.75))
    with np.errstate(over="ignore"):
        if low == high and len(values) > 1:
            low, high = _with_nearest(values, low)
        gaps = np.diff(values)
        too_far = gaps[high:] > TIMES * (values[high:-1] - values[low])
        beyond = gaps[:low][::-1] > TIMES * (values[high] - values[1 : low + 1][::-1])
    above, below = (int(np.argmax(each)) if each.any() else len(each) for each in (too_far, beyond))
    return float(values[low - below]), float(values[high + above])


def _with_nearest(values: np.ndarray, at: int) -> tuple[int, int]:
    if at == 0:
        return 0, 1
    if at == len(values) - 1 or values[at] - values[at - 1] < values[at + 1] - values[at]:
        return at - 1, at
    return at, at + 1


def extreme_note(
    name: str, numbers: np.ndarray, usual: tuple[float, float], shown: tuple[str, str]
) -> list[ColumnNote]:
    """What to say of a column's extreme numbers; `shown` is its usual range as the user would write it."""
    extreme = numbers[(numbers < usual[0]) | (numbers > usual[1])]
    if not len(extreme):
        return []
    first, cells = f"{extreme[0]:.12g}", f"{len(extreme)} cell{'s' * (len(extreme) > 1)}"
    sentence = (
        f"Column '{name}' holds numbers far from all others ({shown[0]} to {shown[1]}) in {cells}, such as {first}: "
        "a fit reads them as the end of that range, widened by its width. Correct or empty them; if they stand for "
        f"gaps, add {option('--missing', f'{name}={first}')}."
    )
    return [
        ColumnNote(
            name, sentence, "hold numbers far from all others: a fit reads them as the end of their range, widened."
        )
    ]
