"""Pieces of the experiment: one entry on one replication, stored as a file once it is done."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.chosen_actions import StoredChoices
from experiments.mnist.data import Replication, Size
from experiments.mnist.settings import BEST, Entry
from experiments.pieces import folder_name, settings_of


@dataclass(frozen=True)
class Piece:
    """One entry on the replication of a number."""

    entry: Entry
    size: Size
    seed: int
    index: int

    @property
    def title(self) -> str:
        return self.entry.name

    @property
    def words(self) -> str:
        return f"{self.entry.name}, replication {self.index}"

    @property
    def together(self) -> int:
        return self.entry.method.together

    def at(self, index: int) -> "Piece":
        """The same of another replication."""
        return replace(self, index=index)

    @property
    def shows(self) -> bool:
        """Whether this piece makes the showcase."""
        return self.entry.name == BEST and self.index == 0

    @property
    def fingerprint(self) -> str:
        """What the choices depend on: other settings are run anew."""
        also = ", with showcase" * self.shows
        return f"{settings_of(self.entry.name, self.entry.method)}, {self.size}, seed {self.seed}{also}"

    def data(self) -> Replication:
        return Replication.of(self.index, self.seed, self.size)

    def path(self, folder: Path) -> Path:
        of = f"seed-{self.seed}/{self.size.images}-images-of-side-{self.size.side}"
        return folder / of / folder_name(self.entry.name) / f"{self.index:04d}.npz"

    def load(self, folder: Path) -> StoredChoices | None:
        """None where nothing complete is stored with these settings."""
        return StoredChoices.load(self.path(folder), self.fingerprint)

    def save(self, choices: StoredChoices, folder: Path) -> None:
        choices.save(self.path(folder), self.fingerprint)


def plan(entries: Iterable[Entry], indices: Iterable[int], size: Size, seed: int) -> list[Piece]:
    """Entry by entry, so that a compiled program serves one replication after another."""
    numbers = list(indices)
    return [Piece(entry, size, seed, index) for entry in entries for index in numbers]
