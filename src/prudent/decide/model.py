"""What a model is: two methods. Complete a record; price every action on a complete one.

This is all that deciding needs to know of a model, so it stands here and not beside the models that implement it.
"""

import abc
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from prudent.decide.completions import Completions, Draws, PriceTable, resampled
from prudent.propensity import LoggingPolicy
from prudent.table import ActionLabel, Log, Roles, Schema


class Model(eqx.Module):
    """A fitted model, for one record; `vmap` outside. Prices are in reward units, higher is better."""

    @property
    @abc.abstractmethod
    def members(self) -> int:
        """How many networks there are; they count equally."""

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

    def prices(self, values: Float[Array, "completion attribute"]) -> Float[Array, "completion member action"]:
        """The same for a table of complete records; a model that is faster with many at once has its own."""
        return jax.vmap(self.price)(values)


@runtime_checkable
class FittedModel(Protocol):
    """A model with the words of the table it learnt from: what a policy needs, see `prudent.models.Fitted`."""

    @property
    def model(self) -> Model: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def action_labels(self) -> tuple[ActionLabel, ...]: ...
    @property
    def roles(self) -> Roles: ...
    @property
    def logging_policy(self) -> LoggingPolicy | None:
        """Which actions the log's cases got; None where that is not known."""
        ...

    def read(self, frame: Any) -> Log:
        """Another table of decisions, read as the model's own log was."""
        ...

    @property
    def minimize(self) -> bool: ...
    @property
    def fingerprints(self) -> np.ndarray:
        """Of the rows it was fitted on."""
        ...

    @property
    def groups(self) -> np.ndarray:
        """Of the rows it was fitted on, such as their patients: hashes as in `Log.groups`; empty without groups."""
        ...

    @property
    def sign(self) -> float:
        """1 where a higher reward is better, -1 where a lower one is: internal rewards times this are the user's."""
        ...

    @property
    def origin(self) -> float:
        """What the model measures rewards from, in the internal sign."""
        ...

    def reported(self, rewards: Any) -> Any:
        """The model's rewards in the units and the sign of the log's reward column."""
        ...

    def internal(self, reward: float) -> float:
        """A reward of the user's as the model measures it."""
        ...


@runtime_checkable
class HasDensity(Protocol):
    """A model that knows the density of any completion, not only of its own draws: what a worst-case search needs."""

    def log_density(
        self, values: Float[Array, "... attribute"], evidence: Float[Array, " member"]
    ) -> Float[Array, "..."]:
        """log p(x | x̃) on the scale of the completions that came with `evidence`; of one or of many."""
        ...


@runtime_checkable
class HasDraws(HasDensity, Protocol):
    """A model that can complete a record without the densities of its completions."""

    def draws(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
    ) -> Draws:
        """The same completions as `complete` has."""
        ...


@runtime_checkable
class HasLimits(Protocol):
    """A model that knows which records cannot occur."""

    def possible_record(
        self, values: Float[Array, " attribute"], observed: Bool[Array, " attribute"]
    ) -> Float[Array, " attribute"]:
        """A complete record with its gaps moved to values that can occur; observed cells never change."""
        ...


@runtime_checkable
class HasDoubt(Protocol):
    """A model that says what its log leaves open about a price, and how single rewards scatter around it."""

    def own_doubt(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        """The standard deviation of each member's price, given what it learnt from."""
        ...

    def noise(self, values: Float[Array, " attribute"]) -> Float[Array, " action"]:
        """The standard deviation of single rewards around their price, for a complete record."""
        ...


@runtime_checkable
class HasAverage(Protocol):
    """A model that also predicts rewards from the record with its gaps, and averages that with its prices."""

    @property
    def has_average(self) -> bool:
        """Whether this model does."""
        ...

    def shift(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        completed: Float[Array, "completion attribute"],
        weights: Float[Array, " completion"],
        expected: Float[Array, " action"],
    ) -> Float[Array, " action"]:
        """What to add to the prices of every completion, given the completions and the mean of the prices."""
        ...


@runtime_checkable
class PricesRecords(Protocol):
    """A model that may read rewards off the record with its gaps, rather than off completions."""

    @property
    def prices_records(self) -> bool:
        """Whether this model does."""
        ...

    def record_prices(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        completed: Float[Array, "completion attribute"],
        literal: bool,
    ) -> Float[Array, "completion member action"]:
        """The prices that go with each completion, x̂ first."""
        ...


@runtime_checkable
class HasTypes(Protocol):
    """A model to which a record is of one of a few types, each with its own rewards."""

    def by_type(self, completions: Completions) -> tuple[Completions, PriceTable]:
        """The types that draws of one record stand for, and their prices."""
        ...


def price_table(
    model: Model,
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Array,
    literal: bool,
    doubt: bool = True,
) -> tuple[Completions, PriceTable]:
    """The heart: complete one record, price every action on each completion (mean over members) or each type.

    doubt: whether it is said how far prices may be off, which takes longer than the prices; types always say so.
    """
    if isinstance(model, HasTypes) and not literal:
        return model.by_type(model.complete(values, observed, uniforms, literal))
    return price_draws(model, values, observed, uniforms, literal, doubt)


def price_draws(
    model: Model,
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Array,
    literal: bool,
    doubt: bool = True,
) -> tuple[Completions, PriceTable]:
    """The same with a price for every completion that was drawn, whatever its type."""
    completions = model.complete(values, observed, uniforms, literal)
    own = None
    if isinstance(model, PricesRecords) and model.prices_records:
        own = model.record_prices(values, observed, uniforms, completions.values, literal)
    weighted = completions.log_weights, completions.log_density
    table = price_completions(model, completions.values, *weighted, doubt, own)
    table = replace(table, gaps=completions.gaps)
    if literal:
        return completions, table
    return completions, averaged(model, values, observed, completions.values, table.weights, table)


def averaged(
    model: Model,
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    completed: Float[Array, "completion attribute"],
    weights: Float[Array, " completion"],
    table: PriceTable,
) -> PriceTable:
    """The prices of a record's completions, moved so that their mean is the average of all that the model predicts.

    The first rows of the table are those of `completed`; others have no weight.
    """
    shift = average_shift(model, values, observed, completed, weights, table.prices[: len(weights)])
    return table if shift is None else table.shifted(shift)


def average_shift(
    model: Model,
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    completed: Float[Array, "completion attribute"],
    weights: Float[Array, " completion"],
    prices: Float[Array, "completion action"],
) -> Float[Array, " action"] | None:
    """What to add to the prices of a record's completions; None without an average."""
    if isinstance(model, HasAverage) and model.has_average:
        return model.shift(values, observed, completed, weights, weights @ prices)
    return None


REPRESENTATIVE = 48
"""Draws that stand for all where the edge of the plausible set is looked for."""
LOWEST = 16
"""Draws beside them whose price is among the lowest of some action, so that the worst case is not overlooked."""


def priced_and_examined(
    model: HasDraws,
    values: Float[Array, " attribute"],
    observed: Bool[Array, " attribute"],
    uniforms: Array,
    doubt: bool = True,
) -> tuple[Completions, PriceTable]:
    """As `price_draws`, for who does not decide by densities: these are computed for some completions only.

    Those are drawn by their weights, and joined by the lowest-priced ones of every action: enough for the plausible set
    and its worst case.
    """
    assert isinstance(model, Model)
    drawn = model.draws(values, observed, uniforms)
    candidates, count, members = drawn.candidates, drawn.log_weights.shape[0], drawn.centres.shape[0]
    unknown = jnp.full(count + members, jnp.nan)
    priced = price_completions(model, candidates, jnp.full(count + members, -jnp.inf), unknown, doubt)
    priced = averaged(model, values, observed, drawn.values, jnp.exp(drawn.log_weights), priced)
    lowest = jax.lax.top_k(-priced.prices[:count].T, max(LOWEST // priced.prices.shape[1], 1))[1].reshape(-1)
    representative = resampled(jnp.exp(drawn.log_weights), REPRESENTATIVE)
    chosen = jnp.concatenate([representative, lowest, count + jnp.arange(members)])
    density = jnp.where(jnp.all(observed), 0.0, model.log_density(candidates[chosen], drawn.evidence))
    densest = jnp.argmax(density)
    weights = jnp.where(jnp.arange(len(chosen)) < REPRESENTATIVE, -jnp.log(float(REPRESENTATIVE)), -jnp.inf)
    examined = priced.take(jnp.append(chosen[densest], chosen))
    first = jnp.array([-jnp.inf])
    examined = replace(
        examined,
        log_weights=jnp.concatenate([first, weights]),
        log_density=jnp.append(density[densest], density),
    )
    rows = jnp.append(chosen[densest], jnp.arange(count))
    log_weights = jnp.concatenate([first, drawn.log_weights])
    known = jnp.full(count + 1, jnp.nan).at[0].set(density[densest])
    table = replace(priced.take(rows), log_weights=log_weights, log_density=known, examined=examined)
    return Completions(candidates[rows], log_weights, known, drawn.evidence), table


def price_completions(
    model: Model,
    values: Float[Array, "completion attribute"],
    log_weights: Float[Array, " completion"],
    log_density: Float[Array, " completion"],
    doubt: bool = True,
    prices: Float[Array, "completion member action"] | None = None,
) -> PriceTable:
    """Price every action on each completion: the members' mean and, with `doubt`, how far it may be off.

    prices: those of every member, where they are known already.
    """
    prices = model.prices(values) if prices is None else prices
    noise = jax.vmap(model.noise)(values) if isinstance(model, HasDoubt) else None
    off = jnp.sqrt(_variance(model, values, prices)) if doubt and _knows_doubt(model) else None
    return PriceTable(jnp.mean(prices, axis=1), log_weights, log_density, off, noise)


def _knows_doubt(model: Model) -> bool:
    return model.members > 1 or isinstance(model, HasDoubt)


def _variance(model: Model, values: Array, prices: Array) -> Float[Array, "completion action"]:
    """How far the members are apart, and what each leaves open."""
    apart = jnp.var(prices, axis=1, ddof=1) if model.members > 1 else jnp.zeros(())
    return apart + jnp.mean(jax.vmap(model.own_doubt)(values) ** 2, axis=1) if isinstance(model, HasDoubt) else apart


def pool(log_weights: Float[Array, "member sample"]) -> Float[Array, " draw"]:
    """Members count equally: weights are normalised within each before they are pooled."""
    normalised = jax.nn.log_softmax(log_weights, axis=1) - jnp.log(log_weights.shape[0])
    return normalised.reshape(-1)
