"""What a model is: two methods. Complete a record; price every action on a complete one."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from prudent.completions import Completions, PriceTable


class Model(eqx.Module):
    """A fitted model, for one record; `vmap` outside. Prices are in reward units, higher is better."""

    @property
    @abc.abstractmethod
    def members(self) -> int:
        """How many networks speak with equal voice."""

    @property
    @abc.abstractmethod
    def draw_size(self) -> int:
        """How many uniforms one completion needs."""

    @abc.abstractmethod
    def complete(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        literal: bool,
    ) -> Completions:
        """Draw completions; `uniforms` are shared by all records. `literal` draws as the paper prints it (eq 7)."""

    @abc.abstractmethod
    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        """θ̂(x, ·) of every member, for a complete record."""


def price_table(
    model: Model,
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Array,
    literal: bool,
) -> tuple[Completions, PriceTable]:
    """The heart: complete one record, price every action on each completion (mean over members)."""
    completions = model.complete(values, observed, uniforms, literal)
    prices = jnp.mean(jax.vmap(model.price)(completions.values), axis=1)
    return completions, PriceTable(prices, completions.log_weights, completions.log_density)


def pool(log_weights: Float[Array, "member sample"]) -> Float[Array, " draw"]:
    """Members speak with equal voice: weights are normalised within each before they are pooled."""
    normalised = jax.nn.log_softmax(log_weights, axis=1) - jnp.log(log_weights.shape[0])
    return normalised.reshape(-1)
