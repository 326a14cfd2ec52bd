"""Score any method on any problem of the field."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from benchmarks.field.problems import PROBLEMS
from benchmarks.field.sample import Sample
from benchmarks.field.trials import Split
from prudent.table import Log

Choose = Callable[[Log, pl.DataFrame], Any]
"""A method: learns from a log, and gives an action's label for each of the cases."""


@dataclass(frozen=True)
class Score:
    """`score` is what the problem measures: share of the way, or gain over the best constant action in a trial."""

    score: float
    value: float
    seconds: float


@lru_cache(maxsize=2)
def sample_of(problem: str, seed: int) -> Sample | Split:
    """The log and the cases of a problem, kept for the next method."""
    return PROBLEMS[problem].sample(seed)


def score(problem: str, seed: int, choose: Choose) -> Score:
    """How good a method's choices are on one log of a problem, and how long learning and choosing took.

    >>> score("300 rows", 0, lambda log, cases: ["arm 00"] * len(cases)).score <= 0
    True
    """
    sample = sample_of(problem, seed)
    log = sample.log()
    start = time.perf_counter()
    chosen = np.asarray(choose(log, sample.cases))
    seconds = time.perf_counter() - start
    return Score(sample.score(chosen), sample.value(chosen), seconds)
