"""Fit trees, regression and process beside the network, and find the shares from held-out rewards."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from prudent.models.averaging.average import PriceAverage
from prudent.models.averaging.features import linear_features, process_features, tree_features
from prudent.models.averaging.gaussian_process import GaussianProcess, Surface
from prudent.models.averaging.linear import PRIORS, Linear, Moments
from prudent.models.averaging.trees import Boosting, Table, Trees, grown_while_better
from prudent.networks import Layout, bucket, compiled, neighbour_mixing
from prudent.table import count_groups, deal_groups

FOLDS = 3
FEW_ROWS, MOST_ROWS = 2_000, 20_000
"""Up to the first, folds decide about the trees, beyond it the held-out rows; more than the second are not used."""
FEWEST_AVERAGED = 60
"""With fewer rewards the network stands alone: nothing can be learnt about shares."""
MOST_COMPARED = 4_000
"""Rows by which it is decided whether neighbouring actions are alike, at most."""
PRIOR_ROWS = 10.0
"""Held-out rows that equal shares are worth."""


class Rows(NamedTuple):
    """Rows with a reward, as trees, regression and process see them; rewards are standardised.

    attributes: how many of the process's columns, the last ones, say which attributes are missing. weights: how much
    each counts for trees and regression, None: equally. groups: which belong together, None: none do.
    """

    asked: np.ndarray
    columns: np.ndarray
    places: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    n_actions: int
    attributes: int
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        layout: Layout,
        data: dict[str, np.ndarray],
        rows: np.ndarray,
        completed: np.ndarray,
        count: int,
        groups: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> "Rows":
        """completed: the mean of the rows' completions, [row, cell]. groups, weights: of all rows of the log."""
        size = bucket(len(rows))
        padded = np.resize(rows, size)
        record = data["values"][padded], data["observed"][padded], np.resize(completed, (size, completed.shape[1]))
        every = _features(layout, *jax.device_put(record))
        asked, columns, places = (np.asarray(table)[: len(rows)] for table in every)
        actions, rewards = data["action"][rows], data["reward"][rows].astype(float)
        each = asked, columns.astype(np.float64), places.astype(np.float64), actions, rewards
        own = (None if array is None else array[rows] for array in (weights, groups))
        return cls(*each, count, layout.attributes, *own)

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows._make(part[rows] if isinstance(part, np.ndarray) else part for part in self)

    def followed_by(self, others: "Rows") -> "Rows":
        def joined(own: Any, other: Any) -> Any:
            return np.concatenate([own, other]) if isinstance(own, np.ndarray) else own

        return Rows._make(map(joined, self, others))

    def folds(self, random: np.random.Generator) -> np.ndarray:
        """The fold of each row; the rows of a group are in one."""
        if self.groups is None or count_groups(self.groups) == 1:
            return random.permutation(len(self.actions)) % FOLDS
        return deal_groups(self.groups, FOLDS, random)

    @property
    def table(self) -> Table:
        return Table.of(self.asked, self.actions, self.rewards, self.n_actions, self.weights)

    @property
    def moments(self) -> Moments:
        return Moments(self.columns, self.actions, self.rewards, self.n_actions, self.weights)

    def surface(self, mixing: np.ndarray | None) -> Surface:
        alike = np.eye(self.n_actions) if mixing is None else mixing @ mixing.T
        return Surface(self.places, self.actions, self.rewards, alike, self.attributes)


@compiled
def _features(layout: Layout, values: Array, observed: Array, completed: Array) -> tuple[Array, Array, Array]:
    record = layout, values, observed
    return tree_features(*record), linear_features(*record), process_features(layout, completed, observed)


class Beside(NamedTuple):
    """What was learnt beside the network: for the shares without the held-out rows, and then from all."""

    judged: np.ndarray  # predictions of trees, regression and process for the held-out rows, [predictor, row, action]
    trees: Trees
    linear: Linear
    process: GaussianProcess
    gaps_speak: bool  # whether the process reads from which attributes are missing


def fit_beside(
    layout: Layout,
    data: dict[str, np.ndarray],
    rows: tuple[np.ndarray, np.ndarray],
    completed: tuple[np.ndarray, np.ndarray],
    count: int,
    ordered: bool,
    seed: int,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Beside:
    """Fit trees, regression and process to the first of `rows` to judge them by the second, and to both for use.

    completed: the mean of the completions of these rows, [row, cell]. ordered: whether neighbouring actions are alike.
    groups, weights: of all rows, see `Rows`; a Gaussian process has no weights.
    """
    random = np.random.default_rng(seed)
    some = random.permutation(len(rows[0]))[:MOST_ROWS]
    learnt = Rows.of(layout, data, rows[0][some], completed[0][some], count, groups, weights)
    held = Rows.of(layout, data, rows[1], completed[1], count, groups, weights)
    table, judged = learnt.table, _binned(learnt.table.edges, held)
    fold = learnt.folds(random)
    mixing = neighbour_mixing(count) if ordered else None
    whole = Boosting(table, seed, mixing, judged)
    few = len(fold) <= FEW_ROWS  # then held-out rows are too few to decide
    trees = int(np.argmin(grown_while_better(_by_fold(table, fold, mixing, seed) if few else [whole]))) + 1
    of_trees = whole.grown_to(trees).predicted[trees]
    prior = _prior(learnt, fold)
    of_linear = _predicted(learnt.moments.fit(*prior), held.columns)
    surface = learnt.surface(mixing)
    strengths = surface.strengths()
    of_process = _every_row(surface.fit(strengths), held.places)
    everything = learnt.followed_by(held)
    final = Boosting(everything.table, seed, mixing).grown_to(trees).trees
    judged_rows = np.stack([of_trees, of_linear, of_process])
    process = everything.surface(mixing).fit(strengths)
    return Beside(judged_rows, final, everything.moments.fit(*prior), process, strengths.gaps_speak)


def _every_row(process: GaussianProcess, places: np.ndarray) -> np.ndarray:
    padded = np.resize(places, (bucket(len(places)), places.shape[1])).astype(np.float32)
    return np.asarray(_processed(process, jax.device_put(padded)), float)[: len(places)]


@compiled
def _processed(process: GaussianProcess, places: Array) -> Array:
    return jax.lax.map(process, places, batch_size=128)


def neighbours_alike(
    layout: Layout,
    data: dict[str, np.ndarray],
    rows: np.ndarray,
    count: int,
    seed: int,
    groups: np.ndarray | None = None,
) -> bool:
    """Whether trees that take neighbouring actions to be alike predict rewards better, of rows that were left out."""
    random = np.random.default_rng(seed)
    chosen = random.permutation(rows)[:MOST_COMPARED]
    compared = Rows.of(layout, data, chosen, np.zeros((len(chosen), 0)), count, groups)
    table, fold = compared.table, np.arange(len(chosen)) % FOLDS if groups is None else compared.folds(random)
    errors = [
        min(grown_while_better(_by_fold(table, fold, mixing, seed))) for mixing in (None, neighbour_mixing(count))
    ]
    return errors[1] < errors[0]


def _binned(edges: np.ndarray, rows: Rows) -> Table:
    """Rows by the bins of another table."""
    bins = [np.searchsorted(own, column) for own, column in zip(edges, rows.asked.T, strict=True)]
    return Table(np.stack(bins, axis=1), edges, rows.actions, rows.rewards, rows.n_actions, rows.weights)


def _by_fold(table: Table, fold: np.ndarray, mixing: np.ndarray | None, seed: int) -> list[Boosting]:
    """Trees of all folds but one, judged by that one."""
    folds = range(int(fold.max()) + 1)
    parts = [[table.take(np.flatnonzero(chosen)) for chosen in (fold != at, fold == at)] for at in folds]
    return [Boosting(learnt, seed, mixing, left_out) for learnt, left_out in parts]


def _prior(rows: Rows, fold: np.ndarray) -> tuple[float, float]:
    """The priors of the regression with the least squared error on other folds."""
    errors = np.zeros(len(PRIORS))
    for left_out in range(int(fold.max()) + 1):
        moments, judged = rows.take(fold != left_out).moments, rows.take(fold == left_out)
        for at, prior in enumerate(PRIORS):
            predicted = _predicted(moments.fit(*prior), judged.columns)
            squares = (predicted[np.arange(len(predicted)), judged.actions] - judged.rewards) ** 2
            errors[at] += (squares if judged.weights is None else squares * judged.weights).sum()
    return PRIORS[int(np.argmin(errors))]


def _predicted(linear: Linear, columns: np.ndarray) -> np.ndarray:
    return np.asarray(linear.constants, float) + columns @ np.asarray(linear.slopes, float)


def fit_average(
    beside: Beside, network: np.ndarray, actions: np.ndarray, rewards: np.ndarray, weights: np.ndarray | None = None
) -> PriceAverage:
    """The average with shares from held-out rows; network: its expected rewards there, [row, action]."""
    predictions = np.concatenate([network[None], beside.judged])[:, np.arange(len(actions)), actions]
    shares = _shares(predictions, rewards, weights).astype(np.float32)
    return PriceAverage(beside.trees, beside.linear, beside.process, jax.device_put(shares))


def _shares(predictions: np.ndarray, rewards: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Shares that are not negative and sum to one, by least squares with a prior for equal ones."""
    from scipy.optimize import nnls

    if weights is None:
        columns = (predictions - predictions.mean(axis=1, keepdims=True)).T
        target = rewards - rewards.mean()
    else:
        roots = np.sqrt(weights / weights.mean())
        columns = ((predictions - np.average(predictions, axis=1, weights=weights)[:, None]) * roots).T
        target = (rewards - np.average(rewards, weights=weights)) * roots
    count = columns.shape[1]
    # a share that is off by one costs as much as so many rows whose prediction is off by the noise
    prior = np.sqrt(PRIOR_ROWS) * target.std() * np.eye(count)
    certain = 1e4 * np.sqrt(len(target)) * target.std() * np.ones((1, count))
    system = np.vstack([columns, prior, certain])
    found = nnls(system, np.concatenate([target, prior.sum(axis=1) / count, certain[0, :1]]))[0]
    return found / found.sum()
