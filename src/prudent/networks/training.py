"""Training: members that learn side by side, round by round, until held-out rows say that it is enough."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from prudent.errors import InputProblem
from prudent.networks.compiling import QUICK, use_compilation_cache
from prudent.networks.layout import Layout
from prudent.networks.training_program import (
    Loss,
    Network,
    Program,
    State,
    Training,
    advance,
    judge,
    learning_rates,
    optimiser_of,
)
from prudent.progress import Progress, reporting, tracked, working

# For a program that runs once and briefly: compiles in a third of the time and gives the same bits.
RUN_ONCE = QUICK | {"xla_backend_optimization_level": 1}

PIECE = 1e10
"""Multiplications in one call of the training program, about: a few seconds, so that progress is seen to move."""
ACCELERATED = 100
"""An accelerator does so many times as much in that time."""

COMPILING = "compiling (10 to 30 s the first time)"


class Trained(NamedTuple):
    networks: "Members"
    history: np.ndarray  # held-out criterion, [round, member]
    best_round: np.ndarray  # [member]
    held_out: np.ndarray  # rows that no member learnt from
    cut: bool = False  # whether a budget of time allowed fewer rounds than asked for


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
    progress: Progress = None,
) -> Trained:
    """Fit `members` networks; stop when none has improved on held-out rows for `patience` rounds.

    `may_hold_out` marks the rows that can be held out (rows with a reward, say), and rows with the same number in
    `records` are held out together.
    `per_member` are columns [member, row, ...] in which members differ: a thousand replications of a study are one
    program. `start` may change the networks' initial weights.
    """
    use_compilation_cache()
    began, differing = monotonic(), per_member or {}
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
    # how long training lasts is no part of the program, so that one serves any number of rounds
    settings = replace(training, rounds=1, patience=1, seconds=None)
    program = Program(networks.shared, loss, settings, padded, padded_per_member, points)
    run = _Run(program, training, members, fitted, held_out, jax.random.key(seed, impl="rbg"))
    with reporting(progress):
        state = run.begin(networks.arrays)
        rounds = training.rounds if training.seconds is None else run.rounds_in_time(state, began, seed)
        state, history = run.all_rounds(state, rounds, generator)
    if not np.isfinite(history).any(axis=0).all():
        raise InputProblem(
            "Training reached no finite bound on held-out rows; some cells are probably extreme. Look at the ranges "
            "that 'prudent inspect' shows, and leave such a column out or correct it."
        )
    cut = rounds < training.rounds and len(history) == rounds
    best = np.argmax(history, axis=0)
    return Trained(Members(state.best_arrays, networks.shared), history, best, np.sort(held), cut)


@dataclass(frozen=True, eq=False)
class _Run:
    """One training: its program, and the rows to learn from and to judge by."""

    program: Program
    training: Training
    members: int
    fitted: np.ndarray
    held_out: tuple[np.ndarray, np.ndarray]
    key: PRNGKeyArray

    def begin(self, arrays: Any) -> State:
        return State(
            arrays,
            jax.jit(jax.vmap(optimiser_of(self.training, 0.0).init))(arrays),
            jax.tree.map(jnp.copy, arrays),
            jnp.full(self.members, -jnp.inf, jnp.float32),  # a weak type would compile the program twice
            jnp.zeros(self.members),
        )

    def pieces(self, state: State) -> int:
        """Into how many calls of the program a round is divided, each of as many steps."""
        weights = sum(leaf.size for leaf in jax.tree.leaves(state.arrays))
        steps = self.training.steps_per_round
        work = steps * self.training.batch * len(self.program.points) * weights
        most = PIECE * (1 if jax.default_backend() == "cpu" else ACCELERATED)
        fits = (count for count in range(1, steps + 1) if steps % count == 0 and work <= most * count)
        return next(fits, steps)

    def order(self, steps: int, generator: np.random.Generator) -> np.ndarray:
        return _orders(self.fitted, (self.members, steps, self.training.batch), generator)

    def steps(self, state: State, rates: np.ndarray, done: int, first: int, indices: np.ndarray) -> State:
        """Steps of the round `done`, from its step `first` on."""
        keys = jax.random.split(jax.random.fold_in(self.key, done), self.members)
        return jax.block_until_ready(advance(state, self.program, rates, keys, jnp.int32(first), indices))

    def judged(self, state: State) -> State:
        return jax.block_until_ready(judge(state, self.program, self.held_out))

    def all_rounds(self, state: State, rounds: int, generator: np.random.Generator) -> tuple[State, np.ndarray]:
        """The last state, which has the best arrays, and the criterion [round, member]."""
        history, indices, pieces = [], np.zeros(0), self.pieces(state)
        size = self.training.steps_per_round // pieces
        rates = learning_rates(self.training, rounds)
        for at in tracked(rounds * pieces, "training"):
            done, first = at // pieces, at % pieces * size
            if first == 0:
                indices = self.order(self.training.steps_per_round, generator)
            with working(COMPILING) if at == 0 else nullcontext():
                now = rates[at * size : (at + 1) * size]
                state = self.steps(state, now, done, first, indices[:, first : first + size])
            if at % pieces < pieces - 1:
                continue
            state = self.judged(state)
            history.append(np.nan_to_num(np.asarray(state.now), nan=-np.inf))
            if np.all(done - np.argmax(np.stack(history), axis=0) >= self.training.patience):
                break
        return state, np.stack(history)

    def rounds_in_time(self, state: State, began: float, seed: int) -> int:
        """The number of rounds that fit into the budget, by a piece of a round that is run twice and thrown away."""
        pieces = self.pieces(state)
        size = self.training.steps_per_round // pieces
        trial, rates = self.order(size, np.random.default_rng(seed)), np.zeros(size, np.float32)
        times = []
        with working(f"measuring the speed; {COMPILING}"):
            for _ in range(2):  # the first time it is compiled
                times = [monotonic()]
                self.steps(state, rates, 0, 0, trial)
                times.append(monotonic())
                self.judged(state)
                times.append(monotonic())
        start, between, end = times
        one_round = pieces * (between - start) + (end - between)
        left = (self.training.seconds or 0.0) - (end - began)
        return int(np.clip(left / max(one_round, 1e-9), 1, self.training.rounds))
