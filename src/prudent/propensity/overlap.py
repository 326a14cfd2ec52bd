"""What propensities say about a log: how likely the taken actions were, and which actions the log can speak about."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from prudent.errors import require
from prudent.show import plain_types

OUTSIDE_SUPPORT = 0.01  # below one in a hundred the log says next to nothing about the action for such a row
FEW_ROWS = 30  # fewer rows than this and an action's reward is anecdote


@dataclass(frozen=True)
class ActionOverlap:
    """How well the log covers one action.

    `smallest` and `first_percentile` are of the action's probability over every row (over the rows that took it when
    only logged probabilities are known). `effective_sample_size` is (Σw)²/Σw² over the rows that took it, w being the
    inverse of its probability. `rows_outside` counts the rows whose probability of this action is below 0.01 (again,
    only rows that took it when nothing else is known): there its reward is extrapolated, not learnt.
    """

    action: str | int | float | bool
    count: int
    smallest: float
    first_percentile: float
    effective_sample_size: float
    rows_outside: int


@dataclass(frozen=True)
class Overlap:
    """Which actions and rows the log can speak about; `verdicts` says it in sentences.

    `rows_outside` counts rows outside common support: some action of the log has probability below 0.01 there.
    """

    rows: int
    actions: tuple[ActionOverlap, ...]
    effective_sample_size: float
    rows_outside: int
    verdicts: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain types for JSON; a number that does not exist is None."""
        return plain_types(self)


@dataclass(frozen=True, eq=False)
class FittedPropensity:
    """Probabilities of the logged actions, one row per row of the log.

    `taken` is the probability of the action that was taken, at least 1e-6, NaN where none was recorded;
    `probabilities` has one column per action label and rows that sum to one, or is None when only `taken` is known.
    `imputed` is `taken` by each imputation of the gaps alone, [imputation, row]; None where nothing was imputed.
    """

    taken: np.ndarray
    probabilities: np.ndarray | None
    actions: np.ndarray
    action_labels: tuple[str | int | float | bool, ...]
    imputed: np.ndarray | None = None

    def weights(self, clip: float = 10.0) -> np.ndarray:
        """Inverse propensities, cut at `clip` times their mean, then scaled to mean one over rows with an action.

        Rows with no action weigh nothing. `clip=math.inf` cuts nothing.
        """
        require(clip >= 1, "weights", "clip", "be at least 1 (times the mean weight)", clip)
        inverse = np.where(self.actions >= 0, 1 / self.taken, 0.0)
        acted = self.actions >= 0
        cut = np.minimum(inverse, clip * inverse[acted].mean())
        return cut / cut[acted].mean()

    def overlap(self) -> Overlap:
        """Report, per action and overall, how much the log can support."""
        actions = tuple(self._action_overlap(index) for index in range(len(self.action_labels)))
        known = self.taken[:, None] if self.probabilities is None else self.probabilities
        rows, outside = int((self.actions >= 0).sum()), int((known < OUTSIDE_SUPPORT).any(axis=1).sum())
        effective = effective_sample_size(1 / self.taken[self.actions >= 0])
        return Overlap(rows, actions, effective, outside, _verdicts(rows, len(self.taken), actions, effective))

    def _action_overlap(self, index: int) -> ActionOverlap:
        own = self.taken[self.actions == index]
        seen = own if self.probabilities is None else self.probabilities[:, index]
        return ActionOverlap(
            action=self.action_labels[index],
            count=len(own),
            smallest=float(seen.min()) if len(seen) else math.nan,
            first_percentile=float(np.quantile(seen, 0.01)) if len(seen) else math.nan,
            effective_sample_size=effective_sample_size(1 / own),
            rows_outside=int((seen < OUTSIDE_SUPPORT).sum()),
        )


def effective_sample_size(weights: np.ndarray) -> float:
    """How many equally weighted rows would be as informative: (Σw)² / Σw²; 0 where all weights are 0."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _verdicts(rows: int, all_rows: int, actions: tuple[ActionOverlap, ...], effective: float) -> tuple[str, ...]:
    sentences = [sentence for one in actions for sentence in _action_verdicts(one, all_rows)]
    if effective < rows / 2:
        sentences.append(
            f"Weighted by inverse propensity, the {rows} rows with an action say as much as about {effective:.0f} equal"
            " ones: expect wide intervals."
        )
    return tuple(sentences) or ("Every action was taken often enough, in all kinds of cases the log can tell apart.",)


def _action_verdicts(one: ActionOverlap, all_rows: int) -> Iterator[str]:
    if one.count < FEW_ROWS:
        times = "1 row" if one.count == 1 else f"{one.count} rows"
        yield f"Action '{one.action}' was taken in {times} only, so what is said about its reward rests on very little."
    elif one.effective_sample_size < max(FEW_ROWS, one.count / 4):
        yield (
            f"Action '{one.action}' was taken in {one.count} rows, but a few unusual ones carry the weight: they say as"
            f" much as about {one.effective_sample_size:.0f} equal ones."
        )
    if one.rows_outside > 0.05 * all_rows:
        yield (
            f"For {one.rows_outside} of {all_rows} rows action '{one.action}' was almost never taken in cases like"
            f" them (probability below {OUTSIDE_SUPPORT}), so its reward there is extrapolated."
        )
