"""Linear regression on completed records."""

from dataclasses import dataclass

import numpy as np

from prudent.propensity import single_thread
from prudent.rivals.designs import Design, Parts, Predictor
from prudent.rivals.imputation import (
    Imputation,
    MeanImputation,
    beside_gaps,
    gap_choices,
    mean_over_completions,
)
from prudent.rivals.rival import FittedRival, LoggedDecisions

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Of standardised columns. The least is almost none and only handles collinear columns."""


@dataclass(frozen=True)
class Linear:
    """Linear regression on each completed table, prices averaged over completions: LR1 and LR2.

    With `ActionAsFeature()` the action is one more attribute without interactions, so that the best action is the same
    for everyone: a constant dose, chosen well. The ridge penalty of each regression, and whether columns that mark the
    gaps are added, by leave-one-out error.
    """

    design: Design
    imputation: Imputation = MeanImputation()

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival:
        completed = self.imputation.fit(log.values, log.categorical, seed)

        def regressions(k: int, with_gaps: bool) -> list["Line"]:
            table = beside_gaps(completed[k].log, log.gaps, with_gaps)
            parts: Parts = self.design.parts(table, log.actions, log.n_actions)
            return [Line.of(inputs, log.rewards[rows]) for rows, inputs in parts]

        choices = gap_choices(self.imputation, log.gaps)
        with_gaps = min(choices, key=lambda choice: sum(line.error for line in regressions(0, choice)))
        lines: list[list[Predictor]] = [list(regressions(k, with_gaps)) for k in range(len(completed))]

        def price(new: np.ndarray) -> np.ndarray:
            return mean_over_completions(
                completed, new, with_gaps, lambda k, table: self.design.price(lines[k], table, log.seen)
            )

        return FittedRival(price)


@dataclass(frozen=True)
class Line:
    """One fitted regression; `error` is its squared leave-one-out error, summed over its rows."""

    coefficients: np.ndarray
    intercept: float
    error: float

    @classmethod
    def of(cls, inputs: np.ndarray, targets: np.ndarray) -> "Line":
        """The penalty is that with the least leave-one-out error (exact, from one singular value decomposition)."""
        centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
        spread = np.where(spread > 1e-12, spread, 1.0)
        mean, rows = float(targets.mean()), len(targets)
        with single_thread():
            left, singular, right = np.linalg.svd((inputs - centre) / spread, full_matrices=False)
        projected = left.T @ (targets - mean)
        shrunk = singular**2 / (singular**2 + np.array(PENALTIES)[:, None])
        residuals = (targets - mean) - (shrunk * projected) @ left.T
        leverage = 1 / rows + shrunk @ (left**2).T
        errors = ((residuals / np.maximum(1 - leverage, 1e-6)) ** 2).sum(axis=1)
        best = int(errors.argmin())
        slopes = right.T @ (projected * singular / (singular**2 + PENALTIES[best])) / spread
        return cls(slopes, mean - float(centre @ slopes), float(errors[best]))

    def __call__(self, table: np.ndarray) -> np.ndarray:
        return self.intercept + table @ self.coefficients
