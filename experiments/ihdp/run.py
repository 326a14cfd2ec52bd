"""Run the pieces that are not there yet. One that fails is told at the end and loses no other."""

import time
from collections.abc import Sequence
from pathlib import Path

from experiments import kept
from experiments.ihdp.pieces import Piece, Scores


def run(pieces: Sequence[Piece], folder: Path, machine: str) -> list[kept.Failure[Piece]]:
    def work(piece: Piece, told: kept.Told) -> None:
        piece.save(score(piece, machine, told), folder)

    return kept.run(pieces, folder, work)


def score(piece: Piece, machine: str, progress: object = False) -> Scores:
    """Ask the method, and compare what it says with the truth."""
    study, outcomes = piece.cell.data()
    # one table has one seed, so that every piece has the same imputations; tables of their own have seeds of their own
    seed = piece.cell.seed + (0 if study.shared else piece.start)
    begun = time.perf_counter()
    answers = piece.entry.method.estimate(study.part(piece.start, piece.stop), seed, progress)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begun
    return Scores.of(answers, outcomes.expected[piece.start : piece.stop], seconds, machine)
