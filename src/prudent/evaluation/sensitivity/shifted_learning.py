"""Prices and propensities when missing cells are systematically higher or lower than the records say."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from prudent.decide import HasDoubt, Model, average_shift
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.models import Fitted, align_log
from prudent.networks import compiled, layout_of
from prudent.propensity import (
    FLOOR,
    FittedPropensity,
    RobustLogistic,
    across_folds,
    deal_folds,
    single_thread,
    with_row_limit,
)
from prudent.table import Log, Schema

ROUNDS, FOLDS, PENALTY = 4, 2, 1.0
LEAST_NOISE = 1e-2  # of the rewards' spread: a model without noise would rule out what happened


class Shifted(NamedTuple):
    """Expected rewards [row, action], and whole records given how each row turned out, [row, draw, attribute].

    Records are equally likely draws of p(x | x̃, R) as if the action had been forced: the action is not yet used.
    """

    prices: np.ndarray
    records: np.ndarray


def shifted_completions(
    fitted: Fitted | CrossFitted, log: Log, shift: np.ndarray, completions: int, imputations: int
) -> Shifted:
    """With `shift` [attribute] added to the completed cells; cross-fitted models handle rows they have not seen."""
    if isinstance(fitted, Fitted):
        return _of_model(fitted, log, shift, completions, imputations)
    which = fitted.unseen(log)
    prices = np.zeros((len(log), len(log.action_labels)))
    records = np.zeros((len(log), imputations, len(log.schema)), np.float32)
    for index, model in enumerate(fitted.models):
        rows = np.flatnonzero(which == index)
        if len(rows):
            prices[rows], records[rows] = _of_model(model, log.take(rows), shift, completions, imputations)
    return Shifted(prices, records)


def _of_model(fitted: Fitted, log: Log, shift: np.ndarray, completions: int, imputations: int) -> Shifted:
    rows, policy = align_log(log, fitted), fitted.policy(completions=completions)
    points = jnp.asarray((np.arange(imputations) + 0.5) / imputations, jnp.float32)
    moved, spread = jnp.asarray(shift, jnp.float32), jnp.float32(max(float(rows.rewards.std()), 1e-6))
    bounds = layout_of(rows.schema).bounds
    parts, start = [], 0
    for values, observed in policy.pricing.chunks(rows.encoded):
        index = np.minimum(np.arange(start, start + len(values)), len(rows) - 1)
        actions = jnp.asarray(rows.actions[index])
        rewards = jnp.asarray(rows.rewards[index] - fitted.origin, jnp.float32)
        shifted = _shifted(
            fitted.model, values, observed, actions, rewards, policy.pricing.uniforms, moved, *bounds, spread, points
        )
        parts.append([np.asarray(array) for array in shifted])
        start += len(values)
    prices, records = (np.concatenate([part[at] for part in parts])[: len(rows)] for at in (0, 1))
    return Shifted(prices.astype(np.float64) + fitted.origin, records)


def _noise(
    model: Model, records: Float[Array, "draw attribute"], action: Array, spread: Float[Array, ""]
) -> Float[Array, " draw"]:
    """The standard deviation of outcomes around their price; half the rewards' spread for a model without it."""
    if not isinstance(model, HasDoubt):
        return jnp.full(len(records), spread / 2)
    return jnp.maximum(jax.vmap(model.noise)(records)[:, action], LEAST_NOISE * spread)


@compiled
def _shifted(
    model: Model,
    values: Float[Array, "row attribute"],
    observed: Bool[Array, "row attribute"],
    actions: Int[Array, " row"],
    rewards: Float[Array, " row"],
    uniforms: Float[Array, "member sample uniform"],
    shift: Float[Array, " attribute"],
    low: Float[Array, " attribute"],
    high: Float[Array, " attribute"],
    spread: Float[Array, ""],
    points: Float[Array, " draw"],
) -> tuple[Float[Array, "row action"], Float[Array, "row draw attribute"]]:
    """One program for every shift: the shift is an argument."""

    def one(values: Array, observed: Array, action: Array, reward: Array) -> tuple[Array, Array]:
        drawn = model.complete(values, observed, uniforms, False)
        moved = jax.vmap(lambda record: jnp.clip(record + jnp.where(observed, 0.0, shift), low, high))(drawn.values)
        unmoved = jnp.mean(model.prices(drawn.values), axis=1)
        by = average_shift(model, values, observed, drawn.values, jnp.exp(drawn.log_weights), unmoved)
        prices = jnp.mean(model.prices(moved), axis=1) + (0.0 if by is None else by[None, :])
        noise = _noise(model, moved, action, spread)
        fit = -0.5 * ((reward - prices[:, action]) / noise) ** 2 - jnp.log(noise)
        likely = jnp.cumsum(jax.nn.softmax(drawn.log_weights + fit))
        picked = jnp.minimum(jnp.searchsorted(likely, points * likely[-1]), likely.size - 1)
        return jnp.exp(drawn.log_weights) @ prices, moved[picked]

    return jax.vmap(one)(values, observed, actions, rewards)


def propensity_given_records(log: Log, schema: Schema, records: np.ndarray, seed: int) -> FittedPropensity:
    """The probability of the logged action when those who decided knew the whole record, from draws of it.

    The action then says something about what they knew: p(x | x̃, A, R) ∝ p(x | x̃, R) e(A | x), so the mean of
    1/e(A | x) given all that happened is one over the mean of e(A | x) over draws that ignore the action. The rule e
    itself, with random lapses, is estimated by stochastic EM: each row's record is drawn in proportion to e(A | x), and
    the rule is fitted again; in folds, so that a row's rule has not seen its action.
    """
    n_actions, every = len(log.action_labels), np.arange(records.shape[1])

    def chances(rule: RobustLogistic, rows: np.ndarray) -> np.ndarray:
        each = [rule.probabilities(_features(schema, records[rows, draw])) for draw in every]
        return np.stack([drawn[np.arange(len(rows)), log.actions[rows]] for drawn in each], axis=1)

    def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
        random, likely, rule = np.random.default_rng(seed), np.ones((len(train), len(every))), None
        for _ in range(ROUNDS):
            mass = np.cumsum(likely, axis=1)
            draw = np.sum(mass < random.random((len(train), 1)) * mass[:, -1:], axis=1)
            features = _features(schema, records[train, np.minimum(draw, len(every) - 1)])
            rule = RobustLogistic.fit(features, log.actions[train], n_actions, PENALTY)
            likely = chances(rule, train)
        assert rule is not None  # there is at least one round
        return chances(rule, rows)

    with single_thread():
        each = across_folds(deal_folds(log, FOLDS, seed), with_row_limit(predict, seed), "propensities given the gaps")
    return FittedPropensity(np.maximum(each.mean(axis=1), FLOOR), None, log.actions, log.action_labels)


def _features(schema: Schema, records: np.ndarray) -> np.ndarray:
    """Numbers as they are encoded, categories one-hot: [row, feature]."""
    parts = [
        np.eye(column.levels)[np.round(records[:, at]).astype(np.int64)]
        if column.likelihood == "categorical"
        else records[:, at, None].astype(np.float64)
        for at, column in enumerate(schema.columns)
    ]
    return np.concatenate(parts, axis=1)
