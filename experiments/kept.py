"""Pieces of an experiment: each is run once and kept as a file, so that a run can be stopped and resumed."""

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
from rich.progress import Progress

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
Told = Callable[[int, int], None]
"""Is told how far a piece has come: what is done, and of how much."""


class Piece(Protocol):
    """title: what pieces that are told of in one line have in common."""

    @property
    def title(self) -> str: ...
    @property
    def words(self) -> str: ...
    def load(self, folder: Path) -> object | None: ...


Own = TypeVar("Own", bound=Piece)


@dataclass(frozen=True)
class Failure(Generic[Own]):
    piece: Own
    problem: str


def run(pieces: Sequence[Own], folder: Path, work: Callable[[Own, Told], None]) -> list[Failure[Own]]:
    """Run what `folder` does not hold, with a bar where standard error is a terminal and a line for each title.

    One that fails loses no other. Several processes may share a folder: what another has done since is left alone.
    """
    waiting = [piece for piece in pieces if piece.load(folder) is None]
    print(f"{len(waiting)} of {len(pieces)} pieces to run", flush=True)
    console = Console(stderr=True)
    failures: list[Failure[Own]] = []
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        everything, inside = bar.add_task("pieces", total=len(waiting)), bar.add_task("")

        def told(done: int, total: int) -> None:
            bar.update(inside, completed=done, total=total)

        for title, group in groupby(waiting, lambda piece: piece.title):
            own = list(group)
            begun, failed = time.perf_counter(), len(failures)
            for piece in own:
                bar.update(inside, description=piece.words, completed=0, total=None)
                problem = "" if piece.load(folder) is not None else _problem(work, piece, told)
                failures += [Failure(piece, problem)] if problem else []
                bar.advance(everything)
            seconds = time.perf_counter() - begun
            lost = f", {len(failures) - failed} FAILED" if len(failures) > failed else ""
            print(f"{title}: {len(own)} pieces in {seconds:.1f} s{lost}", flush=True)
    return failures


def _problem(work: Callable[[Own, Told], None], piece: Own, told: Told) -> str:
    """What went wrong, or ''."""
    try:
        work(piece, told)
    except Exception as problem:  # whatever a method does must not stop the others
        return f"{type(problem).__name__}: {problem}"
    return ""


def tell_failures(failures: Sequence[Failure[Own]]) -> int:
    """The exit code of the run, once every failure was told."""
    for failure in failures:
        print(f"FAILED: {failure.piece.words}: {failure.problem}", file=sys.stderr)
    return 1 if failures else 0


def settings_of(name: str, method: object) -> str:
    """A method's settings as text, by which a change of them is noticed."""
    settings = repr(method)
    if ADDRESS.search(settings):
        raise ValueError(f"the settings of '{name}' are not plain values: {settings}")
    return settings


def folder_name(name: str) -> str:
    """
    >>> folder_name("CPVAE (paper's settings)")
    'cpvae-paper-s-settings-'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


def read_arrays(path: Path, fingerprint: str) -> dict[str, np.ndarray] | None:
    """What is kept, or None where there is nothing, or nothing whole, or the fingerprint was another."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            if str(kept["fingerprint"]) != fingerprint:
                return None
            return {name: kept[name] for name in kept.files if name != "fingerprint"}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def write_arrays(path: Path, fingerprint: str, arrays: Mapping[str, Any]) -> None:
    """Renamed into place when it is whole, so that an interrupted run leaves no half of a piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    with unfinished.open("wb") as file:
        np.savez(file, fingerprint=np.array(fingerprint), **arrays)
    unfinished.replace(path)


def this_machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
