"""Pieces of the experiment: one method on some replications of one kind of gaps, stored as a file once it is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.ihdp.data import Gaps, Outcomes, study
from experiments.ihdp.settings import FRESH_CHUNK, Entry, Page
from experiments.pieces import folder_name, read_arrays, settings_of, write_arrays
from experiments.rivals.effects import Answer, Study


@dataclass(frozen=True)
class Cell:
    """The data of one kind of gaps at one share; share 0 is the complete table."""

    gaps: Gaps
    share: float
    replications: int
    seed: int

    def data(self) -> tuple[Study, Outcomes]:
        return _data(self)

    @property
    def folder(self) -> str:
        return f"seed-{self.seed}/" + (f"{self.gaps}-{round(100 * self.share)}" if self.share else "complete")


@lru_cache(maxsize=4)
def _data(cell: Cell) -> tuple[Study, Outcomes]:
    return study(cell.gaps, cell.share, cell.replications, cell.seed)


@dataclass(frozen=True, eq=False)
class Scores:
    """What is stored of a method's answers: effects and how good the prices were, each [variant, replication].

    pehe: root mean squared error of the effect of each row, against the expected effects (Hill 2011). policy_value: the
    mean expected outcome when each row gets the arm with the higher price.
    """

    variants: tuple[str, ...]
    effect: np.ndarray
    pehe: np.ndarray
    policy_value: np.ndarray
    seconds: float
    machine: str

    @classmethod
    def of(cls, answers: dict[str, Answer], expected: np.ndarray, seconds: float, machine: str) -> "Scores":
        replications = len(expected)
        for variant, answer in answers.items():
            fits = answer.effect.shape == (replications,) and answer.prices.shape == expected.shape
            if not (fits and np.isfinite(answer.effect).all() and np.isfinite(answer.prices).all()):
                raise ValueError(f"the answer '{variant}' is not finite or not of {replications} replications")
        prices = np.stack([answer.prices for answer in answers.values()])
        wrong = (prices[..., 1] - prices[..., 0]) - (expected[..., 1] - expected[..., 0])
        return cls(
            tuple(answers),
            np.stack([answer.effect for answer in answers.values()]),
            np.sqrt((wrong**2).mean(axis=-1)),
            np.where(prices[..., 1] > prices[..., 0], expected[..., 1], expected[..., 0]).mean(axis=-1),
            seconds,
            machine,
        )

    @classmethod
    def joined(cls, scores: Sequence["Scores"]) -> "Scores":
        """One after another along the replications; all must have the same variants."""
        return cls(
            scores[0].variants,
            np.concatenate([part.effect for part in scores], axis=1),
            np.concatenate([part.pehe for part in scores], axis=1),
            np.concatenate([part.policy_value for part in scores], axis=1),
            sum(part.seconds for part in scores),
            ", ".join(dict.fromkeys(part.machine for part in scores)),
        )


@dataclass(frozen=True)
class Piece:
    """One entry on the replications from `start` to `stop` of a cell."""

    entry: Entry
    cell: Cell
    start: int
    stop: int

    @property
    def title(self) -> str:
        return f"{self.entry.name} ({self.cell.gaps} gaps)"

    @property
    def words(self) -> str:
        return f"{self.entry.name}, {Path(self.cell.folder).name}, replications {self.start} to {self.stop - 1}"

    @property
    def fingerprint(self) -> str:
        """What the numbers depend on beside the file's place: other settings are run anew."""
        return f"{settings_of(self.entry.name, self.entry.method)}, seed {self.cell.seed}"

    def path(self, folder: Path) -> Path:
        name = f"{self.start:04d}-{self.stop:04d}.npz"
        return folder / self.cell.folder / folder_name(self.entry.name) / name

    def load(self, folder: Path) -> Scores | None:
        """None where nothing complete is stored with these settings."""
        stored = read_arrays(self.path(folder), self.fingerprint)
        if stored is None:
            return None
        variants = tuple(str(variant) for variant in stored["variants"])
        numbers = stored["effect"], stored["pehe"], stored["policy_value"]
        return Scores(variants, *numbers, float(stored["seconds"]), str(stored["machine"]))

    def save(self, scores: Scores, folder: Path) -> None:
        arrays = {name: np.asarray(value) for name, value in vars(scores).items()}
        write_arrays(self.path(folder), self.fingerprint, arrays)


def pieces_of(page: Page, entry: Entry, share: float, seed: int) -> list[Piece]:
    gaps, missing = ("shared", 0.0) if entry.complete else (page.gaps, share)
    cell = Cell(gaps, missing, page.replications, seed)
    chunk = entry.chunk if gaps == "shared" else min(entry.chunk, FRESH_CHUNK)
    starts = range(0, page.replications, chunk)
    return [Piece(entry, cell, start, min(start + chunk, page.replications)) for start in starts]


def plan(pages: Sequence[Page], seed: int) -> list[Piece]:
    """Every piece once, method by method; a complete table has no share of gaps, so it is run once for all shares."""
    every = [
        piece
        for page in pages
        for entry in page.entries
        for share in page.shares
        for piece in pieces_of(page, entry, share, seed)
    ]
    return list({piece.path(Path()): piece for piece in every}.values())
