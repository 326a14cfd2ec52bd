"""Predicted distributions of single outcomes, corrected by outcomes that the model has not learnt from."""

from typing import NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, logsumexp, ndtri
from jaxtyping import Array, Float

GRID = np.linspace(-8.0, 8.0, 65, dtype=np.float32)
PRIOR_ROWS = 30.0
"""Held-out rows that the model's own distribution is worth, when the shape of the distribution is corrected."""
SLOPE_PRIOR_ROWS = 60.0
"""The same for every coefficient of the mean and of the spread."""
FARTHEST = 4.0
"""Scores beyond this say nothing about which predictions are off; what lies in the tails is corrected for all alike."""


class Circumstances(NamedTuple):
    """What a correction may depend on, of one action for one case or of many.

    expected: the expected outcome. open: the share of the predicted variance that is due to the gaps.
    """

    expected: Array | np.ndarray
    open: Array | np.ndarray

    @classmethod
    def of(
        cls,
        prices: Float[Array, "completion action"],
        scale: Float[Array, "completion action"],
        weights: Float[Array, " completion"],
    ) -> "Circumstances":
        """Of every action, by its prices on the completions and how outcomes scatter around them."""
        expected = weights @ prices
        between, within = weights @ (prices - expected[None, :]) ** 2, weights @ scale**2
        return cls(expected, between / jnp.maximum(between + within, 1e-12))


class HeldOut(NamedTuple):
    """Held-out outcomes: their normal scores, the number of the action taken, and its circumstances."""

    scores: np.ndarray
    actions: np.ndarray
    circumstances: Circumstances


class OutcomeCalibration(eqx.Module):
    """From the normal score that a model gives an outcome to the one that outcomes turn out to have.

    An outcome has the normal score z if the model predicts a lower one with probability Φ(z). Where outcomes are as
    predicted, the scores of held-out rows are standard normal. Where they are not, they correct the prediction in two
    steps. First their mean and their spread, by action, by the expected outcome and by how much the gaps leave open
    (`centre` and `spread`, the latter a logarithm; the last two columns are slopes). Then the shape of what remains
    (a probability integral transform): `scores` are the corrected ones at `GRID`, straight lines between.
    """

    location: Float[Array, " circumstance"]
    scale: Float[Array, " circumstance"]
    centre: Float[Array, " column"]
    spread: Float[Array, " column"]
    scores: Float[Array, " place"]

    @classmethod
    def none(cls, actions: int) -> "OutcomeCalibration":
        """Corrects nothing."""
        zeros = np.zeros(actions + 2, np.float32)
        return cls(*jax.device_put((zeros[:2], np.ones(2, np.float32), zeros, zeros, GRID)))

    @classmethod
    def of(cls, held_out: HeldOut, actions: int) -> "OutcomeCalibration":
        """From held-out outcomes."""
        if not len(held_out.scores):
            return cls.none(actions)
        each = np.stack([np.asarray(one, np.float64) for one in held_out.circumstances], axis=1)
        location, scale = each.mean(axis=0), each.std(axis=0)
        scale = np.where(scale > 1e-6 * (1 + np.abs(location)), scale, np.inf)
        columns = np.concatenate([np.eye(actions)[held_out.actions], (each - location) / scale], axis=1)
        centre, spread = _mean_and_spread(columns, np.clip(held_out.scores, -FARTHEST, FARTHEST))
        shape = _shape((held_out.scores - columns @ centre) / np.exp(columns @ spread))
        arrays = location, scale, centre, spread, shape
        return cls(*jax.device_put([array.astype(np.float32) for array in arrays]))

    def _line(self, circumstances: Circumstances) -> tuple[Float[Array, " action"], Float[Array, " action"]]:
        """The mean and the spread of the scores of every action."""
        actions = len(self.centre) - 2
        # circumstances that no held-out row was in are treated as the nearest that some were in
        each = jnp.clip((jnp.stack(circumstances, axis=1) - self.location[None, :]) / self.scale[None, :], -3.0, 3.0)
        return tuple(own[:actions] + each @ own[actions:] for own in (self.centre, self.spread))  # type: ignore[return-value]

    def __call__(self, score: Float[Array, " action"], circumstances: Circumstances) -> Float[Array, " action"]:
        """The corrected scores, one for every action."""
        centre, spread = self._line(circumstances)
        return jnp.interp((score - centre) / jnp.exp(spread), GRID, self.scores)

    def uncorrected(self, score: Float[Array, ""], circumstances: Circumstances) -> Float[Array, " action"]:
        """Which score of every action is corrected to this one."""
        centre, spread = self._line(circumstances)
        return centre + jnp.exp(spread) * jnp.interp(score, self.scores, GRID)


def _mean_and_spread(columns: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the mean of the scores and of the logarithm of their standard deviation, both near zero a priori:
    by maximum likelihood with a penalty."""
    from scipy.optimize import minimize

    size = columns.shape[1]
    prior = SLOPE_PRIOR_ROWS * np.repeat([1.0, 2.0], size)  # a row says twice as much about a spread

    def loss(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        centre, spread = coefficients[:size], coefficients[size:]
        logarithm = columns @ spread
        steps = (scores - columns @ centre) / np.exp(logarithm)
        penalty = 0.5 * coefficients @ (prior * coefficients)
        gradient = np.concatenate([-columns.T @ (steps / np.exp(logarithm)), columns.T @ (1 - steps**2)])
        return float((0.5 * steps**2 + logarithm).sum() + penalty), gradient + prior * coefficients

    found = minimize(loss, np.zeros(2 * size), method="L-BFGS-B", jac=True, bounds=[(-3, 3)] * size + [(-2, 2)] * size)
    return found.x[:size], found.x[size:]


def _shape(known: np.ndarray) -> np.ndarray:
    """The corrected scores at `GRID`: a smooth distribution of the known ones, each of which stands for its
    neighbourhood (Silverman's width)."""
    from scipy.special import log_ndtr as log_below
    from scipy.special import ndtri_exp

    count, grid = len(known), GRID.astype(np.float64)
    known = np.clip(known, GRID[0], GRID[-1])
    width = max(1.06 * float(known.std()) * count**-0.2, 0.05)
    apart = (grid[:, None] - known[None, :]) / width

    def corrected(side: float) -> np.ndarray:
        seen, prior = np.logaddexp.reduce(log_below(side * apart), axis=1), log_below(side * grid)
        return ndtri_exp(np.logaddexp(seen, np.log(PRIOR_ROWS) + prior) - np.log(count + PRIOR_ROWS))

    return np.maximum.accumulate(np.where(grid < 0, corrected(1.0), -corrected(-1.0)))


@runtime_checkable
class HasCalibration(Protocol):
    """A model whose predicted distributions of outcomes were held against outcomes that it has not learnt from.

    calibration: of distributions by gaps and noise. calibration_with_doubt: of those with the doubt of the price, too.
    """

    calibration: OutcomeCalibration
    calibration_with_doubt: OutcomeCalibration


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
