"""Run the pieces that are not there yet. One that fails is told at the end and loses no other."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments import kept
from experiments.mnist.choices import Learnt, showcase
from experiments.mnist.data import DIGITS
from experiments.mnist.pieces import Kept, Piece


def run(pieces: Sequence[Piece], folder: Path, machine: str) -> list[kept.Failure[Piece]]:
    def work(piece: Piece, told: kept.Told) -> None:
        piece.save(choose(piece, machine, told), folder)

    return kept.run(pieces, folder, work)


def choose(piece: Piece, machine: str, progress: object = False) -> Kept:
    """Ask the method for an action of every strategy for every test image."""
    replication, method = piece.data(), piece.entry.method
    chosen = method.choose(replication, progress)
    actions, rows = chosen.actions, len(replication.tested.labels)
    if actions.shape != (len(chosen.strategies), rows) or not np.isin(actions, np.arange(DIGITS)).all():
        raise ValueError(f"the choices are not one of {DIGITS} actions for each of {rows} images")
    shown = showcase(chosen, replication, method.completions) if piece.shows and isinstance(method, Learnt) else {}
    return Kept(chosen.strategies, actions, chosen.fit_seconds, chosen.choose_seconds, machine, shown)
