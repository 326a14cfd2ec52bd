"""Censored outcomes: how likely it was that a row's outcome was seen, and the weights that follow from it."""

from dataclasses import dataclass, replace

import numpy as np

from prudent.propensity.best_guess import BestGuess
from prudent.propensity.boosted import Boosted
from prudent.propensity.fitted_propensity import FLOOR
from prudent.propensity.overlap import effective_sample_size
from prudent.propensity.stacked import mixed
from prudent.show import plain_types
from prudent.table import Column, Log, Schema, count_groups, label_text

ACTION = "\0action"  # a name that no column of a table has
FOLDS = 5
FEWEST_ROWS = 20
"""Of an action, rows whose outcome was seen and rows that are censored, to be learnt about by themselves."""
LARGE_WEIGHT = 10.0
CLIP = 10.0


@dataclass(frozen=True, eq=False)
class Censoring:
    """Inverse-probability-of-censoring weights: each row whose outcome was seen stands for 1 / P(seen) rows like it.

    Right if whatever made follow-up end early, and mattered for the outcome, is in the record or the action. The
    probability is learnt from record, gaps and action as propensities are, cross-fitted (Robins and Rotnitzky, 1992): a
    mixture of `BestGuess` and `Boosted` for all actions, and of `BestGuess` for each action with enough rows, since who
    leaves early may be others under each.

    seen: the probability that the outcome was seen, by row; NaN without an action.
    known: which rows have an outcome. censored: how many have an action and were censored.
    """

    seen: np.ndarray
    known: np.ndarray
    censored: int

    @classmethod
    def of(cls, log: Log, seed: int = 0) -> "Censoring | None":
        """None where no outcome is censored."""
        if log.censored is None or not (log.followed & ~log.rewarded).any():
            return None
        indicator = _as_actions(log)
        together = [_probabilities(learner, indicator, seed) for learner in (BestGuess(FOLDS), Boosted(FOLDS))]
        by_action = together[0].copy()
        for action in range(len(log.action_labels)):
            rows = np.flatnonzero(log.followed & (log.actions == action))
            counts = np.bincount(indicator.actions[rows], minlength=2)
            if counts.min() >= FEWEST_ROWS and (count_groups(log.groups, rows) or FOLDS) >= FOLDS:
                by_action[rows] = _probabilities(BestGuess(FOLDS), _without_action(indicator.take(rows)), seed)
        learnt = mixed(np.stack([*together, by_action]), indicator, FOLDS, seed)[:, 0]
        seen = np.where(log.actions >= 0, np.maximum(learnt, FLOOR), np.nan)
        return cls(seen, log.rewarded, int((log.followed & ~log.rewarded).sum()))

    @property
    def weights(self) -> np.ndarray:
        """1 / P(seen) where the outcome was seen, else 0: they average one where the probabilities are correct."""
        return np.where(self.known, 1 / self.seen, 0.0)

    @property
    def clipped(self) -> np.ndarray:
        """The weights for learning: at most ten times their mean, then scaled to mean one over the rows that count."""
        clipped = np.minimum(self.weights, CLIP * self.weights[self.known].mean())
        return clipped / clipped[self.known].mean()

    def take(self, rows: np.ndarray) -> "Censoring":
        return replace(self, seen=self.seen[rows], known=self.known[rows])

    @property
    def largest(self) -> float:
        return float(self.weights.max())

    @property
    def effective_sample_size(self) -> float:
        """How many equally weighted rows would say as much as those that were seen."""
        return effective_sample_size(self.weights[self.known])

    @property
    def notes(self) -> list[str]:
        """How many outcomes are censored, and how far the weights of the others are from equal."""
        known, heavy = int(self.known.sum()), int((self.weights > LARGE_WEIGHT).sum())
        notes = [
            f"{self.censored} of {known + self.censored} outcomes are censored. The other {known} are weighted by how "
            f"unlikely it was to see them, by {self.weights[self.known].min():.2g} to {self.largest:.3g}: an effective "
            f"sample size of {self.effective_sample_size:.0f}."
        ]
        if heavy:
            rows = "1 row" if heavy == 1 else f"{heavy} rows"
            notes.append(
                f"In {rows} with an outcome, fewer than one in {LARGE_WEIGHT:.0f} like them have one, so a few of them "
                "count for many that are censored; what became of those is hardly known."
            )
        return notes

    def to_dict(self) -> dict[str, object]:
        """Plain types for JSON."""
        return plain_types(
            {
                "censored": self.censored,
                "seen": int(self.known.sum()),
                "largest_weight": self.largest,
                "effective_sample_size": self.effective_sample_size,
            }
        )


def _probabilities(learner: BestGuess | Boosted, log: Log, seed: int) -> np.ndarray:
    fitted = learner.fit(log, seed).probabilities
    assert fitted is not None  # it is estimated
    return fitted


def _without_action(log: Log) -> Log:
    columns = log.schema.columns[:-1]
    return replace(log, schema=Schema(columns), values=log.values[:, :-1], observed=log.observed[:, :-1])


def _as_actions(log: Log) -> Log:
    """A log whose actions are whether the outcome was seen, and whose records also hold the action."""
    labels = tuple(map(label_text, log.action_labels))
    known = (log.actions >= 0)[:, None]
    return replace(
        log,
        schema=Schema((*log.schema.columns, Column(ACTION, "categorical", labels))),
        values=np.column_stack([log.values, np.maximum(log.actions, 0).astype(log.values.dtype)]),
        observed=np.column_stack([log.observed, known]),
        actions=np.where(log.followed, ~log.rewarded, -1).astype(np.int32),
        action_labels=("seen", "censored"),
        propensities=None,
        censored=None,
    )
