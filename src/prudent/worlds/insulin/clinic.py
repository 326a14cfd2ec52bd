"""The clinic that wrote the log: its rule of thumb, how it learnt to prescribe, which cells it leaves empty."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax

from prudent.worlds.insulin.meals import NAMES

TARGET = 120.0
"""The glucose, mg/dl, that a dose aims at."""
STEEPNESS = 1.2
SCALE = 40.0
HABIT = 0.2


def calculated_bolus(records: np.ndarray) -> np.ndarray:
    """The units that the usual rule of clinics and pumps gives for complete records, [meal].

    Carbohydrates by the carb ratio, plus the correction of glucose to its target by the 1800 rule, minus the insulin
    on board; never below 0.

    >>> usual = dict(weight=70, age=30, total_daily_insulin=45, carb_ratio=10, glucose=160, trend=0, carbs=50)
    >>> calculated_bolus(np.array([[*usual.values(), 1.0, 12.0]])).tolist()
    [5.0]
    """
    cells = dict(zip(NAMES, np.asarray(records, float).T, strict=True))
    correction = (cells["glucose"] - TARGET) * cells["total_daily_insulin"] / 1800.0
    units = cells["carbs"] / cells["carb_ratio"] + correction - cells["insulin_on_board"]
    return np.maximum(units, 0.0)


def nearest(units: np.ndarray, doses: tuple[float, ...]) -> np.ndarray:
    """The number of the nearest dose."""
    return np.abs(np.asarray(units)[:, None] - np.array(doses)).argmin(axis=1)


@dataclass(frozen=True, eq=False)
class Clinician:
    """A logistic regression that learnt to prescribe: gaps are filled with the mean of the records it learnt from."""

    means: np.ndarray
    spreads: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray

    @classmethod
    def taught(cls, records: np.ndarray, doses: tuple[float, ...], random: np.random.Generator) -> "Clinician":
        """Learn from prescriptions by the usual rule, followed with some variation."""
        from sklearn.linear_model import LogisticRegression

        followed = calculated_bolus(records) * np.exp(HABIT * random.normal(size=len(records)))
        prescribed = nearest(followed, doses)
        means, spreads = records.mean(axis=0), records.std(axis=0)
        learnt = LogisticRegression(max_iter=2000).fit((records - means) / spreads, prescribed)
        slopes = np.zeros((len(doses), len(NAMES)))
        offsets = np.full(len(doses), -np.inf)  # a dose that was never prescribed
        slopes[learnt.classes_], offsets[learnt.classes_] = learnt.coef_, learnt.intercept_
        return cls(means, spreads, slopes, offsets)

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """How likely each dose is, [meal, dose]; `values` have NaN in the gaps."""
        standard = (np.where(np.isnan(values), self.means, values) - self.means) / self.spreads
        return softmax(standard @ self.slopes.T + self.offsets, axis=1)


@dataclass(frozen=True)
class Gaps:
    """How likely each cell is missing. "mcar": all equally. "mar": glucose is always recorded, and the farther it is
    from its target the fewer of the other cells are missing: sicker patients have more tests."""

    share: float
    mechanism: str
    level: float = 0.0

    @classmethod
    def of(cls, share: float, mechanism: str, records: np.ndarray) -> "Gaps":
        """Calibrated so that a `share` of all cells of such records is missing."""
        if mechanism == "mcar" or share == 0:
            return cls(share, "mcar")
        wanted = share * len(NAMES) / (len(NAMES) - 1)
        sickness = _sickness(records)
        level: Any = brentq(lambda shift: expit(shift - STEEPNESS * sickness).mean() - wanted, -50.0, 50.0)
        return cls(share, mechanism, float(level))

    def chances(self, records: np.ndarray) -> np.ndarray:
        """The chance of a gap, [meal, attribute]."""
        if self.mechanism == "mcar":
            return np.full(records.shape, self.share)
        chance = expit(self.level - STEEPNESS * _sickness(records))
        return np.where(np.array(NAMES) == "glucose", 0.0, chance[:, None])


def _sickness(records: np.ndarray) -> np.ndarray:
    return np.abs(records[:, NAMES.index("glucose")] - TARGET) / SCALE
