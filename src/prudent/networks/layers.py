"""A feed-forward network: linear layers with silu between them; hidden layers may differ in width.

Networks take one record or many: all axes but the last are the caller's. Many at once are matrix products, which is
several times as fast as the same under `vmap`.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
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


class Layers(eqx.Module):
    """Linear layers of the given widths, from `inputs` to `outputs`; `last` is applied to the output."""

    layers: tuple[eqx.nn.Linear, ...]
    last: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        widths: tuple[int, ...],
        *,
        last: Callable[[Array], Array] = lambda value: value,
        key: PRNGKeyArray,
    ):
        sizes = (inputs, *widths, outputs)
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = tuple(
            eqx.nn.Linear(before, after, key=k) for before, after, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )
        self.last = last

    def hidden(self, inputs: Float[Array, "... input"]) -> Float[Array, "... feature"]:
        """The features that the last layer reads."""
        features = inputs
        for layer in self.layers[:-1]:
            features = jax.nn.silu(linear(layer, features))
        return features

    def __call__(self, inputs: Float[Array, "... input"], outputs: int | None = None) -> Float[Array, "... output"]:
        """The outputs, or the first `outputs` of them alone."""
        return self.last(linear(self.layers[-1], self.hidden(inputs), outputs))


def normal_quantile(uniform: Float[Array, "..."]) -> Float[Array, "..."]:
    """Standard normal draws from uniform ones; faster than `ndtri`, and as good where draws lie."""
    return jnp.sqrt(2.0) * jax.lax.erf_inv(2.0 * uniform - 1.0)
