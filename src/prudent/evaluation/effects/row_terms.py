"""Average effects of one action against another, as per-row terms: each row's part in a difference of outcomes.

T is 1 in treated rows, e the probability of treatment, R the outcome, q1 and q0 the prices of the two actions. A row
only needs the probability of the action that was taken: e where it was treated, 1 − e where it was not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prudent.evaluation.row_terms import Terms


@dataclass(frozen=True, eq=False)
class TwoArms:
    """A study of two actions, row by row, in the table's units and sign.

    taken: the probability of the action that was taken.
    prices: [row, 2], of the control and of the treatment.
    informed: prices that also use the row's outcome, where there are such: better for the row itself, but they would
        make residuals too small.
    counted: how many rows like it each row stands for whose outcome was seen, 0 where it was censored; None where none
        is censored.
    """

    treated: np.ndarray
    taken: np.ndarray
    outcomes: np.ndarray
    prices: np.ndarray
    informed: np.ndarray | None = None
    counted: np.ndarray | None = None

    @property
    def propensity(self) -> np.ndarray:
        """The probability of treatment."""
        return np.where(self.treated, self.taken, 1 - self.taken)

    @property
    def priced_effects(self) -> np.ndarray:
        best = self.prices if self.informed is None else self.informed
        return best[:, 1] - best[:, 0]

    @property
    def scores(self) -> np.ndarray:
        """q1 − q0 + T(R − q1)/e − (1 − T)(R − q0)/(1 − e): averaged over similar rows, their effect."""
        signs = np.where(self.treated, 1.0, -1.0)
        return self.prices[:, 1] - self.prices[:, 0] + signs * (self.completed - self._price) / self.taken

    @property
    def _price(self) -> np.ndarray:
        """Of the action that was taken."""
        return np.where(self.treated, self.prices[:, 1], self.prices[:, 0])

    @property
    def completed(self) -> np.ndarray:
        """The outcomes; where some are censored, q + c(R − q), whose mean is that of all outcomes."""
        if self.counted is None:
            return self.outcomes
        return self._price + self.counted * (self.outcomes - self._price)

    @property
    def shown(self) -> np.ndarray:
        """1 for rows whose outcome was seen."""
        return np.ones(len(self.outcomes)) if self.counted is None else (self.counted > 0) * 1.0

    @property
    def odds(self) -> np.ndarray:
        """Of the other arm: weighted by it, an arm's rows resemble the other arm's."""
        return (1 - self.taken) / self.taken


def _average(arms: TwoArms) -> Terms:
    return Terms.mean(arms.scores)


def _on_treated(arms: TwoArms) -> Terms:
    return Terms.ratio(
        np.where(arms.treated, 1.0, -arms.odds) * (arms.completed - arms.prices[:, 0]), arms.treated * 1.0
    )


def _on_control(arms: TwoArms) -> Terms:
    return Terms.ratio(
        np.where(arms.treated, arms.odds, -1.0) * (arms.completed - arms.prices[:, 1]), ~arms.treated * 1.0
    )


def _weighted(arms: TwoArms, weights: np.ndarray) -> Terms:
    weights = weights if arms.counted is None else weights * arms.counted
    return _difference(arms, weights)


def _difference(arms: TwoArms, weights: np.ndarray) -> Terms:
    treated, control = weights * arms.treated, weights * ~arms.treated
    return Terms.ratio(treated * arms.outcomes, treated) - Terms.ratio(control * arms.outcomes, control)


def _priced(arms: TwoArms, rows: np.ndarray) -> Terms:
    return Terms.ratio(arms.priced_effects * rows, rows * 1.0)


ESTIMATES: dict[tuple[str, str], Callable[[TwoArms], Terms]] = {
    ("ATE", "aipw"): _average,
    ("ATE", "ipw"): lambda arms: _weighted(arms, 1 / arms.taken),
    ("ATE", "outcome model"): lambda arms: _priced(arms, np.ones(len(arms.treated))),
    ("ATE", "difference in means"): lambda arms: _difference(arms, arms.shown),
    ("ATT", "aipw"): _on_treated,
    ("ATT", "ipw"): lambda arms: _weighted(arms, np.where(arms.treated, 1.0, arms.odds)),
    ("ATT", "outcome model"): lambda arms: _priced(arms, arms.treated),
    ("ATC", "aipw"): _on_control,
    ("ATC", "ipw"): lambda arms: _weighted(arms, np.where(arms.treated, arms.odds, 1.0)),
    ("ATC", "outcome model"): lambda arms: _priced(arms, ~arms.treated),
}
"""By estimand and estimator: the effect on all rows, on the treated and on the control rows; doubly robust (AIPW),
self-normalised inverse propensities, the prices alone, and, for comparison, the plain difference in means."""
