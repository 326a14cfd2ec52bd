"""SQLite, DuckDB and a real PostgreSQL server: what is read, what is refused, and that nothing is changed or told."""

import sqlite3
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import psycopg
import pytest

from prudent.errors import InputProblem
from prudent.table import Place, database_of, read_log, read_table
from prudent.table.sources import database
from tests.postgres_server import PASSWORD

KINDS = ("sqlite", "duckdb", "postgresql")
CREATE = (
    "CREATE TABLE visits (nr BIGINT, code TEXT, cost NUMERIC(8, 2), seen DATE, sick BOOLEAN, dose TEXT, outcome REAL)",
    "INSERT INTO visits VALUES (1, '007', 1.50, '2024-03-01', TRUE, 'a', 1), (2, NULL, NULL, NULL, NULL, 'b', 2), "
    "(3, '112', 3, '2024-03-09', FALSE, 'a', 3.5)",
    "CREATE VIEW sick_ones AS SELECT nr, sick FROM visits WHERE sick",
)


def execute(place: str, *statements: str) -> None:
    if place.endswith(".db"):
        connection: Any = sqlite3.connect(place)
    else:
        connection = psycopg.connect(place) if "://" in place else duckdb.connect(place)
    for statement in statements:
        connection.execute(statement)
    if not place.endswith(".duckdb"):
        connection.commit()
    connection.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres")
        execute(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        return url
    return str(tmp_path / f"clinic.{'db' if request.param == 'sqlite' else 'duckdb'}")


@pytest.fixture
def clinic(place: str) -> str:
    execute(place, *CREATE)
    return place


def sentence(place: str, **how: Any) -> str:
    with pytest.raises(InputProblem) as problem:
        read_table(place, **how)
    text = str(problem.value)
    assert "\n" not in text
    assert "s3cret" not in text
    assert "sauce" not in text
    return text


def test_a_table_keeps_its_types(clinic):
    frame = read_table(clinic, table="visits")
    assert frame["nr"].to_list() == [1, 2, 3]
    assert frame["code"].to_list() == ["007", None, "112"]
    assert frame["cost"].to_list() == [1.5, None, 3]
    assert frame["sick"].to_list() == [True, None, False]
    assert [str(day) for day in frame["seen"].drop_nulls()] == ["2024-03-01", "2024-03-09"]
    log = read_log(clinic, table="visits", action="dose", reward="outcome", ignore=["nr"])
    kinds = {column.name: column.kind for column in log.schema.columns}
    assert kinds["seen"] == "date"
    assert log.rewards.tolist() == [1, 2, 3.5]


def test_a_query_selects(clinic):
    assert read_table(clinic, query="SELECT nr, cost * 2 AS twice FROM visits WHERE nr < 3 ORDER BY nr;").rows() == [
        (1, 3.0),
        (2, None),
    ]
    assert read_table(clinic, table="sick_ones").rows() == [(1, True)]
    assert read_table(f"{clinic}#sick_ones").rows() == [(1, True)]


def test_rows_come_in_batches(clinic, monkeypatch):
    for kind in ("sqlite", "postgresql"):
        monkeypatch.setattr(f"prudent.table.sources.{kind}.BATCH", 1)
    frame = read_table(clinic, table="visits")
    assert frame["cost"].to_list() == [1.5, None, 3]
    assert frame["code"].to_list() == ["007", None, "112"]


def test_mixed_cells_are_text():
    frame = database.from_batches(("a", "b"), [[(1, None), (2, None)], [(2.5, None)], [("<5", None)]])
    assert frame["a"].to_list() == ["1", "2", "2.5", "<5"]
    assert frame["b"].null_count() == 4


def test_wrong_names_and_queries_are_one_sentence(clinic):
    assert "'visits'" in sentence(clinic, table="visit")
    assert "'sick_ones', 'visits'" in sentence(clinic)
    assert "leave out" in sentence(clinic, table="visits", query="SELECT 1")
    assert "no sheet" in sentence(clinic, sheet="visits")
    assert "nope" in sentence(clinic, query="SELECT nope FROM visits")
    assert "2 columns named 'nr'" in sentence(clinic, query="SELECT nr, nr FROM visits")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM visits",
        "DROP TABLE visits",
        "SELECT 1; DELETE FROM visits",
        "CREATE TABLE more AS SELECT * FROM visits",
        "WITH gone AS (DELETE FROM visits RETURNING nr) SELECT * FROM gone",
        "ATTACH 'other.db' AS other",
    ],
)
def test_a_query_changes_nothing(clinic, query):
    sentence(clinic, query=query)
    assert len(read_table(clinic, table="visits")) == 3
    assert "more" not in sentence(clinic)


def test_a_function_of_postgresql_changes_nothing(postgres):
    execute(postgres, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", *CREATE)
    execute(postgres, "CREATE FUNCTION clear() RETURNS INT LANGUAGE SQL AS 'DELETE FROM visits; SELECT 1'")
    assert "read-only" in sentence(postgres, query="SELECT clear()")
    assert len(read_table(postgres, table="visits")) == 3


def test_a_query_of_duckdb_reads_no_other_file(tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    execute(str(tmp_path / "x.duckdb"), *CREATE)
    assert "disabled" in sentence(str(tmp_path / "x.duckdb"), query=f"SELECT * FROM '{tmp_path}/secret.csv'")


def test_only_a_database_with_one_table_needs_no_name(place):
    execute(place, "CREATE TABLE only_one (x INTEGER)", "INSERT INTO only_one VALUES (1)")
    assert read_table(place).rows() == [(1,)]
    execute(place, "DROP TABLE only_one")
    assert "no tables" in sentence(place)


def test_odd_types_of_postgresql(postgres):
    frame = read_table(
        postgres,
        query="SELECT 'NaN'::numeric AS n, '1 day'::interval AS i, '{1,2}'::int[] AS l, '10:00'::time AS t, "
        "'{\"a\": 1}'::jsonb AS j, timestamptz '2024-01-01 10:00+02' AS z, 12345678901234567890::numeric AS big",
    )
    assert frame["i"].item() == "1 day"
    assert frame["t"].item() == "10:00:00"
    assert frame["z"].item().astimezone().timestamp() == datetime.fromisoformat("2024-01-01T10:00+02:00").timestamp()
    assert frame["big"].item() == pytest.approx(1.2345678901234567e19)
    assert frame["l"].dtype == frame["j"].dtype == pl.String


# --- secrets ---


@pytest.mark.parametrize("wrong", ["wr0ng", "wr0ng%20one", "wr@0ng", "wr/0ng", "wr#0ng?"])
def test_a_wrong_password_is_not_shown(postgres, wrong):
    url = postgres.replace(PASSWORD.replace(" ", "%20"), wrong)
    with pytest.raises(InputProblem) as problem:
        read_table(url, table="visits")
    assert "0ng" not in str(problem.value)
    assert "ward" in str(problem.value)
    assert problem.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ward:s3cret@localhost:abc/x",
        "postgresql://ward:s3cret@127.0.0.1:1/x",
        "postgres://ward@127.0.0.1:1/x?password=s3cret",
        "postgresql://ward:s3cret@/x?nonsense=1",
        "postgresql://ward:s3cret@",
        "postgresql://ward:s3cret@[::1/x",
    ],
)
def test_a_server_that_cannot_be_reached_is_one_sentence(url):
    sentence(url, table="visits")
    assert "s3cret" not in repr(Place.of(url))


# --- writing ---

ADVICE = pl.DataFrame(
    {
        "action": ["a", None, "=1+1"],
        "reward": [1.5, float("nan"), -2],
        "count": [1, None, 3],
        "odd \"name\"": [True, None, False],
        "day": [date(2024, 1, 1), None, None],
    }
)  # fmt: skip


def put(place: str, name: str, frame: pl.DataFrame, replace: bool = False) -> None:
    where = Place.of(place)
    found = database_of(where)
    assert found is not None
    found.check_new_table(where, name, replace)
    found.write(where, name, frame, replace)


def test_what_is_written_is_read(clinic):
    put(clinic, "advice", ADVICE)
    again = read_table(clinic, table="advice")
    expected = ADVICE.with_columns(ADVICE["reward"].fill_nan(None))
    assert again.drop("day").equals(expected.drop("day"))
    assert str(again["day"][0]) == "2024-01-01"
    assert len(read_table(clinic, table="visits")) == 3


def test_a_table_is_replaced_only_if_that_is_asked_for(place):
    put(place, "advice", ADVICE)
    for name in ("advice", "Advice"):
        with pytest.raises(InputProblem, match="--replace"):
            put(place, name, ADVICE.head(1))
    assert len(read_table(place, table="advice")) == 3
    put(place, "advice", ADVICE.head(1), replace=True)
    assert len(read_table(place)) == 1


def test_a_write_that_fails_leaves_everything_as_it_was(place, monkeypatch):
    put(place, "advice", ADVICE)
    found = database_of(Place.of(place))
    assert found is not None
    create = type(found).create

    def stop_after(self, connection: Any, table: str, frame: pl.DataFrame) -> None:
        create(self, connection, table, frame)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(found), "create", stop_after)
    for name in ("advice", "more"):
        with pytest.raises(KeyboardInterrupt):
            put(place, name, ADVICE.head(1), replace=True)
    assert len(read_table(place)) == 3  # and it is the only table


def test_what_a_killed_writer_left_is_undone(tmp_path):
    path = tmp_path / "clinic.db"
    put(str(path), "visits", ADVICE)
    half = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute("DROP TABLE visits")
connection.execute("CREATE TABLE more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) SELECT i FROM n")
os._exit(9)
"""  # noqa: E501
    subprocess.run([sys.executable, "-c", half, str(path)], check=False)
    assert path.with_name("clinic.db-journal").exists()
    assert len(read_table(path)) == 3


def test_a_new_database_that_fails_is_not_left_behind(tmp_path, monkeypatch):
    for name in ("new.db", "new.duckdb"):
        path = tmp_path / name
        found = database_of(Place.of(path))
        monkeypatch.setattr(type(found), "create", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            put(str(path), "advice", ADVICE)
        assert not path.exists()


@pytest.mark.parametrize("name", ["clinic.db", "clinic.duckdb"])
@pytest.mark.parametrize("content", [b"", b"junk" * 100, b"SQLite format 3\0junk", b"12345678DUCKjunk"])
def test_damaged_files_are_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert name in sentence(str(tmp_path / name))
