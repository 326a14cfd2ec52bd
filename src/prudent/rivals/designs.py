"""How regressions price actions: one for each action, or one for all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Parts = list[tuple[np.ndarray, np.ndarray]]
Predictor = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class PerAction:
    """One regression per action, on the rows that took it."""

    def parts(self, table: np.ndarray, actions: np.ndarray, n_actions: int) -> Parts:
        """(rows, inputs) of each regression; there is none for an action without rows."""
        every = [np.flatnonzero(actions == action) for action in range(n_actions)]
        return [(rows, table[rows]) for rows in every if len(rows)]

    def price(self, models: Sequence[Predictor], table: np.ndarray, seen: np.ndarray) -> np.ndarray:
        prices = np.full((len(table), len(seen)), -np.inf)
        for model, action in zip(models, np.flatnonzero(seen), strict=True):
            prices[:, action] = model(table)
        return prices

    def extra_columns(self, n_actions: int) -> int:
        return 0


@dataclass(frozen=True)
class ActionAsFeature:
    """One regression on attributes, the action's one-hot columns and its index (for ordered doses)."""

    def parts(self, table: np.ndarray, actions: np.ndarray, n_actions: int) -> Parts:
        return [(np.arange(len(table)), self._joined(table, actions, n_actions))]

    def price(self, models: Sequence[Predictor], table: np.ndarray, seen: np.ndarray) -> np.ndarray:
        prices = np.full((len(table), len(seen)), -np.inf)
        for action in np.flatnonzero(seen):
            prices[:, action] = models[0](self._joined(table, np.full(len(table), action), len(seen)))
        return prices

    def extra_columns(self, n_actions: int) -> int:
        return n_actions + 1

    def _joined(self, table: np.ndarray, actions: np.ndarray, n_actions: int) -> np.ndarray:
        return np.hstack([table, np.eye(n_actions)[actions], actions[:, None]])


Design = PerAction | ActionAsFeature
