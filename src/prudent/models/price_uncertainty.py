"""How uncertain prices are, given the logged rows: by Bayesian regression on the reward network's last layer, or by the
number of rows of each type."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.decide import Circumstances, HeldOut, normal_score
from prudent.models.case_types import type_doubts
from prudent.models.training_data import RewardScale
from prudent.networks import Members, bucket, compiled, neighbour_mixing, quasi_random
from prudent.table import Log

MOST_ROWS = 20_000
SAMPLES = 16
MOST_TOGETHER = 10_000
"""Ordered actions times features; with more, an action's rows alone decide how uncertain it is, which is more."""


class RowPredictions(NamedTuple):
    """What the network makes of logged rows, over their completions.

    rows: their numbers. features: the mean of the reward network's last layer, [member, row, feature]. variances: of
    the reward around its prediction, [member, row]. expected: the mean reward of every action, [row, action].
    prices, noise, weights: of the action taken on every completion, [member, row, completion]. completed: the mean of
    the completions, [row, cell].
    """

    rows: np.ndarray
    features: np.ndarray
    variances: np.ndarray
    expected: np.ndarray
    prices: np.ndarray
    noise: np.ndarray
    weights: np.ndarray
    completed: np.ndarray

    def held_out(
        self,
        places: np.ndarray,
        data: dict[str, np.ndarray],
        shift: np.ndarray,
        scale: RewardScale,
        known: Array | None = None,
    ) -> HeldOut:
        """Where some rewards lie in their predicted distributions, whose prices are moved by `shift`.

        known: as `regression_uncertainty` gives it, to count the doubt of the prices as well.
        """
        rows = self.rows[places]
        actions, rewards = data["action"][rows], data["reward"][rows]
        moved = self.prices[:, places] + shift[np.arange(len(rows)), actions][None, :, None]
        variance = self.noise[:, places] ** 2
        if known is not None:
            roots = np.asarray(known, np.float64)[:, actions]
            own = np.sum(np.einsum("mrij,mrj->mri", roots, self.features[:, places]) ** 2, axis=2).mean(axis=0)
            apart = np.sum(moved * self.weights[:, places], axis=2)
            doubt = own + (apart.var(axis=0, ddof=1) if len(apart) > 1 else 0.0)
            variance = variance + doubt[None, :, None]

        def by_row(each: np.ndarray) -> np.ndarray:  # members together: [row, completion]
            return each.transpose(1, 0, 2).reshape(len(rows), -1)

        mixtures = moved, np.sqrt(variance), self.weights[:, places] / len(self.weights)
        padded = np.resize(np.arange(len(rows)), bucket(len(rows)))
        arrays = [each[padded].astype(np.float32) for each in (rewards, *map(by_row, mixtures))]
        scores, expected, opened = (np.asarray(each)[: len(rows)] for each in _places(*jax.device_put(arrays)))
        location, unit = np.asarray(scale.location, float), np.asarray(scale.scale, float)
        return HeldOut(scores.astype(float), actions, Circumstances(location + unit * expected, opened))


def row_predictions(networks: Members, data: dict[str, np.ndarray], log: Log, seed: int) -> RowPredictions:
    """For the rows with a reward, or for many of them."""
    chosen, records, points = _some_rows(networks, data, np.flatnonzero(log.rewarded), seed)
    padded = _mean_features(networks, records, points)
    features, variances, every, *taken, cells = (np.asarray(array, np.float64)[:, : len(chosen)] for array in padded)
    return RowPredictions._make((chosen, features, variances, every.mean(axis=0), *taken, cells.mean(axis=0)))


def regression_uncertainty(
    networks: Members, predictions: RowPredictions, log: Log
) -> Float[Array, "member action feature feature"]:
    """How uncertain θ(·, a) is: Bayesian linear regression on the reward network's last layer.

    A matrix K per member and action with sd[θ(x, a)] = |K φ(x)|, φ the last hidden layer. A logged row with gaps enters
    with the mean of φ over its completions, and the variance of θ over them is added to the noise. Before any row, θ of
    an average record has standard deviation 1 (rewards are standardised), so an action that was hardly ever logged
    stays uncertain.
    """
    chosen, features, variances = predictions[:3]
    counts = int(log.rewarded.sum()) / len(chosen) / variances
    groups = [log.actions[chosen] == action for action in range(len(log.action_labels))]
    together = networks.shared.reward.ordered and len(groups) * features.shape[2] <= MOST_TOGETHER
    mixing = neighbour_mixing(len(groups)) if together else None
    roots = []
    for feature, count in zip(features, counts, strict=True):
        prior = float(np.mean(np.sum(feature**2, axis=1)))
        learnt = np.stack([feature[took].T @ (count[took, None] * feature[took]) for took in groups])
        roots.append(_separate_roots(prior, learnt) if mixing is None else _joint_roots(prior, learnt, mixing))
    return jax.device_put(np.stack(roots).astype(np.float32))


def _separate_roots(prior: float, learnt: np.ndarray) -> np.ndarray:
    """K of every action from its rows alone: `learnt` is Σ φφᵀ/σ², [action, feature, feature]."""
    return np.linalg.inv(np.linalg.cholesky(prior * np.eye(learnt.shape[1]) + learnt))


def _joint_roots(prior: float, learnt: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """The same where actions are ordered: θ(x, a) = Σ_b mixing[a, b] w_b·φ(x), so that all w_b are learnt together."""
    actions, size, _ = learnt.shape
    precision = np.einsum("ab,ac,aij->bicj", mixing, mixing, learnt, optimize=True).reshape(
        actions * size, actions * size
    )
    covariance = np.linalg.inv(precision + prior * np.eye(actions * size)).reshape(actions, size, actions, size)
    by_action = np.einsum("ab,ac,bicj->aij", mixing, mixing, covariance, optimize=True)
    return np.linalg.cholesky(by_action + 1e-12 * np.eye(size)).transpose(0, 2, 1)


def type_uncertainty(networks: Members, data: dict[str, np.ndarray], log: Log, seed: int) -> Array:
    """The standard deviation of every type's reward, [member, type, action]."""
    rows = np.flatnonzero(log.rewarded)
    chosen, records, points = _some_rows(networks, data, rows, seed)
    counted = np.zeros(len(records["action"]), np.float32)
    counted[: len(chosen)] = len(rows) / len(chosen)
    return type_doubts(networks, records, jnp.asarray(counted), points)


def _some_rows(
    networks: Members, data: dict[str, np.ndarray], rows: np.ndarray, seed: int
) -> tuple[np.ndarray, dict[str, Array], Array]:
    """A random subset of at most `MOST_ROWS`, which is enough; their records, padded, and the draws for each."""
    chosen = np.random.default_rng(seed).permutation(rows)[:MOST_ROWS]
    padded = np.resize(chosen, bucket(len(chosen)))
    records = jax.device_put({name: column[padded] for name, column in data.items()})
    return chosen, records, jax.device_put(quasi_random(SAMPLES, networks.shared.features.draw_size, seed))


@compiled
def _places(rewards: Array, prices: Array, scale: Array, weights: Array) -> tuple[Array, Array, Array]:
    """The normal score and the circumstances of every row's reward, of the action that was taken."""

    def one(reward: Array, prices: Array, scale: Array, weights: Array) -> tuple[Array, Array, Array]:
        own = prices[:, None], scale[:, None]
        expected, opened = Circumstances.of(*own, weights)
        score = normal_score(reward, *own, jnp.log(jnp.maximum(weights, 1e-30)))
        return score[0], expected[0], opened[0]

    return jax.vmap(one)(rewards, prices, scale, weights)


@compiled
def _mean_features(networks: Members, records: dict[str, Array], points: Array) -> tuple[Array, ...]:
    """For every member and logged row, the fields of `RowPredictions`."""

    def row(network: Any, record: dict[str, Array]) -> tuple[Array, ...]:
        samples = network.features.sample(record["values"], record["observed"], record["observed"], points)
        weights = jax.nn.softmax(samples.log_weights)
        every = network.reward(samples.cells)
        prices = every[:, record["action"]]
        noise = network.reward.noise(samples.cells)[:, record["action"]]
        variance = weights @ ((prices - weights @ prices) ** 2 + noise**2)
        mean = weights @ network.reward.hidden(samples.cells)
        return mean, variance, weights @ every, prices, noise, weights, weights @ samples.cells

    return networks.each(lambda network: jax.lax.map(lambda record: row(network, record), records, batch_size=128))
