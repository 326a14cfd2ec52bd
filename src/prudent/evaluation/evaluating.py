"""Evaluate policies on logged decisions: the same rows, weights and prices for all, so that they can be compared."""

from collections.abc import Mapping, Sequence

from prudent.decide import FittedModel, Policy
from prudent.errors import InputProblem, check, is_number, is_whole, number, require
from prudent.evaluation.cross_fitting import CrossFitted, CrossFittedPolicy
from prudent.evaluation.decisions import LOGGED, Decider, as_logged, constant, decisions
from prudent.evaluation.estimators import EVERY_ESTIMATOR, Estimator
from prudent.evaluation.evaluation import Evaluation, Judging
from prudent.evaluation.intervals import Interval, Student
from prudent.evaluation.price_sources import PriceSource, prices_from
from prudent.evaluation.prices import LearntPrices
from prudent.evaluation.usable_rows import require_unseen, rows_left_out
from prudent.models import align_log
from prudent.propensity import Propensity, propensity_or_default
from prudent.table import Log, label_text

ENOUGH_TO_LEARN = 200  # rows; fewer say nothing that a model of a larger log does not know better


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
    """What each policy would have earned on decisions it was not fitted on, and whether the log can tell.

    policies: by name. A policy of a fitted or cross-fitted model, or any function from a frame of cases to labels
        (none: refer), probabilities or `Advice`. The decisions as logged and every constant action always join. A row
        that a policy refers is decided as it was logged.
    log: held-out decisions, read with `fitted.read(frame)` or from `Log.split`. Rows a model was fitted on are noticed.
    propensity: how likely the logged actions were. By default the logged probabilities, where the log has them, else
        `Stacked()`.
    prices: what the direct and doubly robust estimators expect of every action: a model, cross-fitted models,
        `LearntPrices()` from these rows, or an array [row, action] for all rows of the log. By default the policies'
        model, where there is just one and it has not seen these rows, together with prices learnt from these rows.
    below: outcomes below this reward are the tail (with a minimised reward: above it).
    worst_share: the share of worst outcomes whose mean is reported.

    >>> from prudent import Log
    >>> table = {"sick": [0, 1] * 40, "dose": [0, 0, 1, 1] * 20, "outcome": [1, 0, 0, 1] * 20}
    >>> log = Log.from_frame(table, action="dose", reward="outcome")
    >>> found = evaluate({"treat the sick": lambda frame: frame["sick"]}, log)
    >>> print(found.estimate("treat the sick"))
    1.000 [1.000, 1.000]
    """
    named = _named(policies)
    _check(log, estimators, interval, confidence, below, worst_share, seed)
    models = _models(named)
    for model in models[:1]:
        log = align_log(log, model)
    used, notes = log.rewarded, rows_left_out(log)
    if not used.any():
        raise InputProblem("The log has no row with both an action and a reward, so nothing can be evaluated.")
    log = log.take(used)
    instead = " Prices are cross-fitted on these rows instead of taken from the model." if prices is None else ""
    leaks = require_unseen(models, log, f"its policies look better there than they are.{instead}")
    threshold = None if below is None else float(-below if log.minimize else below)
    fitted = propensity_or_default(propensity, log, "evaluate").fit(log, seed)
    source = _only_model(named, models) if prices is None and not leaks else prices
    priced, price_warnings = prices_from(
        LearntPrices() if source is None else source, log, used, threshold, seed, "evaluate"
    )
    if prices is None and source is not None and len(log) >= ENOUGH_TO_LEARN:
        priced = LearntPrices().fit(log, threshold, seed, beside=priced)
    chosen = {**decisions(named, log), LOGGED: as_logged(log)}
    for index, label in enumerate(log.action_labels):
        name = f"always {label_text(label)}"
        require(
            name not in named, "evaluate", "policies", "not be named like a constant action, which joins anyway", name
        )
        chosen[name] = constant(log, index)
    judging = Judging(tuple(estimators), interval, float(confidence), below, float(worst_share))
    return Evaluation(log, tuple(named), chosen, fitted, priced, judging, (*notes, *leaks, *price_warnings))


def _named(policies: Decider | Mapping[str, Decider]) -> dict[str, Decider]:
    named = dict(policies) if isinstance(policies, Mapping) else {"policy": policies}
    for name in named:
        text = isinstance(name, str) and bool(name.strip())
        require(text, "evaluate", "policies", "be named by texts", name)
        require(name != LOGGED, "evaluate", "policies", f"not be named '{LOGGED}', which is the log's own", name)
    return named


def _check(
    log: Log,
    estimators: Sequence[Estimator],
    interval: Interval,
    confidence: float,
    below: float | None,
    worst_share: float,
    seed: int,
) -> None:
    require(isinstance(log, Log), "evaluate", "log", "be a Log, read with fitted.read(frame)", type(log).__name__)
    known = len(estimators) > 0 and all(isinstance(one, Estimator) for one in estimators)
    require(known, "evaluate", "estimators", "be a list of estimators, e.g. [DoublyRobust()]", estimators)
    names = [one.name for one in estimators]
    require(len(set(names)) == len(names), "evaluate", "estimators", "each be of another kind", names)
    require(isinstance(interval, Interval), "evaluate", "interval", "be an interval, e.g. Bootstrap()", interval)
    check("evaluate", {"confidence": number(0, 1, "()")}, locals())
    require(below is None or is_number(below), "evaluate", "below", "be a number, a reward", below)
    inside = is_number(worst_share) and 0 < worst_share < 1
    require(inside, "evaluate", "worst_share", "be between 0 and 1", worst_share)
    require(is_whole(seed), "evaluate", "seed", "be a whole number of at least 0", seed)


def _models(named: Mapping[str, Decider]) -> list[FittedModel]:
    return list({id(one.fitted): one.fitted for one in named.values() if isinstance(one, Policy)}.values())


def _only_model(named: Mapping[str, Decider], models: Sequence[FittedModel]) -> FittedModel | CrossFitted | None:
    """The model behind all policies that have one, where there is just one."""
    crossed = [one.cross_fitted for one in named.values() if isinstance(one, CrossFittedPolicy)]
    candidates = list({id(one): one for one in [*models, *crossed]}.values())
    return candidates[0] if len(candidates) == 1 else None
