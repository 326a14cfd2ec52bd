"""How csv files are written: separator, decimal sign, encoding; given, or seen in the file."""

import gzip

import numpy as np
import pytest

from prudent.errors import InputProblem
from prudent.table import read_log, read_table

GERMAN = "größe;gewicht;kosten;dose;outcome\n1,80;72,5;1.234;a;1,5\n1,75;81,2;2.500;b;2,5\n1,60;;980;a;0,5\n"


@pytest.mark.parametrize(
    ("encoding", "given"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-16", "utf-16"),
        ("latin-1", "latin-1"),
        ("cp1252", "cp1252"),
        ("utf-16-le", "utf-16-le"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path, encoding, given, packed):
    content = GERMAN.encode(encoding)
    path = tmp_path / ("log.csv.gz" if packed else "log.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    table = read_table(path, encoding=given, decimal=",")
    assert table.columns == ["größe", "gewicht", "kosten", "dose", "outcome"]
    assert table["gewicht"].to_list() == [72.5, 81.2, None]
    assert table["kosten"].to_list() == [1234.0, 2500.0, 980.0]


def test_an_encoding_that_cannot_be_seen_is_asked_for(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"age,name\n30,x\n40,M\xfcller\n")
    with pytest.raises(InputProblem, match=r"0xfc in line 3.*--encoding latin-1"):
        read_table(path)
    assert read_table(path, encoding="latin-1")["name"].to_list() == ["x", "Müller"]
    with pytest.raises(InputProblem, match="ascii"):
        read_table(path, encoding="ascii")
    path.write_bytes("age,name\n30,x\n".encode("utf-16-le"))
    with pytest.raises(InputProblem, match="--encoding utf-16-le"):
        read_table(path)


def test_separators(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("age|dose,mg|outcome\n30|1|2\n40|2|3\n50|1|4\n")
    assert read_table(path, sep="|").columns == ["age", "dose,mg", "outcome"]
    path.write_text("age\tdose\n30\t1\n")
    assert read_table(path, sep="tab").equals(read_table(path))


@pytest.mark.parametrize(
    "option", [{"sep": ""}, {"sep": "ab"}, {"decimal": ";"}, {"encoding": "klingon"}, {"encoding": "hex"}]
)
def test_bad_formats_are_refused(tmp_path, option):
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputProblem, match=f"'{next(iter(option))}' parameter of read_table"):
        read_table(tmp_path / "log.csv", **option)


def test_what_was_seen_in_the_file_is_noted(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(GERMAN)
    seen = read_log(path, action="dose", reward="outcome")
    assert any("';'" in note for note in seen.notes)
    assert any("'kosten'" in note and "--decimal ," in note for note in seen.notes)
    given = read_log(path, action="dose", reward="outcome", sep=";", decimal=",")
    assert not any("';'" in note or "--decimal" in note for note in given.notes)
    np.testing.assert_array_equal(given.rewards, [1.5, 2.5, 0.5])
    np.testing.assert_array_equal(seen.rewards, given.rewards)


def test_limits_in_a_file_with_decimal_commas_are_still_noted(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("crp;dose;outcome\n<0,5;a;1\n7,5;b;2\n3,25;a;3\n")
    log = read_log(path, action="dose", reward="outcome", decimal=",")
    assert any("'crp'" in note and "1 cell" in note for note in log.notes)
    assert log.schema.columns[0].low == 0.5
