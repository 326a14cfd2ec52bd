"""Kinds, gaps, encoding and decoding, as a user with any kind of frame sees them."""

import datetime as dt
import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from prudent.errors import InputProblem
from prudent.table import Column, Schema, parse_kind, read_kinds, read_log, read_table
from prudent.table.cells import GAP_MARKS
from prudent.table.columns import OTHER

FRAMES: dict[str, Callable[[dict[str, list]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas-arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas-nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "polars-lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "mapping": dict,
    "records": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
}
DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 9), None, dt.date(2024, 2, 1)]
VISITS = {
    "age": [31, 54, None, 47],
    "weight": [70.5, None, 81.2, 64.0],
    "ward": ["north", None, "south", "north"],
    "smokes": [True, False, None, True],
    "seen": DAYS,
}


@pytest.fixture(params=FRAMES.values(), ids=list(FRAMES))
def frame(request) -> Callable[[dict[str, list]], Any]:
    return request.param


def kinds_of(schema: Schema) -> dict[str, str]:
    return {column.name: column.kind for column in schema.columns}


def only(cells: list, kind: Any = None, rows_before: int = 0) -> tuple[Column, tuple[str, ...]]:
    schema, notes = Schema.infer({"x": [None] * rows_before + cells}, None if kind is None else {"x": kind})
    return schema.columns[0], notes


def test_every_kind_of_frame_gives_the_same_schema_and_the_same_encoding(frame):
    expected, _ = Schema.infer(pl.DataFrame(VISITS))
    schema, notes = Schema.infer(frame(VISITS))
    assert kinds_of(schema) == {
        "age": "real",
        "weight": "real",
        "ward": "categorical",
        "smokes": "boolean",
        "seen": "date",
    }
    assert schema == expected
    assert notes == ()
    encoded = schema.encode(frame(VISITS))
    assert encoded.values.dtype == np.float32
    np.testing.assert_array_equal(encoded.values, expected.encode(pl.DataFrame(VISITS)).values)
    np.testing.assert_array_equal(encoded.observed, [[v[i] is not None for v in VISITS.values()] for i in range(4)])
    assert encoded.flags == [""] * 4
    assert np.all(encoded.values[~encoded.observed] == 0)


def test_decoding_returns_what_was_encoded(frame):
    schema, _ = Schema.infer(frame(VISITS))
    encoded = schema.encode(frame(VISITS))
    decoded = schema.decode(np.where(encoded.observed, encoded.values, np.nan))
    assert decoded["age"] == [31, 54, None, 47]
    assert decoded["weight"][1] is None
    assert decoded["weight"][::2] == pytest.approx([70.5, 81.2], rel=1e-5)
    assert decoded["ward"] == VISITS["ward"]
    assert decoded["smokes"] == VISITS["smokes"]
    assert decoded["seen"] == [day and day.isoformat() for day in DAYS]


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("real", [-1.5, 2.25, 8.0, 0.0]),
        ("positive", [0.001, 1.0, 20.0, 3e6]),
        ("positive", [300, 1, 20_000, 45]),
        ("real", [-300, 1, 20_000, 45]),
        ("count", [0, 1, 7, 255]),
        ("bounded", [0, 97, 100, 100]),
        ((0, 255), [0, 1, 254, 255]),
        ("categorical", ["b", "a", "c", "a"]),
        ("categorical", [4, 2, 9, 2]),
        (["low", "mid", "high"], ["mid", "low", "high", "mid"]),
        ("ordinal", [1, 3, 2, 10]),
        ("boolean", [True, False, True, True]),
        ("boolean", ["no", "yes", "yes", "no"]),
        ("boolean", [0, 1, 1, 0]),
        ("date", ["2024-01-31", "1969-12-31", "2000-02-29", "2024-01-01"]),
        ("date", ["2024-01-31T23:59:59", "2024-02-03T00:00:01", "2024-02-29T12:30:00", "2024-01-31T00:00:00"]),
    ],
)
def test_round_trip_of_every_kind(kind, cells):
    schema, _ = Schema.infer({"x": cells}, {"x": kind})
    encoded = schema.encode({"x": cells})
    assert encoded.observed.all()
    assert schema.decode(encoded.values)["x"] == (
        pytest.approx(cells, rel=1e-5, abs=1e-6) if kind in ("real", "positive") else cells
    )
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_encoded_numbers_are_standardised_on_the_scale_of_their_kind():
    numbers = np.exp(np.random.default_rng(0).normal(3, 2, 2000))
    schema, _ = Schema.infer({"x": numbers, "y": np.arange(2000) % 37})
    assert kinds_of(schema) == {"x": "positive", "y": "count"}
    values = schema.encode({"x": numbers, "y": np.arange(2000) % 37}).values
    assert values.mean(axis=0) == pytest.approx([0, 0], abs=1e-5)
    assert values.std(axis=0) == pytest.approx([1, 1], abs=1e-5)
    assert schema.columns[1].levels == 36 + 18 + 1


def test_frames_are_not_modified_and_column_order_does_not_matter():
    table = pd.DataFrame(VISITS)
    before = table.copy(deep=True)
    schema, _ = Schema.infer(table)
    expected = schema.encode(table)
    pd.testing.assert_frame_equal(table, before)
    polars_table = pl.DataFrame(VISITS | {"text": ["1", "NA", "3", "inf"]})
    Schema.infer(polars_table)[0].encode(polars_table)
    assert polars_table.equals(pl.DataFrame(VISITS | {"text": ["1", "NA", "3", "inf"]}))
    turned = schema.encode(table[table.columns[::-1]].assign(extra=1))
    np.testing.assert_array_equal(turned.values, expected.values)


@pytest.mark.parametrize("mark", [*GAP_MARKS, "  ", " NA ", None, float("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize(
    "cells", [["north", "south", "north"], ["1.5", "2.5", "7"], ["2024-01-01", "2024-02-01", "2024-03-01"]]
)
def test_gap_marks_are_gaps_in_text_numbers_and_dates(mark, cells):
    table = pd.DataFrame({"x": pd.Series([*cells, mark], dtype=object)})
    schema, notes = Schema.infer(table)
    assert schema.encode(table).observed[:, 0].tolist() == [True, True, True, False]
    assert schema.encode({"x": [*cells, mark]}).observed[:, 0].tolist() == [True, True, True, False]
    assert notes == ()


def test_unknown_and_none_are_answers_and_a_named_mark_is_a_label():
    assert only(["unknown", "none", "mild", "mild"])[0].categories == ("mild", "none", "unknown")
    schema, _ = Schema.infer({"x": ["None", "Mild", "Severe", "NA"]}, {"x": ["None", "Mild", "Severe"]})
    assert schema.encode({"x": ["None", "NA"]}).observed[:, 0].tolist() == [True, False]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([0.5, -1.0, 2.0], "real"),
        ([1.0, 2.0, None, 90.0], "count"),
        ([0, 1, 1, 0], "boolean"),
        ([1, 2, 2, 1, 1, 2], "boolean"),
        ([1, 200], "count"),
        (pd.Categorical([3, 1, 2, 1]), "categorical"),
        (["yes", "no", "yes"], "boolean"),
        (["TRUE", "false", "true"], "boolean"),
        (["007", "012", "007", "013"], "categorical"),
        (["1", "2.5", "3", "NA"], "real"),
        ([-3, 4, 300], "real"),
        ([1, 10, 100, 1000, 10000, 3, 2], "positive"),
        (["2024-01-01", "2024-05-01 10:30", "2024-05-01T10:30:00+02:00"], "date"),
        ([dt.datetime(2024, 1, 1, 5), None, dt.datetime(2024, 1, 2)], "date"),
    ],
)
def test_inferred_kinds(cells, kind):
    schema, _ = Schema.infer(pd.DataFrame({"x": cells}) if isinstance(cells, pd.Categorical) else {"x": cells})
    assert schema.columns[0].kind == kind


def test_dates_are_moments_whatever_their_time_zone():
    berlin = pd.to_datetime(pd.Series(["2024-06-01T12:00:00", "2024-06-05T12:00:00"])).dt.tz_localize("Europe/Berlin")
    schema, _ = Schema.infer({"x": ["2024-06-01T10:00:00Z", "2024-06-05T12:00:00+02:00"]})
    expected = schema.encode({"x": ["2024-06-01T10:00", "2024-06-05 10:00:00"]}).values
    for table in (pd.DataFrame({"x": berlin}), pl.DataFrame({"x": list(berlin)}), pa.table({"x": list(berlin)})):
        np.testing.assert_allclose(schema.encode(table).values, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("patient", [f"p{row}" for row in range(30)], "identifier"),
        ("patient_id", [1000 + row // 2 * 7 for row in range(200)], "identifier"),
        ("visit", list(range(100, 130)), "identifier"),
        ("patientID", [f"p{row // 2}" for row in range(200)], "identifier"),
        ("site", ["a"] * 30, "only 'a'"),
        ("empty", [None, "NA", "", "?"] * 8, "empty"),
        ("remarks", [f"came in with {row}" for row in range(100)] + ["ok"] * 10, "free text"),
        ("odd", [float("inf"), float("-inf")] * 15, "no finite number"),
    ],
)
def test_columns_that_teach_nothing_are_dropped_with_a_note(name, cells, why):
    table = {name: cells, "age": [20 + index % 19 for index in range(len(cells))]}
    schema, notes = Schema.infer(table)
    assert schema.names == ("age",)
    assert len(notes) == 1
    assert name in notes[0]
    assert why in notes[0]


def test_a_column_with_a_given_kind_is_kept():
    cells = [f"p{row}" for row in range(30)]
    assert only(cells, "categorical")[0].levels == 30
    assert only(["a"] * 5, "categorical")[0].categories == ("a",)
    constant, _ = only([3.0] * 5, "real")
    assert constant.scale > 0
    assert constant.encode(pl.Series([3.0, 4.0])).values[0] == 0


def test_whole_numbers_that_may_be_codes_get_a_note():
    column, notes = only([1, 2, 3] * 5)
    assert column.kind == "count"
    assert len(notes) == 1
    assert "'x' holds only 1, 2, 3" in notes[0]
    assert "kinds={'x': 'categorical'} or --kind x=categorical" in notes[0]
    assert only([1, 2, 3] * 5, "categorical")[1] == ()
    assert "kinds={'x': 'real'}" in only([1, 2] * 5)[1][0]
    assert only([0, 1] * 5)[1] == ()
    assert Schema.infer({"site_id": [1, 2, 3] * 5})[0].columns[0].kind == "categorical"


def test_ordered_categories_are_ordinal():
    levels = ["low", "mid", "high"]
    for table in (
        pd.DataFrame({"grade": pd.Categorical(["mid", "low", None], categories=levels, ordered=True)}),
        pl.DataFrame({"grade": pl.Series(["mid", "low", None], dtype=pl.Enum(levels))}),
    ):
        schema, notes = Schema.infer(table)
        assert schema.columns[0].kind == "ordinal"
        assert schema.columns[0].categories == ("low", "mid", "high")
        assert "low < mid < high" in notes[0]
    unordered = pd.DataFrame({"grade": pd.Categorical(["mid", "low", None])})
    assert Schema.infer(unordered)[0].columns[0].categories == ("low", "mid")


def test_rare_categories_are_pooled():
    cells = [f"c{row % 60}" for row in range(600)] + ["c1"] * 10
    schema, notes = Schema.infer({"x": cells})
    column = schema.columns[0]
    assert column.levels == 50
    assert column.categories[-1] == OTHER
    assert "60 categories" in notes[0]
    encoded = schema.encode({"x": ["c1", "c59", "new", None]})
    assert encoded.observed[:, 0].tolist() == [True, True, True, False]
    assert schema.decode(encoded.values[1:3])["x"] == [OTHER, OTHER]
    assert encoded.flags[2].startswith("x: category 'new'")
    assert OTHER in encoded.flags[2]


@pytest.mark.parametrize("cells", [[1, 2, 3, 1], ["1", "2", "3", "1"], [1.0, 2.0, 3.0, 1.0], [1, "2", 3.0, None]])
def test_category_labels_compare_as_text(cells):
    schema, _ = Schema.infer({"x": [1, 2, 3]}, {"x": "categorical"})
    encoded = schema.encode({"x": cells})
    assert encoded.values[:3, 0].tolist() == [0, 1, 2]
    assert encoded.flags == [""] * 4


@pytest.mark.parametrize(
    "cells", [[True, False], ["true", "false"], ["TRUE", "False"], [1, 0], [1.0, 0.0], ["yes", "no"]]
)
@pytest.mark.parametrize("logged", [[True, False], ["true", "false"], [1, 0]])
def test_truth_is_understood_in_every_spelling(logged, cells):
    schema, _ = Schema.infer({"x": logged})
    assert schema.encode({"x": cells}).values[:, 0].tolist() == [1, 0]


def test_decision_rows_are_flagged_and_treated_as_stated():
    log = {"site": ["A", "B"] * 20, "age": list(range(18, 58)), "dose": np.geomspace(0.1, 900, 40).tolist(),
           "score": np.linspace(-1, 1, 40).tolist()}  # fmt: skip
    schema, _ = Schema.infer(log, {"age": "count"})
    case = {"site": ["X", "A", None, "B"], "age": [212, -4, 30, 30.5], "dose": [-1.0, 1e9, float("inf"), 1e-9],
            "score": [2.9, 3.1, float("-inf"), -5.0]}  # fmt: skip
    encoded = schema.encode(case)
    facts = [
        [("site: category 'X'", "missing"), ("age: 212", "18 to 57, kept"), ("dose: -1", "missing")],
        [
            ("age: -4", "missing"),
            ("dose: 1000000000", "0.1 to 900, kept"),
            ("score: 3.1", "-1 to 1, kept"),
        ],
        [("dose: inf", "missing"), ("score: -inf", "missing")],
        [
            ("age: 30.5", "rounded"),
            ("dose: 1e-09", "0.1 to 900, kept"),
            ("score: -5", "-1 to 1, kept"),
        ],
    ]
    for flags, expected in zip(encoded.flags, facts, strict=True):
        for flag, (start, end) in zip(flags.split("; "), expected, strict=True):
            assert flag.startswith(start)
            assert flag.endswith(end)
    assert encoded.observed.tolist() == [
        [False, True, False, True],
        [True, False, True, True],
        [False, True, False, False],
        [True, True, True, True],
    ]
    assert np.isfinite(schema.encode(case | {"score": [1e300] * 4}).values).all()


def test_one_row_is_encoded_as_in_the_batch():
    schema, _ = Schema.infer(VISITS)
    batch = schema.encode(pl.DataFrame(VISITS))
    for row in range(4):
        alone = schema.encode([{name: cells[row] for name, cells in VISITS.items()}])
        np.testing.assert_array_equal(alone.values[0], batch.values[row])
        np.testing.assert_array_equal(alone.observed[0], batch.observed[row])


def test_infinite_numbers_in_the_log_are_gaps_with_a_note():
    column, notes = only([1.5, float("inf"), 2.5, 3.5])
    assert column.high == 3.5
    assert len(notes) == 1
    assert "'x' holds 1 infinite number" in notes[0]
    assert only([0, 1, float("inf"), 1])[0].categories == ("0", "1")
    assert only([0.0, 1.0, 5.0, float("inf")])[0].kind == "count"
    with pytest.raises(InputProblem, match="'x' holds only 3: dropped"):
        only([3.0, float("inf"), 3.0])


def test_extreme_numbers_keep_a_positive_finite_scale():
    for cells in ([1e308, -1e308, 0.0], [1e-300, 2e-300, 3e-300], [1e9, 1e9 + 1, 1e9 + 2.5]):
        column, _ = only(cells)
        assert 0 < column.scale < np.inf
        assert np.isfinite(column.encode(pl.Series(cells)).values).all()


@pytest.mark.parametrize(
    ("table", "kinds", "ignore", "facts"),
    [
        ({"x": [1, 2]}, {"x": "number"}, (), "'x' .* 'number'; the kinds are real, positive"),
        ({"x": [1, 2]}, {"x": 3}, (), "'x' .* Got 3 instead"),
        ({"age": [1, 2]}, {"aeg": "real"}, (), "no column 'aeg' .* Did you mean 'age'"),
        ({"age": [1, 2]}, None, ["site"], "no column 'site' .* There is 'age'"),
        ({"x": [1, 2], "y": [1, 2]}, {"x": "real"}, ["x"], "drop it from kinds"),
        ({"x": ["1", "2", "3", "many"]}, None, (), "row 4 .* 'many'; .* --kind x=categorical"),
        ({"x": ["2024-01-01", "2024-01-02", "soon"]}, None, (), "are dates, but row 3 .* holds 'soon'"),
        ({"x": ["1", "a"]}, {"x": "real"}, (), "needs a number .* row 2 .* holds 'a'"),
        ({"x": [1, 0]}, {"x": "positive"}, (), "'x' .* positive: row 2 .* holds 0; .*'real'"),
        ({"x": [1, -1]}, {"x": "count"}, (), "cannot be count: row 2 .* holds -1"),
        ({"x": [1.5, 1]}, {"x": "count"}, (), "cannot be count: row 1 .* holds 1.5"),
        ({"x": [1, 256]}, {"x": "count"}, (), "reaches 256, .* 'positive' or 'real'"),
        ({"x": [1, 2, 3]}, {"x": "boolean"}, (), "cannot be boolean: it holds 3 different values"),
        ({"x": ["a", "b"]}, {"x": "ordinal"}, (), "'a', .*x=ordinal:low<high"),
        ({"x": ["a", "b"]}, {"x": ["a", "c"]}, (), "'b' in row 2 .* a < c"),
        ({"x": ["a", "b"]}, {"x": ["a"]}, (), "at least two and all different"),
        ({"x": ["a", "b"]}, {"x": "date"}, (), "needs a date such as 2024-03-01"),
        ({"x": [], "y": []}, None, (), "no rows"),
        ({"x": ["a", "a"]}, None, (), "no column left to learn from.* 'x' holds only 'a'"),
        ({"x": [1, 2], "y": [1]}, None, (), "differ in length"),
        ({"x": [[1], [2]]}, None, (), "cells of type List.* ignore="),
        ("visits.csv", None, (), "pandas, polars or pyarrow frame.* Got str"),
        ([{"x": 1}, 5], None, (), "Item 1 is 5"),
    ],
)
def test_bad_tables_are_refused(table, kinds, ignore, facts):
    with pytest.raises(InputProblem, match=facts):
        Schema.infer(table, kinds, ignore)


def test_bad_cases_are_refused(frame):
    schema, _ = Schema.infer(VISITS)
    with pytest.raises(InputProblem, match=r"'age' needs a number .* row 2 .*'old'"):
        schema.encode(frame({**VISITS, "age": ["31", "old", None, "4"]}))
    with pytest.raises(InputProblem, match=r"Column 'seen' needs a date .* row 1 .* holds"):
        schema.encode(frame({**VISITS, "seen": [1, 2, None, 4]}))
    with pytest.raises(InputProblem, match=r"none of the model's columns .*'age'"):
        schema.encode(frame({"height": [1, 2]}))


def test_empty_columns_and_empty_tables_can_be_encoded(frame):
    schema, _ = Schema.infer(VISITS)
    assert not schema.encode(frame({name: [None, None] for name in VISITS})).observed.any()
    assert schema.encode(pl.DataFrame(VISITS).clear()).values.shape == (0, 5)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_repeated_column_names_are_refused(table):
    with pytest.raises(InputProblem, match=r"2 columns named '.'; rename or drop"):
        Schema.infer(table)


def test_numbered_columns_have_text_names():
    assert Schema.infer(pd.DataFrame([[1.5, "a"], [2.5, "b"]]))[0].names == ("0", "1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("site=categorical", ("site", "categorical")),
        ("grade=ordinal:low<mid<high", ("grade", ["low", "mid", "high"])),
        (" a=b = real ", ("a=b", "real")),
        ("grade=ordinal", ("grade", "ordinal")),
        ("pixel[0-9]*=bounded:0..255", ("pixel[0-9]*", (0.0, 255.0))),
    ],
)
def test_kinds_on_the_command_line(text, expected):
    assert parse_kind(text) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("site", "COLUMN=KIND"),
        ("=real", "COLUMN=KIND"),
        ("site=", "COLUMN=KIND"),
        ("site=city", "the kinds are real"),
        ("site=real:1<2", "Only ordinal takes levels"),
    ],
)
def test_bad_kinds_on_the_command_line(text, sentence):
    with pytest.raises(InputProblem, match=sentence):
        parse_kind(text)


def test_kinds_from_a_file(tmp_path):
    expected = {"site": "categorical", "grade": ["low", "high"]}
    (tmp_path / "kinds.json").write_text(json.dumps(expected))
    (tmp_path / "kinds.toml").write_text('site = "categorical"\ngrade = ["low", "high"]\n')
    assert read_kinds(tmp_path / "kinds.json") == read_kinds(tmp_path / "kinds.toml") == expected


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("kinds.yaml", "", "must end in .json or .toml"),
        ("kinds.json", "{", "cannot be read"),
        ("kinds.toml", "=", "cannot be read"),
        ("kinds.json", "[]", "must map column names"),
        ("kinds.json", '{"a": "b"}', "the kinds are"),
        ("kinds.json", None, "no file"),
    ],
)
def test_bad_files_of_kinds(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputProblem, match=sentence):
        read_kinds(tmp_path / name)


@pytest.mark.parametrize(
    "damage",
    [
        {"kind": "number"},
        {"scale": 0.0},
        {"scale": float("nan")},
        {"low": 9.0, "high": 1.0},
        {"location": "1"},
        {"name": 3},
        {"categories": ["a"]},
        {"categories": None},
        {"integral": 1},
        {"surprise": 1},
        {"kind": "count", "high": 1e9},
        {"kind": "positive", "low": 0.0},
        {"kind": "bounded", "high": 1.5},
        {"kind": "categorical", "categories": ["a", "a"]},
        {"reading": "day first"},
        {"missing": [999]},
        {"missing": "999"},
    ],
)
def test_a_damaged_stored_schema_is_refused(damage):
    stored = Schema.infer({"x": [1.5, 2.5]})[0].to_json()
    stored["columns"][0].update(damage)
    with pytest.raises(InputProblem, match="stored schema is damaged"):
        Schema.from_json(stored)


@pytest.mark.parametrize("stored", [None, [], {}, {"columns": []}, {"columns": [1]}, {"columns": {}}])
def test_a_stored_schema_of_the_wrong_shape_is_refused(stored):
    with pytest.raises(InputProblem, match="stored schema is damaged"):
        Schema.from_json(stored)


def test_decode_names_the_shape_it_needs():
    schema, _ = Schema.infer(VISITS)
    with pytest.raises(InputProblem, match=r"must have shape \[row, 5\]"):
        schema.decode(np.zeros(5))


def test_decoded_counts_levels_and_dates_stay_inside_what_is_possible():
    schema, _ = Schema.infer({"n": [0, 3, 9], "g": ["a", "b", "a"], "d": ["2024-01-01", "2024-01-05", "2024-01-02"]},
                             {"g": ["a", "b"]})  # fmt: skip
    wild = schema.decode(np.array([[-50.0, -50.0, -1e9], [1.0, 50.0, 1e9]]))
    assert wild["n"][0] == 0
    assert wild["g"] == ["a", "b"]
    assert wild["d"] == ["0001-01-01", "9999-12-31"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "csv.gz"])
def test_files_of_every_kind_are_read(tmp_path, ending):
    table = pl.DataFrame({"age": [1, None, 3], "site": ["a", "b", None]})
    path = tmp_path / f"visits.{ending}"
    match ending:
        case "csv" | "tsv":
            table.write_csv(path, separator="\t" if ending == "tsv" else ",")
        case "csv.gz":
            pd.DataFrame({"age": [1, None, 3], "site": ["a", "b", None]}).astype({"age": "Int64"}).to_csv(
                path, index=False
            )
        case "parquet":
            table.write_parquet(path)
        case _:
            table.write_ipc(path)
    assert read_table(path).equals(table)


def test_csv_numbers_survive_gap_marks_and_other_separators(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("dose;site;score;text\n1;?;NA;None\n?;a;1.5;none\n3;b;-;x\n")
    table = read_table(path)
    assert table["dose"].to_list() == [1, None, 3]
    assert table["score"].to_list() == [None, 1.5, None]
    assert table["text"].to_list() == ["None", "none", "x"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("log.docx", b"x", r"must end in .csv, .tsv"),
        ("log.csv", None, "There is no file"),
        ("log.csv", b"", "is empty"),
        ("log.csv", b"\n\n", "is empty"),
        ("log.parquet", b"nonsense", "cannot be read"),
        ("log.arrow", b"nonsense", "cannot be read"),
        ("log.csv", b"a,b\n1,2\n1,2,3,4\n", "has 2 columns, and row 2 .* has 4 cells"),
        ("log.csv", b"a,b\n\xff\xfe,1\n", "cannot be read"),
        ("log.csv", b"a,b,a\n1,2,3\n", "2 columns named 'a'"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputProblem, match=sentence):
        read_table(tmp_path / name)


def test_a_frame_in_place_of_a_path_is_sent_to_from_frame():
    frame = pl.DataFrame({"dose": ["a", "b"], "outcome": [1.0, 2.0]})
    with pytest.raises(InputProblem, match=r"this is a DataFrame; .* straight into Log.from_frame"):
        read_log(cast("Any", frame), action="dose", reward="outcome")


def test_a_few_rows_are_read_as_they_are_in_a_long_table():
    """Labels of a few rows are looked up one by one; the answer is that of the whole column."""
    cells = {
        "ward": ["a", "b", " b ", "B", "?", "never seen", None, "NA"],
        "grade": ["low", "high", "LOW", "mid", "", None, "mid", "other"],
        "smoker": [True, False, None, True, False, True, None, False],
        "stage": [1, 2, 3, 2, None, 1, 7, 2],
        "weight": [70.5, None, float("nan"), 1e9, -3.0, 80.0, 60.0, 55.0],
        "visits": [0, 3, None, 2, 1, 250, 4, 5],
    }
    kinds = {"ward": "categorical", "grade": ["low", "mid", "high"], "stage": "categorical", "visits": "count"}
    known = {
        "ward": ["a", "b"] * 10,
        "grade": ["low", "mid", "high", "mid"] * 5,
        "smoker": [True, False] * 10,
        "stage": [1, 2, 3, 2] * 5,
        "weight": np.linspace(50.0, 90.0, 20),
        "visits": [0, 1, 2, 3] * 5,
    }
    schema = Schema.infer(known, kinds)[0]
    rows = len(cells["ward"])
    whole = schema.encode({name: own * 20 for name, own in cells.items()})
    few = schema.encode(cells)
    np.testing.assert_array_equal(few.values, whole.values[:rows])
    np.testing.assert_array_equal(few.observed, whole.observed[:rows])
    assert few.flags == whole.flags[:rows]
    for row in range(rows):
        alone = schema.encode(pl.DataFrame(cells)[row : row + 1])
        np.testing.assert_array_equal(alone.values[0], few.values[row])
        assert alone.flags == few.flags[row : row + 1]
