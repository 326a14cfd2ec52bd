"""The heterogeneous decoder: from a latent vector to one distribution per attribute, as in HI-VAE."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, log_ndtr, ndtr, ndtri
from jaxtyping import Array, Float, PRNGKeyArray

from prudent.networks.layers import Layers, Width, two_widths
from prudent.networks.layout import Group, GroupedCells, Layout, at_bounds

SMALLEST_SCALE = 0.02
"""Of a standardised attribute: without it the density would grow without limit on repeated values."""
SMALLEST_BOUNDED_SCALE = 0.05


class Numbers(eqx.Module):
    """Independent Gaussians on encoded values (log-normal for a positive attribute, whose encoding is the log)."""

    mean: Float[Array, " attribute"]
    scale: Float[Array, " attribute"]

    def log_prob(self, cells: Float[Array, " attribute"]) -> Float[Array, " attribute"]:
        return -0.5 * ((cells - self.mean) / self.scale) ** 2 - jnp.log(self.scale) - 0.5 * jnp.log(2 * jnp.pi)

    def draw(self, uniform: Float[Array, " attribute"]) -> Float[Array, " attribute"]:
        return self.mean + self.scale * ndtri(uniform)

    def mode(self) -> Float[Array, " attribute"]:
        return self.mean

    def natural(self) -> tuple[Array, Array]:
        """Log-density as coefficients of [x², x] and a constant: the keys of attention (SPVAE)."""
        precision = self.scale**-2
        coefficients = jnp.stack([-0.5 * precision, self.mean * precision], axis=1)
        return coefficients, -0.5 * self.mean**2 * precision - jnp.log(self.scale) - 0.5 * jnp.log(2 * jnp.pi)


class Bounded(eqx.Module):
    """Independent Gaussians censored at both bounds (two-sided tobit): values beyond a bound are recorded on it.

    So a bound has a probability, Φ((low − μ)/σ) or Φ((μ − high)/σ), and there is a density between the bounds.
    """

    mean: Float[Array, " attribute"]
    scale: Float[Array, " attribute"]
    low: Float[Array, " attribute"]
    high: Float[Array, " attribute"]

    def log_prob(self, cells: Float[Array, " attribute"]) -> Float[Array, " attribute"]:
        at_low, at_high = at_bounds(cells, self.low, self.high)
        on_bound = at_low | at_high
        # on a bound the density is not used; the mean in place of the cell keeps the gradient finite
        density = Numbers(self.mean, self.scale).log_prob(jnp.where(on_bound, self.mean, cells))
        beyond = jnp.where(at_low, self.low - self.mean, self.mean - self.high) / self.scale
        return jnp.where(on_bound, _log_tail(beyond), density)

    def draw(self, uniform: Float[Array, " attribute"]) -> Float[Array, " attribute"]:
        return jnp.clip(self.mean + self.scale * ndtri(uniform), self.low, self.high)

    def mode(self) -> Float[Array, " attribute"]:
        return jnp.clip(self.mean, self.low, self.high)

    def natural(self) -> tuple[Array, Array]:
        """Log-density as coefficients of [x², x, 1] between the bounds and of [1] on each of them."""
        numbers, constant = Numbers(self.mean, self.scale).natural()
        on_low, on_high = (_log_tail(beyond / self.scale) for beyond in (self.low - self.mean, self.mean - self.high))
        return jnp.stack([*numbers.T, constant, on_low, on_high], axis=1), jnp.zeros_like(constant)


def _log_tail(steps: Array) -> Array:
    """log Φ; far out by its asymptotic series, where the derivative of JAX's log_ndtr has no accurate digits."""
    is_far = steps < -50.0
    near = log_ndtr(jnp.where(is_far, 0.0, steps))
    far = jnp.where(is_far, steps, -1.0)
    return jnp.where(is_far, -0.5 * far**2 - jnp.log(-far) - 0.5 * jnp.log(2 * jnp.pi) - far**-2, near)


class Levels(eqx.Module):
    """Independent distributions over levels; cells are one-hot."""

    log_probabilities: Float[Array, "attribute level"]

    def log_prob(self, cells: Float[Array, "attribute level"]) -> Float[Array, " attribute"]:
        return jnp.sum(jnp.where(cells > 0, cells * self.log_probabilities, 0.0), axis=1)

    def draw(self, uniform: Float[Array, " attribute"]) -> Float[Array, "attribute level"]:
        """A hard draw whose gradient is that of the probabilities (straight-through)."""
        probabilities = jnp.exp(self.log_probabilities)
        passed = jnp.cumsum(probabilities, axis=1) < uniform[:, None]
        index = jnp.minimum(jnp.sum(passed, axis=1), probabilities.shape[1] - 1)
        hard = jax.nn.one_hot(index, probabilities.shape[1])
        return jax.lax.stop_gradient(hard - probabilities) + probabilities

    def mode(self) -> Float[Array, "attribute level"]:
        return jax.nn.one_hot(jnp.argmax(self.log_probabilities, axis=1), self.log_probabilities.shape[1])

    def natural(self) -> tuple[Array, Array]:
        return jnp.maximum(self.log_probabilities, -1e4), jnp.zeros(self.log_probabilities.shape[0])


Distribution = Numbers | Bounded | Levels
Distributions = tuple[Distribution, ...]


class Decoder(eqx.Module):
    """p(x | z): a network and one output layer (head) per group of attributes.

    real and positive: Gaussian (of the logarithm); bounded: Gaussian censored at the bounds; count: negative binomial;
    categorical: softmax; ordinal: cumulative logit. Every head also has a linear path from z, so that a
    linear-Gaussian table is learnt at once.
    """

    network: Layers
    heads: tuple[eqx.nn.Linear, ...]
    constants: tuple[Float[Array, "..."], ...]

    def __init__(self, layout: Layout, *, latent: int, width: Width, key: PRNGKeyArray):
        keys = jax.random.split(key, len(layout.groups) + 1)
        # the encoder's widths in reverse order
        last, first = two_widths(width)
        self.network = Layers(latent, last, (first,), last=jax.nn.silu, key=keys[0])
        sizes = [_head_size(group) for group in layout.groups]
        self.heads = tuple(eqx.nn.Linear(last + latent, size, key=k) for size, k in zip(sizes, keys[1:], strict=True))
        self.constants = tuple(jnp.zeros((group.size, max(group.levels - 1, 1))) for group in layout.groups)

    def __call__(self, layout: Layout, latent: Float[Array, " latent"]) -> Distributions:
        hidden = jnp.concatenate([self.network(latent), latent])
        return tuple(
            _distribution(group, head(hidden), constants)
            for group, head, constants in zip(layout.groups, self.heads, self.constants, strict=True)
        )


def _head_size(group: Group) -> int:
    per_attribute = {"continuous": 2, "bounded": 2, "ordinal": 1, "count": 2, "categorical": group.levels}[group.name]
    return group.size * per_attribute


def _distribution(group: Group, outputs: Array, constants: Array) -> Distribution:
    if group.name == "continuous":
        mean, log_scale = outputs.reshape(2, group.size)
        return Numbers(mean, SMALLEST_SCALE + jax.nn.softplus(log_scale + 0.5))
    if group.name == "bounded":
        mean, log_scale = outputs.reshape(2, group.size)
        return Bounded(mean, SMALLEST_BOUNDED_SCALE + jax.nn.softplus(log_scale + 0.5), *group.level_values.T)
    scores = {"ordinal": _ordinal, "count": _negative_binomial, "categorical": _categorical}[group.name]
    logits = jnp.where(group.present > 0, scores(group, outputs, constants), -jnp.inf)
    return Levels(jax.nn.log_softmax(logits, axis=1))


def _categorical(group: Group, outputs: Array, constants: Array) -> Array:
    return outputs.reshape(group.size, group.levels)


def _ordinal(group: Group, outputs: Array, constants: Array) -> Array:
    """Cumulative logit: P(level ≤ k) = sigmoid(threshold_k − η), thresholds rising."""
    steps = jax.nn.softplus(constants[:, 1:] + 0.5)
    thresholds = jnp.concatenate([constants[:, :1] - 1.0, constants[:, :1] - 1.0 + jnp.cumsum(steps, axis=1)], axis=1)
    # thresholds beyond an attribute's last level are padding: every level lies below them
    beyond = group.present[:, 1:] == 0
    cumulative = jnp.where(beyond, 1.0, jax.nn.sigmoid(thresholds - outputs[:, None]))
    edges = jnp.pad(jnp.pad(cumulative, ((0, 0), (1, 0))), ((0, 0), (0, 1)), constant_values=1.0)
    return jnp.log(jnp.maximum(jnp.diff(edges, axis=1), 1e-9))


def _negative_binomial(group: Group, outputs: Array, constants: Array) -> Array:
    """Log-probabilities of 0, 1, 2, … up to the end of the grid, for a mean and a dispersion."""
    raw_mean, log_size = outputs.reshape(2, group.size)
    level = jnp.arange(group.levels, dtype=outputs.dtype)[None, :]
    size = jnp.exp(jnp.clip(log_size + 2.0, -4.0, 8.0))[:, None]
    # level_values are (log1p(level) - location) / scale; undoing that makes the initial mean that of the column
    scale = jnp.log(2.0) / (group.level_values[:, 1] - group.level_values[:, 0])
    log_mean = jnp.clip(scale * (raw_mean - group.level_values[:, 0]), -8.0, 6.0)[:, None]
    log_total = jnp.logaddexp(log_mean, jnp.log(size))
    return (
        gammaln(level + size) - gammaln(size) - gammaln(level + 1.0)
        + size * (jnp.log(size) - log_total) + level * (log_mean - log_total)
    )  # fmt: skip


def log_prob(distributions: Distributions, cells: GroupedCells, counted: tuple[Array, ...]) -> Float[Array, ""]:
    """log p(cells | z), over the cells that are counted."""
    return sum(
        (
            jnp.sum(jnp.where(mask, distribution.log_prob(group_cells), 0.0))
            for distribution, group_cells, mask in zip(distributions, cells, counted, strict=True)
        ),
        jnp.zeros(()),
    )


def draw(distributions: Distributions, uniforms: tuple[Array, ...]) -> GroupedCells:
    return tuple(distribution.draw(u) for distribution, u in zip(distributions, uniforms, strict=True))


def mode(distributions: Distributions) -> GroupedCells:
    return tuple(distribution.mode() for distribution in distributions)


def centre(distribution: Distribution, weights: Float[Array, " sample"]) -> Array:
    """The centre of a weighted mixture (leading axis: samples): the mean of numbers, the likeliest level.

    Of bounded numbers it is the mean of the components' clipped means, except that a bound with most of the probability
    is the centre itself: a mean a little off the bound would be a number that hardly ever occurs.
    """
    if isinstance(distribution, Numbers):
        return weights @ distribution.mean
    if isinstance(distribution, Bounded):
        return _bounded_centre(distribution, weights)
    mixture = jnp.tensordot(weights, jnp.exp(distribution.log_probabilities), axes=1)
    return jax.nn.one_hot(jnp.argmax(mixture, axis=1), mixture.shape[1])


def _bounded_centre(samples: Bounded, weights: Float[Array, " sample"]) -> Array:
    low, high = samples.low[0], samples.high[0]
    middle = jnp.clip(weights @ jnp.clip(samples.mean, samples.low, samples.high), low, high)
    middle = jnp.where(weights @ ndtr((samples.low - samples.mean) / samples.scale) > 0.5, low, middle)
    return jnp.where(weights @ ndtr((samples.mean - samples.high) / samples.scale) > 0.5, high, middle)


def natural(distributions: Distributions) -> tuple[Float[Array, " statistic"], Float[Array, ""]]:
    """Coefficients and constant with log p(x | z) = coefficients · layout.statistics(x) + constant."""
    naturals = [distribution.natural() for distribution in distributions]
    coefficients = jnp.concatenate([of_group.reshape(-1) for of_group, _ in naturals])
    return coefficients, sum((jnp.sum(constant) for _, constant in naturals), jnp.zeros(()))
