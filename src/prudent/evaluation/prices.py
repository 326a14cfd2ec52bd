"""Prices for the direct and doubly robust estimators: the expected reward of every action for every row."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.decide import FittedModel, Policy, PriceTable, Pricing, read_together
from prudent.errors import check, require, whole
from prudent.evaluation.kernel_ridge import CHOOSING_ROWS, LEARNING_ROWS, KernelRidge, action_likeness
from prudent.models import align_log
from prudent.progress import working
from prudent.propensity import (
    BOOSTED_COLUMNS,
    BOOSTED_LEVELS,
    across_folds,
    deal_folds,
    expected_table,
    native_table,
    numeric_table,
    single_thread,
    standardised,
    with_row_limit,
)
from prudent.table import Log

STAGES = (20, 60)
COMPLETIONS = 256


@dataclass(frozen=True, eq=False)
class Prices:
    """Expected rewards [row, action], higher is better.

    tail: the probability that the reward is below a threshold; None without one.
    source: where they are from, in words.
    informed: the rewards expected when the row's outcome is used too; None where the source cannot say.
    """

    rewards: np.ndarray
    tail: np.ndarray | None
    source: str
    informed: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> "Prices":
        tail, informed = (None if array is None else array[rows] for array in (self.tail, self.informed))
        return Prices(self.rewards[rows], tail, self.source, informed)


@dataclass(frozen=True, eq=False)
class ModelPrices:
    """Reads a model's expectations off price tables; they are too optimistic on rows that it was fitted on.

    below: the threshold of the tail, in the internal sign. origin: what the model measures rewards from.
    """

    pricing: Pricing
    below: float | None
    origin: float

    @classmethod
    def of(
        cls, fitted: FittedModel, below: float | None, seed: int = 0, completions: int = COMPLETIONS
    ) -> "ModelPrices":
        """seed: of the draws; those of a policy of the same model can serve both."""
        return cls(Policy(fitted, completions=completions, seed=seed).pricing, below, fitted.origin)

    @property
    def reading(self) -> "_Expectations":
        return _Expectations(jnp.asarray(np.inf if self.below is None else self.below - self.origin, jnp.float32))

    def prices(self, rewards: np.ndarray, tail: np.ndarray) -> Prices:
        """From what was read."""
        return Prices(rewards + self.origin, None if self.below is None else tail, "from the model")


def model_prices(fitted: FittedModel, log: Log, below: float | None, completions: int = COMPLETIONS) -> Prices:
    """The model's prices of every row."""
    reader = ModelPrices.of(fitted, below, completions=completions)
    return reader.prices(*read_together([reader], align_log(log, fitted).encoded)[0])


class _Expectations(eqx.Module):
    """The expected reward of every action, and the probability that a reward is below a threshold."""

    below: Float[Array, ""]

    def __call__(self, table: PriceTable) -> tuple[Float[Array, " action"], Float[Array, " action"]]:
        noise = jnp.zeros_like(table.prices) if table.noise is None else table.noise
        # rewards scatter around a completion's price; without a noise estimate they all equal it
        distance = (self.below - table.prices) / jnp.maximum(noise, 1e-6)
        return table.expected, jax.nn.softmax(table.log_weights) @ jax.scipy.stats.norm.cdf(distance)


@dataclass(frozen=True)
class LearntPrices:
    """Prices learnt from the log itself, cross-fitted: a row is priced by learners that have not seen it.

    For policies without a model, and for logs that a model has seen. Kernel ridge regression on the expected record
    (smooth) and gradient boosting that handles gaps and categories itself (steps), both with the action among their
    inputs, stacked with the shares that fit the other folds' outcomes best.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        check("LearntPrices", {"folds": whole(2)}, vars(self))

    def fit(self, log: Log, below: float | None = None, seed: int = 0, beside: Prices | None = None) -> Prices:
        """Prices of every row; `below` in the internal sign. A model's prices `beside` them are stacked too."""
        lacking = int((~log.followed).sum())
        must = "have an action and a reward in every row that is not censored"
        require(lacking == 0, "LearntPrices", "log", must, f"{lacking} without")
        with working("prices, filling gaps"):
            tables = _Tables.of(log, seed)
        others = (None, None) if beside is None else (beside.rewards, beside.tail)
        rewards = self._predicted(tables, log, log.rewards, others[0], seed)
        tail = None
        if below is not None:
            tail = np.clip(self._predicted(tables, log, (log.rewards < below) * 1.0, others[1], seed), 0.0, 1.0)
        with_model = "" if beside is None else f"{beside.source} and "
        return Prices(rewards, tail, f"{with_model}learnt from these rows, cross-fitted")

    def _predicted(
        self, tables: "_Tables", log: Log, outcomes: np.ndarray, beside: np.ndarray | None, seed: int
    ) -> np.ndarray:
        fold, n_actions = deal_folds(log, self.folds, seed), len(log.action_labels)
        known = log.rewarded  # what is learnt from; censored rows are priced, too
        some = np.random.default_rng([seed, 1]).permutation(len(log))
        some = some[known[some]]

        def smooth(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            learnt = some[np.isin(some, train)][:LEARNING_ROWS]
            return ridge.predict(log.actions, outcomes, learnt, rows)

        def stepped(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return _boosted(tables, log.actions, n_actions, outcomes, train[known[train]], rows, seed)

        with single_thread():
            likeness = action_likeness(log.action_labels)
            with working("prices, choosing the kernel"):
                chosen_by = log.actions, outcomes, some[:CHOOSING_ROWS], log.groups
                ridge = KernelRidge.chosen(tables.guessed, likeness, *chosen_by)
            parts = [
                *([] if beside is None else [beside[:, None]]),
                across_folds(fold, smooth, "prices by kernel regression")[:, None],
                across_folds(fold, with_row_limit(stepped, seed), "prices by boosting"),
            ]
        return _stacked(np.concatenate(parts, axis=1), log.actions, outcomes, fold, known)


class _Tables(NamedTuple):
    """The log as the learners need it: with gaps, and with gaps filled by their expectation."""

    native: np.ndarray
    categorical: np.ndarray
    guessed: np.ndarray

    @classmethod
    def of(cls, log: Log, seed: int) -> "_Tables":
        return cls(*native_table(log), standardised(expected_table(numeric_table(log), seed)))


def _stacked(
    parts: np.ndarray, actions: np.ndarray, outcomes: np.ndarray, fold: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Predictions [row, learner, action] stacked: each learner has a share of at least 0, and the rest is the mean.

    known: the rows that have an outcome.
    """
    from scipy.optimize import nnls

    result = np.empty(parts[:, 0].shape)
    for held in range(int(fold.max()) + 1):
        others, rows = (fold != held) & known, fold == held
        mean = outcomes[others].mean()
        shares, _ = nnls(parts[np.flatnonzero(others), :, actions[others]] - mean, outcomes[others] - mean)
        result[rows] = mean + np.einsum("p,rpa->ra", shares, parts[rows] - mean)
    return result


def _boosted(
    tables: _Tables,
    actions: np.ndarray,
    n_actions: int,
    outcomes: np.ndarray,
    train: np.ndarray,
    rows: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Outcomes after each number of trees in `STAGES`: [row, stage, action]."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    present = ~np.isnan(tables.native[train]).all(axis=0)  # scikit-learn refuses a column that is nothing but gaps
    features = np.concatenate([tables.native[:, present], actions[:, None].astype(np.float64)], axis=1)
    categorical = np.append(tables.categorical[present], n_actions <= BOOSTED_LEVELS)
    model: Any = HistGradientBoostingRegressor(
        max_iter=STAGES[-1],
        max_leaf_nodes=16,
        l2_regularization=1.0,
        max_features=min(1.0, BOOSTED_COLUMNS / features.shape[1]),
        categorical_features=categorical,  # pyright: ignore[reportArgumentType]  scikit-learn is untyped
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    ).fit(features[train], outcomes[train])
    result = np.empty((len(rows), len(STAGES), n_actions))
    inputs = features[rows]
    for action in range(n_actions):
        inputs[:, -1] = action
        staged = [part for done, part in enumerate(model.staged_predict(inputs), 1) if done in STAGES]
        result[:, :, action] = np.stack(staged, axis=1)
    return result
