"""SPVAE (paper III-B): the price of an action is a weighted mean of the rewards of similar logged records."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.decide import Completions, Draws, Model
from prudent.errors import Rule, check, one_of, optional, whole
from prudent.models import partial_vae
from prudent.models.attention import Rows, attend
from prudent.models.fit_report import active_latents, fit_report
from prudent.models.fitted import Fitted
from prudent.models.fitting import Prepared, fit_one
from prudent.models.partial_vae import FeatureLoss, PartialVAE
from prudent.models.presets import PRINTED_NOISE, preset_options, printed_options
from prudent.models.settings import PROPENSITY_RULE, SHARED_RULES, Sizes
from prudent.models.training_data import RewardScale, reward_origin, reward_scale, training_arrays
from prudent.networks import Members, Trained, Training, compiled, layout_of, untrained
from prudent.networks import decoder as decoding
from prudent.progress import Progress
from prudent.propensity import Censoring, ImputedLogistic, Propensity
from prudent.table import Log, Schema

BLOCK = 256

Form = Literal["self_normalised", "inverse_propensity", "centred", "matching"]


class Logged(eqx.Module):
    """Logged rows as attention keys, in blocks of one action each; padding rows have a constant of −∞.

    `gain` is Rᵢ/π̂0 (or Rᵢ) and `share` is 1/π̂0 (or 1): what a row adds to the numerator and the denominator of the
    price of its action.
    """

    keys: Float[Array, "member block row statistic"]
    constants: Float[Array, "member block row"]
    gain: Float[Array, "block row"]
    share: Float[Array, "block row"]
    action: Array

    def prices(self, queries: Float[Array, "query statistic"], actions: int, form: Form) -> Array:
        """θ̂ of every member: the weights sum to one over all logged rows (eq 12), or over those of the action."""
        over_all = form in ("inverse_propensity", "centred")

        def of_member(member: tuple[Array, Array]) -> Float[Array, "query action"]:
            keys, constants = member
            divided_by = jnp.isfinite(constants).astype(self.share.dtype) if over_all else self.share
            values = jnp.stack([self.gain, divided_by], axis=-1)
            sums = attend(queries, Rows.of(keys, constants, values, self.action, actions))
            return sums.over_all() if over_all else sums.over_own()

        # one after the other: the products of one member already fill the machine
        return jax.lax.map(of_member, (self.keys, self.constants))


class SimilarityModel(Model):
    """Fitted SPVAE. As attention: statistics of x are the query, decoded logged rows the keys, rewards the values."""

    networks: Members
    logged: Logged
    scale: RewardScale
    actions: int = eqx.field(static=True)
    form: Form = eqx.field(static=True)

    @property
    def members(self) -> int:
        return self.networks.count

    @property
    def draw_size(self) -> int:
        return self.networks.shared.draw_size

    def complete(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        literal: bool,
    ) -> Completions:
        return partial_vae.complete(self.networks, lambda n: n, values, observed, uniforms, literal)

    def draws(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
    ) -> Draws:
        return partial_vae.draws_of(self.networks, lambda n: n, values, observed, uniforms)

    def log_density(
        self, values: Float[Array, "... attribute"], evidence: Float[Array, " member"]
    ) -> Float[Array, "..."]:
        return partial_vae.log_density_given(self.networks, lambda n: n, values, evidence)

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        return self.prices(values[None])[0]

    def prices(self, values: Float[Array, "completion attribute"]) -> Float[Array, "completion member action"]:
        layout = self.networks.shared.layout
        queries = jax.vmap(lambda record: layout.statistics(layout.cells(record)))(values)
        by_member = self.logged.prices(queries, self.actions, self.form)
        return self.scale.restore(jnp.moveaxis(by_member, 0, 1))


@compiled
def _keys(networks: Members, values: Array, observed: Array) -> tuple[Array, Array]:
    """Decoded natural parameters of p(x | x̃ᵢ) at the posterior's mean, for every member and logged row."""

    def of_row(network: PartialVAE, values: Array, observed: Array) -> tuple[Array, Array]:
        layout = network.layout
        mean, _ = network.encoder.centre(layout, layout.cells(values), layout.by_group(observed))
        return decoding.natural(network.decoder(layout, mean))

    def of_member(network: PartialVAE) -> tuple[Array, Array]:
        return jax.lax.map(lambda row: of_row(network, *row), (values, observed), batch_size=BLOCK)

    return networks.each(of_member)


def logged_rows(networks: Members, log: Log, rewards: np.ndarray, taken: np.ndarray | None, rows: np.ndarray) -> Logged:
    """Sort rows by action into whole blocks, so that a block adds to the running sums of one action only."""
    actions = len(log.action_labels)
    per_action = [rows[log.actions[rows] == action] for action in range(actions)]
    blocks = [max(1, math.ceil(len(rows_of_action) / BLOCK)) for rows_of_action in per_action]
    index = np.full((sum(blocks), BLOCK), -1)
    flat, start = index.reshape(-1), 0
    for rows_of_action, count in zip(per_action, blocks, strict=True):
        flat[start : start + len(rows_of_action)] = rows_of_action
        start += count * BLOCK
    real = index >= 0
    share = np.where(real, 1.0 if taken is None else 1.0 / taken[index], 0.0)
    keys, constants = _keys(networks, jnp.asarray(log.values[flat]), jnp.asarray(log.observed[flat]))
    shape = (networks.count, *index.shape)
    return Logged(
        keys.reshape(*shape, -1),
        jnp.where(jnp.asarray(real)[None], constants.reshape(shape), -jnp.inf),
        jnp.asarray(np.where(real, rewards[index], 0.0) * share, jnp.float32),
        jnp.asarray(share, jnp.float32),
        jnp.asarray(np.repeat(np.arange(actions), blocks), jnp.int32),
    )


_RULES: dict[str, Rule] = {
    **SHARED_RULES,
    "propensity": PROPENSITY_RULE,
    "form": one_of("self_normalised", "inverse_propensity", "centred", "matching"),
    "logged_rows": optional(whole(20)),
}


@dataclass(frozen=True)
class SPVAE:
    """The paper's similarity model: θ̂(x,a) = Σ wᵢ 1[Aᵢ=a] Rᵢ / π̂0(a|x̃ᵢ) with wᵢ ∝ p(x|x̃ᵢ).

    form: "self_normalised" divides by the same sum without Rᵢ; "inverse_propensity" is eq 12 as printed; "centred" is
        eq 12 of the rewards less their mean, which is added again; "matching" is the form of the appendix, which needs
        no propensity. Adding a constant to all rewards adds it to all prices, except with eq 12 as printed.
    logged_rows: compare with a random subset of this many logged rows (as the paper remarks); None uses all, in blocks.
    A fitted SPVAE keeps the logged rows it compares with, so a saved one contains data of the log.
    """

    stored_as: ClassVar[str] = "similarity"
    members: int = 1
    samples: int = 20
    hide: float = 0.1
    form: Form = "self_normalised"
    propensity: Propensity = ImputedLogistic()
    logged_rows: int | None = None
    sizes: Sizes = Sizes()
    training: Training = Training()

    def __post_init__(self) -> None:
        check("SPVAE", _RULES, vars(self))

    @classmethod
    def preset(cls, name: str, **options: Any) -> "SPVAE":
        """Settings for less time ("fast") or a better model ("best"); `options` take precedence."""
        return cls(**(preset_options("SPVAE", name) | options))

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
    ) -> "SPVAE":
        """The paper's model as its likely ancestor (EDDI) is written, with eq 12; docs/paper.md has the other readings.

        rows, epochs: of the log, and passes over it. sizes: widths; their form is the paper's. noise: None learns it.
        `options` take precedence.
        """
        printed = {"samples": 1, "hide": 0.0, "form": "inverse_propensity"}
        return cls(**(printed_options(rows, epochs, sizes, noise, batch) | printed | options))

    def network(self, schema: Schema, actions: int, key: PRNGKeyArray) -> PartialVAE:
        return PartialVAE(layout_of(schema), **self.sizes.of(schema), key=key)

    def blank(self, schema: Schema, actions: int) -> SimilarityModel:
        """An untrained model of the same shape, to be filled from a folder; what depends on the log has size 0."""
        networks = untrained(partial(self.network, schema, actions), self.members)
        sums = jnp.zeros((0, BLOCK))
        keys = jnp.zeros((self.members, 0, BLOCK, 0))
        logged = Logged(keys, keys[..., 0:1].sum(-1), sums, sums, jnp.zeros(0, jnp.int32))
        return SimilarityModel(networks, logged, RewardScale(jnp.float32(0), jnp.float32(1)), actions, self.form)

    @property
    def loss(self) -> FeatureLoss:
        return FeatureLoss(self.hide)

    def draw_size(self, schema: Schema) -> int:
        return self.sizes.of(schema)["latent"] + len(schema)

    def fit(self, log: Log, seed: int = 0, progress: Progress = None) -> Fitted:
        """Learn from a log; `progress=None` shows a bar on a terminal and nothing elsewhere."""
        return fit_one(self, log, seed, progress)

    def prepare(self, log: Log, seed: int) -> Prepared:
        """The propensity is for the prices only: the features are learnt from all rows equally."""
        how = "raw" if self.form == "inverse_propensity" else "standardised"
        scale, origin = reward_scale(log, how), reward_origin(log, how)
        propensity = None if self.form == "matching" else self.propensity.fit(log, seed=seed)
        columns = training_arrays(log, scale, None, origin)
        return Prepared(columns, scale, propensity, origin=origin, censoring=Censoring.of(log, seed))

    def decided(self, log: Log, prepared: Prepared, seed: int) -> tuple[Any, tuple[str, ...]]:
        """Nothing is left to the log."""
        return self, ()

    def start(self, logs: Sequence[Log], prepared: Sequence[Prepared], seed: int) -> Callable[[Members], Members]:
        return lambda networks: networks

    def finish(self, log: Log, prepared: Prepared, trained: Trained, seed: int) -> Fitted:
        """The fitted model, with the logged rows it compares with."""
        rows = np.flatnonzero(log.rewarded)
        if self.logged_rows is not None and self.logged_rows < len(rows):
            rows = np.sort(np.random.default_rng(seed).choice(rows, self.logged_rows, replace=False))
        taken = None if prepared.propensity is None else prepared.propensity.taken
        if prepared.censoring is not None:  # a row is there if its action was taken and its outcome seen
            taken = prepared.censoring.seen if taken is None else taken * prepared.censoring.seen
        logged = logged_rows(trained.networks, log, prepared.columns["reward"], taken, rows)
        model = SimilarityModel(trained.networks, logged, prepared.scale, len(log.action_labels), self.form)
        active = active_latents(trained.networks, PartialVAE.posterior_mean, prepared.columns)
        report = fit_report(log, trained, active, prepared.propensity, (), prepared.censoring)
        return Fitted.of(self, log, model, report, prepared.support, prepared.origin)
