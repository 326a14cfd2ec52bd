"""Saving a policy as an MLflow model, and what MLflow calls to load it."""

import json
import warnings
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import prudent
from prudent.decide import Policy
from prudent.errors import InputProblem
from prudent.mlflow.policy_description import described, policy_from
from prudent.models import Fitted, load

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow warns of its own type hints
        import mlflow.pyfunc
except ImportError as problem:
    raise ImportError("prudent.mlflow needs MLflow; install it with: pip install 'prudent[mlflow]'") from problem

LOADER = "prudent.mlflow"
MODEL, POLICY = "model", "policy.json"


def save_model(policy: Policy | Fitted, path: str | PathLike[str], **options: Any) -> None:
    """Save a policy (or a fitted model, with its default policy) as an MLflow model in the folder `path`.

    `options` are those of `mlflow.pyfunc.save_model`, such as `input_example` or `signature`.
    """
    with TemporaryDirectory() as folder:
        data = _written(policy, Path(folder))
        mlflow.pyfunc.save_model(path=path, data_path=str(data), **_with_defaults(options))


def log_model(policy: Policy | Fitted, name: str = "policy", **options: Any) -> Any:
    """Log a policy to the current MLflow run, and return MLflow's description of the logged model.

    `options` are those of `mlflow.pyfunc.log_model`, such as `registered_model_name`.
    """
    with TemporaryDirectory() as folder:
        data = _written(policy, Path(folder))
        return mlflow.pyfunc.log_model(name=name, data_path=str(data), **_with_defaults(options))


class AdvisingModel:
    """What MLflow asks for advice."""

    def __init__(self, policy: Policy):
        self.policy = policy

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> Any:
        """The advice for every row, as the same kind of frame; see `Advice.to_frame`."""
        return self.policy.recommend(frame).to_frame()


def _load_pyfunc(path: str) -> AdvisingModel:
    """The name is MLflow's."""
    folder = Path(path)
    try:
        description = json.loads((folder / POLICY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputProblem(
            f"'{folder / POLICY}' cannot be read as the description of a policy; save the policy again."
        ) from problem
    return AdvisingModel(policy_from(description, load(folder / MODEL)))


def _written(policy: Policy | Fitted, folder: Path) -> Path:
    """The model folder and the policy's description, together in one folder."""
    asked = policy.policy() if isinstance(policy, Fitted) else policy
    if not isinstance(asked, Policy) or not isinstance(asked.fitted, Fitted):
        raise InputProblem(
            f"Only a policy or a fitted model can be saved for MLflow. Got {type(policy).__name__} instead; make one "
            "with model.policy(...)."
        )
    data = folder / "prudent"
    data.mkdir()
    (data / POLICY).write_text(json.dumps(described(asked), indent=1), encoding="utf-8")
    asked.fitted.save(data / MODEL)
    return data


def _with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    environments = ("pip_requirements", "conda_env", "extra_pip_requirements")
    chosen = any(options.get(name) is not None for name in environments)
    requirements = {} if chosen else {"pip_requirements": [f"prudent[mlflow]=={prudent.__version__}"]}
    return {**requirements, **options, "loader_module": LOADER}
