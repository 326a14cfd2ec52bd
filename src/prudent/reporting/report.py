"""A report: everything that there is to say of a policy on a log that its model has not seen, collected once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from prudent.decide import MaximumExpectedReward, Policy, Search
from prudent.errors import InputProblem, check, instance
from prudent.evaluation import columns_that_matter
from prudent.models import Fitted
from prudent.promise import frontier
from prudent.reporting.answers import Unanswered, answered
from prudent.reporting.changed_decisions import ChangedDecisions, changed_decisions
from prudent.reporting.chosen_cases import ExplainedCase, explained_cases
from prudent.reporting.filled_gaps import FilledGaps, filled_gaps
from prudent.reporting.limits import Limits, limits
from prudent.reporting.log_contents import LogContents, log_contents
from prudent.reporting.model_facts import ModelFacts, Origin, model_facts
from prudent.reporting.policy_values import PolicyValues, judged
from prudent.reporting.predicted_rewards import PredictedRewards, predicted_rewards
from prudent.reporting.report_settings import ReportSettings
from prudent.reporting.worth_measuring import WorthMeasuring, worth_measuring
from prudent.show import model_card, plain_types, report_page
from prudent.table import Log

WORST = 0.1
"""The share of logged outcomes that count as bad where no threshold is given."""


@dataclass(frozen=True)
class Report:
    """Every part of a report, in the order of the page; a part that cannot be made is a sentence.

    frontier, columns: as `Frontier.to_dict` and `ColumnsThatMatter.to_dict` give them. left_out: rows of the log beyond
    those that were evaluated.
    """

    title: str
    intended_use: str | None
    written: str
    below_given: bool
    left_out: int
    log: LogContents
    gaps: FilledGaps | Unanswered
    rewards: PredictedRewards | Unanswered
    values: PolicyValues
    frontier: dict[str, Any] | Unanswered
    changed: ChangedDecisions | Unanswered
    columns: dict[str, Any] | Unanswered
    cases: tuple[ExplainedCase, ...]
    measuring: WorthMeasuring | Unanswered
    limits: Limits
    model: ModelFacts

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; a part that could not be made is {"sentence": why}."""
        return plain_types(self)

    def html(self) -> str:
        """One self-contained page, without scripts."""
        return report_page(self.to_dict())

    def card(self) -> str:
        """A model card in Markdown, with the usual YAML head."""
        return model_card(self.to_dict())


_RULES = {
    "model": instance(Fitted, "a fitted model, see CausalPVAE.fit"),
    "log": instance(Log, "a Log, read with fitted.read(frame)"),
    "settings": instance(ReportSettings, "a ReportSettings"),
}


def make_report(
    model: Fitted,
    log: Log,
    policies: Mapping[str, Policy] | None = None,
    *,
    recommended: str | None = None,
    past: Log | None = None,
    origin: Origin = Origin(),
    settings: ReportSettings = ReportSettings(),
) -> Report:
    """Everything about the policies of a model on a log that it was not fitted on.

    log: held-out decisions, read with `model.read(frame)`; where most rows are those of the fit it is refused.
    policies: by name, all of this model; by default the one of the highest expected reward. recommended: the name of
    the one that the report is about, by default the first. past: the log that the model was fitted on, for rivals to
    learn from; rows that were held out of the fit are left out.
    """
    check("make_report", _RULES, locals())
    policies = dict(policies or {"expected": model.policy(MaximumExpectedReward())})
    recommended = recommended or next(iter(policies))
    if recommended not in policies:
        raise InputProblem(f"There is no policy '{recommended}' to report on; there are {', '.join(policies)}.")
    policy, seed, whole = policies[recommended], settings.seed, log
    past = None if past is None else _of_the_fit(model, past)
    log, labels = _at_most(log, settings)
    below = _threshold(log) if settings.below is None else settings.below
    evaluation, values = judged(
        *(policies, log, past),
        **{"recommended": recommended, "below": below, "confidence": settings.confidence, "seed": seed},
    )
    advice = policy.recommend(log.cases())
    matter = partial(columns_that_matter, policy, log, most_rows=settings.hidden_rows, seed=seed)
    plain = replace(policy, search=Search(steps=0))
    return Report(
        title=settings.title,
        intended_use=settings.intended_use,
        written=datetime.now(UTC).date().isoformat(),
        below_given=settings.below is not None,
        left_out=len(whole) - len(log),
        log=log_contents(whole, evaluation),
        gaps=answered(partial(filled_gaps, plain, log, settings.completed_rows, seed)),
        rewards=answered(partial(predicted_rewards, advice, log)),
        values=values,
        frontier=answered(lambda: _frontier(model, log, policy, below)),
        changed=answered(partial(changed_decisions, advice, log)),
        columns=answered(lambda: matter(confidence=settings.confidence).to_dict()),
        cases=explained_cases(advice, log, settings.cases, labels),
        measuring=answered(partial(worth_measuring, plain, log, settings.measured_rows, seed)),
        limits=limits(model, whole, past, evaluation, recommended, seed),
        model=model_facts(model, policy, origin),
    )


def _frontier(model: Fitted, log: Log, policy: Policy, below: float) -> dict[str, Any]:
    """With the policy's own options, so that its strategy is among the points."""
    options = {"doubt": policy.doubt, "noise": policy.noise, "costs": policy.costs, "support": policy.support}
    return frontier(model, log, below=below, completions=policy.completions, seed=policy.seed, **options).to_dict()


def _of_the_fit(model: Fitted, past: Log) -> Log:
    """The rows that the model was fitted on: others may be those that policies are judged by."""
    past = past.take(past.rewarded)
    fitted = np.isin(past.fingerprints(), model.fingerprints)
    if not fitted.any():
        raise InputProblem(
            "The log given as the one of the fit (--learnt-from) has no row that the model was fitted on; name that "
            "log, or leave it out."
        )
    return past.take(fitted)


def _at_most(log: Log, settings: ReportSettings) -> tuple[Log, list[str | None] | None]:
    """So many rows, at random, as are evaluated, with their labels."""
    rows = np.arange(len(log))
    if len(log) > settings.evaluated_rows:
        rows = np.sort(np.random.default_rng([settings.seed, 14]).permutation(len(log))[: settings.evaluated_rows])
        log = log.take(rows)
    labels = settings.labels
    return log, None if labels is None else [labels[row] for row in rows.tolist()]


def _threshold(log: Log) -> float:
    """The outcome that a tenth of the logged ones are worse than, in the user's sign and few digits."""
    rewards = log.rewards[log.rewarded]
    if not len(rewards):
        raise InputProblem("The log has no row with both an action and a reward, so nothing can be reported of it.")
    return float(f"{log.sign * float(np.quantile(rewards, WORST)):.3g}")
