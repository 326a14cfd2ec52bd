"""Pieces of the experiment: one entry on one replication, kept as a file once it is done."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.kept import folder_name, read_arrays, settings_of, write_arrays
from experiments.mnist.data import Replication, Size
from experiments.mnist.settings import BEST, Entry

SHOWCASE = "showcase_"


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of an entry's choices: actions [strategy, test image], and how long they took where.

    showcase: arrays by name, empty but in the one piece that makes it.
    """

    strategies: tuple[str, ...]
    actions: np.ndarray
    fit_seconds: float
    choose_seconds: float
    machine: str
    showcase: dict[str, np.ndarray]


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

    def load(self, folder: Path) -> Kept | None:
        """What is kept, or None where there is nothing, or nothing whole, or the settings were others."""
        kept = read_arrays(self.path(folder), self.fingerprint)
        if kept is None:
            return None
        shown = {name.removeprefix(SHOWCASE): own for name, own in kept.items() if name.startswith(SHOWCASE)}
        strategies = tuple(str(name) for name in kept["strategies"])
        seconds = float(kept["fit_seconds"]), float(kept["choose_seconds"])
        return Kept(strategies, kept["actions"].astype(np.int64), *seconds, str(kept["machine"]), shown)

    def save(self, kept: Kept, folder: Path) -> None:
        arrays = {
            "strategies": np.array(kept.strategies),
            "actions": kept.actions.astype(np.uint8),
            "fit_seconds": np.array(kept.fit_seconds),
            "choose_seconds": np.array(kept.choose_seconds),
            "machine": np.array(kept.machine),
        }
        shown = {f"{SHOWCASE}{name}": own for name, own in kept.showcase.items()}
        write_arrays(self.path(folder), self.fingerprint, arrays | shown)


def plan(entries: Iterable[Entry], indices: Iterable[int], size: Size, seed: int) -> list[Piece]:
    """Entry by entry, so that a compiled program serves one replication after another."""
    numbers = list(indices)
    return [Piece(entry, size, seed, index) for entry in entries for index in numbers]
