"""Initial weights of the rivals' networks."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray


def with_weights(shape: Callable[[PRNGKeyArray], Any], key: PRNGKeyArray) -> Any:
    """A network with matrices uniform in ±1/√inputs and vectors at zero.

    One draw fills them all: compiling a draw for each of some forty layers takes longer than training them.
    """
    arrays, rest = eqx.partition(eqx.filter_eval_shape(shape, key), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    leaves, structure = jax.tree.flatten(arrays)
    ends = np.cumsum([leaf.size for leaf in leaves])
    draws = jnp.split(jax.random.uniform(key, (ends[-1],), minval=-1.0, maxval=1.0), ends[:-1])
    filled = [
        draw.reshape(leaf.shape) / np.sqrt(leaf.shape[1]) if leaf.ndim == 2 else jnp.zeros(leaf.shape)
        for draw, leaf in zip(draws, leaves, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, filled), rest)
