"""One generator for all made-up problems: a table of many kinds of columns, gaps, a biased log and known rewards."""

from dataclasses import dataclass, replace
from typing import Literal
from zlib import crc32

import numpy as np
import polars as pl

from benchmarks.field.outcomes import Noisy, Outcome
from benchmarks.field.sample import FRESH, Sample
from benchmarks.field.surfaces import SURFACES, Surface
from benchmarks.tables import FACTORS, Table, _column
from prudent.worlds import mar, mcar, mnar

Mechanism = Literal["mcar", "mar", "mnar"]
Logging = Literal["uniform", "mild", "biased", "rare"]

FEWEST = 30
"""Rows that every action has in a log, at least."""
LEAD = 0.25
"""How much actions differ on average, beside a spread of 1 between them from record to record."""


@dataclass(frozen=True)
class Generated:
    """A problem by name. Its seed draws the world (all coefficients) as well as the rows.

    columns: kinds of columns, number of actions and share of gaps. relevant: how many columns rewards depend on (None:
    all). prognosis: the spread of what all actions have in common, in units of the spread between actions. ordered:
    actions are numbers. log: how actions were chosen, see `_chances`. sees_all: whoever chose knew the complete record,
    rather than what is left of it.
    """

    name: str
    says: str
    columns: Table
    rows: int
    surface: str = "smooth"
    outcome: Outcome = Noisy()
    mechanism: Mechanism = "mcar"
    log: Logging = "mild"
    relevant: int | None = None
    prognosis: float = 0.7
    ordered: bool = False
    sees_all: bool = False
    measure: str = "share of the way"

    def sized(self, rows: int) -> "Generated":
        """The same problem with another number of logged rows."""
        return replace(self, rows=rows)

    def sample(self, seed: int, fresh: int = FRESH) -> Sample:
        world, random = (np.random.default_rng([seed, crc32(self.name.encode()), part]) for part in range(2))
        rows, actions = self.rows, self.columns.actions
        complete, numbers = _records(self.columns, rows + fresh, world, random)
        gaps = _gaps(self.mechanism, numbers, self.columns.gaps, int(random.integers(2**31)))
        surface = self._surface(world, numbers)
        # a gap is an average cell for whoever wrote the log, so what was recorded explains what was done
        known = numbers if self.sees_all else np.where(gaps, numbers.mean(axis=0), numbers)
        chances = _chances(self.log, surface(known[:rows]), known[:rows], world)
        taken = _with_enough(_drawn(chances, random), actions, random)
        rewards = self.outcome.draw(surface(numbers[:rows])[np.arange(rows), taken], random)
        labels = tuple(5 * at if self.ordered else f"arm {at:02d}" for at in range(actions))
        frame = _emptied(complete, gaps)
        log = frame[:rows].with_columns(
            pl.Series("action", [labels[action] for action in taken]), pl.Series("reward", rewards)
        )
        return Sample(log, frame[rows:], self.outcome.mean(surface(numbers[rows:])), labels, complete[rows:])

    def _surface(self, world: np.random.Generator, numbers: np.ndarray) -> Surface:
        """The named surface on some of the columns: a spread of 1 between actions, and the prognosis beside it."""
        width, actions = numbers.shape[1], self.columns.actions
        used = world.permutation(width)[: self.relevant]
        between = SURFACES[self.surface](world, len(used), actions)
        common = SURFACES["smooth"](world, len(used), 1)
        raw, shared = between(numbers[:, used]), common(numbers[:, used])
        # doses are as good as they are; other actions differ little on average, so that there is something to choose
        centre = raw.mean() if self.ordered else raw.mean(axis=0)
        leads = 0.0 if self.ordered else LEAD * world.normal(size=actions)
        raw, spread = raw - centre, float(shared.std())
        scale = float((raw - raw.mean(axis=1, keepdims=True)).std())

        def surface(cells: np.ndarray) -> np.ndarray:
            chosen = cells[:, used]
            return (between(chosen) - centre) / scale + leads + self.prognosis * common(chosen) / spread

        return surface


def _records(
    columns: Table, rows: int, world: np.random.Generator, random: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray]:
    """Complete records, and the number behind each cell; all columns depend on a few common factors."""
    kinds = columns._kinds()
    loadings = world.normal(size=(FACTORS, len(kinds))) / 2
    scores = random.normal(size=(rows, FACTORS)) @ loadings + 0.6 * random.normal(size=(rows, len(kinds)))
    cells, numbers = {}, []
    for at, (name, kind, levels) in enumerate(kinds):
        cells[name], number = _column(kind, levels, scores[:, at], world, random)
        numbers.append(number)
    return pl.DataFrame(cells), np.stack(numbers, axis=1)


def _gaps(mechanism: Mechanism, numbers: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Missing cells [row, column]: at random, by columns that are always there, or by their own values."""
    if mechanism == "mcar":
        return ~mcar((len(numbers), numbers.shape[1]), share, seed)
    return ~(mar if mechanism == "mar" else mnar)(numbers, share, seed)


def _chances(log: Logging, pull: np.ndarray, known: np.ndarray, world: np.random.Generator) -> np.ndarray:
    """The probability of each action, [row, action], from what was known.

    mild: half at random, half with a leaning to what is better. biased: hardly ever at random, and by habits that have
    to do with the record more than with the reward. rare: each action half as frequent as the one before.
    """
    actions = pull.shape[1]
    if log == "uniform":
        return np.full(pull.shape, 1 / actions)
    if log == "mild":
        return 0.5 * _softmax(0.5 * pull) + 0.5 / actions
    if log == "rare":
        return _softmax(0.5 * pull - np.log(2) * world.permutation(actions))
    habits = known @ world.normal(size=(known.shape[1], actions)) / np.sqrt(known.shape[1])
    return 0.95 * _softmax(pull / 2 + 2.5 * habits) + 0.05 / actions


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _drawn(chances: np.ndarray, random: np.random.Generator) -> np.ndarray:
    below = chances.cumsum(axis=1) < random.random((len(chances), 1))
    return below.sum(axis=1).clip(max=chances.shape[1] - 1)


def _with_enough(taken: np.ndarray, actions: int, random: np.random.Generator) -> np.ndarray:
    """An action with fewer than 30 rows gets some of the most frequent one's, picked at random."""
    taken = taken.copy()
    for action in range(actions):
        counts = np.bincount(taken, minlength=actions)
        lacking = max(FEWEST - counts[action], 0)
        taken[random.choice(np.flatnonzero(taken == counts.argmax()), lacking, replace=False)] = action
    return taken


def _emptied(complete: pl.DataFrame, gaps: np.ndarray) -> pl.DataFrame:
    return complete.with_columns(
        pl.when(pl.Series(gaps[:, at])).then(None).otherwise(pl.col(name)).alias(name)
        for at, name in enumerate(complete.columns)
    )
