"""Completions: the plausible full records behind one record with gaps. One posterior, used by everything."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int


class Completions(eqx.Module):
    """Draws of the full feature, observed cells held fixed (for one record; vmap for many).

    Completion 0 is x̂, the most likely one (eq 4). It is a point, not a draw, so its weight is zero (log-weight −∞)
    unless it is alone; the others carry normalised log-weights. `log_density` is log p(x | x̃), comparable within the
    record, in encoded units. `evidence` is what a model needs to price the density of one more completion on the same
    scale (log p(x̃) by member), None where it cannot. `gaps` is the number of cells in which completions may differ.
    """

    values: Float[Array, "completion attribute"]
    log_weights: Float[Array, " completion"]
    log_density: Float[Array, " completion"]
    evidence: Float[Array, " member"] | None = None
    gaps: Float[Array, ""] | None = None


class Draws(eqx.Module):
    """Completions of one record before their densities are known, which take most of the time.

    `centres` are candidates for x̂ beside the draws, one of each member.
    """

    values: Float[Array, "draw attribute"]
    log_weights: Float[Array, " draw"]
    centres: Float[Array, "member attribute"]
    evidence: Float[Array, " member"]

    @property
    def candidates(self) -> Float[Array, "candidate attribute"]:
        return jnp.concatenate([self.values, self.centres])


class PriceTable(eqx.Module):
    """What a strategy chooses from: the price of every action on every completion (one record).

    `doubt` is how unsure each price is (one standard deviation, from too few logged rows and from members that
    disagree); `noise` how much single outcomes scatter around it. Both are in reward units, None where unknown.
    `draws` is how many equally weighted draws stand behind the rows, None where the rows are the draws themselves.
    `shift` is what was added to the prices of every action, see `HasAverage`; None where nothing was.
    `examined` is a table of some of the rows, from which the plausible set is known, where the density was not asked of
    all (it is NaN then, except that of x̂).
    `gaps` is the number of cells in which the completions may differ, None where that is not known.
    `costs` are what the actions cost in this case, where that differs between cases; they are not taken off `prices`.
    """

    prices: Float[Array, "completion action"]
    log_weights: Float[Array, " completion"]
    log_density: Float[Array, " completion"]
    doubt: Float[Array, "completion action"] | None = None
    noise: Float[Array, "completion action"] | None = None
    draws: Float[Array, ""] | None = None
    shift: Float[Array, " action"] | None = None
    examined: "PriceTable | None" = None
    gaps: Float[Array, ""] | None = None
    costs: Float[Array, " action"] | None = None

    @property
    def with_density(self) -> "PriceTable":
        """The table, or the part of it, whose densities are known."""
        return self if self.examined is None else self.examined

    def take(self, rows: Int[Array, " row"]) -> "PriceTable":
        """Some rows, with their weights as they are."""
        doubt, noise = (None if column is None else column[rows] for column in (self.doubt, self.noise))
        kept = self.prices[rows], self.log_weights[rows], self.log_density[rows]
        return PriceTable(*kept, doubt, noise, self.draws, gaps=self.gaps)

    def shifted(self, shift: Float[Array, " action"]) -> "PriceTable":
        """The same for all completions added to the prices of every action."""
        return replace(self, prices=self.prices + shift[None, :], shift=shift)

    @property
    def weights(self) -> Float[Array, " completion"]:
        return jnp.exp(self.log_weights)

    @property
    def expected(self) -> Float[Array, " action"]:
        """E[θ(X, a) | x̃] for every action."""
        return self.weights @ self.prices

    @property
    def best_frequency(self) -> Float[Array, " action"]:
        """The posterior probability that each action is the best one, P(a(X) = a | x̃)."""
        best = jax.nn.one_hot(jnp.argmax(self.prices, axis=1), self.prices.shape[1])
        return self.weights @ best

    @property
    def action_entropy(self) -> Float[Array, ""]:
        """H(a(X) | x̃) in bits: how unsure the best action is, given the gaps."""
        frequency = self.best_frequency
        bits = -jnp.sum(jnp.where(frequency > 0, frequency * jnp.log2(jnp.maximum(frequency, 1e-30)), 0.0))
        return jnp.where(bits < 1e-6, 0.0, bits)  # weights sum to one only to float precision

    @property
    def effective_completions(self) -> Float[Array, ""]:
        return 1.0 / jnp.sum(self.weights**2) if self.draws is None else self.draws


def assemble(
    values: Float[Array, "completion attribute"],
    log_weights: Float[Array, " draw"],
    log_density: Float[Array, " completion"],
    observed: Bool[Array, " attribute"],
    extra: int = 0,
    evidence: Float[Array, " member"] | None = None,
) -> Completions:
    """Put the most likely completion first.

    The last `extra` rows are candidates for x̂ only, not draws, and leave after the choice. With nothing missing every
    completion is the record itself, so all densities are made equal.
    """
    log_density = jnp.where(jnp.all(observed), 0.0, log_density)
    most_likely = jnp.argmax(log_density)
    draws = values.shape[0] - extra
    weights = log_weights[:draws] - logsumexp(log_weights[:draws])
    return Completions(
        jnp.concatenate([values[most_likely][None], values[:draws]]),
        jnp.concatenate([jnp.array([-jnp.inf]), weights]),
        jnp.concatenate([log_density[most_likely][None], log_density[:draws]]),
        evidence,
        jnp.sum(~observed).astype(jnp.float32),
    )


def resampled(weights: Float[Array, " draw"], count: int) -> Int[Array, " count"]:
    """The numbers of `count` draws of equal weight that stand for all: systematic resampling."""
    places = (jnp.arange(count) + 0.5) / count
    return jnp.minimum(jnp.sum(jnp.cumsum(weights)[None, :] < places[:, None], axis=1), weights.shape[0] - 1)
