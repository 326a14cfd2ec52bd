"""A model that is fitted in no time: gaps are filled by normal draws, and the price of an action is a line."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri

from prudent.decide import Completions, Model
from prudent.models import FitReport, Fitted
from prudent.table import Log


class Lines(Model):
    """weights: [action, attribute + 1], the last of them the price where all attributes are 0."""

    weights: jax.Array

    @property
    def members(self) -> int:
        return 1

    @property
    def draw_size(self) -> int:
        return self.weights.shape[1] - 1

    def complete(self, values: Any, observed: Any, uniforms: Any, literal: bool) -> Completions:
        drawn = jnp.where(observed[None, :], values[None, :], ndtri(uniforms[0]))
        centre = jnp.where(observed, values, 0.0)
        count = drawn.shape[0]
        return Completions(
            jnp.concatenate([centre[None], drawn]),
            jnp.concatenate([jnp.array([-jnp.inf]), jnp.full(count, -jnp.log(count))]),
            jnp.concatenate([jnp.zeros(1), -jnp.sum(jnp.where(observed, 0.0, drawn**2), axis=1) / 2]),
        )

    def price(self, values: Any) -> Any:
        return (self.weights[:, :-1] @ values + self.weights[:, -1])[None]


@dataclass(frozen=True)
class LinesOf:
    """Least squares, one action at a time."""

    ridge: float = 1e-3

    def fit(self, log: Log, seed: int = 0, progress: Any = None) -> Fitted:
        cells = np.where(log.observed, log.values, 0.0)
        design = np.column_stack([cells, np.ones(len(log))]).astype(np.float64)
        lines = []
        for action in range(len(log.action_labels)):
            own = log.rewarded & (log.actions == action)
            square = design[own].T @ design[own] + self.ridge * np.eye(design.shape[1])
            lines.append(np.linalg.solve(square, design[own].T @ log.rewards[own]))
        report = FitReport(len(log), int(log.rewarded.sum()), 0, (), ())
        return Fitted.of(self, log, Lines(jnp.asarray(np.array(lines), jnp.float32)), report)
