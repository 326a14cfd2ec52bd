"""Kernel ridge regression of outcomes on the best guess of the record and the action: smooth where trees are steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prudent.table import group_codes

WIDTHS = (0.1, 0.3, 1.0)  # over the number of columns: how fast similarity falls with squared distance
PENALTIES = tuple(10.0**power for power in np.arange(-2.0, 1.6, 0.5))
LEARNING_ROWS, CHOOSING_ROWS = 1_500, 750  # rows that coefficients, and before them width and penalty, are learnt from
BLOCK_CELLS = 8_000_000


def action_likeness(labels: Sequence[object]) -> np.ndarray:
    """Similarity of actions, [action, action]: high for doses near each other, one half for names.

    >>> action_likeness(["a", "b"]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    numbers = [float(label) for label in labels if isinstance(label, int | float) and not isinstance(label, bool)]
    if len(labels) > 2 and len(numbers) == len(labels):
        scaled = np.array(numbers) / np.std(numbers)
        return np.exp(-0.5 * (scaled[:, None] - scaled[None, :]) ** 2)
    return 0.5 + 0.5 * np.eye(len(labels))


def _together(groups: np.ndarray) -> list[np.ndarray]:
    """The rows of every group of several rows."""
    codes, count = group_codes(groups)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])
    return [part for part in parts if len(part) > 1]


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """Outcomes as a smooth function of a complete table and an action; `width` and `penalty` as `chosen` from data."""

    table: np.ndarray
    likeness: np.ndarray
    width: float
    penalty: float

    @classmethod
    def chosen(
        cls,
        table: np.ndarray,
        likeness: np.ndarray,
        actions: np.ndarray,
        outcomes: np.ndarray,
        rows: np.ndarray,
        groups: np.ndarray | None = None,
    ) -> "KernelRidge":
        """Width and penalty with the least error on some rows, each predicted without itself or without its group."""
        best: tuple[float, float, float] | None = None
        centred = outcomes[rows] - outcomes[rows].mean()
        together = [] if groups is None else _together(groups[rows])
        for width in WIDTHS:
            kernel = cls(table, likeness, width, 0.0)._kernel(actions, rows, rows)
            spectrum, vectors = np.linalg.eigh(kernel)
            spectrum, turned = np.maximum(spectrum, 0.0), vectors.T @ centred
            for penalty in PENALTIES:
                kept = spectrum / (spectrum + penalty)
                leverage = np.minimum((vectors**2) @ kept, 1 - 1e-6)
                residual = centred - vectors @ (kept * turned)
                left_out = residual / (1 - leverage)
                for group in together:
                    own = vectors[group]
                    without = (1 + 1e-6) * np.eye(len(group)) - (own * kept) @ own.T
                    left_out[group] = np.linalg.solve(without, residual[group])
                error = float(np.mean(left_out**2))
                if best is None or error < best[0]:
                    best = error, width, penalty
        assert best is not None  # there are widths and penalties to choose from
        return cls(table, likeness, *best[1:])

    def predict(self, actions: np.ndarray, outcomes: np.ndarray, train: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Learn from some rows; outcomes of every action for others, [row, action]."""
        mean = outcomes[train].mean()
        kernel = self._kernel(actions, train, train) + self.penalty * np.eye(len(train))
        coefficients = np.linalg.solve(kernel, outcomes[train] - mean)
        by_action = self.likeness[:, actions[train]] * coefficients[None, :]
        block = max(1, BLOCK_CELLS // len(train))
        parts = [self._similarity(rows[i : i + block], train) @ by_action.T for i in range(0, len(rows), block)]
        return mean + np.concatenate(parts)

    def _kernel(self, actions: np.ndarray, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return self._similarity(rows, others) * self.likeness[np.ix_(actions[rows], actions[others])]

    def _similarity(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        left, right = self.table[rows], self.table[others]
        squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
        return np.exp(-self.width / max(self.table.shape[1], 1) * np.maximum(squares, 0.0))
