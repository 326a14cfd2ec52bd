"""Run the pieces that are not stored yet. One that fails is reported at the end and stops only its batch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments import batches
from experiments.chosen_actions import Chosen, StoredChoices
from experiments.mnist.choices import Learnt, showcase
from experiments.mnist.data import DIGITS, Replication
from experiments.mnist.pieces import Piece
from experiments.pieces import Failure, Progress


def run(pieces: Sequence[Piece], replications: int, folder: Path, machine: str) -> list[Failure]:
    def work(batch: tuple[Piece, ...], progress: Progress) -> None:
        data = [piece.data() for piece in batch]
        every_choice = batch[0].entry.method.choose(data, progress)
        for piece, replication, chosen in zip(batch, data, every_choice, strict=True):
            piece.save(checked(piece, replication, chosen, machine), folder)

    return batches.run(pieces, replications, folder, work)


def checked(piece: Piece, replication: Replication, chosen: Chosen, machine: str) -> StoredChoices:
    """What is stored of the choices, once they are known to be a valid action for every test image."""
    method = piece.entry.method
    choices = StoredChoices.of(chosen, machine, len(replication.tested.labels), DIGITS)
    if not (piece.shows and isinstance(method, Learnt)):
        return choices
    return replace(choices, showcase=showcase(chosen, replication, method.completions))
