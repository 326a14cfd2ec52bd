"""A feed-forward network: linear layers with silu (or relu) between them; hidden layers may differ in width.

Networks take one record or many: all axes but the last are the caller's. Many at once are matrix products, which is
several times as fast as the same under `vmap`.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

Width = int | tuple[int, int]


def two_widths(width: Width) -> tuple[int, int]:
    """The widths of two hidden layers; one number means both."""
    return (width, width) if isinstance(width, int) else width


def linear(
    layer: eqx.nn.Linear, inputs: Float[Array, "... input"], outputs: int | None = None
) -> Float[Array, "... output"]:
    """A linear layer, or its first `outputs` alone."""
    product = inputs @ layer.weight[:outputs].T
    return product if layer.bias is None else product + layer.bias[:outputs]


def activation(plain: bool) -> Callable[[Array], Array]:
    """What stands between layers: relu in plain networks, silu in others."""
    return relu if plain else silu


def relu(value: Array) -> Array:
    """JAX's, under a name that another process finds, too, so that a network can be sent there."""
    return jax.nn.relu(value)


def silu(value: Array) -> Array:
    """Likewise."""
    return jax.nn.silu(value)


def unchanged(value: Array) -> Array:
    """What follows the last layer by default; likewise."""
    return value


class Layers(eqx.Module):
    """Linear layers of the given widths, from `inputs` to `outputs`; `between` follows each hidden layer, `last` the
    output."""

    layers: tuple[eqx.nn.Linear, ...]
    last: Callable[[Array], Array] = eqx.field(static=True)
    between: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        widths: tuple[int, ...],
        *,
        last: Callable[[Array], Array] = unchanged,
        between: Callable[[Array], Array] = silu,
        key: PRNGKeyArray,
    ):
        sizes = (inputs, *widths, outputs)
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = tuple(
            eqx.nn.Linear(before, after, key=k) for before, after, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )
        self.last, self.between = last, between

    def hidden(self, inputs: Float[Array, "... input"]) -> Float[Array, "... feature"]:
        """The features that the last layer reads."""
        features = inputs
        for layer in self.layers[:-1]:
            features = self.between(linear(layer, features))
        return features

    def __call__(self, inputs: Float[Array, "... input"], outputs: int | None = None) -> Float[Array, "... output"]:
        """The outputs, or the first `outputs` of them alone."""
        return self.last(linear(self.layers[-1], self.hidden(inputs), outputs))


_CENTRAL = (1.50140941, 0.246640727, -4.17768164e-3, -1.25372503e-3, 2.18580870e-4, -4.39150654e-6, -3.52338770e-6)
_CENTRAL = (*_CENTRAL, 3.43273939e-7, 2.81022636e-8)
_OUTER = (2.83297682, 1.00167406, 9.43887047e-3, -7.62246130e-3, 5.73950773e-3, -3.67342844e-3, 1.34934322e-3)
_OUTER = (*_OUTER, 1.00950558e-4, -2.00214257e-4)
"""Coefficients of Giles, Approximating the erfinv function (2010), in rising powers."""


def normal_quantile(uniform: Float[Array, "..."]) -> Float[Array, "..."]:
    """Standard normal draws from uniform ones: Giles' approximation, as in `erf_inv`, in half the time.

    The difference is a logarithm that need not be accurate near zero, where a polynomial follows. The barrier keeps the
    compiler from computing the draws anew wherever they are used.

    >>> [round(float(normal_quantile(jnp.float32(share))), 5) for share in (0.5, 0.975, 0.0001)]
    [0.0, 1.95996, -3.71902]
    """
    centred = 2.0 * uniform - 1.0
    depth = -jnp.log(4.0 * uniform * (1.0 - uniform))
    # the square root is that of a number above 0 on both sides of the choice
    outer = jnp.sqrt(jnp.maximum(depth, 5.0)) - 3.0
    ratio = jnp.where(depth < 5.0, _polynomial(_CENTRAL, depth - 2.5), _polynomial(_OUTER, outer))
    return jax.lax.optimization_barrier(np.float32(np.sqrt(2.0)) * ratio * centred)


def _polynomial(coefficients: tuple[float, ...], value: Array) -> Array:
    total = jnp.full_like(value, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = coefficient + total * value
    return total


def softplus(value: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 + exp(value)) to an absolute error of 1e-7, in a third of the time of `jax.nn.softplus`.

    >>> [round(float(softplus(jnp.float32(value))), 4) for value in (-100.0, 0.0, 100.0)]
    [0.0, 0.6931, 100.0]
    """
    size = jnp.abs(value)
    return 0.5 * (value + size) + jnp.log(1.0 + jnp.exp(-size))


def clamp(low: float, value: Float[Array, "..."], high: float) -> Float[Array, "..."]:
    """As `jnp.clip`, with a derivative that costs one choice instead of six."""
    return jax.lax.clamp(np.float32(low), value, np.float32(high))
