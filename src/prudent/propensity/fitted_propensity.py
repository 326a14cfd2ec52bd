"""The probabilities of the logged actions, and what every propensity needs to make them."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from prudent.errors import Rule, check
from prudent.propensity.overlap import Overlap, measure_overlap
from prudent.table import ActionLabel, Log

FLOOR = 1e-6  # the smallest probability that is reported for an action

_RULES = {
    "clip": Rule("be at least 1 (times the mean weight)", lambda clip: isinstance(clip, Real) and float(clip) >= 1)
}


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
    action_labels: tuple[ActionLabel, ...]
    imputed: np.ndarray | None = None

    @classmethod
    def of(cls, log: Log, probabilities: np.ndarray, imputed: np.ndarray | None = None) -> "FittedPropensity":
        """From [row, action] and, where gaps were imputed, from each imputation alone, [row, imputation, action]."""
        probabilities = np.maximum(probabilities, FLOOR)
        probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
        actions = np.asarray(log.actions)
        index = np.arange(len(actions)), np.maximum(actions, 0)
        taken = np.where(actions >= 0, np.maximum(probabilities[index], FLOOR), np.nan)
        by_imputation = None
        if imputed is not None:
            by_imputation = np.where(actions >= 0, np.maximum(imputed[index[0], :, index[1]].T, FLOOR), np.nan)
        return cls(taken, probabilities, actions, log.action_labels, by_imputation)

    def weights(self, clip: float = 10.0) -> np.ndarray:
        """Inverse propensities, clipped at `clip` times their mean, then scaled to mean one over rows with an action.

        Rows with no action get weight 0. `clip=math.inf` does not clip.
        """
        check("weights", _RULES, {"clip": clip})
        inverse = np.where(self.actions >= 0, 1 / self.taken, 0.0)
        acted = self.actions >= 0
        clipped = np.minimum(inverse, clip * inverse[acted].mean())
        return clipped / clipped[acted].mean()

    @property
    def plausible(self) -> np.ndarray:
        """The least and the largest probability that each action has in a row of the log, [2, action].

        Where only `taken` is known, a row says of the actions it did not take that theirs is at most what is left. An
        action that was never taken may have had any.
        """
        if self.probabilities is not None:
            return np.stack([self.probabilities.min(axis=0), self.probabilities.max(axis=0)])
        limits = np.stack([np.full(len(self.action_labels), FLOOR), np.ones(len(self.action_labels))])
        for action in range(len(self.action_labels)):
            taken = self.taken[self.actions == action]
            others = 1 - self.taken[(self.actions >= 0) & (self.actions != action)]
            if len(taken):
                limits[:, action] = max(min(taken.min(), others.min(initial=1.0)), FLOOR), taken.max()
        return limits

    def overlap(self) -> Overlap:
        """Report, per action and overall, how much the log can support."""
        return measure_overlap(self.taken, self.probabilities, self.actions, self.action_labels)


def for_all_actions(predicted: np.ndarray, classes: np.ndarray, n_actions: int, n_train: int) -> np.ndarray:
    """Columns for every action: one the training rows never took gets what one more row would have shown, 1/(n+1)."""
    full = np.full((len(predicted), n_actions), 1 / (n_train + 1))
    full[:, classes] = predicted
    return full / full.sum(axis=1, keepdims=True)


def action_frequencies(actions: np.ndarray, n_actions: int) -> np.ndarray:
    """The share of each action, half a row added to each so that none is zero."""
    counts = np.bincount(actions, minlength=n_actions) + 0.5
    return counts / counts.sum()
