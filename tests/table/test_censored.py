"""Censored rows: how they are written, and that their rewards are not used."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from prudent import InputProblem, Log


def read(lost: list[Any], outcome: list[Any] | None = None, **reading: Any) -> Log:
    rows = np.arange(len(lost))
    rewards = (rows % 3 * 1.0).tolist() if outcome is None else outcome
    frame = pd.DataFrame({"age": rows * 1.5, "dose": rows % 2, "outcome": rewards, "lost": lost})
    return Log.from_frame(frame, action="dose", reward="outcome", censored="lost", **reading)


@pytest.mark.parametrize(
    "lost",
    [
        [True, False, False, True, False, False],
        [1, 0, 0, 1, 0, 0],
        ["1", "0", "0", "1", None, "0"],
        ["yes", "no", "No", "YES", "n", ""],
        [1.0, 0.0, float("nan"), 1.0, 0.0, 0.0],
    ],
)
def test_censored_rows_have_no_reward(lost):
    log = read(lost)
    np.testing.assert_array_equal(log.censored, [True, False, False, True, False, False])
    np.testing.assert_array_equal(log.rewarded, [False, True, True, False, True, True])
    assert log.followed.all()
    assert log.schema.names == ("age",)
    assert list(log.cases().columns) == ["age"]
    assert any("2 of 6" in note for note in log.notes)
    assert any("2 of the censored" in note for note in log.notes)


def test_a_row_without_reward_that_is_not_censored_is_left_out():
    log = read([1, 0, 0, 0, 0, 0], [None, None, 1.0, 2.0, 1.0, 0.0])
    np.testing.assert_array_equal(log.followed, [True, False, True, True, True, True])
    assert any("1 row has no reward" in note for note in log.notes)


def test_nobody_is_censored():
    log = read([0, 0, 0, 0, 0, 0])
    assert log.censored is None
    assert log.rewarded.all()


def test_what_it_cannot_hold():
    with pytest.raises(InputProblem, match=r"'lost'.*row 3.*'maybe'"):
        read(["0", "1", "maybe", "0", "0", "0"])
    with pytest.raises(InputProblem, match=r"'lost'.*opposite"):
        read([1, 0, 1, 0, 1, 1], [1.0, None, 2.0, None, 1.0, 3.0])
    with pytest.raises(InputProblem, match=r"No column|no column"):
        Log.from_frame({"x": [1, 2], "a": [0, 1], "r": [1, 2]}, action="a", reward="r", censored="gone")
