"""Diagnosis: whether a log can answer for a policy, and how well. Numbers, and from them a verdict and warnings."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from prudent.evaluation.decisions import referred_rows
from prudent.evaluation.diagnosis.balance import AttributeBalance, balance
from prudent.evaluation.diagnosis.calibration import Calibration, calibration
from prudent.evaluation.diagnosis.support import (
    MOSTLY_OUTSIDE,
    Support,
    WeightHistogram,
    heaviest_share,
    support,
    weight_histogram,
)
from prudent.evaluation.intervals import Estimate
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.evaluation.row_terms import Terms
from prudent.propensity import FEW_ROWS, effective_sample_size
from prudent.show import diagnosis_text, plain_types, verdict_sentence, warning_sentences
from prudent.table import count_groups

Answer = Literal["as logged", "prices alone", "nothing", "hardly", "extrapolated", "roughly", "clearly"]
"""How well the log answers for a policy. "as logged": there is nothing to infer; "prices alone": the headline estimator
uses no logged outcome; "extrapolated": mostly by prices."""

Concern = Literal["support", "few rows", "heavy rows", "mean weight", "balance", "calibration"]
"""What to check before the numbers are believed; the last three speak against the propensities."""

ENOUGH_ROWS = 100  # with a smaller effective sample size, normal intervals of skewed, weighted rewards are too short
SMALL_EFFECT = 0.2  # in sd of the rewards, a small difference by Cohen's custom: a wider interval hides it
SOME_OUTSIDE = 0.05  # as in the overlap of a log: one case in twenty
MEAN_WEIGHT_OFF = 0.05  # the relative error of a self-normalised estimate that is still acceptable
MANY_ERRORS = 3  # standard errors: several policies are compared, and chance should seldom raise a warning
IMBALANCE = 0.1  # a standardised difference that the literature on matching calls negligible below
FALSE_ALARMS = 0.01  # the share of balanced policies with a warning by chance, however many attributes there are
MISPLACED = 0.05  # one decision in twenty given to the wrong action
CHANCE_TIMES = 2  # a calibration error must be this many times what correct probabilities would show
HEAVY_SHARE = 0.3  # a hundredth of the rows has a third of the weight: a few decisions determine the value


@dataclass(frozen=True)
class Diagnosis:
    """What the log can say about one policy. NaN is a number that does not exist.

    rows, decided, matched: all rows; those the policy does not refer to a person; of these, the rows where it could
        have done what was done and whose outcome was seen.
    match_rate: the mean probability that the policy does what was done; a row it refers counts as 1.
    referred: the share of rows it refers.
    effective_sample_size: the number of equally weighted rows that would say as much, (Σw)² / Σw²;
        `decided_effective_sample_size` the same for the rows it decides itself, on which any difference rests.
    mean_weight: about 1 where the propensities are correct; `mean_weight_error` is its standard error.
    heaviest_share: the share of the weight on the heaviest 1 % of rows.
    calibration: of the propensities, for the log as a whole; None where only those of taken actions are known.
    value, gain: by the headline estimator, in the log's units and sign; gain over the decisions as logged.
    constant, over_constant: the best constant action, see `PolicyEstimates.best_constant` (None: there is none), and
        the gain over it.
    reward_spread: the standard deviation of the logged rewards. rounding: differences up to this are rounding errors.
    prices: where the prices are from.
    weighted: whether the headline estimator uses logged outcomes. mixed: whether the policy draws lots anywhere.
    groups: how many groups the rows belong to; effective_groups: the effective number of groups among the rows that the
        policy decides, if the rows of a group were all alike; None where rows are independent.
    """

    policy: str
    rows: int
    decided: int
    matched: int
    match_rate: float
    referred: float
    effective_sample_size: float
    decided_effective_sample_size: float
    mean_weight: float
    mean_weight_error: float
    heaviest_share: float
    support: Support
    weights: WeightHistogram
    calibration: Calibration | None
    balance: tuple[AttributeBalance, ...]
    value: Estimate
    gain: Estimate
    constant: str | None
    over_constant: Estimate | None
    reward_spread: float
    rounding: float
    prices: str
    minimize: bool
    weighted: bool
    mixed: bool
    groups: int | None = None
    effective_groups: float | None = None

    @property
    def answer(self) -> Answer:
        """How well the log answers: the first that applies, worst first."""
        if not self.decided or (self.match_rate == 1 and not self.mixed):
            return "as logged"
        if not self.weighted:
            return "prices alone"
        if not self.matched:
            return "nothing"
        if self._independent < FEW_ROWS:
            return "hardly"
        if self.support.outside > MOSTLY_OUTSIDE:
            return "extrapolated"
        half_width = (self.value.high - self.value.low) / 2
        narrow = half_width <= SMALL_EFFECT * self.reward_spread  # False where there is no interval
        enough = self._independent >= ENOUGH_ROWS
        return "clearly" if narrow and enough and not self.doubtful else "roughly"

    @property
    def _independent(self) -> float:
        """How much there is that does not depend on one another: on it rests how normal an estimate is."""
        return self.decided_effective_sample_size if self.effective_groups is None else self.effective_groups

    @property
    def answerable(self) -> bool:
        """Whether its value rests on enough logged outcomes to act on."""
        return self.answer in ("clearly", "roughly")

    @property
    def doubtful(self) -> bool:
        """Whether something speaks against the propensities, which no interval covers."""
        return any(self._propensity_concerns())

    @property
    def concerns(self) -> tuple[Concern, ...]:
        """The reasons for `warnings`; empty where nothing stands out."""
        return (*self._row_concerns(), *self._propensity_concerns())

    def _row_concerns(self) -> Iterator[Concern]:
        if self.support.outside > SOME_OUTSIDE:
            yield "support"
        if self.decided and self.matched:
            if self._independent < ENOUGH_ROWS:
                yield "few rows"
            # equal weights on a few rows do not make them heavy
            if self.heaviest_share > HEAVY_SHARE and self.decided_effective_sample_size < self.matched / 2:
                yield "heavy rows"

    def _propensity_concerns(self) -> Iterator[Concern]:
        if not self.decided or not self.matched:
            return
        if abs(self.mean_weight - 1) > max(MEAN_WEIGHT_OFF, MANY_ERRORS * self.mean_weight_error):
            yield "mean weight"
        if self.imbalance:
            yield "balance"
        known = self.calibration
        if known is not None and known.misplaced > MISPLACED and known.error > CHANCE_TIMES * known.chance:
            yield "calibration"

    @cached_property
    def imbalance(self) -> tuple[tuple[str, float], ...]:
        """Attributes, and gaps of attributes, that differ after weighting by more than chance: largest first, in sd."""
        left = [(one.attribute, one.after, one.chance) for one in self.balance]
        left += [(f"gaps of {one.attribute}", one.gaps_after, one.gaps_chance) for one in self.balance]
        errors = math.sqrt(2 * math.log(2 * max(len(left), 1) / FALSE_ALARMS))  # from the tail of a normal distribution
        beyond = [(name, abs(size)) for name, size, chance in left if abs(size) > max(IMBALANCE, errors * chance)]
        return tuple(sorted(beyond, key=lambda pair: -pair[1]))

    @cached_property
    def _facts(self) -> dict[str, Any]:
        imbalance = [{"name": name, "size": size} for name, size in self.imbalance]
        return plain_types({**asdict(self), "answer": self.answer, "concerns": self.concerns, "imbalance": imbalance})

    @property
    def verdict(self) -> str:
        """What this log can and cannot say about this policy."""
        return verdict_sentence(self._facts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to check before the numbers are believed; empty where nothing stands out."""
        return tuple(warning_sentences(self._facts))

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a number that does not exist is None."""
        return {**self._facts, "verdict": self.verdict, "warnings": list(self.warnings)}

    def __str__(self) -> str:
        return diagnosis_text(self._facts)


def diagnose(estimates: PolicyEstimates, policy: str) -> Diagnosis:
    """Whether the log can answer for this policy: weights, support, balance and calibration."""
    weights = estimates.evidence(policy).weights
    probabilities, log = estimates.probabilities[policy], estimates.log
    rows, constant = len(log), estimates.best_constant
    referred = referred_rows(probabilities)
    agreement = np.where(referred, 1.0, probabilities[np.arange(rows), log.actions])
    decided = weights * ~referred
    spread = Terms.mean(weights).by_group(log.groups).influence
    return Diagnosis(
        policy=policy,
        rows=rows,
        decided=int((~referred).sum()),
        matched=int((~referred & (weights > 0)).sum()),
        match_rate=float(agreement.mean()),
        referred=float(referred.mean()),
        effective_sample_size=effective_sample_size(weights),
        decided_effective_sample_size=effective_sample_size(weights[~referred]),
        mean_weight=float(weights.mean()),
        mean_weight_error=float(spread.std(ddof=1)) / math.sqrt(len(spread)) if len(spread) > 1 else math.nan,
        heaviest_share=heaviest_share(weights),
        support=support(estimates.propensity, probabilities, weights),
        weights=weight_histogram(weights),
        calibration=calibration(estimates.propensity, log.groups),
        balance=balance(log, agreement, weights),
        value=estimates.estimate(policy),
        gain=estimates.difference(policy),
        constant=constant,
        over_constant=None if constant is None else estimates.difference(policy, constant),
        reward_spread=float(log.rewards[log.rewarded].std()),
        rounding=estimates.rounding,
        prices=estimates.prices.source,
        minimize=log.minimize,
        weighted=estimates.headline.uses_weights,
        mixed=bool(((probabilities > 0) & (probabilities < 1)).any()),
        groups=count_groups(log.groups),
        effective_groups=None if log.groups is None else effective_sample_size(decided, log.groups),
    )
