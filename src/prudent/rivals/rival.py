"""What every rival is: settings that learn from logged decisions, and afterwards a price for each action."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from prudent.errors import require


@dataclass(frozen=True, eq=False)
class LoggedDecisions:
    """The rows of a log that a regression can learn from; make it with `of`, which leaves the others out.

    values: floats [row, attribute] with NaN in the gaps; categories (where `categorical`, [attribute]) are small whole
    numbers. actions: [row], numbers below `n_actions`. rewards: [row].
    """

    values: np.ndarray
    categorical: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    n_actions: int

    @classmethod
    def of(
        cls, values: np.ndarray, categorical: np.ndarray, actions: np.ndarray, rewards: np.ndarray, n_actions: int
    ) -> "LoggedDecisions":
        """Without the rows that have no action (-1) or no reward (NaN)."""
        usable = (np.asarray(actions) >= 0) & np.isfinite(rewards)
        require(bool(usable.any()), "LoggedDecisions", "rewards", "have a row with an action and a reward", 0)
        return cls(
            np.asarray(values, dtype=np.float64)[usable],
            np.asarray(categorical, dtype=bool),
            np.asarray(actions)[usable],
            np.asarray(rewards)[usable],
            n_actions,
        )

    @property
    def seen(self) -> np.ndarray:
        """Which actions were taken at all, [action]."""
        return np.bincount(self.actions, minlength=self.n_actions) > 0

    @property
    def gaps(self) -> np.ndarray:
        return np.isnan(self.values)


@dataclass(frozen=True)
class FittedRival:
    """A rival after `fit`: `prices` [row, action], `predict` [row]."""

    price: Callable[[np.ndarray], np.ndarray]

    def prices(self, values: np.ndarray) -> np.ndarray:
        return self.price(np.asarray(values, dtype=np.float64))

    def predict(self, values: np.ndarray) -> np.ndarray:
        return self.prices(values).argmax(axis=1)


class Rival(Protocol):
    """Settings of one rival. An action that the log never took is priced -inf."""

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival: ...
