"""Randomised trials as problems: the truth is unknown, so choices are judged by the rows that happened to agree."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.field.star import star
from prudent.table import Log
from prudent.worlds import mcar

DATA = Path(__file__).parent / "data"
ACTG = Path(__file__).parents[2] / "docs" / "data" / "actg175.csv"
AFTER_START = ("", "pidnum", "treat", "cd820", "cd496", "r", "offtrt", "cens", "days", "zprior")
"""Columns of ACTG 175 that were not known when the arm was drawn, or that never vary."""


@dataclass(frozen=True, eq=False)
class Split:
    """Half of a trial to learn from and half to judge by. `chances` are the trial's, of the action that was taken."""

    frame: pl.DataFrame
    cases: pl.DataFrame
    labels: tuple[Any, ...]
    taken: np.ndarray
    rewards: np.ndarray
    chances: np.ndarray
    best: Any

    def log(self) -> Log:
        return Log.from_frame(self.frame, action="action", reward="reward")

    def value(self, chosen: Any) -> float:
        """The mean reward of the rows whose action is the chosen one, weighted by inverse propensities."""
        weights = (np.asarray(chosen) == self.taken) / self.chances
        return float(weights @ self.rewards / weights.sum())

    @property
    def constant(self) -> float:
        """The value of the arm that is best in the whole trial."""
        return self.value(np.full(len(self.taken), self.best))

    def score(self, chosen: Any) -> float:
        """What is gained over the best constant action, in standard deviations of the reward."""
        return (self.value(chosen) - self.constant) / float(self.rewards.std())


@dataclass(frozen=True)
class Trial:
    """A trial by name; the seed draws the halves, and which cells are emptied where `gaps` is not 0.

    read: gives the columns that were known, `action`, `reward`, and `stratum` where chances differ between strata.
    """

    name: str
    says: str
    read: Callable[[], pl.DataFrame]
    gaps: float = 0.0
    rows: int | None = None
    measure: str = "gain over the best arm"

    def sized(self, rows: int) -> "Trial":
        return replace(self, rows=rows)

    def sample(self, seed: int) -> Split:
        random = np.random.default_rng(seed)
        table = _with_chances(_whole(self.read))
        best = table.group_by("action").agg(pl.col("reward").mean()).sort("reward")["action"][-1]
        labels = tuple(table["action"].unique().sort())
        table = table[random.permutation(len(table))[: self.rows]]
        known = table.drop("action", "reward", "chance", "stratum", strict=False)
        present = mcar((known.height, known.width), self.gaps, int(random.integers(2**31)))
        known = known.with_columns(
            pl.when(pl.Series(present[:, at])).then(pl.col(name)).alias(name) for at, name in enumerate(known.columns)
        )
        half = len(table) // 2
        frame = known[:half].with_columns(table["action"][:half], table["reward"][:half])
        action, reward, chance = (table[name][half:].to_numpy() for name in ("action", "reward", "chance"))
        return Split(frame, known[half:], labels, action, reward, chance, best)


@lru_cache(maxsize=8)
def _whole(read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    return read().drop_nulls(["action", "reward"])


def _with_chances(table: pl.DataFrame) -> pl.DataFrame:
    """The share of each action, in its stratum where there are strata: the probability with which it was drawn."""
    over = ["stratum"] if "stratum" in table.columns else []
    of_all = pl.len().over(over) if over else pl.len()
    return table.with_columns((pl.len().over([*over, "action"]) / of_all).alias("chance"))


def _actg() -> pl.DataFrame:
    table = pl.read_csv(ACTG, null_values="NA").drop(AFTER_START)
    arms = pl.col("arms").replace_strict({0: "ZDV", 1: "ZDV + ddI", 2: "ZDV + ddC", 3: "ddI"})
    return table.with_columns(arms.alias("action"), pl.col("cd420").cast(float).alias("reward")).drop("arms", "cd420")


def _opt() -> pl.DataFrame:
    table = pl.read_csv(DATA / "opt.csv", infer_schema_length=None)
    return table.rename({"Group": "action", "Birthweight": "reward"})


def _indomethacin() -> pl.DataFrame:
    table = pl.read_csv(DATA / "indomethacin.csv").rename({"rx": "action"})
    return table.with_columns((1.0 - pl.col("outcome")).alias("reward")).drop("outcome")


def _insurance() -> pl.DataFrame:
    table = pl.read_csv(DATA / "insurance.csv")
    arms = pl.col("intensive").replace_strict({0: "simple", 1: "intensive"})
    return table.with_columns(arms.alias("action"), pl.col("takeup_survey").cast(float).alias("reward")).drop(
        "intensive", "takeup_survey"
    )


def _star_1() -> pl.DataFrame:
    return star("1")


def _star_3() -> pl.DataFrame:
    return star("3")


STORED = (
    Trial("ACTG 175", "four HIV treatments, CD4 cells after 20 weeks", _actg),
    Trial("ACTG 175, gaps", "the same, with 30 % of the cells emptied at random", _actg, gaps=0.3),
    Trial("OPT", "treating gums in pregnancy, birth weight; 67 columns with gaps", _opt),
    Trial("indomethacin", "a drug against pancreatitis after endoscopy, 30 % of the cells emptied", _indomethacin, 0.3),
    Trial("insurance", "intensive or simple sessions on insurance for rice farmers; take-up", _insurance),
)
STAR = (
    Trial("STAR grade 1", "small, regular, or regular class with an aide; test scores, 30 % emptied", _star_1, 0.3),
    Trial("STAR grade 3", "the same two years later", _star_3, 0.3),
)
TRIALS: dict[str, Trial] = {trial.name: trial for trial in (*STORED, *STAR)}
