"""The set encoder of the partial VAE: reads the observed cells alone, in any number and any order."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.networks.layers import Layers, Width, two_widths
from prudent.networks.layout import Layout

MANY_ATTRIBUTES = 64
"""With more attributes than this their sum is scaled down, so that a wide table starts like a narrow one."""


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
    """

    embedding: Float[Array, "cell embedding"]
    bias: Float[Array, " attribute"]
    shared: eqx.nn.Linear
    network: Layers
    latent: int = eqx.field(static=True)
    rectified: bool = eqx.field(static=True)

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
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key, 4)
        self.embedding = jax.random.normal(keys[0], (layout.width, embedding)) / jnp.sqrt(2.0)
        self.bias = jax.random.normal(keys[1], (layout.attributes,))
        self.shared = eqx.nn.Linear(embedding + 2, summary, key=keys[2])
        # of the matrix only the part below the diagonal is used
        self.network = Layers(summary + context, latent * (2 + latent), two_widths(width), key=keys[3])
        self.latent, self.rectified = latent, rectified

    def summary(
        self, layout: Layout, cells: Float[Array, "... cell"], observed: Bool[Array, "... attribute"]
    ) -> Float[Array, "... summary"]:
        """g(h(s₁), …, h(s_|O|)): the sum over observed attributes (by group) of the shared net's output."""
        slope, constant = self._brackets(layout)
        numbers = layout.numbers
        total = self._of_numbers(cells[..., :numbers], observed[..., :numbers], slope[:numbers], constant[:numbers])
        if layout.categories is not None:
            tokens = slope[numbers:] + constant[numbers:]
            tokens = _rectified(tokens) if self.rectified else tokens
            seen = layout.categories.spread(observed[..., numbers:])
            total = total + jnp.where(seen, cells[..., numbers:], 0.0) @ tokens
        # the sum grows with the number of attributes and would saturate the network that reads it
        return total / max(layout.attributes / MANY_ATTRIBUTES, 1.0)

    def _of_numbers(self, cells: Array, seen: Array, slope: Array, constant: Array) -> Array:
        if self.rectified:
            # term by term: a sum over an axis of tokens takes four times as long on a CPU
            total = jnp.zeros((*cells.shape[:-1], slope.shape[1]))
            for at in range(cells.shape[-1]):
                token = _rectified(cells[..., at, None] * slope[at] + constant[at])
                total = total + jnp.where(seen[..., at, None], token, 0.0)
            return total
        return jnp.where(seen, cells, 0.0) @ slope + seen.astype(constant.dtype) @ constant

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


def _rectified(token: Array) -> Array:
    return jnp.maximum(token, 0.01 * token)


def _bounded(log_scale: Array) -> Array:
    """Softly, so that neither a collapsed nor an exploding proposal can spoil the importance weights."""
    return 4.0 * jnp.tanh(log_scale / 4.0)
