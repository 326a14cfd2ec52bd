"""Pieces of one entry whose replications are learnt together, in one program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from experiments import kept


class Piece(kept.Piece, Protocol):
    """index: its replication. together: how many of them its entry learns at once."""

    @property
    def index(self) -> int: ...
    @property
    def together(self) -> int: ...
    def at(self, index: int) -> Self:
        """The same of another replication."""
        ...


Own = TypeVar("Own", bound=Piece)


@dataclass(frozen=True)
class Batch(Generic[Own]):
    """What is learnt together depends a little on its company, since it shares a seed: so a batch is run whole."""

    pieces: tuple[Own, ...]

    @property
    def title(self) -> str:
        return self.pieces[0].title

    @property
    def words(self) -> str:
        first, *others = self.pieces
        return first.words + (f" to {others[-1].index}" if others else "")

    def load(self, folder: Path) -> list[object] | None:
        """All of them, or None where one is not there."""
        found = [piece.load(folder) for piece in self.pieces]
        return None if any(own is None for own in found) else list(found)


def batches(pieces: Sequence[Own], replications: int) -> list[Batch[Own]]:
    """In the order of the pieces. A batch is whole whichever of its pieces were asked for, so that nothing depends on
    how the work was shared."""

    def place(piece: Own) -> tuple[str, int]:
        return piece.title, piece.index // piece.together

    found = []
    for _, group in groupby(pieces, place):
        one = next(group)
        start = one.index // one.together * one.together
        found.append(Batch(tuple(one.at(index) for index in range(start, min(start + one.together, replications)))))
    return found


def run(
    pieces: Sequence[Own],
    replications: int,
    folder: Path,
    work: Callable[[tuple[Own, ...], kept.Told], None],
) -> list[kept.Failure[Batch[Own]]]:
    """Run what the folder does not hold; a batch that fails loses no other."""
    return kept.run(batches(pieces, replications), folder, lambda batch, told: work(batch.pieces, told))
