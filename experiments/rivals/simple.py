"""The rivals that take no trouble over the gaps: none of the attributes, or column means in their place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.rivals.complete import (
    doubly_robust,
    logistic_propensity,
    per_arm,
    residual_on_residual,
    treatment_coefficient,
)
from experiments.rivals.study import Answer, Progress, Study, over_tables
from prudent.errors import is_number, require
from prudent.propensity import single_thread


@dataclass(frozen=True)
class DifferenceInMeans:
    """The mean outcome with the treatment less the mean without it; nothing is adjusted for.

    >>> study = Study.of(np.zeros((4, 1)), [True, True, False, False], [5.0, 7.0, 1.0, 3.0])
    >>> DifferenceInMeans().estimate(study)[""].effect.tolist()
    [4.0]
    """

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        arms = [study.outcomes[:, study.treated == arm].mean(axis=1) for arm in (False, True)]
        means = np.stack(arms, axis=-1)[:, None]
        return {"": Answer.of_prices(np.repeat(means, study.rows, axis=1))}


@dataclass(frozen=True)
class MeanImputed:
    """Gaps filled with column means, then the estimators of a complete table; `penalty` is of the ridge per arm."""

    penalty: float = 30.0

    def __post_init__(self) -> None:
        check_penalty(self.penalty, "MeanImputed")

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        return over_tables(study, self._one, seed, progress)

    def _one(self, study: Study, seed: int) -> dict[str, Answer]:
        return pooled([mean_filled(study.values[0])], study, self.penalty)


def mean_filled(table: np.ndarray) -> np.ndarray:
    """Gaps filled with the means of their columns; a column with nothing in it becomes zeros.

    >>> mean_filled(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])).tolist()
    [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]
    """
    present = ~np.isnan(table)
    means = np.where(present, table, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return np.where(present, table, means)


def pooled(tables: Sequence[np.ndarray], study: Study, penalty: float) -> dict[str, Answer]:
    """Every estimator of a complete table, asked about each completion of the study's one table; answers are averaged.

    One estimator after the other, so that the prices of one alone are in memory for all completions.
    """
    treated, outcomes = study.treated, study.outcomes

    def aipw(table: np.ndarray, propensity: np.ndarray) -> Answer:
        return doubly_robust(per_arm(table, treated, outcomes), propensity, treated, outcomes)

    estimators = {
        "OLS": lambda table, _: treatment_coefficient(table, treated, outcomes),
        "OLS per arm": lambda table, _: Answer.of_prices(per_arm(table, treated, outcomes)),
        "ridge per arm": lambda table, _: Answer.of_prices(per_arm(table, treated, outcomes, penalty)),
        "AIPW": aipw,
        "residual on residual": lambda table, own: residual_on_residual(table, treated, outcomes, own),
    }
    with single_thread():
        propensities = [logistic_propensity(table, treated) for table in tables]
        return {
            name: Answer.mean([estimator(table, own) for table, own in zip(tables, propensities, strict=True)])
            for name, estimator in estimators.items()
        }


def check_penalty(penalty: object, owner: str) -> None:
    valid = is_number(penalty) and penalty >= 0  # pyright: ignore[reportOperatorIssue]
    require(valid, owner, "penalty", "be a number of at least 0", penalty)
