"""Run the pieces that are not there yet. One that fails is told at the end and loses none but those of its batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


def run(pieces: Sequence[Piece], replications: int, folder: Path, machine: str) -> list[kept.Failure[Batch]]:
    def work(batch: Batch, told: kept.Told) -> None:
        data = [piece.data() for piece in batch.pieces]
        chosen = batch.pieces[0].entry.method.choose(data, told)
        for piece, replication, own in zip(batch.pieces, data, chosen, strict=True):
            piece.save(judged(piece, replication, own, machine), folder)

    return kept.run(batches(pieces, replications), folder, work)


def batches(pieces: Sequence[Piece], replications: int) -> list[Batch]:
    """In the order of the pieces. A batch is whole whichever of its pieces were asked for, so that nothing depends on
    how the work was shared."""

    def place(piece: Piece) -> tuple[str, int]:
        return piece.entry.name, piece.index // piece.entry.method.together

    found = []
    for _, group in groupby(pieces, place):
        one = next(group)
        together = one.entry.method.together
        start = one.index // together * together
        every = range(start, min(start + together, replications))
        found.append(Batch(tuple(replace(one, index=index) for index in every)))
    return found


def judged(piece: Piece, replication: Replication, chosen: Chosen, machine: str) -> Kept:
    """What is kept of the choices, once they are seen to be an action of every strategy for every test image."""
    actions, rows, method = chosen.actions, len(replication.tested.labels), piece.entry.method
    if actions.shape != (len(chosen.strategies), rows) or not np.isin(actions, np.arange(DIGITS)).all():
        raise ValueError(f"the choices are not one of {DIGITS} actions for each of {rows} images")
    shown = showcase(chosen, replication, method.completions) if piece.shows and isinstance(method, Learnt) else {}
    return Kept(chosen.strategies, actions, chosen.fit_seconds, chosen.choose_seconds, machine, shown)
