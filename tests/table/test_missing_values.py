"""Declared gaps, codes that may stand for gaps, absent columns, one case as a dict."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prudent
from prudent.errors import InputProblem
from prudent.table import Log, Roles, Schema, parse_missing

AGES = [31, 54, 47, 999, 60, 999, 25, 33, 71, 18]
TABLE: dict[str, list[Any]] = {
    "age": AGES,
    "ward": ["north", "n.k.", "south", "north", "south"] * 2,
    "dose": ["a", "b"] * 5,
    "outcome": [1.0, 2.0, 3.0, 2.5, 999.0, 1.5, 2.0, 3.0, 999.0, 1.0],
}


def of(table: Any = TABLE, **settings: Any) -> Log:
    return Log.from_frame(table, action="dose", reward="outcome", **settings)


def test_a_code_is_named_with_its_rows_and_not_made_a_gap():
    log = of()
    assert log.observed.all()
    for column in ("age", "outcome"):
        named = [note for note in log.notes if f"'{column}'" in note and "999" in note]
        assert len(named) == 1
        assert "2 rows" in named[0]
        assert f"--missing {column}=999" in named[0]
        assert "missing={'" in named[0]


@pytest.mark.parametrize(
    "missing",
    [999, [999], ["999"], "999", 999.0, {"age": 999, "outcome": [999]}, {"*": [999]}, {"age": 999, "out*": 999}],
)
def test_declared_values_are_gaps_everywhere_they_were_declared(missing):
    log = of(missing=missing)
    assert log.observed[:, 0].tolist() == [age != 999 for age in AGES]
    assert np.isnan(log.rewards).tolist() == [reward == 999 for reward in TABLE["outcome"]]
    assert log.schema.columns[0].high == 71
    assert not any("stands for a gap" in note for note in log.notes)


def test_declared_values_stay_gaps_in_new_cases_and_later_logs():
    log = of(missing={"age": 999, "ward": "n.k.", "outcome": 999})
    schema = Schema.from_json(json.loads(json.dumps(log.schema.to_json())))
    assert schema == log.schema
    assert schema.encode({"age": [999, "999", 40], "ward": ["n.k.", "north", "south"]}).observed.tolist() == [
        [False, False],
        [False, True],
        [True, True],
    ]
    assert log.roles.missing_values()["outcome"] == ["999"]
    assert Roles(**json.loads(json.dumps(asdict(log.roles)))) == log.roles
    read = of(missing=log.roles.missing_values(), schema=schema, action_labels=log.action_labels)
    np.testing.assert_array_equal(read.rewards, log.rewards)


def test_a_declared_value_of_an_unknown_column_is_refused():
    with pytest.raises(InputProblem, match=r"no column 'aeg' .* Did you mean 'age'"):
        of(missing={"aeg": 999})


@pytest.mark.parametrize("text", ["", "=999", "age="])
def test_bad_missing_values_on_the_command_line(text):
    with pytest.raises(InputProblem, match="COLUMN=VALUE"):
        parse_missing([text])


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ([1, 2, 3, 4, 5] * 6 + [99] * 3, "99"),
        ([1, 2] * 10 + [9] * 3, "9"),
        ([*range(20, 90), 888, 999, 999], "999"),
        (list(range(18, 91)) * 2 + [99] * 25, "99"),
        ([0.5 * row for row in range(40)] + [-1, -1], "-1"),
        ([-3.5, -2.25, 4.5, 1.25] * 5 + [-999.0] * 3, "-999"),
        (["2020-01-01", "2020-03-01", "2021-01-01"] * 5 + ["1900-01-01"] * 3, "1900-01-01"),
        (["0,5", "1,5", "2,75"] * 5 + ["99,9"] * 2, "99,9"),
    ],
)
def test_codes_that_stand_apart_are_named(cells, code):
    _, notes = Schema.infer({"x": cells})
    assert any(f"--missing x={code}" in note for note in notes)
    again, notes = Schema.infer({"x": cells}, missing={"x": code})
    assert not any(f"--missing x={code}" in note for note in notes)
    assert not again.encode({"x": [code]}).observed.any()


@pytest.mark.parametrize(
    "cells",
    [
        list(range(10)) * 3,
        list(range(60, 100)) * 2,
        [-1, 0, 1, 2] * 5,
        [1, 2, 3, 99],
        [1, 3, 9, 27, 99, 99],
        (np.random.default_rng(0).normal(size=200) * 100).round().tolist(),
        np.random.default_rng(1).geometric(0.03, size=400).tolist(),
    ],
)
def test_values_among_others_are_no_codes(cells):
    _, notes = Schema.infer({"x": cells})
    assert not any("--missing" in note for note in notes)


# --- absent columns, one case ---


def test_an_absent_column_is_a_column_of_gaps_with_a_note():
    schema, _ = Schema.infer({"age": [31, 54], "ward": ["north", "south"], "height": [1.5, 1.75]})
    encoded = schema.encode({"age": [40, 50], "wards": ["north", "south"]})
    assert encoded.observed.tolist() == [[True, False, False]] * 2
    assert encoded.flags == ["", ""]
    assert any("'ward'" in note and "Did you mean 'wards'" in note for note in encoded.notes)
    assert any("'height'" in note and "Did you mean" not in note for note in encoded.notes)
    with pytest.raises(InputProblem, match="'age'"):
        schema.encode({"hight": [1.5]})


def test_a_later_log_may_lack_features_but_not_roles():
    log = of()
    later = {name: cells for name, cells in TABLE.items() if name != "ward"}
    read = of(later, schema=log.schema, action_labels=log.action_labels)
    assert not read.observed[:, 1].any()
    assert any("'ward'" in note for note in read.notes)
    with pytest.raises(InputProblem, match=r"'outcome' .the reward"):
        of({"age": [1], "dose": ["a"]}, schema=log.schema, action_labels=log.action_labels)


def test_one_case_as_a_dict():
    schema, _ = Schema.infer({"age": [31, 54], "ward": ["north", "south"]})
    for case in ({"age": 54, "ward": None}, {"age": np.int64(54), "ward": pd.NA}, {"age": "54", "ward": ""}):
        assert schema.encode(case).observed.tolist() == [[True, False]]
        np.testing.assert_array_equal(schema.encode(case).values, schema.encode([case]).values)
    with pytest.raises(InputProblem, match=r"'ward' .* single cell, 'north'"):
        schema.encode({"age": [54], "ward": "north"})


def test_a_policy_advises_on_one_case_as_a_dict_and_on_absent_columns(fitted_models, cases):
    policy = fitted_models["causal"].policy(prudent.MaximumExpectedReward(), completions=32)
    row = {name: None if pd.isna(cell) else cell for name, cell in cases.iloc[0].items()}
    advice = policy.recommend(row)
    assert advice.actions == [policy.recommend(cases).actions[0]]
    assert advice[0].explain().to_dict()
    assert advice.notes == ()
    without = policy.recommend({name: cell for name, cell in row.items() if name != "ward"})
    assert any("'ward'" in note for note in without.notes)
    assert without.actions == policy.recommend(row | {"ward": None}).actions
