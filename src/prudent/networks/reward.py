"""The reward network: from a complete record to the expected reward of every action."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

LOG_NOISE = (-4.0, 2.0)


class RewardNetwork(eqx.Module):
    """θ(x, ·) for all actions at once: a shared network plus a linear path, and one noise level per action."""

    network: eqx.nn.MLP
    linear: eqx.nn.Linear
    log_noise: Float[Array, " action"]

    def __init__(self, inputs: int, actions: int, *, width: int, key: PRNGKeyArray):
        keys = jax.random.split(key)
        self.network = eqx.nn.MLP(inputs, actions, width, 2, activation=jax.nn.silu, key=keys[0])
        self.linear = eqx.nn.Linear(inputs, actions, use_bias=False, key=keys[1])
        self.log_noise = jnp.full((actions,), -0.5)

    def __call__(self, inputs: Float[Array, " input"]) -> Float[Array, " action"]:
        return self.network(inputs) + self.linear(inputs)

    def hidden(self, inputs: Float[Array, " input"]) -> Float[Array, " feature"]:
        """What the last layer reads, and a constant: θ(x, a) is nearly linear in it."""
        last = inputs
        for layer in self.network.layers[:-1]:
            last = jax.nn.silu(layer(last))
        return jnp.append(last, 1.0)

    @property
    def noise(self) -> Float[Array, " action"]:
        """The standard deviation of single (standardised) rewards around θ(x, a)."""
        return jnp.exp(jnp.clip(self.log_noise, *LOG_NOISE))

    def log_prob(
        self, prices: Float[Array, "sample action"], action: Array, reward: Float[Array, ""]
    ) -> Float[Array, " sample"]:
        """log p(R | x, a) for every sample's prices: Gaussian around the price of the action taken."""
        log_noise = jnp.clip(self.log_noise[action], *LOG_NOISE)
        return -0.5 * ((reward - prices[:, action]) / jnp.exp(log_noise)) ** 2 - log_noise - 0.5 * jnp.log(2 * jnp.pi)
