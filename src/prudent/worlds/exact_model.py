"""A dosing world as a model: exact completions, densities and prices, for every strategy. Nothing is fitted."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, ndtri
from jaxtyping import Array, Bool, Float

from prudent.decide import Completions, Model, assemble
from prudent.errors import require
from prudent.models import FitReport, Fitted
from prudent.table import Column, Roles, Schema
from prudent.worlds.contexts import Contexts
from prudent.worlds.display import DisplayColumn
from prudent.worlds.losses import Loss


class ExactModel(Model):
    """What a perfect learner of a dosing world would know. Values are on the world's standard scale."""

    covariance: Float[Array, "number number"]
    slopes: Float[Array, " number"]
    categories: Float[Array, "configuration category"]
    log_prior: Float[Array, " configuration"]
    centres: Float[Array, "configuration number"]
    offsets: Float[Array, " configuration"]
    doses: Float[Array, " action"]
    scatter: float
    loss: Loss = eqx.field(static=True)

    @property
    def members(self) -> int:
        return 1

    @property
    def draw_size(self) -> int:
        """One for the categories, one per number."""
        return 1 + self.slopes.size

    def complete(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        literal: bool,
    ) -> Completions:
        require(not literal, "ExactModel", "paper_literal", "be False: there is no decoder here", literal)
        size = self.slopes.size
        seen, numbers = observed[:size], jnp.where(observed[:size], values[:size], 0.0)
        both = seen[:, None] & seen[None, :]
        gain = jnp.where(both, jnp.linalg.inv(jnp.where(both, self.covariance, jnp.eye(size))), 0.0)
        residual = jnp.where(seen[None, :], numbers[None, :] - self.centres, 0.0)
        agrees = jnp.all(~observed[None, size:] | (self.categories == values[None, size:]), axis=1)
        fit = jnp.where(agrees, self.log_prior - 0.5 * jnp.einsum("ci,ij,cj->c", residual, gain, residual), -jnp.inf)
        shares = jax.nn.softmax(fit)
        root = jnp.linalg.cholesky(self.covariance)

        def draw(uniform: Float[Array, " uniform"]) -> Float[Array, " attribute"]:
            chosen = jnp.minimum(jnp.sum(jnp.cumsum(shares) <= uniform[0]), shares.size - 1)
            drawn = self.centres[chosen] + root @ ndtri(uniform[1:])
            return self._conditioned(drawn, chosen, numbers, seen, gain)

        modes = jax.vmap(lambda chosen: self._conditioned(self.centres[chosen], chosen, numbers, seen, gain))(
            jnp.arange(shares.size)
        )
        candidates = jnp.concatenate([jax.vmap(draw)(uniforms[0]), modes])
        candidates = jnp.where(observed[None, :], values[None, :], candidates)
        evidence = logsumexp(fit)[None]
        density = self.log_density(candidates, evidence)
        # a configuration that contradicts the observed categories has no mode
        density = density.at[uniforms.shape[1] :].add(jnp.where(agrees, 0.0, -jnp.inf))
        return assemble(candidates, jnp.zeros(len(candidates)), density, observed, extra=shares.size, evidence=evidence)

    def _conditioned(self, drawn: Array, chosen: Array, numbers: Array, seen: Array, gain: Array) -> Array:
        """Unconditional draws, conditioned on the observed numbers (Matheron's rule): exact for a Gaussian."""
        residual = jnp.where(seen, numbers - drawn, 0.0)
        return jnp.concatenate([drawn + self.covariance @ gain @ residual, self.categories[chosen]])

    def _configuration(self, values: Float[Array, " attribute"]) -> Array:
        distance = jnp.sum(jnp.abs(self.categories - values[None, self.slopes.size :]), axis=1)
        return jnp.argmin(distance)

    def log_density(
        self, values: Float[Array, "... attribute"], evidence: Float[Array, " member"]
    ) -> Float[Array, "..."]:
        precision = jnp.linalg.inv(self.covariance)

        def one(values: Float[Array, " attribute"]) -> Float[Array, ""]:
            chosen = self._configuration(values)
            residual = values[: self.slopes.size] - self.centres[chosen]
            return self.log_prior[chosen] - 0.5 * residual @ precision @ residual - evidence[0]

        return jnp.vectorize(one, signature="(attribute)->()")(values)

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        target = values[: self.slopes.size] @ self.slopes + self.offsets[self._configuration(values)]
        excess = self.doses - target
        side = jnp.where(excess > 0, self.loss.overdose, 1.0)
        return -(side * jnp.abs(excess) ** self.loss.power + self.loss.jump * (excess > self.loss.margin))[None, :]

    def own_doubt(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        return jnp.zeros((1, self.doses.size))

    def noise(self, values: Float[Array, " attribute"]) -> Float[Array, " action"]:
        return jnp.full(self.doses.shape, self.scatter)


def exact_model(
    settings: Any,
    contexts: Contexts,
    columns: Sequence[DisplayColumn],
    *,
    doses: np.ndarray,
    labels: tuple[int, ...],
    loss: Loss,
    noise: float,
) -> Fitted:
    """A fitted model for frames as `DosingSample.cases()` makes them.

    settings: the world itself. doses: on the scale of the needed dose; labels: as a frame shows them.
    """

    def array(values: np.ndarray) -> Array:
        return jnp.asarray(values, jnp.float32)

    model = ExactModel(
        covariance=array(contexts.covariance),
        slopes=array(contexts.slopes),
        categories=array(contexts.levels),
        log_prior=array(np.log(contexts.prior)),
        centres=array(contexts.centres),
        offsets=array(contexts.offsets),
        doses=array(doses),
        scatter=noise,
        loss=loss,
    )
    schema = Schema(tuple(map(_column, columns)))
    report = FitReport(rows=0, rewarded=0, rounds=0, held_out_bound=(), notes=("Nothing was fitted.",))
    return Fitted(model, settings, schema, labels, False, report, Roles("dose", "outcome"))


def _column(shown: DisplayColumn) -> Column:
    if shown.labels:
        return Column(shown.name, "categorical", categories=shown.labels)
    low, high = shown.location - 5 * shown.scale, shown.location + 5 * shown.scale
    return Column(shown.name, "real", location=shown.location, scale=shown.scale, low=low, high=high)
