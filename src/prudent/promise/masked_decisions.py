"""Logged decisions with more of their cells masked: what a policy decides then, and how the rewards compare."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from prudent.decide import (
    Completions,
    Model,
    Policy,
    PriceTable,
    Pricing,
    Scored,
    Search,
    outcome_quantile,
    outcome_scale,
    outcome_spread,
    price_table,
    read_tables,
    typical_doubt,
)
from prudent.networks import compiled
from prudent.table import Encoded, Log


class PredictedReward(NamedTuple):
    """The predicted reward of one action for each record: mean, a low quantile and standard deviation."""

    mean: np.ndarray
    low: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True, eq=False)
class MaskedDecisions:
    """What a policy decides in logged rows when more of their cells are masked; computed once, then remembered.

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
        """Both the decision about a row and the prediction of its reward are read off one price table."""
        taken, chooser = self.log.take(rows), self.policy.chooser
        encoded, read = taken.encoded.masked(observed), []
        parts: list[tuple[np.ndarray, ...]] = []
        for tables, predicted in _predictions(chooser.pricing, encoded, taken.actions, self.noise, self.confidence):
            read += read_tables([chooser], tables)
            parts.append(predicted)
        scored = Scored(*_joined(read, len(rows)))
        anything = np.ones((len(rows), len(self.log.action_labels)), bool)
        agreed = chooser.choose(scored, encoded, anything).action == taken.actions
        predicted = PredictedReward(*_joined(parts, len(rows)))
        rewards = taken.rewards - self.policy.fitted.origin
        return np.where(agreed, (predicted.low - rewards) / predicted.spread, np.nan)

    def predict(self, values: np.ndarray, observed: np.ndarray, actions: np.ndarray) -> PredictedReward:
        return predict(self.policy, values, observed, actions, self.noise, self.confidence)


def predict(
    policy: Policy, values: np.ndarray, observed: np.ndarray, actions: np.ndarray, noise: np.ndarray, confidence: float
) -> PredictedReward:
    """The predicted reward of one action per record; `noise` is used where the model does not predict it."""
    unsearched = replace(policy.pricing, search=Search(steps=0))  # what a search adds has no weight
    encoded = Encoded(values, observed, [""] * len(values))
    parts = [predicted for _, predicted in _predictions(unsearched, encoded, actions, noise, confidence)]
    return PredictedReward(*_joined(parts, len(values)))


def _predictions(
    pricing: Pricing, encoded: Encoded, actions: np.ndarray, noise: np.ndarray, confidence: float
) -> Iterator[tuple[PriceTable, tuple[np.ndarray, ...]]]:
    """Price tables, and the predicted reward of one action per record, chunk by chunk."""
    settings, done = (jnp.asarray(noise, jnp.float32), jnp.float32(1 - confidence)), 0
    for completions, tables in pricing.completed(encoded):
        index = np.minimum(done + np.arange(len(tables.prices)), len(actions) - 1)
        predicted = _predict(pricing.model, *settings, completions, tables, jnp.asarray(actions[index]))
        yield tables, tuple(np.asarray(column, np.float64) for column in predicted)
        done += len(index)


def _joined(chunks: Sequence[Sequence[np.ndarray]], rows: int) -> Iterator[np.ndarray]:
    """Column by column, without the padding of the last chunk."""
    return (np.concatenate(column)[:rows] for column in zip(*chunks, strict=True))


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
    squares = (log.rewards - policy.fitted.origin - predicted.mean) ** 2
    # never zero: a model that is certain of everything would have its scores divided by zero
    variance = max(np.mean(squares - predicted.spread**2), 0.05 * np.mean(squares), 1e-12)
    return np.full(len(log.action_labels), math.sqrt(variance))


@compiled
def _predict(
    model: Model, noise: Array, share: Array, completions: Completions, tables: PriceTable, actions: Array
) -> tuple[Array, Array, Array]:
    """Mean, lower `share` quantile and sd of the predicted outcome: a Gaussian around the price on each completion."""

    def one_record(completions: Completions, table: PriceTable, action: Int[Array, ""]) -> tuple[Array, Array, Array]:
        prices, weights = table.prices[:, action], table.weights
        known = jnp.broadcast_to(noise, table.prices.shape) if table.noise is None else table.noise
        scale = outcome_scale(known, typical_doubt(model, completions, table))[:, action]
        mean, spread = outcome_spread(prices, scale, weights)
        return mean, outcome_quantile(prices, scale, weights, share), spread

    return jax.vmap(one_record)(completions, tables, actions)
