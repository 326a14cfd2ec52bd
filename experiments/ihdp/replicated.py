"""The package's models on many replications at once: one network for each, trained and evaluated in one program."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments.ihdp.ours import ARMS, Encoded, answers
from experiments.rivals.effects import Answer, Progress, Study, chunks
from prudent import CPVAE, SPVAE, CausalPVAE
from prudent.decide import Model, OutcomeCalibration
from prudent.models import FeatureLoss, RewardScale, SimilarityModel
from prudent.models.causal import CausalLoss, CausalModel
from prudent.models.conditional import ConditionalLoss, ConditionalModel
from prudent.models.possible import Possible
from prudent.models.similarity import logged_rows
from prudent.networks import Members, quasi_random, train
from prudent.propensity import FittedPropensity

ROWS_AT_ONCE = 16
Columns = dict[str, np.ndarray]
Build = Callable[[Any, Any], Model]


@dataclass(frozen=True)
class Replicated:
    """A model of the package fitted to every replication, and the effect by what it expects of both arms.

    completions: of each record. learnt_from: the share of the rows that a network learns from, drawn anew for each
    replication; all rows get prices. compared_with_all: whether SPVAE's prices are sums over all rows, or over those
    that its network learnt from. chunk: replications in one program.
    """

    model: CausalPVAE | CPVAE | SPVAE
    completions: int = 64
    learnt_from: float = 1.0
    chunk: int = 250
    compared_with_all: bool = False

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        encoded, prices = Encoded.of(study), []
        propensities = []
        if not isinstance(self.model, CausalPVAE):
            propensities = [self.model.propensity.fit(table, seed=seed) for table in encoded.tables()]
        for index, part in enumerate(chunks(study, self.chunk)):
            start = index * self.chunk
            some = _Some.of(part.study, self.learnt_from, seed + start, self._rewards)
            chances = propensities if study.shared else _padded(propensities[start : start + self.chunk], some)
            prices.append(self._prices(some, chances, seed + start, progress)[: part.genuine])
        return answers(study, encoded, seed, np.concatenate(prices))

    @property
    def _rewards(self) -> str:
        """How networks and sums see outcomes, see `CPVAE`."""
        if isinstance(self.model, CPVAE):
            return self.model.rewards
        as_printed = isinstance(self.model, SPVAE) and self.model.form == "inverse_propensity"
        return "raw" if as_printed else "standardised"

    def _prices(
        self, some: "_Some", propensities: list[FittedPropensity], seed: int, progress: Progress | bool | None
    ) -> np.ndarray:
        model = self.model
        if isinstance(model, CausalPVAE):
            size = _latent(model, some) + some.attributes
            networks = _trained(model, CausalLoss(model.hide), some, some.columns(), size, seed, progress)
            return self._expected(some, _causal, networks.shared, (networks.arrays, some.scale), size, seed)
        if isinstance(model, CPVAE):
            columns = _with_reward(some, [model.weights_of(propensity) for propensity in propensities])
            networks = _trained(model, ConditionalLoss(model.hide), some, columns, _latent(model, some), seed, progress)
            arms = np.bincount(some.encoded.log.actions, minlength=ARMS) / some.study.rows
            context = (networks.shared, jnp.asarray(arms, jnp.float32), model.prices == "record")
            size = _latent(model, some) + some.attributes + 2
            return self._expected(some, _conditional, context, (networks.arrays, some.scale), size, seed)
        return self._similar(model, some, propensities, seed, progress)

    def _similar(
        self, model: SPVAE, some: "_Some", propensities: list[FittedPropensity], seed: int, progress: Any
    ) -> np.ndarray:
        """The partial VAE sees no outcomes: where all replications have one table and all rows, it is fitted once."""
        size = _latent(model, some) + some.attributes
        networks = _trained(model, FeatureLoss(model.hide), some, some.columns(), size, seed, progress, some.alike)
        logs = some.encoded.tables()
        context: Any
        if some.alike:
            taken = propensities[0].taken
            logged = [
                logged_rows(networks, logs[0], rewards, taken, np.arange(len(rewards))) for rewards in some.standard
            ]
            context, build = (networks, logged[0], model.form), _similar_alike
            parts = (jnp.stack([rows.gain for rows in logged]), some.scale)
        else:
            logged = []
            for index, table in enumerate(some.table):
                network = Members(
                    jax.tree.map(lambda leaf, at=index: leaf[at : at + 1], networks.arrays), networks.shared
                )
                taken = propensities[table].taken
                rows = np.arange(some.study.rows) if self.compared_with_all else some.rows[index]
                logged.append(logged_rows(network, logs[table], some.standard[index], taken, rows))
            context, build = (networks.shared, model.form), _similar
            parts = (networks.arrays, jax.tree.map(lambda *leaves: jnp.stack(leaves), *logged), some.scale)
        return self._expected(some, build, context, parts, size, seed)

    def _expected(self, some: "_Some", build: Build, context: Any, parts: Any, size: int, seed: int) -> np.ndarray:
        uniforms = jnp.asarray(quasi_random(self.completions, size, seed + 1))
        members = self.model.members if build is _similar_alike else 1
        uniforms = jnp.broadcast_to(uniforms, (members, *uniforms.shape))
        values, observed = (jnp.asarray(part.swapaxes(0, 1)) for part in (some.encoded.values, some.encoded.observed))
        expected = _expected(build, context, parts, values, observed, uniforms)
        return np.asarray(expected, np.float64).swapaxes(0, 1)


@dataclass(frozen=True, eq=False)
class _Some:
    """Replications of one program: which rows each learns from, [replication, row], and its outcomes as networks see
    them.

    scale: what is taken off each replication's outcomes, and what they are then divided by: by default the mean and the
    standard deviation of those rows.
    """

    study: Study
    encoded: Encoded
    rows: np.ndarray
    standard: np.ndarray
    scale: tuple[Array, Array]

    @classmethod
    def of(cls, study: Study, learnt_from: float, seed: int, rewards: str = "standardised") -> "_Some":
        count = round(learnt_from * study.rows)
        random = [np.random.default_rng([seed, index]) for index in range(study.replications)]
        rows = np.sort(np.stack([generator.permutation(study.rows)[:count] for generator in random]), axis=1)
        outcomes = np.take_along_axis(study.outcomes, rows, axis=1)
        mean, spread = outcomes.mean(axis=1), outcomes.std(axis=1)
        if rewards == "raw":
            mean, spread = np.zeros_like(mean), np.ones_like(spread)
        if rewards == "unit":
            mean, spread = outcomes.min(axis=1), np.ptp(outcomes, axis=1)
        standard = (study.outcomes - mean[:, None]) / spread[:, None]
        scale = (jnp.asarray(mean, jnp.float32), jnp.asarray(spread, jnp.float32))
        return cls(study, Encoded.of(study), rows, standard, scale)

    @property
    def attributes(self) -> int:
        return self.study.attributes

    @property
    def alike(self) -> bool:
        """Whether replications differ in nothing but their outcomes."""
        return self.study.shared and self.rows.shape[1] == self.study.rows

    @property
    def table(self) -> np.ndarray:
        return np.zeros(len(self.rows), int) if self.study.shared else np.arange(len(self.rows))

    def of_rows(self, column: np.ndarray) -> np.ndarray:
        """A column [table, row, ...] at the rows learnt from: [replication, row, ...]."""
        return column[self.table[:, None], self.rows]

    def columns(self, weights: np.ndarray | None = None) -> Columns:
        encoded = self.encoded
        shape = (len(encoded.values), self.study.rows)
        return {
            "values": self.of_rows(encoded.values),
            "observed": self.of_rows(encoded.observed),
            "action": self.of_rows(np.broadcast_to(encoded.log.actions, shape)).astype(np.int32),
            "weight": self.of_rows(np.ones(shape) if weights is None else weights).astype(np.float32),
            "reward": np.take_along_axis(self.standard, self.rows, axis=1).astype(np.float32),
        }


def _padded(propensities: list[FittedPropensity], some: _Some) -> list[FittedPropensity]:
    """One for each table of the chunk: the last one is repeated, as the chunk's last table is."""
    return propensities + propensities[-1:] * (some.study.replications - len(propensities))


def _latent(model: CausalPVAE | CPVAE | SPVAE, some: _Some) -> int:
    return model.sizes.of(some.encoded.log.schema)["latent"]


def _with_reward(some: _Some, weights: list[np.ndarray]) -> Columns:
    """The reward is one more attribute."""
    columns = some.columns(np.stack(weights))
    seen = np.ones(columns["reward"].shape, bool)
    columns["values"] = np.concatenate([columns["values"], columns["reward"][..., None]], axis=2)
    columns["observed"] = np.concatenate([columns["observed"], seen[..., None]], axis=2)
    return columns


def _trained(
    model: CausalPVAE | CPVAE | SPVAE,
    loss: Any,
    some: _Some,
    columns: Columns,
    size: int,
    seed: int,
    progress: Progress | bool | None,
    once: bool = False,
) -> Members:
    """A network for each replication; with `once`, the model's members on what all replications share."""
    schema = some.encoded.log.schema
    make = partial(model.network, schema, ARMS)
    same = [name for name in columns if some.alike and name in ("observed", "action", "weight")]
    if some.alike and not isinstance(model, CPVAE):
        same.append("values")
    return train(
        make,
        loss,
        {name: columns[name][0] for name in (columns if once else same)},
        points=quasi_random(model.samples, size, seed),
        training=model.training,
        members=model.members if once else some.study.replications,
        seed=seed,
        per_member={} if once else {name: column for name, column in columns.items() if name not in same},
        progress=progress,
    ).networks


def _causal(shared: Any, part: Any) -> Model:
    arrays, scale = part
    networks = _single(arrays, shared)
    possible = Possible.anything(networks.shared.features.layout.attributes)
    known = jnp.zeros((1, ARMS, 1, 1))
    nothing = OutcomeCalibration.none(known.shape[1])
    return CausalModel(networks, RewardScale(*scale), possible, known, nothing, nothing)


def _conditional(context: Any, part: Any) -> Model:
    (shared, arms, from_record), (arrays, scale) = context, part
    return ConditionalModel(_single(arrays, shared), RewardScale(*scale), arms, from_record)


def _similar(context: Any, part: Any) -> Model:
    (shared, form), (arrays, logged, scale) = context, part
    return SimilarityModel(_single(arrays, shared), logged, RewardScale(*scale), ARMS, form)


def _similar_alike(context: Any, part: Any) -> Model:
    (networks, logged, form), (gain, scale) = context, part
    rows = eqx.tree_at(lambda rows: rows.gain, logged, gain)
    return SimilarityModel(networks, rows, RewardScale(*scale), ARMS, form)


def _single(arrays: Any, shared: Any) -> Members:
    return Members(jax.tree.map(lambda leaf: leaf[None], arrays), shared)


@eqx.filter_jit
def _expected(build: Build, context: Any, parts: Any, values: Array, observed: Array, uniforms: Array) -> Array:
    """What the model of every replication expects of both arms, [row, replication, arm]; tables are [row, table, …]."""

    def row(tables: tuple[Array, Array]) -> Array:
        def one(part: Any, cells: Array, seen: Array) -> Array:
            model = build(context, part)
            completions = model.complete(cells, seen, uniforms, False)
            if isinstance(model, ConditionalModel) and model.prices_records:
                by_member = model.record_prices(cells, seen, uniforms, completions.values, False)
            else:
                by_member = jax.vmap(model.price)(completions.values)
            return jnp.exp(completions.log_weights) @ jnp.mean(by_member, axis=1)

        shared = tables[0].shape[0] == 1
        cells, seen = (part[0] if shared else part for part in tables)
        return jax.vmap(one, in_axes=(0, None, None) if shared else 0)(parts, cells, seen)

    return jax.lax.map(row, (values, observed), batch_size=ROWS_AT_ONCE)
