"""Run the pieces that are not there yet. One that fails is told at the end and loses none but those of its batch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments import batches, kept
from experiments.chosen import Chosen, Kept
from experiments.mnist.choices import Learnt, showcase
from experiments.mnist.data import DIGITS, Replication
from experiments.mnist.pieces import Piece


def run(pieces: Sequence[Piece], replications: int, folder: Path, machine: str) -> list[kept.Failure]:
    def work(own: tuple[Piece, ...], told: kept.Told) -> None:
        data = [piece.data() for piece in own]
        chosen = own[0].entry.method.choose(data, told)
        for piece, replication, one in zip(own, data, chosen, strict=True):
            piece.save(judged(piece, replication, one, machine), folder)

    return batches.run(pieces, replications, folder, work)


def judged(piece: Piece, replication: Replication, chosen: Chosen, machine: str) -> Kept:
    """What is kept of the choices, once they are seen to be an action of every strategy for every test image."""
    method = piece.entry.method
    own = Kept.of(chosen, machine, len(replication.tested.labels), DIGITS)
    if not (piece.shows and isinstance(method, Learnt)):
        return own
    return replace(own, showcase=showcase(chosen, replication, method.completions))
