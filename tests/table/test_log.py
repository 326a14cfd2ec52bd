"""The log: actions, rewards, propensities, notes, splitting, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from prudent.errors import InputProblem
from prudent.table import Log, Schema, read_log

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "mapping": dict}
VISITS: dict[str, list[Any]] = {
    "age": [31, 54, None, 47, 60, 25],
    "ward": ["north", "south", None, "north", "south", "north"],
    "dose": ["low", "high", "low", None, "high", "extreme"],
    "outcome": [1.0, 0.5, None, 2.0, 0.0, None],
    "chance": [0.5, 0.25, 1.0, None, None, 0.1],
}


@pytest.fixture(params=FRAMES.values(), ids=list(FRAMES))
def frame(request):
    return request.param


def of(table: Any, **settings: Any) -> Log:
    return Log.from_frame(table, action="dose", reward="outcome", **settings)


def noted(log: Log, words: str) -> bool:
    return any(words in note for note in log.notes)


def test_every_kind_of_frame_gives_the_same_log(frame):
    log = of(frame(VISITS), propensity="chance")
    assert len(log) == 6
    assert log.schema.names == ("age", "ward")
    assert log.action_labels == ("high", "low")
    assert log.actions.tolist() == [1, 0, 1, -1, 0, -1]
    assert log.actions.dtype == np.int32
    assert log.values.dtype == np.float32
    np.testing.assert_array_equal(log.rewards, [1.0, 0.5, np.nan, 2.0, 0.0, np.nan])
    np.testing.assert_array_equal(log.propensities, [0.5, 0.25, 1.0, np.nan, np.nan, 0.1])
    assert log.rewarded.tolist() == [True, True, False, False, True, False]
    assert log.observed.tolist() == [[True, True]] * 2 + [[False, False]] + [[True, True]] * 3


def test_notes_name_the_columns_and_count_the_rows():
    log = of(VISITS | {"site": ["a"] * 6}, propensity="chance")
    facts = [("site", "'a'"), ("extreme", "1 row"), ("chance", "1 row"), ("chance", "1 in 1 row")]
    facts += [("dose", "2 rows"), ("outcome", "2 rows")]
    for note, (name, fact) in zip(log.notes, facts, strict=True):
        assert f"'{name}'" in note
        assert fact in note


def test_minimize_flips_the_sign_of_rewards_but_not_of_the_summary():
    log, flipped = of(VISITS), of(VISITS, minimize=True)
    np.testing.assert_array_equal(flipped.rewards, -log.rewards)
    np.testing.assert_array_equal(flipped.sign * flipped.rewards, log.sign * log.rewards)
    assert flipped.summary().actions == log.summary().actions


@pytest.mark.parametrize(
    ("cells", "labels", "codes"),
    [
        ([10, 9, 10, None], (9, 10), [1, 0, 1, -1]),
        ([1.0, 0.5, 1.0, float("nan")], (0.5, 1.0), [1, 0, 1, -1]),
        ([True, False, True, None], (False, True), [1, 0, 1, -1]),
        (["dose 10", "dose 9", "dose 10", "NA"], ("dose 9", "dose 10"), [1, 0, 1, -1]),
        (["true", "false", "true", "?"], ("false", "true"), [1, 0, 1, -1]),
    ],
)
def test_actions_keep_their_type(frame, cells, labels, codes):
    log = of(frame({"age": [31, 54, 47, 60], "dose": cells, "outcome": [1, 2, 3, 4]}))
    assert log.action_labels == labels
    assert [type(label) for label in log.action_labels] == [type(label) for label in labels]
    assert log.actions.tolist() == codes


def test_category_actions_and_boolean_rewards():
    table = pd.DataFrame({"age": [31, 54, 47], "dose": pd.Categorical(["b", "a", "b"]), "outcome": [True, False, True]})
    log = of(table)
    assert log.action_labels == ("a", "b")
    assert log.rewards.tolist() == [1.0, 0.0, 1.0]


def test_rewards_written_as_text_with_gap_marks_are_numbers():
    log = of(VISITS | {"outcome": ["1", "0.5", "NA", " 2 ", "0", "-"]})
    np.testing.assert_array_equal(log.rewards, of(VISITS).rewards)


def test_infinite_rewards_are_gaps_with_a_note():
    log = of(VISITS | {"outcome": [1.0, 0.5, float("inf"), 2.0, 0.0, None]})
    assert np.isnan(log.rewards[2])
    assert noted(log, "is infinite in 1 row")


def test_a_new_log_is_read_like_the_log_of_the_model():
    log = of(VISITS, ignore=["chance"])
    later = {
        "dose": ["high", "none", 3, "low"],
        "outcome": [1, 2, 3, None],
        "ward": ["east", "south", "north", None],
        "age": [40, None, 30, 900],
    }
    new = of(later, schema=log.schema, action_labels=log.action_labels)
    assert new.schema is log.schema
    assert new.action_labels == ("high", "low")
    assert new.actions.tolist() == [0, -1, -1, 1]
    assert noted(new, "'none' (1 row)")
    assert noted(new, "unknown to the model")
    assert noted(new, "ward: category 'east'")
    first = {name: cells[:1] for name, cells in later.items()}
    assert len(of(first, schema=log.schema, action_labels=log.action_labels)) == 1


def test_model_actions_match_across_types():
    table = {"age": [31, 54, 47], "dose": [1, 2, 1], "outcome": [1, 2, 3]}
    log = of(table)
    for cells in (["1", "2", "1"], [1.0, 2.0, 1.0]):
        new = of(table | {"dose": cells}, schema=log.schema, action_labels=log.action_labels)
        assert new.actions.tolist() == log.actions.tolist()


@pytest.mark.parametrize("share", [0.01, 0.5, 0.8, 0.99])
def test_split_is_deterministic_disjoint_and_covers(share):
    count = 97
    log = of({"age": list(np.random.default_rng(0).integers(0, 90, count)), "dose": ["a", "b"] * 48 + ["a"],
              "outcome": list(range(count)), "chance": [0.5] * count}, propensity="chance")  # fmt: skip
    past, later = log.split(share, seed=3)
    assert len(past) == max(round(share * count), 1)
    assert sorted([*past.rewards, *later.rewards]) == list(range(count))
    again, _ = log.split(share, seed=3)
    np.testing.assert_array_equal(again.rewards, past.rewards)
    assert past.propensities is not None
    assert len(past.propensities) == len(past)
    if share == 0.5:
        assert not np.array_equal(log.split(share, seed=4)[0].rewards, past.rewards)


def test_take_accepts_indices_and_masks():
    log = of(VISITS)
    assert log.take(np.array([4, 0])).rewards.tolist() == [0.0, 1.0]
    assert len(log.take(log.rewarded)) == 3
    assert log.take([1]).propensities is None


def test_arrays_are_read_only_and_the_callers_stay_writeable():
    log = of(VISITS)
    with pytest.raises(ValueError, match="read-only"):
        log.values[0, 0] = 1
    rewards = np.zeros(1)
    Log(log.schema, log.values[:1], log.observed[:1], log.actions[:1], rewards, log.action_labels)
    rewards[0] = 1.0


def test_summary():
    summary = of(VISITS).summary()
    assert (summary.rows, summary.rewarded) == (6, 3)
    assert [(c.name, c.kind, round(c.gap_share, 3), c.shows) for c in summary.columns] == [
        ("age", "real", 0.167, "25 to 60"),
        ("ward", "categorical", 0.167, "north, south"),
        ("chance", "real", 0.333, "0.1 to 1"),
    ]
    assert [(a.label, a.rows, a.mean_reward) for a in summary.actions] == [("high", 2, 0.25), ("low", 1, 1.0)]


def test_printing_a_log_shows_its_columns_actions_and_notes_but_no_row():
    table = VISITS | {"name": ["Ada", "Bo", "Cy", "Di", "Ed", "Flo"], "site": ["a"] * 6}
    log = of(table, ignore=["chance", "name"])
    for text in (str(log), str(log.summary())):
        for fact in ("6 rows", "age", "real", "17%", "25 to 60", "high", "low", "'site' holds only 'a'"):
            assert fact in text
        assert "array" not in text
        assert "Ada" not in text
        assert "31" not in text
    assert len(repr(log)) < 100
    assert "6 rows" in repr(log)


def test_printing_a_wide_log_is_short():
    random = np.random.default_rng(0)
    table = {f"x{at}": random.normal(size=6).tolist() for at in range(300)} | {
        name: VISITS[name] for name in ("dose", "outcome")
    }
    assert len(str(of(table)).splitlines()) < 80


def test_read_log_takes_the_same_settings(tmp_path):
    path = tmp_path / "visits.csv"
    pl.DataFrame(VISITS).write_csv(path)
    log = read_log(path, action="dose", reward="outcome", propensity="chance", kinds={"age": "real"})
    np.testing.assert_array_equal(log.actions, of(VISITS).actions)
    assert log.schema.columns[0].kind == "real"


def test_integer_actions_in_a_csv_with_gap_marks_stay_integers(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("age,dose,outcome\n30,1,2\n40,NA,3\n50,2,4\n")
    assert read_log(path, action="dose", reward="outcome").action_labels == (1, 2)


def test_ignored_columns_and_kinds_reach_the_schema():
    log = of(VISITS, ignore="chance", kinds={"ward": ["south", "north"]})
    assert log.schema.names == ("age", "ward")
    assert log.schema.columns[1].kind == "ordinal"
    assert of(VISITS, ignore=["chance", "dose"]).schema.names == ("age", "ward")


def test_unreadable_columns_do_not_matter_when_ignored():
    assert (
        of(VISITS | {"image": [[1], [2], [3], [4], [5], [6]]}, ignore=["image", "chance"]).schema
        == of(VISITS, ignore=["chance"]).schema
    )


@pytest.mark.parametrize(
    ("changes", "settings", "facts"),
    [
        ({}, {"action": "does"}, "'does' .the action.. Did you mean 'dose'"),
        ({}, {"reward": "result"}, "'result' .the reward.. There is 'age'"),
        ({}, {"propensity": "chanse"}, "'chanse' .the propensity.. Did you mean 'chance'"),
        ({}, {"ignore": ["wrad"]}, "'wrad' .to ignore.. Did you mean 'ward'"),
        ({}, {"reward": "dose"}, "'dose' .* action and the reward"),
        ({}, {"propensity": "dose"}, "'dose' .* action and the propensity"),
        ({}, {"kinds": {"dose": "categorical"}}, "'dose' .* drop it from kinds"),
        ({"dose": ["low"] * 6}, {}, "only 'low' .* at least two actions"),
        ({"dose": [None] * 6}, {}, "No row has both .*'dose'"),
        ({"dose": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, {}, "'dose' .* 0.1; bin it"),
        ({"dose": [["a"], ["b"], ["a"], ["b"], ["a"], ["b"]]}, {}, "'dose' holds cells of type List"),
        ({"outcome": ["good", "bad", None, "good", "bad", "good"]}, {}, "'outcome' .*'bad' and 'good'.* 1 .* 0"),
        ({"outcome": [None] * 6}, {}, "'outcome' has no number"),
        ({"outcome": [None, None, 1, 1, None, None], "dose": ["a", "b", None, None, "a", "b"]}, {}, "No row has both"),
        ({"chance": [0.5, 0, 1, 1, 1, 1]}, {"propensity": "chance"}, "'chance' holds 0 in row 2"),
        ({"chance": [0.5, 1, 1.2, 1, 1, 1]}, {"propensity": "chance"}, "holds 1.2 in row 3"),
        ({"chance": [0.5, 1, float("inf"), 1, 1, 1]}, {"propensity": "chance"}, "holds inf in row 3"),
        ({"chance": ["a", "b", "c", "d", "e", "f"]}, {"propensity": "chance"}, "Propensity .* must hold numbers"),
        ({}, {"ignore": ["age", "ward", "chance"]}, "no column left to learn from"),
    ],
)  # fmt: skip
def test_bad_logs_are_refused(frame, changes, settings, facts):
    with pytest.raises(InputProblem, match=facts):
        Log.from_frame(frame(VISITS | changes), **({"action": "dose", "reward": "outcome"} | settings))


def test_too_many_actions_are_refused():
    count = 201
    table = {"age": [30, 40, 50] * 67, "dose": [f"d{row}" for row in range(count)], "outcome": [1.0] * count}
    with pytest.raises(InputProblem, match=r"201 .* 200 .*; bin or group"):
        of(table)


@pytest.mark.parametrize(("rows", "sentence"), [(0, "has no rows"), (1, "has one row")])
def test_tables_too_short_to_learn_from(frame, rows, sentence):
    with pytest.raises(InputProblem, match=sentence):
        of(frame({name: cells[:rows] for name, cells in VISITS.items()}))


def test_no_rewarded_row_in_an_evaluation_log():
    log = of(VISITS)
    with pytest.raises(InputProblem, match=r"'dose' .*'outcome'"):
        of(VISITS | {"dose": ["other"] * 6}, schema=log.schema, action_labels=log.action_labels)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
def test_split_needs_a_share(share):
    with pytest.raises(InputProblem, match=r"'share' parameter of Log\.split"):
        of(VISITS).split(share)


def test_a_million_rows_are_encoded_without_a_loop_over_rows():
    random = np.random.default_rng(0)
    count = 1_000_000
    table = pl.DataFrame({"age": random.integers(18, 95, count), "ward": random.choice(["a", "b"], count)})
    schema, _ = Schema.infer(table)
    encoded = schema.encode(table)
    assert encoded.observed.all()
    assert not any(encoded.flags)
