"""Whole numbers that name rows rather than measure something, whatever the order of the rows."""

import re

import numpy as np

FEWEST_ROWS = 20
FEWEST_DIGITS = 6
NEARLY = 0.98

_NAME_OF_AN_ID = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|mrn)$|^id[\W_])|[a-z]I[dD]$|^Unnamed: 0$|^$"
    r"|(?i:(pid|patient|subject|person|case|record|row|encounter)[\W_]*(no|nr|num|number|names?|key)$)"
)


def is_named_as_identifier(name: str) -> bool:
    return bool(_NAME_OF_AN_ID.search(name))


def are_keys(numbers: np.ndarray) -> bool:
    """Whether whole numbers were given out to be different, as keys are, rather than measured.

    Numbers that are measured repeat by chance: n of them within a range of R values have about n² / 2R equal pairs, and
    more if some values are likelier than others. Numbers with far fewer equal pairs than that were made to differ: the
    rows numbered 1 to n have none where n / 2 are expected. Where the range is too wide for repeats (ages in days of
    50 patients), nothing can be said, and the numbers count as measured; except for numbers of six and more digits, all
    equally long, as record numbers are.

    >>> are_keys(np.arange(1000, 1400)), are_keys(np.arange(1000, 1400, 3))
    (True, True)
    >>> are_keys(np.random.default_rng(0).permutation(30_000)[:60])
    False
    """
    rows = len(numbers)
    distinct = len(np.unique(numbers))
    if rows < FEWEST_ROWS or distinct < NEARLY * rows:
        return False
    expected_pairs = rows * (rows - 1) / 2 / (float(numbers.max()) - float(numbers.min()) + 1)
    # at most one chance in twenty that measured numbers repeat so rarely
    if expected_pairs >= 3 + 3 * (rows - distinct):
        return True
    smallest, largest = float(numbers.min()), float(numbers.max())
    equally_long = smallest >= 10 ** (FEWEST_DIGITS - 1) and len(f"{smallest:.0f}") == len(f"{largest:.0f}")
    return equally_long and distinct == rows
