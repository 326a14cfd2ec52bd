"""--group and --censored on every command that reads a log."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import visits

from prudent.command_line import main

pytestmark = pytest.mark.usefixtures("one_chunk")

ROLES = ("--action", "dose", "--reward", "outcome")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, fitted_models: Any) -> Path:
    folder = tmp_path_factory.mktemp("grouped")
    fitted = fitted_models["causal"]
    random = np.random.default_rng(0)
    later = visits(160, seed=7).assign(chance=1 / 3)
    later["patient"] = [f"P{number:03d}" for number in random.integers(0, 60, 160)]
    later["lost"] = (random.random(160) < 0.2).astype(int)
    roles = replace(fitted.roles, group="patient", censored="lost", propensity="chance")
    replace(fitted, roles=roles).save(folder / "model")
    later.to_csv(folder / "later.csv", index=False)
    later.drop(columns=["patient", "lost"]).to_csv(folder / "bare.csv", index=False)
    later.rename(columns={"patient": "person"}).to_csv(folder / "renamed.csv", index=False)
    return folder


@pytest.fixture
def run(capfd: Any, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    monkeypatch.chdir(folder)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def evaluation(run: Any, log: str, *options: object) -> dict[str, Any]:
    fast = ("--strategy", "expected", "--estimator", "dr", "--completions", 16, "--search", 0, "--json", "-")
    code, out, error = run("evaluate", "model", log, *fast, *options)
    assert code == 0, error
    return json.loads(out)


def test_evaluate_uses_the_columns_that_the_model_remembers(run):
    facts = evaluation(run, "later.csv")
    assert facts["groups"]["column"] == "patient"
    assert facts["groups"]["count"] == pd.read_csv("later.csv")["patient"].nunique()
    assert facts["censoring"]["censored"] == pd.read_csv("later.csv")["lost"].sum()
    named = evaluation(run, "renamed.csv", "--group", "person")
    assert named["groups"] == {"column": "person", "count": facts["groups"]["count"]}
    value, other = (one["policies"][0]["value"] for one in (facts, named))
    assert other == pytest.approx(value)


def test_evaluate_says_which_columns_are_not_there(run):
    facts = evaluation(run, "bare.csv")
    assert facts["groups"] is None
    assert facts["censoring"] is None
    for name in ("'patient'", "'lost'"):
        assert any(name in note for note in facts["notes"])
    code, _, error = run("evaluate", "model", "bare.csv", "--group", "nobody")
    assert code == 2
    assert "'nobody'" in error
    code, _, error = run("evaluate", "model", "later.csv", "--group", "ward")
    assert code == 2
    assert "'ward'" in error


def test_guarantee_counts_groups(run):
    out = ("--out", "advice.csv", "--completions", 16, "--confidence", 0.6, "--guarantee")
    code, _, said = run("recommend", "model", "bare.csv", *out, "later.csv", "--keep", "ward")
    assert code == 0, said
    assert "groups" in said
    code, _, said = run("recommend", "model", "bare.csv", *out, "bare.csv")
    assert code == 0, said
    assert "'patient'" in said


def test_inspect_proposes_the_group_and_counts(run):
    code, out, _ = run("inspect", "later.csv", *ROLES, "--propensity", "chance", "--ignore", "lost", "--json", "-")
    assert code == 0
    facts = json.loads(out)
    assert "--group patient" in facts["proposed"]
    code, out, _ = run("inspect", "later.csv", *ROLES, "--group", "patient", "--censored", "lost", "--json", "-")
    facts = json.loads(out)
    assert facts["groups"] == pd.read_csv("later.csv")["patient"].nunique()
    assert facts["censored_rows"] == pd.read_csv("later.csv")["lost"].sum()
    assert not [one for one in facts["findings"] if one["column"] == "patient"]


def test_effects_take_both(run):
    pair = ("--treated", "high", "--control", "low", "--ignore", "chance", "--json", "-")
    code, out, error = run("effects", "later.csv", *ROLES, "--group", "patient", "--censored", "lost", *pair)
    assert code == 0, error
    facts = json.loads(out)
    table = pd.read_csv("later.csv")
    compared = table[table["dose"].isin(["high", "low"])]
    assert facts["group_count"] == len(set(compared["patient"]))
    assert facts["rows"] == len(compared)


def test_a_hold_out_keeps_patients_together(run, monkeypatch, fitted_models):
    import prudent.command_line.fitting as fitting
    from prudent.models import Cost, Costs

    learnt: dict[str, Any] = {}

    @dataclass
    class Ready:
        training: Any = fitted_models["causal"].settings.training

        def fit(self, log: Any, seed: int, progress: Any) -> Any:
            learnt["log"] = log
            return replace(fitted_models["causal"], schema=log.schema, action_labels=log.action_labels, roles=log.roles)

    monkeypatch.setattr(fitting, "CausalPVAE", Ready)
    monkeypatch.setattr(fitting, "estimate_costs", lambda settings, log: Costs(*[Cost(90.0, 1e9)] * 4))
    options = (
        "--group",
        "patient",
        "--censored",
        "lost",
        "--hold-out",
        "held.csv",
        "--out",
        "made",
        "--ignore",
        "chance",
    )
    code, _, error = run("fit", "later.csv", *ROLES, *options)
    assert code == 0, error
    held, table = pd.read_csv("held.csv"), pd.read_csv("later.csv")
    kept = table.iloc[np.asarray(learnt["log"].positions)]
    assert len(held) + len(kept) == len(table)
    assert not set(held["patient"]) & set(kept["patient"])
    assert json.loads(Path("made/model.json").read_text())["roles"]["group"] == "patient"
