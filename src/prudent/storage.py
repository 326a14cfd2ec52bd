"""Models on disk: a folder with arrays as safetensors and everything else as JSON. No pickle, no code.

`model.json` names its arrays file by the hash of its content and is replaced last, in one step: a crash in the middle
leaves the old model or none, and a damaged file is noticed.
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from prudent.errors import InputProblem
from prudent.log import ActionLabel, Roles
from prudent.models.causal import CausalPVAE
from prudent.models.conditional import CPVAE
from prudent.models.fitted import Fitted
from prudent.models.fitting import FitReport, Sizes
from prudent.models.similarity import SPVAE
from prudent.networks.training import Training, use_compilation_cache
from prudent.propensity import BestGuess, Boosted, ImputedLogistic, Known, Stacked
from prudent.schema import Schema

FORMAT = "prudent model"
SEEN = "rows it was fitted on"
VERSION = 4
SETTINGS: dict[str, Callable[..., Any]] = {"causal": CausalPVAE, "similarity": SPVAE, "conditional": CPVAE}
PROPENSITIES: dict[str, Callable[..., Any]] = {
    "imputed_logistic": ImputedLogistic,
    "best_guess": BestGuess,
    "boosted": Boosted,
    "stacked": Stacked,
    "known": Known,
}


def save(fitted: Fitted, path: str | PathLike[str]) -> None:
    """Write a fitted model to the folder `path`, replacing the model there."""
    folder = Path(path)
    names = {cls: name for name, cls in SETTINGS.items()}
    if type(fitted.settings) not in names:
        raise InputProblem(
            f"Only models of prudent can be saved; {type(fitted.settings).__name__} is not one. Keep it in Python."
        )
    if folder.exists() and not folder.is_dir():
        raise InputProblem(f"'{folder}' is a file. Name a folder to save the model in.")
    if folder.is_dir() and not (folder / "model.json").exists() and not all(map(_own, folder.iterdir())):
        raise InputProblem(f"The folder '{folder}' holds other things than a model. Name a new or empty folder.")
    folder.mkdir(parents=True, exist_ok=True)
    data = save_arrays(_arrays(fitted.model) | {SEEN: fitted.fingerprints})
    digest = hashlib.sha256(data).hexdigest()
    description = {
        "format": FORMAT,
        "version": VERSION,
        "model": names[type(fitted.settings)],
        "settings": _settings_to_json(fitted.settings),
        "schema": fitted.schema.to_json(),
        "action_labels": list(fitted.action_labels),
        "minimize": fitted.minimize,
        "report": asdict(fitted.report),
        "roles": asdict(fitted.roles),
        "arrays": {"file": f"arrays-{digest[:16]}.safetensors", "sha256": digest},
    }
    _write(folder / description["arrays"]["file"], data)
    _write(folder / "model.json", json.dumps(description, indent=1).encode())
    for old in filter(_own, folder.iterdir()):
        if old.name != description["arrays"]["file"]:
            old.unlink()


def load(path: str | PathLike[str]) -> Fitted:
    """Read a fitted model from a folder; refuses unknown versions and damaged files with a sentence."""
    use_compilation_cache()
    folder = Path(path)
    description = _description(folder)
    try:
        settings = _settings_from_json(SETTINGS[description["model"]], description["settings"])
        schema = Schema.from_json(description["schema"])
        labels = _labels(description["action_labels"])
        report = description["report"]
        report = FitReport(
            **{**report, "held_out_bound": tuple(report["held_out_bound"]), "notes": tuple(report["notes"])}
        )
        minimize = bool(description["minimize"])
        roles = _roles(description["roles"])
        file, digest = str(description["arrays"]["file"]), str(description["arrays"]["sha256"])
        # shapes only: settings that ask for absurd sizes must not be given the memory
        blank = eqx.filter_eval_shape(settings.blank, schema, len(labels))
    except InputProblem:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise _damaged(folder / "model.json", f"it lacks or garbles {problem}") from problem
    model, seen = _filled(blank, folder, file, digest)
    return Fitted(model, settings, schema, labels, minimize, report, roles, seen)


def _own(path: Path) -> bool:
    """Arrays of an older model, or what a crash left behind; model.json itself is not among them."""
    return path.is_file() and (path.match("arrays-*.safetensors") or path.match("*.part"))


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all: to a temporary file beside it, flushed to disk, then renamed."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _description(folder: Path) -> dict[str, Any]:
    path = folder / "model.json"
    if not path.is_file():
        raise InputProblem(f"'{folder}' is not a saved model: it has no model.json. Make one with 'prudent fit'.")
    try:
        description = json.loads(path.read_bytes())
    except (ValueError, OSError) as problem:
        raise _damaged(path, "it is not JSON") from problem
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise InputProblem(f"'{path}' was not written by prudent. Name a folder that 'prudent fit' made.")
    if description.get("version") != VERSION:
        raise InputProblem(
            f"The model in '{folder}' has format version {description.get('version')!r}; this prudent reads version "
            f"{VERSION}. Install the prudent that wrote it, or fit the model again."
        )
    return description


def _arrays(model: eqx.Module) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_array))
    return {jax.tree_util.keystr(path): np.array(leaf, order="C") for path, leaf in leaves}


def _filled(blank: Any, folder: Path, file: str, digest: str) -> tuple[Any, np.ndarray]:
    """The model's arrays in their places, and the fingerprints of the rows it was fitted on."""
    path = folder / file
    if Path(file).name != file or not path.is_file():
        raise _damaged(path, "its arrays file is missing")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise _damaged(path, "its content is not what was saved")
    try:
        arrays = load_arrays(data)
    except SafetensorError as problem:
        raise _damaged(path, "it is not a safetensors file") from problem

    def fill(at: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        stored = arrays.get(jax.tree_util.keystr(at))
        # a size of 0 is left open by the blank: it depends on the log, not on the settings
        if (
            stored is None
            or stored.dtype != leaf.dtype
            or len(stored.shape) != leaf.ndim
            or any(want not in (0, got) for want, got in zip(leaf.shape, stored.shape, strict=True))
        ):
            raise _damaged(path, f"array {jax.tree_util.keystr(at)} does not fit the model")
        return jnp.asarray(stored)

    seen = arrays.get(SEEN)
    if seen is None or seen.dtype != np.uint64 or seen.ndim != 1:
        raise _damaged(path, "it does not say which rows the model has seen")
    return jax.tree_util.tree_map_with_path(fill, blank), seen


def _labels(stored: Any) -> tuple[ActionLabel, ...]:
    if (
        not isinstance(stored, list)
        or not stored
        or not all(isinstance(one, str | int | float | bool) for one in stored)
    ):
        raise ValueError("the action labels")
    return tuple(stored)


def _roles(stored: Any) -> Roles:
    roles = Roles(**stored)
    texts = isinstance(roles.action, str) and isinstance(roles.reward, str)
    if not texts or not isinstance(roles.propensity, str | None):
        raise ValueError("the names of the log's columns")
    return roles


def _damaged(path: Path, why: str) -> InputProblem:
    return InputProblem(f"The model is damaged at '{path}': {why}. Fit it again, or restore the folder from a copy.")


def _settings_to_json(settings: Any) -> dict[str, Any]:
    names = {cls: name for name, cls in PROPENSITIES.items()}
    result = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if type(value) in names:
            value = {"propensity": names[type(value)], **asdict(value)}
        elif is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        result[field.name] = value
    return result


def _settings_from_json(cls: Callable[..., Any], stored: dict[str, Any]) -> Any:
    values = dict(stored)
    values["sizes"], values["training"] = Sizes(**values["sizes"]), Training(**values["training"])
    for name, value in values.items():
        if isinstance(value, dict):
            own = dict(value)
            values[name] = PROPENSITIES[own.pop("propensity")](**own)
    return cls(**values)
