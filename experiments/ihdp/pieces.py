"""Pieces of the experiment: one method on some replications of one kind of gaps, kept as a file once it is done."""

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.ihdp.data import Gaps, Outcomes, study
from experiments.ihdp.settings import FRESH_CHUNK, Entry, Page
from prudent.baselines import Answer, Study

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


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
    """What is kept of a method's answers: effects and how good the prices were, each [variant, replication].

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
            np.concatenate([own.effect for own in scores], axis=1),
            np.concatenate([own.pehe for own in scores], axis=1),
            np.concatenate([own.policy_value for own in scores], axis=1),
            sum(own.seconds for own in scores),
            ", ".join(dict.fromkeys(own.machine for own in scores)),
        )


@dataclass(frozen=True)
class Piece:
    """One entry on the replications from `start` to `stop` of a cell."""

    entry: Entry
    cell: Cell
    start: int
    stop: int

    @property
    def words(self) -> str:
        return f"{self.entry.name}, {Path(self.cell.folder).name}, replications {self.start} to {self.stop - 1}"

    @property
    def fingerprint(self) -> str:
        """What the numbers depend on and the file's place does not say: other settings are run anew."""
        settings = repr(self.entry.method)
        if ADDRESS.search(settings):
            raise ValueError(f"the settings of '{self.entry.name}' are not plain values: {settings}")
        return f"{settings}, seed {self.cell.seed}"

    def path(self, folder: Path) -> Path:
        method = re.sub(r"[^a-z0-9.]+", "-", self.entry.name.lower())
        return folder / self.cell.folder / method / f"{self.start:04d}-{self.stop:04d}.npz"

    def load(self, folder: Path) -> Scores | None:
        """What is kept, or None where there is nothing, or nothing whole, or the settings were others."""
        fingerprint = self.fingerprint
        try:
            with self.path(folder).open("rb") as file, np.load(file, allow_pickle=False) as kept:
                if str(kept["fingerprint"]) != fingerprint:
                    return None
                return Scores(
                    tuple(str(variant) for variant in kept["variants"]),
                    kept["effect"],
                    kept["pehe"],
                    kept["policy_value"],
                    float(kept["seconds"]),
                    str(kept["machine"]),
                )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, scores: Scores, folder: Path) -> None:
        """Renamed into place when it is whole, so that an interrupted run leaves no half of a piece."""
        path = self.path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.savez(
                file,
                fingerprint=np.array(self.fingerprint),
                variants=np.array(scores.variants),
                seconds=np.array(scores.seconds),
                machine=np.array(scores.machine),
                effect=scores.effect,
                pehe=scores.pehe,
                policy_value=scores.policy_value,
            )
        unfinished.replace(path)


def pieces_of(page: Page, entry: Entry, share: float, seed: int) -> list[Piece]:
    gaps, own_share = ("shared", 0.0) if entry.complete else (page.gaps, share)
    cell = Cell(gaps, own_share, page.replications, seed)
    chunk = entry.chunk if gaps == "shared" else min(entry.chunk, FRESH_CHUNK)
    starts = range(0, page.replications, chunk)
    return [Piece(entry, cell, start, min(start + chunk, page.replications)) for start in starts]


def plan(pages: Sequence[Page], seed: int) -> list[Piece]:
    """Every piece once, method by method; a complete table has no share, so it is asked once for all of them."""
    every = [
        piece
        for page in pages
        for entry in page.entries
        for share in page.shares
        for piece in pieces_of(page, entry, share, seed)
    ]
    return list({piece.path(Path()): piece for piece in every}.values())
