"""Where results go: checked before the work begins, written whole or not at all."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem
from prudent.models import require_model_folder
from prudent.show import Facts
from prudent.table import (
    PARQUET_ENDINGS,
    WRITTEN_TEXT,
    WRITTEN_WORKBOOK,
    require_workbooks,
    without_formulas,
    write_frame,
)
from prudent.writing import whole_file

STANDARD_OUTPUT = "-"
MODEL_FILE = "model.json"


def require_table_destination(out: str) -> None:
    """Refuse a file that could not be written later, by its ending or its place."""
    if out == STANDARD_OUTPUT:
        return
    path = Path(out)
    if path.suffix.lower() not in (*WRITTEN_TEXT, *PARQUET_ENDINGS, WRITTEN_WORKBOOK):
        raise InputProblem(
            f"'{out}' must end in .csv, .tsv, .parquet, .pq or .xlsx, or be '-' for standard output; rename it."
        )
    if path.suffix.lower() == WRITTEN_WORKBOOK:
        require_workbooks()
    require_file_destination(path)


def require_file_destination(path: Path) -> None:
    with _said_of(path):
        if path.is_dir():
            raise InputProblem(f"'{path}' is a folder; name a file to write.")
        folder = path.parent
        if not folder.is_dir():
            raise InputProblem(f"There is no folder '{folder}' to write '{path.name}' in; make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputProblem(f"The folder '{folder}' may not be written to; name another place for '{path.name}'.")


def require_folder_destination(path: Path, what: str) -> None:
    """Refuse a folder that could not be made or written to later."""
    with _said_of(path):
        nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise InputProblem(f"'{nearest}' is a file, so {what} cannot be saved in '{path}'; name a folder.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputProblem(f"The folder '{nearest}' may not be written to; name another place for {what}.")


def require_model_destination(path: Path) -> None:
    """Refuse before fitting, which takes minutes, what could not be saved after it."""
    require_folder_destination(path, "the model")
    require_model_folder(path)


def require_json_destination(path: Path | None) -> None:
    if path is not None and str(path) != STANDARD_OUTPUT:
        require_file_destination(path)


@dataclass(frozen=True)
class FilesOfACommand:
    """What a command reads and writes: checked before it does either.

    outputs: by the option that names them. inputs: files that are read, and folders of parts. models: folders that are
    read or written. databases: outputs to which only a table is added, so that they may be read as well.
    """

    outputs: Mapping[str, Path | None]
    inputs: tuple[Path | None, ...]
    models: tuple[Path, ...] = field(default=())
    databases: tuple[str, ...] = field(default=())

    def check(self) -> None:
        """No output may be a file that is read, be it by another name or a link, a file of a model, or the same file as
        another output: one of the two would be lost."""
        places = {
            option: path for option, path in self.outputs.items() if path is not None and str(path) != STANDARD_OUTPUT
        }
        inputs = [path for path in self.inputs if path is not None]
        for option, out in places.items():
            self._check_one(option, out, inputs)
        for option, out in places.items():
            for other, place in places.items():
                if option < other and _same_file(out, place):
                    raise InputProblem(f"{option} and {other} are the same file, '{out}'; name two files.")

    def _check_one(self, option: str, out: Path, inputs: list[Path]) -> None:
        for given in () if option in self.databases else inputs:
            if given.is_dir() and _is_inside(out, given):
                raise InputProblem(f"{option} would write '{out}' into '{given}', which is read; name another.")
            if _same_file(out, given):
                raise InputProblem(f"{option} is the file '{given}' that is read; name another file, or it is lost.")
        for model in self.models:
            if _is_inside(out, model) or any(_same_file(out, entry) for entry in _entries(model)):
                raise InputProblem(f"{option} would write '{out}' into the model folder '{model}'; name another place.")
        if (out.parent / MODEL_FILE).exists() and out.name == MODEL_FILE:
            raise InputProblem(f"{option} is part of the model in '{out.parent}'; name another file, or it is lost.")


def _same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file: by a link, by a hard link, or once the file is made."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def write_json(facts: Facts, path: Path | None) -> bool:
    """Write the facts if a place was named; True if that is standard output, which is then for JSON alone."""
    if path is None:
        return False
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    if str(path) == STANDARD_OUTPUT:
        print(text, flush=True)
        return True
    write_text(f"{text}\n", path)
    return False


def write_table(frame: pl.DataFrame, out: str, verbatim: bool = False) -> None:
    """verbatim: the user's own table, which is read again; in others, cells hold no formulas."""
    if not verbatim and not out.lower().endswith(PARQUET_ENDINGS):
        frame = without_formulas(frame)
    if out == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(frame.write_csv().encode())
        # here, not at exit, where the error of a reader that closed the pipe could no longer be handled
        sys.stdout.flush()
        return
    path = Path(out)
    with _said_of(path), whole_file(path) as file:
        write_frame(frame, file, path.suffix.lower())


def write_text(text: str, path: Path) -> None:
    with _said_of(path), whole_file(path) as file:
        file.write(text.encode(errors="replace"))


@contextmanager
def _said_of(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise unwritable(path, problem) from problem


def unwritable(path: Path, problem: Exception) -> InputProblem:
    why = getattr(problem, "strerror", None) or str(problem).splitlines()[0]
    return InputProblem(f"'{path}' cannot be written ({why}); name another place or make room.")
