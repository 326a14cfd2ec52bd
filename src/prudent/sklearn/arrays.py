"""From what scikit-learn hands over, arrays or frames, to tables and labels."""

from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from prudent.errors import InputProblem
from prudent.table import Table, take_rows, to_table

MOST_CLASSES = 200


def features(estimator: BaseEstimator, given: Any, reset: bool) -> Table:
    """The columns of X; with `reset` their number and names become those of the estimator, else they must be those."""
    is_frame = nw.dependencies.is_into_dataframe(given)
    if not is_frame:
        as_it_is: Any = {"dtype": None, "ensure_all_finite": "allow-nan"}
        given = check_array(given, ensure_min_samples=2 if reset else 1, estimator=estimator, **as_it_is)
    validate_data(estimator, given, reset=reset, skip_check_array=True)
    if is_frame:
        return to_table(given)
    return to_table({f"x{number}": given[:, number] for number in range(given.shape[1])})


def repeated(table: Table, times: int) -> Table:
    """Every row so many times in a row."""
    return to_table(take_rows(table, np.repeat(np.arange(table.rows), times)))


def actions_taken(given: Any, rows: int) -> np.ndarray:
    """The labels in y, one per row."""
    if given is None:
        raise InputProblem(
            "PolicyClassifier requires y to be passed, but the target y is None; give the actions that were taken."
        )
    labels = column_or_1d(given, warn=True)
    if labels.dtype.kind in "fc":
        assert_all_finite(labels, input_name="y")
    elif labels.dtype == object and any(label is None or label != label for label in labels):
        raise InputProblem("Input y contains NaN or None; leave out rows whose action is not known.")
    check_consistent_length(np.empty(rows), labels)
    distinct = len(np.unique(labels))
    if labels.dtype.kind == "f" and (distinct > MOST_CLASSES or (distinct == len(labels) > 2)):
        raise InputProblem(
            f"Unknown label type: continuous. y holds {distinct} different numbers; bin them into a few actions first."
        )
    return labels


def outcomes(given: Any, rows: int) -> np.ndarray:
    """The rewards, one per row; NaN where there is none."""
    rewards = column_or_1d(given)
    check_consistent_length(np.empty(rows), rewards)
    return rewards
