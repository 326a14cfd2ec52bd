"""Every command reads from the places where data live, and advice goes back there; nothing that is read is lost."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from conftest import small_settings, visits
from polars.testing import assert_frame_equal

from prudent.command_line import main
from prudent.command_line.fitting import ModelOptions
from prudent.models import load
from prudent.table import Place, database_of, read_table, workbook_bytes

pytestmark = pytest.mark.usefixtures("one_chunk")
ROLES = ("--action", "dose", "--reward", "outcome")


def table_of(text: str) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(text))


def put(place: Any, name: str, frame: pl.DataFrame) -> None:
    found = database_of(Place.of(place))
    assert found is not None
    found.write(Place.of(place), name, frame, True)


@pytest.fixture(scope="module")
def folder(fitted_models, frame, cases, tmp_path_factory) -> Path:
    """The log and the cases in files of every kind, and a model."""
    folder = tmp_path_factory.mktemp("places")
    fitted_models["conditional"].save(folder / "model")
    tables = {"log": pl.from_pandas(frame), "cases": pl.from_pandas(cases)}
    for name, table in tables.items():
        for database in ("clinic.db", "clinic.duckdb"):
            put(folder / database, name, table)
        table.write_parquet(folder / f"{name}.parquet")
        (folder / f"{name}.xlsx").write_bytes(workbook_bytes(table))
        (folder / name).mkdir()
        table.head(15).write_parquet(folder / name / "0.parquet")
        table.tail(-15).write_parquet(folder / name / "1.parquet")
    return folder


@pytest.fixture
def run(capfd, monkeypatch, folder):
    monkeypatch.chdir(folder)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert "sauce" not in captured.out + captured.err
        return code, captured.out, captured.err

    return run


def recommend(run, *table: object, out: object = "-", more: tuple[object, ...] = ()) -> tuple[int, str, str]:
    return run("recommend", "model", *table, "--out", out, "--completions", 8, *more)


@pytest.fixture(scope="module")
def served(cases, frame, postgres) -> str:
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    put(postgres, "cases", pl.from_pandas(cases))
    put(postgres, "log", pl.from_pandas(frame))
    return postgres


def test_advice_is_the_same_from_every_place(run, served):
    expected = recommend(run, "cases.parquet")
    assert expected[0] == 0
    places = [
        ("clinic.db", "--table", "cases"),
        ("clinic.duckdb#cases",),
        (served, "--query", "SELECT * FROM cases"),
        ("cases.xlsx",),
        ("cases",),
    ]
    for place in places:
        code, out, error = recommend(run, *place)
        assert code == 0, error
        exact = place != ("cases.xlsx",)  # a workbook keeps 16 digits
        assert_frame_equal(table_of(out), table_of(expected[1]), check_exact=exact)


def test_advice_goes_to_every_place(run, folder, served):
    assert recommend(run, "cases.parquet", out="advice.parquet")[0] == 0
    expected = read_table(folder / "advice.parquet").fill_nan(None)
    for out, again in {
        ("advice.xlsx",): "advice.xlsx",
        ("clinic.db", "--out-table", "advice"): "clinic.db#advice",
        ("clinic.duckdb", "--out-table", "advice"): "clinic.duckdb#advice",
        ("new.duckdb", "--out-table", "advice"): "new.duckdb",
        (served, "--out-table", "advice"): f"{served}#advice",
    }.items():
        code, _, error = recommend(run, "clinic.duckdb#cases", out=out[0], more=out[1:])
        assert code == 0, error
        frame = read_table(folder / again if "://" not in again else again)
        assert frame.columns == expected.columns
        assert frame["action"].to_list() == expected["action"].to_list()
        assert frame["expected_reward"].to_list() == pytest.approx(expected["expected_reward"].to_list())


def test_no_table_that_is_read_is_replaced(run, folder, served):
    for place in ("clinic.db", "clinic.duckdb", served):
        before = read_table(f"{place}#cases" if "://" in place else folder / f"{place}#cases")
        for table, more in (
            ((place, "--table", "cases"), ("--out-table", "cases")),
            ((place, "--table", "cases"), ("--out-table", "CASES", "--replace")),
            ((place, "--query", "SELECT * FROM cases"), ("--out-table", "other", "--replace")),
            ((place, "--table", "cases"), ("--out-table", "log", "--replace", "--guarantee", f"{place}#log")),
            ((place, "--table", "cases"), ()),
            (("cases.parquet",), ("--out-table", "log")),
        ):
            code, out, error = recommend(run, *table, out=place, more=more)
            assert (code, out) == (2, ""), error
            assert error.count("\n") == 1
        after = read_table(f"{place}#cases" if "://" in place else folder / f"{place}#cases")
        assert after.equals(before)
    code, _, error = recommend(run, "cases", out="cases/2.parquet")
    assert code == 2
    assert "'cases'" in error
    assert recommend(run, "cases.parquet", out="advice.csv", more=("--replace",))[0] == 2
    assert recommend(run, "cases.parquet", out="nowhere/new.duckdb", more=("--out-table", "x"))[0] == 2


def test_fit_evaluate_and_inspect_read_databases_and_tell_no_password(run, folder, served, monkeypatch):
    code, out, error = run("inspect", served, "--table", "log", *ROLES)
    assert code == 0, error
    assert "--table log" in out
    monkeypatch.setattr(ModelOptions, "settings", lambda *_: small_settings("conditional"))
    places = ("--out", "fitted", "--hold-out", "rest.xlsx")
    code, out, error = run("fit", served, "--query", "SELECT * FROM log", *ROLES, *places)
    assert code == 0, error
    assert len(read_table(folder / "rest.xlsx")) == 40
    assert "sauce" not in (folder / "fitted/model.json").read_text()
    assert load(folder / "fitted").roles.action == "dose"
    json = ("--strategy", "imputation", "--completions", 8, "--json", "evaluation.json")
    put(served, "later", pl.from_pandas(visits(60, seed=3)))
    code, out, error = run("evaluate", "model", served, "--table", "later", *json)
    assert code == 0, error
    assert "ward@" in (folder / "evaluation.json").read_text()
    assert "sauce" not in (folder / "evaluation.json").read_text()


def test_a_lacking_package_is_one_sentence(run, monkeypatch):
    def refuse(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("prudent.table.sources.libraries.import_module", refuse)
    for place, package, extra in (
        ("cases.xlsx", "'fastexcel'", "prudent[files]"),
        ("clinic.duckdb", "'duckdb'", "prudent[databases]"),
        ("postgresql://nowhere/x", "'psycopg'", "prudent[databases]"),
    ):
        code, _, error = recommend(run, place)
        assert code == 2
        assert package in error
        assert f"pip install '{extra}'" in error
        assert error.count("\n") == 1
    for out, more in (("advice.xlsx", ()), ("advice.duckdb", ("--out-table", "advice"))):
        code, _, error = recommend(run, "cases.parquet", out=out, more=more)
        assert code == 2
        assert "pip install" in error
