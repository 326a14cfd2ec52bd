"""The words, tables and plain facts of an evaluation: the same on the command line, in `print` and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.evaluation.decisions import LOGGED, referred_rows
from prudent.propensity import effective_sample_size
from prudent.show import Figures, TextTable, one_line, plain_types, thousands

if TYPE_CHECKING:
    from prudent.evaluation.evaluation import Evaluation
    from prudent.evaluation.intervals import Estimate

PAIRS_SHOWN = 10


# --- who is shown, and how numbers are written ---


def constants(evaluation: Evaluation) -> list[str]:
    """The policies that always take the same action, the best first."""
    others = [name for name in evaluation.names if name != LOGGED and name not in evaluation.asked]
    return sorted(others, key=lambda name: _badness(evaluation, name))


def shown(evaluation: Evaluation) -> list[str]:
    """The policies that were asked about, the decisions as logged and the best of the constant actions."""
    return [*evaluation.asked, LOGGED, *constants(evaluation)[:1]]


def figures(evaluation: Evaluation) -> Callable[[float], str]:
    """Writes rewards with as many decimals as the errors leave a meaning, and with a minus sign that can be typed."""
    write = _figures(evaluation)
    return lambda number: write(number).replace("−", "-")


def _figures(evaluation: Evaluation) -> Figures:
    found = [_headline(evaluation, name, "value") for name in shown(evaluation)]
    errors = [one.error for one in found if math.isfinite(one.error) and one.error > 0]
    numbers = [abs(one.value) for one in found if math.isfinite(one.value)]
    if not errors:
        return Figures.of(numbers)
    largest = max([*numbers, *errors])
    exponent = thousands(largest) if largest >= 1e7 or largest < 1e-4 else 0
    return Figures(min(max(math.ceil(exponent - math.log10(np.median(errors) / 2)), 0), 8), exponent)


def referred(evaluation: Evaluation, policy: str) -> int:
    """Rows that the policy leaves to a person."""
    return int(referred_rows(evaluation.probabilities[policy]).sum())


def _badness(evaluation: Evaluation, policy: str) -> float:
    value = _headline(evaluation, policy, "value").value
    return math.inf if math.isnan(value) else value * (1 if evaluation.log.minimize else -1)


def _headline(evaluation: Evaluation, policy: str, what: str) -> Estimate:
    return evaluation.estimates(policy)[evaluation.headline.name, what]


# --- tables ---


def summary_table(evaluation: Evaluation) -> TextTable:
    """One row per policy, by the headline estimator."""
    figure, judging = figures(evaluation), evaluation.judging
    heads = ["policy", f"value, {_percent(judging.confidence)} interval", "more than as logged"]
    heads += [] if judging.below is None else [beyond(evaluation)]
    heads += [f"worst {_percent(judging.worst_share)}", "worth\nrows"]
    return TextTable(tuple(heads), tuple(_summary_row(evaluation, name, figure) for name in shown(evaluation)))


def _summary_row(evaluation: Evaluation, name: str, figure: Callable[[float], str]) -> tuple[str, ...]:
    cells = [one_line(name), _with_interval(_headline(evaluation, name, "value"), figure)]
    cells += ["" if name == LOGGED else _with_interval(_headline(evaluation, name, "gain"), figure)]
    if evaluation.judging.below is not None:
        cells += [_with_interval(_headline(evaluation, name, "tail_share"), _share)]
    cells += [figure(_headline(evaluation, name, "worst_mean").value)]
    return (*cells, f"{effective_sample_size(evaluation.evidence(name).weights):,.0f}")


def estimator_table(evaluation: Evaluation) -> TextTable:
    """Policies by estimators, each value with its standard error."""
    figure, names = figures(evaluation), [one.name for one in evaluation.judging.estimators]

    def cell(policy: str, estimator: str) -> str:
        found = evaluation.estimates(policy)[estimator, "value"]
        return f"{figure(found.value)}±{figure(found.error)}"

    heads = ("policy", *(name.replace("-", "-\n").replace(" ", "\n") for name in names))
    return TextTable(heads, tuple((one_line(one), *(cell(one, name) for name in names)) for one in shown(evaluation)))


def difference_table(evaluation: Evaluation) -> TextTable:
    """Pairs of policies that were asked about; where these are many, the best one against the others."""
    figure = figures(evaluation)
    rows = [
        (one_line(one), one_line(other), _with_interval(found, figure), _told_apart(evaluation, found))
        for one, other, found in _pairs(evaluation)
    ]
    return TextTable(("policy", "minus", "difference", "so it is"), rows, words=("policy", "minus", "so it is"))


def _pairs(evaluation: Evaluation) -> list[tuple[str, str, Estimate]]:
    if len(evaluation.asked) * (len(evaluation.asked) - 1) <= 2 * PAIRS_SHOWN:
        return [(*pair, found) for pair, found in evaluation.differences().items()]
    best, *others = sorted(evaluation.asked, key=lambda name: _badness(evaluation, name))
    return [(best, other, evaluation.difference(best, other)) for other in others]


def _told_apart(evaluation: Evaluation, difference: Estimate) -> str:
    if not (difference.low > 0 or difference.high < 0):
        return "not told apart"
    return "better" if (difference.value > 0) != evaluation.log.minimize else "worse"


def _with_interval(estimate: Estimate, write: Callable[[float], str]) -> str:
    if math.isnan(estimate.low):
        return write(estimate.value)
    return f"{write(estimate.value)} [{write(estimate.low)}, {write(estimate.high)}]"


def _share(part: float) -> str:
    return "–" if math.isnan(part) else f"{part:.1%}"


def _percent(part: float) -> str:
    return f"{100 * part:.4g}%"


# --- sentences ---


def beyond(evaluation: Evaluation) -> str:
    """The tail in two words."""
    return f"{'above' if evaluation.log.minimize else 'below'} {evaluation.judging.below:g}"


def heading(evaluation: Evaluation) -> str:
    log = evaluation.log
    return (
        f"{len(log):,} logged decisions, {len(log.action_labels)} actions. How likely the logged actions were: "
        f"{propensity_source(evaluation)}. Expected rewards of all actions: {evaluation.prices.source}."
    )


def propensity_source(evaluation: Evaluation) -> str:
    if evaluation.propensity.probabilities is None:
        column = evaluation.log.roles.propensity
        return "as logged" if column is None else f"as logged in '{column}'"
    return "estimated from these rows"


def title(evaluation: Evaluation) -> str:
    better = "lower" if evaluation.log.minimize else "higher"
    return f"Mean '{evaluation.log.roles.reward}' ({better} is better), by {evaluation.headline.name}"


def legend(evaluation: Evaluation) -> str:
    """What the columns of the summary mean."""
    judging = evaluation.judging
    tail = "" if judging.below is None else f" {beyond(evaluation)}: the share of such outcomes."
    return (
        f"more than as logged: the same rows, decided by the policy instead of as they were.{tail} "
        f"worst {_percent(judging.worst_share)}: the mean of the worst {_percent(judging.worst_share)} of outcomes. "
        "worth rows: as many equally weighted rows as those that agree with the policy are worth."
    )


def estimator_legend() -> str:
    """What the families of estimators rest on."""
    return (
        "direct trusts the expected rewards alone; ips trusts the outcomes of decisions that agree with the policy, "
        "weighted; dr (doubly robust) corrects the one by the other. Where they are far apart, believe none of them."
    )


def constant_sentences(evaluation: Evaluation) -> list[str]:
    """How the constant actions that are not shown fare."""
    figure, others = figures(evaluation), constants(evaluation)[1:]
    told = [f"'{one_line(name)}' ({figure(_headline(evaluation, name, 'value').value)})" for name in others]
    if not told:
        return []
    if len(told) == 1:
        return [f"The other constant action: {told[0]}."]
    return [f"The other {len(told)} constant actions: from {told[0]} to {told[-1]}."]


def referred_sentences(evaluation: Evaluation) -> list[str]:
    rows = len(evaluation.log)
    counts = {name: referred(evaluation, name) for name in evaluation.asked}
    return [
        f"'{one_line(name)}' refers {count:,} of {rows:,} decisions to a person; they count as decided as logged."
        for name, count in counts.items()
        if count
    ]


def verdicts(evaluation: Evaluation) -> list[str]:
    """Whether the log can answer, for each policy that was asked about."""
    return [f"{one_line(name)}: {evaluation.diagnose(name).verdict}" for name in evaluation.asked]


def warnings(evaluation: Evaluation) -> list[str]:
    """What to look at before the numbers are believed, each once: with whom it concerns, where that is not all."""
    concerned: dict[str, list[str]] = {}
    for name in evaluation.asked:
        for warning in evaluation.diagnose(name).warnings:
            concerned.setdefault(warning, []).append(one_line(name))
    several = len(evaluation.asked) > 1
    return [
        warning if several and len(names) == len(evaluation.asked) else f"{', '.join(names)}: {warning}"
        for warning, names in concerned.items()
    ]


def text(evaluation: Evaluation) -> str:
    table = ["", summary_table(evaluation).text()]
    sentences = [
        *(legend(evaluation), *constant_sentences(evaluation), *referred_sentences(evaluation)),
        *(*verdicts(evaluation), *warnings(evaluation), *evaluation.notes),
    ]
    return "\n".join([heading(evaluation), f"{title(evaluation)}:", *table, "", *sentences])


# --- plain facts ---


def facts(evaluation: Evaluation) -> dict[str, Any]:
    """Plain types for JSON; a number that does not exist is None, an estimate has value, error, low and high.

    rows, reward, minimize, actions: the decisions that were used, and the labels of their actions.
    notes: sentences on what was noticed.
    propensity: source ("as logged" or "estimated"), column and overlap, see `prudent.propensity.overlap.Overlap`.
    prices: where the expected rewards of the direct and doubly robust estimators are from.
    confidence, interval, below, worst_share, headline: the settings; `headline` is the estimator shown first.
    policies: those asked about, then the decisions as logged, then every constant action. Each has name, kind
        ("asked", "logged" or "constant"), the headline estimator's value, gain, tail_share (None without `below`) and
        worst_mean, estimates (a list: estimator, its value, error, low and high, and its own gain, tail_share and
        worst_mean), at_worst, effective_sample_size, referred (rows left to a person) and, where asked about,
        diagnosis.
    differences: policy minus other for all pairs of those asked about, paired, by the headline estimator.
    """
    judging, log = evaluation.judging, evaluation.log
    logged = evaluation.propensity.probabilities is None
    return {
        "rows": len(log),
        "reward": log.roles.reward,
        "minimize": log.minimize,
        "actions": list(log.action_labels),
        "notes": list(evaluation.notes),
        "propensity": {
            "source": "as logged" if logged else "estimated",
            "column": log.roles.propensity if logged else None,
            "overlap": evaluation.propensity.overlap().to_dict(),
        },
        "prices": evaluation.prices.source,
        "confidence": judging.confidence,
        "interval": type(judging.interval).__name__,
        "below": judging.below,
        "worst_share": judging.worst_share,
        "headline": evaluation.headline.name,
        "policies": [_policy_facts(evaluation, name) for name in evaluation.names],
        "differences": [
            {"policy": one, "other": other, **plain_types(found)}
            for (one, other), found in evaluation.differences().items()
        ],
    }


def _policy_facts(evaluation: Evaluation, name: str) -> dict[str, Any]:
    asked = name in evaluation.asked
    return {
        "name": name,
        "kind": "asked" if asked else "logged" if name == LOGGED else "constant",
        "value": plain_types(_headline(evaluation, name, "value")),
        **_side_facts(evaluation, name, evaluation.headline.name),
        "estimates": [
            {
                "estimator": one.name,
                **plain_types(evaluation.estimates(name)[one.name, "value"]),
                **_side_facts(evaluation, name, one.name),
            }
            for one in evaluation.judging.estimators
        ],
        "at_worst": evaluation.at_worst(name),
        "effective_sample_size": effective_sample_size(evaluation.evidence(name).weights),
        "referred": 0 if name == LOGGED else referred(evaluation, name),
        "diagnosis": evaluation.diagnose(name).to_dict() if asked else None,
    }


def _side_facts(evaluation: Evaluation, policy: str, estimator: str) -> dict[str, Any]:
    found = evaluation.estimates(policy)
    sides = {what: found.get((estimator, what)) for what in ("gain", "tail_share", "worst_mean")}
    return {what: None if one is None else plain_types(one) for what, one in sides.items()}
