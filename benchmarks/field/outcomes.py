"""Kinds of rewards: the mean that a surface stands for, and single rewards around it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, logit


class Outcome(Protocol):
    """`mean` of surface values of any shape; `draw` gives one reward for each surface value [row]."""

    def mean(self, surface: np.ndarray) -> np.ndarray: ...
    def draw(self, surface: np.ndarray, random: np.random.Generator) -> np.ndarray: ...


@dataclass(frozen=True)
class Noisy:
    """Gaussian noise with `noise` times the standard deviation of the signal."""

    noise: float = 1.0

    def mean(self, surface: np.ndarray) -> np.ndarray:
        return surface

    def draw(self, surface: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return surface + self.noise * random.normal(size=surface.shape)


@dataclass(frozen=True)
class HeavyTailed:
    """Noise with Student's t distribution: a few rewards lie far out."""

    noise: float = 1.0
    freedom: float = 2.2

    def mean(self, surface: np.ndarray) -> np.ndarray:
        return surface

    def draw(self, surface: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return surface + self.noise * random.standard_t(self.freedom, size=surface.shape)


@dataclass(frozen=True)
class TwoValued:
    """Success or failure, 1 or 0; where the surface is 0, the chance of success is `rate`."""

    rate: float = 0.5

    def mean(self, surface: np.ndarray) -> np.ndarray:
        return expit(surface + logit(self.rate))

    def draw(self, surface: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return (random.random(surface.shape) < self.mean(surface)).astype(float)


@dataclass(frozen=True)
class ZeroInflated:
    """Mostly nothing; otherwise a skewed amount that grows with the surface, as its chance does."""

    rate: float = 0.35
    skew: float = 0.8

    def mean(self, surface: np.ndarray) -> np.ndarray:
        return self._chance(surface) * np.exp(surface / 3)

    def draw(self, surface: np.ndarray, random: np.random.Generator) -> np.ndarray:
        paid = random.random(surface.shape) < self._chance(surface)
        amount = np.exp(surface / 3 + self.skew * random.normal(size=surface.shape) - self.skew**2 / 2)
        return np.where(paid, amount, 0.0)

    def _chance(self, surface: np.ndarray) -> np.ndarray:
        return expit(surface + logit(self.rate))
