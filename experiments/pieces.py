"""Pieces of an experiment: each is run once and stored as a file, so that a run can be stopped and resumed."""

import os
import platform
import re
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import Progress as Bar

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
Progress = Callable[[int, int], None]
"""Is called with how much of a piece is done, and of how much."""


class Piece(Protocol):
    """title: of the pieces that are reported in one line. words: this piece in words."""

    @property
    def title(self) -> str: ...
    @property
    def words(self) -> str: ...
    def load(self, folder: Path) -> object | None: ...


AnyPiece = TypeVar("AnyPiece", bound=Piece)


@dataclass(frozen=True)
class Failure(Generic[AnyPiece]):
    piece: AnyPiece
    problem: str


def run(
    pieces: Sequence[AnyPiece], folder: Path, work: Callable[[AnyPiece, Progress], None]
) -> list[Failure[AnyPiece]]:
    """Run the pieces that `folder` lacks, with a bar where standard error is a terminal and a line for each title.

    A piece that fails does not stop the others. Several processes may share a folder: a piece that another process has
    finished meanwhile is not run.
    """
    waiting = [piece for piece in pieces if piece.load(folder) is None]
    print(f"{len(waiting)} of {len(pieces)} pieces to run", flush=True)
    failures: list[Failure[AnyPiece]] = []
    with Bar(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        everything, inside = bar.add_task("pieces", total=len(waiting)), bar.add_task("")

        def progress(done: int, total: int) -> None:
            bar.update(inside, completed=done, total=total)

        for title, group in groupby(waiting, lambda piece: piece.title):
            begun, failed, count = time.perf_counter(), len(failures), 0
            for piece in group:
                count += 1
                bar.update(inside, description=piece.words, completed=0, total=None)
                problem = "" if piece.load(folder) is not None else _problem(work, piece, progress)
                failures += [Failure(piece, problem)] if problem else []
                bar.advance(everything)
            seconds = time.perf_counter() - begun
            lost = f", {len(failures) - failed} FAILED" if len(failures) > failed else ""
            print(f"{title}: {count} pieces in {seconds:.1f} s{lost}", flush=True)
    return failures


def _problem(work: Callable[[AnyPiece, Progress], None], piece: AnyPiece, progress: Progress) -> str:
    """What went wrong, or ''."""
    try:
        work(piece, progress)
    except Exception as problem:  # whatever a method does must not stop the others
        return f"{type(problem).__name__}: {problem}"
    return ""


def report_failures(failures: Sequence[Failure[AnyPiece]]) -> int:
    """The exit code of the run."""
    for failure in failures:
        print(f"FAILED: {failure.piece.words}: {failure.problem}", file=sys.stderr)
    return 1 if failures else 0


def settings_of(name: str, method: object) -> str:
    """A method's settings as text, by which a change of them is noticed."""
    settings = repr(method)
    if ADDRESS.search(settings):
        raise ValueError(f"the settings of '{name}' have no readable form: {settings}")
    return settings


def folder_name(name: str) -> str:
    """
    >>> folder_name("CPVAE (paper's settings)")
    'cpvae-paper-s-settings-'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


def read_arrays(path: Path, fingerprint: str) -> dict[str, np.ndarray] | None:
    """The stored arrays; None where the file is missing or incomplete or has another fingerprint."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if str(stored["fingerprint"]) != fingerprint:
                return None
            return {name: stored[name] for name in stored.files if name != "fingerprint"}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def write_arrays(path: Path, fingerprint: str, arrays: Mapping[str, Any]) -> None:
    """Renamed into place when complete, so that an interrupted run leaves no part of a piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    with unfinished.open("wb") as file:
        np.savez(file, fingerprint=np.array(fingerprint), **arrays)
    unfinished.replace(path)


def this_machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
