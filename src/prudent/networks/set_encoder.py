"""The set encoder of the partial VAE: reads the observed cells alone, in any number and any order."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from prudent.networks.layers import Layers, Width, two_widths
from prudent.networks.layout import GroupedCells, Layout, encoded_values

MANY_ATTRIBUTES = 64
"""With more attributes than this their sum is scaled down, so that a wide table starts like a narrow one."""


class GaussianPosterior(eqx.Module):
    """q(z | x̃): Gaussian with a lower-triangular factor, so that latent coordinates may be correlated."""

    mean: Float[Array, " latent"]
    factor: Float[Array, "latent latent"]

    def draw(self, normal: Float[Array, " latent"]) -> Float[Array, " latent"]:
        return self.mean + self.factor @ normal

    def log_prob_of_draw(self, normal: Float[Array, " latent"]) -> Float[Array, ""]:
        """The log-density at `draw(normal)`, from the noise alone, without solving a linear system."""
        return standard_normal_log_prob(normal) - jnp.sum(jnp.log(jnp.diagonal(self.factor)))


def standard_normal_log_prob(value: Float[Array, " size"]) -> Float[Array, ""]:
    return -0.5 * jnp.sum(value**2) - 0.5 * value.size * jnp.log(2 * jnp.pi)


class SetEncoder(eqx.Module):
    """PointNet-plus encoder (paper III-A; EDDI, Ma et al. 2019).

    The token of attribute j is [x_j, x_j·e_j, b_j]: x_j itself and the bias b_j tell an observed zero from a gap,
    which x_j·e_j alone cannot. A category's token is its embedding row and b_j. Tokens pass a shared net h, are
    summed over what was observed, and a network f turns the sum (and `context`, an action say) into q(z | x̃).

    h is a linear layer with relu. Where it is not `rectified` the sum over attributes is a matrix product, which makes
    hundreds of attributes many times faster; what is not linear is then left to f.
    """

    embeddings: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, " attribute"], ...]
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
        keys = jax.random.split(key, 2 * len(layout.groups) + 2)
        self.embeddings = tuple(
            jax.random.normal(k, (g.size, g.levels, embedding) if g.embedded else (g.size, embedding)) / jnp.sqrt(2.0)
            for g, k in zip(layout.groups, keys, strict=False)
        )
        self.biases = tuple(
            jax.random.normal(k, (g.size,)) for g, k in zip(layout.groups, keys[len(layout.groups) :], strict=False)
        )
        self.shared = eqx.nn.Linear(embedding + 2, summary, key=keys[-2])
        outputs = 2 * latent + latent * (latent - 1) // 2
        self.network = Layers(summary + context, outputs, two_widths(width), key=keys[-1])
        self.latent, self.rectified = latent, rectified

    def summary(self, layout: Layout, cells: GroupedCells, observed: tuple[Array, ...]) -> Float[Array, " summary"]:
        """g(h(s₁), …, h(s_|O|)): the sum over observed attributes of the shared net's output."""
        total = jnp.zeros(self.shared.out_features)
        for group, group_cells, seen, embedding, bias in zip(
            layout.groups, cells, observed, self.embeddings, self.biases, strict=True
        ):
            constant, slope = self._brackets(embedding, bias)
            inputs = group_cells if group.embedded else encoded_values(group, group_cells)
            if self.rectified:
                moved = jnp.einsum("jc,jch->jh", inputs, slope) if group.embedded else inputs[:, None] * slope
                total = total + jnp.sum(jnp.where(seen[:, None], jax.nn.relu(moved + constant), 0.0), axis=0)
            else:
                shown = jnp.where(seen[:, None] if group.embedded else seen, inputs, 0.0)
                total = total + jnp.tensordot(shown, slope, shown.ndim) + seen.astype(constant.dtype) @ constant
        # the sum grows with the number of attributes and would saturate the network that reads it
        return total / max(layout.attributes / MANY_ATTRIBUTES, 1.0)

    def _brackets(self, embedding: Array, bias: Array) -> tuple[Array, Array]:
        # h's linear layer applied to [x, x·e, b] is x·(w_x + W_e e) + (b·w_b + constant), and to a category's token
        # W_e e + (…): the brackets do not depend on the record, so under vmap they are computed once
        weight = self.shared.weight
        of_value, of_embedding, of_bias = weight[:, 0], weight[:, 1:-1], weight[:, -1]
        constant = bias[:, None] * of_bias[None, :] + jnp.asarray(self.shared.bias)[None, :]
        slope = embedding @ of_embedding.T
        return constant, slope if embedding.ndim == 3 else slope + of_value[None, :]

    def __call__(
        self,
        layout: Layout,
        cells: GroupedCells,
        observed: tuple[Array, ...],
        context: Float[Array, " context"] | None = None,
    ) -> GaussianPosterior:
        summary = self.summary(layout, cells, observed)
        outputs = self.network(summary if context is None else jnp.concatenate([summary, context]))
        mean, log_scale, lower = jnp.split(outputs, [self.latent, 2 * self.latent])
        rows, columns = jnp.tril_indices(self.latent, -1)
        # softly bounded, so that neither a collapsed nor an exploding proposal can spoil the importance weights
        scale = jnp.exp(4.0 * jnp.tanh(log_scale / 4.0))
        return GaussianPosterior(mean, jnp.diag(scale).at[rows, columns].set(lower))
