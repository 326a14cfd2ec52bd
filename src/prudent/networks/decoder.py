"""The heterogeneous decoder: from a latent vector to one distribution per attribute, as in HI-VAE.

All axes but the last are the caller's, and those of parameters and cells broadcast: K samples of one record are priced
at its cells without copying these.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.networks import layout as laid_out
from prudent.networks.layers import Layers, Width, activation, clamp, linear, normal_quantile, softplus, two_widths
from prudent.networks.layout import Group, Layout, level_slots, straight_through

SMALLEST_SCALE = 0.02
"""Of a standardised attribute: without it the density would grow without limit on repeated values."""
SMALLEST_BOUNDED_SCALE = 0.05
LARGEST_LOGIT = 30.0
Noise = tuple[float | None, ...]
FAR = 1e4
"""Stands for infinity where a difference of infinities would have no gradient."""


class Distribution(eqx.Module):
    """Independent distributions of the attributes of one group."""

    @abc.abstractmethod
    def log_prob(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]: ...

    @abc.abstractmethod
    def draw(self, uniform: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        """One draw, from one uniform per attribute. Levels are hard, with the gradient of a soft one."""

    @abc.abstractmethod
    def mode(self) -> Float[Array, "... cell"]: ...

    @abc.abstractmethod
    def natural(self) -> tuple[Float[Array, "... statistic"], Float[Array, "... attribute"]]:
        """Log-density as coefficients of the group's statistics, and constants: the keys of attention (SPVAE)."""

    @abc.abstractmethod
    def centre(self, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
        """The centre of a weighted mixture, whose components are the last axis but one: the mean of numbers, the
        likeliest level."""

    def counted_log_prob(
        self, cells: Float[Array, "... cell"], counted: Bool[Array, "... attribute"]
    ) -> Float[Array, "..."]:
        """The sum of the log-densities of the counted cells."""
        return jnp.sum(jnp.where(counted, self.log_prob(cells), 0.0), axis=-1)


class Numbers(Distribution):
    """Gaussians on encoded values (log-normal for a positive attribute, whose encoding is the log)."""

    mean: Float[Array, "... attribute"]
    scale: Float[Array, "... attribute"]

    def log_prob(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        return -0.5 * ((cells - self.mean) / self.scale) ** 2 - jnp.log(self.scale) - 0.5 * np.log(2 * np.pi)

    def draw(self, uniform: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        return self.mean + self.scale * normal_quantile(uniform)

    def mode(self) -> Float[Array, "... cell"]:
        return self.mean

    def natural(self) -> tuple[Array, Array]:
        precision = self.scale**-2
        coefficients = jnp.concatenate([-0.5 * precision, self.mean * precision], axis=-1)
        return coefficients, -0.5 * self.mean**2 * precision - jnp.log(self.scale) - 0.5 * np.log(2 * np.pi)

    def centre(self, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
        return _mean(weights, self.mean)


class Bounded(Distribution):
    """Gaussians censored at both bounds (two-sided tobit): values beyond a bound are recorded on it.

    So a bound has a probability, Φ((low − μ)/σ) or Φ((μ − high)/σ), and there is a density between the bounds.
    """

    mean: Float[Array, "... attribute"]
    scale: Float[Array, "... attribute"]
    group: laid_out.Bounded

    def log_prob(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        at_low, at_high = self.group.on_bounds(cells)
        on_bound = at_low | at_high
        # on a bound the density is not used; the mean in place of the cell keeps the gradient finite
        density = Numbers(self.mean, self.scale).log_prob(jnp.where(on_bound, self.mean, cells))
        beyond = jnp.where(at_low, self.group.low - self.mean, self.mean - self.group.high) / self.scale
        return jnp.where(on_bound, _log_tail(beyond), density)

    def draw(self, uniform: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        return jnp.clip(self.mean + self.scale * normal_quantile(uniform), self.group.low, self.group.high)

    def mode(self) -> Float[Array, "... cell"]:
        return jnp.clip(self.mean, self.group.low, self.group.high)

    def natural(self) -> tuple[Array, Array]:
        """Coefficients of [x², x, 1] between the bounds and of [1] on each of them."""
        numbers, constant = Numbers(self.mean, self.scale).natural()
        ends = (self.group.low - self.mean, self.mean - self.group.high)
        on_low, on_high = (_log_tail(beyond / self.scale) for beyond in ends)
        return jnp.concatenate([numbers, constant, on_low, on_high], axis=-1), jnp.zeros_like(constant)

    def centre(self, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
        """The mean of the components' clipped means, except that a bound with most of the probability is the centre
        itself: a mean a little off the bound would be a number that hardly ever occurs."""
        low, high = self.group.low, self.group.high
        middle = jnp.clip(_mean(weights, self.mode()), low, high)
        middle = jnp.where(_mean(weights, ndtr((low - self.mean) / self.scale)) > 0.5, low, middle)
        return jnp.where(_mean(weights, ndtr((self.mean - high) / self.scale)) > 0.5, high, middle)


class Counts(Distribution):
    """Counts by a logistic variable on the scale of log(1 + count), cut half-way between neighbouring counts.

    Two parameters, as a negative binomial has, but the probability of a count, and a draw, cost the same however large
    counts are.
    """

    mean: Float[Array, "... attribute"]
    scale: Float[Array, "... attribute"]
    group: laid_out.Counts

    def log_prob(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        return self._log_prob(self.group.count(cells), self.group, np.array(self.group.top), self.mean, self.scale)

    @staticmethod
    def _log_prob(count: Array, group: laid_out.Counts, top: np.ndarray, mean: Array, scale: Array) -> Array:
        spread = scale * (np.sqrt(3) / np.pi)  # `scale` is the standard deviation
        low = jnp.where(count > 0, group.encoded(jnp.maximum(count - 0.5, 0.0)), -FAR)
        high = jnp.where(count < top, group.encoded(count + 0.5), FAR)
        return _log_between((low - mean) / spread, (high - mean) / spread)

    def draw(self, uniform: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        return self.group.cells(self.mean + self.scale * (np.sqrt(3) / np.pi) * _logit(uniform))

    def mode(self) -> Float[Array, "... cell"]:
        """The count at the middle of the distribution."""
        return self.group.cells(self.mean)

    def natural(self) -> tuple[Array, Array]:
        attribute, level = level_slots(tuple(top + 1 for top in self.group.top))
        group = laid_out.Counts(
            tuple(attribute.tolist()),
            self.group.location[attribute],
            self.group.scale[attribute],
            tuple(self.group.top[index] for index in attribute),
        )
        own = self.mean[..., attribute], self.scale[..., attribute]
        return self._log_prob(jnp.asarray(level), group, np.array(group.top), *own), jnp.zeros_like(self.mean)

    def centre(self, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
        return self.group.cells(_mean(weights, self.mean))


class Ordinal(Distribution):
    """Cumulative logit: P(level ≤ k) = sigmoid(threshold_k − η), thresholds rising and far beyond the last level."""

    middle: Float[Array, "... attribute"]
    thresholds: Float[Array, "attribute threshold"]
    group: laid_out.Ordinal

    def log_prob(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        ends = jnp.full((self.thresholds.shape[0], 1), FAR)
        at = jnp.where(self.group.level(cells)[..., None] == np.arange(self.thresholds.shape[1] + 1), 1.0, 0.0)
        low = jnp.sum(at * jnp.concatenate([-ends, self.thresholds], axis=1), axis=-1)
        high = jnp.sum(at * jnp.concatenate([self.thresholds, ends], axis=1), axis=-1)
        return _log_between(low - self.middle, high - self.middle)

    def draw(self, uniform: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        drawn = self._reached(self.middle + _logit(uniform))
        expected = self.group.first + self.group.step * jnp.sum(
            jax.nn.sigmoid(self.middle[..., None] - self.thresholds), axis=-1
        )
        return straight_through(drawn, expected)

    def _reached(self, place: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        level = jnp.sum(place[..., None] > self.thresholds, axis=-1)
        return self.group.first + self.group.step * jnp.minimum(level, jnp.array(self.group.levels) - 1)

    def mode(self) -> Float[Array, "... cell"]:
        """The level at the middle of the distribution."""
        return self._reached(self.middle)

    def natural(self) -> tuple[Array, Array]:
        attribute, level = level_slots(self.group.levels)
        ends = jnp.full((self.thresholds.shape[0], 1), FAR)
        edges = jnp.concatenate([-ends, self.thresholds, ends], axis=1)
        places = level.astype(int)
        low, high = (edges[attribute, places + over] - self.middle[..., attribute] for over in (0, 1))
        return _log_between(low, high), jnp.zeros_like(self.middle)

    def centre(self, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
        return self._reached(_mean(weights, self.middle))


class Categories(Distribution):
    """Softmax over the levels of each attribute, all of them end to end."""

    logits: Float[Array, "... cell"]
    group: laid_out.Categorical

    @property
    def log_totals(self) -> Float[Array, "... attribute"]:
        return jnp.log(self.group.totals(jnp.exp(self.logits)))

    @property
    def probabilities(self) -> Float[Array, "... cell"]:
        raised = jnp.exp(self.logits)
        return raised / self.group.of_attribute(self.group.totals(raised))

    def log_prob(self, cells: Float[Array, "... cell"]) -> Float[Array, "... attribute"]:
        return self.group.totals(cells * self.logits) - self.log_totals

    def counted_log_prob(
        self, cells: Float[Array, "... cell"], counted: Bool[Array, "... attribute"]
    ) -> Float[Array, "..."]:
        shown = jnp.where(self.group.spread(counted), cells, 0.0)
        return jnp.sum(shown * self.logits, axis=-1) - jnp.sum(jnp.where(counted, self.log_totals, 0.0), axis=-1)

    def draw(self, uniform: Float[Array, "... attribute"]) -> Float[Array, "... cell"]:
        probabilities = self.probabilities
        attribute, level = level_slots(self.group.levels)
        last = level == np.array(self.group.levels)[attribute] - 1
        upto = jax.lax.stop_gradient(self.group.cumulative(probabilities))
        wanted = self.group.spread(uniform)
        # rounding may leave a total a little below 1, which must not leave a record without a level
        hard = jnp.where(((upto >= wanted) | last) & (upto - probabilities < wanted), 1.0, 0.0)
        return straight_through(hard, probabilities)

    def mode(self) -> Float[Array, "... cell"]:
        return self.group.likeliest(self.logits)

    def natural(self) -> tuple[Array, Array]:
        log_totals = self.log_totals
        return self.logits - self.group.spread(log_totals), jnp.zeros_like(log_totals)

    def centre(self, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
        return self.group.likeliest(_mean(weights, self.probabilities))


Distributions = tuple[Distribution, ...]
"""One for each group of a layout."""


class Decoder(eqx.Module):
    """p(x | z): a network and one output layer for all attributes.

    real and positive: Gaussian (of the logarithm); bounded: Gaussian censored at the bounds; count: discretised
    logistic of log(1 + count); categorical: softmax; ordinal: cumulative logit. The outputs also have a linear path
    from z, so that a linear-Gaussian table is learnt at once.

    plain: relu layers, and no linear path. noise: of every attribute (by its number in the table) the fixed standard
        deviation, or None where the network says it; a number whose noise is fixed has one output.
    """

    network: Layers
    heads: eqx.nn.Linear
    steps: Float[Array, "ordinal threshold"]
    plain: bool = eqx.field(static=True)
    noise: Noise | None = eqx.field(static=True)

    def __init__(
        self,
        layout: Layout,
        *,
        latent: int,
        width: Width,
        plain: bool = False,
        noise: Noise | None = None,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key)
        # the encoder's widths in reverse order
        last, first = two_widths(width)
        between = activation(plain)
        self.network = Layers(latent, last, (first,), last=between, between=between, key=keys[0])
        self.plain, self.noise = plain, noise
        inputs = last if plain else last + latent
        self.heads = eqx.nn.Linear(inputs, sum(map(self._outputs, layout.groups)), key=keys[1])
        ordinal = [group.levels for group in layout.groups if isinstance(group, laid_out.Ordinal)]
        self.steps = jnp.zeros((len(ordinal[0]), max(ordinal[0]) - 1) if ordinal else (0, 0))

    def __call__(self, layout: Layout, latent: Float[Array, "... latent"]) -> Distributions:
        features = self.network(latent)
        outputs = linear(self.heads, features if self.plain else jnp.concatenate([features, latent], axis=-1))
        ends = np.cumsum([self._outputs(group) for group in layout.groups]).tolist()
        starts = [0, *ends[:-1]]
        return tuple(
            _distribution(group, outputs[..., start:end], self.steps, self._fixed(group))
            for group, start, end in zip(layout.groups, starts, ends, strict=True)
        )

    def _fixed(self, group: Group) -> np.ndarray | None:
        """The fixed noise of a group's attributes, NaN where it is learnt; None where that of all is."""
        known = [None if self.noise is None else self.noise[attribute] for attribute in group.attributes]
        return None if all(noise is None for noise in known) else np.array(known, np.float32)

    def _outputs(self, group: Group) -> int:
        """How many parameters the attributes of a group have."""
        if isinstance(group, laid_out.Categorical):
            return group.width
        fixed = self._fixed(group)
        one = isinstance(group, laid_out.Ordinal) or (fixed is not None and not np.isnan(fixed).any())
        return group.size if one else 2 * group.size


def _distribution(
    group: Group, outputs: Float[Array, "... output"], steps: Array, fixed: np.ndarray | None
) -> Distribution:
    if isinstance(group, laid_out.Categorical):
        return Categories(clamp(-LARGEST_LOGIT, outputs, LARGEST_LOGIT), group)
    if isinstance(group, laid_out.Ordinal):
        return Ordinal(outputs, _thresholds(steps, group), group)
    mean, smallest = outputs[..., : group.size], SMALLEST_SCALE
    if isinstance(group, laid_out.Bounded):
        smallest = SMALLEST_BOUNDED_SCALE
    if fixed is None:
        scale = smallest + softplus(outputs[..., group.size :] + 0.5)
    elif outputs.shape[-1] == group.size:
        scale = jnp.broadcast_to(jnp.asarray(fixed), mean.shape)
    else:
        scale = jnp.where(np.isnan(fixed), smallest + softplus(outputs[..., group.size :] + 0.5), fixed)
    if isinstance(group, laid_out.Counts):
        return Counts(mean, scale, group)
    return Bounded(mean, scale, group) if isinstance(group, laid_out.Bounded) else Numbers(mean, scale)


def _thresholds(steps: Float[Array, "attribute threshold"], group: laid_out.Ordinal) -> Array:
    """Rising thresholds; beyond an attribute's last level they are padding, far above."""
    first = steps[:, :1] - 1.0
    rising = jnp.concatenate([first, first + jnp.cumsum(softplus(steps[:, 1:] + 0.5), axis=1)], axis=1)
    real = np.arange(steps.shape[1])[None, :] < np.array(group.levels)[:, None] - 1
    return jnp.where(real, rising, FAR)


def log_prob(
    distributions: Distributions,
    layout: Layout,
    cells: Float[Array, "... cell"],
    counted: Bool[Array, "... attribute"],
) -> Float[Array, "..."]:
    """log p(cells | z), over the cells that are counted (by group)."""
    parts = zip(distributions, layout.split_cells(cells), layout.split(counted), strict=True)
    return sum((of_group.counted_log_prob(own, mask) for of_group, own, mask in parts), jnp.zeros(()))


def draw(
    distributions: Distributions, layout: Layout, uniforms: Float[Array, "... attribute"]
) -> Float[Array, "... cell"]:
    """One draw of every cell; the uniforms are by group."""
    parts = zip(distributions, layout.split(uniforms), strict=True)
    return jnp.concatenate([of_group.draw(uniform) for of_group, uniform in parts], axis=-1)


def mode(distributions: Distributions) -> Float[Array, "... cell"]:
    return jnp.concatenate([of_group.mode() for of_group in distributions], axis=-1)


def centre(distributions: Distributions, weights: Float[Array, "... sample"]) -> Float[Array, "... cell"]:
    """The centre of a weighted mixture, see `Distribution.centre`."""
    return jnp.concatenate([of_group.centre(weights) for of_group in distributions], axis=-1)


def natural(distributions: Distributions) -> tuple[Float[Array, "... statistic"], Float[Array, "..."]]:
    """Coefficients and constant with log p(x | z) = coefficients · layout.statistics(x) + constant."""
    naturals = [distribution.natural() for distribution in distributions]
    constants = sum((jnp.sum(constant, axis=-1) for _, constant in naturals), jnp.zeros(()))
    return jnp.concatenate([coefficients for coefficients, _ in naturals], axis=-1), constants


def _mean(weights: Float[Array, "... sample"], of_samples: Float[Array, "... sample value"]) -> Array:
    return jnp.einsum("...s,...sv->...v", weights, of_samples)


def _logit(uniform: Array) -> Array:
    return jnp.log(uniform) - jnp.log1p(-uniform)


def _log_between(low: Array, high: Array) -> Array:
    """log(sigmoid(high) − sigmoid(low)), without the cancellation."""
    inside = jnp.maximum(-jnp.expm1(low - high), 1e-9)
    return jnp.log(inside) - softplus(-high) - softplus(low)


def _log_tail(steps: Array) -> Array:
    """log Φ; far out by its asymptotic series, where the derivative of JAX's log_ndtr has no accurate digits."""
    is_far = steps < -50.0
    near = log_ndtr(jnp.where(is_far, 0.0, steps))
    far = jnp.where(is_far, steps, -1.0)
    return jnp.where(is_far, -0.5 * far**2 - jnp.log(-far) - 0.5 * np.log(2 * np.pi) - far**-2, near)
