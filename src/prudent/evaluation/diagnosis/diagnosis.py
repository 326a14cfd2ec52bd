"""Diagnosis: whether a log can answer for a policy, and how well. Numbers first, then a verdict in words."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from prudent.evaluation.decisions import referred_rows
from prudent.evaluation.diagnosis.balance import AttributeBalance, balance
from prudent.evaluation.diagnosis.calibration import Calibration, calibration
from prudent.evaluation.diagnosis.support import Support, WeightHistogram, heaviest_share, support, weight_histogram
from prudent.evaluation.diagnosis.verdict import Answer, answer, verdict, warnings
from prudent.evaluation.evaluation import Evaluation
from prudent.evaluation.intervals import Estimate
from prudent.propensity import OUTSIDE_SUPPORT, effective_sample_size
from prudent.show import plain_types

LISTED = 8  # attributes that the text lists; `balance` has all


@dataclass(frozen=True)
class Diagnosis:
    """What the log can say about one policy.

    rows, decided, matched: all rows; those the policy does not refer; of these, where it could do what was done.
    match_rate: the mean probability that the policy does what was done; a row it refers counts as 1.
    referred: the share of rows it leaves to a person.
    effective_sample_size: as many equally weighted rows as all its weighted ones are worth, (Σw)² / Σw²;
        `decided_effective_sample_size` the same of the rows it decides itself, on which any difference rests.
    mean_weight: about 1 where the propensities are right; `mean_weight_error` is its standard error.
    heaviest_share: the part of the weight on the heaviest 1 % of rows.
    calibration: of the propensities, for the log as a whole; None where only those of taken actions are known.
    value, gain: by the headline estimator, in the log's units and sign; gain over the decisions as logged.
    reward_spread: the standard deviation of the logged rewards.
    prices: where the prices are from.
    weighted: whether the headline estimator looks at logged outcomes at all. mixed: whether the policy leaves anything
        to chance.

    NaN is a number that does not exist, such as the heaviest share where nothing weighs.
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
    reward_spread: float
    prices: str
    minimize: bool
    weighted: bool
    mixed: bool

    @property
    def answer(self) -> Answer:
        """How well the log answers, in a word or two."""
        return answer(self)

    @cached_property
    def verdict(self) -> str:
        """What this log can and cannot say about this policy."""
        return verdict(self)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to look at before the numbers are believed; empty where nothing stands out."""
        return warnings(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a number that does not exist is None."""
        return plain_types({**asdict(self), "answer": self.answer, "verdict": self.verdict, "warnings": self.warnings})

    def __str__(self) -> str:
        lines = [f"{self.policy}: {self.verdict}", *(f"! {warning}" for warning in self.warnings), *self._counts()]
        if self.calibration is not None:
            own = self.calibration
            lines.append(f"Propensities: off by {own.error:.3f} on average (chance alone: about {own.chance:.3f})")
        return "\n".join([*lines, *self._listed()])

    def _counts(self) -> list[str]:
        lines = [
            f"Rows: {self.rows}, {self.referred:.0%} referred, done as the policy would {self.match_rate:.0%}",
            f"Effective sample size: {self.effective_sample_size:.0f}",
            f"Mean weight: {self.mean_weight:.3f} (standard error {self.mean_weight_error:.3f}); the heaviest 1% of "
            f"rows carry {_share(self.heaviest_share)} of it",
        ]
        own = self.support
        if not math.isnan(own.smallest):
            lines.append(
                f"Probability of its actions in the log: least {own.smallest:.3g}, 1% below {own.first_percentile:.3g},"
                f" 5% below {own.fifth_percentile:.3g}; below {OUTSIDE_SUPPORT} in {own.outside:.1%} of rows"
            )
        return lines

    def _listed(self) -> list[str]:
        """The attributes that differ most after weighting, as a small table."""
        largest = sorted(self.balance, key=lambda one: -np.nan_to_num([abs(one.after), abs(one.gaps_after)]).max())
        listed = largest[:LISTED]
        width = max([len("Difference from all rows, in sd"), *(len(one.attribute) for one in listed)])
        head = f"{'Difference from all rows, in sd':<{width}}  before   after  gaps before   after"
        return [head] + [
            f"{one.attribute:<{width}} {one.before:z7.2f} {one.after:z7.2f}      {one.gaps_before:z7.2f} "
            f"{one.gaps_after:z7.2f}"
            for one in listed
        ]


def diagnose(evaluation: Evaluation, policy: str) -> Diagnosis:
    """Whether the log can answer for this policy: weights, support, balance and calibration."""
    weights = evaluation.evidence(policy).weights
    chances, log = evaluation.probabilities[policy], evaluation.log
    rows = len(log)
    referred = referred_rows(chances)
    agreement = np.where(referred, 1.0, chances[np.arange(rows), log.actions])
    return Diagnosis(
        policy=policy,
        rows=rows,
        decided=int((~referred).sum()),
        matched=int((~referred & (agreement > 0)).sum()),
        match_rate=float(agreement.mean()),
        referred=float(referred.mean()),
        effective_sample_size=effective_sample_size(weights),
        decided_effective_sample_size=effective_sample_size(weights[~referred]),
        mean_weight=float(weights.mean()),
        mean_weight_error=float(weights.std(ddof=1)) / math.sqrt(rows) if rows > 1 else math.nan,
        heaviest_share=heaviest_share(weights),
        support=support(evaluation.propensity, chances, weights),
        weights=weight_histogram(weights),
        calibration=calibration(evaluation.propensity),
        balance=balance(log, agreement, weights),
        value=evaluation.estimate(policy),
        gain=evaluation.difference(policy),
        reward_spread=float(log.rewards.std()),
        prices=evaluation.prices.source,
        minimize=log.minimize,
        weighted=evaluation.headline.uses_weights,
        mixed=bool(((chances > 0) & (chances < 1)).any()),
    )


def _share(share: float) -> str:
    return "none" if math.isnan(share) else f"{share:.1%}"
