"""Pieces of the experiment: one entry on one replication of one clinic, stored as a file once it is done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments import batches, pieces
from experiments.chosen_actions import StoredChoices
from experiments.t1d.choices import Learnt
from experiments.t1d.data import Clinic, Draw, Replication, Size, VirtualClinic, learn_together
from experiments.t1d.settings import BEST, Entry
from experiments.t1d.showcase import showcase


@dataclass(frozen=True)
class Piece:
    """One entry on some meals."""

    entry: Entry
    draw: Draw

    @property
    def title(self) -> str:
        return f"{self.draw.clinic.name}: {self.entry.name}"

    @property
    def words(self) -> str:
        return f"{self.title}, replication {self.draw.index}"

    @property
    def index(self) -> int:
        return self.draw.index

    @property
    def together(self) -> int:
        return self.entry.method.together if isinstance(self.entry.method, Learnt) else 1

    def at(self, index: int) -> "Piece":
        """The same of another replication."""
        return replace(self, draw=replace(self.draw, index=index))

    @property
    def shows(self) -> bool:
        """Whether this piece makes the showcase."""
        return self.entry.name == BEST and self.draw.index == 0 and self.draw.clinic == VirtualClinic()

    @property
    def fingerprint(self) -> str:
        """What the choices depend on: other settings are run anew."""
        settings, draw = pieces.settings_of(self.entry.name, self.entry.method), self.draw
        return f"{settings}, {draw.clinic}, {draw.size}, seed {draw.seed}{', with showcase' * self.shows}"

    def path(self, folder: Path) -> Path:
        return folder / self.draw.place / pieces.folder_name(self.entry.name) / f"{self.draw.index:04d}.npz"

    def load(self, folder: Path) -> StoredChoices | None:
        return StoredChoices.load(self.path(folder), self.fingerprint)

    def work(self, folder: Path, machine: str, progress: pieces.Progress) -> None:
        replication = Replication.of(self.draw, folder, machine)
        chosen = self.entry.method.choose(replication, progress)
        choices = StoredChoices.of(chosen, machine, *replication.tested.theta.shape)
        if self.shows:
            choices = replace(choices, showcase=showcase(chosen, replication))
        choices.save(self.path(folder), self.fingerprint)


def plan(
    clinics: Iterable[Clinic], entries: Sequence[Entry], indices: Iterable[int], size: Size, seed: int
) -> list[Piece]:
    """Entry by entry, so that each is reported in one line."""
    numbers = list(indices)
    return [
        Piece(entry, Draw(clinic, size, seed, index))
        for clinic in clinics
        for entry in entries
        if entry.name not in clinic.without
        for index in numbers
    ]


def run(
    requested: Sequence[Piece], replications: int, folder: Path, machine: str
) -> list[pieces.Failure[batches.Batch[Piece]]]:
    def work(batch: tuple[Piece, ...], progress: pieces.Progress) -> None:
        method = batch[0].entry.method
        if isinstance(method, Learnt) and method.together > 1:
            data = [Replication.of(piece.draw, folder, machine) for piece in batch]
            learn_together(method.model, method.complete, data, progress)
        for piece in batch:
            if piece.load(folder) is None:
                piece.work(folder, machine, progress)

    return batches.run(requested, replications, folder, work)
