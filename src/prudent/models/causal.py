"""CausalPVAE: one posterior over features serves all actions; the reward is read from the completed feature."""

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
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
from prudent.networks.training import Members, Training, initialise, train
from prudent.propensity import Boosted, ImputedLogistic, Known
from prudent.schema import Schema


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

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        return self.scale.restore(self.networks.each(lambda network: network.price(values)))


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
    weights: ImputedLogistic | Boosted | Known | None = None
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
        return CausalModel(networks, RewardScale(jnp.float32(0), jnp.float32(1)))

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
        return Fitted.of(self, log, CausalModel(trained.networks, scale), report_of(log, trained, active, propensity))
