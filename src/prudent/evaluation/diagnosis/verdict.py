"""The verdict on a policy: what this log can and cannot say about it, in words a clinician can follow."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from prudent.evaluation.intervals import Estimate
from prudent.propensity import FEW_ROWS, OUTSIDE_SUPPORT

if TYPE_CHECKING:
    from prudent.evaluation.diagnosis.diagnosis import Diagnosis

Answer = Literal["as logged", "not asked", "nothing", "hardly", "extrapolated", "roughly", "clearly"]
"""How well the log answers for a policy. "as logged": there is nothing to infer; "not asked": the estimator shown first
looks at prices alone; "extrapolated": mostly by prices."""

ENOUGH_ROWS = 100  # below so many effective rows normal intervals of skewed, weighted rewards still fall short
SMALL_EFFECT = 0.2  # in sd of the rewards, a small difference by Cohen's custom: an interval wider than that hides it
MOSTLY_OUTSIDE = 0.5  # more than half of the cases outside support: the value is more of prices than of what was seen
SOME_OUTSIDE = 0.05  # as in the overlap of a log: one case in twenty
MEAN_WEIGHT_OFF = 0.05  # what a self-normalised estimate can be off by, relative, before anyone should mind
MANY_ERRORS = 3  # standard errors: several policies are looked at, and chance should seldom speak for one
IMBALANCE = 0.1  # a standardised difference that the literature on matching calls negligible below
FALSE_ALARMS = 0.01  # of balanced policies, the share that chance may have named, however many attributes there are
MISPLACED = 0.05  # one decision in twenty given to the wrong action
CHANCE_TIMES = 2  # a calibration error must be this many times what right probabilities would show
HEAVY_SHARE = 0.3  # when a hundredth of the rows carries a third of the weight, a few decisions decide
NAMED = 3  # attributes named in a sentence


def answer(found: "Diagnosis") -> Answer:
    """How well the log answers; the first that applies, worst first."""
    if not found.decided:
        return "as logged"
    if not found.weighted:
        return "not asked"
    if not found.matched:
        return "nothing"
    if found.decided_effective_sample_size < FEW_ROWS:
        return "hardly"
    if found.support.outside > MOSTLY_OUTSIDE:
        return "extrapolated"
    half_width = (found.value.high - found.value.low) / 2
    narrow = half_width <= SMALL_EFFECT * found.reward_spread  # False where there is no interval
    clear = narrow and found.decided_effective_sample_size >= ENOUGH_ROWS and not _doubts(found)
    return "clearly" if clear else "roughly"


def verdict(found: "Diagnosis") -> str:
    """One or two sentences, and a third where the propensities are in doubt."""
    worth = shown(found.value)
    equal_rows = f"carry as much information as about {found.decided_effective_sample_size:.0f} equally weighted cases"
    agreed = f"{_agreement(found)}, which {equal_rows}"
    gain = compared(found.gain, found.minimize)
    match answer(found):
        case "as logged":
            return (
                f"Every case is decided as it was logged, so nothing has to be inferred: the mean of the {found.rows} "
                f"outcomes is {worth}."
            )
        case "not asked":
            return (
                f"This is what the prices ({found.prices}) expect of the policy, {worth}; nothing that was seen of it "
                f"enters. Going by them, {gain}."
            )
        case "nothing":
            return (
                f"The log cannot say how this policy would do: its action was never taken in {_cases(found)}. Any "
                f"value shown for it is what the prices ({found.prices}) expect, and nothing that was seen."
            )
        case "hardly":
            return (
                f"The log can hardly say how this policy would do. {agreed}: too little to act on, though on paper "
                f"{gain}."
            )
        case "extrapolated":
            return (
                f"The log does not show how this policy would do: in {found.support.outside:.0%} of the cases it wants "
                f"an action that was almost never taken in such cases, and there its value is extrapolated by the "
                f"prices ({found.prices}). Going by them, {gain}."
            )
        case "roughly":
            doubt = " The propensities look off (see the warnings), which no interval covers." if _doubts(found) else ""
            return f"The log says roughly how this policy would do: {worth} per decision. {agreed}; {gain}.{doubt}"
        case "clearly":
            return f"The log can answer for this policy: {worth} per decision. {agreed}; {gain}."


def warnings(found: "Diagnosis") -> tuple[str, ...]:
    """What to look at before the numbers are believed; empty where nothing stands out."""
    return (*_of_support(found), *_of_weights(found), *_doubts(found))


def compared(gain: Estimate, minimize: bool) -> str:
    """The difference from the decisions as logged as part of a sentence.

    >>> compared(Estimate(-0.31, 0.1, -0.5, -0.12), minimize=True)
    'it is better than the decisions as logged by 0.31 (0.12 to 0.50)'
    """
    better = gain.negated() if minimize else gain
    if not all(map(math.isfinite, (better.value, better.low, better.high))):
        return "it cannot be compared with the decisions as logged"
    if better.low > 0:
        return f"it is better than the decisions as logged by {shown(better)}"
    if better.high < 0:
        return f"it is worse than the decisions as logged by {shown(better.negated())}"
    if better.low == better.high == 0:
        return "there is no difference at all from the decisions as logged"
    low, high = _numbers(better, -better.low, better.high)
    return f"there is no clear difference from the decisions as logged (from {low} worse to {high} better)"


def shown(estimate: Estimate) -> str:
    """A value with its interval, where it has one, to two digits of the interval's width."""
    value, low, high = _numbers(estimate, estimate.value, estimate.low, estimate.high)
    return f"{value} ({low} to {high})" if math.isfinite(estimate.low + estimate.high) else value


def _numbers(estimate: Estimate, *numbers: float) -> list[str]:
    width = estimate.high - estimate.low
    if not (math.isfinite(width) and width > 0):
        return [f"{number:z.4g}" for number in numbers]
    digits = min(max(1 - math.floor(math.log10(width)), 0), 6)
    return [f"{number:z.{digits}f}" for number in numbers]


def _agreement(found: "Diagnosis") -> str:
    if not found.mixed:
        return f"Its action was taken in {found.matched} of {_cases(found)}"
    return f"It would have done, on average, what was done in {found.match_rate:.0%} of the {found.rows} cases"


def _cases(found: "Diagnosis") -> str:
    return f"the {found.decided} cases" + (" that it does not refer" if found.decided < found.rows else "")


def _of_support(found: "Diagnosis") -> Iterator[str]:
    if found.support.outside > SOME_OUTSIDE:
        yield (
            f"In {found.support.outside:.0%} of the cases the policy wants an action, mostly '{found.support.action}', "
            f"that was almost never taken in such cases (probability below {OUTSIDE_SUPPORT}): what it would do there "
            "was hardly ever seen."
        )


def _of_weights(found: "Diagnosis") -> Iterator[str]:
    if not found.decided or not found.matched:
        return
    effective = found.decided_effective_sample_size
    if effective < ENOUGH_ROWS:
        yield (
            f"The rows that agree with the policy carry as much information as about {effective:.0f} equally weighted "
            "ones, so intervals are wide, and still more is left to chance than they show."
        )
    # equal weights on few rows are no heavy rows
    if found.heaviest_share > HEAVY_SHARE and effective < found.matched / 2:
        yield (
            f"The heaviest 1% of the rows carry {found.heaviest_share:.0%} of the weight, so a few decisions decide "
            "the value."
        )


def _doubts(found: "Diagnosis") -> tuple[str, ...]:
    """What speaks against the propensities; nothing where they were not needed or met no row."""
    if not found.decided or not found.matched:
        return ()
    return (*_of_mean_weight(found), *_of_balance(found), *_of_calibration(found))


def _of_mean_weight(found: "Diagnosis") -> Iterator[str]:
    if abs(found.mean_weight - 1) > max(MEAN_WEIGHT_OFF, MANY_ERRORS * found.mean_weight_error):
        yield (
            f"The weights average {found.mean_weight:.2f} (standard error {found.mean_weight_error:.2f}) where right "
            "propensities give 1: the propensities are off, or the policy wants actions never taken in such cases."
        )


def _of_balance(found: "Diagnosis") -> Iterator[str]:
    left = [(one.attribute, one.after, one.chance) for one in found.balance]
    left += [(f"gaps of {one.attribute}", one.gaps_after, one.gaps_chance) for one in found.balance]
    errors = math.sqrt(2 * math.log(2 * max(len(left), 1) / FALSE_ALARMS))  # from the tail of a normal distribution
    beyond = [(abs(size), name) for name, size, chance in left if abs(size) > max(IMBALANCE, errors * chance)]
    if beyond:
        beyond.sort(key=lambda pair: -pair[0])
        named = ", ".join(f"{name} ({size:.2f} sd)" for size, name in beyond[:NAMED])
        more = f" and {len(beyond) - NAMED} more" if len(beyond) > NAMED else ""
        yield (
            f"Even weighted, the rows that agree with the policy differ from all rows in {named}{more}: the "
            "propensities do not make up for it, and the value may be off."
        )


def _of_calibration(found: "Diagnosis") -> Iterator[str]:
    own = found.calibration
    if own is not None and own.misplaced > MISPLACED and own.error > CHANCE_TIMES * own.chance:
        yield (
            f"The propensities are off by {own.error:.3f} on average (chance alone: about {own.chance:.3f}), as if "
            f"{own.misplaced:.0%} of the decisions had been given to the wrong action."
        )
