"""The bottom line of an evaluation: which policy to use, or that none is shown to be better than doing without."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from prudent.evaluation.decisions import LOGGED
from prudent.evaluation.diagnosis.diagnosis import Diagnosis
from prudent.evaluation.intervals import Estimate
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.show import bottom_line_sentence, plain_types

Conclusion = Literal["use", "not shown to be better", "cannot answer", "as logged"]
"""What to do about the policies that were given: use one of them; use none, since nothing is gained over the log or
over one action for everybody; use none, since the log cannot answer; or there is nothing to decide, since they all do
what was done."""


@dataclass(frozen=True)
class BottomLine:
    """One conclusion about all policies together. Estimates are in the log's units and sign, by the headline estimator.

    policies: whom the conclusion is about: the policy with the best value of those that qualify, and all that decide
        alike; all policies where there is no such choice.
    constant: the best constant action, see `PolicyEstimates.best_constant`; None where there is none.
    over_logged, over_constant: the gain of `policies` over the decisions as logged and over `constant`.
    constant_over_logged: the gain of giving everybody that action.
    not_beaten: the names, of these two, that `policies` is not shown to be better than.
    as_constant: whether `policies` are that constant action: they give it to everybody.
    compared: how many different policies the log can answer for; the best of them is chosen by the same rows, so
        intervals are those of all of them together (Bonferroni's), and that of the constant is for all constants.
    unanswered: the policies that the log cannot answer for.
    doubtful: whether something speaks against the propensities. weighted: whether logged outcomes enter at all.
    """

    conclusion: Conclusion
    policies: tuple[str, ...]
    constant: str | None
    over_logged: Estimate | None
    over_constant: Estimate | None
    constant_over_logged: Estimate | None
    not_beaten: tuple[str, ...]
    as_constant: bool
    compared: int
    unanswered: tuple[str, ...]
    doubtful: bool
    weighted: bool
    minimize: bool
    confidence: float
    rounding: float

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON, with the sentence."""
        return {**plain_types(vars(self)), "sentence": str(self)}

    def __str__(self) -> str:
        return bottom_line_sentence(plain_types(vars(self)))


def bottom_line(estimates: PolicyEstimates, diagnose: Callable[[str], Diagnosis]) -> BottomLine | None:
    """The conclusion from estimates and diagnoses; None where no policy was given.

    A policy is to be used if it is better than the decisions as logged *and* than the best constant action. Both must
    hold, so testing two needs no correction; choosing the best of several policies does. A policy whose value rests on
    almost no rows is not a candidate, however good it looks.
    """
    if not estimates.asked:
        return None
    groups = list(dict.fromkeys(_asked_alike(estimates, name) for name in estimates.asked))
    changing = [group for group in groups if LOGGED not in estimates.alike(group[0])]
    candidates = [group for group in changing if diagnose(group[0]).answerable]
    unanswered = tuple(name for group in changing if group not in candidates for name in group)
    if not candidates:
        conclusion = "cannot answer" if changing else "as logged"
        return _concluded(estimates, conclusion, unanswered or estimates.asked, unanswered)
    confidence = _together(estimates, len(candidates))
    better = [group for group in candidates if not _not_beaten(estimates, group[0], confidence)]
    sign = estimates.log.sign
    best = max(better or candidates, key=lambda group: sign * estimates.estimate(group[0]).value)
    conclusion = "use" if better else "not shown to be better"
    doubtful = diagnose(best[0]).doubtful
    return _concluded(estimates, conclusion, best, unanswered, compared=len(candidates), doubtful=doubtful)


def _concluded(
    estimates: PolicyEstimates,
    conclusion: Conclusion,
    policies: tuple[str, ...],
    unanswered: tuple[str, ...],
    compared: int = 0,
    doubtful: bool = False,
) -> BottomLine:
    constant, best = estimates.best_constant, policies[0] if compared else None
    confidence, constants = _together(estimates, compared), len(estimates.names) - len(estimates.asked) - 1

    def over(name: str | None, other: str | None, confidence: float) -> Estimate | None:
        return None if name is None or other is None else estimates.difference(name, other, confidence=confidence)

    return BottomLine(
        conclusion,
        policies,
        constant,
        over(best, LOGGED, confidence),
        over(best, constant, confidence),
        over(constant, LOGGED, _together(estimates, constants)),
        () if best is None else _not_beaten(estimates, best, confidence),
        as_constant=best is not None and constant in estimates.alike(best),
        compared=compared,
        unanswered=unanswered,
        doubtful=doubtful,
        weighted=estimates.headline.uses_weights,
        minimize=estimates.log.minimize,
        confidence=estimates.settings.confidence,
        rounding=estimates.rounding,
    )


def _asked_alike(estimates: PolicyEstimates, policy: str) -> tuple[str, ...]:
    return tuple(name for name in estimates.alike(policy) if name in estimates.asked)


def _together(estimates: PolicyEstimates, several: int) -> float:
    """The confidence of each of several intervals that hold together with that of the evaluation."""
    return 1 - (1 - estimates.settings.confidence) / max(several, 1)


def _not_beaten(estimates: PolicyEstimates, policy: str, confidence: float) -> tuple[str, ...]:
    constant = estimates.best_constant
    others = (LOGGED,) if constant is None else (LOGGED, constant)
    return tuple(other for other in others if not _better(estimates, policy, other, confidence))


def _better(estimates: PolicyEstimates, policy: str, other: str, confidence: float) -> bool:
    difference = estimates.difference(policy, other, confidence=confidence)
    return (-difference.high if estimates.log.minimize else difference.low) > estimates.rounding
