"""What a user would otherwise do, at its best honest settings, behind one interface.

    rival.fit(values, categorical, actions, rewards, n_actions, seed).predict(new_values)

`values` are floats with NaN in the gaps, categories as small whole numbers. Rows without an action or a reward are left
out. Every rival prices all actions for a row and takes the best; an action it never saw is priced -inf. Settings that
matter (leaf size, number of rounds, gap indicators) are chosen by each rival on the log itself, by cross-validation or
out-of-bag error.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

LEAVES = (5, 10, 20)
SMALL_FOREST, FOREST = 60, 300
DRAWS = 4  # at decision each imputer draws this often, so prices average over imputations × DRAWS completions
CORES = 2


@dataclass(frozen=True)
class FittedRival:
    """A rival after `fit`: `prices` [row, action], `predict` [row]."""

    price: Callable[[np.ndarray], np.ndarray]

    def prices(self, values: np.ndarray) -> np.ndarray:
        return self.price(np.asarray(values, dtype=np.float64))

    def predict(self, values: np.ndarray) -> np.ndarray:
        return self.prices(values).argmax(axis=1)


class Rival(Protocol):
    """Settings of one rival."""

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival: ...


# --- how a regression prices actions ---


@dataclass(frozen=True)
class PerAction:
    """One regression per action, on the rows that took it."""

    def parts(self, table: np.ndarray, actions: np.ndarray, n_actions: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """(rows, inputs) of each regression; actions without rows have none to learn from."""
        rows = [np.flatnonzero(actions == action) for action in range(n_actions)]
        return [(own, table[own]) for own in rows if len(own)]

    def price(self, models: Sequence[Any], table: np.ndarray, seen: np.ndarray) -> np.ndarray:
        prices = np.full((len(table), len(seen)), -np.inf)
        for model, action in zip(models, np.flatnonzero(seen), strict=True):
            prices[:, action] = model(table)
        return prices

    def extra_columns(self, n_actions: int) -> int:
        return 0


@dataclass(frozen=True)
class ActionAsFeature:
    """One regression on attributes, the action's one-hot columns and its index (for ordered doses)."""

    def parts(self, table: np.ndarray, actions: np.ndarray, n_actions: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(np.arange(len(table)), self._joined(table, actions, n_actions))]

    def price(self, models: Sequence[Any], table: np.ndarray, seen: np.ndarray) -> np.ndarray:
        prices = np.full((len(table), len(seen)), -np.inf)
        for action in np.flatnonzero(seen):
            prices[:, action] = models[0](self._joined(table, np.full(len(table), action), len(seen)))
        return prices

    def extra_columns(self, n_actions: int) -> int:
        return n_actions + 1

    def _joined(self, table: np.ndarray, actions: np.ndarray, n_actions: int) -> np.ndarray:
        return np.hstack([table, np.eye(n_actions)[actions], actions[:, None]])


Design = PerAction | ActionAsFeature


# --- rivals ---


@dataclass(frozen=True)
class Boosting:
    """Gradient boosting that takes gaps and categories natively; leaf size and rounds by cross-validation on the log.

    `stages` are the numbers of rounds tried; one regression for all actions needs more of them than one for each.
    """

    design: Design
    stages: tuple[int, ...]
    folds: int = 3
    learning_rate: float = 0.06

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival:
        values, actions, rewards = _usable(values, actions, rewards)
        seen = np.bincount(actions, minlength=n_actions) > 0
        parts = self.design.parts(values, actions, n_actions)
        kinds = np.r_[np.asarray(categorical, dtype=bool), np.zeros(self.design.extra_columns(n_actions), dtype=bool)]
        with _single_thread():
            leaf, rounds = self._chosen(parts, rewards, kinds, seed)
            models = [self._learnt(inputs, rewards[rows], kinds, leaf, rounds, seed).predict for rows, inputs in parts]
        return FittedRival(lambda new: self.design.price(models, new, seen))

    def _learnt(
        self, inputs: np.ndarray, targets: np.ndarray, kinds: np.ndarray, leaf: int, rounds: int, seed: int
    ) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        empty = np.isnan(inputs).all(axis=0)
        if empty.any():  # scikit-learn refuses a column that is nothing but gaps
            inputs = np.where(empty, 0.0, inputs)
        return HistGradientBoostingRegressor(
            learning_rate=self.learning_rate,
            max_iter=rounds,
            max_leaf_nodes=15,
            min_samples_leaf=leaf,
            categorical_features=kinds,  # pyright: ignore[reportArgumentType]  scikit-learn is untyped
            early_stopping=False,  # pyright: ignore[reportArgumentType]
            random_state=seed,
        ).fit(inputs, targets)

    def _chosen(
        self, parts: list[tuple[np.ndarray, np.ndarray]], rewards: np.ndarray, kinds: np.ndarray, seed: int
    ) -> tuple[int, int]:
        """Leaf size and rounds with the least squared error over all regressions' held-out rows together."""
        errors = np.zeros((len(LEAVES), len(self.stages)))
        for rows, inputs in parts:
            fold = np.random.default_rng(seed).permutation(len(rows)) % self.folds
            for (index, leaf), held in product(enumerate(LEAVES), range(self.folds)):
                train, test = fold != held, fold == held
                if train.sum() < 2 or not test.any():
                    continue
                model = self._learnt(inputs[train], rewards[rows[train]], kinds, leaf, self.stages[-1], seed)
                staged = list(model.staged_predict(inputs[test]))
                errors[index] += [((staged[k - 1] - rewards[rows[test]]) ** 2).sum() for k in self.stages]
        leaf, stage = np.unravel_index(errors.argmin(), errors.shape)
        return LEAVES[leaf], self.stages[stage]


@dataclass(frozen=True)
class MeanForest:
    """Random forests on mean-imputed attributes; leaf size, and whether gap indicators help, by out-of-bag error."""

    design: Design

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival:
        values, actions, rewards = _usable(values, actions, rewards)
        seen = np.bincount(actions, minlength=n_actions) > 0
        numeric = _Numeric.of(values, categorical)
        means = np.nan_to_num(_column_means(numeric(values)))

        def completed(new: np.ndarray, indicators: bool) -> np.ndarray:
            table = numeric(new)
            filled = np.where(np.isnan(table), means, table)
            return np.hstack([filled, np.isnan(new)]) if indicators else filled

        choices = (False, True) if np.isnan(values).any() else (False,)
        tables = {choice: self.design.parts(completed(values, choice), actions, n_actions) for choice in choices}
        leaf, indicators = min(
            product(LEAVES, choices),
            key=lambda setting: _out_of_bag_error(tables[setting[1]], rewards, setting[0], seed),
        )
        models = [_forest(inputs, rewards[rows], leaf, FOREST, seed).predict for rows, inputs in tables[indicators]]
        return FittedRival(lambda new: self.design.price(models, completed(new, indicators), seen))


@dataclass(frozen=True)
class ChainedForest:
    """Multiple imputation by chained equations, a forest per completed table, prices averaged over imputations.

    The leaf size is chosen by out-of-bag error on the first completed table.
    """

    design: Design
    imputations: int = 5

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival:
        values, actions, rewards = _usable(values, actions, rewards)
        seen = np.bincount(actions, minlength=n_actions) > 0
        imputers = _imputers(values, categorical, self.imputations, seed)
        tables = [self.design.parts(imputer.once(values), actions, n_actions) for imputer in imputers]
        leaf = min(LEAVES, key=lambda leaf: _out_of_bag_error(tables[0], rewards, leaf, seed))
        trees = max(100, FOREST // len(imputers))
        ensembles = [
            [_forest(inputs, rewards[rows], leaf, trees, seed + k).predict for rows, inputs in parts]
            for k, parts in enumerate(tables)
        ]

        def price(new: np.ndarray) -> np.ndarray:
            return _mean_over_completions(imputers, new, lambda k, table: self.design.price(ensembles[k], table, seen))

        return FittedRival(price)


@dataclass(frozen=True)
class ChainedPolicyForest:
    """Multiple imputation and EconML's doubly robust policy forest; leaf values averaged over imputations.

    Nuisance models, cross-fitted: a random forest for the reward (leaf size by out-of-bag error), logistic regression
    for the propensity. In one trial dosing world leaves of 5 beat larger ones, using a whole subsample for growing and
    pricing a tree beat splitting it (`honest`), and averaged leaf values beat votes, so those are the settings. Prices
    are against the first action. Actions in fewer rows than cross-fitting needs are never chosen.
    """

    imputations: int = 5
    folds: int = 3
    trees: int = 200

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival:
        values, actions, rewards = _usable(values, actions, rewards)
        kept = np.flatnonzero(np.bincount(actions, minlength=n_actions) >= 2 * self.folds)
        if len(kept) < 2:
            commonest = np.bincount(actions, minlength=n_actions).argmax()
            return FittedRival(
                lambda new: np.tile(np.where(np.arange(n_actions) == commonest, 0, -np.inf), (len(new), 1))
            )
        rows = np.isin(actions, kept)
        values, actions, rewards = values[rows], np.searchsorted(kept, actions[rows]), rewards[rows]
        imputers = _imputers(values, categorical, self.imputations, seed)
        tables = [imputer.once(values) for imputer in imputers]
        parts = ActionAsFeature().parts(tables[0], actions, len(kept))
        nuisance_leaf = min(LEAVES, key=lambda leaf: _out_of_bag_error(parts, rewards, leaf, seed))
        forests = [self._learnt(table, actions, rewards, nuisance_leaf, seed + k) for k, table in enumerate(tables)]

        def price(new: np.ndarray) -> np.ndarray:
            prices = np.full((len(new), n_actions), -np.inf)
            prices[:, kept] = _mean_over_completions(
                imputers, new, lambda k, table: forests[k].policy_model_.predict_value(table)
            )
            return prices

        return FittedRival(price)

    def _learnt(
        self, table: np.ndarray, actions: np.ndarray, rewards: np.ndarray, nuisance_leaf: int, seed: int
    ) -> Any:
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.linear_model import LogisticRegression

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EconML and the scikit-learn names it uses warn about one another
            from econml.policy import DRPolicyForest

            return DRPolicyForest(
                model_regression=RandomForestRegressor(  # pyright: ignore[reportArgumentType]  EconML is untyped
                    100, min_samples_leaf=nuisance_leaf, max_features=0.5, n_jobs=CORES, random_state=seed
                ),
                model_propensity=LogisticRegression(max_iter=1000),  # pyright: ignore[reportArgumentType]
                min_propensity=0.01,
                cv=self.folds,
                n_estimators=self.trees,
                min_samples_leaf=5,
                honest=False,
                n_jobs=CORES,
                random_state=seed,
            ).fit(rewards, actions, X=table)


RIVALS: dict[str, Rival] = {
    "gradient boosting per action": Boosting(PerAction(), stages=(25, 50, 100, 200)),
    "gradient boosting, action as feature": Boosting(ActionAsFeature(), stages=(50, 100, 200, 400, 800)),
    "mean + forests per action": MeanForest(PerAction()),
    "mean + forest, action as feature": MeanForest(ActionAsFeature()),
    "MICE + forests per action": ChainedForest(PerAction()),
    "MICE + forests, action as feature": ChainedForest(ActionAsFeature()),
    "MICE + policy forest (EconML)": ChainedPolicyForest(),
}


# --- shared parts ---


def _usable(values: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    keep = (np.asarray(actions) >= 0) & np.isfinite(rewards)
    return np.asarray(values, dtype=np.float64)[keep], np.asarray(actions)[keep], np.asarray(rewards)[keep]


def _single_thread() -> threadpool_limits:
    """Tables this small gain nothing from threads in linear algebra, and lose much on a busy machine."""
    import sklearn.ensemble  # noqa: F401  only libraries that are already loaded can be limited

    return threadpool_limits(limits=1)


def _forest(inputs: np.ndarray, targets: np.ndarray, leaf: int, trees: int, seed: int, bag: bool = False) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(
        trees, min_samples_leaf=leaf, max_features=0.5, oob_score=bag, n_jobs=CORES, random_state=seed
    ).fit(inputs, targets)


def _out_of_bag_error(parts: list[tuple[np.ndarray, np.ndarray]], rewards: np.ndarray, leaf: int, seed: int) -> float:
    total = 0.0
    for rows, inputs in parts:
        if len(rows) < 10:  # too few to be out of every bag often enough
            continue
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            forest = _forest(inputs, rewards[rows], leaf, SMALL_FOREST, seed, bag=True)
        total += float(((forest.oob_prediction_ - rewards[rows]) ** 2).sum())
    return total


@dataclass(frozen=True)
class _Numeric:
    """Categories as one-hot columns (a level not seen in the log is all zeros), NaN staying NaN."""

    levels: tuple[np.ndarray | None, ...]

    @classmethod
    def of(cls, values: np.ndarray, categorical: np.ndarray) -> "_Numeric":
        columns = zip(values.T, np.asarray(categorical, dtype=bool), strict=True)
        return cls(tuple(np.unique(column[~np.isnan(column)]) if kind else None for column, kind in columns))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        blocks = []
        for column, levels in zip(values.T, self.levels, strict=True):
            block = column[:, None]
            blocks.append(block if levels is None else np.where(np.isnan(block), np.nan, block == levels))
        return np.hstack(blocks)


def _column_means(table: np.ndarray) -> np.ndarray:
    present = ~np.isnan(table)
    return np.where(present, table, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)


@dataclass(frozen=True)
class _Imputer:
    """One fitted chain. Draws start from the same seed every time, so the same rows get the same completions."""

    numeric: _Numeric
    chain: Any
    seed: int

    def once(self, values: np.ndarray) -> np.ndarray:
        return self.draws(values, 1)[0]

    def draws(self, values: np.ndarray, number: int) -> list[np.ndarray]:
        table = self.numeric(values)
        if self.chain is None or not np.isnan(table).any():
            return [table]
        self.chain.random_state_ = np.random.RandomState(self.seed)
        with _single_thread():
            return [self.chain.transform(table) for _ in range(number)]


def _imputers(values: np.ndarray, categorical: np.ndarray, imputations: int, seed: int) -> list[_Imputer]:
    """Chains from different seeds. They see attributes only: at decision there is no reward to impute from."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    numeric = _Numeric.of(values, categorical)
    table = numeric(values)
    width = table.shape[1]
    with _single_thread():
        return [
            _Imputer(
                numeric,
                IterativeImputer(
                    sample_posterior=True,
                    max_iter=10 if width <= 30 else 4,
                    n_nearest_features=20 if width > 30 else None,
                    keep_empty_features=True,
                    random_state=seed + k,
                ).fit(table),
                seed + k,
            )
            for k in range(imputations)
        ]


def _mean_over_completions(
    imputers: list[_Imputer], values: np.ndarray, price: Callable[[int, np.ndarray], np.ndarray]
) -> np.ndarray:
    return np.mean(
        [price(k, table) for k, imputer in enumerate(imputers) for table in imputer.draws(values, DRAWS)], axis=0
    )
