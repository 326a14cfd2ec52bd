"""Boosted trees for the rewards of all actions, of records with gaps.

Trees are oblivious: all nodes of a level ask the same question, so that a tree is a short list of questions and a table
of values, which a compiled program reads quickly. All actions share the questions and differ in the values. A leaf's
value for an action is shrunk towards the leaf's value for all actions, and that towards zero.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

TREES, DEPTH = 128, 4
RATE = 0.1
BINS = 32
SHARED_PRIOR, ACTION_PRIOR = 2.0, 10.0
"""Rows that the shrinkage of a leaf's value is worth: of the value for all actions, and of an action's own."""
ROWS_ASKED, QUESTIONS_ASKED = 0.7, 0.6
"""Shares that a tree sees, drawn anew for each."""
MOST_ROWS, MOST_QUESTIONS = 6000, 64
"""At most so many of them for one tree."""
PATIENCE = 25
"""Trees without a lower error on other rows, after which no more are grown."""


class Trees(eqx.Module):
    """The sum of the trees' values and of every action's mean, in standardised rewards."""

    means: Float[Array, " action"]
    question: Int[Array, "tree level"]
    threshold: Float[Array, "tree level"]
    leaves: Float[Array, "tree leaf action"]

    @classmethod
    def blank(cls, actions: int) -> "Trees":
        shape = TREES, DEPTH
        return cls(
            jnp.zeros(actions), jnp.zeros(shape, jnp.int32), jnp.zeros(shape), jnp.zeros((TREES, 2**DEPTH, actions))
        )

    def __call__(self, features: Float[Array, " question"]) -> Float[Array, " action"]:
        answers = features[self.question] > self.threshold
        leaf = answers.astype(jnp.int32) @ (2 ** np.arange(DEPTH))
        return self.means + jnp.sum(self.leaves[np.arange(TREES), leaf], axis=0)


class Table(NamedTuple):
    """Logged rows for trees: the bin of every feature, the edges of the bins, actions and standardised rewards.

    weights: how much every row counts; None: equally.
    """

    bins: np.ndarray
    edges: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    n_actions: int
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        features: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        count: int,
        weights: np.ndarray | None = None,
    ) -> "Table":
        edges = np.stack([_edges(column) for column in features.T])
        bins = np.stack([np.searchsorted(own, column) for own, column in zip(edges, features.T, strict=True)], axis=1)
        return cls(bins.astype(np.int64), edges, actions, rewards, count, weights)

    def take(self, rows: np.ndarray) -> "Table":
        weights = None if self.weights is None else self.weights[rows]
        parts = {"bins": self.bins[rows], "actions": self.actions[rows], "rewards": self.rewards[rows]}
        return self._replace(**parts, weights=weights)

    def weighted(self, numbers: np.ndarray) -> np.ndarray:
        return numbers if self.weights is None else numbers * self.weights


def _edges(column: np.ndarray) -> np.ndarray:
    """Thresholds between the values of a column, at its quantiles; repeated ones at the end are never used."""
    values = np.unique(column)
    if len(values) > BINS:
        values = np.unique(np.quantile(column, np.linspace(0, 1, BINS), method="nearest"))
    between = (values[:-1] + values[1:]) / 2
    return np.concatenate([between, np.full(BINS - 1 - len(between), np.inf)]).astype(np.float32)


class Boosting:
    """Trees that are grown one after the other, and what they predict for the rows of `judged`.

    mixing: a square root of the prior correlation between the rewards of ordered actions.
    """

    def __init__(self, table: Table, seed: int, mixing: np.ndarray | None = None, judged: Table | None = None):
        self.table, self.judged = table, table.take(np.zeros(0, int)) if judged is None else judged
        self.random, count = np.random.default_rng(seed), table.n_actions
        counted = table.weighted(table.rewards), table.weights
        sums, rows = (np.bincount(table.actions, weights=own, minlength=count) for own in counted)
        centre = table.rewards.mean() if table.weights is None else sums.sum() / rows.sum()
        self.means = centre + (sums - rows * centre) / (rows + ACTION_PRIOR)
        self.correlation = None if mixing is None else mixing @ mixing.T
        asked = np.flatnonzero(np.isfinite(table.edges[:, 0]))  # the others are the same for all rows
        self.asked = asked if len(asked) else np.zeros(1, int)
        self.residual = table.rewards - self.means[table.actions]
        self.grown: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.predicted = [np.broadcast_to(self.means, (len(self.judged.actions), count))]

    def grow(self) -> None:
        """One more tree."""
        table, residual, asked = self.table, self.residual, self.asked
        some = self.random.permutation(len(residual))[: min(int(np.ceil(ROWS_ASKED * len(residual))), MOST_ROWS)]
        questions = self.random.permutation(asked)[: min(int(np.ceil(QUESTIONS_ASKED * len(asked))), MOST_QUESTIONS)]
        seen = table.take(some)
        asks, at, leaf = _questions(seen, residual[some], questions)
        values = RATE * _values(leaf, seen, residual[some], self.correlation)
        self.residual = residual - values[_leaf(table.bins, asks, at), table.actions]
        self.predicted.append(self.predicted[-1] + values[_leaf(self.judged.bins, asks, at)])
        self.grown.append((asks, at, values))

    def grown_to(self, trees: int) -> "Boosting":
        while len(self.grown) < trees:
            self.grow()
        return self

    @property
    def squared_error(self) -> float:
        """The sum over the judged rows."""
        rows = np.arange(len(self.judged.actions))
        squares = (self.predicted[-1][rows, self.judged.actions] - self.judged.rewards) ** 2
        return float(self.judged.weighted(squares).sum())

    @property
    def trees(self) -> Trees:
        """As a module; trees that were not grown have no value."""
        parts = [np.stack(part) for part in zip(*self.grown, strict=True)]
        missing = TREES - len(self.grown)
        question, at, leaves = (np.pad(part, [(0, missing), *[(0, 0)] * (part.ndim - 1)]) for part in parts)
        threshold, means = self.table.edges[question, at], self.means.astype(np.float32)
        return Trees(*jax.device_put((means, question.astype(np.int32), threshold, leaves.astype(np.float32))))


def grown_while_better(together: Sequence[Boosting]) -> list[float]:
    """Grow trees until the squared error of the judged rows, of all together, has long not fallen; it after each."""
    errors: list[float] = []
    while len(errors) < TREES and len(errors) - int(np.argmin(errors or [0.0])) <= PATIENCE:
        for boosting in together:
            boosting.grow()
        errors.append(sum(boosting.squared_error for boosting in together))
    return errors


def _leaf(bins: np.ndarray, questions: np.ndarray, at: np.ndarray) -> np.ndarray:
    return (bins[:, questions] > at) @ (2 ** np.arange(DEPTH))


def _questions(table: Table, residual: np.ndarray, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The question and the bin of every level, each the best given those before it; and the leaf of every row."""
    bins, leaf = table.bins[:, questions], np.zeros(len(residual), np.int64)
    place, repeated = np.arange(len(questions)) * BINS + bins, np.repeat(table.weighted(residual), len(questions))
    counted = None if table.weights is None else np.repeat(table.weights, len(questions))
    asks, at = np.zeros(DEPTH, np.int64), np.zeros(DEPTH, np.int64)
    for level in range(DEPTH):
        groups = 2**level * table.n_actions
        key = ((leaf * table.n_actions + table.actions)[:, None] * (len(questions) * BINS) + place).ravel()
        size, shape = groups * len(questions) * BINS, (2**level, table.n_actions, len(questions), BINS)
        rows = np.bincount(key, weights=counted, minlength=size).reshape(shape)
        sums = np.bincount(key, weights=repeated, minlength=size).reshape(shape)
        upto = np.cumsum(sums, axis=3), np.cumsum(rows, axis=3)
        beyond = tuple(part[..., -1:] - part for part in upto)
        gain = (_explained(*upto) + _explained(*beyond)).sum(axis=0)
        best = np.unravel_index(np.argmax(gain[:, :-1]), gain[:, :-1].shape)
        asks[level], at[level] = questions[best[0]], best[1]
        leaf = leaf + 2**level * (bins[:, best[0]] > best[1])
    return asks, at, leaf


def _explained(sums: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How much squared error the values of leaves explain, [leaf, action, ...] -> [leaf, ...]."""
    total, everyone = sums.sum(axis=1), rows.sum(axis=1)
    shared = total / (everyone + SHARED_PRIOR)
    apart = sums - rows * shared[:, None]
    return total * shared + (apart**2 / (rows + ACTION_PRIOR)).sum(axis=1)


def _values(leaf: np.ndarray, table: Table, residual: np.ndarray, correlation: np.ndarray | None) -> np.ndarray:
    """The value of every leaf for every action: a shared one, and what is an action's own."""
    count = table.n_actions
    key, size = leaf * count + table.actions, 2**DEPTH * count
    rows = np.bincount(key, weights=table.weights, minlength=size).reshape(-1, count)
    sums = np.bincount(key, weights=table.weighted(residual), minlength=size).reshape(-1, count)
    shared = sums.sum(axis=1) / (rows.sum(axis=1) + SHARED_PRIOR)
    apart = sums - rows * shared[:, None]
    if correlation is None:
        return shared[:, None] + apart / (rows + ACTION_PRIOR)
    # the posterior mean of a Gaussian process over the actions
    system = np.eye(count) + rows[:, :, None] / ACTION_PRIOR * correlation
    return shared[:, None] + np.linalg.solve(system, apart[:, :, None] / ACTION_PRIOR)[:, :, 0] @ correlation
