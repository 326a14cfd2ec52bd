"""`prudent effects`, and `prudent evaluate` with --sensitivity and --cross-fit: the studies of the Python API."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import KINDS, visits

import prudent
from prudent.command_line import main

pytestmark = pytest.mark.usefixtures("one_chunk")

ROLES = ("--action", "dose", "--reward", "outcome")
PAIR = ("--treated", "high", "--control", "none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, fitted_models) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    fitted_models["causal"].save(folder / "model")
    table = visits().assign(patient=[f"{row:03d}" for row in range(200)])
    table.loc[:4, "outcome"] = np.nan
    table.to_csv(folder / "log.csv", index=False)
    table[table["dose"] != "low"].to_csv(folder / "two.csv", index=False)
    visits(120, seed=7).to_csv(folder / "later.csv", index=False)
    kinds = {name: "ordinal:mild<moderate<severe" if name == "grade" else kind for name, kind in KINDS.items()}
    options = [part for name, kind in kinds.items() for part in ("--kind", f"{name}={kind}")]
    (folder / "kinds.txt").write_text("\n".join([*options, "--ignore", "patient"]))
    return folder


@pytest.fixture
def run(capfd, monkeypatch, folder):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def effects(run, *options: object, log: str = "log.csv") -> tuple[int, str, str]:
    return run("effects", log, *ROLES, *Path("kinds.txt").read_text().splitlines(), *options)


# --- effects ---


@pytest.fixture(scope="module")
def expected(folder):
    log = prudent.read_log(folder / "log.csv", action="dose", reward="outcome", kinds=KINDS, ignore=["patient"])
    return prudent.effects(log, between=("none", "high"), confidence=0.9, seed=3)


def test_effects_are_those_of_python(run, expected):
    options = ("--confidence", 0.9, "--seed", 3, "--by", "ward", "--by", "pressure", "--bins", 2)
    code, out, _ = effects(run, *PAIR, *options, "--json", "-")
    facts = json.loads(out)
    assert code == 0
    assert facts["effects"] == json.loads(json.dumps(expected.to_frame().to_dicts()))
    assert facts["groups"]["ward"] == json.loads(json.dumps(expected.by("ward", 2).to_dicts()))
    assert len(facts["groups"]["pressure"]) == 3  # two bins and the gaps
    assert "by_predicted" not in facts


def test_effects_are_shown_with_groups_and_notes(run):
    code, out, _ = effects(run, *PAIR, "--by", "ward")
    assert code == 0
    for words in ("'high' against 'none'", "ATE", "ATT", "ATC", "By 'ward'", "north", "(missing)", "another action"):
        assert words in out


def test_an_effect_for_every_row_in_order(run, expected):
    code, _, _ = effects(run, *PAIR, "--seed", 3, "--out", "rows.csv", "--keep", "patient")
    assert code == 0
    rows = pl.read_csv("rows.csv", schema_overrides={"patient": pl.String})
    assert rows["patient"].to_list() == [f"{row:03d}" for row in range(200)]
    np.testing.assert_allclose(rows["effect"].drop_nulls(), expected.cate())
    np.testing.assert_array_equal(rows["effect"].is_not_null(), expected.used)
    assert rows["effect"].is_null()[:5].all()  # no outcome, so no effect


def test_rows_to_standard_output_are_alone_there(run):
    code, out, error = effects(run, *PAIR, "--out", "-")
    assert code == 0
    assert pl.read_csv(io.StringIO(out)).columns == ["effect"]
    assert "effect" in error


def test_of_two_actions_one_name_is_enough(run):
    facts = [json.loads(effects(run, "--json", "-", *options, log="two.csv")[1]) for options in (PAIR, PAIR[2:])]
    assert [one["treated"] for one in facts] == ["high", "high"]
    assert facts[0]["effects"] == facts[1]["effects"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ("--treated", "--control", "high, low, none")),
        (("--control", "none"), ("--treated",)),
        (("--treated", "hihg"), ("'hihg'", "'high'")),
        (("--treated", "high", "--control", "high"), ("high",)),
        ((*PAIR, "--by", "presure"), ("'presure'", "'pressure'")),
        ((*PAIR, "--keep", "patient"), ("--out",)),
        ((*PAIR, "--out", "rows.txt"), ("rows.txt", ".csv")),
        ((*PAIR, "--out", "log.csv"), ("--out", "log.csv")),
        ((*PAIR, "--json", "log.csv"), ("--json", "log.csv")),
    ],
)
def test_wrong_options_are_one_sentence(run, options, words):
    before = Path("log.csv").read_bytes()
    code, _, error = effects(run, *options)
    assert code == 2
    assert all(word in error for word in words)
    assert Path("log.csv").read_bytes() == before


# --- evaluate ---


def evaluate(run, log: str, *options: object) -> tuple[int, str, str]:
    few = ("--completions", 16, "--search", 0, "--strategy", "expected", "--strategy", "tail")
    return run("evaluate", "model", log, *few, *options)


def test_sensitivity_is_told_in_sentences_and_facts(run):
    code, out, _ = evaluate(run, "later.csv", "--sensitivity", "--json", "evaluation.json")
    assert code == 0
    facts = json.loads(Path("evaluation.json").read_text())["sensitivity"]
    assert set(facts["confounding"]["observed_strength"]) == set(KINDS)
    assert {one["other"] for one in facts["confounding"]["tippings"]} >= {"as logged", "always low"}
    assert facts["missingness"]["advice_changed"]
    for name in ("confounding", "missingness"):
        assert facts[name]["sentence"] in out.replace("\n", " ")
    assert "sensitivity" not in json.loads(evaluate(run, "later.csv", "--json", "-")[1])


def test_cross_fitting_judges_on_the_log_of_the_fit(run, fitted_models):
    assert evaluate(run, "log.csv")[0] == 2  # the model has seen these rows
    code, out, _ = evaluate(run, "log.csv", "--cross-fit", 2, "--json", "-")
    assert code == 0
    facts = json.loads(out)
    assert facts["rows"] == 195
    assert set(facts["strategies"]) == {"expected", "tail"}
    assert any("Cross-fitted" in note and "2 models" in note for note in facts["notes"])
    assert run("evaluate", "model", "log.csv", "--cross-fit", 1)[0] == 2


# --- which columns matter, and the usual ways beside prudent ---


def test_columns_that_matter_are_shown_drawn_and_written(run, folder):
    options = ("--strategy", "expected", "--completions", 16, "--columns")
    code, out, error = run("evaluate", "model", "later.csv", *options, "--columns-to", "columns.svg")
    assert (code, error) == (0, "")
    assert "pressure" in out
    assert (folder / "columns.svg").read_text().startswith("<svg")
    code, out, _ = run("evaluate", "model", "later.csv", *options, "--json", "-")
    assert {one["column"] for one in json.loads(out)["columns"]["columns"]} == set(KINDS)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--columns-to", "columns.png"), "columns.png"),
        (("--columns-to", "later.csv"), "later.csv"),
        (("--columns", "--cross-fit", 2), "--cross-fit"),
    ],
)
def test_pictures_that_cannot_be_are_refused(run, options, named):
    code, _, error = run("evaluate", "model", "later.csv", *options)
    assert code == 2
    assert named in error


def test_prudent_is_compared_with_the_usual_ways(run):
    kinds = Path("kinds.txt").read_text().splitlines()
    code, out, error = run("compare", "log.csv", *ROLES, *kinds, "--members", 2, "--rounds", 1, "--json", "-")
    assert (code, error) == (0, "")
    facts = json.loads(out)
    rivals, values = facts["rivals"], {one["name"]: one["value"]["value"] for one in facts["policies"]}
    usual = {"gradient boosting", "random forests", "ridge regression"}
    assert rivals["rival"] == max(usual, key=lambda name: values[name])
    assert rivals["difference"]["value"] == pytest.approx(values["prudent"] - values[rivals["rival"]])
    assert rivals["rival"] in rivals["sentence"]
    assert facts["learnt_from"] + facts["rows"] <= 200


def test_a_share_that_leaves_nothing_is_refused(run):
    code, _, error = run("compare", "log.csv", *ROLES, "--share", 1)
    assert code == 2
    assert "--share" in error
