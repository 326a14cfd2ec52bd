"""Generated logs of many kinds of columns, whose expected rewards are known: to measure speed and what it costs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from prudent.table import Log

FACTORS = 4


class Decisions(NamedTuple):
    """A log, and the expected reward of every action for each of its complete records."""

    frame: pl.DataFrame
    expected: np.ndarray
    complete: pl.DataFrame

    def log(self) -> Log:
        return Log.from_frame(self.frame, action="action", reward="reward")

    def cases(self) -> pl.DataFrame:
        return self.frame.drop("action", "reward")


@dataclass(frozen=True)
class Table:
    """How many columns there are of each kind; `categories` are the numbers of levels.

    All columns depend on a few common factors, and the rewards on the first columns of each kind.
    """

    actions: int
    real: int = 0
    positive: int = 0
    bounded: int = 0
    counts: int = 0
    ordinal: int = 0
    categories: tuple[int, ...] = ()
    gaps: float = 0.3
    noise: float = 1.0

    @property
    def columns(self) -> int:
        return self.real + self.positive + self.bounded + self.counts + self.ordinal + len(self.categories)

    def sample(self, rows: int, seed: int) -> Decisions:
        world, random = np.random.default_rng(0), np.random.default_rng(seed)
        factors = random.normal(size=(rows, FACTORS))
        scores = factors @ world.normal(size=(FACTORS, self.columns)) / 2 + 0.6 * random.normal(
            size=(rows, self.columns)
        )
        columns: dict[str, np.ndarray] = {}
        seen: list[np.ndarray] = []  # standardised, as the rewards depend on them
        for at, (name, kind, levels) in enumerate(self._kinds()):
            cells, number = _column(kind, levels, scores[:, at], world, random)
            columns[name] = cells
            seen.append(number)
        numbers = np.stack(seen, axis=1)
        slopes = world.normal(size=(self.columns, self.actions)) / np.sqrt(self.columns)
        bends = world.normal(size=(FACTORS, self.actions)) / 2
        expected = numbers @ slopes + np.tanh(numbers @ world.normal(size=(self.columns, FACTORS)) / 2) @ bends
        tilt = np.exp(0.5 * expected)
        chances = 0.5 * tilt / tilt.sum(axis=1, keepdims=True) + 0.5 / self.actions
        actions = (chances.cumsum(axis=1) < random.random((rows, 1))).sum(axis=1).clip(max=self.actions - 1)
        rewards = expected[np.arange(rows), actions] + self.noise * random.normal(size=rows)
        complete = pl.DataFrame(columns)
        missing = random.random((rows, self.columns)) < self.gaps
        frame = complete.with_columns(
            pl.when(pl.Series(missing[:, at])).then(None).otherwise(pl.col(name)).alias(name)
            for at, name in enumerate(columns)
        )
        labels = pl.Series("action", [f"arm {action:02d}" for action in actions])
        return Decisions(frame.with_columns(labels, reward=pl.Series(rewards)), expected, complete)

    def _kinds(self) -> list[tuple[str, str, int]]:
        counts = {
            "real": self.real,
            "positive": self.positive,
            "bounded": self.bounded,
            "count": self.counts,
            "ordinal": self.ordinal,
        }
        numbered = [(f"{kind} {index}", kind, 5) for kind, count in counts.items() for index in range(count)]
        return numbered + [(f"category {index}", "category", levels) for index, levels in enumerate(self.categories)]


def _column(
    kind: str, levels: int, score: np.ndarray, world: np.random.Generator, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The cells of a column, and the number behind each."""
    if kind == "real":
        return 20 + 3 * score, score
    if kind == "positive":
        return np.exp(1 + 0.8 * score), score
    if kind == "bounded":
        share = np.clip(0.5 + 0.35 * score, 0, 1)
        return np.round(100 * share, 1), 2 * share - 1
    if kind == "count":
        count = random.poisson(np.exp(0.7 + 0.6 * score))
        return count, np.log1p(count) - 1
    if kind == "ordinal":
        level = np.digitize(score, [-1.0, -0.3, 0.3, 1.0])
        return level + 1, (level - 2) / 1.3
    drawn = (score[:, None] * world.normal(size=levels) + random.gumbel(size=(len(score), levels))).argmax(axis=1)
    return np.array([f"level {level:02d}" for level in range(levels)])[drawn], world.normal(size=levels)[drawn]


NARROW = Table(4, real=4, positive=2, bounded=1, counts=2, ordinal=1, categories=(2, 2, 4, 6))
BROAD = Table(3, real=24, positive=8, bounded=2, counts=8, ordinal=4, categories=(2,) * 6 + (3, 4, 4, 5, 6, 6, 8, 9))
COHORT = Table(4, real=8, counts=2, ordinal=4, categories=(2,) * 24 + (3,) * 12 + (4,) * 8 + (6,) * 5 + (10, 18, 49))
STROKE = Table(8, real=3, counts=1, ordinal=1, categories=(2,) * 12 + (3,) * 4 + (5, 7, 65) + (4,))
