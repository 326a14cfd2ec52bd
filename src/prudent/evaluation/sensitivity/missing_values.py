"""Value-dependent missingness: how far off would the cells that nobody recorded have to be to change the preferred
policy?

Every completion assumes that a missing cell is like the same cell where it was recorded, in cases that are otherwise
alike. If high values tend not to be recorded (missing not at random), that is wrong, and no log can show it. So suppose
that the missing cells were really δ standard deviations higher than the records say (the δ-adjustment of van Buuren,
2018, 9.2), and compute what follows.

What a shift can do depends on what those who decided knew.

- They saw no more than the record. Then weights by π0(a | x̃) stay correct whatever the reason for the gaps, and only
  the prices move: "direct" follows them, "self-normalised dr" hardly, since the weights correct the errors of prices.
- They knew the values that were not recorded. Then these are confounders even without a shift, and the propensity must
  be conditional on the completed record, which action and outcome help to complete: "self-normalised dr, gaps known"
  (see `propensity_given_records`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from prudent.errors import InputProblem, Rule, check, instance, is_number, require, whole
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.evaluation.decisions import LOGGED
from prudent.evaluation.estimators import Direct, SelfNormalisedDoublyRobust
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.evaluation.prices import Prices
from prudent.evaluation.sensitivity.confounding import preferred_policy
from prudent.evaluation.sensitivity.shifted_learning import propensity_given_records, shifted_completions
from prudent.models import Fitted, align_log
from prudent.progress import tracked
from prudent.propensity import FittedPropensity
from prudent.show import missingness_sentence, plain_types
from prudent.table import Log, Schema, did_you_mean, label_text

DELTAS = (-1.0, -0.5, 0.0, 0.5, 1.0)
Values = dict[str, dict[str, np.ndarray]]  # by estimator and policy, its value under each shift, in the internal sign
SHIFTABLE = ("real", "positive", "count", "bounded", "ordinal")
_RULES = {
    "fitted": instance(Fitted | CrossFitted, "a fitted model"),
    "deltas": Rule(
        "be numbers, in standard deviations", lambda deltas: len(deltas) > 0 and all(map(is_number, deltas))
    ),
    "completions": whole(2),
    "imputations": whole(1),
}
DIRECT, UNKNOWN, KNOWN = "direct", "self-normalised dr", "self-normalised dr, gaps known"


@dataclass(frozen=True)
class ShiftedValue:
    """A policy's value, and its difference from the reference, when missing cells are `delta` standard deviations
    higher than the records say."""

    delta: float
    estimator: str
    policy: str
    value: float
    difference: float


@dataclass(frozen=True)
class Change:
    """The nearest δ, downwards and upwards, at which another policy overtakes the preferred one, and which; None when
    none does within the shifts that were tried."""

    estimator: str
    down: float | None
    down_to: str | None
    up: float | None
    up_to: str | None


@dataclass(frozen=True)
class ShiftedMissingness:
    """How a comparison of policies changes when the missing cells are not what the records say; see
    `shifted_missingness`.

    advice_changed: by δ, the share of rows in which the model itself would advise another action (the one of the
        highest expected reward) if it knew of the shift.
    """

    preferred: str
    reference: str
    columns: tuple[str, ...]
    values: tuple[ShiftedValue, ...]
    changes: tuple[Change, ...]
    advice_changed: dict[float, float]

    @property
    def least_delta(self) -> dict[str, tuple[float | None, float | None]]:
        """By estimator, the nearest δ below and above 0 that changes the preferred policy."""
        return {one.estimator: (one.down, one.up) for one in self.changes}

    @property
    def sentence(self) -> str:
        return missingness_sentence(self._facts)

    def __str__(self) -> str:
        return self.sentence

    def to_frame(self) -> pl.DataFrame:
        """One row per shift, estimator and policy."""
        return pl.DataFrame([plain_types(one) for one in self.values])

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {**self._facts, "sentence": self.sentence}

    @property
    def _facts(self) -> dict[str, Any]:
        return {
            "preferred": self.preferred,
            "reference": self.reference,
            "columns": list(self.columns),
            "values": [plain_types(one) for one in self.values],
            "changes": [plain_types(one) for one in self.changes],
            "advice_changed": [{"delta": delta, "share": share} for delta, share in self.advice_changed.items()],
        }


def shifted_missingness(
    estimates: PolicyEstimates,
    fitted: Fitted | CrossFitted,
    preferred: str | None = None,
    reference: str = LOGGED,
    *,
    deltas: Sequence[float] = DELTAS,
    columns: Sequence[str] | None = None,
    completions: int = 64,
    imputations: int = 8,
    seed: int = 0,
) -> ShiftedMissingness:
    """How far off the missing cells would have to be for another policy to overtake the preferred one.

    Policies decide as before, unaware of the shift; categories are never shifted.

    fitted: the model whose completions are shifted and priced again.
    preferred: by default the best, by the headline estimator, of the policies that were evaluated.
    reference: the policy that differences are taken from.
    deltas: the shifts to try, in standard deviations of each column (on the scale the model uses: the logarithm
        for positive numbers and counts, levels for ordinal ones; for bounded ones at least a quarter of the range, and
        no cell is shifted beyond a bound). A shift of 0 is always included.
    columns: those that are shifted, all together; by default every one that is a number or has an order.
    imputations: completed records per row behind the propensities given the whole record.
    """
    check("shifted_missingness", _RULES, locals())
    if estimates.censoring is not None:
        raise InputProblem(
            "What missing cells may hide is not computed where outcomes are censored; for that, evaluate on the rows "
            "whose outcome was seen."
        )
    preferred = preferred_policy(estimates, preferred)
    estimates.evidence(reference)  # a name that does not exist is refused there
    log = _aligned(estimates, fitted if isinstance(fitted, Fitted) else fitted.models[0])
    shifted = _shifted_columns(log.schema, columns)
    grid = sorted({0.0, *map(float, deltas)})
    values = _empty(estimates, len(grid))
    chosen = np.zeros((len(grid), len(log)), np.int64)
    for at in tracked(len(grid), "shifted gaps"):
        shift = grid[at] * np.isin(log.schema.names, shifted)
        prices, records = shifted_completions(fitted, log, shift, completions, imputations)
        propensity = propensity_given_records(log, log.schema, records, seed)
        _fill(values, at, estimates, prices, propensity)
        chosen[at] = np.argmax(prices, axis=1)
    changed = (chosen != chosen[grid.index(0.0)]).mean(axis=1)
    sign = estimates.log.sign
    return ShiftedMissingness(
        preferred,
        reference,
        shifted,
        tuple(
            ShiftedValue(delta, estimator, policy, sign * by[policy][at], sign * (by[policy][at] - by[reference][at]))
            for at, delta in enumerate(grid)
            for estimator, by in values.items()
            for policy in estimates.names
        ),
        tuple(_change(estimator, np.array(grid), by, preferred) for estimator, by in values.items()),
        dict(zip(grid, changed.tolist(), strict=True)),
    )


def _aligned(estimates: PolicyEstimates, model: Fitted) -> Log:
    known, logged = (tuple(map(label_text, labels)) for labels in (model.action_labels, estimates.log.action_labels))
    require(known == logged, "shifted_missingness", "fitted", f"know the log's actions, {', '.join(logged)}", known)
    return align_log(estimates.log, model)


def _shifted_columns(schema: Schema, columns: Sequence[str] | None) -> tuple[str, ...]:
    shiftable = tuple(column.name for column in schema.columns if column.kind in SHIFTABLE)
    if columns is None:
        if not shiftable:
            raise InputProblem("No column is a number or has an order, so nothing can be shifted.")
        return shiftable
    named = [columns] if isinstance(columns, str) else list(columns)
    require(len(named) > 0, "shifted_missingness", "columns", "name at least one column", columns)
    for name in named:
        if name not in shiftable:
            raise InputProblem(
                f"Column '{name}' cannot be shifted: only real, positive, count, bounded and ordinal ones can. "
                f"{did_you_mean(name, shiftable)}"
            )
    return tuple(name for name in shiftable if name in named)


def _empty(estimates: PolicyEstimates, shifts: int) -> Values:
    return {which: {name: np.zeros(shifts) for name in estimates.names} for which in (DIRECT, UNKNOWN, KNOWN)}


def _fill(
    values: Values, at: int, estimates: PolicyEstimates, prices: np.ndarray, propensity: FittedPropensity
) -> None:
    """The values of all policies under one shift."""
    unknown, known = (_priced(estimates, prices, one) for one in (estimates.propensity, propensity))
    for name in estimates.names:
        values[DIRECT][name][at] = Direct().terms(unknown.evidence(name)).value
        values[UNKNOWN][name][at] = SelfNormalisedDoublyRobust().terms(unknown.evidence(name)).value
        values[KNOWN][name][at] = SelfNormalisedDoublyRobust().terms(known.evidence(name)).value


def _priced(estimates: PolicyEstimates, prices: np.ndarray, propensity: FittedPropensity) -> PolicyEstimates:
    return replace(estimates, prices=Prices(prices, None, "shifted"), propensity=propensity)


def _change(estimator: str, grid: np.ndarray, values: dict[str, np.ndarray], preferred: str) -> Change:
    start = int(np.flatnonzero(grid == 0)[0])
    nearest = []
    for path in (np.arange(start, -1, -1), np.arange(start, len(grid))):
        crossings = {
            name: _crossing(grid[path], (values[preferred] - rival)[path])
            for name, rival in values.items()
            if name != preferred
        }
        crossed = {name: delta for name, delta in crossings.items() if delta is not None}
        first = min(crossed, key=lambda name: abs(crossed[name]), default=None)
        nearest += [None if first is None else crossed[first], first]
    return Change(estimator, *nearest)


def _crossing(deltas: np.ndarray, lead: np.ndarray) -> float | None:
    """The first shift away from 0 at which a lead is lost, linearly interpolated between the shifts tried.

    >>> _crossing(np.array([0.0, 0.5, 1.0]), np.array([3.0, 1.0, -1.0]))
    0.75
    """
    lost = np.flatnonzero(lead < 0)
    if not len(lost):
        return None
    at = int(lost[0])
    if at == 0:
        return 0.0
    before, after = lead[at - 1], lead[at]
    return float(deltas[at - 1] + (deltas[at] - deltas[at - 1]) * before / (before - after))
