"""Replay: what a policy would have done in logged decisions with more of their cells masked, and how that went."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Bool, Float, Int

from prudent.decide import Model, Policy, PriceTable, price_table
from prudent.table import Encoded, Log

HALVINGS = 40


class Predicted(NamedTuple):
    """What the model predicts for one action of each record: mean, a low quantile and sd of the reward."""

    mean: np.ndarray
    low: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True, eq=False)
class Replay:
    """What the policy says of logged decisions when more of their cells are masked; asked once, then remembered."""

    policy: Policy
    log: Log
    level: float
    noise: np.ndarray
    answers: dict[bytes, float] = field(default_factory=dict, repr=False)

    def scores(self, rows: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """How far below its prediction each reward fell, in units of the predicted spread; NaN where the log did not do
        what the policy says of the masked row."""
        packed = np.concatenate([rows[:, None].astype(">u4").view(np.uint8), np.packbits(observed, axis=1)], axis=1)
        unique, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        keys = [one.tobytes() for one in unique]
        new = [at for at, key in enumerate(keys) if key not in self.answers]
        if new:
            found = self._ask(rows[first[new]], observed[first[new]])
            self.answers.update(zip([keys[at] for at in new], found.tolist(), strict=True))
        return np.array([self.answers[key] for key in keys])[place.reshape(-1)]

    def _ask(self, rows: np.ndarray, observed: np.ndarray) -> np.ndarray:
        values, actions = np.where(observed, self.log.values[rows], 0), self.log.actions[rows]
        encoded = Encoded(values, observed, [""] * len(rows))
        anything = np.ones((len(rows), len(self.log.action_labels)), bool)
        chooser = self.policy.chooser
        chosen = chooser.choose(chooser.score(encoded), encoded, anything).action
        agreed, scores = chosen == actions, np.full(len(rows), np.nan)
        if agreed.any():
            predicted = self.predict(values[agreed], observed[agreed], actions[agreed])
            scores[agreed] = (predicted.low - self.log.rewards[rows[agreed]]) / predicted.spread
        return scores

    def predict(self, values: np.ndarray, observed: np.ndarray, actions: np.ndarray) -> Predicted:
        return predict(self.policy, values, observed, actions, self.noise, self.level)


def predict(
    policy: Policy, values: np.ndarray, observed: np.ndarray, actions: np.ndarray, noise: np.ndarray, level: float
) -> Predicted:
    """The predicted reward of one action per record; `noise` stands in for a model that does not know its own."""
    shared = (
        policy.fitted.model,
        policy.pricing.uniforms,
        policy.pricing.literal,
        jnp.asarray(noise, jnp.float32),
        jnp.float32(1 - level),
    )
    found: list[list[np.ndarray]] = []
    for own, seen in policy.pricing.chunks(Encoded(values, observed, [""] * len(values))):
        index = np.minimum(np.arange(len(own)) + len(own) * len(found), len(values) - 1)
        chunk = _predict(*shared, own, seen, jnp.asarray(actions[index]))
        found.append([np.asarray(column, np.float64) for column in chunk])
    return Predicted(*(np.concatenate(column)[: len(values)] for column in zip(*found, strict=True)))


def knows_noise(policy: Policy) -> bool:
    """Whether the model says how single outcomes scatter around their price."""
    attributes = len(policy.fitted.schema)
    blank = jnp.zeros(attributes), jnp.zeros(attributes, bool)
    table = eqx.filter_eval_shape(
        price_table, policy.fitted.model, *blank, policy.pricing.uniforms, policy.pricing.literal
    )[1]
    return table.noise is not None


def estimated_noise(policy: Policy, log: Log) -> np.ndarray:
    """One scatter of outcomes for all actions: what residuals have beyond the spread that the gaps explain."""
    predicted = predict(policy, log.values, log.observed, log.actions, np.zeros(len(log.action_labels)), 0.5)
    squares = (log.rewards - predicted.mean) ** 2
    # never nothing: a model that is sure of everything would be compared in units of zero
    variance = max(np.mean(squares - predicted.spread**2), 0.05 * np.mean(squares), 1e-12)
    return np.full(len(log.action_labels), math.sqrt(variance))


@eqx.filter_jit
def _predict(
    model: Model, uniforms: Array, literal: bool, noise: Array, share: Array, *records: Array
) -> tuple[Array, Array, Array]:
    def one(
        values: Float[Array, " attribute"], observed: Bool[Array, " attribute"], action: Int[Array, ""]
    ) -> tuple[Array, Array, Array]:
        return _outcome(price_table(model, values, observed, uniforms, literal)[1], action, noise, share)

    return jax.vmap(one)(*records)


def _outcome(
    table: PriceTable, action: Int[Array, ""], noise: Float[Array, " action"], share: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Mean, lower `share` quantile and sd of the predicted outcome: a Gaussian around the price on each completion."""
    prices, weights = table.prices[:, action], table.weights
    variance = (noise if table.noise is None else table.noise)[..., action] ** 2
    if table.doubt is not None:
        variance = variance + table.doubt[:, action] ** 2
    scale = jnp.sqrt(jnp.maximum(variance, 1e-12)) * jnp.ones_like(prices)
    mean = weights @ prices
    spread = jnp.sqrt(weights @ (scale**2 + (prices - mean) ** 2))

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        below = weights @ norm.cdf((middle - prices) / scale) < share
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (mean - 10 * spread, mean + 10 * spread))
    return mean, (low + high) / 2, spread
