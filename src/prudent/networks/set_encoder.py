"""The set encoder of the partial VAE: reads the observed cells alone, in any number and any order."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.networks.layers import Layers, Width, activation, two_widths
from prudent.networks.layout import Layout

MANY_ATTRIBUTES = 64
"""With more attributes than this their sum is scaled down, so that a wide table starts like a narrow one."""
BLOCK = 128
"""With more numbers than this their rectified tokens are summed so many at a time."""
LEAK = 0.01


class GaussianPosterior(eqx.Module):
    """q(z | x̃): Gaussian with a lower-triangular factor, so that latent coordinates may be correlated."""

    mean: Float[Array, "... latent"]
    factor: Float[Array, "... latent latent"]

    def draw(self, normal: Float[Array, "... sample latent"]) -> Float[Array, "... sample latent"]:
        return self.mean[..., None, :] + jnp.einsum("...ij,...sj->...si", self.factor, normal)

    def log_prob_of_draw(self, normal: Float[Array, "... sample latent"]) -> Float[Array, "... sample"]:
        """The log-density at `draw(normal)`, from the noise alone, without solving a linear system."""
        volume = jnp.sum(jnp.log(jnp.diagonal(self.factor, axis1=-2, axis2=-1)), axis=-1)
        return standard_normal_log_prob(normal) - volume[..., None]


def standard_normal_log_prob(value: Float[Array, "... size"]) -> Float[Array, "..."]:
    return -0.5 * jnp.sum(value**2, axis=-1) - 0.5 * value.shape[-1] * np.log(2 * np.pi)


class SetEncoder(eqx.Module):
    """PointNet-plus encoder (paper III-A; EDDI, Ma et al. 2019).

    The token of attribute j is [x_j, x_j·e_j, b_j]: x_j itself and the bias b_j tell an observed zero from a gap,
    which x_j·e_j alone cannot. A category's token is its level's embedding row and b_j. Tokens pass a shared net h, are
    summed over what was observed, and a network f turns the sum (and `context`, an action say) into q(z | x̃).

    h is a linear layer with relu, which lets a hundredth of negative numbers pass: an attribute whose token were zero
    at its mean would look like a gap there. Where it is not `rectified` the sum over attributes is a matrix product,
    which makes hundreds of attributes many times faster; what is not linear is then left to f.

    plain: h and f have plain relu layers, as the paper's have. correlated: whether q(z | x̃) has correlations; without,
    its covariance is diagonal.
    """

    embedding: Float[Array, "cell embedding"]
    bias: Float[Array, " attribute"]
    shared: eqx.nn.Linear
    network: Layers
    latent: int = eqx.field(static=True)
    rectified: bool = eqx.field(static=True)
    correlated: bool = eqx.field(static=True)
    leak: float = eqx.field(static=True)

    def __init__(
        self,
        layout: Layout,
        *,
        context: int = 0,
        embedding: int,
        summary: int,
        width: Width,
        latent: int,
        rectified: bool = True,
        plain: bool = False,
        correlated: bool = True,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key, 4)
        self.embedding = jax.random.normal(keys[0], (layout.width, embedding)) / jnp.sqrt(2.0)
        self.bias = jax.random.normal(keys[1], (layout.attributes,))
        self.shared = eqx.nn.Linear(embedding + 2, summary, key=keys[2])
        # of the matrix only the part below the diagonal is used
        outputs = latent * (2 + latent * correlated)
        self.network = Layers(summary + context, outputs, two_widths(width), between=activation(plain), key=keys[3])
        self.latent, self.rectified, self.correlated = latent, rectified, correlated
        self.leak = 0.0 if plain else LEAK

    def summary(
        self, layout: Layout, cells: Float[Array, "... cell"], observed: Bool[Array, "... attribute"]
    ) -> Float[Array, "... summary"]:
        """g(h(s₁), …, h(s_|O|)): the sum over observed attributes (by group) of the shared net's output."""
        slope, constant = self._brackets(layout)
        numbers = layout.numbers
        total = self._of_numbers(cells[..., :numbers], observed[..., :numbers], slope[:numbers], constant[:numbers])
        if layout.categories is not None:
            tokens = slope[numbers:] + constant[numbers:]
            tokens = _rectified(tokens, self.leak) if self.rectified else tokens
            seen = layout.categories.spread(observed[..., numbers:])
            total = total + jnp.where(seen, cells[..., numbers:], 0.0) @ tokens
        # the sum grows with the number of attributes and would saturate the network that reads it
        return total / max(layout.attributes / MANY_ATTRIBUTES, 1.0)

    def _of_numbers(self, cells: Array, seen: Array, slope: Array, constant: Array) -> Array:
        if self.rectified and cells.shape[-1] > BLOCK:
            return self._in_blocks(cells, seen, slope, constant)
        if self.rectified:
            # term by term: a sum over an axis of tokens takes four times as long on a CPU
            total = jnp.zeros((*cells.shape[:-1], slope.shape[1]))
            for at in range(cells.shape[-1]):
                token = _rectified(cells[..., at, None] * slope[at] + constant[at], self.leak)
                total = total + jnp.where(seen[..., at, None], token, 0.0)
            return total
        return jnp.where(seen, cells, 0.0) @ slope + seen.astype(constant.dtype) @ constant

    def _in_blocks(self, cells: Array, seen: Array, slope: Array, constant: Array) -> Array:
        # one by one, hundreds of attributes would take minutes to compile; all at once, their tokens too much memory
        blocks = -(-cells.shape[-1] // BLOCK)
        padding = blocks * BLOCK - cells.shape[-1]

        def split(array: Array, axis: int) -> Array:
            widths = [(0, padding if at == axis % array.ndim else 0) for at in range(array.ndim)]
            shape = list(array.shape)
            shape[axis : axis + 1 or None] = [blocks, BLOCK]
            return jnp.moveaxis(jnp.pad(array, widths).reshape(shape), axis % array.ndim, 0)

        @jax.checkpoint
        def add(total: Array, block: tuple[Array, ...]) -> tuple[Array, None]:
            cell, shown, rise, start = block
            tokens = _rectified(cell[..., None] * rise + start, self.leak)
            return total + jnp.sum(jnp.where(shown[..., None], tokens, 0.0), axis=-2), None

        parts = (split(cells, -1), split(seen, -1), split(slope, 0), split(constant, 0))
        return jax.lax.scan(add, jnp.zeros((*cells.shape[:-1], slope.shape[1])), parts)[0]

    def _brackets(self, layout: Layout) -> tuple[Array, Array]:
        # h's linear layer applied to [x, x·e, b] is x·(w_x + W_e e) + (b·w_b + constant), and to a category's token
        # W_e e + (…): the brackets do not depend on the record, so they are computed once for all
        weight = self.shared.weight
        of_value, of_embedding, of_bias = weight[:, 0], weight[:, 1:-1], weight[:, -1]
        is_number = (np.arange(layout.width) < layout.numbers)[:, None]
        slope = self.embedding @ of_embedding.T + jnp.where(is_number, of_value, 0.0)
        return slope, layout.spread(self.bias)[:, None] * of_bias + jnp.asarray(self.shared.bias)

    def _inputs(
        self, layout: Layout, cells: Array, observed: Array, context: Float[Array, "... context"] | None
    ) -> Float[Array, "... input"]:
        summary = self.summary(layout, cells, observed)
        return summary if context is None else jnp.concatenate([summary, context], axis=-1)

    def __call__(
        self,
        layout: Layout,
        cells: Float[Array, "... cell"],
        observed: Bool[Array, "... attribute"],
        context: Float[Array, "... context"] | None = None,
    ) -> GaussianPosterior:
        """q(z | the observed cells); what is observed is given by group."""
        outputs = self.network(self._inputs(layout, cells, observed, context))
        mean, log_scale, below = jnp.split(outputs, [self.latent, 2 * self.latent], axis=-1)
        if not self.correlated:
            return GaussianPosterior(mean, jnp.exp(_bounded(log_scale))[..., None] * np.eye(self.latent))
        below = jnp.tril(below.reshape(*below.shape[:-1], self.latent, self.latent), -1)
        return GaussianPosterior(mean, below + jnp.exp(_bounded(log_scale))[..., None] * np.eye(self.latent))

    def centre(
        self,
        layout: Layout,
        cells: Float[Array, "... cell"],
        observed: Bool[Array, "... attribute"],
        context: Float[Array, "... context"] | None = None,
    ) -> tuple[Float[Array, "... latent"], Float[Array, "..."]]:
        """The mean of q and its log-density there, without the correlations, which neither depends on."""
        outputs = self.network(self._inputs(layout, cells, observed, context), 2 * self.latent)
        mean, log_scale = outputs[..., : self.latent], outputs[..., self.latent :]
        return mean, -jnp.sum(_bounded(log_scale), axis=-1) - 0.5 * self.latent * np.log(2 * np.pi)


def _rectified(token: Array, leak: float) -> Array:
    return jnp.maximum(token, leak * token)


def _bounded(log_scale: Array) -> Array:
    """Softly, so that neither a collapsed nor an exploding proposal can spoil the importance weights."""
    return 4.0 * jnp.tanh(log_scale / 4.0)
