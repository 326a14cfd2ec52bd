"""The usual ways as policies: on a log with gaps and labels, for frames of every kind, a row as in its batch."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import ACTIONS, read, visits

import prudent
from prudent.errors import InputProblem
from prudent.propensity import Known
from prudent.rivals import USUAL, usual_policies


@pytest.fixture(scope="module")
def usual(log):
    return usual_policies(log, seed=0)


@pytest.fixture(scope="module")
def later():
    return read(visits(400, seed=9).assign(chance=1 / 3), propensity="chance")


def test_each_is_better_than_the_logged_decisions(usual, later):
    evaluation = prudent.evaluate(usual, later, propensity=Known())
    for name in USUAL:
        assert evaluation.difference(name).low > 0


@pytest.mark.parametrize("name", USUAL)
def test_a_row_alone_is_decided_as_in_its_batch(usual, cases, name):
    together = usual[name](cases)
    assert set(together) <= set(ACTIONS)
    assert [usual[name](cases.iloc[[row]])[0] for row in range(6)] == together[:6]
    assert usual[name](pl.from_pandas(cases)) == together


def test_an_unseen_label_is_a_gap(usual, cases):
    unseen, empty = cases.copy(), cases.copy()
    unseen["ward"], empty["ward"] = "moon", None
    for policy in usual.values():
        assert policy(unseen) == policy(empty)


def test_a_log_without_rewards_is_refused():
    frame = pd.DataFrame({"age": np.arange(4.0), "dose": ["a", "b"] * 2, "y": [1.0, 2.0, 1.5, 3.0]})
    log = prudent.Log.from_frame(frame, action="dose", reward="y")
    with pytest.raises(InputProblem, match="no row"):
        usual_policies(prudent.Log(**{**vars(log), "rewards": np.full(4, np.nan)}))
