"""Training: members that learn side by side, round by round, until held-out rows say that it is enough."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from prudent.errors import InputProblem
from prudent.networks.compiling import QUICK, release_programs, use_compilation_cache
from prudent.networks.layout import Layout
from prudent.networks.training_program import Loss, Network, Program, Training
from prudent.networks.training_run import Run
from prudent.progress import Progress, reporting
from prudent.table import first_groups

# For a program that runs once and briefly: compiles in a third of the time and gives the same bits.
RUN_ONCE = QUICK | {"xla_backend_optimization_level": 1}


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
    """Members with drawn weights; equal `make`s share a compiled program."""
    keys = jax.random.split(jax.random.key(seed), members)
    # under jit even for the shared rest: op by op, drawing one network's arrays takes seconds
    return Members(_weights(make, keys), _rest(make, keys[0]))


@partial(jax.jit, static_argnums=0, compiler_options=RUN_ONCE)
def _weights(make: Callable[[PRNGKeyArray], Network], keys: Array) -> Any:
    return jax.vmap(lambda key: split_trainable(make(key))[0])(keys)


@eqx.filter_jit
def _rest(make: Callable[[PRNGKeyArray], Network], key: PRNGKeyArray) -> Any:
    return split_trainable(make(key))[1]


def bucket(rows: int) -> int:
    """Round up to one of a few sizes, so that tables of similar length share a compiled program."""
    return 1 << max(rows - 1, 127).bit_length()


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

    return jax.device_put({name: np.pad(column, widths(column)) for name, column in columns.items()})


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
    groups: np.ndarray | None = None,
    per_member: dict[str, np.ndarray] | None = None,
    start: Callable[["Members"], "Members"] = lambda networks: networks,
    progress: Progress = None,
) -> Trained:
    """Fit `members` networks; each stops when no part of it has improved on held-out rows for `patience` rounds, where
    rows are held out.

    `may_hold_out` marks the rows that can be held out (rows with a reward, say), and rows with the same number in
    `records` are held out together; where rows belong to `groups`, these decide alone, and nothing is learnt from the
    other rows of a group that is held out.
    `per_member` are columns [member, row, ...] in which members differ: a thousand replications of a study are one
    program. `start` may change the networks' initial weights.
    """
    use_compilation_cache()
    release_programs()
    began, differing = monotonic(), per_member or {}
    rows = len(data["observed"]) if "observed" in data else differing["observed"].shape[1]
    generator = np.random.default_rng(seed)
    candidates = generator.permutation(np.arange(rows) if may_hold_out is None else np.flatnonzero(may_hold_out))
    count = min(max(len(candidates) // 7, 1), 2000)
    if groups is None:
        held = _held_out(candidates, count, records)
        aside = held
    else:
        held = candidates[first_groups(groups[candidates], count, generator)]
        aside = np.flatnonzero(np.isin(groups, groups[held]))
    fitted = np.setdiff1d(np.arange(rows), aside) if training.hold_out else np.arange(rows)
    held_out = np.zeros(bucket(len(held)), np.int32), np.zeros(bucket(len(held)), np.float32)
    held_out[0][: len(held)], held_out[1][: len(held)] = held, 1.0
    padding = bucket(rows) - rows
    padded, padded_per_member = _padded(data, padding, axis=0), _padded(differing, padding, axis=1)

    networks = start(initialise(make, members, seed))
    # how long training lasts is no part of the program, so that one serves any number of rounds
    settings = replace(training, rounds=1, patience=1, seconds=None, extensions=0)
    program = Program(networks.shared, loss, settings, padded, padded_per_member, points)
    run = Run.of(program, networks.arrays, training, (fitted, held_out), seed)
    with reporting(progress):
        rounds = training.rounds if training.seconds is None else run.rounds_in_time(began)
        arrays, history = run.all_rounds(rounds)
    if not np.isfinite(history).any(axis=0).all():
        raise InputProblem(
            "Training reached no finite bound on held-out rows; some cells are probably extreme. Look at the ranges "
            "that 'prudent inspect' shows, and leave such a column out or correct it."
        )
    cut = rounds < training.rounds and len(history) == rounds
    bound, members_of_all = history.sum(axis=2), Members(arrays, networks.shared)
    if not training.hold_out:  # the bound is then that of some of the rows learnt from
        last = np.full(members, len(bound) - 1)
        return Trained(members_of_all, bound, last, np.zeros(0, int), cut)
    return Trained(members_of_all, bound, np.argmax(bound, axis=0), np.sort(held), cut)
