"""What the logged rows leave open about prices: by Bayesian regression on the last layer of the reward network, or by
how many rows taught each type."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.models.typed import type_doubts
from prudent.networks import Members, bucket, neighbour_mixing, quasi_random
from prudent.table import Log

DOUBT_ROWS = 20_000
DOUBT_SAMPLES = 16
MOST_TOGETHER = 10_000
"""Ordered actions times features; with more, the doubt of an action is told by its own rows, which leaves more open."""


def known_directions(
    networks: Members, data: dict[str, np.ndarray], log: Log, seed: int
) -> Float[Array, "member action feature feature"]:
    """What the logged rows leave open about θ(·, a): Bayesian linear regression on the reward network's last layer.

    A matrix K per member and action with sd[θ(x, a)] = |K φ(x)|, φ the last hidden layer. A logged row with gaps counts
    by the mean of φ over its completions and with the variance of θ over them added to the noise. Before any row, θ of
    an average record has standard deviation 1 (rewards are standardised), so an action hardly ever logged stays open.
    """
    rows = np.flatnonzero(log.rewarded)
    chosen, records, points = _some_rows(networks, data, rows, seed)
    found = _mean_features(networks, records, points)
    features, variances = (np.asarray(part, np.float64)[:, : len(chosen)] for part in found)
    counts = len(rows) / len(chosen) / variances
    groups = [log.actions[chosen] == action for action in range(len(log.action_labels))]
    together = networks.shared.reward.ordered and len(groups) * features.shape[2] <= MOST_TOGETHER
    mixing = neighbour_mixing(len(groups)) if together else None
    known = []
    for own, count in zip(features, counts, strict=True):
        prior = float(np.mean(np.sum(own**2, axis=1)))
        learnt = np.stack([own[took].T @ (count[took, None] * own[took]) for took in groups])
        known.append(_left_open(prior, learnt) if mixing is None else _left_open_together(prior, learnt, mixing))
    return jnp.asarray(np.stack(known), jnp.float32)


def _left_open(prior: float, learnt: np.ndarray) -> np.ndarray:
    """K of every action by itself, from what its rows taught: `learnt` is Σ φφᵀ/σ², [action, feature, feature]."""
    return np.linalg.inv(np.linalg.cholesky(prior * np.eye(learnt.shape[1]) + learnt))


def _left_open_together(prior: float, learnt: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """The same where actions are ordered: θ(x, a) = Σ_b mixing[a, b] w_b·φ(x), so that all w_b are learnt together."""
    actions, size, _ = learnt.shape
    precision = np.einsum("ab,ac,aij->bicj", mixing, mixing, learnt, optimize=True).reshape(
        actions * size, actions * size
    )
    covariance = np.linalg.inv(precision + prior * np.eye(actions * size)).reshape(actions, size, actions, size)
    own = np.einsum("ab,ac,bicj->aij", mixing, mixing, covariance, optimize=True)
    return np.linalg.cholesky(own + 1e-12 * np.eye(size)).transpose(0, 2, 1)


def known_types(networks: Members, data: dict[str, np.ndarray], log: Log, seed: int) -> Array:
    rows = np.flatnonzero(log.rewarded)
    chosen, records, points = _some_rows(networks, data, rows, seed)
    counted = np.zeros(len(records["action"]), np.float32)
    counted[: len(chosen)] = len(rows) / len(chosen)
    return type_doubts(networks, records, jnp.asarray(counted), points)


def _some_rows(
    networks: Members, data: dict[str, np.ndarray], rows: np.ndarray, seed: int
) -> tuple[np.ndarray, dict[str, Array], Array]:
    """At most so many rows that doubt need not see more; their records, padded, and the draws for each."""
    chosen = np.random.default_rng(seed).permutation(rows)[:DOUBT_ROWS]
    padded = np.resize(chosen, bucket(len(chosen)))
    records = {name: jnp.asarray(column[padded]) for name, column in data.items()}
    return chosen, records, jnp.asarray(quasi_random(DOUBT_SAMPLES, networks.shared.features.draw_size, seed))


@eqx.filter_jit
def _mean_features(networks: Members, records: dict[str, Array], points: Array) -> tuple[Array, Array]:
    """For every member and logged row: the mean feature, and the variance of the reward around it."""

    def row(network: Any, record: dict[str, Array]) -> tuple[Array, Array]:
        samples = network.features.sample(record["values"], record["observed"], record["observed"], points)
        weights = jax.nn.softmax(samples.log_weights)
        inputs = jax.vmap(network.features.layout.inputs)(samples.cells)
        prices, noise = jax.vmap(lambda own: (network.reward(own), network.reward.noise(own)))(inputs)
        prices, noise = prices[:, record["action"]], noise[:, record["action"]]
        variance = weights @ ((prices - weights @ prices) ** 2 + noise**2)
        return weights @ jax.vmap(network.reward.hidden)(inputs), variance

    return networks.each(lambda network: jax.lax.map(lambda own: row(network, own), records, batch_size=128))
