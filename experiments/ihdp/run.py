"""Run the pieces that are not stored yet. One that fails is reported at the end and does not stop the others."""

import time
from collections.abc import Sequence
from pathlib import Path

from experiments import pieces
from experiments.ihdp.pieces import Piece, Scores


def run(waiting: Sequence[Piece], folder: Path, machine: str) -> list[pieces.Failure[Piece]]:
    def work(piece: Piece, progress: pieces.Progress) -> None:
        piece.save(score(piece, machine, progress), folder)

    return pieces.run(waiting, folder, work)


def score(piece: Piece, machine: str, progress: object = False) -> Scores:
    """Run the method, and compare its answers with the truth."""
    study, outcomes = piece.cell.data()
    # a shared table has one seed, so that every piece has the same imputations; otherwise each table has its own
    seed = piece.cell.seed + (0 if study.shared else piece.start)
    begun = time.perf_counter()
    answers = piece.entry.method.estimate(study.part(piece.start, piece.stop), seed, progress)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begun
    return Scores.of(answers, outcomes.expected[piece.start : piece.stop], seconds, machine)
