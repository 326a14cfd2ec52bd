"""A fitted model as arrays (safetensors) and everything else as JSON. No pickle, no code.

Only `prudent.models.loading` knows the classes that can be loaded; `prudent.models.folder` writes and reads the files.
"""

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

from prudent.models.folder import SavedFiles, damaged, write_files
from prudent.propensity import PROPENSITIES, LoggingPolicy

SEEN = "rows it was fitted on"
GROUPS = "groups it was fitted on"
LOGGING = "logging policy: "
MAY_BE_INFINITE = (".possible", ".average", ".calibration", ".logged.constants")
"""Arrays in which infinity stands for "no bound" or "not used"; a network's weights are finite."""


def write_folder(
    path: str | PathLike[str],
    description: dict[str, Any],
    model: eqx.Module,
    seen: np.ndarray,
    logged: LoggingPolicy | None,
    groups: np.ndarray,
) -> None:
    """Write a model to the folder `path`, replacing the model there.

    description: everything about it that is not an array. seen: fingerprints of the rows it was fitted on. logged:
    which actions their cases got. groups: hashes of the groups they belong to, such as patients; empty without.
    """
    logging_arrays = {} if logged is None else logged.to_arrays()
    named = {LOGGING + name: np.ascontiguousarray(array) for name, array in logging_arrays.items()}
    known = {SEEN: seen} | ({GROUPS: groups} if len(groups) else {})
    write_files(Path(path), description, save_arrays(_arrays(model) | known | named))


def _arrays(model: eqx.Module) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_array))
    return {jax.tree_util.keystr(path): np.array(leaf, order="C") for path, leaf in leaves}


class Filled(NamedTuple):
    """A model with its stored arrays, the fingerprints and the groups of the rows it was fitted on, and the arrays of
    the logging policy."""

    model: Any
    seen: np.ndarray
    groups: np.ndarray
    logged: dict[str, np.ndarray]


def filled(blank: Any, saved: SavedFiles) -> Filled:
    """The blank model with what is stored."""
    path = saved.arrays_file
    try:
        arrays = load_arrays(saved.arrays)
    except SafetensorError as problem:
        raise damaged(path, "it is not a safetensors file") from problem

    def fill(at: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        name = jax.tree_util.keystr(at)
        stored = arrays.pop(name, None)
        # where the blank has size 0, the size depends on the log, not on the settings
        if (
            stored is None
            or stored.dtype != leaf.dtype
            or len(stored.shape) != leaf.ndim
            or any(want not in (0, got) for want, got in zip(leaf.shape, stored.shape, strict=True))
        ):
            raise damaged(path, f"array {name} does not fit the model")
        if not _holds_numbers(name, stored):
            raise damaged(path, f"array {name} holds something else than finite numbers")
        return stored

    whole = jax.tree_util.tree_map_with_path(fill, blank)
    seen = arrays.pop(SEEN, None)
    if seen is None or seen.dtype != np.uint64 or seen.ndim != 1:
        raise damaged(path, "it does not say which rows the model was fitted on")
    groups = arrays.pop(GROUPS, np.zeros(0, np.int64))
    if groups.dtype != np.int64 or groups.ndim != 1:
        raise damaged(path, "it does not say which groups the model was fitted on")
    logged = {name: arrays.pop(name) for name in list(arrays) if name.startswith(LOGGING)}
    if arrays:
        raise damaged(path, f"array {next(iter(arrays))} is not of this model")
    # all at once: one by one, every shape of an array would be a little program to compile
    of_policy = {name.removeprefix(LOGGING): array for name, array in logged.items()}
    return Filled(jax.device_put(whole), seen, groups, of_policy)


def _holds_numbers(name: str, stored: np.ndarray) -> bool:
    if stored.dtype.kind != "f":
        return True
    may_be_infinite = any(part in name for part in MAY_BE_INFINITE)
    return not np.isnan(stored).any() if may_be_infinite else bool(np.isfinite(stored).all())


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
