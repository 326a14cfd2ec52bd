"""Gaps of every spelling, in every place, in every kind of frame, for every model."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import COMPLETIONS, MODELS, read, small_settings, visits

from prudent.decide import Conservative, Search, Status, TailAverse

pytestmark = pytest.mark.usefixtures("one_chunk")

SPELLINGS = {
    "nan": np.nan,
    "NA": pd.NA,
    "None": None,
    "empty": "",
    "text NA": "NA",
    "?": "?",
    "blank": "  ",
    "NaT": pd.NaT,
}
FRAMES = {
    "pandas": lambda frame: frame,
    "pandas nullable": lambda frame: frame.convert_dtypes(),
    "polars": lambda frame: pl.from_pandas(frame),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "mapping": lambda frame: frame.astype(object).where(frame.notna(), None).to_dict("list"),
    "records": lambda frame: frame.astype(object).where(frame.notna(), None).to_dict("records"),
}


def advise(fitted, frame, strategy=None):
    """Advice whose every number and label is sound."""
    advice = fitted.policy(strategy or Conservative(), completions=COMPLETIONS, search=Search(steps=0)).recommend(frame)
    assert set(advice.actions) <= set(fitted.action_labels)
    for numbers in (advice.expected_reward, advice.worst_reward, advice.scored.entropy, advice.scored.scores):
        assert np.isfinite(numbers).all()
    assert (advice.scored.worst <= advice.scored.expected + 0.05 * np.ptp(advice.scored.expected) + 0.2).all()
    return advice


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=list(SPELLINGS))
@pytest.mark.parametrize("name", MODELS)
def test_every_spelling_of_a_gap_is_the_same_gap(fitted_models, cases, name, spelling):
    spelled = cases.astype(object).where(cases.notna(), spelling)
    assert advise(fitted_models[name], spelled).columns() == advise(fitted_models[name], cases).columns()


@pytest.mark.parametrize("make", FRAMES.values(), ids=list(FRAMES))
@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_frame_gets_the_same_advice(fitted_models, cases, name, make):
    table = make(cases)
    advice = advise(fitted_models[name], table)
    assert advice.columns() == advise(fitted_models[name], cases).columns()
    kind = type(table) if isinstance(table, pd.DataFrame | pl.DataFrame | pa.Table) else pl.DataFrame
    assert isinstance(advice.to_frame(), kind)
    assert len(advice.to_frame()) == len(cases)


@pytest.mark.parametrize("strategy", [None, TailAverse()], ids=repr)
def test_one_column_entirely_missing(fitted, cases, strategy):
    for name in cases.columns:
        advice = advise(fitted, cases.assign(**{name: None}), strategy)
        assert not advice.encoded.observed[:, fitted.schema.names.index(name)].any()


def test_a_whole_row_missing(fitted, cases):
    advice = advise(fitted, cases)
    assert advice[1].status is Status.NOTHING_OBSERVED
    everything = advise(fitted, cases.head(3).assign(**dict.fromkeys(cases.columns)))
    assert len(set(everything.actions)) == 1
    np.testing.assert_allclose(everything.expected_reward, advice.expected_reward[1], rtol=1e-5)


def test_gaps_in_all_rows(fitted, cases):
    holed = cases.copy()
    for row in range(len(holed)):
        holed.iloc[row, row % holed.shape[1]] = None
    assert not advise(fitted, holed).encoded.observed.all(axis=1).any()


def test_no_gaps_at_all(fitted):
    advice = advise(fitted, visits(20, seed=3, gaps=0.0))
    assert advice.encoded.observed.all()
    np.testing.assert_allclose(advice.scored.entropy, 0.0, atol=1e-4)
    np.testing.assert_allclose(advice.scored.worst, advice.scored.expected, rtol=1e-3, atol=1e-3)
    assert {case.status for case in advice} == {Status.OK}


@pytest.mark.parametrize("name", MODELS)
def test_gaps_at_decision_only(name):
    fitted = small_settings(name).fit(read(visits(gaps=0.0)), seed=0, progress=False)
    advise(fitted, visits(20, seed=1))


@pytest.mark.parametrize("name", MODELS)
def test_gaps_at_fit_in_every_row(name):
    """No logged row is complete, one column is nearly empty, one row quite empty, and some rewards are gone."""
    frame = visits(gaps=0.2)
    for row in range(len(frame)):
        frame.iloc[row, row % 7] = None
    frame.loc[20:, "marker"] = np.nan
    frame.loc[5, frame.columns[:7]] = None
    frame.loc[10:30, "outcome"] = np.nan
    frame.loc[40:45, "dose"] = None
    log = read(frame)
    assert not log.observed.all(axis=1).any()
    fitted = small_settings(name).fit(log, seed=0, progress=False)
    assert fitted.report.rewarded == int(log.rewarded.sum()) < len(log)
    advise(fitted, visits(20, seed=1))
    advise(fitted, visits(20, seed=1, gaps=0.0))
