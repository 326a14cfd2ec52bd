"""Ridge regression of the reward on a record with gaps: slopes that all actions share, and an action's own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

PRIORS = tuple((shared, own) for own in (10.0, 50.0, 250.0, 1250.0) for shared in (2.0, 0.2 * own))
"""Tried: the strength of the shrinkage of shared slopes towards zero, and of an action's own towards them."""
CONSTANT_PRIOR = 10.0


class Linear(eqx.Module):
    """The expected reward of every action, in standardised rewards."""

    constants: Float[Array, " action"]
    slopes: Float[Array, "column action"]

    @classmethod
    def blank(cls, columns: int, actions: int) -> "Linear":
        return cls(jnp.zeros(actions), jnp.zeros((columns, actions)))

    def __call__(self, features: Float[Array, " column"]) -> Float[Array, " action"]:
        return self.constants + features @ self.slopes


class Moments:
    """What the regressions need of the rows: of every action, (weighted) sums of products of columns and rewards."""

    def __init__(
        self,
        features: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        count: int,
        weights: np.ndarray | None = None,
    ):
        self.centre, self.mean = features.mean(axis=0), rewards.mean()
        if weights is not None:
            self.centre, self.mean = np.average(features, axis=0, weights=weights), np.average(rewards, weights=weights)
        columns = np.column_stack([features - self.centre, np.ones(len(features))])
        groups = [actions == action for action in range(count)]
        counted = columns if weights is None else columns * weights[:, None]
        self.products = np.stack([columns[took].T @ counted[took] for took in groups])
        self.sums = np.stack([counted[took].T @ (rewards[took] - self.mean) for took in groups])

    def fit(self, shared: float, own: float) -> Linear:
        """With these priors: each action's own slopes given the shared ones, which solve what remains."""
        size = self.products.shape[1]
        own_prior = np.diag(np.append(np.full(size - 1, own), CONSTANT_PRIOR))
        inverse = np.linalg.inv(self.products + own_prior)
        # G − G (G + P)⁻¹ G = P − P (G + P)⁻¹ P
        left = own_prior[None] - own_prior @ inverse @ own_prior
        right = np.einsum("ij,ajk,ak->i", own_prior, inverse, self.sums)
        shared_prior = np.diag(np.append(np.full(size - 1, shared), 1e-3))
        together = np.linalg.solve(left.sum(axis=0) + shared_prior, right)
        apart = np.einsum("aij,aj->ai", inverse, self.sums - self.products @ together)
        slopes = together[None] + apart
        constants = self.mean + slopes[:, -1] - slopes[:, :-1] @ self.centre
        return Linear(*jax.device_put((constants.astype(np.float32), slopes[:, :-1].T.astype(np.float32))))
