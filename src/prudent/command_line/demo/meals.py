"""Single meals of the demonstration: a few that are shown in detail, and what filling a gap before deciding brings."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from prudent.command_line.demo.doses import BAD, BOLD, CAREFUL, ORACLE, SINGLE
from prudent.decide import FEW_ROWS, Policy, value_of_measuring
from prudent.worlds.insulin import Course, InsulinSample, courses_of, instructive_meals, record_entries


@dataclass(frozen=True)
class ShownMeal:
    """A new meal, why it is shown, what its record says, and what each dose brings."""

    row: int
    why: str
    record: tuple[tuple[str, str], ...]
    courses: tuple[Course, ...]


def shown_meals(doses: Mapping[str, np.ndarray], fresh: InsulinSample) -> tuple[ShownMeal, ...]:
    world, count = fresh.world, len(fresh.world.units)
    why = instructive_meals(fresh.theta, doses[BOLD], doses[CAREFUL], fresh.full[:, world.names.index("age")])
    rows = np.array(list(why))
    curves = world.curves(fresh, np.repeat(rows, count), np.tile(np.arange(count), len(rows)))
    curves = curves.reshape(len(rows), count, -1)
    drawn = {name: numbers for name, numbers in doses.items() if name not in (SINGLE, ORACLE)}
    return tuple(
        ShownMeal(
            row,
            why[row],
            tuple(record_entries(world.names, fresh.full[row], fresh.observed[row])),
            tuple(courses_of({name: int(drawn[name][row]) for name in drawn}, world.units, fresh.theta[row], glucose)),
        )
        for row, glucose in zip(map(int, rows), curves, strict=True)
    )


def explained_row(meals: tuple[ShownMeal, ...], observed: np.ndarray) -> int:
    """The last of the shown meals that has a gap."""
    with_gaps = [meal.row for meal in meals if not observed[meal.row].all()]
    return (with_gaps or [meals[-1].row])[-1]


@dataclass(frozen=True)
class Filling:
    """The truth about filling one gap before deciding, where some gap is worth filling: (mean reward, share of bad
    outcomes) with no gap filled, with the one that prudent names, and with a random one.

    records: looked at; meals: of those, with a gap worth filling. first: how often each entry is the one to fill first.
    """

    records: int
    meals: int
    first: tuple[tuple[str, int], ...]
    none: tuple[float, float]
    named: tuple[float, float]
    random: tuple[float, float]


def filling(policy: Policy, fresh: InsulinSample, records: int, seed: int) -> Filling:
    """Of the first records; the simulator knows what measuring would have shown."""
    names, rows = fresh.world.names, np.arange(min(records, len(fresh)))
    # a few at a time: the program for explaining one meal, which is compiled anyway, then serves here too
    parts = [fresh.cases()[start : start + FEW_ROWS] for start in rows[::FEW_ROWS]]
    first = [name for part in parts for name in value_of_measuring(policy, part).measure_next][: len(rows)]
    kept = rows[[name is not None for name in first]]
    chance = np.random.default_rng(seed)
    named = [names.index(first[row]) for row in kept]
    random = [chance.choice(np.flatnonzero(~fresh.observed[row])) for row in kept]

    def truth(filled: list[int] | None) -> tuple[float, float]:
        if not len(kept):
            return np.nan, np.nan
        values = fresh.values[kept].copy()
        if filled is not None:
            values[np.arange(len(kept)), filled] = fresh.full[kept, filled]
        frame = pl.DataFrame(dict(zip(names, values.T, strict=True))).fill_nan(None)
        rewards = fresh.theta[kept, fresh.world.index(policy.recommend(frame).actions)]
        return float(rewards.mean()), float((rewards < BAD).mean())

    counts = Counter(name for name in first if name is not None).most_common()
    return Filling(len(rows), len(kept), tuple(counts), truth(None), truth(named), truth(random))
