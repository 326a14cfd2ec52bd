"""Prices for the direct and doubly robust estimators: what a model expects of every action for every row."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.completions import PriceTable
from prudent.errors import is_whole, require
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.evaluation.decisions import encoded_rows, read_by
from prudent.log import Log
from prudent.models.fitted import Fitted
from prudent.tabular import BOOSTED_COLUMNS, across_folds, deal_folds, learning_from_some, native_table, single_thread

STAGES = (15, 40, 100)
BOOSTED_ACTIONS = 250  # as many categories as a boosted tree can tell apart


@dataclass(frozen=True, eq=False)
class Prices:
    """Expected rewards [row, action], higher is better; `tail` is the probability that the reward is below a
    threshold, None where none was given. `source` says, for people, where they are from."""

    rewards: np.ndarray
    tail: np.ndarray | None
    source: str


def own_prices(fitted: Fitted, log: Log, below: float | None, completions: int = 256) -> Prices:
    """The model's own expectations; rows it was fitted on would be flattered."""
    policy = fitted.policy(completions=completions)
    encoded = encoded_rows(read_by(log, fitted))
    threshold = jnp.asarray(np.inf if below is None else below, jnp.float32)
    parts = [_expectations(tables, threshold) for tables in policy.tables(encoded)]
    rewards, tail = (np.concatenate([np.asarray(part[i], np.float64) for part in parts])[: len(log)] for i in (0, 1))
    return Prices(rewards, None if below is None else tail, "the model's own")


def cross_fitted_prices(cross_fitted: CrossFitted, log: Log, below: float | None, completions: int = 256) -> Prices:
    """Each row priced by the model that has not seen it."""
    which, found = cross_fitted.unseen(log), None
    for index, fitted in enumerate(cross_fitted.models):
        rows = np.flatnonzero(which == index)
        if not len(rows):
            continue
        own = own_prices(fitted, log.take(rows), below, completions)
        if found is None:
            blank = np.zeros((len(log), own.rewards.shape[1]))
            found = Prices(blank, None if below is None else blank.copy(), "the cross-fitted models' own")
        found.rewards[rows] = own.rewards
        if own.tail is not None and found.tail is not None:
            found.tail[rows] = own.tail
    assert found is not None  # a log with no rows is refused before
    return found


@eqx.filter_jit
def _expectations(
    tables: PriceTable, below: Float[Array, ""]
) -> tuple[Float[Array, "row action"], Float[Array, "row action"]]:
    def one(table: PriceTable) -> tuple[Array, Array]:
        noise = jnp.zeros(table.prices.shape[1]) if table.noise is None else table.noise
        # a completion's rewards scatter around its price; with no noise known they all fall on it
        distance = (below - table.prices) / jnp.maximum(noise, 1e-6)[None, :]
        return table.expected, jax.nn.softmax(table.log_weights) @ jax.scipy.stats.norm.cdf(distance)

    return jax.vmap(one)(tables)


@dataclass(frozen=True)
class BoostedPrices:
    """Gradient boosting that takes gaps and categories as they are, the action among its columns, cross-fitted.

    For policies that come without a model, and for logs that a model has seen. A row is priced by trees that were
    grown without it; how many trees is chosen for each fold by the squared errors of the other folds.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        require(is_whole(self.folds, 2), "BoostedPrices", "folds", "be a whole number of at least 2", self.folds)

    def fit(self, log: Log, below: float | None = None, seed: int = 0) -> Prices:
        """Prices of every row; `below` in the inner sign."""
        rewards = self._predicted(log, log.rewards, seed)
        tail = None if below is None else np.clip(self._predicted(log, (log.rewards < below) * 1.0, seed), 0.0, 1.0)
        return Prices(rewards, tail, "gradient boosting, cross-fitted on these rows")

    def _predicted(self, log: Log, outcomes: np.ndarray, seed: int) -> np.ndarray:
        fold = deal_folds(log, self.folds, seed)
        table, categorical = native_table(log)
        n_actions = len(log.action_labels)

        def predict(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return _boosted(table, categorical, log.actions, n_actions, outcomes, train, rows, seed)

        with single_thread():
            staged = across_folds(fold, learning_from_some(predict, seed))
        errors = (staged[np.arange(len(log)), :, log.actions] - outcomes[:, None]) ** 2
        result = np.empty((len(log), n_actions))
        for held in range(int(fold.max()) + 1):
            stage = int(np.argmin(errors[fold != held].mean(axis=0)))
            result[fold == held] = staged[fold == held, stage]
        return result


def _boosted(
    table: np.ndarray,
    categorical: np.ndarray,
    actions: np.ndarray,
    n_actions: int,
    outcomes: np.ndarray,
    train: np.ndarray,
    rows: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Outcomes after no trees and after each number of trees in `STAGES`: [row, stage, action]."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    present = ~np.isnan(table[train]).all(axis=0)  # scikit-learn refuses a column that is nothing but gaps
    features = np.concatenate([table[:, present], actions[:, None].astype(np.float64)], axis=1)
    model: Any = HistGradientBoostingRegressor(
        max_iter=STAGES[-1],
        max_leaf_nodes=16,
        l2_regularization=1.0,
        max_features=min(1.0, BOOSTED_COLUMNS / features.shape[1]),
        categorical_features=np.append(categorical[present], n_actions <= BOOSTED_ACTIONS),  # pyright: ignore[reportArgumentType]
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    ).fit(features[train], outcomes[train])
    mean = np.full((len(rows), 1), outcomes[train].mean())
    result = np.empty((len(rows), len(STAGES) + 1, n_actions))
    asked = features[rows]
    for action in range(n_actions):
        asked[:, -1] = action
        staged = [part for done, part in enumerate(model.staged_predict(asked), 1) if done in STAGES]
        result[:, :, action] = np.stack([mean[:, 0], *staged], axis=1)
    return result
