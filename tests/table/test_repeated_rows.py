"""Rows that are there several times, and propensities that cannot be: said, with the column's name."""

import numpy as np
import polars as pl
import pytest

from prudent import InputProblem, Log
from prudent.evaluation.usable_rows import share_seen
from prudent.models import Fitted
from prudent.table import log_findings, repeated_rows


def frame(rows: int = 200, repeat: int = 1, **columns) -> pl.DataFrame:
    chance = np.random.default_rng(0)
    table = {
        "x": chance.normal(size=rows),
        "few": chance.integers(0, 2, rows),
        "act": chance.choice(["a", "b", "c"], rows),
        "y": chance.normal(size=rows).round(2),
    }
    return pl.concat([pl.DataFrame(table | columns)] * repeat)


def read(table: pl.DataFrame, **roles) -> Log:
    return Log.from_frame(table, action="act", reward="y", **roles)


def test_repeated_rows_are_counted_and_coincidences_are_not():
    (sentence,) = repeated_rows(read(frame(repeat=5)))
    assert "800 of 1000 rows" in sentence
    assert repeated_rows(read(frame())) == []
    coarse = frame(1000).drop("x").with_columns(y=pl.lit(np.arange(1000) % 2))
    assert repeated_rows(read(coarse)) == []


def test_repeated_rows_leak_nothing():
    assert log_findings(read(frame(repeat=5))) == log_findings(read(frame()))


def test_rows_that_the_model_has_seen_are_recognised_though_each_is_there_five_times():
    log = read(frame(repeat=5))

    model = object.__new__(Fitted)  # only its words and fingerprints are asked for
    facts = {"schema": log.schema, "action_labels": log.action_labels, "minimize": False, "roles": log.roles}
    for name, value in (
        facts
        | {"fingerprints": np.sort(log.fingerprints()), "groups": np.zeros(0, np.uint64)}
        | {"model": None, "logging_policy": None}
    ).items():
        object.__setattr__(model, name, value)
    assert share_seen(model, log) == 1.0
    other = frame(repeat=5).with_columns(pl.col("x") + 0.1)
    later = Log.from_frame(other, action="act", reward="y", schema=log.schema, action_labels=log.action_labels)
    assert share_seen(model, later) == 0.0


@pytest.mark.parametrize("name", ["propensity", "logging_prob", "p_score"])
def test_a_propensity_among_the_features_is_named(name):
    table = frame().with_columns(pl.Series(name, np.random.default_rng(1).uniform(0.1, 0.9, 200)))
    (finding,) = log_findings(read(table))
    assert finding.column == name
    assert f"--propensity {name}" in finding.sentence
    assert log_findings(read(table, propensity=name)) == []


def test_propensities_of_one_are_said_and_where_all_are_what_that_means():
    (note,) = [note for note in read(frame(p=np.ones(200)), propensity="p").notes if "'p'" in note]
    assert "1 in every row" in note
    assert "3 different" in note
    some = np.where(np.arange(200) < 20, 1.0, 0.3)
    assert any("'p' is 1 in 20 rows" in note for note in read(frame(p=some), propensity="p").notes)


@pytest.mark.parametrize(
    ("what", "leak"),
    [
        ("predicts the outcome", lambda y, act: 2 * y + 3),
        ("predicts the outcome", lambda y, act: y + 0.01 * np.sin(np.arange(len(y)))),
        ("made after the decision", lambda y, act: np.where(y > 0, np.arange(len(y)) % 7, np.nan)),
        ("made after the decision", lambda y, act: np.where(act == "a", np.arange(len(y)) % 7, np.nan)),
    ],
)
def test_leaks_of_the_outcome_and_the_action_are_named(what, leak):
    table = frame()
    table = table.with_columns(late=pl.Series(leak(table["y"].to_numpy(), table["act"].to_numpy())).fill_nan(None))
    assert [(finding.column, finding.what) for finding in log_findings(read(table))] == [("late", what)]


def test_reward_beyond_what_can_be_computed_with_is_refused():
    with pytest.raises(InputProblem, match=r"'y'.*1e\+39.*row 3"):
        read(frame(y=[0.0, 1.0, 1e39, *np.arange(197.0)]))
