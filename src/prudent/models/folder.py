"""The files of a saved model: `model.json` and one file of arrays, written so that a reader never sees a mixture.

The arrays are named after the hash of their content, so old and new ones can stand side by side; `model.json`, which
says the name and the hash, is replaced last and in one step, and carries a hash of itself. One writer at a time;
readers do not wait, but begin again where the model was replaced under their hands.
"""

import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from prudent.errors import InputProblem
from prudent.writing import is_unfinished, only_writer, remove_abandoned, write_whole

FORMAT, VERSION = "prudent model", 12
DESCRIPTION = "model.json"
_ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{16}\.safetensors")
_OLD_LEFTOVER = re.compile(r"(model\.json|arrays-[0-9a-f]{16}\.safetensors)\.part")
_NO_HASH = "0" * 64
"""Stands in `model.json` for its own hash while that is computed."""
READINGS, PAUSE = 100, 0.02
"""How often a reader begins again while others write, and for how many seconds it waits in between."""


def write_files(folder: Path, description: dict[str, Any], arrays: bytes) -> None:
    """Replace the model in the folder, or make the folder; a crash at any point leaves the old model, or none."""
    require_model_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(arrays).hexdigest()
    file = f"arrays-{digest[:16]}.safetensors"
    named = {"format": FORMAT, "version": VERSION, **description, "arrays": {"file": file, "sha256": digest}}
    with only_writer(folder):
        require_model_folder(folder)
        write_whole(folder / file, arrays, through_links=False)
        write_whole(folder / DESCRIPTION, sealed(named), through_links=False)
        _remove_old(folder, file)


def sealed(description: dict[str, Any]) -> bytes:
    """A description as the bytes of `model.json`, with their hash."""
    text = json.dumps({**description, "sha256": _NO_HASH}, indent=1).encode()
    before, _, after = text.rpartition(_NO_HASH.encode())
    return before + hashlib.sha256(text).hexdigest().encode() + after


def _remove_old(folder: Path, kept: str) -> None:
    for entry in folder.iterdir():
        if is_unfinished(entry):
            remove_abandoned(entry)
        elif _is_ours(entry) and entry.name != kept:
            entry.unlink(missing_ok=True)


def _is_ours(entry: Path) -> bool:
    """Arrays of some model, or a file that was not finished; never model.json, never anything of the user's."""
    known = _ARRAYS_NAME.fullmatch(entry.name) or _OLD_LEFTOVER.fullmatch(entry.name) or is_unfinished(entry)
    return bool(known) and (entry.is_file() or entry.is_symlink())


def require_model_folder(folder: Path) -> None:
    """Refuse a place where a model cannot be saved: a file, or a folder that holds other things than a model.

    What a crash left behind does not count as other things.
    """
    if folder.exists() and not folder.is_dir():
        raise InputProblem(f"'{folder}' is a file. Name a folder to save the model in.")
    if folder.is_dir() and not (folder / DESCRIPTION).exists() and not all(map(_is_ours, folder.iterdir())):
        raise InputProblem(f"The folder '{folder}' holds other things than a model. Name a new or empty folder.")


class SavedFiles(NamedTuple):
    """What is in a model folder, all from the same model: both files are what was saved."""

    description: dict[str, Any]
    arrays: bytes
    arrays_file: Path


def read_files(folder: Path) -> SavedFiles:
    """The model in a folder; an InputProblem where there is none, or it is damaged or of another version."""
    for reading in range(READINGS):
        before = _content(folder)
        try:
            return _read(folder, before)
        except InputProblem:
            if _content(folder).state == before.state or reading == READINGS - 1:
                raise
            time.sleep(PAUSE)  # replaced meanwhile
    raise AssertionError


def read_description(folder: Path) -> bytes:
    """`model.json` as it is; an InputProblem where there is none."""
    return _content(folder).data


class _Content(NamedTuple):
    """The bytes of `model.json`; `state` changes whenever the file is replaced, be it by the same bytes."""

    data: bytes
    state: tuple[int, int, int]


def _content(folder: Path) -> _Content:
    path = folder / DESCRIPTION
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            return _Content(file.read(), (found.st_dev, found.st_ino, found.st_mtime_ns))
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise InputProblem(
            f"'{folder}' is not a saved model: it has no {DESCRIPTION}. Make one with 'prudent fit'."
        ) from problem
    except OSError as problem:
        raise InputProblem(f"'{path}' cannot be read ({problem.strerror}); check the path and its mode.") from problem


def _read(folder: Path, content: _Content) -> SavedFiles:
    path = folder / DESCRIPTION
    description = _parsed(path, content.data)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise InputProblem(f"'{path}' was not written by prudent. Name a folder that 'prudent fit' made.")
    version = description.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise InputProblem(
            f"The model in '{folder}' has format version {version!r}; this prudent reads version {VERSION}. Fit the "
            "model again, or install the prudent that wrote it."
        )
    digest = description.pop("sha256", None)
    if not isinstance(digest, str) or content.data != sealed(description):
        raise damaged(path, "its content is not what was saved")
    return SavedFiles(description, *_arrays(folder, description.get("arrays")))


def _parsed(path: Path, content: bytes) -> Any:
    try:
        found = json.loads(content)
        json.dumps(found)  # as deep as can be written again
    except (ValueError, RecursionError) as problem:
        raise damaged(path, "it is not JSON") from problem
    return found


def _arrays(folder: Path, named: Any) -> tuple[bytes, Path]:
    if not isinstance(named, dict) or not all(isinstance(named.get(key), str) for key in ("file", "sha256")):
        raise damaged(folder / DESCRIPTION, "it does not name its arrays")
    path = folder / named["file"]
    if not _ARRAYS_NAME.fullmatch(named["file"]) or not path.is_file():
        raise damaged(folder / DESCRIPTION, "its arrays file is missing")
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise damaged(path, f"it cannot be read ({problem.strerror})") from problem
    if hashlib.sha256(data).hexdigest() != named["sha256"]:
        raise damaged(path, "its content is not what was saved")
    return data, path


class SavedColumns(NamedTuple):
    """What a saved model was made from."""

    names: tuple[str, ...]
    action: str
    reward: str


def saved_columns(folder: Path) -> SavedColumns | None:
    """The columns of the model in a folder, of any version; None where there is none, or it is damaged."""
    try:
        description = json.loads((folder / DESCRIPTION).read_bytes())
        names = tuple(str(column["name"]) for column in description["schema"]["columns"])
        return SavedColumns(names, str(description["roles"]["action"]), str(description["roles"]["reward"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def saved_direction(folder: Path) -> bool:
    """Whether lower rewards are better to the model in a folder; False where that cannot be told."""
    try:
        return json.loads((folder / DESCRIPTION).read_bytes()).get("minimize") is True
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def damaged(path: Path, why: str) -> InputProblem:
    return InputProblem(f"The model is damaged at '{path}': {why}. Fit it again, or restore the folder from a copy.")
