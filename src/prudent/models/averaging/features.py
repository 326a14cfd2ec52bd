"""What trees, linear regression and the Gaussian process see of a record: its cells, and which of them are missing."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from prudent.networks import Layout

FAR = 1e6
"""Beyond every encoded number: a gap is on one side of every threshold."""


def tree_features(
    layout: Layout, values: Float[Array, "... attribute"], observed: Bool[Array, "... attribute"]
) -> Float[Array, "... question"]:
    """Numbers twice, with gaps below and above all of them, so that a threshold can send gaps to either side; levels,
    none of which a gap has; and which attributes are missing."""
    cells, shown, seen = _cells(layout, values, observed)
    numbers = layout.numbers
    below, above = (jnp.where(seen, cells, gap)[..., :numbers] for gap in (-FAR, FAR))
    levels = jnp.where(seen, cells, 0.0)[..., numbers:]
    return jnp.concatenate([below, above, levels, jnp.where(shown, 0.0, 1.0)], axis=-1)


def linear_features(
    layout: Layout, values: Float[Array, "... attribute"], observed: Bool[Array, "... attribute"]
) -> Float[Array, "... column"]:
    """Cells, with gaps at the mean of numbers and at no level, and which attributes are missing."""
    cells, shown, seen = _cells(layout, values, observed)
    return jnp.concatenate([jnp.where(seen, cells, 0.0), jnp.where(shown, 0.0, 1.0)], axis=-1)


def process_features(
    layout: Layout, mean: Float[Array, "... cell"], observed: Bool[Array, "... attribute"]
) -> Float[Array, "... column"]:
    """The mean of the completions, and which attributes are missing."""
    return jnp.concatenate([mean, jnp.where(layout.by_group(observed), 0.0, 1.0)], axis=-1)


def _cells(layout: Layout, values: Array, observed: Array) -> tuple[Array, Array, Array]:
    shown = layout.by_group(observed)
    return layout.cells(values), shown, layout.spread(shown)
