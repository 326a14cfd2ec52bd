"""Value-dependent missingness: how far off would the cells that nobody recorded have to be to change the preferred
policy?

Every completion rests on the records at hand: a cell that is empty is taken to be like the same cell where it was
recorded, in cases that look alike otherwise. If high values tend not to be recorded (MNAR), that is wrong, and no log
can show it. So it is supposed: the cells that are missing were really higher by δ standard deviations than the records
say (a shift of what was imputed, as in van Buuren, 2018, 9.2), and what follows is worked out.

What a shift can do depends on what those who decided knew.

- They saw no more than the record. Then weights by π0(a | x̃) stay right whatever the reason for the gaps, and only the
  prices move: "direct" follows them, "self-normalised dr" hardly, since weights put right what prices get wrong.
- They knew the values that were not recorded. Then these are confounders even without a shift, and the propensity must
  be that given the completed record, where what was done and how it went help to complete it: "self-normalised dr, gaps
  known" (see `propensity_given_records`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from prudent.errors import InputProblem, is_number, is_whole, require
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.evaluation.decisions import LOGGED
from prudent.evaluation.estimators import Direct, SelfNormalisedDoublyRobust
from prudent.evaluation.evaluation import Evaluation
from prudent.evaluation.prices import Prices
from prudent.evaluation.sensitivity.confounding import preferred_policy
from prudent.evaluation.sensitivity.shifted_learning import propensity_given_records, shifted_completions
from prudent.models import Fitted, align_log
from prudent.propensity import FittedPropensity
from prudent.show import plain_types
from prudent.table import Log, Schema, did_you_mean, label_text

DELTAS = (-1.0, -0.5, 0.0, 0.5, 1.0)
Values = dict[str, dict[str, np.ndarray]]  # by estimator and policy, what it earns under each shift, in the inner sign
SHIFTABLE = ("real", "positive", "count", "bounded", "ordinal")
DIRECT, UNKNOWN, KNOWN = "direct", "self-normalised dr", "self-normalised dr, gaps known"


@dataclass(frozen=True)
class ShiftedValue:
    """What a policy earns, and how much more than the reference, when empty cells are `delta` standard deviations
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
    """What a comparison of policies becomes when the empty cells are not what the records say; see
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
        """For people."""
        found, tried = {one.estimator: one for one in self.changes}, list(self.advice_changed)
        sentences = [
            _change_sentence(self.preferred, found[estimator], when, tried)
            for estimator, when in (
                (DIRECT, "By the prices of the model"),
                (KNOWN, "If those who decided knew what was not recorded"),
            )
        ]
        largest = max(tried, key=lambda delta: self.advice_changed[delta])
        share = f"{self.advice_changed[largest]:.0%}"
        last = f"Told of a shift by {largest:g}, the model itself would advise otherwise in {share} of the rows."
        return " ".join([*sentences, last])

    def __str__(self) -> str:
        return self.sentence

    def to_frame(self) -> pl.DataFrame:
        """One row per shift, estimator and policy."""
        return pl.DataFrame([plain_types(one) for one in self.values])

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {
            "preferred": self.preferred,
            "reference": self.reference,
            "columns": list(self.columns),
            "values": [plain_types(one) for one in self.values],
            "changes": [plain_types(one) for one in self.changes],
            "advice_changed": [{"delta": delta, "share": share} for delta, share in self.advice_changed.items()],
            "sentence": self.sentence,
        }


def shifted_missingness(
    evaluation: Evaluation,
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
    """How far the empty cells would have to be off for another policy to overtake the preferred one.

    Policies decide as they did, not knowing of the shift; categories are never shifted.

    fitted: the model whose completions are shifted and priced anew.
    preferred: by default the best, by the headline estimator, of the policies that were evaluated.
    reference: what differences are taken to.
    deltas: the shifts that are tried, in standard deviations of each column (on the scale the model uses: the logarithm
        for positive numbers and counts, levels for ordinal ones; for bounded ones at least a quarter of the range, and
        no cell is shifted beyond a bound). No shift at all is always among them.
    columns: those that are shifted, all together; by default every one that is a number or has an order.
    imputations: completed records per row behind the propensities given the whole record.
    """
    require(isinstance(fitted, Fitted | CrossFitted), "shifted_missingness", "fitted", "be a fitted model", fitted)
    right = len(deltas) > 0 and all(map(is_number, deltas))
    require(right, "shifted_missingness", "deltas", "be numbers, in standard deviations", deltas)
    require(is_whole(completions, 2), "shifted_missingness", "completions", "be a whole number from 2 on", completions)
    require(is_whole(imputations, 1), "shifted_missingness", "imputations", "be a whole number from 1 on", imputations)
    preferred = preferred_policy(evaluation, preferred)
    evaluation.evidence(reference)  # a name that does not exist is refused there
    log = _read(evaluation, fitted if isinstance(fitted, Fitted) else fitted.models[0])
    shifted = _shifted_columns(log.schema, columns)
    grid = sorted({0.0, *map(float, deltas)})
    values = _empty(evaluation, len(grid))
    chosen = np.zeros((len(grid), len(log)), np.int64)
    for at, delta in enumerate(grid):
        shift = delta * np.isin(log.schema.names, shifted)
        found = shifted_completions(fitted, log, shift, completions, imputations)
        propensity = propensity_given_records(log, log.schema, found.records, seed)
        _fill(values, at, evaluation, found.prices, propensity)
        chosen[at] = np.argmax(found.prices, axis=1)
    changed = (chosen != chosen[grid.index(0.0)]).mean(axis=1)
    sign = -1.0 if evaluation.log.minimize else 1.0
    return ShiftedMissingness(
        preferred,
        reference,
        shifted,
        tuple(
            ShiftedValue(delta, estimator, policy, sign * by[policy][at], sign * (by[policy][at] - by[reference][at]))
            for at, delta in enumerate(grid)
            for estimator, by in values.items()
            for policy in evaluation.names
        ),
        tuple(_change(estimator, np.array(grid), by, preferred) for estimator, by in values.items()),
        dict(zip(grid, changed.tolist(), strict=True)),
    )


def _read(evaluation: Evaluation, model: Fitted) -> Log:
    own, theirs = (tuple(map(label_text, one.action_labels)) for one in (model, evaluation.log))
    require(own == theirs, "shifted_missingness", "fitted", f"know the log's actions, {', '.join(theirs)}", own)
    return align_log(evaluation.log, model)


def _shifted_columns(schema: Schema, columns: Sequence[str] | None) -> tuple[str, ...]:
    able = tuple(column.name for column in schema.columns if column.kind in SHIFTABLE)
    if columns is None:
        if not able:
            raise InputProblem("No column is a number or has an order, so there is nothing that could be shifted.")
        return able
    named = [columns] if isinstance(columns, str) else list(columns)
    require(len(named) > 0, "shifted_missingness", "columns", "name at least one column", columns)
    for name in named:
        if name not in able:
            raise InputProblem(
                f"Column '{name}' cannot be shifted: only real, positive, count, bounded and ordinal ones can. "
                f"{did_you_mean(name, able)}"
            )
    return tuple(name for name in able if name in named)


def _empty(evaluation: Evaluation, shifts: int) -> Values:
    return {which: {name: np.zeros(shifts) for name in evaluation.names} for which in (DIRECT, UNKNOWN, KNOWN)}


def _fill(values: Values, at: int, evaluation: Evaluation, prices: np.ndarray, propensity: FittedPropensity) -> None:
    """What each policy earns under one shift."""
    as_it_was, known = (_priced(evaluation, prices, one) for one in (evaluation.propensity, propensity))
    for name in evaluation.names:
        values[DIRECT][name][at] = Direct().terms(as_it_was.evidence(name)).value
        values[UNKNOWN][name][at] = SelfNormalisedDoublyRobust().terms(as_it_was.evidence(name)).value
        values[KNOWN][name][at] = SelfNormalisedDoublyRobust().terms(known.evidence(name)).value


def _priced(evaluation: Evaluation, prices: np.ndarray, propensity: FittedPropensity) -> Evaluation:
    return replace(evaluation, prices=Prices(prices, None, "shifted"), propensity=propensity)


def _change(estimator: str, grid: np.ndarray, values: dict[str, np.ndarray], preferred: str) -> Change:
    start = int(np.flatnonzero(grid == 0)[0])
    nearest = []
    for path in (np.arange(start, -1, -1), np.arange(start, len(grid))):
        crossings = {
            name: _crossing(grid[path], (values[preferred] - own)[path])
            for name, own in values.items()
            if name != preferred
        }
        crossed = {name: delta for name, delta in crossings.items() if delta is not None}
        first = min(crossed, key=lambda name: abs(crossed[name]), default=None)
        nearest += [None if first is None else crossed[first], first]
    return Change(estimator, *nearest)


def _crossing(deltas: np.ndarray, lead: np.ndarray) -> float | None:
    """Where a lead is first lost on the way out from 0, by straight lines between the shifts that were tried.

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


# --- for people ---


def _change_sentence(preferred: str, change: Change, when: str, deltas: Sequence[float]) -> str:
    if change.down == 0 or change.up == 0:
        rival = change.down_to if change.down == 0 else change.up_to
        return f"{when}, '{rival}' is better than '{preferred}' without any shift."
    found = [
        f"'{rival}' would be better than '{preferred}' if the empty cells were {abs(delta):.2g} standard deviations "
        f"{'lower' if delta < 0 else 'higher'} than the records say"
        for delta, rival in ((change.down, change.down_to), (change.up, change.up_to))
        if delta is not None
    ]
    if found:
        return f"{when}, {', and '.join(found)}."
    return (
        f"{when}, '{preferred}' stays the best for empty cells from {min(deltas):g} to {max(deltas):g} standard "
        "deviations off what the records say."
    )
