"""An evaluation as plain data: what `to_dict` gives, `--json` writes, and every table and sentence is made from."""

from collections.abc import Mapping, Sequence
from typing import Any

from prudent.evaluation.bottom_line import BottomLine
from prudent.evaluation.decisions import LOGGED
from prudent.evaluation.diagnosis.diagnosis import Diagnosis
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.show import plain_types
from prudent.table import count_groups


def evaluation_facts(
    estimates: PolicyEstimates, diagnoses: Mapping[str, Diagnosis], conclusion: BottomLine | None, notes: Sequence[str]
) -> dict[str, Any]:
    """Plain types for JSON; a number that does not exist is None, an estimate has value, error, low and high.

    rows, reward, minimize, actions: the decisions that were used, and the labels of their actions.
    bottom_line: which policy to use, or why none, see `prudent.evaluation.bottom_line.BottomLine`, with its sentence;
        None where no policy was given.
    best_constant: the name of the constant action that policies are compared with.
    rounding: differences up to this are rounding errors.
    groups: None, or the column that says which rows belong together and how many groups there are.
    censoring: None, or how many outcomes are censored, how many were seen, and the largest weight and the effective
        sample size of these.
    notes: warnings, and what happened to rows of the log.
    propensity: source ("as logged" or "estimated"), column and overlap, see `prudent.propensity.overlap.Overlap`.
    prices: where the expected rewards of the direct and doubly robust estimators are from.
    confidence, interval, below, worst_share, headline: the settings; `headline` is the estimator shown first.
    policies: those asked about, then the decisions as logged, then every constant action. Each has name, kind
        ("asked", "logged" or "constant"), alike (all that decide every row as it does, itself included), the headline
        estimator's value, over_constant (the gain over the best constant action), gain, tail_share (None without
        `below`) and worst_mean, estimates (a list: estimator, its value, error, low and high, and its gain, tail_share
        and worst_mean), at_worst, effective_sample_size, effective_groups (None without groups), referred (rows left to
        a person) and, where asked about, diagnosis.
    differences: policy minus other for all pairs of those asked about, paired, by the headline estimator, with the
        share of the rows that they decide differently.
    """
    settings, log = estimates.settings, estimates.log
    logged = estimates.propensity.probabilities is None
    return {
        "rows": len(log),
        "reward": log.roles.reward,
        "minimize": log.minimize,
        "actions": list(log.action_labels),
        "bottom_line": None if conclusion is None else conclusion.to_dict(),
        "best_constant": estimates.best_constant,
        "rounding": estimates.rounding,
        "groups": None if log.groups is None else {"column": log.roles.group, "count": count_groups(log.groups)},
        "censoring": None if estimates.censoring is None else estimates.censoring.to_dict(),
        "notes": list(notes),
        "propensity": {
            "source": "as logged" if logged else "estimated",
            "column": log.roles.propensity if logged else None,
            "overlap": estimates.propensity.overlap().to_dict(),
        },
        "prices": estimates.prices.source,
        "confidence": settings.confidence,
        "interval": type(settings.interval).__name__,
        "below": settings.below,
        "worst_share": settings.worst_share,
        "headline": estimates.headline.name,
        "policies": [_policy_facts(estimates, name, diagnoses.get(name)) for name in estimates.names],
        "differences": [
            {
                "policy": policy,
                "other": other,
                **plain_types(difference),
                "differently": estimates.differently(policy, other),
            }
            for (policy, other), difference in estimates.differences().items()
        ],
    }


def _policy_facts(estimates: PolicyEstimates, name: str, diagnosis: Diagnosis | None) -> dict[str, Any]:
    kind = "asked" if name in estimates.asked else "logged" if name == LOGGED else "constant"
    constant = estimates.best_constant
    return {
        "name": name,
        "kind": kind,
        "alike": list(estimates.alike(name)),
        "value": plain_types(estimates.estimates(name)[estimates.headline.name, "value"]),
        "over_constant": None if constant is None else plain_types(estimates.difference(name, constant)),
        **_other_quantities(estimates, name, estimates.headline.name),
        "estimates": [
            {
                "estimator": by.name,
                **plain_types(estimates.estimates(name)[by.name, "value"]),
                **_other_quantities(estimates, name, by.name),
            }
            for by in estimates.settings.estimators
        ],
        "at_worst": estimates.at_worst(name),
        "effective_sample_size": estimates.effective_sample_size(name),
        "effective_groups": estimates.effective_groups(name),
        "referred": estimates.referred(name),
        "diagnosis": None if diagnosis is None else diagnosis.to_dict(),
    }


def _other_quantities(estimates: PolicyEstimates, policy: str, estimator: str) -> dict[str, Any]:
    every = estimates.estimates(policy)
    return {name: plain_types(every.get((estimator, name))) for name in ("gain", "tail_share", "worst_mean")}
