"""What uncertainty adds up to: the range of single outcomes (gaps, doubt and noise), and how likely each action is the
best one (gaps and doubt).

On each completion an outcome is a Gaussian around the price, so given the gaps it is a mixture of Gaussians; a model
that was held against outcomes it has not learnt from corrects the mixture.
"""

from functools import partial
from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int

from prudent.decide.completions import Completions, PriceTable, resampled
from prudent.decide.model import Model, price_completions
from prudent.decide.outcome_calibration import Circumstances, HasCalibration
from prudent.networks import compiled, quasi_random

OUTCOME_RANGE = (0.05, 0.95)
"""Nine of ten single outcomes are meant to lie between these quantiles."""
LEAST_SHARE = 1e-4
HALVINGS = 18
"""To a few millionths of the width that is searched."""
TYPICAL = 16
"""Completions whose doubt stands for that of all: each is expensive, and the doubt differs little between them."""


def outcome_spread(
    prices: Float[Array, " completion"], scale: Float[Array, " completion"], weights: Float[Array, " completion"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The mean and the standard deviation of a single outcome of one action."""
    mean = weights @ prices
    return mean, jnp.sqrt(weights @ (scale**2 + (prices - mean) ** 2))


def outcome_quantile(
    prices: Float[Array, " completion"],
    scale: Float[Array, " completion"],
    weights: Float[Array, " completion"],
    share: Float[Array, ""],
) -> Float[Array, ""]:
    """The value below which `share` of the single outcomes of one action lie."""
    mean, spread = outcome_spread(prices, scale, weights)
    # whatever the distribution, its quantiles lie within these bounds (Cantelli)
    low, high = mean - spread * jnp.sqrt((1 - share) / share), mean + spread * jnp.sqrt(share / (1 - share))

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        below = weights @ norm.cdf((middle - prices) / scale) < share
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
    return (low + high) / 2


def outcome_scale(
    noise: Float[Array, "completion action"], doubt: Float[Array, "completion action"] | None
) -> Float[Array, "completion action"]:
    """The standard deviation of a single outcome around its price; never zero."""
    variance = noise**2 if doubt is None else noise**2 + doubt**2
    return jnp.sqrt(jnp.maximum(variance, 1e-12))


def chance_best(
    prices: np.ndarray, weights: np.ndarray, doubt: np.ndarray | None, draws: int = 512, seed: int = 0
) -> np.ndarray:
    """The probability that each action has the highest price, over the completions and the doubt of the prices.

    prices, doubt: [completion, action]. Doubts are independent between actions; that of one action moves all
    completions together. Draws come with their mirror images, so that equal actions have equal chances.
    """
    actions = prices.shape[1]
    drawn = np.vectorize(NormalDist().inv_cdf)(quasi_random(draws, actions, seed))
    moves = np.zeros((1, actions)) if doubt is None else np.concatenate([drawn, -drawn])
    size = np.zeros_like(prices) if doubt is None else doubt
    best = np.stack([np.argmax(prices + size * move[None, :], axis=1) for move in moves])
    chances = np.bincount(best.ravel(), weights=np.tile(weights, len(moves)), minlength=actions)
    return chances / chances.sum()


@compiled
def outcome_ranges(
    model: Model, completions: Completions, tables: PriceTable, actions: Int[Array, "row some"]
) -> Float[Array, "row end some"] | None:
    """Between which values nine of ten single outcomes of some actions lie, for many records; None where the model does
    not know how single outcomes scatter."""
    if tables.noise is None:
        return None
    ends = jnp.array([NormalDist().inv_cdf(share) for share in OUTCOME_RANGE])

    def one(completions: Completions, table: PriceTable, actions: Int[Array, " some"]) -> Float[Array, "end some"]:
        assert table.noise is not None
        weights, scale = table.weights, outcome_scale(table.noise, typical_doubt(model, completions, table))
        scores = jnp.broadcast_to(ends[:, None], (len(ends), scale.shape[1]))
        if isinstance(model, HasCalibration):
            calibration, circumstances = model.calibration_with_doubt, Circumstances.of(table.prices, scale, weights)
            scores = jax.vmap(lambda end: calibration.uncorrected(end, circumstances))(ends)
        shares = jnp.clip(ndtr(scores), LEAST_SHARE, 1 - LEAST_SHARE)

        def of_action(action: Int[Array, ""]) -> Float[Array, " end"]:
            quantile = partial(outcome_quantile, table.prices[:, action], scale[:, action], weights)
            return jax.vmap(quantile)(shares[:, action])

        return jax.vmap(of_action, out_axes=1)(actions)

    return jax.vmap(one)(completions, tables, actions)


def typical_doubt(
    model: Model, completions: Completions, table: PriceTable
) -> Float[Array, "completion action"] | None:
    """The doubt of every action, the same for all completions: over a few of them, drawn by their weight."""
    chosen = resampled(table.weights, TYPICAL)
    if table.doubt is not None:
        doubt = table.doubt[chosen]
    else:
        some = (completions.values[chosen], completions.log_weights[chosen], completions.log_density[chosen])
        doubt = price_completions(model, *some).doubt
    return None if doubt is None else jnp.broadcast_to(jnp.sqrt(jnp.mean(doubt**2, axis=0)), table.prices.shape)
