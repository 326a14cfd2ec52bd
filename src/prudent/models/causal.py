"""CausalPVAE: one posterior over features serves all actions; the reward is read from the completed feature."""

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.completions import Completions
from prudent.log import Log
from prudent.models import partial_vae
from prudent.models.fitted import Fitted
from prudent.models.fitting import (
    Progress,
    RewardScale,
    Sizes,
    active_latents,
    check_log,
    check_parts,
    check_settings,
    report_of,
    reward_scale,
    training_arrays,
)
from prudent.models.model import Model
from prudent.models.partial_vae import PartialVAE, log_mean
from prudent.networks.draws import quasi_random
from prudent.networks.layout import Layout, layout_of
from prudent.networks.reward import RewardNetwork
from prudent.networks.training import Members, Training, bucket, initialise, train
from prudent.propensity import Propensity
from prudent.schema import Schema

DOUBT_ROWS = 20_000
DOUBT_SAMPLES = 16


class CausalNetwork(eqx.Module):
    """z → x → R ← a, the paper's own causal graph (Fig. 1)."""

    features: PartialVAE
    reward: RewardNetwork

    def __init__(self, layout: Layout, actions: int, sizes: dict[str, int], key: PRNGKeyArray):
        keys = jax.random.split(key)
        self.features = PartialVAE(layout, **sizes, key=keys[0])
        self.reward = RewardNetwork(layout.input_size, actions, width=sizes["width"], key=keys[1])

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, " action"]:
        return self.reward(self.features.layout.inputs(self.features.layout.cells(values)))

    def hidden(self, values: Float[Array, " attribute"]) -> Float[Array, " feature"]:
        return self.reward.hidden(self.features.layout.inputs(self.features.layout.cells(values)))


@dataclass(frozen=True)
class CausalLoss:
    """The bound: log ⅟K Σ ωₖ for the features, plus w·[log Σ ωₖ p(R|xₖ,a) − log Σ ωₖ] for the reward."""

    hide: float

    def __call__(
        self, network: CausalNetwork, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        layout = network.features.layout
        seen = record["observed"] & (hiding >= self.hide)
        samples = network.features.sample(record["values"], record["observed"], seen, uniforms)
        prices = jax.vmap(lambda cells: network.reward(layout.inputs(cells)))(samples.cells)
        fit = network.reward.log_prob(prices, record["action"], record["reward"])
        reward_bound = logsumexp(samples.log_weights + fit) - logsumexp(samples.log_weights)
        bound = log_mean(samples.log_weights) + record["weight"] * reward_bound
        return -bound, bound


class CausalModel(Model):
    """Fitted CausalPVAE: completions from the importance-weighted partial VAE, prices from the reward network."""

    networks: Members
    scale: RewardScale
    known: Float[Array, "member action feature feature"]

    @property
    def members(self) -> int:
        return self.networks.count

    @property
    def draw_size(self) -> int:
        return self.networks.shared.features.draw_size

    def complete(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        literal: bool,
    ) -> Completions:
        return partial_vae.complete(self.networks, lambda n: n.features, values, observed, uniforms, literal)

    def log_density(self, values: Float[Array, " attribute"], evidence: Float[Array, " member"]) -> Float[Array, ""]:
        return partial_vae.log_density_given(self.networks, lambda n: n.features, values, evidence)

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        return self.scale.restore(self.networks.each(lambda network: network.price(values)))

    def own_doubt(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        def one(network: CausalNetwork, known: Float[Array, "action feature feature"]) -> Float[Array, " action"]:
            return jnp.linalg.norm(known @ network.hidden(values), axis=1)

        return self.scale.scale * self.networks.each(one, self.known)

    @property
    def noise(self) -> Float[Array, " action"]:
        return self.scale.scale * jnp.sqrt(jnp.mean(self.networks.each(lambda n: n.reward.noise) ** 2, axis=0))


def known_directions(
    networks: Members, data: dict[str, np.ndarray], log: Log, seed: int
) -> Float[Array, "member action feature feature"]:
    """What the logged rows leave open about θ(·, a): Bayesian linear regression on the reward network's last layer.

    A matrix K per member and action with sd[θ(x, a)] = |K φ(x)|, φ the last hidden layer. A logged row with gaps counts
    by the mean of φ over its completions and with the variance of θ over them added to the noise. Before any row, θ of
    an average record has standard deviation 1 (rewards are standardised), so an action hardly ever logged stays open.
    """
    rows = np.flatnonzero(log.rewarded)
    chosen = np.random.default_rng(seed).permutation(rows)[:DOUBT_ROWS]
    padded = np.resize(chosen, bucket(len(chosen)))
    records = {name: jnp.asarray(column[padded]) for name, column in data.items()}
    points = jnp.asarray(quasi_random(DOUBT_SAMPLES, networks.shared.features.draw_size, seed))
    found = _mean_features(networks, records, points)
    features, variances = (np.asarray(part, np.float64)[:, : len(chosen)] for part in found)
    counts = len(rows) / len(chosen) / variances
    size, actions = features.shape[2], range(len(log.action_labels))
    known = np.empty((len(features), len(actions), size, size))
    for member, own in enumerate(features):
        prior = np.mean(np.sum(own**2, axis=1)) * np.eye(size)
        for action in actions:
            took = log.actions[chosen] == action
            precision = prior + own[took].T @ (counts[member, took][:, None] * own[took])
            known[member, action] = np.linalg.inv(np.linalg.cholesky(precision))
    return jnp.asarray(known, jnp.float32)


@eqx.filter_jit
def _mean_features(networks: Members, records: dict[str, Array], points: Array) -> tuple[Array, Array]:
    """For every member and logged row: the mean feature, and the variance of the reward around it."""

    def row(network: CausalNetwork, record: dict[str, Array]) -> tuple[Array, Array]:
        samples = network.features.sample(record["values"], record["observed"], record["observed"], points)
        weights = jax.nn.softmax(samples.log_weights)
        inputs = jax.vmap(network.features.layout.inputs)(samples.cells)
        prices = jax.vmap(network.reward)(inputs)[:, record["action"]]
        variance = weights @ (prices - weights @ prices) ** 2 + network.reward.noise[record["action"]] ** 2
        return weights @ jax.vmap(network.reward.hidden)(inputs), variance

    return networks.each(lambda network: jax.lax.map(lambda own: row(network, own), records, batch_size=128))


@dataclass(frozen=True)
class CausalPVAE:
    """The default model: partial VAE for the features, a reward network on the completed feature.

    members: independently trained networks, averaged.
    samples: importance samples K per record in the bound; the one number that matters most.
    hide: share of observed cells hidden from the encoder in training.
    weights: a propensity (e.g. `Boosted()`) to weight the reward's bound by its inverse; None weights all rows alike,
        which is right when the reward network is rich enough and keeps the whole sample effective.
    """

    members: int = 3
    samples: int = 20
    hide: float = 0.1
    weights: Propensity | None = None
    sizes: Sizes = Sizes()
    training: Training = Training()

    def __post_init__(self) -> None:
        check_settings("CausalPVAE", self.members, self.samples, self.hide)
        check_parts("CausalPVAE", self.sizes, self.training, self.weights)

    def network(self, schema: Schema, actions: int, key: PRNGKeyArray) -> CausalNetwork:
        return CausalNetwork(layout_of(schema), actions, self.sizes.of(schema), key)

    def blank(self, schema: Schema, actions: int) -> CausalModel:
        """An untrained model of the same shape, to be filled from a folder."""
        networks = initialise(partial(self.network, schema, actions), self.members, 0)
        features = self.sizes.width + 1
        known = jnp.zeros((self.members, actions, features, features))
        return CausalModel(networks, RewardScale(jnp.float32(0), jnp.float32(1)), known)

    def fit(self, log: Log, seed: int = 0, progress: Progress | bool | None = None) -> Fitted:
        """Learn from a log; `progress=None` shows a bar on a terminal and nothing elsewhere."""
        check_log(log, seed)
        scale = reward_scale(log)
        propensity = None if self.weights is None else self.weights.fit(log, seed=seed)
        data = training_arrays(log, scale, None if propensity is None else propensity.weights())
        trained = train(
            partial(self.network, log.schema, len(log.action_labels)),
            CausalLoss(self.hide),
            data,
            points=quasi_random(self.samples, self.sizes.of(log.schema)["latent"] + len(log.schema), seed),
            training=self.training,
            members=self.members,
            seed=seed,
            judged=log.rewarded,
            progress=progress,
        )
        active = active_latents(trained.networks, lambda n, row: n.features.posterior_mean(row), data)
        model = CausalModel(trained.networks, scale, known_directions(trained.networks, data, log, seed))
        return Fitted.of(self, log, model, report_of(log, trained, active, propensity))
