"""The partial VAE (paper III-A): a distribution over complete records, learnt from records with gaps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.decide import Completions, Draws, assemble, pool
from prudent.networks import (
    Decoder,
    Distributions,
    Layout,
    Members,
    SetEncoder,
    Width,
    normal_quantile,
    standard_normal_log_prob,
)
from prudent.networks import decoder as decoding


class Samples(NamedTuple):
    """K importance samples of each record: decoded distributions, completed cells, log-weights (not normalised)."""

    distributions: Distributions
    cells: Float[Array, "... sample cell"]
    log_weights: Float[Array, "... sample"]


class PartialVAE(eqx.Module):
    """Set encoder, heterogeneous decoder, standard normal prior, for one record or many."""

    layout: Layout
    encoder: SetEncoder
    decoder: Decoder

    def __init__(
        self,
        layout: Layout,
        *,
        latent: int,
        width: Width,
        embedding: int,
        summary: int,
        rectified: bool = True,
        plain: bool = False,
        correlated: bool = True,
        noise: float | None = None,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key)
        self.layout = layout
        self.encoder = SetEncoder(
            layout,
            embedding=embedding,
            summary=summary,
            width=width,
            latent=latent,
            rectified=rectified,
            plain=plain,
            correlated=correlated,
            key=keys[0],
        )
        fixed = None if noise is None else (noise,) * layout.attributes
        self.decoder = Decoder(layout, latent=latent, width=width, plain=plain, noise=fixed, key=keys[1])

    @property
    def draw_size(self) -> int:
        """The uniforms that one sample needs: one per latent coordinate, one per attribute."""
        return self.encoder.latent + self.layout.attributes

    def sample(
        self,
        values: Float[Array, "... attribute"],
        observed: Bool[Array, "... attribute"],
        seen: Bool[Array, "... attribute"],
        uniforms: Float[Array, "... sample uniform"],
    ) -> Samples:
        """Draw z from q(z | seen cells) and gaps from p(x | z); weight by p(observed | z) p(z) / q(z)."""
        layout, latent = self.layout, self.encoder.latent
        known, shown = layout.cells(values), layout.by_group(observed)
        posterior = self.encoder(layout, known, layout.by_group(seen))
        normal = normal_quantile(uniforms[..., :latent])
        drawn = posterior.draw(normal)
        distributions = self.decoder(layout, drawn)
        log_weights = (
            decoding.log_prob(distributions, layout, known[..., None, :], shown[..., None, :])
            + standard_normal_log_prob(drawn)
            - posterior.log_prob_of_draw(normal)
        )
        gaps = decoding.draw(distributions, layout, uniforms[..., latent:])
        cells = jnp.where(layout.spread(shown)[..., None, :], known[..., None, :], gaps)
        return Samples(distributions, cells, log_weights)

    def posterior_mean(self, record: dict[str, Array]) -> Float[Array, "... latent"]:
        layout = self.layout
        cells, observed = layout.cells(record["values"]), layout.by_group(record["observed"])
        return self.encoder.centre(layout, cells, observed)[0]

    def log_density(self, cells: Float[Array, "... cell"]) -> Float[Array, "..."]:
        """log p(x) of a complete record: p(x|z) p(z) / q(z|x) at the centre of q, exact where q is the posterior.

        q(z|x) sees every cell, so it is narrow; more points than its centre hardly change the order of completions.
        """
        everything = jnp.ones(self.layout.attributes, bool)
        mean, log_prob = self.encoder.centre(self.layout, cells, everything)
        fit = decoding.log_prob(self.decoder(self.layout, mean), self.layout, cells, everything)
        return fit + standard_normal_log_prob(mean) - log_prob

    def most_likely(
        self, samples: Samples, values: Float[Array, " attribute"], observed: Bool[Array, " attribute"]
    ) -> Float[Array, " attribute"]:
        """A candidate for x̂: gaps at the weighted mean of the samples (numbers) or their likeliest level."""
        centre = decoding.centre(samples.distributions, jax.nn.softmax(samples.log_weights))
        return jnp.where(observed, values, self.layout.values(centre))

    def literally(
        self, values: Array, observed: Array, uniforms: Float[Array, "sample uniform"]
    ) -> tuple[Array, Array]:
        """Eq 7 as the paper implements it: x̂ and p(x|x̃) from one pass, candidates decoded from the prior.

        Returns the candidates' values, x̂ last, and their log-densities. No cell is held fixed.
        """
        layout = self.layout
        mean, _ = self.encoder.centre(layout, layout.cells(values), layout.by_group(observed))
        distributions = self.decoder(layout, mean)
        generated = self.decoder(layout, normal_quantile(uniforms[:, : self.encoder.latent]))
        cells = jnp.concatenate([decoding.mode(generated), decoding.mode(distributions)[None]])
        density = decoding.log_prob(distributions, layout, cells, jnp.ones(layout.attributes, bool))
        return layout.values(cells), density


@dataclass(frozen=True)
class FeatureLoss:
    """The importance-weighted bound of log p(x̃) alone, without the reward."""

    hide: float

    def __call__(
        self, network: PartialVAE, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> tuple[Float[Array, " record"], Float[Array, " record"]]:
        seen = record["observed"] & (hiding >= self.hide)
        bound = log_mean(network.sample(record["values"], record["observed"], seen, uniforms).log_weights)
        return -bound, bound


def draws_of(
    networks: Members,
    features: Callable[[Any], PartialVAE],
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Float[Array, "member sample uniform"],
    possible: Callable[[Array, Array], Array] | None = None,
) -> Draws:
    """Draws pooled over members; `features` returns the partial VAE inside a member's network.

    possible: moves the gaps of a drawn record to values that can occur.
    """

    def sample(network: Any, points: Array) -> tuple[Array, Array, Array, Array]:
        model = features(network)
        samples = model.sample(values, observed, observed, points)
        centre, evidence = model.most_likely(samples, values, observed), log_mean(samples.log_weights)
        return model.layout.values(samples.cells), samples.log_weights, centre, evidence

    drawn, log_weights, centres, evidence = networks.each(sample, uniforms)
    candidates = jnp.concatenate([drawn.reshape(-1, values.size), centres])
    # round trips through the cells may differ in the last bit; observed cells are returned unchanged
    candidates = jnp.where(observed[None, :], values[None, :], candidates)
    if possible is not None:
        candidates = jax.vmap(lambda full: possible(full, observed))(candidates)
    pooled = pool(log_weights)
    return Draws(candidates[: pooled.size], pooled - logsumexp(pooled), candidates[pooled.size :], evidence)


def complete(
    networks: Members,
    features: Callable[[Any], PartialVAE],
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Float[Array, "member sample uniform"],
    literal: bool,
    possible: Callable[[Array, Array], Array] | None = None,
) -> Completions:
    """The draws with their densities.

    A completion's density comes from an encoder that sees the completed record, see `log_density_given`. (A mixture
    over the components that the draws came from would rank draws by their noise.)
    """
    if literal:
        return _complete_literally(networks, features, values, observed, uniforms)
    drawn = draws_of(networks, features, values, observed, uniforms, possible)
    log_density = log_density_given(networks, features, drawn.candidates, drawn.evidence)
    centres = drawn.centres.shape[0]
    return assemble(drawn.candidates, drawn.log_weights, log_density, observed, extra=centres, evidence=drawn.evidence)


def log_density_given(
    networks: Members,
    features: Callable[[Any], PartialVAE],
    values: Float[Array, "... attribute"],
    evidence: Float[Array, " member"],
) -> Float[Array, "..."]:
    """log p(x | x̃) of completions: the members' mean of p(x)/p(x̃)."""

    def of_member(network: Any, member_evidence: Array) -> Float[Array, "..."]:
        model = features(network)
        return model.log_density(model.layout.cells(values)) - member_evidence

    return logsumexp(networks.each(of_member, evidence), axis=0) - jnp.log(networks.count)


def _complete_literally(
    networks: Members, features: Callable[[Any], PartialVAE], values: Array, observed: Array, uniforms: Array
) -> Completions:
    draws = uniforms.shape[0] * uniforms.shape[1]
    drawn, density = networks.each(lambda n, points: features(n).literally(values, observed, points), uniforms)
    # one member is the paper's method; with more, each compares its candidates with its x̂
    density = density - density[:, -1:]
    return assemble(
        jnp.concatenate([drawn[:, :-1].reshape(draws, -1), drawn[:1, -1]]),
        jnp.zeros(draws + 1),
        jnp.concatenate([density[:, :-1].reshape(draws), density[:1, -1]]),
        jnp.zeros_like(observed),
        extra=1,
    )


def log_mean(log_weights: Float[Array, "... sample"]) -> Float[Array, "..."]:
    """The importance-weighted bound of log p(x̃) (IWAE; one sample gives the ELBO)."""
    return logsumexp(log_weights, axis=-1) - np.log(log_weights.shape[-1])
