"""Outcomes as a Gaussian process over records with gaps, one surface per action, learnt together.

θ(x, a) = c_a + linear + smooth, the linear and the smooth part each with a strength per action and one correlation
between actions, so that an action with few rows borrows from the others (Alaa & van der Schaar 2017, multi-task
Gaussian processes for effects). Strengths, correlations and noise maximise the evidence under a wide prior.

A record with gaps enters by its completions: the features' mean over them is what is known of it, and their variance
what is open. What is open is the same for all actions of a row, so a row whose outcome was better than expected is
expected to do better under the other actions too, as far as actions correlate.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from prudent.propensity import single_thread

CONSTANT_VARIANCE = 100.0  # of standardised outcomes: the mean of an action is determined by its rows
PRIOR_WIDTH = 2.0  # standard deviation of the logarithm of a strength, and of the logit of a correlation
STEPS, STEP_SIZE = 50, 0.25
JITTER = 1e-6


class Kernel(NamedTuple):
    """Standardised columns, and landmarks for the smooth part: a squared exponential of length √columns."""

    location: Float[Array, " column"]
    scale: Float[Array, " column"]
    landmarks: Float[Array, "landmark column"]
    whitening: Float[Array, "landmark landmark"]

    @classmethod
    def of(cls, records: np.ndarray, landmarks: int, seed: int) -> "Kernel":
        """From complete records [row, column] (gaps drawn): landmarks are the centres of clusters."""
        from sklearn.cluster import KMeans

        spread = records.std(axis=0)
        scale = np.where(spread > 1e-6, spread, np.inf)  # a constant column says nothing
        standard = (records - records.mean(axis=0)) / scale
        distinct = np.unique(standard, axis=0)
        if len(distinct) > landmarks:
            with single_thread():
                distinct = KMeans(landmarks, n_init="auto", random_state=seed).fit(standard).cluster_centers_
        squares = ((distinct[:, None] - distinct[None]) ** 2).sum(axis=2)
        spectrum, vectors = np.linalg.eigh(np.exp(-0.5 * squares / records.shape[1]) + JITTER * np.eye(len(distinct)))
        parts = (records.mean(axis=0), scale, distinct, vectors / np.sqrt(np.maximum(spectrum, JITTER)))
        return cls(*(jnp.asarray(part, jnp.float32) for part in parts))

    def features(self, record: Float[Array, " column"]) -> tuple[Float[Array, " column"], Float[Array, " landmark"]]:
        """Of one complete record: its standardised columns, and smooth features whose inner product is the kernel."""
        standard = (record - self.location) / self.scale
        squares = jnp.sum((self.landmarks - standard[None, :]) ** 2, axis=1)
        return standard, jnp.exp(-0.5 * squares / len(standard)) @ self.whitening


class Known(NamedTuple):
    """What is known of every row: the features' mean over its completions, and their summed variance, by part."""

    linear: Float[Array, "row column"]
    smooth: Float[Array, "row landmark"]
    linear_open: Float[Array, " row"]
    smooth_open: Float[Array, " row"]


def known_of(
    kernel: Kernel, completions: Float[Array, "draw column"], weights: Float[Array, " draw"]
) -> tuple[Array, Array, Array, Array]:
    """The fields of `Known` for one row; weights sum to one."""
    linear, smooth = jax.vmap(kernel.features)(completions)

    def moments(features: Float[Array, "draw feature"]) -> tuple[Array, Array]:
        mean = weights @ features
        return mean, weights @ jnp.sum((features - mean[None, :]) ** 2, axis=1)

    (linear_mean, linear_open), (smooth_mean, smooth_open) = moments(linear), moments(smooth)
    return linear_mean, smooth_mean, linear_open, smooth_open


class Surfaces(NamedTuple):
    """What was learnt of one vector of outcomes.

    expected: of every row and action given all outcomes, including the row's: for questions about these rows.
    left_out: the same without the row's outcome, and those of its group: for weighted residuals, which they would make
        too small.
    deviation: of a single outcome around `left_out`.
    """

    expected: Float[Array, "row action"]
    left_out: Float[Array, "row action"]
    deviation: Float[Array, "row action"]


class _Strengths(NamedTuple):
    """Logarithms of standard deviations per action, and the logits of the actions' correlation by part."""

    linear: Float[Array, " action"]
    smooth: Float[Array, " action"]
    noise: Float[Array, " action"]
    together: Float[Array, " part"]

    @classmethod
    def usual(cls, actions: int) -> "_Strengths":
        """The start of the search and the mean of the prior: outcomes are standardised, columns many."""
        linear, smooth, noise = jnp.full(actions, -2.0), jnp.full(actions, -1.5), jnp.full(actions, -0.5)
        return cls(linear, smooth, noise, jnp.array([1.0, 0.0]))

    def covariance(self, part: int) -> Float[Array, "action action"]:
        """The covariance across actions of the slopes of the linear (0) or smooth (1) part."""
        deviation = jnp.exp((self.linear, self.smooth)[part])
        share = jax.nn.sigmoid(self.together[part])
        alike = share + (1 - share) * jnp.eye(len(deviation))
        return deviation[:, None] * alike * deviation[None, :]


class _Posterior(NamedTuple):
    evidence: Float[Array, ""]
    slopes: Float[Array, "action feature"]
    factor: Float[Array, "slope slope"]
    open: Float[Array, "row action action"]
    variance: Float[Array, " row"]


def learn(
    known: Known,
    actions: Int[Array, " row"],
    outcomes: Float[Array, " row"],
    count: int,
    groups: Int[Array, "group place"] | None = None,
) -> Surfaces:
    """Surfaces of all `count` actions from one outcome per row, standardised.

    groups: the rows of every group, filled up with the number of rows; None where rows are independent.
    """
    with jax.default_matmul_precision("highest"):
        return _surfaces(known, jax.nn.one_hot(actions, count), outcomes, groups)


def _surfaces(
    known: Known,
    took: Float[Array, "row action"],
    outcomes: Float[Array, " row"],
    groups: Int[Array, "group place"] | None,
) -> Surfaces:
    features = jnp.concatenate([jnp.ones((len(outcomes), 1)), known.linear, known.smooth], axis=1)
    usual = _Strengths.usual(took.shape[1])

    def loss(strengths: _Strengths) -> Float[Array, ""]:
        drawn = sum(jnp.sum((a - b) ** 2) for a, b in zip(strengths, usual, strict=True))
        return -_posterior(strengths, known, features, took, outcomes).evidence + 0.5 * drawn / PRIOR_WIDTH**2

    optimiser = optax.adam(optax.cosine_decay_schedule(STEP_SIZE, STEPS), b1=0.8, b2=0.95)

    def step(carry, _):
        strengths, state = carry
        updates, state = optimiser.update(jax.grad(loss)(strengths), state)
        return (jax.tree.map(jnp.add, strengths, updates), state), None

    (strengths, _), _ = jax.lax.scan(step, (usual, optimiser.init(usual)), None, length=STEPS)
    posterior = _posterior(strengths, known, features, took, outcomes)
    return _predicted(strengths, posterior, features, took, outcomes, groups)


def _posterior(
    strengths: _Strengths,
    known: Known,
    features: Float[Array, "row feature"],
    took: Float[Array, "row action"],
    outcomes: Float[Array, " row"],
) -> _Posterior:
    """Bayesian linear regression in which a row's noise includes what its gaps leave open."""
    actions, size = took.shape[1], features.shape[1]
    parts = [CONSTANT_VARIANCE * jnp.eye(actions), strengths.covariance(0), strengths.covariance(1)]
    widths = (1, known.linear.shape[1], known.smooth.shape[1])
    open_ = known.linear_open[:, None, None] * parts[1][None] + known.smooth_open[:, None, None] * parts[2][None]
    noise = took @ jnp.exp(2 * strengths.noise)
    variance = noise + jnp.einsum("na,nab,nb->n", took, open_, took)
    prior = jnp.repeat(jnp.linalg.inv(jnp.stack(parts)), np.array(widths), axis=0, total_repeat_length=size)
    weighted = jnp.einsum("na,ni->ani", took / variance[:, None], features)
    gram = jnp.einsum("ani,nj->aij", weighted, features)
    precision = jnp.einsum("iab,ij->aibj", prior, jnp.eye(size)) + jnp.einsum("aij,ab->aibj", gram, jnp.eye(actions))
    factor = jnp.linalg.cholesky(precision.reshape(actions * size, actions * size))
    pull = jnp.einsum("na,ni->ai", took * (outcomes / variance)[:, None], features).reshape(-1)
    slopes = jax.scipy.linalg.cho_solve((factor, True), pull)
    prior_determinant = jnp.array(widths) @ jnp.linalg.slogdet(jnp.stack(parts))[1]
    evidence = -0.5 * (
        jnp.sum(outcomes**2 / variance) - pull @ slopes + jnp.sum(jnp.log(variance)) + prior_determinant
        + 2 * jnp.sum(jnp.log(jnp.diag(factor)))
    )  # fmt: skip
    return _Posterior(evidence, slopes.reshape(actions, size), factor, open_, variance)


def _predicted(
    strengths: _Strengths,
    posterior: _Posterior,
    features: Array,
    took: Array,
    outcomes: Array,
    groups: Int[Array, "group place"] | None = None,
) -> Surfaces:
    """A row's residual moves its other actions through what was open; without the row, by a rank-one formula."""
    actions, size = posterior.slopes.shape
    expected = features @ posterior.slopes.T
    residual = outcomes - jnp.sum(took * expected, axis=1)
    through_gaps = jnp.einsum("nab,nb->na", posterior.open, took)
    taken = jnp.einsum("na,ni->ain", took, features).reshape(actions * size, -1)
    pulled = jax.scipy.linalg.cho_solve((posterior.factor, True), taken).reshape(actions, size, -1)
    shared = jnp.einsum("ni,ain->na", features, pulled)  # posterior covariance of each action with the one taken
    leverage = jnp.sum(took * shared, axis=1)
    if groups is None:
        moved = shared * (residual / jnp.maximum(posterior.variance - leverage, JITTER))[:, None]
        more = shared**2 / jnp.maximum(posterior.variance - leverage, JITTER)[:, None]
    else:
        moved, more = _by_group(groups, features, pulled, took, posterior.variance, residual)
    left_out = expected - moved
    inverse = jax.scipy.linalg.cho_solve((posterior.factor, True), jnp.eye(actions * size))
    blocks = jnp.einsum("aiaj->aij", inverse.reshape(actions, size, actions, size))
    doubt = jnp.sum(jnp.einsum("ni,aij->naj", features, blocks) * features[:, None, :], axis=2)
    doubt = doubt + more  # without the row or the group
    noise = jnp.exp(2 * strengths.noise)[None, :] + jnp.einsum("naa->na", posterior.open)
    informed = expected + through_gaps * (residual / posterior.variance)[:, None]
    return Surfaces(informed, left_out, jnp.sqrt(noise + jnp.maximum(doubt, 0.0)))


def _by_group(
    groups: Int[Array, "group place"], features: Array, pulled: Array, took: Array, variance: Array, residual: Array
) -> tuple[Float[Array, "row action"], Float[Array, "row action"]]:
    """By how much the outcomes of its group move a row's expectations, and lower their variance; by the formula for one
    row with matrices in place of numbers."""
    rows = len(residual)

    def one(members: Int[Array, " place"]) -> tuple[Array, Array]:
        there, at = members < rows, jnp.minimum(members, rows - 1)
        shared = jnp.einsum("pi,aiq->paq", features[at], pulled[:, :, at]) * (there[:, None, None] & there[None, None])
        own = jnp.einsum("pa,paq->pq", took[at], shared)
        remaining = jnp.diag(jnp.where(there, variance[at], 1.0)) - own + JITTER * jnp.eye(len(at))
        return shared @ jnp.linalg.solve(remaining, jnp.where(there, residual[at], 0.0)), jnp.einsum(
            "paq,qr,par->pa", shared, jnp.linalg.inv(remaining), shared
        )

    every, places = jax.lax.map(one, groups, batch_size=64), groups.reshape(-1)
    blank = jnp.zeros((rows, took.shape[1]))
    moved, more = (blank.at[places].set(part.reshape(len(places), -1), mode="drop") for part in every)
    return moved, more
