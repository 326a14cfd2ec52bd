"""The simplest rivals: no adjustment for attributes at all, or gaps filled with column means."""

from dataclasses import dataclass

import numpy as np

from experiments.rivals.effects.complete_table import pooled
from experiments.rivals.effects.study import Answer, Progress, Study, over_tables
from prudent.errors import check, number


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
        check("MeanImputed", {"penalty": number(0)}, vars(self))

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        return over_tables(study, self._of_one_table, seed, progress)

    def _of_one_table(self, study: Study, seed: int) -> dict[str, Answer]:
        return pooled([mean_filled(study.values[0])], study, self.penalty)


def mean_filled(table: np.ndarray) -> np.ndarray:
    """Gaps filled with the means of their columns; a column with nothing in it becomes zeros.

    >>> mean_filled(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])).tolist()
    [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]
    """
    present = ~np.isnan(table)
    means = np.where(present, table, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return np.where(present, table, means)
