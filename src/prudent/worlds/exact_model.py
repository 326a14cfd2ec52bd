"""The dosing world as a model: exact completions, densities and prices, ready for every strategy. Nothing is fitted."""

from typing import TYPE_CHECKING

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
from prudent.worlds.losses import Loss

if TYPE_CHECKING:
    from prudent.worlds.dosing import DosingWorld


class ExactModel(Model):
    """What a perfect learner of a dosing world would know. Values are on the world's own scale."""

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
        apart = jnp.where(seen[None, :], numbers[None, :] - self.centres, 0.0)
        agrees = jnp.all(~observed[None, size:] | (self.categories == values[None, size:]), axis=1)
        fit = jnp.where(agrees, self.log_prior - 0.5 * jnp.einsum("ci,ij,cj->c", apart, gain, apart), -jnp.inf)
        shares = jax.nn.softmax(fit)
        root = jnp.linalg.cholesky(self.covariance)

        def one(uniform: Float[Array, " uniform"]) -> Float[Array, " attribute"]:
            chosen = jnp.minimum(jnp.sum(jnp.cumsum(shares) <= uniform[0]), shares.size - 1)
            drawn = self.centres[chosen] + root @ ndtri(uniform[1:])
            return self._carried(drawn, chosen, numbers, seen, gain)

        modes = jax.vmap(lambda chosen: self._carried(self.centres[chosen], chosen, numbers, seen, gain))(
            jnp.arange(shares.size)
        )
        everyone = jnp.concatenate([jax.vmap(one)(uniforms[0]), modes])
        everyone = jnp.where(observed[None, :], values[None, :], everyone)
        evidence = logsumexp(fit)[None]
        density = jax.vmap(lambda full: self.log_density(full, evidence))(everyone)
        # a configuration that cannot be has no mode
        density = density.at[uniforms.shape[1] :].add(jnp.where(agrees, 0.0, -jnp.inf))
        return assemble(everyone, jnp.zeros(len(everyone)), density, observed, extra=shares.size, evidence=evidence)

    def _carried(self, drawn: Array, chosen: Array, numbers: Array, seen: Array, gain: Array) -> Array:
        """Numbers drawn without looking, carried to the observed ones (Matheron's rule): exact for a Gaussian."""
        apart = jnp.where(seen, numbers - drawn, 0.0)
        return jnp.concatenate([drawn + self.covariance @ gain @ apart, self.categories[chosen]])

    def _configuration(self, values: Float[Array, " attribute"]) -> Array:
        distance = jnp.sum(jnp.abs(self.categories - values[None, self.slopes.size :]), axis=1)
        return jnp.argmin(distance)

    def log_density(self, values: Float[Array, " attribute"], evidence: Float[Array, " member"]) -> Float[Array, ""]:
        chosen = self._configuration(values)
        apart = values[: self.slopes.size] - self.centres[chosen]
        return self.log_prior[chosen] - 0.5 * apart @ jnp.linalg.solve(self.covariance, apart) - evidence[0]

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        target = values[: self.slopes.size] @ self.slopes + self.offsets[self._configuration(values)]
        excess = self.doses - target
        side = jnp.where(excess > 0, self.loss.overdose, 1.0)
        return -(side * jnp.abs(excess) ** self.loss.power + self.loss.jump * (excess > self.loss.margin))[None, :]

    def own_doubt(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        return jnp.zeros((1, self.doses.size))

    def noise(self, values: Float[Array, " attribute"]) -> Float[Array, " action"]:
        return jnp.full(self.doses.shape, self.scatter)


def exact_model(world: "DosingWorld") -> Fitted:
    """A policy can be asked of it at once; frames are those of `DosingSample.cases()`."""
    own = world.contexts

    def array(values: np.ndarray) -> Array:
        return jnp.asarray(values, jnp.float32)

    model = ExactModel(
        covariance=array(own.covariance),
        slopes=array(own.slopes),
        categories=array(own.levels),
        log_prior=array(np.log(own.prior)),
        centres=array(own.centres),
        offsets=array(own.offsets),
        doses=array(world.levels),
        scatter=world.noise,
        loss=world.loss_function,
    )
    columns = tuple(
        Column(column.name, "categorical", categories=column.labels)
        if column.labels
        else Column(
            column.name,
            "real",
            location=column.location,
            scale=column.scale,
            low=column.location - 5 * column.scale,
            high=column.location + 5 * column.scale,
        )
        for column in world.columns
    )
    report = FitReport(rows=0, rewarded=0, rounds=0, held_out_bound=(), notes=("Nothing was fitted.",))
    return Fitted(model, world, Schema(columns), world.dose_labels, False, report, Roles("dose", "outcome"))
