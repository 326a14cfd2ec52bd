"""Effects of one action against another: on average, on the treated, by group, by row and for new cases.

Every effect is the outcome under the treatment minus the outcome under the control, in the units and the sign of the
table's reward column. With a minimised reward a negative effect is the good one: an effect on mortality of −0.02 means
two deaths fewer in a hundred, as the report of a trial would say.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from prudent.errors import check, instance, number, one_of, require, whole
from prudent.evaluation.effects.arms import Pair, other_actions, overlap_notes, propensity_among_two
from prudent.evaluation.effects.groups import groups_of, quantile_cuts
from prudent.evaluation.effects.learner import BoostedEffects
from prudent.evaluation.effects.row_terms import ESTIMATES, TwoArms
from prudent.evaluation.intervals import Estimate, ImputedTerms, Interval, Student
from prudent.evaluation.price_sources import PriceSource, prices_from
from prudent.evaluation.prices import LearntPrices
from prudent.evaluation.row_terms import Terms
from prudent.evaluation.usable_rows import few_groups, rows_left_out
from prudent.propensity import Censoring, FittedPropensity, Propensity
from prudent.show import effects_text, plain_types
from prudent.table import ActionLabel, Log, count_groups

Which = Literal["cate", "prices"]
_RULES = {
    "log": instance(Log, "a Log, e.g. from read_log"),
    "interval": instance(Interval, "an interval, e.g. Bootstrap()"),
    "confidence": number(0, 1, "()"),
    "seed": whole(),
}


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

    treated: the action whose effect is estimated, against the other. By default the one that reads as 1, true, yes or
        treated, otherwise the second label.
    between: (control, treated), two of several actions. Only rows that took one of them are used, and propensities are
        the probabilities of the treatment among these two. Logged probabilities do not say how likely the other one
        was, so they are then estimated.
    propensity, prices: as in `evaluate`; prices are by default `LearntPrices()`, and an array [row, action] is in the
        order of the log's labels, with a row for each of the log. `GaussianPrices()` is best in studies of hundreds of
        rows: look at its `outcome_model`.

    >>> table = {"sick": [0, 0, 1, 1] * 20, "drug": ["no", "yes"] * 40, "pain": [3, 2, 5, 3] * 20}
    >>> log = Log.from_frame(table, action="drug", reward="pain", minimize=True)
    >>> study = effects(log, prices=np.array([[3, 2], [3, 2], [5, 3], [5, 3]] * 20))
    >>> print(study.ate)
    -1.500 [-1.612, -1.388]
    >>> study.by("sick")["group", "effect"].rows()
    [('0', -1.0), ('1', -2.0)]
    """
    check("effects", _RULES, locals())
    pair, notes = Pair.of(log, treated, between)
    used = log.followed & np.isin(log.actions, pair.codes)
    rows = log.take(used)
    pair.require_rows(rows)
    censoring = Censoring.of(pair.relabelled(rows), seed)
    chosen, estimated = propensity_among_two(propensity, log)
    fitted = chosen.fit(pair.relabelled(rows), seed)
    priced, price_warnings = prices_from(
        LearntPrices() if prices is None else prices, rows, used, None, seed, "effects"
    )
    sign, outcomes = log.sign, rows.rewards
    if censoring is not None:  # those that were not seen count 0 times
        outcomes = np.where(rows.rewarded, outcomes, outcomes[rows.rewarded].mean())
    arms = TwoArms(
        treated=np.asarray(rows.actions == pair.treated),
        taken=fitted.taken,
        outcomes=sign * outcomes,
        prices=sign * priced.rewards[:, [pair.control, pair.treated]],
        informed=None if priced.informed is None else sign * priced.informed[:, [pair.control, pair.treated]],
        counted=None if censoring is None else censoring.weights,
    )
    notes += [*rows_left_out(log), *other_actions(int((log.followed & ~used).sum()))]
    notes += [*([] if censoring is None else censoring.notes), *few_groups(rows)]
    notes += [*estimated, *price_warnings, *overlap_notes(arms.propensity)]
    labels = log.action_labels[pair.control], log.action_labels[pair.treated]
    return Effects(rows, used, *labels, arms, fitted, EffectSettings(interval, float(confidence), seed), tuple(notes))


@dataclass(frozen=True)
class EffectSettings:
    """How intervals are made, and the seed of what is learnt later."""

    interval: Interval
    confidence: float
    seed: int


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of `treated` against `control`: outcome under the one minus outcome under the other.

    log: the rows that were used; `used` marks them in the log that was given. Arrays of effects have one number for
        each of them.
    arms: what was done and how it turned out, with propensities and prices, in the table's sign.
    """

    log: Log
    used: np.ndarray
    control: ActionLabel
    treated: ActionLabel
    arms: TwoArms
    propensity: FittedPropensity
    settings: EffectSettings
    notes: tuple[str, ...]
    _learnt: dict[BoostedEffects, np.ndarray] = field(default_factory=dict, repr=False)

    # --- averages ---

    @property
    def ate(self) -> Estimate:
        """The average effect over all rows, doubly robust: correct if either the prices or the propensities are."""
        return self._averages["ATE", "aipw"]

    @property
    def att(self) -> Estimate:
        """The average effect over rows like those that were treated: what the treatment has done."""
        return self._averages["ATT", "aipw"]

    @property
    def atc(self) -> Estimate:
        """The average effect over rows like the control rows: what treating them would do."""
        return self._averages["ATC", "aipw"]

    @property
    def ipw(self) -> Estimate:
        """The average effect by self-normalised inverse propensities alone."""
        return self._averages["ATE", "ipw"]

    @property
    def outcome_model(self) -> Estimate:
        """The average effect by the prices alone; its interval ignores the uncertainty of the prices."""
        return self._averages["ATE", "outcome model"]

    @property
    def difference_in_means(self) -> Estimate:
        """Treated minus control rows, unadjusted: an effect only if treatment was given at random."""
        return self._averages["ATE", "difference in means"]

    def to_frame(self) -> pl.DataFrame:
        """One row per estimand (ATE, ATT, ATC) and estimator."""
        return _frame(
            {"estimand": estimand, "estimator": estimator} | _effect(estimate)
            for (estimand, estimator), estimate in self._averages.items()
        )

    # --- by row ---

    @property
    def per_row(self) -> np.ndarray:
        """The effect on each row by the prices."""
        return self.arms.priced_effects

    @property
    def scores(self) -> np.ndarray:
        """The doubly robust score of each row: its effect plus noise; their mean is `ate`."""
        return self.arms.scores

    def cate(self, learner: BoostedEffects = BoostedEffects()) -> np.ndarray:
        """The effect on each row as learnt from the other rows' scores, shrunk towards `ate`."""
        if learner not in self._learnt:
            self._learnt[learner] = learner.fit(self.log, self.arms, self.settings.seed)
        return self._learnt[learner]

    def effect(self, new_rows: Any, learner: BoostedEffects = BoostedEffects()) -> np.ndarray:
        """The effect on each row of a frame of new cases, as learnt from all rows of the log and shrunk towards `ate`.

        The frame has the log's columns. New cases have no outcomes, so only `learner`'s trees are used, never prices.
        """
        encoded = self.log.schema.encode(new_rows)
        return learner.predict(self.log, self.arms, encoded, self.settings.seed)

    def pehe(self, true_effects: Any, which: Which = "cate") -> float:
        """Root mean squared error of the effects per row, where the truth is known: a number for each row of the log
        that was given, as outcome under treatment minus outcome under control, in the table's sign."""
        truth = np.asarray(true_effects, np.float64)
        valid = truth.shape == self.used.shape and bool(np.isfinite(truth[self.used]).all())
        require(valid, "pehe", "true_effects", f"be {len(self.used)} finite numbers, one per row", truth.shape)
        predicted = self.per_row if which == "prices" else self._predicted(which)
        return float(np.sqrt(np.mean((predicted - truth[self.used]) ** 2)))

    # --- by group ---

    def by(self, column: str, bins: int = 4) -> pl.DataFrame:
        """The average effect in each group of rows: a column's levels, or quantile bins of its numbers, and its gaps.

        Error and interval are empty where the group is a single row.
        """
        check("by", {"bins": whole(1)}, locals())
        return _frame(
            {"group": name, "rows": len(rows)} | _effect(self._within(rows))
            for name, rows in groups_of(self.log, column, bins)
        )

    def by_predicted(self, groups: int = 5, which: Which = "cate") -> pl.DataFrame:
        """The average effect in groups of rows from the least to the largest predicted effect.

        Where predicted differences are real, effects rise with them. With equal predictions there is one group.
        """
        check("by_predicted", {"groups": whole(2)}, locals())
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

        1: the differences are real; 0: they are noise; NaN: `cate` predicts no differences.
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
        return effects_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a number that does not exist is None."""
        return {
            "treated": self.treated,
            "control": self.control,
            "reward": self.log.roles.reward,
            "rows": len(self.log),
            "group_count": count_groups(self.log.groups),
            "treated_rows": int(self.arms.treated.sum()),
            "confidence": self.settings.confidence,
            "minimize": self.log.minimize,
            "effects": self.to_frame().to_dicts(),
            "notes": list(self.notes),
        }

    @cached_property
    def _averages(self) -> dict[tuple[str, str], Estimate]:
        return dict(zip(ESTIMATES, self._estimates(list(ESTIMATES.values())), strict=True))

    def _predicted(self, which: Which) -> np.ndarray:
        check("effects", {"which": one_of("cate", "prices")}, locals())
        # checked against scores, which contain the row's outcome: prices that used it would confirm themselves
        return self.cate() if which == "cate" else self.arms.prices[:, 1] - self.arms.prices[:, 0]

    def _within(self, rows: np.ndarray) -> Estimate:
        return self._estimates([lambda arms: Terms.mean(arms.scores[rows])], rows)[0]

    def _estimates(
        self, several: Sequence[Callable[[TwoArms], Terms]], rows: np.ndarray | None = None
    ) -> list[Estimate]:
        """With the variance that the imputations behind the propensities add, as for the value of a policy.

        rows: those that the terms are about, by default all.
        """
        groups = self.log.groups if self.log.groups is None or rows is None else self.log.groups[rows]
        each = () if self.propensity.imputed is None else self.propensity.imputed
        imputations = [replace(self.arms, taken=taken) for taken in each]
        imputed = [
            ImputedTerms(terms(self.arms).by_group(groups), [terms(arms).value for arms in imputations])
            for terms in several
        ]
        return self.settings.interval.with_imputations(imputed, self.settings.confidence)


def _frame(records: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        list(records), schema_overrides=dict.fromkeys(("effect", "error", "low", "high"), pl.Float64), strict=False
    )


def _effect(estimate: Estimate) -> dict[str, float | None]:
    numbers = plain_types(estimate)
    return {"effect": numbers.pop("value"), **numbers}
