"""Tables in files of every kind say the same as the csv file they came from, and bad ones say so in one sentence."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat as typed_pyreadstat
import pytest
import xlsxwriter
import zstandard

from prudent.errors import InputProblem
from prudent.table import read_log, read_table, workbook_bytes
from prudent.table.sources import packed

TABLE = pl.DataFrame(
    {
        "code": ["007", "010", None, "112"],
        "age": [30.5, None, 61.0, 44.25],
        "sick": [True, False, None, True],
        "seen": [date(2024, 3, 1), None, date(2024, 3, 9), date(2024, 4, 1)],
        "dose": ["a", "b", "a", "b"],
        "outcome": [1, 2, 3, 4],
    }
)


def zipped(content: bytes, names: tuple[str, ...] = ("table.csv",)) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
    ".zip": zipped,
}


def sentence(path: Path, **how: Any) -> str:
    with pytest.raises(InputProblem) as problem:
        read_table(path, **how)
    assert "\n" not in str(problem.value)
    return str(problem.value)


pyreadstat: Any = typed_pyreadstat  # its types know pandas and polars by protocols that neither fits


# --- compressed ---


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_file_is_the_file(tmp_path, ending):
    path = tmp_path / f"table.csv{ending}"
    content = "größe;code;n\n1,5;007;1\n;010;2\n".encode("utf-16")
    path.write_bytes(PACKERS[ending](content))
    assert read_table(path, decimal=",").to_dict(as_series=False) == {
        "größe": [1.5, None],
        "code": ["007", "010"],
        "n": [1, 2],
    }
    path.write_bytes(PACKERS[ending](b"a,b\n" + b"1,2\n" * 5000)[:-20])
    assert "cannot be read" in sentence(path)


@pytest.mark.parametrize("ending", PACKERS)
def test_a_file_that_would_fill_the_memory_is_refused(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(packed, "ALWAYS_FINE", 2**20)
    path = tmp_path / f"table.csv{ending}"
    path.write_bytes(PACKERS[ending](b"a,b\n" + bytes(2**22)))
    assert "unpack it first" in sentence(path)


def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "ALWAYS_FINE", 2**20)
    (tmp_path / "table.xlsx").write_bytes(zipped(bytes(2**22), ("xl/workbook.xml",)))
    assert ".csv" in sentence(tmp_path / "table.xlsx")


def test_an_archive_holds_one_file(tmp_path):
    path = tmp_path / "table.zip"
    path.write_bytes(zipped(b"a,b\n1,2\n", ("one.csv", "two.csv")))
    assert "'one.csv', 'two.csv'" in sentence(path)
    path.write_bytes(zipped(b"a,b\n1,2\n", ("folder/table.csv",)))
    assert read_table(path).rows() == [(1, 2)]
    path.write_bytes(
        zipped(b"a,b\n1,2\n").replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    )
    assert "password" in sentence(path)


def test_frames_of_zstandard_follow_one_another(tmp_path):
    path = tmp_path / "table.csv.zst"
    path.write_bytes(zstandard.compress(b"a,b\n") + zstandard.compress(b"1,2\n"))
    assert read_table(path).rows() == [(1, 2)]


# --- folders ---


def test_a_folder_of_parquet_parts_is_one_table(tmp_path):
    for site in ("north", "south"):
        (tmp_path / f"site={site}").mkdir()
        TABLE.write_parquet(tmp_path / f"site={site}" / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").touch()
    whole = read_table(tmp_path)
    assert whole.drop("site").equals(pl.concat([TABLE, TABLE]))
    assert whole["site"].to_list() == ["north"] * 4 + ["south"] * 4
    TABLE.rename({"age": "years"}).write_parquet(tmp_path / "site=south" / "part-1.parquet")
    assert "same columns" in sentence(tmp_path)


def test_a_folder_of_csv_parts_is_read_as_one_text(tmp_path):
    (tmp_path / "1.csv").write_text("code,n\n7,1\n")
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"n;code\n2;007\n"))
    assert read_table(tmp_path).rows() == [("7", 1), ("007", 2)]
    (tmp_path / "3.csv").write_text("code,m\n7,1\n")
    assert "3.csv" in sentence(tmp_path)


def test_a_folder_of_something_else_is_refused(tmp_path):
    assert "0 parquet and 0 csv" in sentence(tmp_path)
    TABLE.write_parquet(tmp_path / "a.parquet")
    TABLE.write_csv(tmp_path / "a.csv")
    assert "1 parquet and 1 csv" in sentence(tmp_path)


# --- workbooks ---


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    return path


def test_what_is_written_to_a_workbook_is_read_from_it(tmp_path):
    path = tmp_path / "table.xlsx"
    path.write_bytes(workbook_bytes(TABLE))
    assert read_table(path).equals(TABLE)


def test_texts_of_a_workbook_stay_texts(tmp_path):
    path = tmp_path / "table.xlsx"
    frame = pl.DataFrame(
        {"text": ["=1+1", "http://a.b", "007"], "id": [2**60 + 1, 1, 2], "x": [float("nan"), 1.0, None]}
    )
    path.write_bytes(workbook_bytes(frame))
    again = read_table(path)
    assert again["text"].to_list() == frame["text"].to_list()
    assert again["id"].to_list() == [str(2**60 + 1), "1", "2"]
    with pytest.raises(InputProblem, match="32,767"):
        workbook_bytes(pl.DataFrame({"text": ["x" * 40_000]}))


def test_sheets_are_chosen_by_name(tmp_path):
    rows = [["age", "lab"], [30, 1], [31, "<5"], [32, 2.5]]
    path = workbook(tmp_path / "book.xlsx", {"Notes": [], "Visits": rows, "Other": [["x"], [1]]})
    assert read_table(path)["lab"].to_list() == ["1", "<5", "2.5"]
    assert read_table(path, sheet="Other").rows() == [(1,)]
    gaps = workbook(tmp_path / "gaps.xlsx", {"A": [["x", "y"], [1, 2], ["", ""], [3, 4], ["", None], ["", None]]})
    assert read_table(gaps).rows() == [(1, 2), (None, None), (3, 4)]
    assert "'Visits'" in sentence(path, sheet="Visit")
    assert "empty" in sentence(path, sheet="Notes")
    rows = [["age", "dose", "outcome"], *([age, dose, age] for age, dose in enumerate("abab"))]
    log = read_log(workbook(tmp_path / "two.xlsx", {"A": rows, "B": []}), action="dose", reward="outcome")
    assert any("2 sheets" in note and "'A'" in note for note in log.notes)
    assert "2 columns named 'x'" in sentence(workbook(tmp_path / "twice.xlsx", {"A": [["x", "x"], [1, 2]]}))


# --- statistics packages ---


def test_labels_and_missing_values_of_spss(tmp_path):
    path = tmp_path / "survey.sav"
    codes = {"sex": [1, 2, 9, 1, 2], "age": [30, 99, None, 98, 31], "grade": [3, 1, 2, 1, 2], "pain": [0, 4, 10, 7, 3]}
    frame = pl.DataFrame(codes).cast(pl.Float64)
    pyreadstat.write_sav(
        frame,
        path,
        variable_value_labels={
            "sex": {1: "male", 2: "female", 9: "refused"},
            "age": {98: "refused", 99: "not asked"},
            "grade": {1: "mild", 2: "moderate", 3: "severe"},
            "pain": {0: "none", 10: "worst"},
        },
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}]},
        variable_measure={"grade": "ordinal"},
    )
    read = read_table(path)
    assert read["sex"].to_list() == ["male", "female", None, "male", "female"]
    assert read["age"].to_list() == [30, None, None, None, 31]
    assert read["pain"].to_list() == [0, 4, 10, 7, 3]
    log = read_log(path, action="sex", reward="pain")
    assert log.schema.columns[1].categories == ("mild", "moderate", "severe")
    assert log.schema.columns[1].kind == "ordinal"
    assert any("'age'" in note and "2 cells" in note and "not asked" in note for note in log.notes)
    assert any("'pain'" in note for note in log.notes)


def test_missing_values_of_stata(tmp_path):
    path = tmp_path / "survey.dta"
    frame = pd.DataFrame({"x": [1, 2, "a"], "code": ["007", "x", ""], "day": [date(2024, 1, 2)] * 3, "y": [1, 2, 3]})
    labels = {"x": {"a": "lost"}}
    pyreadstat.write_dta(frame, path, missing_user_values={"x": ["a"]}, variable_value_labels=labels)
    read = read_table(path)
    assert read["x"].to_list() == [1, 2, None]
    assert read["code"].to_list()[:2] == ["007", "x"]
    assert read["day"].to_list() == [date(2024, 1, 2)] * 3
    assert any("'x'" in note and "lost" in note for note in read_log(path, action="code", reward="x").notes)


def test_sas(tmp_path):
    path = tmp_path / "table.xpt"
    pyreadstat.write_xport(TABLE.select("age", "dose"), path)
    assert read_table(path).equals(TABLE.select("age", "dose"))
