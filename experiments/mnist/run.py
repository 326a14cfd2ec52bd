"""Run the pieces that are not there yet. One that fails is told at the end and loses no other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from experiments import kept
from experiments.mnist.choices import Chosen, Learnt, showcase
from experiments.mnist.data import DIGITS, Replication
from experiments.mnist.pieces import Kept, Piece


@dataclass(frozen=True)
class Batch:
    """Pieces of one entry whose replications are learnt together."""

    pieces: tuple[Piece, ...]

    @property
    def title(self) -> str:
        return self.pieces[0].title

    @property
    def words(self) -> str:
        first, *others = self.pieces
        return first.words + (f" to {others[-1].index}" if others else "")

    def load(self, folder: Path) -> list[Kept] | None:
        """All of them, or None where one is not there."""
        found = [piece.load(folder) for piece in self.pieces]
        return None if any(own is None for own in found) else [own for own in found if own is not None]


def run(pieces: Sequence[Piece], folder: Path, machine: str, together: int | None = None) -> list[kept.Failure[Batch]]:
    def work(batch: Batch, told: kept.Told) -> None:
        replications = [piece.data() for piece in batch.pieces]
        chosen = batch.pieces[0].entry.method.choose(replications, told)
        for piece, replication, own in zip(batch.pieces, replications, chosen, strict=True):
            piece.save(judged(piece, replication, own, machine), folder)

    return kept.run(batches(pieces, together), folder, work)


def batches(pieces: Sequence[Piece], together: int | None = None) -> list[Batch]:
    """In the order of the pieces; where a batch begins does not depend on which pieces were asked for."""

    def place(piece: Piece) -> tuple[str, int]:
        return piece.entry.name, piece.index // (together or piece.entry.method.together)

    return [Batch(tuple(group)) for _, group in groupby(pieces, place)]


def judged(piece: Piece, replication: Replication, chosen: Chosen, machine: str) -> Kept:
    """What is kept of the choices, once they are seen to be an action of every strategy for every test image."""
    actions, rows, method = chosen.actions, len(replication.tested.labels), piece.entry.method
    if actions.shape != (len(chosen.strategies), rows) or not np.isin(actions, np.arange(DIGITS)).all():
        raise ValueError(f"the choices are not one of {DIGITS} actions for each of {rows} images")
    shown = showcase(chosen, replication, method.completions) if piece.shows and isinstance(method, Learnt) else {}
    return Kept(chosen.strategies, actions, chosen.fit_seconds, chosen.choose_seconds, machine, shown)
