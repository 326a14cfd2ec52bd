"""The worlds of prudent itself as problems of the field: dosing clinics with exact answers, and insulin."""

from dataclasses import dataclass, replace
from typing import Any

from benchmarks.dosing import world_of
from benchmarks.field.sample import FRESH, Sample
from prudent.worlds import DosingWorld, InsulinWorld


@dataclass(frozen=True)
class Dosing:
    """The clinics of `benchmarks.dosing`; here the oracle sees complete records, as everywhere in the field."""

    name: str
    says: str
    loss: str
    rows: int = 5000
    measure: str = "share of the way"

    def sized(self, rows: int) -> "Dosing":
        return replace(self, rows=rows)

    def sample(self, seed: int, fresh: int = FRESH) -> Sample:
        world = world_of(seed, self.loss)
        return _of(world, world.dose_labels, self.rows, fresh, seed)


@dataclass(frozen=True)
class Insulin:
    """Doses for meals of virtual patients, of `prudent.worlds`; the seed draws the clinic and the meals."""

    name: str
    says: str
    rows: int = 5000
    mechanism: str = "mcar"
    measure: str = "share of the way"

    def sized(self, rows: int) -> "Insulin":
        return replace(self, rows=rows)

    def sample(self, seed: int, fresh: int = FRESH) -> Sample:
        world = InsulinWorld(mechanism=self.mechanism, seed=seed)
        return _of(world, world.units, self.rows, fresh, seed)


def _of(world: DosingWorld | InsulinWorld, labels: tuple[Any, ...], rows: int, fresh: int, seed: int) -> Sample:
    log, cases = world.sample(rows, seed=10_000 + seed), world.sample(fresh, seed=20_000 + seed)
    return Sample(log.frame().rename({"dose": "action", "outcome": "reward"}), cases.cases(), cases.theta, labels)
