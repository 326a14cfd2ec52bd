"""Evaluate policies on logged decisions: the same rows, weights and prices for all, so that they can be compared."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np

from prudent.decide import FittedModel, Policy
from prudent.errors import InputProblem, Rule, check, instance, number, optional, require, whole
from prudent.evaluation.cross_fitting import CrossFitted, CrossFittedPolicy
from prudent.evaluation.decisions import LOGGED, Decider, MaskedPolicy, as_logged, constant, decisions
from prudent.evaluation.estimators import EVERY_ESTIMATOR, Estimator
from prudent.evaluation.evaluation import Evaluation
from prudent.evaluation.intervals import Interval, Student
from prudent.evaluation.policy_estimates import EvaluationSettings
from prudent.evaluation.price_sources import PriceSource, check_priced, prices_from
from prudent.evaluation.prices import LearntPrices, Prices
from prudent.evaluation.usable_rows import few_groups, require_unseen, rows_left_out
from prudent.models import align_log
from prudent.propensity import Censoring, FittedPropensity, Propensity, propensity_or_default
from prudent.table import Log, label_text

ENOUGH_TO_LEARN = 200  # rows; from fewer, nothing is learnt that a model of a larger log does not know better


def _different_estimators(estimators: Sequence[Estimator]) -> bool:
    known = len(estimators) > 0 and all(isinstance(one, Estimator) for one in estimators)
    return known and len({one.name for one in estimators}) == len(estimators)


_RULES = {
    "log": instance(Log, "a Log, read with fitted.read(frame)"),
    "estimators": Rule("be a list of different estimators, e.g. [DoublyRobust()]", _different_estimators),
    "interval": instance(Interval, "an interval, e.g. Bootstrap()"),
    "confidence": number(0, 1, "()"),
    "below": optional(number()),
    "worst_share": number(0, 1, "()"),
    "seed": whole(),
}


def evaluate(
    policies: Decider | Mapping[str, Decider],
    log: Log,
    *,
    propensity: Propensity | None = None,
    prices: PriceSource | None = None,
    estimators: Sequence[Estimator] = EVERY_ESTIMATOR,
    interval: Interval = Student(),
    confidence: float = 0.95,
    below: float | None = None,
    worst_share: float = 0.05,
    seed: int = 0,
) -> Evaluation:
    """What each policy would have earned on decisions it was not fitted on, and whether the log can answer that.

    policies: by name. A policy of a fitted or cross-fitted model, or any function from a frame of cases to labels
        (none: refer), probabilities or `Advice`. The decisions as logged and every constant action are always included.
        A row that a policy refers is decided as it was logged.
    log: held-out decisions, read with `fitted.read(frame)` or from `Log.split`. Rows that a model was fitted on are
        refused; a few of them are a warning, as are other rows of groups that a model was fitted on. Where rows belong
        to groups, intervals are those of groups drawn anew. Where outcomes are censored, every row counts: those whose
        outcome was seen are weighted by how unlikely that was.
    propensity: how likely the logged actions were. By default the logged probabilities if the log has them, otherwise
        `Stacked()`.
    prices: the expected reward of every action, for the direct and doubly robust estimators: a model, cross-fitted
        models, `LearntPrices()` from these rows, or an array [row, action] for all rows of the log. By default the
        policies' model, if there is just one and it has not seen these rows, stacked with prices learnt from these
        rows.
    below: outcomes below this reward are the tail (with a minimised reward: above it).
    worst_share: the share of worst outcomes whose mean is reported (CVaR).

    >>> from prudent import Log
    >>> table = {"sick": [0, 1] * 40, "dose": [0, 0, 1, 1] * 20, "outcome": [1, 0, 0, 1] * 20}
    >>> log = Log.from_frame(table, action="dose", reward="outcome")
    >>> evaluation = evaluate({"treat the sick": lambda frame: frame["sick"]}, log)
    >>> print(evaluation.estimate("treat the sick"))
    1.000 [1.000, 1.000]
    """
    check("evaluate", _RULES, locals())
    named = _named(policies)
    models = _models(named)
    for model in models[:1]:
        log = align_log(log, model)
    used, notes = log.followed, rows_left_out(log)
    if not log.rewarded.any():
        raise InputProblem("The log has no row with both an action and a reward, so nothing can be evaluated.")
    log = log.take(used)
    instead = " Prices are cross-fitted on these rows instead of taken from the model." if prices is None else ""
    leaks = require_unseen(models, log, f"its policies look better there than they are.{instead}")
    threshold = None if below is None else log.sign * below
    learner = propensity_or_default(propensity, log, "evaluate")
    source = prices
    if prices is None and not leaks:
        source = _only_model(named, models)
    model = source if isinstance(source, FittedModel | CrossFitted) else None
    price_warnings = [] if model is None else check_priced(model, log)

    def fit() -> tuple[FittedPropensity, Censoring | None]:
        return learner.fit(log, seed), Censoring.of(log, seed)

    with ThreadPoolExecutor(1) as beside:
        # the learners use one core, and completing and pricing leave some of it idle
        fitting = beside.submit(copy_context().run, fit)
        decided, from_model = decisions(named, log, used, model, threshold)
        fitted, censoring = fitting.result()
    if prices is None:
        priced = _with_learnt(from_model, log, threshold, seed)
    elif from_model is not None:
        priced = from_model
    else:
        priced, price_warnings = prices_from(prices, log, used, threshold, seed, "evaluate")
    chosen = {**decided, LOGGED: as_logged(log), **_constants(named, log)}
    settings = EvaluationSettings(tuple(estimators), interval, float(confidence), below, float(worst_share))
    notes += [*([] if censoring is None else censoring.notes), *few_groups(log), *leaks, *price_warnings]
    return Evaluation(log, tuple(named), chosen, fitted, priced, settings, censoring, tuple(notes))


def _named(policies: Decider | Mapping[str, Decider]) -> dict[str, Decider]:
    named = dict(policies) if isinstance(policies, Mapping) else {"policy": policies}
    for name in named:
        require(isinstance(name, str) and bool(name.strip()), "evaluate", "policies", "be named by texts", name)
        must = f"not be named '{LOGGED}', the name of the logged decisions"
        require(name != LOGGED, "evaluate", "policies", must, name)
    return named


def _models(named: Mapping[str, Decider]) -> list[FittedModel]:
    given = (one.policy if isinstance(one, MaskedPolicy) else one for one in named.values())
    return list({id(one.fitted): one.fitted for one in given if isinstance(one, Policy)}.values())


def _only_model(named: Mapping[str, Decider], models: Sequence[FittedModel]) -> FittedModel | CrossFitted | None:
    """The model behind all policies that have one, if there is just one."""
    crossed = [one.cross_fitted for one in named.values() if isinstance(one, CrossFittedPolicy)]
    candidates = list({id(one): one for one in [*models, *crossed]}.values())
    return candidates[0] if len(candidates) == 1 else None


def _with_learnt(from_model: Prices | None, log: Log, threshold: float | None, seed: int) -> Prices:
    """The model's stacked with learnt ones; the learnt ones alone without a model, the model's alone on few rows."""
    if from_model is not None and len(log) < ENOUGH_TO_LEARN:
        return from_model
    return LearntPrices().fit(log, threshold, seed, beside=from_model)


def _constants(named: Mapping[str, Decider], log: Log) -> dict[str, np.ndarray]:
    constants = {f"always {label_text(label)}": constant(log, index) for index, label in enumerate(log.action_labels)}
    for name in constants:
        must = "not be named like a constant action, which is always included"
        require(name not in named, "evaluate", "policies", must, name)
    return constants
