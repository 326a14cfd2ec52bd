"""CPVAE (paper III-D): action into encoder and decoder, the reward as one more attribute that may be missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.decide import Completions, Model, assemble
from prudent.errors import TRUTH, Rule, check, number, one_of, optional
from prudent.models.fit_report import active_latents, fit_report
from prudent.models.fitted import Fitted
from prudent.models.fitting import Prepared, fit_one
from prudent.models.presets import PRINTED_NOISE, preset_options, printed_options
from prudent.models.settings import PROPENSITY_RULE, SHARED_RULES, Sizes
from prudent.models.training_data import RewardScale, reward_origin, reward_scale, reward_weights, training_arrays
from prudent.networks import (
    Decoder,
    Distributions,
    GaussianPosterior,
    Layout,
    Members,
    SetEncoder,
    Trained,
    Training,
    layout_of,
    normal_quantile,
    standard_normal_log_prob,
    untrained,
)
from prudent.networks import decoder as decoding
from prudent.progress import Progress
from prudent.propensity import Censoring, FittedPropensity, ImputedLogistic, Propensity
from prudent.table import Column, Log, Schema


class ConditionalNetwork(eqx.Module):
    """q(z | x̃, a, R̃), p(x, R | z, a) and a learnt p(z | a). The layout's last attribute is the reward."""

    layout: Layout
    encoder: SetEncoder
    decoder: Decoder
    prior_mean: Float[Array, "action latent"]
    prior_log_scale: Float[Array, "action latent"]
    standard_prior: bool = eqx.field(static=True)

    def __init__(
        self,
        layout: Layout,
        actions: int,
        sizes: dict[str, Any],
        reward_noise: float | None = None,
        standard_prior: bool = False,
        *,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key)
        latent, plain = sizes["latent"], sizes["plain"]
        noise = (*(sizes["noise"] for _ in range(layout.attributes - 1)), reward_noise)
        own = {name: size for name, size in sizes.items() if name != "noise"}
        self.layout = layout
        self.encoder = SetEncoder(layout, context=actions, **own, key=keys[0])
        self.decoder = Decoder(
            layout, latent=latent + actions, width=sizes["width"], plain=plain, noise=noise, key=keys[1]
        )
        self.prior_mean, self.prior_log_scale = jnp.zeros((2, actions, latent))
        self.standard_prior = standard_prior

    def encode(
        self, cells: Float[Array, "... cell"], observed: Bool[Array, "... attribute"], action: Array
    ) -> GaussianPosterior:
        return self.encoder(self.layout, cells, self.layout.by_group(observed), self._one_hot(action))

    def decode(self, latent: Float[Array, "... latent"], action: Array) -> Distributions:
        chosen = self._one_hot(action)
        chosen = jnp.broadcast_to(chosen, (*latent.shape[:-1], chosen.shape[-1]))
        return self.decoder(self.layout, jnp.concatenate([latent, chosen], axis=-1))

    def prior_draw(self, normal: Float[Array, " latent"], action: Array) -> Float[Array, " latent"]:
        if self.standard_prior:
            return normal
        return self.prior_mean[action] + jnp.exp(self.prior_log_scale[action]) * normal

    def prior_log_prob(self, latent: Float[Array, "... latent"], action: Array) -> Float[Array, "..."]:
        if self.standard_prior:
            return standard_normal_log_prob(latent)
        log_scale = self.prior_log_scale[action]
        return standard_normal_log_prob((latent - self.prior_mean[action]) / jnp.exp(log_scale)) - jnp.sum(log_scale)

    def bound(
        self,
        cells: Float[Array, " cell"],
        counted: Bool[Array, " attribute"],
        posterior: GaussianPosterior,
        normal: Float[Array, "sample latent"],
        action: Array,
    ) -> Float[Array, " sample"]:
        """log p(cells | z, a) + log p(z | a) − log q(z | …) at some draws."""
        latent = posterior.draw(normal)
        fit = decoding.log_prob(self.decode(latent, action), self.layout, cells, self.layout.by_group(counted))
        return fit + self.prior_log_prob(latent, action) - posterior.log_prob_of_draw(normal)

    def expected_reward(self, values: Float[Array, " attribute"], action: Array) -> Float[Array, ""]:
        """One pass with the reward missing: what the decoder expects of it."""
        cells, observed = self.layout.cells(values), jnp.ones(values.size, bool).at[-1].set(False)
        latent = self.encode(cells, observed, action).mean
        return self.layout.values(decoding.mode(self.decode(latent, action)))[-1]

    def rewards_given(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        normals: Float[Array, "draw latent"],
        action: Array,
    ) -> Float[Array, " draw"]:
        """What the decoder expects of the reward at draws of z, given the record with its gaps."""
        latent = self.encode(self.layout.cells(values), observed, action).draw(normals)
        return self.layout.values(decoding.mode(self.decode(latent, action)))[..., -1]

    def _one_hot(self, action: Array) -> Float[Array, " action"]:
        return jax.nn.one_hot(action, self.prior_mean.shape[0])


@dataclass(frozen=True)
class ConditionalLoss:
    """The IPS-weighted bound of the paper's last loss; the encoder sees the reward half of the time."""

    hide: float

    def __call__(
        self, network: ConditionalNetwork, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> tuple[Float[Array, " record"], Float[Array, " record"]]:
        bound = jax.vmap(partial(self._bound, network))(record, uniforms, hiding)
        return -bound, bound

    def _bound(
        self, network: ConditionalNetwork, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> Float[Array, ""]:
        observed, action = record["observed"], record["action"]
        show_reward = (hiding[-1] < 0.5) & observed[-1]
        seen = (observed & (hiding >= self.hide)).at[-1].set(show_reward)
        cells = network.layout.cells(record["values"])
        posterior = network.encode(cells, seen, action)
        normals = normal_quantile(uniforms[:, : network.encoder.latent])
        return record["weight"] * jnp.mean(network.bound(cells, observed, posterior, normals, action))


class ConditionalModel(Model):
    """Fitted CPVAE. Given x̃, the action says nothing more about x, so each completion is drawn under some action."""

    networks: Members
    scale: RewardScale
    shares: Float[Array, " action"]
    prices_records: bool = eqx.field(static=True, default=False)

    @property
    def members(self) -> int:
        return self.networks.count

    @property
    def draw_size(self) -> int:
        """One per latent coordinate, one per attribute (the reward's is not used), one to draw the action."""
        return self.networks.shared.encoder.latent + self.networks.shared.layout.attributes + 1

    def complete(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        literal: bool,
    ) -> Completions:
        values, seen = jnp.append(values, 0.0), jnp.append(observed, False)
        common = jnp.argmax(self.shares)
        draws = uniforms.shape[0] * uniforms.shape[1]

        def draw(network: ConditionalNetwork, points: Float[Array, "sample uniform"]) -> Array:
            """The candidates of one member, x̂ last."""
            layout, latents = network.layout, network.encoder.latent
            known = layout.cells(values)

            def candidate(uniform: Array) -> Array:
                action = jnp.minimum(jnp.sum(jnp.cumsum(self.shares) < uniform[-1]), self.shares.size - 1)
                normal = normal_quantile(uniform[:latents])
                if literal:
                    return layout.values(decoding.mode(network.decode(network.prior_draw(normal, action), action)))
                latent = network.encode(known, seen, action).draw(normal[None])[0]
                return layout.values(decoding.draw(network.decode(latent, action), layout, uniform[latents:-1]))

            centre = layout.values(decoding.mode(network.decode(network.encode(known, seen, common).mean, common)))
            return jnp.concatenate([jax.vmap(candidate)(points), centre[None]])

        drawn = self.networks.each(draw, uniforms)
        candidates = jnp.concatenate([drawn[:, :-1].reshape(draws, -1), drawn[:, -1]])
        if not literal:
            candidates = jnp.where(seen[None, :], values[None, :], candidates)

        def density(network: ConditionalNetwork) -> Float[Array, " completion"]:
            if literal:
                return jax.vmap(lambda full: _literal_density(network, values, seen, full, common))(candidates)
            return jax.vmap(lambda full: _log_density(network, full, self.shares))(candidates)

        log_density = logsumexp(self.networks.each(density), axis=0)
        fixed = observed & (not literal)
        # within a record p(x) is proportional to p(x | x̃), so no evidence is subtracted
        evidence = None if literal else jnp.zeros(self.members)
        weights = jnp.zeros(len(candidates))
        return assemble(candidates[:, :-1], weights, log_density, fixed, extra=drawn.shape[0], evidence=evidence)

    def log_density(
        self, values: Float[Array, "... attribute"], evidence: Float[Array, " member"]
    ) -> Float[Array, "..."]:
        def one(values: Float[Array, " attribute"]) -> Float[Array, ""]:
            full = jnp.append(values, 0.0)
            return logsumexp(self.networks.each(lambda n: _log_density(n, full, self.shares)) - evidence)

        return jnp.vectorize(one, signature="(attribute)->()")(values)

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        full = jnp.append(values, 0.0)
        actions = jnp.arange(self.shares.size)
        prices = self.networks.each(lambda n: jax.vmap(lambda action: n.expected_reward(full, action))(actions))
        return self.scale.restore(prices)

    def record_prices(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        completed: Float[Array, "completion attribute"],
        literal: bool,
    ) -> Float[Array, "completion member action"]:
        """Prices read off the record with its gaps: of x̂ those at the centre of q(z | x̃, a), of a draw those at its z.

        Literal candidates do not come from the record, so they are priced as the complete records that they are.
        """
        full, seen = jnp.append(values, 0.0), jnp.append(observed, False)
        latents, actions = self.networks.shared.encoder.latent, jnp.arange(self.shares.size)
        normals = normal_quantile(uniforms.reshape(-1, uniforms.shape[-1])[:, :latents])
        normals = jnp.zeros((1, latents)) if literal else jnp.concatenate([jnp.zeros((1, latents)), normals])

        def of_member(network: ConditionalNetwork) -> Float[Array, "action completion"]:
            return jax.vmap(lambda action: network.rewards_given(full, seen, normals, action))(actions)

        prices = self.scale.restore(jnp.moveaxis(self.networks.each(of_member), 2, 0))
        return jnp.concatenate([prices, self.prices(completed[1:])]) if literal else prices


def _log_density(network: ConditionalNetwork, full: Array, shares: Float[Array, " action"]) -> Float[Array, ""]:
    """log Σ_a share_a p(x | a), each at the centre of q(z | x, a)."""
    cells, known = network.layout.cells(full), jnp.ones(full.size, bool).at[-1].set(False)

    def given(action: Array) -> Float[Array, ""]:
        posterior = network.encode(cells, known, action)
        return network.bound(cells, known, posterior, jnp.zeros((1, network.encoder.latent)), action)[0]

    return logsumexp(jax.vmap(given)(jnp.arange(shares.size)) + jnp.log(shares))


def _literal_density(network: ConditionalNetwork, values: Array, seen: Array, full: Array, action: Array) -> Array:
    """log Π p(x_j | Z) with Z the encoder's mean for x̃ (eq 13)."""
    everything = jnp.ones(full.size, bool).at[-1].set(False)
    latent = network.encode(network.layout.cells(values), seen, action).mean
    counted = network.layout.by_group(everything)
    return decoding.log_prob(network.decode(latent, action), network.layout, network.layout.cells(full), counted)


def _posterior_mean(network: ConditionalNetwork, row: dict[str, Array]) -> Float[Array, " latent"]:
    return network.encode(network.layout.cells(row["values"]), row["observed"], row["action"]).mean


def _with_reward(schema: Schema) -> Layout:
    return layout_of(Schema((*schema.columns, Column("reward", "real"))))


_RULES: dict[str, Rule] = {
    **SHARED_RULES,
    "propensity": PROPENSITY_RULE,
    "weights": one_of("clipped", "raw"),
    "prices": one_of("completions", "record"),
    "rewards": one_of("standardised", "raw", "unit"),
    "reward_noise": optional(number(0, ends="()")),
    "standard_prior": TRUTH,
}


@dataclass(frozen=True)
class CPVAE:
    """The paper's conditional model, kept for comparison (`CausalPVAE` does better, see the benchmarks).

    samples: draws of z per record in the bound (plain average, as in the paper's ELBO).
    propensity: its inverse weights the whole bound.
    weights: "clipped" at ten times their mean and then normalised; or "raw".
    prices: "completions" feeds complete records to the network; "record" reads rewards off the record with its gaps,
        at the centre of q(z | x̃, a) for `Imputation` and at its draws for other strategies.
    rewards: how the network sees them: "standardised", "raw", or mapped from the log's range to [0, 1] ("unit").
    reward_noise: their fixed standard deviation, in the network's units. Default: that of `sizes.noise`, and without
        it learnt.
    standard_prior: p(z | a) = N(0, I). By default it is learnt.
    """

    stored_as: ClassVar[str] = "conditional"
    members: int = 1
    samples: int = 4
    hide: float = 0.1
    propensity: Propensity = ImputedLogistic()
    sizes: Sizes = Sizes()
    training: Training = Training()
    weights: Literal["clipped", "raw"] = "clipped"
    prices: Literal["completions", "record"] = "completions"
    rewards: Literal["standardised", "raw", "unit"] = "standardised"
    reward_noise: float | None = None
    standard_prior: bool = False

    def __post_init__(self) -> None:
        check("CPVAE", _RULES, vars(self))

    @classmethod
    def preset(cls, name: str, **options: Any) -> "CPVAE":
        """Settings for less time ("fast") or a better model ("best"); `options` take precedence."""
        return cls(**(preset_options("CPVAE", name) | options))

    @classmethod
    def as_printed(
        cls,
        rows: int,
        epochs: int,
        sizes: Sizes = Sizes(),
        *,
        noise: float | None = PRINTED_NOISE,
        batch: int = 8,
        **options: Any,
    ) -> "CPVAE":
        """The paper's model as its likely ancestor (EDDI) is written; docs/paper.md has the other readings.

        rows, epochs: of the log, and passes over it. sizes: widths; their form is the paper's. noise: None learns it.
        `options` take precedence, such as `rewards="raw", reward_noise=0.3`.
        """
        printed = {
            "samples": 1,
            "hide": 0.0,
            "weights": "raw",
            "prices": "record",
            "rewards": "unit",
            "standard_prior": True,
        }
        return cls(**(printed_options(rows, epochs, sizes, noise, batch) | printed | options))

    def network(self, schema: Schema, actions: int, key: PRNGKeyArray) -> ConditionalNetwork:
        sizes = self.sizes.of(schema)
        noise = sizes["noise"] if self.reward_noise is None else self.reward_noise
        return ConditionalNetwork(_with_reward(schema), actions, sizes, noise, self.standard_prior, key=key)

    def blank(self, schema: Schema, actions: int) -> ConditionalModel:
        """An untrained model of the same shape, to be filled from a folder."""
        networks = untrained(partial(self.network, schema, actions), self.members)
        scale = RewardScale(jnp.float32(0), jnp.float32(1))
        return ConditionalModel(networks, scale, jnp.zeros(actions), self.prices == "record")

    @property
    def loss(self) -> ConditionalLoss:
        return ConditionalLoss(self.hide)

    def draw_size(self, schema: Schema) -> int:
        return self.sizes.of(schema)["latent"]

    def fit(self, log: Log, seed: int = 0, progress: Progress = None) -> Fitted:
        """Learn from a log; `progress=None` shows a bar on a terminal and nothing elsewhere."""
        return fit_one(self, log, seed, progress)

    def prepare(self, log: Log, seed: int) -> Prepared:
        """The reward is one more attribute."""
        scale, origin = reward_scale(log, self.rewards), reward_origin(log, self.rewards)
        propensity = self.propensity.fit(log, seed=seed)
        censoring = Censoring.of(log, seed)
        data = training_arrays(log, scale, reward_weights(self.weights_of(propensity), censoring), origin)
        data["values"] = np.column_stack([data["values"], data["reward"]])
        data["observed"] = np.column_stack([data["observed"], log.rewarded])
        return Prepared(data, scale, propensity, origin=origin, censoring=censoring)

    def weights_of(self, propensity: FittedPropensity) -> np.ndarray:
        return 1 / propensity.taken if self.weights == "raw" else propensity.weights()

    def decided(self, log: Log, prepared: Prepared, seed: int) -> tuple[Any, tuple[str, ...]]:
        """Nothing is left to the log."""
        return self, ()

    def start(self, logs: Sequence[Log], prepared: Sequence[Prepared], seed: int) -> Callable[[Members], Members]:
        return lambda networks: networks

    def finish(self, log: Log, prepared: Prepared, trained: Trained, seed: int) -> Fitted:
        shares = np.bincount(log.actions[log.rewarded], minlength=len(log.action_labels)) / log.rewarded.sum()
        shares = jnp.asarray(shares, jnp.float32)
        model = ConditionalModel(trained.networks, prepared.scale, shares, self.prices == "record")
        active = active_latents(trained.networks, _posterior_mean, prepared.columns)
        report = fit_report(log, trained, active, prepared.propensity, (), prepared.censoring)
        return Fitted.of(self, log, model, report, prepared.support, prepared.origin)
