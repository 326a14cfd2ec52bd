"""Tables and replications as the training program takes them: one network for each replication, many at once."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments.rivals.effects.study import Study

Columns = dict[str, Any]
"""Arrays of NumPy or JAX, by name; those of one record have no leading axis."""


def normal_log_prob(value: Array, mean: Array, scale: Array) -> Array:
    return -0.5 * ((value - mean) / scale) ** 2 - jnp.log(scale) - 0.5 * jnp.log(2 * jnp.pi)


def bernoulli_log_prob(value: Array, logit: Array) -> Array:
    """Cross-entropy, so that a mean-imputed cell may lie between the levels."""
    return value * jax.nn.log_sigmoid(logit) + (1 - value) * jax.nn.log_sigmoid(-logit)


@dataclass(frozen=True, eq=False)
class Chunk:
    """A fixed number of replications, of which the first `genuine` count: a study's last chunk repeats its last one."""

    study: Study
    genuine: int


def chunks(study: Study, size: int) -> list[Chunk]:
    """Cut into chunks of one size, so that a single compiled program serves them all.

    >>> study = Study.of(np.zeros((4, 1)), [True, True, False, False], np.zeros((5, 4)))
    >>> [(chunk.study.replications, chunk.genuine) for chunk in chunks(study, 3)]
    [(3, 3), (3, 2)]
    """
    width = min(size, study.replications)
    return [_chunk(study, start, width) for start in range(0, study.replications, width)]


def _chunk(study: Study, start: int, width: int) -> Chunk:
    block = study.part(start, min(start + width, study.replications))
    more = [(0, width - block.replications), (0, 0)]
    values = block.values if study.shared else np.pad(block.values, [*more, (0, 0)], mode="edge")
    padded = Study(values, block.binary, block.treated, np.pad(block.outcomes, more, mode="edge"))
    return Chunk(padded, block.replications)


@dataclass(frozen=True, eq=False)
class Tables:
    """What networks see of the tables, each [table, row, attribute].

    inputs: standardised by the observed cells, a gap at 0, which is the mean. targets: what a decoder must explain:
    numbers as in `inputs`, two levels as 0 and 1 (a gap at the share of ones). observed: True where a cell is known.
    """

    inputs: np.ndarray
    targets: np.ndarray
    observed: np.ndarray

    @classmethod
    def of(cls, study: Study) -> "Tables":
        observed = np.isfinite(study.values)
        count = np.maximum(observed.sum(axis=1, keepdims=True), 1)
        known = np.where(observed, study.values, 0.0)
        mean = known.sum(axis=1, keepdims=True) / count
        centred = np.where(observed, known - mean, 0.0)
        spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
        inputs = centred / np.where(spread > 0, spread, 1.0)
        low = np.where(observed, study.values, np.inf).min(axis=1, keepdims=True, initial=np.inf)
        high = np.where(observed, study.values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
        width = np.where(high > low, high - low, 1.0)
        levels = (np.where(observed, known, mean) - np.where(np.isfinite(low), low, 0.0)) / width
        targets = np.where(study.binary, levels, inputs)
        return cls(inputs.astype(np.float32), targets.astype(np.float32), observed)

    def columns(self) -> tuple[Columns, Columns]:
        """For training: the columns that all networks share, and those of each network (one of the two is empty)."""
        every = {"inputs": self.inputs, "targets": self.targets, "observed": self.observed}
        if len(self.inputs) > 1:
            return {}, every
        return {name: column[0] for name, column in every.items()}, {}
