"""The partial VAE (paper III-A): a distribution over complete records, learnt from records with gaps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp, ndtri
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.decide import Completions, assemble, pool
from prudent.networks import (
    Decoder,
    Distributions,
    GroupedCells,
    Layout,
    Members,
    SetEncoder,
    Width,
    standard_normal_log_prob,
)
from prudent.networks import decoder as decoding


class Samples(NamedTuple):
    """K importance samples of one record: decoded distributions, completed cells, log-weights (not normalised)."""

    distributions: Distributions
    cells: GroupedCells
    log_weights: Float[Array, " sample"]


class PartialVAE(eqx.Module):
    """Set encoder, heterogeneous decoder, standard normal prior. Methods are for one record."""

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
            key=keys[0],
        )
        self.decoder = Decoder(layout, latent=latent, width=width, key=keys[1])

    @property
    def draw_size(self) -> int:
        """The uniforms that one sample needs: one per latent coordinate, one per attribute."""
        return self.encoder.latent + self.layout.attributes

    def sample(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        seen: Bool[Array, " attribute"],
        uniforms: Float[Array, "sample uniform"],
    ) -> Samples:
        """Draw z from q(z | seen cells) and gaps from p(x | z); weight by p(observed | z) p(z) / q(z)."""
        known = self.layout.cells(values)
        observed_parts = self.layout.split(observed)
        posterior = self.encoder(self.layout, known, self.layout.split(seen))

        def sample(uniform: Float[Array, " uniform"]) -> Samples:
            normal = ndtri(uniform[: self.encoder.latent])
            latent = posterior.draw(normal)
            distributions = self.decoder(self.layout, latent)
            log_weight = (
                decoding.log_prob(distributions, known, observed_parts)
                + standard_normal_log_prob(latent)
                - posterior.log_prob_of_draw(normal)
            )
            drawn = decoding.draw(distributions, self.layout.split(uniform[self.encoder.latent :]))
            return Samples(distributions, self.layout.hold(observed_parts, known, drawn), log_weight)

        return jax.vmap(sample)(uniforms)

    def posterior_mean(self, record: dict[str, Array]) -> Float[Array, " latent"]:
        return self.encoder(
            self.layout, self.layout.cells(record["values"]), self.layout.split(record["observed"])
        ).mean

    def log_density(self, cells: GroupedCells) -> Float[Array, ""]:
        """log p(x) of a complete record: p(x|z) p(z) / q(z|x) at the centre of q, exact where q is the posterior.

        q(z|x) sees every cell, so it is narrow; more points than its centre hardly change the order of completions.
        """
        everything = tuple(jnp.ones(group.size, bool) for group in self.layout.groups)
        posterior = self.encoder(self.layout, cells, everything)
        fit = decoding.log_prob(self.decoder(self.layout, posterior.mean), cells, everything)
        at_centre = posterior.log_prob_of_draw(jnp.zeros_like(posterior.mean))
        return fit + standard_normal_log_prob(posterior.mean) - at_centre

    def most_likely(self, samples: Samples, known: GroupedCells, observed: tuple[Array, ...]) -> GroupedCells:
        """A candidate for x̂: gaps at the weighted mean of the samples (numbers) or their likeliest level."""
        weights = jax.nn.softmax(samples.log_weights)
        centres = [decoding.centre(distribution, weights) for distribution in samples.distributions]
        return self.layout.hold(observed, known, tuple(centres))

    def literally(
        self, values: Array, observed: Array, uniforms: Float[Array, "sample uniform"]
    ) -> tuple[Array, Array]:
        """Eq 7 as the paper implements it: x̂ and p(x|x̃) from one pass, candidates decoded from the prior.

        Returns the candidates' values, x̂ last, and their log-densities. No cell is held fixed.
        """
        known = self.layout.cells(values)
        posterior = self.encoder(self.layout, known, self.layout.split(observed))
        distributions = self.decoder(self.layout, posterior.mean)
        everything = tuple(jnp.ones(group.size, bool) for group in self.layout.groups)

        def generate(uniform: Float[Array, " uniform"]) -> GroupedCells:
            return decoding.mode(self.decoder(self.layout, ndtri(uniform[: self.encoder.latent])))

        drawn = jax.vmap(generate)(uniforms)
        mode = decoding.mode(distributions)
        cells = jax.tree.map(lambda many, last: jnp.concatenate([many, last[None]]), drawn, mode)
        density = jax.vmap(lambda full: decoding.log_prob(distributions, full, everything))(cells)
        return jax.vmap(self.layout.values)(cells), density


@dataclass(frozen=True)
class FeatureLoss:
    """The importance-weighted bound of log p(x̃) alone, without the reward."""

    hide: float

    def __call__(
        self, network: PartialVAE, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        seen = record["observed"] & (hiding >= self.hide)
        bound = log_mean(network.sample(record["values"], record["observed"], seen, uniforms).log_weights)
        return -bound, bound


def complete(
    networks: Members,
    features: Callable[[Any], PartialVAE],
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Float[Array, "member sample uniform"],
    literal: bool,
    possible: Callable[[Array, Array], Array] | None = None,
) -> Completions:
    """Completions pooled over members; `features` returns the partial VAE inside a member's network.

    possible: moves the gaps of a drawn record to values that can occur.
    A completion's density comes from an encoder that sees the completed record, see `log_density_given`. (A mixture
    over the components that the draws came from would rank draws by their noise.)
    """
    if literal:
        return _complete_literally(networks, features, values, observed, uniforms)
    draws = uniforms.shape[0] * uniforms.shape[1]

    def sample(network: Any, points: Array) -> tuple[Array, Array, Array, Array]:
        model = features(network)
        samples = model.sample(values, observed, observed, points)
        centre = model.most_likely(samples, model.layout.cells(values), model.layout.split(observed))
        to_values = model.layout.values
        return jax.vmap(to_values)(samples.cells), samples.log_weights, to_values(centre), log_mean(samples.log_weights)

    drawn, log_weights, centres, evidence = networks.each(sample, uniforms)
    candidates = jnp.concatenate([drawn.reshape(draws, -1), centres])
    # round trips through the groups may differ in the last bit; observed cells are returned unchanged
    candidates = jnp.where(observed[None, :], values[None, :], candidates)
    if possible is not None:
        candidates = jax.vmap(lambda full: possible(full, observed))(candidates)

    log_density = jax.vmap(lambda full: log_density_given(networks, features, full, evidence))(candidates)
    return assemble(candidates, pool(log_weights), log_density, observed, extra=centres.shape[0], evidence=evidence)


def log_density_given(
    networks: Members,
    features: Callable[[Any], PartialVAE],
    values: Float[Array, " attribute"],
    evidence: Float[Array, " member"],
) -> Float[Array, ""]:
    """log p(x | x̃) of one completion: the members' mean of p(x)/p(x̃)."""

    def of_member(network: Any, member_evidence: Array) -> Float[Array, ""]:
        model = features(network)
        return model.log_density(model.layout.cells(values)) - member_evidence

    return logsumexp(networks.each(of_member, evidence)) - jnp.log(networks.count)


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


def log_mean(log_weights: Float[Array, " sample"]) -> Float[Array, ""]:
    """The importance-weighted bound of log p(x̃) (IWAE; one sample gives the ELBO)."""
    return logsumexp(log_weights) - jnp.log(log_weights.size)
