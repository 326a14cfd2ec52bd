"""CausalPVAE with types: every record belongs to one of a few types of case, and each type has its own rewards."""

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from prudent.decide import Completions, PriceTable
from prudent.models.causal_graph import CausalGraphModel
from prudent.networks import Layout, Members, RewardNetwork, Training, Width, bucket, compiled, train
from prudent.propensity import single_thread

FIRST_GUESS_ROWS = 20_000
FIRST_GUESS_HIDE = 0.3
GUESSES = 2
TIE = 1e-4
TEMPERATURES = (0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8, 3.4, 4.0)


class TypedModel(CausalGraphModel):
    """Fitted CausalPVAE with types. What is plausible for a record with gaps is then a list of types, not of records.

    `doubts` are the standard deviations of the types' (standardised) rewards, from how many logged rows belong to them.
    `temperature` divides the networks' log-odds, so that they are calibrated on held-out rows.
    """

    doubts: Float[Array, "member type action"]
    temperature: Float[Array, ""]

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        shares = jnp.exp(self.log_shares(values))
        return self.scale.restore(jnp.einsum("mk,mka->ma", shares, self.networks.each(lambda n: n.reward.profiles)))

    def own_doubt(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        shares = jnp.exp(self.log_shares(values))
        return self.scale.scale * jnp.sqrt(jnp.einsum("mk,mka->ma", shares**2, self.doubts**2))

    def noise(self, values: Float[Array, " attribute"]) -> Float[Array, " action"]:
        return self.scale.scale * jnp.sqrt(jnp.mean(self.networks.each(lambda n: n.reward.noise) ** 2, axis=0))

    def log_shares(self, values: Float[Array, "... attribute"]) -> Float[Array, "member ... type"]:
        """log p(type | x) of every member, for one complete record or many."""
        raw = self.networks.each(lambda network: network.reward.log_shares(network.features.layout.cells(values)))
        return jax.nn.log_softmax(raw / self.temperature)

    def by_type(self, completions: Completions) -> tuple[Completions, PriceTable]:
        """The types that a record may belong to, each with its posterior share, its rewards and the completion that
        is most typical of it. x̂ stays first, priced as the densest type.

        A type's density is the total share of all types whose rewards the log cannot distinguish from its rewards: of
        any member, since the numbering of types is arbitrary in each. Unlike the density of a record it does not depend
        on how many cells are missing, so that `c` keeps the meaning it has in the paper's examples.
        """
        draws, weights = completions.values[1:], jnp.exp(completions.log_weights[1:])
        shares = jnp.swapaxes(jnp.exp(self.log_shares(draws)), 0, 1).reshape(len(draws), -1) / self.members
        claims = weights[:, None] * shares
        mass = jnp.sum(claims, axis=0)
        rewards = self.networks.each(lambda n: n.reward.profiles)
        rewards, doubts = (array.reshape(mass.size, -1) for array in (rewards, self.doubts))
        density = jnp.log(jnp.maximum(_similarity(rewards, doubts) @ mass, 1e-30))
        rows = jnp.concatenate([jnp.argmax(density)[None], jnp.arange(mass.size)])
        log_weights = jnp.log(mass / jnp.sum(mass))[rows].at[0].set(-jnp.inf)
        # the same type in another member may tie with the densest; as c goes to 1, x̂ alone must remain
        log_density = density[rows].at[0].add(TIE)
        table = PriceTable(
            self.scale.restore(rewards)[rows],
            log_weights,
            log_density,
            (self.scale.scale * doubts)[rows],
            jnp.broadcast_to(self.noise(completions.values[0]), (len(rows), rewards.shape[1])),
            1.0 / jnp.sum(weights**2),
        )
        typical = jnp.concatenate([completions.values[:1], draws[jnp.argmax(claims, axis=0)]])
        return Completions(typical, log_weights, log_density), table


def _similarity(rewards: Float[Array, "type action"], doubts: Float[Array, "type action"]) -> Float[Array, "type type"]:
    """From 0 to 1, near 1 where the rewards of two types differ by less than their uncertainty.

    Counts the uncertainty of the better known of the two, since a type with hardly any rows is not similar to all
    others. The mean over actions, not the sum: with many actions small errors must not add up to a difference.
    """
    difference = (rewards[:, None, :] - rewards[None, :, :]) ** 2
    variance = 2.0 * jnp.minimum(doubts[:, None, :], doubts[None, :, :]) ** 2
    return jnp.exp(-0.5 * jnp.mean(difference / variance, axis=2))


class _FirstGuess(eqx.Module):
    """Rewards predicted from what was observed, with gaps filled by the attribute's mean."""

    layout: Layout
    reward: RewardNetwork

    def __init__(self, layout: Layout, actions: int, width: Width, key: PRNGKeyArray):
        self.layout = layout
        self.reward = RewardNetwork(layout.width, actions, width=width, key=key)

    def __call__(self, values: Array, seen: Array) -> Float[Array, "... action"]:
        shown = self.layout.spread(self.layout.by_group(seen))
        return self.reward(jnp.where(shown, self.layout.cells(values), 0.0))


@dataclass(frozen=True)
class _SquaredError:
    """Of the action taken. Learning the noise too would make the guess overconfident on the rows it was trained on."""

    hide: float

    def __call__(
        self, network: _FirstGuess, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> tuple[Float[Array, " record"], Float[Array, " record"]]:
        prices = network(record["values"], record["observed"] & (hiding >= self.hide))
        price = jnp.sum(jax.nn.one_hot(record["action"], prices.shape[-1]) * prices, axis=-1)
        error = record["weight"] * (record["reward"] - price) ** 2
        return error, -error


def first_profiles(
    layout: Layout,
    columns: list[dict[str, np.ndarray]],
    profiles: tuple[int, int],
    width: Width,
    training: Training,
    seed: int,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Starting rewards of the types, [log, type, action], standardised: clusters of the rewards that simple networks
    predict for the logged rows. `columns` are the training arrays of each log, all of the same length.

    A mixture learnt from scratch may converge to any of many solutions: each row shows one reward only, and many
    groupings of the rows explain those. Starting from a regression on all actions, it finds types that hold for every
    action.
    """
    types, actions = profiles
    rewarded = np.all([log["weight"] > 0 for log in columns], axis=0)
    order = np.random.default_rng(seed).permutation(len(rewarded))
    rows = order[np.argsort(~rewarded[order], kind="stable")][:FIRST_GUESS_ROWS]
    per_member = {
        name: np.repeat(np.stack([log[name][rows] for log in columns]), GUESSES, axis=0) for name in columns[0]
    }
    trained = train(
        lambda key: _FirstGuess(layout, actions, width, key),
        _SquaredError(FIRST_GUESS_HIDE),
        {},
        points=np.full((1, 1), 0.5, np.float32),
        training=replace(training, seconds=None),  # brief: a budget is for what follows
        members=GUESSES * len(columns),
        seed=seed,
        may_hold_out=rewarded[rows],
        groups=None if groups is None else groups[rows],
        per_member=per_member,
        progress=False,
    )
    padded = np.resize(np.arange(len(rows)), bucket(len(rows)))
    values, observed = (jnp.asarray(per_member[name][:, padded]) for name in ("values", "observed"))
    predicted = np.asarray(_predicted(trained.networks, values, observed), np.float64)
    per_log = predicted.reshape(len(columns), GUESSES, len(padded), actions).mean(axis=1)
    return np.stack([_clusters(of_log[: len(rows)], types, seed) for of_log in per_log])


def _clusters(predicted: np.ndarray, types: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    count = min(types, len(np.unique(predicted, axis=0)))
    with single_thread():
        clustering = KMeans(count, n_init=10, random_state=seed)  # pyright: ignore[reportArgumentType]
        centres = clustering.fit(predicted).cluster_centers_
    # with fewer distinct rows than types, some types start from the same rewards
    return np.resize(centres, (types, centres.shape[1])).astype(np.float32)


@compiled
def _predicted(networks: Members, values: Array, observed: Array) -> Float[Array, "member row action"]:
    def member(network: Any, values: Array, observed: Array) -> Float[Array, "row action"]:
        return jax.lax.map(lambda row: network(*row), (values, observed), batch_size=128)

    return networks.each(member, values, observed)


@compiled
def type_doubts(
    networks: Members, records: dict[str, Array], counted: Float[Array, " row"], points: Array
) -> Float[Array, "member type action"]:
    """The standard deviation of each type's reward of each action, given how many logged rows belong to that type.

    Before any row it is 1 (rewards are standardised).
    """

    def row(network: Any, record: dict[str, Array]) -> Float[Array, " type"]:
        samples = network.features.sample(record["values"], record["observed"], record["observed"], points)
        joint = network.reward.log_joint(samples.cells, record["action"][None], record["reward"][None])
        return jax.nn.softmax(logsumexp(joint + samples.log_weights[:, None], axis=0))

    def member(network: Any) -> Float[Array, "type action"]:
        shares = jax.lax.map(lambda record: row(network, record), records, batch_size=128)
        taken = jax.nn.one_hot(records["action"], network.reward.noise.size) * counted[:, None]
        return 1.0 / jnp.sqrt(1.0 + shares.T @ taken / network.reward.noise[None, :] ** 2)

    return networks.each(member)


def calibrated(
    model: TypedModel, records: dict[str, Array], counted: Float[Array, " row"], points: Array
) -> TypedModel:
    """The model at the temperature under which held-out rewards are likeliest (Guo et al., ICML 2017, for mixtures).

    A network that has overfitted is too sure of new rows, and then underestimates tails, which consist of unlikely
    types. `counted` is 1 for held-out rows and 0 for padding.
    """
    fit = _held_out_fit(eqx.tree_at(lambda m: m.temperature, model, jnp.float32(1.0)), records, points)
    temperatures = jnp.array(TEMPERATURES, jnp.float32)
    # a few rows must not move it far: a temperature of 2 costs about five units of log-likelihood
    best = jnp.argmax(counted @ fit - 10.0 * jnp.log(temperatures) ** 2)
    return eqx.tree_at(lambda m: m.temperature, model, temperatures[best])


@compiled
def _held_out_fit(
    model: TypedModel, records: dict[str, Array], points: Float[Array, "member sample uniform"]
) -> Float[Array, "row temperature"]:
    """log p(R | x̃, a) of every row at every temperature."""
    rewards, log_noise = model.networks.each(lambda n: (n.reward.profiles, jnp.log(n.reward.noise)))

    def row(record: dict[str, Array]) -> Float[Array, " temperature"]:
        completions = model.complete(record["values"], record["observed"], points, False)
        weights, raw = (
            jnp.exp(completions.log_weights[1:]),
            jnp.swapaxes(model.log_shares(completions.values[1:]), 0, 1),
        )
        action = record["action"]
        residual = (record["reward"] - rewards[:, :, action]) / jnp.exp(log_noise[:, action])[:, None]
        likelihood = jnp.exp(-0.5 * residual**2 - log_noise[:, action][:, None])

        def at(temperature: Array) -> Float[Array, ""]:
            shares = jnp.einsum("d,dmk->mk", weights, jax.nn.softmax(raw / temperature))
            return jnp.log(jnp.maximum(jnp.sum(shares * likelihood), 1e-12))

        return jax.vmap(at)(jnp.array(TEMPERATURES))

    return jax.lax.map(row, records, batch_size=8)
