"""A policy that MLflow saves and loads gives the same advice, and no file of it is a pickle."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

import prudent
from prudent.decide import MostOftenBest, Search, Support
from prudent.mlflow import log_model, save_model
from prudent.mlflow.policy_description import described, policy_from
from prudent.mlflow.saving import mlflow
from tests.conftest import COMPLETIONS

STRATEGIES = (
    prudent.MaximumExpectedReward(),
    prudent.TailAverse(risk=0.3, measure="quantile"),
    prudent.Conservative(c=0.2, per_attribute=True),
    prudent.AtMost(0.1, below=-1.5),
    MostOftenBest(),
)


def test_a_saved_policy_gives_the_same_advice_and_holds_no_pickle(fitted_models: Any, cases: Any, tmp_path: Path):
    policy = fitted_models["causal"].policy(
        prudent.TailAverse(risk=0.2), completions=COMPLETIONS, costs={"low": 0.3}, doubt=1.0
    )
    save_model(policy, tmp_path / "advice")
    served = mlflow.pyfunc.load_model(str(tmp_path / "advice"))
    given = served.predict(cases)
    assert given.equals(policy.recommend(cases).to_frame())
    names = {path.name for path in (tmp_path / "advice").rglob("*")}
    assert not any(name.endswith((".pkl", ".pickle")) for name in names)
    assert "prudent" in (tmp_path / "advice" / "requirements.txt").read_text()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_every_strategy_and_option_comes_back(strategy: prudent.Strategy, fitted_models: Any):
    options = {"floor": -2.0, "fallback": "none", "support": Support(0.1, 5), "search": Search(1, 0), "seed": 3}
    fitted = fitted_models["causal"]
    policy = fitted.policy(strategy, completions=8, costs={"low": 0.5}, **options)
    again = policy_from(json.loads(json.dumps(described(policy))), fitted)
    assert repr(again.strategy) == repr(strategy)
    assert {name: getattr(again, name) for name in ("completions", "costs", *options)} == {
        "completions": 8,
        "costs": {"low": 0.5},
        **options,
    }


def test_a_logged_model_is_loaded_from_its_run(fitted_models: Any, cases: Any, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a data base would take more than mlflow-skinny
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        mlflow.start_run()
        logged = log_model(fitted_models["causal"].policy(completions=COMPLETIONS))
        served = mlflow.pyfunc.load_model(logged.model_uri)
    finally:
        mlflow.end_run()
        mlflow.set_tracking_uri(before)
    assert (
        list(served.predict(cases)["action"])
        == fitted_models["causal"].policy(completions=COMPLETIONS).recommend(cases).actions
    )


def test_what_cannot_be_saved_or_was_damaged_is_refused(fitted_models: Any, tmp_path: Path):
    class Own(prudent.Strategy):
        def scores(self, table: Any) -> Any:
            return table.expected

    with pytest.raises(prudent.InputProblem, match="Own"):
        save_model(fitted_models["causal"].policy(Own()), tmp_path / "own")
    with pytest.raises(prudent.InputProblem, match="str"):
        save_model(cast(Any, "model"), tmp_path / "text")
    stored = described(fitted_models["causal"].policy())
    with pytest.raises(prudent.InputProblem, match="damaged"):
        policy_from({**stored, "strategy": "os.system"}, fitted_models["causal"])
