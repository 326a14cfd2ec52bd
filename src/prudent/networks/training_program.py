"""The training program: some steps of every member at once, and the criterion on held-out rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from prudent.errors import TRUTH, check, number, one_of, optional, whole
from prudent.networks.compiling import compiled

Network = Any
Record = Any
Loss = Callable[[Network, Record, Array, Array], tuple[Float[Array, " record"], Float[Array, "record ..."]]]
"""(network, a batch of records, uniforms [record, sample, uniform], a uniform per record and attribute that decides
what to hide) -> (the training loss of each record, the criterion for held-out records).

A loss may name `parts` of the network, its fields. It then has a criterion for each, [record, part], and of each part
the weights of its own best round are kept."""

_RULES = {
    "batch": whole(1),
    "rounds": whole(1),
    "steps_per_round": whole(1),
    "patience": whole(1),
    "learning_rate": number(0, ends="()"),
    "clip": optional(number(0, ends="()")),
    "weight_decay": number(0),
    "seconds": optional(number(0, ends="()")),
    "extensions": whole(0),
    "schedule": one_of("cosine", "constant"),
    "hold_out": TRUTH,
}


@dataclass(frozen=True)
class Training:
    """How long and how fast to train. A round is `steps_per_round` steps, then the criterion on held-out rows.

    rounds: the most rounds; training stops earlier when the criterion has not improved for `patience` of them.
    seconds: a budget of time. The speed is measured first, and only as many rounds are run as fit into it; the
        learning rate decays over just these. Two such fits may differ, since the speed of a machine varies.
    extensions: how often training may go on after the last round, each time for twice as many rounds as before, where
        held-out rows show that it was still learning; not with a budget of time.
    clip: the largest norm of a gradient; None does not limit it.
    schedule: "cosine" lets the learning rate rise for a hundred steps and then fall to zero; "constant" keeps it.
    hold_out: keep a seventh of the rows back, stop early and keep the best round by them. Without, all rows are learnt
        from and the last round is kept.
    """

    learning_rate: float = 5e-3
    batch: int = 128
    rounds: int = 16
    steps_per_round: int = 50
    patience: int = 10
    clip: float | None = 1.0
    weight_decay: float = 1e-4
    seconds: float | None = None
    extensions: int = 0
    schedule: Literal["cosine", "constant"] = "cosine"
    hold_out: bool = True

    def __post_init__(self) -> None:
        check("Training", _RULES, vars(self))

    @classmethod
    def plain_adam(cls, rows: int, epochs: int, batch: int = 8, learning_rate: float = 1e-3) -> "Training":
        """Adam at one learning rate for so many passes over all rows, and nothing else: how papers often train.

        >>> plain = Training.plain_adam(rows=4000, epochs=20)
        >>> plain.rounds * plain.steps_per_round, plain.schedule, plain.hold_out
        (10000, 'constant', False)
        """
        check("Training.plain_adam", {"rows": whole(1), "epochs": whole(1)}, {"rows": rows, "epochs": epochs})
        steps = -(-rows // batch)
        return cls(
            learning_rate,
            batch=batch,
            rounds=epochs,
            steps_per_round=steps,
            patience=epochs,
            clip=None,
            weight_decay=0.0,
            schedule="constant",
            hold_out=False,
        )


class State(NamedTuple):
    """Of every member: its arrays, those of the best rounds, and the criterion of each part at best and now."""

    arrays: Any
    optimiser: Any
    best_arrays: Any
    best: Float[Array, "... part"]
    now: Float[Array, "... part"]


def parts_of(loss: Loss) -> tuple[str, ...]:
    return getattr(loss, "parts", ())


@lru_cache(maxsize=8)
def learning_rates(training: Training, rounds: int) -> np.ndarray:
    """The rate of every step: a linear rise, then half a cosine down to zero at the end of the last round; or the same
    for all.

    They enter the program as numbers, so that one program serves any number of rounds.
    """
    steps = rounds * training.steps_per_round
    if training.schedule == "constant":
        return np.full(steps, training.learning_rate, np.float32)
    schedule = optax.warmup_cosine_decay_schedule(0.0, training.learning_rate, min(100, steps // 10 + 1), steps, 0.0)
    # compiled, and one by one, as the steps themselves: other ways differ in the last bit
    return np.asarray(jax.jit(lambda counts: jax.lax.map(schedule, counts))(np.arange(steps, dtype=np.int32)))


def optimiser_of(training: Training, rate: Any) -> optax.GradientTransformation:
    limit = [] if training.clip is None else [optax.clip_by_global_norm(training.clip)]
    return optax.chain(*limit, optax.adamw(lambda _: rate, weight_decay=training.weight_decay))


class Program(NamedTuple):
    """What the training program depends on besides the state of the networks.

    `data` are columns that all members learn from; those in `per_member` have a leading member axis.
    """

    shared: Any
    loss: Loss
    training: Training
    data: dict[str, Array]
    per_member: dict[str, Array]
    points: Any

    @property
    def attributes(self) -> int:
        return self.data["observed"].shape[1] if "observed" in self.data else self.per_member["observed"].shape[2]


@compiled
def advance(state: State, program: Program, rates: Any, key: Any, first: Any, indices: Any) -> State:
    """Some steps of a round for every member, from its step `first` on, each with its learning rate."""
    points, attributes = program.points, program.attributes
    uniforms = points.shape[1]

    def step(data, carry, step_input):
        arrays, optimiser_state = carry
        rows, step_key, rate = step_input
        optimiser = optimiser_of(program.training, rate)
        noise = jax.random.uniform(step_key, (rows.shape[0], uniforms + attributes))

        def batch_loss(arrays):
            network = eqx.combine(arrays, program.shared)
            records = jax.tree.map(lambda column: column[rows], data)
            # a random shift of the same quasi-random points: better spread than fresh draws, and cheaper
            moved = points[None] + noise[:, None, :uniforms]
            shifted = jnp.clip(moved - jnp.floor(moved), 1e-6, 1 - 1e-6)
            return jnp.mean(program.loss(network, records, shifted, noise[:, uniforms:])[0])

        gradient = jax.grad(batch_loss)(arrays)
        updates, optimiser_state = optimiser.update(gradient, optimiser_state, arrays)
        return (optax.apply_updates(arrays, updates), optimiser_state), None

    def member(arrays, optimiser_state, member_data, rows, key):
        keys = jax.random.split(key, program.training.steps_per_round)
        keys = jax.lax.dynamic_slice_in_dim(keys, first, rows.shape[0])
        start = (arrays, optimiser_state)
        return jax.lax.scan(partial(step, program.data | member_data), start, (rows, keys, rates))[0]

    arrays, optimiser_state = jax.vmap(member)(state.arrays, state.optimiser, program.per_member, indices, key)
    return state._replace(arrays=arrays, optimiser=optimiser_state)


@compiled
def judge(state: State, program: Program, held_out: Any) -> State:
    """The held-out criterion of every member; the best arrays so far are kept."""

    def member(state: State, member_data):
        network = eqx.combine(state.arrays, program.shared)
        data = program.data | member_data

        rows, weight = held_out
        batch = min(program.training.batch, rows.shape[0])

        def criterion(_, some):
            records = jax.tree.map(lambda column: column[some], data)
            points = jnp.broadcast_to(program.points, (batch, *program.points.shape))
            return None, program.loss(network, records, points, jnp.ones((batch, program.attributes)))[1]

        values = jax.lax.scan(criterion, None, rows.reshape(-1, batch))[1].reshape(rows.size, -1)
        now = weight @ values / jnp.sum(weight)
        better = now > state.best if program.training.hold_out else jnp.ones_like(now, bool)
        keep = _better_parts(parts_of(program.loss), better, state.arrays, state.best_arrays)
        return state._replace(best_arrays=keep, best=jnp.where(better, now, state.best), now=now)

    return jax.vmap(member)(state, program.per_member)


def _better_parts(parts: tuple[str, ...], better: Array, new: Any, old: Any) -> Any:
    """The new arrays of every part that is better than before, the old ones of the others."""

    def kept(at: int, new: Any, old: Any) -> Any:
        return jax.tree.map(lambda now, before: jnp.where(better[at], now, before), new, old)

    for at, name in enumerate(parts):
        part = kept(at, getattr(new, name), getattr(old, name))
        old = eqx.tree_at(lambda network, name=name: getattr(network, name), old, part)
    return old if parts else kept(0, new, old)
