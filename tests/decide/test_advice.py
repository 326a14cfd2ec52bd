"""Advice as a frame of the kind it was asked with."""

from typing import Any

import pandas as pd
import polars as pl
import pytest
from conftest import COMPLETIONS

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
