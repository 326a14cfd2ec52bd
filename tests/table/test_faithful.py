"""What is written in a file is not lost on the way: codes, gap marks that are values, rows that are not whole."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from prudent import Log, read_log, read_table
from prudent.decide.permission import allowed_actions
from prudent.errors import InputProblem
from prudent.table import Faithful, Schema, TextFormat, read_with_notes
from prudent.table.cells import natural_order


def written(path: Path, columns: dict[str, list[str]]) -> Path:
    lines = [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def a_log(path: Path, rows: int = 60, **columns: list[str]) -> Path:
    """Columns are repeated to the number of rows; their order is mixed, so that none follows another."""
    chance = np.random.default_rng(0)
    reward = [f"{number:.3f}" for number in chance.normal(size=rows)]
    columns = {"act": ["a", "b"]} | columns
    mixed = {name: [cells[place % len(cells)] for place in chance.permutation(rows)] for name, cells in columns.items()}
    return written(path, mixed | {"y": reward})


def text_columns(log: Log) -> tuple[str, ...]:
    return tuple(column.name for column in log.schema.columns if column.kind == "categorical")


@pytest.mark.parametrize(
    ("codes", "kinds"),
    [
        (["007", "042", "110"], {}),
        (["007", "07", "7", "A12"], {}),
        (["1.10", "1.1", "2.0"], {"code": "categorical"}),
        (["12345678901234567890", "12345678901234567891"], {}),
        (["1", "2", "None"], {"code": "categorical"}),
        (["true", "false", "maybe"], {}),
        (["NA", "DE", "FR"], {}),
    ],
)
def test_a_row_of_a_file_is_read_alone_as_in_its_table(tmp_path, codes, kinds):
    kept = {"code": [mark for mark in ("NA", "None") if mark in codes]}
    log = read_log(a_log(tmp_path / "log.csv", code=codes), action="act", reward="y", kinds=kinds, not_missing=kept)
    faithful = Faithful(text_columns(log))
    together = read_with_notes(written(tmp_path / "all.csv", {"code": codes}), TextFormat(), faithful)[0]
    encoded = log.schema.encode(together)
    assert encoded.observed.all()
    assert len(np.unique(encoded.values)) == len(codes), "every code is a label of its own"
    for row, code in enumerate(codes):
        alone = read_with_notes(written(tmp_path / "one.csv", {"code": [code]}), TextFormat(), faithful)[0]
        assert log.schema.encode(alone).values.tolist() == encoded.values[[row]].tolist()


@pytest.mark.parametrize("labels", [["01", "02"], ["1.10", "1.1"], ["007", "7"], ["01", "1.10", "2"]])
def test_actions_that_look_like_numbers_keep_their_spelling(tmp_path, labels):
    path = a_log(tmp_path / "log.csv", act=labels, x=["3", "4", "5"])
    log = read_log(path, action="act", reward="y")
    assert sorted(map(str, log.action_labels)) == sorted(labels)
    frame = read_with_notes(path, TextFormat(), Faithful(("act",)))[0]
    again = Log.from_frame(frame[:1], action="act", reward="y", schema=log.schema, action_labels=log.action_labels)
    assert log.action_labels[again.actions[0]] == frame["act"][0]


def test_the_order_of_labels_does_not_depend_on_that_of_the_rows():
    labels = ["1", "01", "12345678901234567890", "12345678901234567891", "nan", "x" + "9" * 5000, "x1"]
    turned = labels[::-1]
    assert sorted(labels, key=natural_order) == sorted(turned, key=natural_order)
    assert natural_order("x1") < natural_order(labels[5])


def test_one_slip_does_not_turn_numbers_into_codes(tmp_path):
    cells = [f"{number}.5" for number in range(30)] + ["05"] + [str(number) for number in range(100, 300)]
    assert read_table(a_log(tmp_path / "log.csv", len(cells), x=cells))["x"].dtype == pl.Float64
    assert read_table(a_log(tmp_path / "log.csv", 3, x=["05", "06", "07"]))["x"].dtype == pl.String
    assert read_table(a_log(tmp_path / "log.csv", 3, x=["5", "6", "7"]), text="x")["x"].dtype == pl.String


def test_a_code_that_lost_its_spelling_is_recognised_and_flagged():
    schema = Schema.infer({"code": ["007", "042", "A12"] * 20}, {"code": "categorical"})[0]
    encoded = schema.encode({"code": [7, 42, 8]})
    assert encoded.observed[:, 0].tolist() == [True, True, False]
    assert "'007'" in encoded.flags[0]
    assert "'8'" in encoded.flags[2]


def test_marks_that_were_read_as_gaps_are_counted_by_column(tmp_path):
    path = a_log(
        tmp_path / "log.csv", act=["None", "drug", "other"], rh=["-", "A"], x=["NA", "1.5", "2.5"], z=["?", "u", "v"]
    )
    notes = read_log(path, action="act", reward="y").notes
    for column, mark, cells in (("act", "None", 20), ("rh", "-", 30), ("x", "NA", 20), ("z", "?", 20)):
        (note,) = [note for note in notes if note.startswith(f"Column '{column}'") and repr(mark) in note]
        assert f"({cells} cells)" in note
        assert ("--not-missing" in note) == (column != "x"), "among numbers there is nothing to keep"


def test_declared_levels_are_no_gaps_and_nothing_says_so(tmp_path):
    path = a_log(tmp_path / "log.csv", act=["None", "drug"], arm=["None", "A", "B"])
    frame = read_table(path).with_columns(
        pl.col("act").cast(pl.Enum(["None", "drug"])), pl.col("arm").cast(pl.Enum(["None", "A", "B"]))
    )
    by_kind = read_log(path, action="act", reward="y", not_missing={"act": "None"}, kinds={"arm": ["None", "A", "B"]})
    for log in (by_kind, Log.from_frame(frame, action="act", reward="y")):
        assert log.action_labels == ("drug", "None")
        assert log.observed.all()
        assert not any("read as gap" in note for note in log.notes)


def test_actions_that_vanish_as_gaps_are_named(tmp_path):
    path = a_log(tmp_path / "log.csv", act=["None", "drug"], x=["1.5", "2", "3"])
    with pytest.raises(InputProblem, match=r"'None' \(30 cells\).*--not-missing act=None"):
        read_log(path, action="act", reward="y")


def test_an_infinite_number_among_labels_is_a_label(tmp_path):
    log = read_log(a_log(tmp_path / "log.csv", x=["inf", "a", "b"]), action="act", reward="y")
    assert log.schema.columns[0].categories == ("a", "b", "inf")
    assert not any("infinite" in note for note in log.notes)


def test_marks_in_many_columns_are_one_note(tmp_path):
    columns: Any = {f"x{index}": ["NA", "1.5", "2.5"] for index in range(9)}
    notes = read_log(a_log(tmp_path / "log.csv", **columns), action="act", reward="y").notes
    (note,) = [note for note in notes if "'NA'" in note]
    assert "9 columns" in note
    assert "(180 cells)" in note


def test_a_mark_that_is_declared_a_value_is_one_everywhere(tmp_path):
    path = a_log(tmp_path / "log.csv", act=["None", "drug"], rh=["-", "A", ""], may=["None", "drug"])
    log = read_log(path, action="act", reward="y", not_missing={"act": "None", "rh": "-"}, ignore=["may"])
    assert log.action_labels == ("drug", "None")
    assert (log.actions >= 0).all()
    assert log.schema.columns[0].categories == ("-", "A")
    assert log.observed[:, 0].mean() == pytest.approx(2 / 3)
    later = Log.from_frame(
        read_table(path), action="act", reward="y", schema=log.schema, action_labels=log.action_labels
    )
    np.testing.assert_array_equal(later.actions, log.actions)
    np.testing.assert_array_equal(later.observed, log.observed)
    only = allowed_actions(pl.DataFrame({"may": ["None"]}), "may", log.action_labels, 1)
    assert only.tolist() == [[False, True]], "the action None, not any"


def test_everywhere_means_everywhere(tmp_path):
    path = a_log(tmp_path / "log.csv", act=["None", "drug"], arm=["None", "x", "y"])
    log = read_log(path, action="act", reward="y", not_missing=["None"])
    assert "None" in log.action_labels
    assert "None" in log.schema.columns[0].categories


def test_rows_that_are_not_whole_are_said_and_a_file_that_is_cut_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('x,y,z\n1,2,3\n4,5\n\n"a,\nb",6,7\n8\n')
    notes = read_with_notes(path, TextFormat())[1]
    (note,) = [note for note in notes if "fewer cells" in note]
    assert note.startswith("2 rows")
    assert "row 2 " in note
    for end in ("8", '"8', '8,9,"1'):
        path.write_text(f"x,y,z\n1,2,3\n{end}")
        with pytest.raises(InputProblem, match=r"log\.csv.*row 2"):
            read_table(path)
    path.write_text('x,y\n5" by 3" pipe,2\n')
    assert read_table(path)["y"].to_list() == [2]
    path.write_text("x,y\n1,2\n1,250,3\n")
    with pytest.raises(InputProblem, match=r"row 2.*1,250"):
        read_table(path)
    path.write_text("x,y\n1,2\n3,4.1")
    (note,) = read_with_notes(path, TextFormat())[1]
    assert "row 2 " in note, "the rest of the last cell may be lost"
    for whole in ("x,y,z\n1,2,3\n4,5,6", "x,y,z\r\n1,2,3\r\n4,5,6\r\n", "x\n1\n2"):
        path.write_text(whole)
        assert read_table(path)["x"].to_list() in ([1, 4], [1, 2])


def test_days_written_as_numbers_are_said(tmp_path):
    days = [f"2024{month:02d}{day:02d}" for month in range(1, 13) for day in (3, 14, 27)]
    notes = read_log(a_log(tmp_path / "log.csv", seen=days), action="act", reward="y").notes
    assert any("'seen'" in note and "2024-01-03" in note for note in notes)
    few = read_log(a_log(tmp_path / "log.csv", seen=["20231224", "20240301", "20240302"]), action="act", reward="y")
    assert any("'seen'" in note and "2023-12-24" in note for note in few.notes)


def test_a_name_that_would_be_a_pattern_is_refused(tmp_path):
    columns: Any = {"^x.*$": ["1.5", "2", "3"]}
    path = a_log(tmp_path / "log.csv", **columns)
    with pytest.raises(InputProblem, match=r"'\^x\.\*\$'.*rename"):
        read_log(path, action="act", reward="y")
    with pytest.raises(InputProblem, match="rename"):
        Schema.infer({"^x$": [1.5, 2.5]})


def test_a_decimal_beyond_all_numbers_is_no_fault():
    cells = [Decimal("1e999"), Decimal("1.5"), Decimal("2.5")] * 10
    assert Schema.infer({"x": cells})[0].columns[0].high == 2.5
