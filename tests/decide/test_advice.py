"""Advice as a frame of the kind it was asked with, and as a summary that shows no row."""

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import polars as pl
import pytest
from conftest import COMPLETIONS

from prudent.decide import Status

pytestmark = pytest.mark.usefixtures("one_chunk")


@pytest.fixture(scope="module")
def policy(fitted_models: Any) -> Any:
    return fitted_models["causal"].policy(completions=COMPLETIONS)


def test_the_index_of_a_pandas_frame_is_kept(policy: Any, cases: pd.DataFrame):
    some = cases.iloc[[4, 0, 7]]
    assert policy.recommend(some).to_frame().index.tolist() == [4, 0, 7]
    levels = pd.MultiIndex.from_tuples([("a", 2), ("b", 1), ("a", 1)], names=["ward", "bed"])
    frame = policy.recommend(some.set_index(levels)).to_frame()
    pd.testing.assert_index_equal(frame.index, levels)
    assert frame["action"].tolist() == list(policy.recommend(some).actions)


def test_other_frames_come_back_as_they_were_given(policy: Any, cases: pd.DataFrame):
    some = pl.from_pandas(cases.head(3))
    assert isinstance(policy.recommend(some).to_frame(), pl.DataFrame)
    assert type(policy.recommend(some.to_arrow()).to_frame()) is type(some.to_arrow())


def test_printing_an_advice_counts_and_shows_no_row(policy: Any, cases: pd.DataFrame):
    some = cases.assign(marker=cases["marker"].where(cases.index != 3, 1e9)).set_index(cases.index + 100_017)
    advice = policy.recommend(some)
    text, summary = str(advice), advice.summary()
    for row in summary["actions"]:
        given = [case.expected_reward for case in advice if case.action == row["action"]]
        assert row["rows"] == len(given)
        assert row["expected_reward"] == pytest.approx(sum(given) / len(given))
        assert f"{row['action']} " in text
        assert f" {row['rows']} " in text
    assert sum(row["rows"] for row in summary["actions"]) == sum(one["rows"] for one in summary["statuses"]) == 40
    assert summary["flagged"] == 1
    assert Status.NOTHING_OBSERVED.value in text
    for shown in (text, repr(advice)):
        assert "100017" not in shown
        assert "1e+09" not in shown
    assert len(text.splitlines()) < 20
    assert len(repr(advice)) < 120
    assert "to_frame" in text
    json.dumps(summary, allow_nan=False)


def test_referred_rows_have_no_mean(policy: Any, cases: pd.DataFrame):
    (row,) = replace(policy, floor=99.0).recommend(cases).summary()["actions"]
    assert (row["action"], row["rows"], row["expected_reward"]) == (None, 40, None)


def test_printing_a_case_is_one_line_of_its_advice(policy: Any, cases: pd.DataFrame):
    case = policy.recommend(cases)[3]
    assert str(case).startswith(f"Row 4: {case.action}; ")
    assert "single outcomes" in str(case)
    assert "\n" not in str(case)
    referred = str(replace(policy, floor=99.0).recommend(cases)[3])
    assert str(Status.BELOW_FLOOR) in referred
    assert "single outcomes" not in referred
