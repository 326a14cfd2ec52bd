"""Models on disk: a folder with arrays as safetensors and everything else as JSON. No pickle, no code.

`model.json` names its arrays file by the hash of its content and is replaced last, in one step: a crash in the middle
leaves the old model or none, and a damaged file is detected. Only `prudent.models.loading` knows the classes that can
be loaded.
"""

import hashlib
import json
import os
from dataclasses import asdict, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from prudent.errors import InputProblem
from prudent.propensity import PROPENSITIES, LoggingPolicy

FORMAT = "prudent model"
SEEN = "rows it was fitted on"
VERSION = 11
LOGGING = "logging policy: "


def write_folder(
    path: str | PathLike[str],
    description: dict[str, Any],
    model: eqx.Module,
    seen: np.ndarray,
    logged: LoggingPolicy | None,
) -> None:
    """Write a model to the folder `path`, replacing the model there.

    description: everything about it that is not an array. seen: fingerprints of the rows it was fitted on. logged:
    which actions their cases got.
    """
    folder = Path(path)
    require_model_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    logging_arrays = {} if logged is None else logged.to_arrays()
    named = {LOGGING + name: np.ascontiguousarray(array) for name, array in logging_arrays.items()}
    data = save_arrays(_arrays(model) | {SEEN: seen} | named)
    digest = hashlib.sha256(data).hexdigest()
    arrays = {"file": f"arrays-{digest[:16]}.safetensors", "sha256": digest}
    content = {"format": FORMAT, "version": VERSION, **description, "arrays": arrays}
    _write(folder / arrays["file"], data)
    _write(folder / "model.json", json.dumps(content, indent=1).encode())
    for old in filter(_is_leftover, folder.iterdir()):
        if old.name != arrays["file"]:
            old.unlink()


def require_model_folder(folder: Path) -> None:
    """Refuse a place where a model cannot be saved: a file, or a folder that holds other things than a model.

    What a crash left behind does not count as other things.
    """
    if folder.exists() and not folder.is_dir():
        raise InputProblem(f"'{folder}' is a file. Name a folder to save the model in.")
    if folder.is_dir() and not (folder / "model.json").exists() and not all(map(_is_leftover, folder.iterdir())):
        raise InputProblem(f"The folder '{folder}' holds other things than a model. Name a new or empty folder.")


def _is_leftover(path: Path) -> bool:
    """Arrays of an older model, or a file that a crash left unfinished; never model.json."""
    return path.is_file() and (path.match("arrays-*.safetensors") or path.match("*.part"))


def _write(path: Path, data: bytes) -> None:
    """Write the whole file or nothing: to a temporary file beside it, flushed to disk, then renamed."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_description(folder: Path) -> dict[str, Any]:
    path = folder / "model.json"
    if not path.is_file():
        raise InputProblem(f"'{folder}' is not a saved model: it has no model.json. Make one with 'prudent fit'.")
    try:
        description = json.loads(path.read_bytes())
    except (ValueError, OSError) as problem:
        raise damaged(path, "it is not JSON") from problem
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise InputProblem(f"'{path}' was not written by prudent. Name a folder that 'prudent fit' made.")
    if description.get("version") != VERSION:
        raise InputProblem(
            f"The model in '{folder}' has format version {description.get('version')!r}; this prudent reads version "
            f"{VERSION}. Fit the model again, or install the prudent that wrote it."
        )
    return description


class SavedColumns(NamedTuple):
    """What a saved model was made from."""

    names: tuple[str, ...]
    action: str
    reward: str


def saved_columns(folder: Path) -> SavedColumns | None:
    """The columns of the model in a folder, of any version; None where there is none, or it is damaged."""
    try:
        description = json.loads((folder / "model.json").read_bytes())
        names = tuple(str(column["name"]) for column in description["schema"]["columns"])
        return SavedColumns(names, str(description["roles"]["action"]), str(description["roles"]["reward"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _arrays(model: eqx.Module) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_array))
    return {jax.tree_util.keystr(path): np.array(leaf, order="C") for path, leaf in leaves}


def filled(blank: Any, folder: Path, file: str, digest: str) -> tuple[Any, np.ndarray, dict[str, np.ndarray]]:
    """The blank model with the stored arrays, the fingerprints of the rows it was fitted on, and the arrays of the
    logging policy."""
    path = folder / file
    if Path(file).name != file or not path.is_file():
        raise damaged(path, "its arrays file is missing")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise damaged(path, "its content is not what was saved")
    try:
        arrays = load_arrays(data)
    except SafetensorError as problem:
        raise damaged(path, "it is not a safetensors file") from problem

    def fill(at: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        stored = arrays.get(jax.tree_util.keystr(at))
        # where the blank has size 0, the size depends on the log, not on the settings
        if (
            stored is None
            or stored.dtype != leaf.dtype
            or len(stored.shape) != leaf.ndim
            or any(want not in (0, got) for want, got in zip(leaf.shape, stored.shape, strict=True))
        ):
            raise damaged(path, f"array {jax.tree_util.keystr(at)} does not fit the model")
        return stored

    seen = arrays.get(SEEN)
    if seen is None or seen.dtype != np.uint64 or seen.ndim != 1:
        raise damaged(path, "it does not say which rows the model was fitted on")
    logged = {name.removeprefix(LOGGING): array for name, array in arrays.items() if name.startswith(LOGGING)}
    # all at once: one by one, every shape of an array would be a little program to compile
    return jax.device_put(jax.tree_util.tree_map_with_path(fill, blank)), seen, logged


def damaged(path: Path, why: str) -> InputProblem:
    return InputProblem(f"The model is damaged at '{path}': {why}. Fit it again, or restore the folder from a copy.")


def settings_to_json(settings: Any) -> dict[str, Any]:
    names: dict[Any, str] = {cls: name for name, cls in PROPENSITIES.items()}
    result = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if type(value) in names:
            value = {"propensity": names[type(value)], **asdict(value)}
        elif is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        result[field.name] = value
    return result
