"""`prudent fit`: presets, a budget of time, the model that is replaced, and files that are read and never written."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import small_settings, visits

from prudent import CPVAE, SPVAE, CausalPVAE, InputProblem, Training, load
from prudent.command_line import fitting, main
from prudent.command_line.fitting import ModelOptions
from prudent.models import Cost, Costs

ROLES = ("--action", "dose", "--reward", "outcome")


@dataclass
class Ready:
    """Settings whose fit takes no time: a model that was fitted before, as if to this log."""

    fits: ClassVar[int] = 0
    fitted: Any
    training: Training = Training(extensions=1)

    def fit(self, log: Any, seed: int, progress: Any) -> Any:
        Ready.fits += 1
        return replace(self.fitted, schema=log.schema, action_labels=log.action_labels, roles=log.roles)


@pytest.fixture
def no_training(monkeypatch, fitted_models) -> None:
    monkeypatch.setattr(Ready, "fits", 0)
    monkeypatch.setattr(fitting, "CausalPVAE", lambda: Ready(fitted_models["causal"]))
    monkeypatch.setattr(fitting, "estimate_costs", lambda settings, log: Costs(*[Cost(90.0, 1e9)] * 4))


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Run `prudent fit` in a new folder with a log: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    visits(60).to_csv("log.csv", index=False)

    def run(*arguments: object, log: str = "log.csv") -> tuple[int, str, str]:
        code = main([str(argument) for argument in ("fit", log, *ROLES, *arguments)])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


# --- settings ---


@pytest.mark.parametrize("model", [CausalPVAE, SPVAE, CPVAE])
def test_presets_are_less_and_more_than_the_default(model):
    fast, usual, best = model.preset("fast"), model(), model.preset("best")
    assert fast.members <= usual.members < best.members
    assert fast.training.rounds < usual.training.rounds == best.training.rounds
    assert model.preset("fast", members=4, training=Training(rounds=9)) == model(members=4, training=Training(rounds=9))
    with pytest.raises(InputProblem, match=r"'fast'.*'best'.*'quick'"):
        model.preset("quick")


def test_options_take_precedence_over_the_preset():
    settings = ModelOptions("causal", 2, 7, 0, preset="best", minutes=1.5).settings(known_propensity=False)
    assert (settings.members, settings.training.rounds, settings.training.seconds) == (2, 7, 90.0)
    alone = ModelOptions("causal", None, None, 0, preset="best").settings(known_propensity=False)
    assert alone == CausalPVAE.preset("best")


@pytest.mark.parametrize("minutes", ["0", "-3", "nan"])
def test_a_budget_must_be_above_zero(run, minutes):
    code, _, error = run("--out", "model", "--time-budget", minutes)
    assert code == 2
    assert "--time-budget" in error
    assert not Path("model").exists()


def test_a_budget_that_cuts_training_says_so_and_is_stored(run, monkeypatch):
    monkeypatch.setattr(fitting, "CausalPVAE", lambda: small_settings("causal"))
    code, out, _ = run("--out", "model", "--rounds", 500, "--time-budget", 0.0001)
    assert code == 0
    assert "1 round" in out
    stored = json.loads(Path("model/model.json").read_text())
    assert stored["report"]["rounds"] == 1
    assert any("budget" in note for note in stored["report"]["notes"])
    assert load("model").settings.training.seconds == pytest.approx(0.006)


# --- what is replaced ---


def columns_of(model: str) -> list[str]:
    return [column["name"] for column in json.loads(Path(model, "model.json").read_text())["schema"]["columns"]]


def test_a_model_of_the_same_columns_is_replaced_and_one_of_others_only_by_force(run, no_training):
    assert run("--out", "model", "--seed", 1)[0] == 0
    assert run("--out", "model", "--seed", 2)[0] == 0
    before = Path("model/model.json").read_bytes()
    code, _, error = run("--out", "model", "--ignore", "ward", "--ignore", "smoker")
    assert code == 2
    for words in ("'ward'", "'smoker'", "--force", "'model'"):
        assert words in error
    assert Path("model/model.json").read_bytes() == before
    assert run("--out", "model", "--ignore", "ward", "--ignore", "smoker", "--force")[0] == 0
    assert "ward" not in columns_of("model")


def test_the_estimate_comes_first_and_not_where_quiet_was_asked_for(run, no_training):
    _, _, error = run("--out", "model")
    assert "60 rows" in error
    assert "2 minutes, 1 GB" in error
    assert "longer where held-out rewards ask for more training" in error
    assert run("--out", "model", "--quiet")[1:] == ("", "")


def test_another_reward_is_another_model(run, no_training):
    assert run("--out", "model")[0] == 0
    frame = visits(60).rename(columns={"outcome": "days"})
    frame.to_csv("days.csv", index=False)
    code = main(["fit", "days.csv", "--action", "dose", "--reward", "days", "--out", "model"])
    assert code == 2


def test_it_is_refused_before_anything_is_fitted_or_written(run, no_training):
    assert run("--out", "model")[0] == 0
    assert Ready.fits == 1
    code, _, error = run("--out", "model", "--ignore", "ward", "--hold-out", "held.csv")
    assert (code, "'ward'" in error, Ready.fits) == (2, True, 1)
    assert not Path("held.csv").exists()


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_on_a_terminal_it_asks(run, no_training, monkeypatch, answer, code):
    assert run("--out", "model")[0] == 0
    monkeypatch.setattr(fitting, "on_a_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, default: answer == "y")
    assert run("--out", "model", "--ignore", "ward")[0] == code
    assert ("ward" in columns_of("model")) == (code == 2)


def test_the_log_is_not_overwritten(run):
    before = Path("log.csv").read_bytes()
    Path("link.csv").symlink_to("log.csv")
    for held in ("log.csv", "./log.csv", "link.csv"):
        code, _, error = run("--out", "model", "--hold-out", held)
        assert code == 2
        assert "--hold-out" in error
    assert main(["inspect", "log.csv", *ROLES, "--json", "log.csv"]) == 2
    assert Path("log.csv").read_bytes() == before


# --- inspect ---


def test_inspect_estimates_what_each_command_will_take(run):
    assert main(["inspect", "log.csv", *ROLES, "--json", "facts.json"]) == 0
    costs = json.loads(Path("facts.json").read_text())["costs"]
    fits = [costs[name]["seconds"] for name in ("fit --preset fast", "fit", "fit --preset best")]
    assert sorted(fits) == fits
    assert {name.split(",")[0] for name in costs} >= {"recommend", "evaluate"}
    assert all(cost["seconds"] > 0 and cost["memory"] > 1e8 for cost in costs.values())


def test_inspect_shows_the_estimates_only_where_a_fit_is_possible(run, capfd):
    assert main(["inspect", "log.csv", *ROLES]) == 0
    assert "--preset best" in capfd.readouterr().out
    visits(10).to_csv("few.csv", index=False)
    assert main(["inspect", "few.csv", *ROLES]) == 0
    assert "--preset best" not in capfd.readouterr().out
