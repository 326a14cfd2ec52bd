"""Fit trees, regression and process beside the network, and find the shares from held-out rewards."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from prudent.models.averaging.average import PriceAverage
from prudent.models.averaging.features import linear_features, process_features, tree_features
from prudent.models.averaging.gaussian_process import GaussianProcess, Surface
from prudent.models.averaging.linear import PRIORS, Linear, Moments
from prudent.models.averaging.trees import Boosting, Table, Trees, grown_while_better
from prudent.networks import Layout, bucket, compiled, neighbour_mixing

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

    attributes: how many of the process's columns, the last ones, say which attributes are missing.
    """

    asked: np.ndarray
    columns: np.ndarray
    places: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    n_actions: int
    attributes: int

    @classmethod
    def of(
        cls, layout: Layout, data: dict[str, np.ndarray], rows: np.ndarray, completed: np.ndarray, count: int
    ) -> "Rows":
        """completed: the mean of the rows' completions, [row, cell]."""
        size = bucket(len(rows))
        padded = np.resize(rows, size)
        record = data["values"][padded], data["observed"][padded], np.resize(completed, (size, completed.shape[1]))
        every = _features(layout, *jax.device_put(record))
        asked, columns, places = (np.asarray(table)[: len(rows)] for table in every)
        actions, rewards = data["action"][rows], data["reward"][rows].astype(float)
        each = asked, columns.astype(np.float64), places.astype(np.float64), actions, rewards
        return cls(*each, count, layout.attributes)

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows._make((*(array[rows] for array in self[:5]), *self[5:]))

    def followed_by(self, others: "Rows") -> "Rows":
        joined = (np.concatenate(pair) for pair in zip(self[:5], others[:5], strict=True))
        return Rows._make((*joined, *self[5:]))

    @property
    def table(self) -> Table:
        return Table.of(self.asked, self.actions, self.rewards, self.n_actions)

    @property
    def moments(self) -> Moments:
        return Moments(self.columns, self.actions, self.rewards, self.n_actions)

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
) -> Beside:
    """Fit trees, regression and process to the first of `rows` to judge them by the second, and to both for use.

    completed: the mean of the completions of these rows, [row, cell]. ordered: whether neighbouring actions are alike.
    """
    random = np.random.default_rng(seed)
    some = random.permutation(len(rows[0]))[:MOST_ROWS]
    learnt = Rows.of(layout, data, rows[0][some], completed[0][some], count)
    held = Rows.of(layout, data, rows[1], completed[1], count)
    table, judged = learnt.table, _binned(learnt.table.edges, held)
    fold = random.permutation(len(table.actions)) % FOLDS
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


def neighbours_alike(layout: Layout, data: dict[str, np.ndarray], rows: np.ndarray, count: int, seed: int) -> bool:
    """Whether trees that take neighbouring actions to be alike predict rewards better, of rows that were left out."""
    chosen = np.random.default_rng(seed).permutation(rows)[:MOST_COMPARED]
    table = Rows.of(layout, data, chosen, np.zeros((len(chosen), 0)), count).table
    fold = np.arange(len(chosen)) % FOLDS
    errors = [
        min(grown_while_better(_by_fold(table, fold, mixing, seed))) for mixing in (None, neighbour_mixing(count))
    ]
    return errors[1] < errors[0]


def _binned(edges: np.ndarray, rows: Rows) -> Table:
    """Rows by the bins of another table."""
    bins = [np.searchsorted(own, column) for own, column in zip(edges, rows.asked.T, strict=True)]
    return Table(np.stack(bins, axis=1), edges, rows.actions, rows.rewards, rows.n_actions)


def _by_fold(table: Table, fold: np.ndarray, mixing: np.ndarray | None, seed: int) -> list[Boosting]:
    """Trees of all folds but one, judged by that one."""
    parts = [[table.take(np.flatnonzero(chosen)) for chosen in (fold != at, fold == at)] for at in range(FOLDS)]
    return [Boosting(learnt, seed, mixing, left_out) for learnt, left_out in parts]


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
    shares = _shares(predictions, rewards).astype(np.float32)
    return PriceAverage(beside.trees, beside.linear, beside.process, jax.device_put(shares))


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
