"""How messy texts are read: numbers, dates, bands, spellings; the same alone as in a batch, and after saving."""

import json
from typing import Any

import numpy as np
import pytest

from prudent.errors import InputProblem
from prudent.table import Column, Log, Schema, parse_kind, read_table


def only(cells: list, kind: Any = None, **settings: Any) -> tuple[Column, tuple[str, ...]]:
    schema, notes = Schema.infer({"x": cells}, None if kind is None else {"x": kind}, **settings)
    return schema.columns[0], notes


def decoded(cells: list, new: list, **settings: Any) -> list:
    """What the column of `cells` makes of new cells, all together; each must be read the same alone, and when the
    schema was saved."""
    schema, _ = Schema.infer({"x": cells}, **settings)
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema
    batch = again.encode({"x": new})
    for row, cell in enumerate(new):
        alone = again.encode([{"x": cell}])
        np.testing.assert_array_equal(alone.values[0], batch.values[row])
        np.testing.assert_array_equal(alone.observed[0], batch.observed[row])
    return again.decode(np.where(batch.observed, batch.values, np.nan))["x"]


def noted(notes: tuple[str, ...], *facts: str) -> bool:
    return any(all(fact in note for fact in ("'x'", *facts)) for note in notes)


@pytest.mark.parametrize(
    ("cells", "numbers", "facts"),
    [
        (["<5", "7.5", "> 100", "≤ 6", "8.25"], [5, 7.5, 100, 6, 8.25], ["3 cells"]),
        (["5 %", "7.5%", "8.25", "9"], [5, 7.5, 8.25, 9], ["2 cells"]),
        (["1,234", "12,500.5", "980", "7"], [1234, 12500.5, 980, 7], ["2 cells", "--decimal"]),
        (["1 234", "2'500.5", "980"], [1234, 2500.5, 980], ["2 cells"]),
        (["72,5", "81,25", "1.234,5", "90"], [72.5, 81.25, 1234.5, 90], ["decimal comma"]),
        (["0,125", "0,250", "0,500"], [0.125, 0.25, 0.5], ["decimal comma"]),
        (["72,5", "81.2", "90", "70.125"], [72.5, 81.2, 90, 70.125], ["decimal comma"]),
        (["<0,5", "1,25", "3 %"], [0.5, 1.25, 3], ["1 cell"]),
        (["−3.5", "4.5", "7.25"], [-3.5, 4.5, 7.25], []),
    ],
)
def test_texts_that_are_numbers(cells, numbers, facts):
    column, notes = only(cells)
    assert column.kind in ("real", "positive")
    assert decoded(cells, cells) == pytest.approx(numbers, rel=1e-5)
    for fact in facts:
        assert noted(notes, fact)


def test_a_decimal_comma_column_takes_numbers_too():
    assert decoded(["72,5", "81,2", "64,0"], [70.5, "70,5"]) == pytest.approx([70.5, 70.5])


def test_470_weights_with_decimal_commas_are_no_categories():
    random = np.random.default_rng(0)
    cells = [f"{weight:.1f}".replace(".", ",") for weight in random.normal(72, 20, 600)]
    column, _ = only(cells)
    assert column.kind == "real"
    assert column.high > 100


@pytest.mark.parametrize(
    ("cells", "dates", "facts"),
    [
        (["31.12.2020", "1.2.2021", "03.04.2021"], ["2020-12-31", "2021-02-01", "2021-04-03"], []),
        (["31/12/2020", "03/04/2021"], ["2020-12-31", "2021-04-03"], ["day first", "x=date:month-first"]),
        (["12/31/2020", "03/04/2021"], ["2020-12-31", "2021-03-04"], ["month first", "x=date:day-first"]),
        (["31-12-2020", "2021-04-03"], ["2020-12-31", "2021-04-03"], ["day first"]),
        (["2020/12/31", "2021.4.3"], ["2020-12-31", "2021-04-03"], []),
        (["03/04/2021", "05/06/2021"], ["2021-04-03", "2021-06-05"], ["no cell tells", "x=date:month-first"]),
    ],
)
def test_dates_in_other_orders(cells, dates, facts):
    column, notes = only(cells)
    assert column.kind == "date"
    assert decoded(cells, cells) == dates
    assert bool(notes) == bool(facts)
    assert not facts or noted(notes, *facts)


def test_a_date_order_can_be_set():
    assert parse_kind("seen on=date:month-first") == ("seen on", "date:month-first")
    schema, _ = Schema.infer({"x": ["03/04/2021", "05/06/2021"]}, {"x": "date:month-first"})
    assert schema.decode(schema.encode({"x": ["03/04/2021"]}).values)["x"] == ["2021-03-04"]
    with pytest.raises(InputProblem, match="date:day-first"):
        Schema.infer({"x": ["03/04/2021", "05/06/2021"]}, {"x": "date:year-first"})


def test_a_day_first_clock_time():
    assert decoded(["31.12.2020 06:00", "01.01.2021 18:30"], ["31.12.2020 06:00"]) == ["2020-12-31T06:00:00"]


@pytest.mark.parametrize(
    ("cells", "levels"),
    [
        (["80+", "20-29", "<20", "30–39"], ("<20", "20-29", "30–39", "80+")),
        (["10-19", "100-109", "20-29"], ("10-19", "20-29", "100-109")),
        (["High", "Low", "Medium"], ("Low", "Medium", "High")),
        (["severe", "none", "mild"], ("none", "mild", "severe")),
        (["II", "IV", "I"], ("I", "II", "IV")),
    ],
)
def test_bands_and_scales_are_ordinal(cells, levels):
    column, notes = only(cells * 4)
    assert (column.kind, column.categories) == ("ordinal", levels)
    assert noted(notes, levels[0], levels[-1], "x=categorical")
    assert decoded(cells * 4, [cells[0].upper().replace("–", "-")]) == [cells[0]]


@pytest.mark.parametrize(
    "cells", [["low", "high"], ["low", "high", "unknown"], ["1-2", "2-1", "x-3"], ["20-40", "30-50", "60+"]]
)
def test_what_has_no_natural_order_stays_categorical(cells):
    assert only(cells * 4)[0].kind == "categorical"


def test_spellings_of_one_label_are_one_category():
    cells = ["Yes"] * 5 + ["yes "] * 2 + ["YES"] + ["No"] * 4 + ["no"]
    column, notes = only(cells)
    assert (column.kind, column.categories) == ("boolean", ("No", "Yes"))
    assert noted(notes, "'Yes'", "'YES'", "'yes'", "x=categorical")
    assert decoded(cells, ["yEs", " NO", "maybe"]) == ["Yes", "No", None]
    assert only(["Ward A", "ward a", "ward  A", "Ward A", "Ward B"])[0].categories == ("Ward A", "Ward B")
    assert only(["m", "M", "f"], "categorical")[0].categories == ("f", "M", "m")


def test_equally_frequent_spellings_are_kept_whatever_the_rows():
    assert only(["b", "B", "a"])[0].categories == only(["a", "B", "b"])[0].categories == ("a", "B")


def test_spellings_of_one_action_are_one_action():
    table = {"age": [31, 54, 47, 60], "dose": ["High", "low", "high ", "High"], "outcome": [1, 2, 3, 4]}
    log = Log.from_frame(table, action="dose", reward="outcome")
    assert log.action_labels == ("High", "low")
    assert log.actions.tolist() == [0, 1, 0, 0]
    later = Log.from_frame(
        table | {"dose": ["HIGH", "Low", "low", "high"]},
        action="dose",
        reward="outcome",
        schema=log.schema,
        action_labels=log.action_labels,
    )
    assert later.actions.tolist() == [0, 1, 1, 0]


def test_rewards_are_read_like_other_numbers():
    table = {"age": [31, 54, 47], "dose": ["a", "b", "a"], "outcome": ["1,5", "<2", "3 %"]}
    log = Log.from_frame(table, action="dose", reward="outcome")
    assert log.rewards.tolist() == [1.5, 2.0, 3.0]
    assert sum("'outcome'" in note for note in log.notes) == 3


def test_numbers_with_units_are_named_and_not_converted():
    cells = [f"{60 + row % 7} kg" for row in range(40)] + [f"{140 + row % 7} lb" for row in range(40)]
    column, notes = only(cells)
    assert column.kind == "categorical"
    assert noted(notes, "'kg'", "'lb'")
    schema, notes = Schema.infer({"x": [f"{row} kg" for row in range(100)], "age": [30, 40] * 50})
    assert schema.names == ("age",)
    assert noted(notes, "'kg'")


# --- odd cells ---


def test_all_odd_cells_of_all_columns_are_named_at_once():
    table = {
        "body weight": ["70", "81", "seventy", "64", "n. k.", "66"],
        "seen": ["2024-01-01", "soon", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"],
        "age": [31, 54, 47, 60, 25, 33],
        "dose": ["a", "b"] * 3,
        "outcome": ["1", "2", "good", "4", "5", "6"],
    }
    with pytest.raises(InputProblem) as problem:
        Log.from_frame(table, action="dose", reward="outcome")
    sentence = str(problem.value)
    for fact in (
        "'body weight'",
        "row 3",
        "'seventy'",
        "'n. k.'",
        "2 such cells",
        "'seen'",
        "row 2",
        "'soon'",
        "'outcome'",
    ):
        assert fact in sentence
    assert "--missing 'body weight=seventy' --missing 'body weight=n. k.' --missing seen=soon" in sentence
    declared = {"body weight": ["seventy", "n. k."], "seen": "soon", "outcome": "good"}
    log = Log.from_frame(table, action="dose", reward="outcome", missing=declared)
    assert [column.kind for column in log.schema.columns] == ["real", "date", "real"]
    assert log.observed[:, 0].tolist() == [True, True, False, True, False, True]
    assert np.isnan(log.rewards).tolist() == [False, False, True, False, False, False]


def test_many_different_odd_cells_make_a_column_categorical():
    cells = [str(row) for row in range(60)] + [f"odd {row}" for row in range(8)]
    with pytest.raises(InputProblem, match=r"8 such cells.*--kind x=categorical"):
        only(cells)


def test_all_odd_cells_of_new_cases_are_named_at_once():
    schema, _ = Schema.infer({"age": [31, 54], "seen": ["2024-01-01", "2024-01-09"]})
    with pytest.raises(
        InputProblem, match=r"(?s)'age' needs a number.*'old'.*'seen' needs a date.*'soon'.*empty"
    ) as problem:
        schema.encode({"age": ["old", "40"], "seen": ["2024-01-01", "soon"]})
    assert "--missing" not in str(problem.value)


def test_decimal_commas_that_a_model_does_not_know_are_named_with_their_option(tmp_path):
    plain = {"age": [31.5, 54.25, 47.0, 39.75], "dose": ["a", "b", "a", "b"], "y": [1.0, 0.0, 1.0, 0.5]}
    schema = Log.from_frame(plain, action="dose", reward="y", kinds={"age": "real"}).schema
    (tmp_path / "cases.csv").write_text("age;ward\n31,5;x\n54,25;y\n")
    with pytest.raises(InputProblem, match=r"--decimal ,"):
        schema.encode(read_table(tmp_path / "cases.csv"))
    known = schema.encode(read_table(tmp_path / "cases.csv", decimal=","))
    np.testing.assert_array_equal(known.observed, True)
    with pytest.raises(InputProblem, match=r"31 old") as problem:
        schema.encode({"age": ["31 old", "54.25"]})
    assert "--decimal" not in str(problem.value)
