"""Pieces of one entry whose replications are learnt together, in one program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from experiments import pieces


class Piece(pieces.Piece, Protocol):
    """index: its replication. together: how many replications its entry learns at once."""

    @property
    def index(self) -> int: ...
    @property
    def together(self) -> int: ...
    def at(self, index: int) -> Self:
        """The same piece of another replication."""
        ...


AnyPiece = TypeVar("AnyPiece", bound=Piece)


@dataclass(frozen=True)
class Batch(Generic[AnyPiece]):
    """Replications learnt together share a seed and so depend slightly on each other: a batch is always run whole."""

    pieces: tuple[AnyPiece, ...]

    @property
    def title(self) -> str:
        return self.pieces[0].title

    @property
    def words(self) -> str:
        first, *others = self.pieces
        return first.words + (f" to {others[-1].index}" if others else "")

    def load(self, folder: Path) -> list[object] | None:
        """All of them, or None where one is missing."""
        loaded = [piece.load(folder) for piece in self.pieces]
        return None if any(piece is None for piece in loaded) else list(loaded)


def batches(requested: Sequence[AnyPiece], replications: int) -> list[Batch[AnyPiece]]:
    """In the order of the pieces. A batch is whole whichever of its pieces were requested, so that results do not
    depend on how the work was divided."""

    def place(piece: AnyPiece) -> tuple[str, int]:
        return piece.title, piece.index // piece.together

    whole = []
    for _, group in groupby(requested, place):
        first = next(group)
        start = first.index // first.together * first.together
        stop = min(start + first.together, replications)
        whole.append(Batch(tuple(first.at(index) for index in range(start, stop))))
    return whole


def run(
    requested: Sequence[AnyPiece],
    replications: int,
    folder: Path,
    work: Callable[[tuple[AnyPiece, ...], pieces.Progress], None],
) -> list[pieces.Failure[Batch[AnyPiece]]]:
    """Run the batches that the folder lacks; one that fails does not stop the others."""
    return pieces.run(batches(requested, replications), folder, lambda batch, progress: work(batch.pieces, progress))
