"""Effects of one action against another, for studies of two: on average, on the treated, by group and by row.

Everything here is the outcome under the treatment minus the outcome under the control, in the units and the sign of the
table's reward column. With a minimised reward a negative effect is therefore the good one: an effect on mortality of
−0.02 means two deaths fewer in a hundred, as a report of a trial would say it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from prudent.errors import check, is_whole, number, require
from prudent.evaluation.effects.arms import Pair, other_actions, overlap_notes, propensity_among_two
from prudent.evaluation.effects.groups import groups_of, quantile_cuts
from prudent.evaluation.effects.learner import BoostedEffects
from prudent.evaluation.effects.row_terms import ESTIMATES, TwoArms
from prudent.evaluation.intervals import Estimate, Imputed, Interval, Student
from prudent.evaluation.price_sources import PriceSource, prices_from
from prudent.evaluation.prices import LearntPrices
from prudent.evaluation.row_terms import Terms, between_imputations
from prudent.evaluation.usable_rows import rows_left_out
from prudent.propensity import FittedPropensity, Propensity
from prudent.show import plain_types
from prudent.table import ActionLabel, Log, label_text

Which = Literal["cate", "prices"]


def effects(
    log: Log,
    *,
    treated: ActionLabel | None = None,
    between: tuple[ActionLabel, ActionLabel] | None = None,
    propensity: Propensity | None = None,
    prices: PriceSource | None = None,
    interval: Interval = Student(),
    confidence: float = 0.95,
    seed: int = 0,
) -> "Effects":
    """How much one of two actions changes the outcome, on average and for whom.

    treated: the action whose effect is asked for, against the other. By default the one that reads as 1, true, yes or
        treated, and else the second label.
    between: (control, treated), two of several actions. Only rows that took one of them are used, and propensities are
        the probabilities of the treatment among these two. Logged probabilities do not say what the second one's was,
        so that they are then estimated.
    propensity, prices: as in `evaluate`; prices are by default `LearntPrices()`, and an array [row, action] is in the
        order of the log's labels, with a row for each of the log. `GaussianPrices()` is best in studies of hundreds of
        rows: look at its `outcome_model`.

    >>> table = {"sick": [0, 0, 1, 1] * 20, "drug": ["no", "yes"] * 40, "pain": [3, 2, 5, 3] * 20}
    >>> log = Log.from_frame(table, action="drug", reward="pain", minimize=True)
    >>> found = effects(log, prices=np.array([[3, 2], [3, 2], [5, 3], [5, 3]] * 20))
    >>> print(found.ate)
    -1.500 [-1.612, -1.388]
    >>> found.by("sick")["group", "effect"].rows()
    [('0', -1.0), ('1', -2.0)]
    """
    _check(log, interval, confidence, seed)
    pair, notes = Pair.of(log, treated, between)
    used = log.rewarded & np.isin(log.actions, pair.codes)
    rows = log.take(used)
    pair.require_rows(rows)
    chosen, estimated = propensity_among_two(propensity, log)
    fitted = chosen.fit(pair.relabelled(rows), seed)
    priced, flattered = prices_from(LearntPrices() if prices is None else prices, rows, used, None, seed, "effects")
    sign = -1.0 if log.minimize else 1.0
    arms = TwoArms(
        treated=np.asarray(rows.actions == pair.treated),
        taken=fitted.taken,
        outcomes=sign * rows.rewards,
        prices=sign * priced.rewards[:, [pair.control, pair.treated]],
        informed=None if priced.informed is None else sign * priced.informed[:, [pair.control, pair.treated]],
    )
    notes += [*rows_left_out(log), *other_actions(int((log.rewarded & ~used).sum()))]
    notes += [*estimated, *flattered, *overlap_notes(arms.propensity)]
    labels = log.action_labels[pair.control], log.action_labels[pair.treated]
    return Effects(rows, used, *labels, arms, fitted, Judged(interval, float(confidence), seed), tuple(notes))


@dataclass(frozen=True)
class Judged:
    """How intervals are made, and the seed of what is learnt later."""

    interval: Interval
    confidence: float
    seed: int


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of `treated` against `control`: outcome under the one minus outcome under the other.

    log: the rows that were used; `used` says which they are of the log that was given. Arrays of effects have one
        number for each of them.
    arms: what was done and how it turned out, with propensities and prices, in the table's sign.
    """

    log: Log
    used: np.ndarray
    control: ActionLabel
    treated: ActionLabel
    arms: TwoArms
    propensity: FittedPropensity
    judged: Judged
    notes: tuple[str, ...]
    _learnt: dict[BoostedEffects, np.ndarray] = field(default_factory=dict, repr=False)

    # --- averages ---

    @property
    def ate(self) -> Estimate:
        """The average effect over all rows, doubly robust: right when either the prices or the propensities are."""
        return self._averages["ATE", "aipw"]

    @property
    def att(self) -> Estimate:
        """The average effect over rows like those that were treated: what the treatment has done."""
        return self._averages["ATT", "aipw"]

    @property
    def atc(self) -> Estimate:
        """The average effect over rows like those that were not: what treating them too would do."""
        return self._averages["ATC", "aipw"]

    @property
    def ipw(self) -> Estimate:
        """The average effect by self-normalised inverse propensities alone."""
        return self._averages["ATE", "ipw"]

    @property
    def outcome_model(self) -> Estimate:
        """The average effect by the prices alone; its interval leaves out the doubt about the prices."""
        return self._averages["ATE", "outcome model"]

    @property
    def difference_in_means(self) -> Estimate:
        """Treated rows against control rows as they are: an effect only where treatment was given at random."""
        return self._averages["ATE", "difference in means"]

    def to_frame(self) -> pl.DataFrame:
        """One row per estimand (ATE, ATT, ATC) and estimator."""
        found = self._averages.items()
        return _frame({"estimand": one, "estimator": by} | _effect(estimate) for (one, by), estimate in found)

    # --- by row ---

    @property
    def per_row(self) -> np.ndarray:
        """The effect on each row by the prices."""
        return self.arms.priced_effects

    @property
    def scores(self) -> np.ndarray:
        """The doubly robust score of each row: noise around its effect; their mean is `ate`."""
        return self.arms.scores

    def cate(self, learner: BoostedEffects = BoostedEffects()) -> np.ndarray:
        """The effect on each row as learnt from the other rows' scores, shrunk towards `ate`."""
        if learner not in self._learnt:
            self._learnt[learner] = learner.fit(self.log, self.arms, self.judged.seed)
        return self._learnt[learner]

    def pehe(self, true_effects: Any, which: Which = "cate") -> float:
        """Root mean squared error of the effects per row, where the truth is known: a number for each row of the log
        that was given, as outcome under treatment minus outcome under control, in the table's sign."""
        truth = np.asarray(true_effects, np.float64)
        right = truth.shape == self.used.shape and bool(np.isfinite(truth[self.used]).all())
        require(right, "pehe", "true_effects", f"be {len(self.used)} finite numbers, one per row", truth.shape)
        predicted = self.per_row if which == "prices" else self._predicted(which)
        return float(np.sqrt(np.mean((predicted - truth[self.used]) ** 2)))

    # --- by group ---

    def by(self, column: str, bins: int = 4) -> pl.DataFrame:
        """The average effect in each group of rows: a column's levels, or quantile bins of its numbers, and its gaps.

        An empty error or interval: the group is a single row.
        """
        require(is_whole(bins, 1), "by", "bins", "be a whole number of at least 1", bins)
        return _frame(
            {"group": name, "rows": len(rows)} | _effect(self._within(rows))
            for name, rows in groups_of(self.log, column, bins)
        )

    def by_predicted(self, groups: int = 5, which: Which = "cate") -> pl.DataFrame:
        """The average effect in groups of rows from the least to the largest predicted effect.

        Where predicted differences are real, effects rise with them. A single group: all predictions are the same.
        """
        require(is_whole(groups, 2), "by_predicted", "groups", "be a whole number of at least 2", groups)
        predicted = self._predicted(which)
        belongs = np.searchsorted(quantile_cuts(predicted, groups), predicted)
        parts = [np.flatnonzero(belongs == index) for index in range(int(belongs.max()) + 1)]
        return _frame(
            {"group": at, "rows": len(rows), "predicted": float(predicted[rows].mean())} | _effect(self._within(rows))
            for at, rows in enumerate(parts, 1)
        )

    @property
    def heterogeneity(self) -> Estimate:
        """By how much effects differ where `cate` says that they differ by 1: the slope of the scores on it.

        1: the differences can be taken at their word; 0: they are noise; NaN: `cate` sees no differences at all.
        """
        return self.slope("cate")

    def slope(self, which: Which = "cate") -> Estimate:
        """As `heterogeneity`, for either prediction."""
        predicted = self._predicted(which)
        if np.ptp(predicted) == 0:
            return Estimate(math.nan, math.nan, math.nan, math.nan)
        spread = predicted - predicted.mean()

        def terms(arms: TwoArms) -> Terms:
            return Terms.ratio(spread * (arms.scores - arms.scores.mean()), spread**2)

        return self._estimates([terms])[0]

    # --- for people ---

    def __str__(self) -> str:
        count, rows = int(self.arms.treated.sum()), len(self.log)
        lines = [
            f"Effect of '{label_text(self.treated)}' against '{label_text(self.control)}' on "
            f"'{self.log.roles.reward}': {rows} rows, {count} of them treated.",
            f"  on all rows (ATE)          {self.ate}",
            f"  on the treated (ATT)       {self.att}",
            f"  on the control rows (ATC)  {self.atc}",
            f"  plain difference in means  {self.difference_in_means}",
            f"Intervals have a confidence of {self.judged.confidence:g}.",
        ]
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a number that does not exist is None."""
        return {
            "treated": self.treated,
            "control": self.control,
            "rows": len(self.log),
            "treated_rows": int(self.arms.treated.sum()),
            "confidence": self.judged.confidence,
            "minimize": self.log.minimize,
            "effects": self.to_frame().to_dicts(),
            "notes": list(self.notes),
        }

    @cached_property
    def _averages(self) -> dict[tuple[str, str], Estimate]:
        return dict(zip(ESTIMATES, self._estimates(list(ESTIMATES.values())), strict=True))

    def _predicted(self, which: Which) -> np.ndarray:
        require(which in ("cate", "prices"), "effects", "which", "be 'cate' or 'prices'", which)
        # judged by scores, which hold the row's own outcome: prices that took it in would confirm themselves
        return self.cate() if which == "cate" else self.arms.prices[:, 1] - self.arms.prices[:, 0]

    def _within(self, rows: np.ndarray) -> Estimate:
        return self._estimates([lambda arms: Terms.mean(arms.scores[rows])])[0]

    def _estimates(self, several: Sequence[Callable[[TwoArms], Terms]]) -> list[Estimate]:
        """With what the imputations behind the propensities add, as for the value of a policy."""
        each = () if self.propensity.imputed is None else self.propensity.imputed
        imputations = [replace(self.arms, taken=taken) for taken in each]
        values = [[terms(arms).value for arms in imputations] for terms in several]
        added = [Imputed(between_imputations(own), len(own)) for own in values]
        return self.judged.interval.estimates([terms(self.arms) for terms in several], added, self.judged.confidence)


def _check(log: Log, interval: Interval, confidence: float, seed: int) -> None:
    require(isinstance(log, Log), "effects", "log", "be a Log, e.g. from read_log", type(log).__name__)
    require(isinstance(interval, Interval), "effects", "interval", "be an interval, e.g. Bootstrap()", interval)
    check("effects", {"confidence": number(0, 1, "()")}, locals())
    require(is_whole(seed), "effects", "seed", "be a whole number of at least 0", seed)


def _frame(records: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        list(records), schema_overrides=dict.fromkeys(("effect", "error", "low", "high"), pl.Float64), strict=False
    )


def _effect(estimate: Estimate) -> dict[str, float | None]:
    found = plain_types(estimate)
    return {"effect": found.pop("value"), **found}
