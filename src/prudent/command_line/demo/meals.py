"""What the page shows of single meals: a few of them closely, and which missing entry is worth filling first."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from prudent.command_line.demo.ways import BAD, BOLD, CAREFUL, ORACLE, SINGLE
from prudent.decide import FEW_ROWS, Policy, value_of_measuring
from prudent.worlds.insulin.pictures import Course, courses_of, recorded, telling_meals
from prudent.worlds.insulin.world import InsulinSample

NOT_DRAWN = (SINGLE, ORACLE)


@dataclass(frozen=True)
class ShownMeal:
    """A meal of the new ones, why it is shown, what was seen of its record, and what each dose brings."""

    row: int
    why: str
    record: tuple[tuple[str, str], ...]
    courses: tuple[Course, ...]


def shown_meals(chosen: Mapping[str, np.ndarray], fresh: InsulinSample) -> tuple[ShownMeal, ...]:
    world, doses = fresh.world, len(fresh.world.units)
    age = fresh.full[:, world.names.index("age")]
    why = telling_meals(fresh.theta, chosen[BOLD], chosen[CAREFUL], age)
    rows = np.array(list(why))
    curves = world.curves(fresh, np.repeat(rows, doses), np.tile(np.arange(doses), len(rows)))
    drawn = {name: own for name, own in chosen.items() if name not in NOT_DRAWN}
    return tuple(
        ShownMeal(
            row,
            why[row],
            tuple(recorded(world.names, fresh.full[row], fresh.observed[row])),
            tuple(courses_of({name: int(own[row]) for name, own in drawn.items()}, world.units, fresh.theta[row], own)),
        )
        for row, own in zip(map(int, rows), curves.reshape(len(rows), doses, -1), strict=True)
    )


def explained_row(meals: tuple[ShownMeal, ...], observed: np.ndarray) -> int:
    """The last of the shown meals that has a gap."""
    with_gaps = [meal.row for meal in meals if not observed[meal.row].all()]
    return (with_gaps or [meals[-1].row])[-1]


@dataclass(frozen=True)
class Worth:
    """An entry of the record: in how many records it is missing, in how many of those it is the one to fill first, and
    what filling it is worth there, in reward over the worst fifth of what may be found."""

    name: str
    missing: int
    first: int
    gain: float


@dataclass(frozen=True)
class Measured:
    """Before, and after filling one entry: the one that is named, or any of the missing; by the truth, as (mean reward,
    share of bad outcomes). `meals` of so many `records` have something worth filling."""

    records: int
    meals: int
    worths: tuple[Worth, ...]
    before: tuple[float, float]
    named: tuple[float, float]
    anyone: tuple[float, float]


def measured(policy: Policy, fresh: InsulinSample, meals: int, seed: int) -> Measured:
    """Of the first meals with a gap that is worth filling, the simulator knows what would have been found."""
    world, rows = fresh.world, np.arange(min(meals, len(fresh)))
    # a few at a time: the program for explaining one meal, which is compiled anyway, then serves here too
    parts = [fresh.cases()[start : start + FEW_ROWS] for start in rows[::FEW_ROWS]]
    found = [value_of_measuring(policy, part) for part in parts]
    gain = np.concatenate([own.gain for own in found])[: len(rows)]
    firsts = [name for own in found for name in own.measure_next][: len(rows)]
    named = np.array([-1 if name is None else world.names.index(name) for name in firsts])
    worths = [
        Worth(name, int(missing.sum()), int((named == at).sum()), float(np.nanmean(gain[missing, at])))
        for at, name in enumerate(world.names)
        if (missing := ~fresh.observed[rows, at]).any()
    ]
    kept = rows[named >= 0]
    chance = np.random.default_rng(seed)
    anyone = np.array([chance.choice(np.flatnonzero(~fresh.observed[row])) for row in kept], dtype=int)

    def fares(filled: np.ndarray | None) -> tuple[float, float]:
        values = fresh.values[kept].copy()
        if filled is not None:
            values[np.arange(len(kept)), filled] = fresh.full[kept, filled]
        frame = pl.DataFrame(dict(zip(world.names, values.T, strict=True))).fill_nan(None)
        rewards = fresh.theta[kept, world.index(policy.recommend(frame).actions)]
        return float(rewards.mean()), float((rewards < BAD).mean())

    told = (fares(None), fares(named[kept]), fares(anyone)) if len(kept) else ((np.nan, np.nan),) * 3
    return Measured(len(rows), len(kept), tuple(sorted(worths, key=lambda own: -own.gain)), *told)
