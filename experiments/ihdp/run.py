"""Run the pieces that are not there yet. One that fails is told at the end and loses no other."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from experiments.ihdp.pieces import Piece, Scores


@dataclass(frozen=True)
class Failure:
    piece: Piece
    problem: str


def run(pieces: Sequence[Piece], folder: Path, machine: str) -> list[Failure]:
    """Run what `folder` does not hold, with a bar where standard error is a terminal and a line for each method."""
    waiting = [piece for piece in pieces if piece.load(folder) is None]
    print(f"{len(waiting)} of {len(pieces)} pieces to run", flush=True)
    console = Console(stderr=True)
    failures: list[Failure] = []
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        everything, inside = bar.add_task("pieces", total=len(waiting)), bar.add_task("")
        for (name, gaps), group in groupby(waiting, lambda piece: (piece.entry.name, piece.cell.gaps)):
            own = list(group)
            begun, failed = time.perf_counter(), len(failures)
            for piece in own:
                bar.update(inside, description=piece.words, completed=0, total=None)
                problem = _run_one(
                    piece, folder, machine, lambda done, total: bar.update(inside, completed=done, total=total)
                )
                failures += [Failure(piece, problem)] if problem else []
                bar.advance(everything)
            seconds = time.perf_counter() - begun
            lost = f", {len(failures) - failed} FAILED" if len(failures) > failed else ""
            print(f"{name} ({gaps} gaps): {len(own)} pieces in {seconds:.1f} s{lost}", flush=True)
    return failures


def score(piece: Piece, machine: str, progress: object = False) -> Scores:
    """Ask the method, and compare what it says with the truth."""
    study, outcomes = piece.cell.data()
    # one table has one seed, so that every piece has the same imputations; tables of their own have seeds of their own
    seed = piece.cell.seed + (0 if study.shared else piece.start)
    begun = time.perf_counter()
    answers = piece.entry.method.estimate(study.part(piece.start, piece.stop), seed, progress)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begun
    return Scores.of(answers, outcomes.expected[piece.start : piece.stop], seconds, machine)


def _run_one(piece: Piece, folder: Path, machine: str, progress: object) -> str:
    """What went wrong, or ''."""
    try:
        piece.save(score(piece, machine, progress), folder)
    except Exception as problem:  # whatever a method does must not stop the others
        return f"{type(problem).__name__}: {problem}"
    return ""
