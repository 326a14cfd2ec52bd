"""One training: the rounds of its members, in groups that are trained side by side.

On a processor one program leaves half of two cores idle, so the members are divided into groups, and each core trains a
group for a while. Members do not depend on one another, so what they learn does not depend on who is trained when.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from prudent.networks.compiling import compiled
from prudent.networks.side_by_side import workers
from prudent.networks.training_program import (
    Program,
    State,
    Training,
    advance,
    judge,
    learning_rates,
    optimiser_of,
    parts_of,
)
from prudent.progress import tracked, working

PIECE = 1e10
"""Multiplications in one call of the training program, about: a few seconds, so that progress is seen to move."""
ACCELERATED = 100
"""An accelerator does so many times as much in that time."""
MOST_GROUPS = 16
"""With more, one program for all members is faster: each of them is small."""

STILL_LEARNING = 0.01
"""Nats for a held-out row that the criterion rises by in the second half of all rounds, where training goes on."""

COMPILING = "compiling (10 to 30 s the first time)"


def group_size(members: int, cores: int) -> int:
    """Members in a group: as many as leave a group for every core, in groups of one size.

    >>> [group_size(3, 2), group_size(100, 2), group_size(97, 2), group_size(3, 1)]
    [1, 50, 97, 3]
    """
    fits = [size for size in range(1, members + 1) if members % size == 0 and members // size >= cores]
    size = max(fits, default=1)
    return members if cores == 1 or members // size > MOST_GROUPS else size


@dataclass(eq=False)
class Group:
    """Members that are trained by one call; `history` is the criterion of each round so far, [member, part]."""

    program: Program
    state: State
    members: range
    pieces: int = 0
    history: list[np.ndarray] = field(default_factory=list)

    def improves(self, patience: int) -> bool:
        """Whether some part of a member has improved in the last `patience` rounds."""
        best = np.argmax(np.stack(self.history), axis=0)
        return bool(np.any(len(self.history) - 1 - best < patience))


@dataclass(frozen=True, eq=False)
class Run:
    """Groups of members, and the rows to learn from and to judge by."""

    groups: list[Group]
    training: Training
    fitted: np.ndarray
    held_out: tuple[np.ndarray, np.ndarray]
    seed: int

    @classmethod
    def of(
        cls,
        program: Program,
        arrays: Any,
        training: Training,
        rows: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]],
        seed: int,
    ) -> "Run":
        """Divide the members of `arrays` into groups. `rows`: those to learn from, those held out."""
        members = jax.tree.leaves(arrays)[0].shape[0]
        size = group_size(members, workers())
        # divided by NumPy: op by op, every shape of an array would be another little program to compile
        everything, groups = jax.tree.map(np.asarray, (_first_state(arrays, program), program.per_member)), []
        for start in range(0, members, size):
            own = jax.device_put(jax.tree.map(lambda leaf, start=start: leaf[start : start + size], everything))
            groups.append(Group(program._replace(per_member=own[1]), own[0], range(start, start + size)))
        return cls(groups, training, *rows, seed)

    @property
    def pieces(self) -> int:
        """Into how many calls of the program a round is divided, each of as many steps."""
        group = self.groups[0]
        weights = sum(leaf.size for leaf in jax.tree.leaves(group.state.arrays))
        steps = self.training.steps_per_round
        work = steps * self.training.batch * len(group.program.points) * weights
        most = PIECE * (1 if jax.default_backend() == "cpu" else ACCELERATED)
        fits = (count for count in range(1, steps + 1) if steps % count == 0 and work <= most * count)
        return next(fits, steps)

    def all_rounds(self, rounds: int) -> tuple[Any, np.ndarray]:
        """The best arrays of all members, and the criterion [round, member, part].

        Where the last round is still among the best, training goes on as often as it may: with a learning rate that
        rises and falls anew, for twice as many rounds as before. Groups that have stopped before stay as they are.
        """
        rates, more = learning_rates(self.training, rounds), self.training.extensions
        self._until(rounds, rates, self.training.patience if self.training.hold_out else rounds)
        while more and self.training.seconds is None and self._still_learning(rounds):
            longer = learning_rates(self.training, 2 * rounds)
            patience = max(self.training.patience, rounds)  # while the rate is high, nothing gets better
            rounds, rates, more = 3 * rounds, np.concatenate([rates, longer]), more - 1
            self._until(rounds, rates, patience)
        arrays = [group.state.best_arrays for group in self.groups]
        together = jax.tree.map(lambda *leaves: np.concatenate(leaves), *arrays)
        return jax.device_put(together), self._history()

    def _until(self, rounds: int, rates: np.ndarray, patience: int) -> None:
        """Train until so many rounds are done, or a group has not improved for `patience` of them."""
        pieces, begun = self.pieces, max(len(group.history) for group in self.groups)
        going_on = [group for group in self.groups if len(group.history) == begun]
        training: dict[Future[None], Group] = {}
        with _workers(len(going_on)) as begin:

            def go_on(group: Group) -> None:
                finished = group.pieces == rounds * pieces
                tired = group.pieces % pieces == 0 and group.history and not group.improves(patience)
                if not (finished or tired):
                    training[begin(self._piece, group, rates, pieces)] = group

            calls = (rounds - begun) * pieces * len(going_on)
            for at in tracked(calls, "training further" if begun else "training"):
                if at == 0 and not begun:
                    with working(COMPILING):
                        self._compile(rates, pieces)
                if at == 0:
                    for group in going_on:
                        go_on(group)
                    if not begun:
                        continue  # the first piece was run while compiling
                if not training:  # all stopped before the last round
                    break
                done = next(iter(wait(training, return_when=FIRST_COMPLETED).done))
                group = training.pop(done)
                done.result()
                go_on(group)

    def _still_learning(self, rounds: int) -> bool:
        """Whether the last part's criterion has risen in the second half of all rounds, on average over the members
        that were trained to the last of them."""
        lasting = [np.stack(group.history)[:, :, -1] for group in self.groups if len(group.history) == rounds]
        if not lasting:
            return False
        best = np.maximum.accumulate(np.concatenate(lasting, axis=1), axis=0)
        return float(np.mean(best[-1] - best[(rounds - 1) // 2])) > STILL_LEARNING

    def _history(self) -> np.ndarray:
        longest = max(len(group.history) for group in self.groups)
        shape = longest, sum(len(group.members) for group in self.groups), self.groups[0].history[0].shape[1]
        history = np.full(shape, -np.inf)
        for group in self.groups:
            history[: len(group.history), group.members.start : group.members.stop] = group.history
        return history

    def _compile(self, rates: np.ndarray, pieces: int) -> None:
        """The first piece of the first group, while the program that judges is compiled beside it."""
        first = self.groups[0]
        with ThreadPoolExecutor(1) as beside:
            judged = beside.submit(self._judged, first)
            self._piece(first, rates, pieces)
            judged.result()

    def _piece(self, group: Group, rates: np.ndarray, pieces: int) -> None:
        """The next steps of a group and, at the end of a round, its criterion."""
        size = self.training.steps_per_round // pieces
        done, first = divmod(group.pieces, pieces)
        now = rates[group.pieces * size : (group.pieces + 1) * size]
        group.state = self._steps(group, now, done, first * size)
        group.pieces += 1
        if group.pieces % pieces == 0:
            group.state = self._judged(group)
            group.history.append(np.nan_to_num(np.asarray(group.state.now), nan=-np.inf))

    def _steps(self, group: Group, rates: np.ndarray, done: int, first: int) -> State:
        """Steps of the round `done`, from its step `first` on."""
        shape = self.training.steps_per_round, self.training.batch
        order = np.stack([_order(self.fitted, shape, (self.seed, member, done)) for member in group.members])
        keys = jnp.stack([self._key(member, done) for member in group.members])
        indices = order[:, first : first + len(rates)]
        return jax.block_until_ready(advance(group.state, group.program, rates, keys, jnp.int32(first), indices))

    def _key(self, member: int, done: int) -> PRNGKeyArray:
        # not "rbg", which gives a member other numbers when others are beside it
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(self.seed, impl="threefry2x32"), done), member)

    def _judged(self, group: Group) -> State:
        return jax.block_until_ready(judge(group.state, group.program, self.held_out))

    def rounds_in_time(self, began: float) -> int:
        """The number of rounds that fit into the budget, by a piece of a round that is run twice and thrown away."""
        pieces = self.pieces
        rates = np.zeros(self.training.steps_per_round // pieces, np.float32)
        times = []
        with working(f"measuring the speed; {COMPILING}"), _workers(len(self.groups)) as begin:
            self._judged(self.groups[0])
            self._steps(self.groups[0], rates, 0, 0)  # compiled
            times = [monotonic()]
            for work in (lambda group: self._steps(group, rates, 0, 0), self._judged):
                wait([begin(work, group) for group in self.groups])
                times.append(monotonic())
        start, between, end = times
        one_round = pieces * (between - start) + (end - between)
        left = (self.training.seconds or 0.0) - (end - began)
        return int(np.clip(left / max(one_round, 1e-9), 1, self.training.rounds))


@contextmanager
def _workers(groups: int) -> Iterator[Callable[..., Future[Any]]]:
    """Threads for the groups, one for every core: hands over the function that begins a piece of work.

    Whoever waits is interrupted at once, and the pieces that are not begun yet are dropped.
    """
    pool = ThreadPoolExecutor(min(groups, workers()))
    try:
        yield pool.submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _first_state(arrays: Any, program: Program) -> State:
    shape = jax.tree.leaves(arrays)[0].shape[0], max(len(parts_of(program.loss)), 1)
    return State(
        arrays,
        _optimiser_state(arrays, program.training),
        arrays,
        *jax.device_put((np.full(shape, -np.inf, np.float32), np.zeros(shape, np.float32))),
    )


@compiled
def _optimiser_state(arrays: Any, training: Training) -> Any:
    return jax.vmap(optimiser_of(training, 0.0).init)(arrays)


def _order(rows: np.ndarray, shape: tuple[int, int], seed: tuple[int, ...]) -> np.ndarray:
    """Row numbers for [step, place in batch]: every pass over the rows is a fresh permutation."""
    generator, size = np.random.default_rng(seed), shape[0] * shape[1]
    passes = [generator.permutation(rows) for _ in range(-(-size // len(rows)))]
    return np.concatenate(passes)[:size].reshape(shape).astype(np.int32)
