"""Messy tables on the command line: what inspect names and proposes, how files are written, gaps at recommend."""

import io
import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from test_command_line import visits

from prudent.command_line import main
from prudent.models import CausalPVAE, Sizes
from prudent.networks import Training
from prudent.table import read_log, read_table

pytestmark = pytest.mark.usefixtures("one_chunk")

ROLES = ["--action", "dose", "--reward", "outcome"]
LEFT_OUT = ["chance", "patient", "may_get"]


def german(frame: pl.DataFrame) -> str:
    """The same table as a German spreadsheet writes it: semicolons and decimal commas."""
    text = frame.with_columns(pl.col("weight", "outcome").str.replace(".", ",", literal=True))
    return text.rename({"site": "Größe"}).write_csv(separator=";")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("messy")
    frame = visits()
    frame.write_csv(folder / "log.csv")
    messy = frame.with_columns(
        pl.Series("drug given", [{"10": "A", "20": "B", "30": "C"}.get(dose, "") for dose in frame["dose"]]),
        pl.Series("age", ["999" if row % 30 == 0 else str(20 + row * 7 % 61) for row in range(90)]),
        pl.Series("lab value", ["haemolysed" if row in (3, 40) else f"{row * 13 % 37}.5" for row in range(90)]),
        pl.Series("seen", ["soon" if row == 8 else f"2024-01-{row % 28 + 1:02d}" for row in range(90)]),
    )
    messy.write_csv(folder / "messy.csv")
    (folder / "latin.csv").write_bytes(german(frame).encode("latin-1"))
    (folder / "later.csv").write_bytes(german(visits(seed=2)).encode("latin-1"))
    (folder / "wide.csv").write_bytes(german(frame).encode("utf-16"))
    small = CausalPVAE(
        members=1,
        samples=4,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=2, steps_per_round=10, batch=32),
    )
    small.fit(read_log(folder / "log.csv", action="dose", reward="outcome", ignore=LEFT_OUT)).save(folder / "model")
    german_log = read_log(folder / "wide.csv", action="dose", reward="outcome", decimal=",", ignore=LEFT_OUT)
    small.fit(german_log).save(folder / "german")
    return folder


@pytest.fixture
def run(capfd, monkeypatch, folder):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PRUDENT_DEBUG", raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def inspected(run, *arguments: str) -> dict:
    code, out, _ = run("inspect", *arguments, "--json", "-")
    assert code == 0
    return json.loads(out)


def test_inspect_names_everything_in_one_run_and_its_command_can_be_pasted(run):
    facts = inspected(run, "messy.csv", *ROLES)
    assert {cells["column"]: (cells["count"], cells["rows"]) for cells in facts["odd_cells"]} == {
        "lab value": (2, [4, 41]),
        "seen": (1, [9]),
    }
    assert len(facts["problems"]) == 1
    assert "haemolysed" in facts["problems"][0]
    found = {finding["column"]: finding["what"] for finding in facts["findings"]}
    assert found["drug given"] == "copy of the action"
    assert found["age"] == "code for a gap"
    program, *arguments = shlex.split(facts["proposed"])
    assert program == "prudent"
    code, out, error = run(*arguments, "--json", "-")
    assert (code, error) == (0, "")
    again = json.loads(out)
    assert again["problems"] == again["odd_cells"] == []
    assert again["proposed"] is None
    kinds = {column["name"]: column["kind"] for column in again["columns"]}
    assert kinds["lab value"] == "real"
    assert kinds["seen"] == "date"
    assert "drug given" not in kinds


def test_inspect_shows_what_it_found(run):
    code, out, _ = run("inspect", "messy.csv", *ROLES)
    assert code == 0
    for fact in (
        "--ignore 'drug given'",
        "--missing age=999",
        "--missing 'lab value=haemolysed'",
        "prudent inspect messy",
    ):
        assert fact in out


def test_fit_names_all_odd_cells_and_a_command(run):
    code, _, error = run("fit", "messy.csv", *ROLES, "--out", "new")
    assert code == 2
    for fact in ("'lab value'", "'haemolysed'", "'seen'", "'soon'", "prudent inspect messy.csv"):
        assert fact in error


@pytest.mark.parametrize(
    "arguments", [["latin.csv", "--encoding", "latin-1", "--decimal", ","], ["wide.csv"], ["wide.csv", "--sep", ";"]]
)
def test_files_in_other_encodings_and_with_other_signs(run, arguments):
    facts = inspected(run, *arguments, *ROLES, "--ignore", "chance", "--ignore", "may_get")
    kinds = {column["name"]: column["kind"] for column in facts["columns"]}
    assert kinds == {"weight": "real", "Größe": "categorical", "severity [1]": "ordinal"}
    assert any("';'" in note for note in facts["notes"]) == ("--sep" not in arguments)


def test_options_of_the_file_are_in_the_next_command(run):
    _, out, _ = run("inspect", "latin.csv", *ROLES, "--encoding", "latin-1", "--decimal", ",", "--missing", "99")
    assert "--missing 99 --decimal , --encoding latin-1" in out


def test_an_undecodable_file_names_the_way_out(run):
    code, _, error = run("inspect", "latin.csv", *ROLES)
    assert code == 2
    assert "line 1" in error
    assert "--encoding latin-1" in error


@pytest.mark.parametrize("option", [["--sep", "ab"], ["--decimal", "x"], ["--encoding", "klingon"]])
def test_bad_options_of_files_are_refused_by_every_command(run, option):
    for command in (
        ["inspect", "log.csv", *ROLES],
        ["fit", "log.csv", *ROLES, "--out", "new"],
        ["recommend", "model", "log.csv", "--out", "-"],
        ["evaluate", "model", "log.csv"],
    ):
        code, _, error = run(*command, *option)
        assert code == 2
        assert option[1] in error


def test_recommend_reads_all_its_files_with_the_same_options(run):
    written = ["--sep", ";", "--decimal", ",", "--encoding", "latin-1"]
    options = ["--completions", 8, "--keep", "patient", "--guarantee", "later.csv"]
    code, out, error = run("recommend", "german", "latin.csv", "--out", "-", *options, *written)
    assert code == 0, error
    assert pl.read_csv(io.StringIO(out), infer_schema=False)["patient"].to_list()[:2] == ["0000", "0001"]
    assert "missing in every row" not in error


def test_evaluate_reads_its_log_with_the_same_options(run):
    options = ["--strategy", "expected", "--estimator", "ips", "--completions", "8", "--json", "-"]
    code, out, error = run("evaluate", "german", "later.csv", "--encoding", "latin-1", "--decimal", ",", *options)
    assert code == 0, error
    assert json.loads(out)["log"] == "later.csv"


def test_recommend_takes_a_table_that_lacks_a_column(run, folder):
    frame = read_table(folder / "log.csv")
    frame.head(3).drop("weight").rename({"site": "sites"}).write_csv(folder / "lacking.csv")
    code, out, error = run("recommend", "model", "lacking.csv", "--out", "-", "--completions", 8)
    assert code == 0
    assert "'weight'" in error
    assert "'sites'" in error
    assert len(pl.read_csv(io.StringIO(out))) == 3
    frame.select(pl.col("site").alias("place")).write_csv(folder / "other.csv")
    code, _, error = run("recommend", "model", "other.csv", "--out", "-")
    assert code == 2
    assert "'weight'" in error
