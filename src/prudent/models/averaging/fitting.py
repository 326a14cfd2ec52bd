"""Fit the trees and the regression beside the network, and find the shares from held-out rewards."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from prudent.models.averaging.average import PriceAverage
from prudent.models.averaging.features import linear_features, tree_features
from prudent.models.averaging.linear import PRIORS, Linear, Moments
from prudent.models.averaging.trees import TREES, Table, Trees, grow
from prudent.networks import Layout, neighbour_mixing

FOLDS = 3
FEW_ROWS, MOST_ROWS = 2_000, 20_000
"""Up to the first, folds decide about the trees, beyond it the held-out rows; more than the second are not used."""
FEWEST_AVERAGED = 60
"""With fewer rewards the network stands alone: nothing can be learnt about shares."""
PRIOR_ROWS = 10.0
"""Held-out rows that equal shares are worth."""


class Rows(NamedTuple):
    """Rows with a reward, as trees and regression see them; rewards are standardised."""

    asked: np.ndarray
    columns: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    n_actions: int

    @classmethod
    def of(cls, layout: Layout, data: dict[str, np.ndarray], rows: np.ndarray, count: int) -> "Rows":
        values, observed = (jnp.asarray(data[name][rows]) for name in ("values", "observed"))
        asked, columns = (np.asarray(make(layout, values, observed)) for make in (tree_features, linear_features))
        return cls(asked, columns.astype(np.float64), data["action"][rows], data["reward"][rows].astype(float), count)

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows(self.asked[rows], self.columns[rows], self.actions[rows], self.rewards[rows], self.n_actions)

    def followed_by(self, others: "Rows") -> "Rows":
        asked, columns, actions, rewards = (np.concatenate(pair) for pair in zip(self[:4], others[:4], strict=True))
        return Rows(asked, columns, actions, rewards, self.n_actions)

    @property
    def table(self) -> Table:
        return Table.of(self.asked, self.actions, self.rewards, self.n_actions)

    @property
    def moments(self) -> Moments:
        return Moments(self.columns, self.actions, self.rewards, self.n_actions)


class Beside(NamedTuple):
    """What was learnt beside the network: for the shares without the held-out rows, and then from all."""

    judged: np.ndarray  # predictions of trees and regression for the held-out rows, [predictor, row, action]
    trees: Trees
    linear: Linear
    ordered: bool


def fit_beside(
    layout: Layout,
    data: dict[str, np.ndarray],
    rows: tuple[np.ndarray, np.ndarray],
    count: int,
    numeric: bool,
    seed: int,
) -> Beside:
    """Fit trees and regression to the first of `rows` to judge them by the second, and to both for use.

    numeric: whether the actions are numbers, so that neighbours may be alike; rows that were left out decide.
    """
    random = np.random.default_rng(seed)
    learnt, held = (Rows.of(layout, data, part, count) for part in (random.permutation(rows[0])[:MOST_ROWS], rows[1]))
    table, judged = learnt.table, _binned(learnt.table.edges, held)
    fold = random.permutation(len(table.actions)) % FOLDS
    candidates = (None, neighbour_mixing(count)) if numeric and count > 2 else (None,)
    paths = [grow(table, seed, mixing, judged)[1] for mixing in candidates]
    if len(fold) <= FEW_ROWS:  # held-out rows are too few to decide
        errors = [_left_out_errors(table, fold, mixing, seed) for mixing in candidates]
    else:
        errors = [_squared_errors(path, judged) for path in paths]
    best, last = np.unravel_index(np.argmin(errors), (len(errors), TREES))
    prior = _prior(learnt, fold)
    of_linear = _predicted(learnt.moments.fit(*prior), held.columns)
    everything = learnt.followed_by(held)
    final = everything.table
    trees = grow(final, seed, candidates[best])[0].first(int(last) + 1, final.edges)
    return Beside(np.stack([paths[best][last], of_linear]), trees, everything.moments.fit(*prior), bool(best))


def _binned(edges: np.ndarray, rows: Rows) -> Table:
    """Rows by the bins of another table."""
    bins = [np.searchsorted(own, column) for own, column in zip(edges, rows.asked.T, strict=True)]
    return Table(np.stack(bins, axis=1), edges, rows.actions, rows.rewards, rows.n_actions)


def _left_out_errors(table: Table, fold: np.ndarray, mixing: np.ndarray | None, seed: int) -> np.ndarray:
    """The squared error on other folds, by the number of trees."""
    total = np.zeros(TREES)
    for left_out in range(FOLDS):
        judged = table.take(np.flatnonzero(fold == left_out))
        path = grow(table.take(np.flatnonzero(fold != left_out)), seed, mixing, judged)[1]
        total += len(judged.actions) * _squared_errors(path, judged)
    return total / len(fold)


def _squared_errors(path: np.ndarray, judged: Table) -> np.ndarray:
    return ((path[:, np.arange(len(judged.actions)), judged.actions] - judged.rewards) ** 2).mean(axis=1)


def _prior(rows: Rows, fold: np.ndarray) -> tuple[float, float]:
    """The priors of the regression with the least squared error on other folds."""
    errors = np.zeros(len(PRIORS))
    for left_out in range(FOLDS):
        moments, judged = rows.take(fold != left_out).moments, rows.take(fold == left_out)
        for at, prior in enumerate(PRIORS):
            predicted = _predicted(moments.fit(*prior), judged.columns)
            errors[at] += ((predicted[np.arange(len(predicted)), judged.actions] - judged.rewards) ** 2).sum()
    return PRIORS[int(np.argmin(errors))]


def _predicted(linear: Linear, columns: np.ndarray) -> np.ndarray:
    return np.asarray(linear.constants, float) + columns @ np.asarray(linear.slopes, float)


def fit_average(beside: Beside, network: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> PriceAverage:
    """The average with shares from held-out rows; network: its expected rewards there, [row, action]."""
    predictions = np.concatenate([network[None], beside.judged])[:, np.arange(len(actions)), actions]
    return PriceAverage(beside.trees, beside.linear, jnp.asarray(_shares(predictions, rewards), jnp.float32))


def _shares(predictions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Shares that are not negative and sum to one, by least squares with a prior for equal ones."""
    from scipy.optimize import nnls

    columns = (predictions - predictions.mean(axis=1, keepdims=True)).T
    target, count = rewards - rewards.mean(), columns.shape[1]
    # a share that is off by one costs as much as so many rows whose prediction is off by the noise
    prior = np.sqrt(PRIOR_ROWS) * target.std() * np.eye(count)
    certain = 1e4 * np.sqrt(len(target)) * target.std() * np.ones((1, count))
    system = np.vstack([columns, prior, certain])
    found = nnls(system, np.concatenate([target, prior.sum(axis=1) / count, certain[0, :1]]))[0]
    return found / found.sum()
