"""What every rival is: settings that learn from a log, and afterwards a price for each action."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from prudent.errors import require


@dataclass(frozen=True)
class FittedRival:
    """A rival after `fit`: `prices` [row, action], `predict` [row]."""

    price: Callable[[np.ndarray], np.ndarray]

    def prices(self, values: np.ndarray) -> np.ndarray:
        return self.price(np.asarray(values, dtype=np.float64))

    def predict(self, values: np.ndarray) -> np.ndarray:
        return self.prices(values).argmax(axis=1)


class Rival(Protocol):
    """Settings of one rival.

    `values` are floats [row, attribute] with NaN in the gaps, categories (where `categorical`) as small whole numbers.
    Rows without an action (-1) or a reward (NaN) are left out. An action that the log never took is priced -inf.
    """

    def fit(
        self,
        values: np.ndarray,
        categorical: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        n_actions: int,
        seed: int = 0,
    ) -> FittedRival: ...


@dataclass(frozen=True)
class Decisions:
    """The rows of a log that a regression can learn from, and which actions they took."""

    values: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    seen: np.ndarray

    @classmethod
    def usable(cls, values: np.ndarray, actions: np.ndarray, rewards: np.ndarray, n_actions: int) -> "Decisions":
        keep = (np.asarray(actions) >= 0) & np.isfinite(rewards)
        require(bool(keep.any()), "fit", "rewards", "have a row with an action and a reward", int(keep.sum()))
        taken = np.asarray(actions)[keep]
        return cls(
            np.asarray(values, dtype=np.float64)[keep],
            taken,
            np.asarray(rewards)[keep],
            np.bincount(taken, minlength=n_actions) > 0,
        )

    @property
    def gaps(self) -> np.ndarray:
        return np.isnan(self.values)
