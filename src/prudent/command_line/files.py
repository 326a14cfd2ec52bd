"""Where results go: checked before the work begins, written whole or not at all."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem
from prudent.models import require_model_folder
from prudent.show import Facts

TEXT = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
STANDARD_OUTPUT = "-"


def require_table_destination(out: str) -> None:
    """Refuse a file that could not be written later, by its ending or its place."""
    if out == STANDARD_OUTPUT:
        return
    path = Path(out)
    if path.suffix.lower() not in (*TEXT, *PARQUET):
        raise InputProblem(
            f"'{out}' must end in .csv, .tsv, .parquet or .pq, or be '-' for standard output; rename it."
        )
    require_file_destination(path)


def require_file_destination(path: Path) -> None:
    if path.is_dir():
        raise InputProblem(f"'{path}' is a folder; name a file to write.")
    folder = path.parent
    if not folder.is_dir():
        raise InputProblem(f"There is no folder '{folder}' to write '{path.name}' in; make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputProblem(f"The folder '{folder}' may not be written to; name another place for '{path.name}'.")


def require_folder_destination(path: Path, what: str) -> None:
    """Refuse a folder that could not be made or written to later."""
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


def refuse_to_overwrite(outputs: Mapping[str, Path | None], *inputs: Path | None) -> None:
    """No output may be the same file as an input, which would be lost; `outputs` are named by their options."""
    for option, out in outputs.items():
        for given in inputs:
            if out is not None and given is not None and out.exists() and given.exists() and out.samefile(given):
                raise InputProblem(f"{option} is the file '{given}' that is read; name another file, or it is lost.")


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


def write_table(frame: pl.DataFrame, out: str) -> None:
    if out == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(frame.write_csv().encode())
        # here, not at exit, where the error of a reader that closed the pipe could no longer be handled
        sys.stdout.flush()
        return
    path = Path(out)
    if path.suffix.lower() in PARQUET:
        _write_whole(path, lambda temporary: frame.write_parquet(temporary))
    else:
        _write_whole(path, lambda temporary: frame.write_csv(temporary, separator=TEXT[path.suffix.lower()]))


def write_text(text: str, path: Path) -> None:
    _write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """To a temporary file beside it, then renamed: a reader sees the old file or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as problem:
        raise unwritable(path, problem) from problem
    finally:
        temporary.unlink(missing_ok=True)


def unwritable(path: Path, problem: OSError) -> InputProblem:
    return InputProblem(f"'{path}' cannot be written ({problem.strerror or problem}); name another place or make room.")
