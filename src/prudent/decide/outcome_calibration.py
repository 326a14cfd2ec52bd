"""Predicted distributions of single outcomes, corrected by outcomes that the model has not learnt from."""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, logsumexp, ndtri
from jaxtyping import Array, Float

GRID = np.linspace(-8.0, 8.0, 65, dtype=np.float32)
PRIOR_ROWS = 30.0
"""Held-out rows that the model's own distribution is worth."""


class OutcomeCalibration(eqx.Module):
    """From the normal score that a model gives an outcome to the one that outcomes turn out to have.

    An outcome has the normal score z if the model predicts a lower one with probability Φ(z). Where outcomes are as
    predicted, the scores of held-out rows are standard normal; where they are not, how they are spread corrects the
    prediction (a probability integral transform). `scores` are the corrected ones at `GRID`, straight lines between.
    """

    scores: Float[Array, " place"]

    @classmethod
    def none(cls) -> "OutcomeCalibration":
        """Corrects nothing."""
        return cls(jax.device_put(GRID))

    @classmethod
    def of(cls, held_out: np.ndarray) -> "OutcomeCalibration":
        """From the normal scores of held-out outcomes."""
        from scipy.special import log_ndtr as log_below
        from scipy.special import ndtri_exp

        count, grid = len(held_out), GRID.astype(np.float64)
        # a smooth distribution of the scores: each stands for its neighbourhood (Silverman's width)
        known = np.clip(held_out, GRID[0], GRID[-1])
        width = max(1.06 * float(known.std()) * count**-0.2, 0.05) if count else 1.0
        apart = (grid[:, None] - known[None, :]) / width

        def corrected(side: float) -> np.ndarray:
            seen = np.logaddexp.reduce(log_below(side * apart), axis=1) if count else np.full(len(grid), -np.inf)
            prior = np.log(PRIOR_ROWS) + log_below(side * grid)
            return ndtri_exp(np.logaddexp(seen, prior) - np.log(count + PRIOR_ROWS))

        scores = np.where(grid < 0, corrected(1.0), -corrected(-1.0))
        return cls(jax.device_put(np.maximum.accumulate(scores).astype(np.float32)))

    def __call__(self, score: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.interp(score, GRID, self.scores)


@runtime_checkable
class HasCalibration(Protocol):
    """A model whose predicted distributions of outcomes were held against outcomes that it has not learnt from."""

    calibration: OutcomeCalibration


def normal_score(
    outcome: Float[Array, ""],
    prices: Float[Array, "completion action"],
    scale: Float[Array, "completion action"],
    log_weights: Float[Array, " completion"],
) -> Float[Array, " action"]:
    """The normal score of an outcome under every action's mixture of Gaussians; exact in both tails."""
    steps = (outcome - prices) / scale
    below, above = (logsumexp(log_weights[:, None] + log_ndtr(side * steps), axis=0) for side in (1.0, -1.0))
    smaller = jnp.minimum(below, above)
    # the nearest tail decides; beyond the grid nothing is told apart
    tail = ndtri(jnp.clip(jnp.exp(smaller), 1e-15, 0.5))
    return jnp.where(below < above, tail, -tail)
