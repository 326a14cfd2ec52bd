"""Insulin doses as logged decisions: what is learnt from, what is tested on, and what every dose would have brought."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from experiments.pieces import Progress, read_arrays, this_machine, write_arrays
from prudent import Log, load
from prudent.models import Fitted, fit_many

LEARNT, TESTED = 0, 1
MECHANISMS = ("mcar", "mar")


class World(Protocol):
    """Draws meals of a clinic: records with gaps, what was given, and the reward of every dose."""

    @property
    def units(self) -> tuple[float, ...]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def kinds(self) -> Mapping[str, Any]: ...
    def sample(self, rows: int, seed: int = 0) -> Any: ...


class Clinic(Protocol):
    """Where meals come from, in plain values. `without` names the entries that make no sense there."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def without(self) -> tuple[str, ...]: ...
    def world(self, seed: int) -> World: ...


@dataclass(frozen=True)
class VirtualClinic:
    """Virtual patients; its name says how cells go missing. Every seed has its own clinician."""

    name: str = "mcar"
    gaps: float = 0.3

    @property
    def title(self) -> str:
        how = {"mcar": "completely at random", "mar": "at random given glucose"}[self.name]
        return f"{100 * self.gaps:.0f} % of the cells missing {how}"

    @property
    def without(self) -> tuple[str, ...]:
        return ()

    def world(self, seed: int) -> World:
        from prudent.worlds.insulin import InsulinWorld

        return InsulinWorld(gaps=self.gaps, mechanism=self.name, seed=seed)


@dataclass(frozen=True)
class OhioClinic:
    """The paper's experiment: a simulator that is learnt from a folder of OhioT1DM files.

    digest: of the files; their contents matter, their place does not.
    """

    folder: Path = field(repr=False)
    digest: str

    @classmethod
    def of(cls, folder: Path) -> "OhioClinic":
        from experiments.t1d.ohio import digest_of

        return cls(folder, digest_of(folder))

    @property
    def name(self) -> str:
        return "ohio"

    @property
    def title(self) -> str:
        return "simulator learnt from OhioT1DM, which knows mean glucose only"

    @property
    def without(self) -> tuple[str, ...]:
        return ("bolus calculator",)

    def world(self, seed: int) -> World:
        from experiments.t1d.ohio import OhioWorld

        return OhioWorld.from_folder(self.folder)


@dataclass(frozen=True)
class Size:
    """How many meals are learnt from, and how many are tested."""

    learnt_from: int = 5000
    tested: int = 2000


@dataclass(frozen=True, eq=False)
class Part:
    """Meals: records without gaps and as they are (NaN in the gaps), for every dose the reward and the lowest glucose
    (NaN where a world does not know it), and the dose numbers of the log with their rewards."""

    full: np.ndarray
    values: np.ndarray
    theta: np.ndarray
    lowest: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray

    @classmethod
    def of(cls, sample: Any) -> "Part":
        lowest = getattr(sample, "lowest", None)
        unknown = np.full_like(sample.theta, np.nan)
        return cls(
            *(sample.full, sample.values, sample.theta),
            *(unknown if lowest is None else lowest, sample.actions, sample.rewards),
        )


@lru_cache(maxsize=4)
def world_of(clinic: Clinic, seed: int) -> World:
    """Worlds learn their clinician, or read files, once."""
    return clinic.world(seed)


@dataclass(frozen=True)
class Draw:
    """Which meals: the same are drawn everywhere, and learning and test never share any."""

    clinic: Clinic
    size: Size
    seed: int
    index: int

    @property
    def fit_seed(self) -> int:
        """For what is learnt: no two replications of any seed share it."""
        return 10_000 * self.seed + self.index

    def sample_seed(self, part: int) -> int:
        """
        >>> draw = Draw(VirtualClinic(), Size(), seed=1, index=2)
        >>> draw.sample_seed(LEARNT), draw.sample_seed(TESTED)
        (20004, 20005)
        """
        return 2 * self.fit_seed + part

    @property
    def world(self) -> World:
        return world_of(self.clinic, self.seed)

    @property
    def place(self) -> str:
        """The folder of everything about these meals, whatever their replication."""
        rows = f"{self.size.learnt_from}-and-{self.size.tested}-meals"
        return f"seed-{self.seed}/{self.clinic.name}/{rows}"

    def sample(self, part: int) -> Any:
        rows = (self.size.learnt_from, self.size.tested)[part]
        return self.world.sample(rows, seed=self.sample_seed(part))

    def part(self, part: int, folder: Path) -> Part:
        """From the folder, where it is stored once it was simulated."""
        path = folder / self.place / "meals" / f"{self.index:04d}-{('learnt', 'tested')[part]}.npz"
        fingerprint = f"{self.clinic}, {self.size}, seed {self.sample_seed(part)}"
        arrays = read_arrays(path, fingerprint)
        if arrays is None:
            drawn = Part.of(self.sample(part))
            arrays = {field.name: getattr(drawn, field.name) for field in fields(drawn)}
            write_arrays(path, fingerprint, arrays)
        return Part(**arrays)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model, and how long it took to learn on which machine."""

    fitted: Fitted
    seconds: float
    machine: str

    @classmethod
    def load(cls, path: Path, machine: str) -> "StoredModel | None":
        """None where none is stored. Without stored seconds, those of loading it on this machine count."""
        if not (path / "model.json").exists():
            return None
        begun = time.perf_counter()
        fitted = load(path)
        beside = path.with_suffix(".json")
        if not beside.exists():
            return cls(fitted, time.perf_counter() - begun, machine)
        return cls(fitted, **json.loads(beside.read_text(encoding="utf-8")))

    def save(self, path: Path) -> None:
        """The seconds first: a model that is there has them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        cost = {"seconds": self.seconds, "machine": self.machine}
        path.with_suffix(".json").write_text(json.dumps(cost), encoding="utf-8")
        self.fitted.save(path)


@dataclass(frozen=True, eq=False)
class Replication:
    """One log to learn from, and other meals of the same clinic to test on; `machine` says where, in words."""

    draw: Draw
    learnt_from: Part
    tested: Part
    models: Path
    machine: str = field(default_factory=this_machine)

    @classmethod
    def of(cls, draw: Draw, folder: Path, machine: str) -> "Replication":
        models = folder / draw.place / "models"
        return cls(draw, draw.part(LEARNT, folder), draw.part(TESTED, folder), models, machine)

    def model(self, settings: Any, complete: bool, progress: Progress) -> StoredModel:
        """Learnt from the log, and stored: another strategy does not need another model."""
        path = self._model_path(settings, complete)
        stored = StoredModel.load(path, self.machine)
        if stored is None:
            begun = time.perf_counter()
            fitted = settings.fit(self.log(complete), seed=self.draw.fit_seed, progress=progress)
            stored = StoredModel(fitted, time.perf_counter() - begun, self.machine)
            stored.save(path)
        return stored

    def _model_path(self, settings: Any, complete: bool) -> Path:
        words = f"{settings}, {complete}, {self.draw}, {self.learnt_from.rewards.sum()}"
        return self.models / hashlib.sha256(words.encode()).hexdigest()[:20]

    @property
    def units(self) -> tuple[float, ...]:
        return self.draw.world.units

    def log(self, complete: bool = False, like: Log | None = None) -> Log:
        """What was given and how it turned out; `complete` as if nothing had been missing.

        like: a log to be read like, so that both can be learnt in one program.
        """
        part = self.learnt_from
        table = self._frame(part, complete).with_columns(dose=part.actions, outcome=part.rewards)
        every = tuple(range(len(self.units)))
        reading: dict[str, Any] = {"kinds": dict(self.draw.world.kinds)} if like is None else {"schema": like.schema}
        return Log.from_frame(table, action="dose", reward="outcome", action_labels=every, **reading)

    def cases(self, complete: bool = False) -> pl.DataFrame:
        return self._frame(self.tested, complete)

    def _frame(self, part: Part, complete: bool) -> pl.DataFrame:
        cells = part.full if complete else part.values
        return pl.DataFrame(dict(zip(self.draw.world.names, cells.T, strict=True))).fill_nan(None)


def learn_together(settings: Any, complete: bool, replications: Sequence[Replication], progress: Progress) -> None:
    """Learn a model for each replication in one program, and store them; where all are stored, nothing is done.

    These models open every action to every case, as the paper does.
    """
    paths = [one._model_path(settings, complete) for one in replications]
    if all((path / "model.json").exists() for path in paths):
        return
    begun = time.perf_counter()
    first = replications[0].log(complete)
    logs = [first, *(one.log(complete, first) for one in replications[1:])]
    models = fit_many(settings, logs, seed=replications[0].draw.fit_seed, progress=progress, support=False)
    seconds = (time.perf_counter() - begun) / len(logs)
    for path, fitted, replication in zip(paths, models, replications, strict=True):
        StoredModel(fitted, seconds, replication.machine).save(path)
