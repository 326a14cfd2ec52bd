"""The reward network: from a complete record to the expected reward of every action."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from prudent.networks.layers import Layers, Width, clamp, linear, two_widths

LOG_NOISE = (-4.0, 2.0)
NEIGHBOURHOOD = 0.3
"""The distance over which ordered actions are correlated, as a share of that from the first to the last."""
INDEPENDENT_SHARE = 0.05
"""The share of the variance of an ordered action's reward that is independent of its neighbours."""


def neighbour_mixing(actions: int) -> np.ndarray:
    """A square root (Cholesky) of the prior correlation between the rewards of ordered actions, [action, action].

    >>> [[f"{correlation:.2f}" for correlation in row] for row in neighbour_mixing(3) @ neighbour_mixing(3).T]
    [['1.00', '0.24', '0.00'], ['0.24', '1.00', '0.24'], ['0.00', '0.24', '1.00']]
    """
    places = np.linspace(0, 1, actions)
    correlation = neighbour_correlation(places, places) + INDEPENDENT_SHARE * np.eye(actions)
    return np.linalg.cholesky(correlation).astype(np.float32)


def neighbour_correlation(places: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The prior correlation of what the rewards of neighbours share, [place, other]; the first action is at 0, the last
    at 1."""
    apart = (places[:, None] - others[None, :]) / NEIGHBOURHOOD
    return (1 - INDEPENDENT_SHARE) * np.exp(-0.5 * apart**2)


class RewardNetwork(eqx.Module):
    """θ(x, ·) for all actions at once: a shared network plus a linear path, and the noise of single rewards.

    ordered: the network's outputs are mixed so that neighbouring actions begin similar and what one row teaches about
        an action moves its neighbours too; any θ can still be learnt. varying_noise: the noise depends on the record.
    """

    network: Layers
    linear: eqx.nn.Linear
    log_noise: Float[Array, " action"]
    spread: eqx.nn.Linear | None
    ordered: bool = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        actions: int,
        *,
        width: Width,
        ordered: bool = False,
        varying_noise: bool = False,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key)
        self.network = Layers(inputs, actions, two_widths(width), key=keys[0])
        self.linear = eqx.nn.Linear(inputs, actions, use_bias=False, key=keys[1])
        self.log_noise = jnp.full((actions,), -0.5, jnp.float32)
        level = eqx.nn.Linear(two_widths(width)[-1], actions, key=keys[0])
        self.spread = jax.tree.map(jnp.zeros_like, level) if varying_noise else None
        self.ordered = ordered

    def __call__(self, inputs: Float[Array, "... input"]) -> Float[Array, "... action"]:
        return self._outputs(inputs, self.network.hidden(inputs))

    def _outputs(self, inputs: Array, features: Array) -> Array:
        return self._mixed(linear(self.network.layers[-1], features) + linear(self.linear, inputs))

    def _mixed(self, outputs: Float[Array, "... action"]) -> Float[Array, "... action"]:
        return outputs @ jnp.asarray(neighbour_mixing(outputs.shape[-1])).T if self.ordered else outputs

    def hidden(self, inputs: Float[Array, "... input"]) -> Float[Array, "... feature"]:
        """The features that the last layer reads, and a constant: θ(x, a) is nearly linear in them."""
        features = self.network.hidden(inputs)
        return jnp.concatenate([features, jnp.ones_like(features[..., :1])], axis=-1)

    def noise(self, inputs: Float[Array, "... input"]) -> Float[Array, "... action"]:
        """The standard deviation of single (standardised) rewards around θ(x, a)."""
        log_noise = self._log_noise(None if self.spread is None else self.network.hidden(inputs))
        every = jnp.broadcast_to(log_noise, (*inputs.shape[:-1], self.log_noise.size))
        return jnp.exp(jnp.clip(every, *LOG_NOISE))

    def _log_noise(self, features: Array | None) -> Float[Array, "... action"]:
        if self.spread is None or features is None:
            return self.log_noise
        return self.log_noise + self._mixed(linear(self.spread, features))

    def log_prob(
        self, inputs: Float[Array, "... input"], action: Int[Array, "..."], reward: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """log p(R | x, a): Gaussian around the price of the action taken."""
        features, taken = self.network.hidden(inputs), jax.nn.one_hot(action, self.log_noise.size)
        price = jnp.sum(taken * self._outputs(inputs, features), axis=-1)
        return _gaussian(reward, price, jnp.sum(taken * self._log_noise(features), axis=-1))


class TypeNetwork(eqx.Module):
    """Latent classes: every record is of one of a few types, and each type has a mean reward for every action.

    The network says how likely each type is given the complete record; `profiles` are the types' rewards. The reward
    of an action is then a mixture, p(R | x, a) = Σ_k p(k | x) N(R; v_k(a), σ_a²), so that one logged reward is
    evidence about the type of a record, and thereby about the actions that were not taken.
    """

    network: Layers
    linear: eqx.nn.Linear
    profiles: Float[Array, "type action"]
    log_noise: Float[Array, " action"]

    def __init__(self, inputs: int, actions: int, *, types: int, width: Width, key: PRNGKeyArray):
        keys = jax.random.split(key, 3)
        self.network = Layers(inputs, types, two_widths(width), key=keys[0])
        self.linear = eqx.nn.Linear(inputs, types, use_bias=False, key=keys[1])
        self.profiles = jax.random.normal(keys[2], (types, actions))
        self.log_noise = jnp.full((actions,), -1.0, jnp.float32)

    def __call__(self, inputs: Float[Array, "... input"]) -> Float[Array, "... action"]:
        """E[R | x, ·], over the types."""
        return jnp.exp(self.log_shares(inputs)) @ self.profiles

    def log_shares(self, inputs: Float[Array, "... input"]) -> Float[Array, "... type"]:
        """log p(k | x)."""
        return jax.nn.log_softmax(self.network(inputs) + linear(self.linear, inputs))

    @property
    def noise(self) -> Float[Array, " action"]:
        """The standard deviation of single (standardised) rewards around those of their type."""
        return jnp.exp(jnp.clip(self.log_noise, *LOG_NOISE))

    def log_joint(
        self, inputs: Float[Array, "... input"], action: Int[Array, "..."], reward: Float[Array, "..."]
    ) -> Float[Array, "... type"]:
        """log p(k, R | x, a)."""
        taken = jax.nn.one_hot(action, self.log_noise.size)
        noise = jnp.sum(taken * self.log_noise, axis=-1)[..., None]
        return self.log_shares(inputs) + _gaussian(reward[..., None], taken @ self.profiles.T, noise)

    def log_prob(
        self, inputs: Float[Array, "... input"], action: Int[Array, "..."], reward: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """log p(R | x, a): the mixture over types."""
        return logsumexp(self.log_joint(inputs, action, reward), axis=-1)


def _gaussian(
    reward: Float[Array, "..."], mean: Float[Array, "..."], log_noise: Float[Array, "..."]
) -> Float[Array, "..."]:
    bounded = clamp(LOG_NOISE[0], log_noise, LOG_NOISE[1])
    return -0.5 * ((reward - mean) / jnp.exp(bounded)) ** 2 - bounded - 0.5 * np.log(2 * np.pi)
