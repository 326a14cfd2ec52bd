"""The one training program: a scan over steps, vmapped over members, compiled once per shape."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from prudent.errors import InputProblem, check, number, whole
from prudent.networks.layout import Layout
from prudent.progress import tracked

# For a program that runs once and briefly: compiles in a third of the time and gives the same bits.
RUN_ONCE = {"xla_backend_optimization_level": 1}

Network = Any
Record = Any
Loss = Callable[[Network, Record, Array, Array], tuple[Float[Array, ""], Float[Array, ""]]]
"""(network, one record, its uniforms, a uniform per attribute that decides what to hide) -> (the training loss, the
criterion for held-out records)."""

_RULES = {
    "batch": whole(1),
    "rounds": whole(1),
    "steps_per_round": whole(1),
    "patience": whole(1),
    "learning_rate": number(0, ends="()"),
    "clip": number(0, ends="()"),
    "weight_decay": number(0),
}


@dataclass(frozen=True)
class Training:
    """How long and how fast to train. A round is `steps_per_round` steps, then the criterion on held-out rows."""

    learning_rate: float = 3e-3
    batch: int = 128
    rounds: int = 28
    steps_per_round: int = 50
    patience: int = 10
    clip: float = 1.0
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        check("Training", _RULES, vars(self))


class Trained(NamedTuple):
    networks: "Members"
    history: np.ndarray  # held-out criterion, [round, member]
    best_round: np.ndarray  # [member]
    held_out: np.ndarray  # rows that no member learnt from


class _State(NamedTuple):
    arrays: Any
    optimiser: Any
    best_arrays: Any
    best: Float[Array, ""]
    now: Float[Array, ""]


def use_compilation_cache() -> None:
    """Keep compiled programs between runs, unless the user has already chosen a place for them (or none)."""
    if jax.config.values["jax_compilation_cache_dir"] is None and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(base / "prudent" / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


class Members(eqx.Module):
    """Independently trained networks of one architecture: arrays with a leading member axis, and the shared rest."""

    arrays: Any
    shared: Any

    @property
    def count(self) -> int:
        return jax.tree.leaves(self.arrays)[0].shape[0]

    def each(self, function: Callable[..., Any], *per_member: Any) -> Any:
        """vmap `function(network, *arguments)` over the members (and over the leading axis of the arguments)."""

        def call(arrays: Any, *arguments: Any) -> Any:
            return function(eqx.combine(arrays, self.shared), *arguments)

        return jax.vmap(call)(self.arrays, *per_member)


def split_trainable(network: Network) -> tuple[Any, Any]:
    """The arrays that are trained, and the rest: a Layout describes the table and is never trained."""
    trainable = jax.tree.map(
        lambda leaf: eqx.is_inexact_array(leaf) and not isinstance(leaf, Layout),
        network,
        is_leaf=lambda leaf: isinstance(leaf, Layout),
    )
    return eqx.partition(network, trainable)


def untrained(make: Callable[[PRNGKeyArray], Network], members: int) -> Members:
    """Members of the right shapes, for `eval_shape`: op by op, so that it may stand inside another program."""
    keys = jax.random.split(jax.random.key(0), members)
    return Members(jax.vmap(lambda key: split_trainable(make(key))[0])(keys), split_trainable(make(keys[0]))[1])


def initialise(make: Callable[[PRNGKeyArray], Network], members: int, seed: int) -> Members:
    keys = jax.random.split(jax.random.key(seed), members)
    # under jit even for the shared rest: op by op, drawing one network's arrays takes seconds
    shared = eqx.filter_jit(lambda key: split_trainable(make(key))[1])(keys[0])
    drawn = jax.jit(jax.vmap(lambda key: split_trainable(make(key))[0]), compiler_options=RUN_ONCE)
    return Members(drawn(keys), shared)


def _optimiser(training: Training) -> optax.GradientTransformation:
    steps = training.rounds * training.steps_per_round
    schedule = optax.warmup_cosine_decay_schedule(0.0, training.learning_rate, min(100, steps // 10 + 1), steps, 0.0)
    return optax.chain(
        optax.clip_by_global_norm(training.clip),
        optax.adamw(schedule, weight_decay=training.weight_decay),
    )


@eqx.filter_jit
def _round(
    state: _State, shared, loss: Loss, training: Training, data, per_member, indices, held_out, points, key
) -> _State:
    """`steps_per_round` steps for every member, then the held-out criterion; the best arrays so far are kept.

    `data` are columns that all members learn from; those in `per_member` have a leading member axis.
    """
    optimiser = _optimiser(training)
    uniforms = points.shape[1]
    attributes = data["observed"].shape[1] if "observed" in data else per_member["observed"].shape[2]

    def criterion(arrays, data):
        network = eqx.combine(arrays, shared)

        def record_criterion(index):
            record = jax.tree.map(lambda column: column[index], data)
            return loss(network, record, points, jnp.ones(attributes))[1]

        rows, weight = held_out
        values = jax.lax.map(record_criterion, rows, batch_size=min(training.batch, rows.shape[0]))
        return jnp.sum(values * weight) / jnp.sum(weight)

    def step(data, carry, step_input):
        arrays, optimiser_state = carry
        rows, step_key = step_input
        noise = jax.random.uniform(step_key, (rows.shape[0], uniforms + attributes))

        def batch_loss(arrays):
            network = eqx.combine(arrays, shared)
            records = jax.tree.map(lambda column: column[rows], data)

            def record_loss(record, uniform):
                # a random shift of the same quasi-random points: better spread than fresh draws, and cheaper
                shifted = jnp.clip((points + uniform[None, :uniforms]) % 1.0, 1e-6, 1 - 1e-6)
                return loss(network, record, shifted, uniform[uniforms:])[0]

            return jnp.mean(jax.vmap(record_loss)(records, noise))

        gradient = jax.grad(batch_loss)(arrays)
        updates, optimiser_state = optimiser.update(gradient, optimiser_state, arrays)
        return (optax.apply_updates(arrays, updates), optimiser_state), None

    def member(state: _State, member_data, rows, key):
        columns = data | member_data
        keys = jax.random.split(key, rows.shape[0])
        start = (state.arrays, state.optimiser)
        (arrays, optimiser_state), _ = jax.lax.scan(partial(step, columns), start, (rows, keys))
        now = criterion(arrays, columns)
        better = now > state.best
        keep = jax.tree.map(lambda new, old: jnp.where(better, new, old), arrays, state.best_arrays)
        return _State(arrays, optimiser_state, keep, jnp.where(better, now, state.best), now)

    return jax.vmap(member)(state, per_member, indices, key)


def bucket(rows: int) -> int:
    """Round up to one of a few sizes, so that tables of similar length share a compiled program."""
    return 1 << max(rows - 1, 127).bit_length()


def _orders(rows: np.ndarray, shape: tuple[int, int, int], generator: np.random.Generator) -> np.ndarray:
    """Row numbers for [member, step, place in batch]: every pass over the rows is a fresh permutation."""
    members, steps, batch = shape
    passes = -(-steps * batch // len(rows))
    orders = [
        np.concatenate([generator.permutation(rows) for _ in range(passes)])[: steps * batch] for _ in range(members)
    ]
    return np.stack(orders).reshape(shape).astype(np.int32)


def _held_out(candidates: np.ndarray, count: int, records: np.ndarray | None) -> np.ndarray:
    """The first rows, and with each row all others of its record, until there are `count`."""
    if records is None:
        return candidates[:count]
    _, first, place, sizes = np.unique(records[candidates], return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    before = np.empty(len(order), int)
    before[order] = np.cumsum(sizes[order]) - sizes[order]
    return candidates[before[place.reshape(-1)] < count]


def _padded(columns: dict[str, np.ndarray], rows: int, axis: int) -> dict[str, Array]:
    """More rows at the end, which are never drawn."""

    def widths(column: np.ndarray) -> list[tuple[int, int]]:
        return [(0, rows if at == axis else 0) for at in range(column.ndim)]

    return {name: jnp.asarray(np.pad(column, widths(column))) for name, column in columns.items()}


def train(
    make: Callable[[PRNGKeyArray], Network],
    loss: Loss,
    data: dict[str, np.ndarray],
    *,
    points: np.ndarray,
    training: Training,
    members: int,
    seed: int,
    may_hold_out: np.ndarray | None = None,
    records: np.ndarray | None = None,
    per_member: dict[str, np.ndarray] | None = None,
    start: Callable[["Members"], "Members"] = lambda networks: networks,
    progress: Callable[[int, int], None] | bool | None = None,
) -> Trained:
    """Fit `members` networks; stop when none has improved on held-out rows for `patience` rounds.

    `may_hold_out` marks the rows that can be held out (rows with a reward, say), and rows with the same number in
    `records` are held out together; `progress(done, total)` is called after each round.
    `per_member` are columns [member, row, ...] in which members differ: a thousand replications of a study are one
    program. `start` may change the networks' initial weights.
    """
    use_compilation_cache()
    differing = per_member or {}
    rows = len(data["observed"]) if "observed" in data else differing["observed"].shape[1]
    generator = np.random.default_rng(seed)
    candidates = generator.permutation(np.arange(rows) if may_hold_out is None else np.flatnonzero(may_hold_out))
    held = _held_out(candidates, min(max(len(candidates) // 7, 1), 2000), records)
    fitted = np.setdiff1d(np.arange(rows), held)
    held_out = np.zeros(bucket(len(held)), np.int32), np.zeros(bucket(len(held)), np.float32)
    held_out[0][: len(held)], held_out[1][: len(held)] = held, 1.0
    padding = bucket(rows) - rows
    padded, padded_per_member = _padded(data, padding, axis=0), _padded(differing, padding, axis=1)

    networks = start(initialise(make, members, seed))
    arrays = networks.arrays
    state = _State(
        arrays,
        jax.jit(jax.vmap(_optimiser(training).init))(arrays),
        jax.tree.map(jnp.copy, arrays),
        jnp.full(members, -jnp.inf, jnp.float32),  # a weak type would compile the program twice
        jnp.zeros(members),
    )
    history = []
    key = jax.random.key(seed, impl="rbg")
    best_round = np.zeros(members, int)
    for done in tracked(training.rounds, "fitting", progress):
        indices = _orders(fitted, (members, training.steps_per_round, training.batch), generator)
        keys = jax.random.split(jax.random.fold_in(key, done), members)
        state = _round(
            state, networks.shared, loss, training, padded, padded_per_member, indices, held_out, points, keys
        )
        history.append(np.nan_to_num(np.asarray(state.now), nan=-np.inf))
        best_round = np.argmax(np.stack(history), axis=0)
        if np.all(done - best_round >= training.patience):
            break
    if not np.isfinite(history).any(axis=0).all():
        raise InputProblem(
            "Training reached no finite bound on held-out rows; some cells are probably extreme. Look at the ranges "
            "that 'prudent inspect' shows, and leave such a column out or correct it."
        )
    return Trained(Members(state.best_arrays, networks.shared), np.stack(history), best_round, np.sort(held))
