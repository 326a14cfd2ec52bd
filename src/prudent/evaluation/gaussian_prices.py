"""Prices by a Gaussian process on the completions of a partial VAE: for studies of hundreds of rows."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.stats import norm

from prudent.errors import check, require, whole
from prudent.evaluation.gaussian_process import Kernel, Known, Surfaces, known_of, learn
from prudent.evaluation.prices import Prices
from prudent.models import SHARED_RULES, FeatureLoss, PartialVAE, Sizes
from prudent.networks import Layout, Members, Training, compiled, layout_of, quasi_random, train
from prudent.progress import Progress
from prudent.table import Column, Log, Schema, count_groups, group_codes

ACTION = "\0action"  # a name that no column of a table has
MOST_ROWS = 20_000
"""Beyond these, memory would grow with rows × actions, and learners for many rows do as well."""


@dataclass(frozen=True)
class GaussianPrices:
    """Prices from a Gaussian process, one surface per action learnt together, on a partial VAE's completions.

    The partial VAE learns the attributes together with the action, which is informative about a gap if those who
    decided knew more than the table. Outcomes are not used for completing. Each row is priced without its outcome
    and those of its group (exactly, by a formula, at strengths learnt from all rows); `Prices.informed` uses them.

    members: partial VAEs whose completions are pooled. completions: of each record by each of them.
    landmarks: the smooth part's; more are finer and slower.
    """

    members: int = 5
    completions: int = 64
    landmarks: int = 80
    samples: int = 20
    hide: float = 0.1
    sizes: Sizes = Sizes()
    training: Training = Training()

    def __post_init__(self) -> None:
        check("GaussianPrices", {**SHARED_RULES, "completions": whole(1), "landmarks": whole(1)}, vars(self))

    def fit(self, log: Log, below: float | None = None, seed: int = 0, progress: Progress = None) -> Prices:
        """Prices of every row; `below` in the internal sign."""
        lacking = int((~log.rewarded).sum())
        require(lacking == 0, "GaussianPrices", "log", "have an action and a reward in every row", f"{lacking} without")
        most = f"have at most {MOST_ROWS} rows; leave prices= out for more"
        require(len(log) <= MOST_ROWS, "GaussianPrices", "log", most, len(log))
        count = len(log.action_labels)
        known = self.known(log.schema, log.values[None], log.observed[None], log.actions, count, seed, progress)
        learnt = surfaces(known, log.actions, log.rewards[None], count, members=_members(log.groups))
        informed, left_out, deviation = (array[0] for array in learnt)
        tail = None if below is None else norm.cdf((below - left_out) / deviation)
        source = "a Gaussian process on these rows, each priced without its outcome"
        return Prices(left_out, tail, source, informed)

    def known(
        self,
        schema: Schema,
        values: np.ndarray,
        observed: np.ndarray,
        actions: np.ndarray,
        count: int,
        seed: int = 0,
        progress: Progress = None,
    ) -> Known:
        """What is known of the rows of tables [table, row, attribute] that share a schema; fields gain a table axis."""
        columns = (*schema.columns, Column(ACTION, "categorical", tuple(str(code) for code in range(max(count, 2)))))
        joint = Schema(columns)
        codes = np.broadcast_to(np.asarray(actions, values.dtype)[None, :, None], (*values.shape[:2], 1))
        data = {
            "values": np.concatenate([values, codes], axis=2).astype(np.float32),
            "observed": np.concatenate([observed, np.ones(codes.shape, bool)], axis=2),
        }
        layout = layout_of(joint)
        inputs = _Inputs(_kept(layout, len(schema)))
        size = self.sizes.of(joint)["latent"] + len(joint)
        if observed.all():
            records = np.asarray(inputs(layout.cells(jnp.asarray(data["values"]))))
            kernel = Kernel.of(records[0].astype(np.float64), self.landmarks, seed)
            return _known_complete(kernel, jnp.asarray(records))
        networks = self._trained(joint, data, size, seed, progress)
        rows = {name: jnp.asarray(column) for name, column in data.items()}
        one = np.asarray(_drawn(networks, rows, jnp.asarray(quasi_random(len(values[0]), size, seed + 1)), inputs))
        kernel = Kernel.of(one.astype(np.float64), self.landmarks, seed)
        points = jnp.asarray(quasi_random(self.completions, size, seed + 2))
        return _known(networks, rows, points, kernel, inputs, self.members)

    def _trained(
        self, schema: Schema, data: dict[str, np.ndarray], size: int, seed: int, progress: Progress
    ) -> Members:
        tables = len(data["values"])
        repeated = {name: np.repeat(column, self.members, axis=0) for name, column in data.items()}
        return train(
            partial(_network, schema, self.sizes),
            FeatureLoss(self.hide),
            {} if tables > 1 else {name: column[0] for name, column in data.items()},
            points=quasi_random(self.samples, size, seed),
            training=self.training,
            members=tables * self.members,
            seed=seed,
            per_member=repeated if tables > 1 else None,
            progress=progress,
        ).networks


class Learnt(NamedTuple):
    """`Surfaces` of every replication in the outcomes' units, each [replication, row, action]."""

    expected: np.ndarray
    left_out: np.ndarray
    deviation: np.ndarray


def _network(schema: Schema, sizes: Sizes, key: Array) -> PartialVAE:
    return PartialVAE(layout_of(schema), **sizes.of(schema), key=key)


def _members(groups: np.ndarray | None) -> np.ndarray | None:
    """The rows of every group, [group, place], filled up with the number of rows; None where each row is alone."""
    if groups is None or count_groups(groups) == len(groups):
        return None
    codes, count = group_codes(groups)
    sizes, order = np.bincount(codes), np.argsort(codes, kind="stable")
    place = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = np.full((count, sizes.max()), len(codes), np.int32)
    members[codes[order], place] = order
    return members


def surfaces(
    known: Known,
    actions: np.ndarray,
    outcomes: np.ndarray,
    count: int,
    together: int = 16,
    members: np.ndarray | None = None,
) -> "Learnt":
    """Learn from outcomes [replication, row], some `together`; `known` has one table for all or one for each.

    members: the rows of every group, where rows belong together.
    """
    # standardised in double precision: far from 0, single precision would lose small effects
    centre, spread = outcomes.mean(axis=1), outcomes.std(axis=1)
    spread = np.where(spread > 0, spread, 1.0)
    standard = jnp.asarray((outcomes - centre[:, None]) / spread[:, None], jnp.float32)
    grouped = None if members is None else jnp.asarray(members)
    learnt = _surfaces(known, jnp.asarray(actions), standard, count, min(together, len(standard)), grouped)
    expected, left_out, deviation = (np.asarray(part, np.float64) * spread[:, None, None] for part in learnt)
    centre = centre[:, None, None]
    return Learnt(centre + expected, centre + left_out, deviation)


@compiled
def _surfaces(
    known: Known, actions: Array, outcomes: Array, count: int, together: int, groups: Array | None
) -> Surfaces:
    if known.linear.shape[0] == 1:
        only = jax.tree.map(lambda part: part[0], known)
        learnt = lambda replication: learn(only, actions, replication, count, groups)  # noqa: E731
        return jax.lax.map(learnt, outcomes, batch_size=together)
    learnt = lambda pair: learn(pair[0], actions, pair[1], count, groups)  # noqa: E731
    return jax.lax.map(learnt, (known, outcomes), batch_size=together)


class _Inputs(eqx.Module):
    """A completed record as the kernel sees it: numbers, and categories one-hot without their first level."""

    kept: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, cells: Float[Array, "... cell"]) -> Float[Array, "... column"]:
        return cells[..., np.array(self.kept, int)]


def _kept(layout: Layout, attributes: int) -> tuple[int, ...]:
    """Of the cells, those of the first `attributes` attributes, so not the action, and no category's first level."""
    own = np.asarray(layout.spread(jnp.asarray(layout.order))) < attributes
    if layout.categories is not None:
        starts = np.cumsum((0, *layout.categories.levels[:-1]))
        own[layout.numbers + starts] = False
    return tuple(np.flatnonzero(own).tolist())


@compiled
def _drawn(networks: Members, data: dict[str, Array], points: Array, inputs: _Inputs) -> Array:
    """One completion of every row of the first table, by its first member."""
    network = eqx.combine(jax.tree.map(lambda leaf: leaf[0], networks.arrays), networks.shared)

    def row(arrays: tuple[Array, Array, Array]) -> Array:
        values, observed, point = arrays
        return inputs(network.sample(values, observed, observed, point[None]).cells[0])

    return jax.lax.map(row, (data["values"][0], data["observed"][0], points), batch_size=128)


@compiled
def _known(
    networks: Members, data: dict[str, Array], points: Array, kernel: Kernel, inputs: _Inputs, members: int
) -> Known:
    def row(network: PartialVAE, values: Array, observed: Array) -> tuple[Array, Array]:
        samples = network.sample(values, observed, observed, points)
        return inputs(samples.cells), jax.nn.softmax(samples.log_weights) / members

    def table(members_and_rows: tuple[object, Array, Array]) -> Known:
        arrays, values, observed = members_and_rows

        def one(record: tuple[Array, Array]) -> tuple[Array, ...]:
            each = jax.vmap(lambda member: row(eqx.combine(member, networks.shared), *record))(arrays)
            completions, weights = (part.reshape(-1, *part.shape[2:]) for part in each)
            return known_of(kernel, completions, weights)

        return Known(*jax.lax.map(one, (values, observed), batch_size=64))

    arrays = jax.tree.map(
        lambda leaf: leaf.reshape(leaf.shape[0] // members, members, *leaf.shape[1:]), networks.arrays
    )
    return jax.lax.map(table, (arrays, data["values"], data["observed"]))


@compiled
def _known_complete(kernel: Kernel, records: Array) -> Known:
    alone = jnp.ones(1)
    return Known(*jax.vmap(jax.vmap(lambda record: known_of(kernel, record[None], alone)))(records))
