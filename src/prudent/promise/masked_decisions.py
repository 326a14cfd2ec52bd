"""Logged decisions with more of their cells masked: what a policy decides then, and how the rewards compare."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from prudent.decide import (
    Model,
    Policy,
    PriceTable,
    outcome_quantile,
    outcome_scale,
    outcome_spread,
    price_table,
)
from prudent.table import Encoded, Log


class PredictedReward(NamedTuple):
    """The predicted reward of one action for each record: mean, a low quantile and standard deviation."""

    mean: np.ndarray
    low: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True, eq=False)
class MaskedDecisions:
    """What the policy decides in logged rows when more of their cells are masked; computed once, then remembered.

    noise: the scatter of outcomes per action, for a model that does not predict it.
    """

    policy: Policy
    log: Log
    confidence: float
    noise: np.ndarray
    known_scores: dict[bytes, float] = field(default_factory=dict, repr=False)

    def scores(self, rows: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """How far below its prediction each reward fell, in units of the predicted spread; NaN where the policy decides
        the masked row differently from the log."""
        packed = np.concatenate([rows[:, None].astype(">u4").view(np.uint8), np.packbits(observed, axis=1)], axis=1)
        unique, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        keys = [key.tobytes() for key in unique]
        new = [at for at, key in enumerate(keys) if key not in self.known_scores]
        if new:
            scores = self._new_scores(rows[first[new]], observed[first[new]])
            self.known_scores.update(zip([keys[at] for at in new], scores.tolist(), strict=True))
        return np.array([self.known_scores[key] for key in keys])[place.reshape(-1)]

    def _new_scores(self, rows: np.ndarray, observed: np.ndarray) -> np.ndarray:
        taken = self.log.take(rows)
        encoded, actions = taken.encoded.masked(observed), taken.actions
        anything = np.ones((len(rows), len(self.log.action_labels)), bool)
        chooser = self.policy.chooser
        chosen = chooser.choose(chooser.score(encoded), encoded, anything).action
        agreed, scores = chosen == actions, np.full(len(rows), np.nan)
        if agreed.any():
            predicted = self.predict(encoded.values[agreed], observed[agreed], actions[agreed])
            scores[agreed] = (predicted.low - taken.rewards[agreed]) / predicted.spread
        return scores

    def predict(self, values: np.ndarray, observed: np.ndarray, actions: np.ndarray) -> PredictedReward:
        return predict(self.policy, values, observed, actions, self.noise, self.confidence)


def predict(
    policy: Policy, values: np.ndarray, observed: np.ndarray, actions: np.ndarray, noise: np.ndarray, confidence: float
) -> PredictedReward:
    """The predicted reward of one action per record; `noise` is used where the model does not predict it."""
    shared = (
        policy.fitted.model,
        policy.pricing.uniforms,
        policy.pricing.literal,
        jnp.asarray(noise, jnp.float32),
        jnp.float32(1 - confidence),
    )
    chunks: list[list[np.ndarray]] = []
    for chunk_values, chunk_observed in policy.pricing.chunks(
        Encoded(values, observed, [""] * len(values)), "guarantee"
    ):
        index = np.minimum(np.arange(len(chunk_values)) + len(chunk_values) * len(chunks), len(values) - 1)
        predicted = _predict(*shared, chunk_values, chunk_observed, jnp.asarray(actions[index]))
        chunks.append([np.asarray(column, np.float64) for column in predicted])
    return PredictedReward(*(np.concatenate(column)[: len(values)] for column in zip(*chunks, strict=True)))


def predicts_noise(policy: Policy) -> bool:
    """Whether the model predicts how single outcomes scatter around their price."""
    attributes = len(policy.fitted.schema)
    blank = jnp.zeros(attributes), jnp.zeros(attributes, bool)
    table = eqx.filter_eval_shape(
        price_table, policy.fitted.model, *blank, policy.pricing.uniforms, policy.pricing.literal
    )[1]
    return table.noise is not None


def estimated_noise(policy: Policy, log: Log) -> np.ndarray:
    """One scatter of outcomes for all actions: the spread of residuals that the gaps do not explain."""
    predicted = predict(policy, log.values, log.observed, log.actions, np.zeros(len(log.action_labels)), 0.5)
    squares = (log.rewards - predicted.mean) ** 2
    # never zero: a model that is certain of everything would have its scores divided by zero
    variance = max(np.mean(squares - predicted.spread**2), 0.05 * np.mean(squares), 1e-12)
    return np.full(len(log.action_labels), math.sqrt(variance))


@eqx.filter_jit
def _predict(
    model: Model, uniforms: Array, literal: bool, noise: Array, share: Array, *records: Array
) -> tuple[Array, Array, Array]:
    def one_record(
        values: Float[Array, " attribute"], observed: Bool[Array, " attribute"], action: Int[Array, ""]
    ) -> tuple[Array, Array, Array]:
        return _outcome(price_table(model, values, observed, uniforms, literal)[1], action, noise, share)

    return jax.vmap(one_record)(*records)


def _outcome(
    table: PriceTable, action: Int[Array, ""], noise: Float[Array, " action"], share: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Mean, lower `share` quantile and sd of the predicted outcome: a Gaussian around the price on each completion."""
    prices, weights = table.prices[:, action], table.weights
    known = jnp.broadcast_to(noise, table.prices.shape) if table.noise is None else table.noise
    scale = outcome_scale(known, table.doubt)[:, action]
    mean, spread = outcome_spread(prices, scale, weights)
    return mean, outcome_quantile(prices, scale, weights, share), spread
