"""What policies would have earned on the log: every strategy as `evaluate` has it, and simple rivals on its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prudent.decide import Policy
from prudent.errors import InputProblem
from prudent.evaluation import Decider, Estimate, Evaluation, evaluate
from prudent.models import align_log
from prudent.reporting.answers import Unanswered
from prudent.rivals import USUAL, usual_policies
from prudent.table import ActionLabel, Log, deal_groups

FOLDS = 3
FEWEST_TO_LEARN = 40


@dataclass(frozen=True)
class RivalValue:
    """A simple rival. gain: over the decisions as logged. behind: the recommended policy's value less the rival's, in
    the log's units; differently: the share of rows that the two decide differently."""

    name: str
    value: Estimate
    gain: Estimate
    behind: Estimate
    differently: float


@dataclass(frozen=True)
class PolicyValues:
    """evaluation: as `Evaluation.to_dict` gives it, of the strategies alone: the numbers of `prudent evaluate`.

    rivals: learnt from `rival_rows` rows; `rivals_cross_fitted` where these are the rows that also judge them, each
    decided by a rival that has not seen it. A sentence where there are none.
    """

    evaluation: dict[str, Any]
    recommended: str
    rivals: tuple[RivalValue, ...] | Unanswered
    rivals_cross_fitted: bool
    rival_rows: int


def judged(
    policies: Mapping[str, Policy],
    log: Log,
    past: Log | None,
    *,
    recommended: str,
    below: float | None,
    confidence: float,
    seed: int,
) -> tuple[Evaluation, PolicyValues]:
    """The evaluation of the strategies, and all values. past: what rivals learn from; by default the log itself."""
    log = align_log(log, policies[recommended].fitted)
    rivals: Mapping[str, Decider] | Unanswered
    try:
        rivals = _rivals(log, past, seed)
    except InputProblem as problem:
        rivals = Unanswered(str(problem))
    deciders: dict[str, Decider] = {**policies, **({} if isinstance(rivals, Unanswered) else rivals)}
    every = evaluate(deciders, log, below=below, confidence=confidence, seed=seed)
    named = () if isinstance(rivals, Unanswered) else tuple(rivals)
    decided = {name: chances for name, chances in every.probabilities.items() if name not in named}
    # without the rivals, so that the conclusion is that of `prudent evaluate`
    own = replace(every, asked=tuple(policies), probabilities=decided)
    learnt = log if past is None else past
    values = PolicyValues(
        evaluation=own.to_dict(),
        recommended=recommended,
        rivals=rivals if isinstance(rivals, Unanswered) else tuple(_value(every, name, recommended) for name in named),
        rivals_cross_fitted=past is None,
        rival_rows=int(learnt.rewarded.sum()),
    )
    return own, values


def _value(evaluation: Evaluation, name: str, recommended: str) -> RivalValue:
    return RivalValue(
        name,
        evaluation.estimate(name),
        evaluation.difference(name),
        evaluation.difference(recommended, name),
        evaluation.differently(recommended, name),
    )


def _rivals(log: Log, past: Log | None, seed: int) -> dict[str, Callable[[Any], list[ActionLabel]]]:
    if past is not None:
        return dict(usual_policies(past, seed, USUAL))
    known = int(log.rewarded.sum())
    if known < FEWEST_TO_LEARN:
        raise InputProblem(
            f"{known} rows with an action and a reward are too few to learn rivals from; give the log that the model "
            "was fitted on (--learnt-from FILE)."
        )
    return _cross_fitted(log, seed)


def _cross_fitted(log: Log, seed: int) -> dict[str, Callable[[Any], list[ActionLabel]]]:
    """Every row decided by rivals that learnt from the other folds."""
    used = log.take(np.flatnonzero(log.followed))  # the rows that will be evaluated, in their order
    rows = np.arange(len(used)) if used.groups is None else used.groups
    fold = deal_groups(rows, FOLDS, np.random.default_rng([seed, 12]))
    decided: dict[str, np.ndarray] = {name: np.empty(len(used), dtype=object) for name in USUAL}
    for held in np.unique(fold):
        learnt = usual_policies(used.take(fold != held), seed, USUAL)
        cases = used.take(fold == held).cases()
        for name, rival in learnt.items():
            decided[name][fold == held] = rival(cases)
    return {name: _always(labels.tolist()) for name, labels in decided.items()}


def _always(labels: list[ActionLabel]) -> Callable[[Any], list[ActionLabel]]:
    """What was decided already for these rows, whatever frame they come in."""
    return lambda frame: labels
