"""Evaluate policies on logged decisions: the same rows, weights and prices for all, so that they can be compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prudent.cells import label_text
from prudent.errors import InputProblem, is_number, is_whole, require
from prudent.evaluation.cross_fitting import CrossFitted, CrossFittedPolicy, rows_seen
from prudent.evaluation.decisions import LOGGED, Decider, as_logged, constant, decisions, read_by
from prudent.evaluation.estimators import EVERY_ESTIMATOR, Estimator
from prudent.evaluation.evaluation import Evaluation, Judging
from prudent.evaluation.intervals import Interval, Student
from prudent.evaluation.prices import BoostedPrices, Prices, cross_fitted_prices, own_prices
from prudent.log import Log
from prudent.models.fitted import Fitted
from prudent.policy import Policy
from prudent.propensity import Boosted, ImputedLogistic, Known

SEEN_TO_REFUSE, SEEN_TO_WARN = 0.9, 0.01
DISTINCT_ROWS = 20

Propensity = Known | Boosted | ImputedLogistic


def evaluate(
    policies: Decider | Mapping[str, Decider],
    log: Log,
    *,
    propensity: Propensity | None = None,
    prices: BoostedPrices | Fitted | CrossFitted | np.ndarray | None = None,
    estimators: Sequence[Estimator] = EVERY_ESTIMATOR,
    interval: Interval = Student(),
    level: float = 0.95,
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
        `ImputedLogistic()`.
    prices: what the direct and doubly robust estimators expect of every action: a model, cross-fitted models,
        `BoostedPrices()` learnt from these rows, or an array [row, action] for all rows of the log. By default the
        policies' model where there is just one and it has not seen these rows, and else `BoostedPrices()`.
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
    _check(log, estimators, interval, level, below, worst_share, seed)
    models = _models(named)
    for model in models[:1]:
        log = read_by(log, model)
    all_rows, used = len(log), log.rewarded
    if not used.any():
        raise InputProblem("The log has no row with both an action and a reward, so nothing can be evaluated.")
    log = log.take(used)
    notes = _left_out(all_rows, len(log))
    seen = [_share_seen(model, log) for model in models]
    notes += _seen_notes(seen, len(log))
    threshold = None if below is None else float(-below if log.minimize else below)
    fitted = _propensity_of(propensity, log).fit(log, seed)
    priced = _prices(prices, named, models, max(seen, default=0.0) > SEEN_TO_WARN, log, used, threshold, seed)
    chosen = {**decisions(named, log), LOGGED: as_logged(log)}
    for index, label in enumerate(log.action_labels):
        chosen.setdefault(f"always {label_text(label)}", constant(log, index))
    judging = Judging(tuple(estimators), interval, float(level), below, float(worst_share))
    return Evaluation(log, tuple(named), chosen, fitted, priced, judging, tuple(notes))


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
    level: float,
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
    require(is_number(level) and 0 < level < 1, "evaluate", "level", "be between 0 and 1", level)
    require(below is None or is_number(below), "evaluate", "below", "be a number, a reward", below)
    inside = is_number(worst_share) and 0 < worst_share < 1
    require(inside, "evaluate", "worst_share", "be between 0 and 1", worst_share)
    require(is_whole(seed), "evaluate", "seed", "be a whole number of at least 0", seed)


def _models(named: Mapping[str, Decider]) -> list[Fitted]:
    return list({id(one.fitted): one.fitted for one in named.values() if isinstance(one, Policy)}.values())


def _left_out(all_rows: int, used: int) -> list[str]:
    if used == all_rows:
        return []
    return [f"{all_rows - used} of {all_rows} rows have no action or no reward, and are left out."]


def _share_seen(model: Fitted, log: Log) -> float:
    """The share of the log's rows that the model was fitted on, told by rows that are one of a kind.

    Where records are few whole numbers, different people look alike; a row that occurs twice on either side says
    nothing, and where hardly any row is one of a kind nothing can be told.
    """
    own = read_by(log, model)
    _, back, counts = np.unique(own.fingerprints(), return_inverse=True, return_counts=True)
    prints, times = np.unique(model.fingerprints, return_counts=True)
    repeated = np.isin(own.fingerprints(), prints[times > 1])
    distinct = (counts[back] == 1) & ~repeated
    if distinct.sum() < min(DISTINCT_ROWS, len(log)):
        return 0.0
    return float(rows_seen(model, own)[distinct].mean())


def _seen_notes(seen: Sequence[float], rows: int) -> list[str]:
    most = max(seen, default=0.0)
    if most > SEEN_TO_REFUSE:
        raise InputProblem(
            f"The model was fitted on these very rows ({most:.0%} of the {rows}), so they would only confirm what it "
            "learnt from them. Evaluate on decisions held out (log.split before fitting), or fit it without each part "
            "of the log in turn: cross_fit(settings, log)."
        )
    if most > SEEN_TO_WARN:
        return [
            f"About {most:.0%} of the rows look exactly like rows that the model was fitted on; its policies are "
            "flattered there. Prices are cross-fitted on these rows instead of taken from the model."
        ]
    return []


def _propensity_of(propensity: Propensity | None, log: Log) -> Propensity:
    if propensity is None:
        return ImputedLogistic() if log.propensities is None else Known()
    known = isinstance(propensity, Known | Boosted | ImputedLogistic)
    require(known, "evaluate", "propensity", "be Known(), Boosted() or ImputedLogistic()", propensity)
    return propensity


def _prices(
    prices: Any,
    named: Mapping[str, Decider],
    models: Sequence[Fitted],
    seen: bool,
    log: Log,
    used: np.ndarray,
    below: float | None,
    seed: int,
) -> Prices:
    if prices is None:
        crossed = [one.cross_fitted for one in named.values() if isinstance(one, CrossFittedPolicy)]
        candidates = list({id(one): one for one in [*models, *crossed]}.values())
        prices = candidates[0] if len(candidates) == 1 and not seen else BoostedPrices()
    if isinstance(prices, BoostedPrices):
        return prices.fit(log, below, seed)
    if isinstance(prices, CrossFitted):
        return cross_fitted_prices(prices, log, below)
    if isinstance(prices, Fitted):
        _seen_notes([_share_seen(prices, log)], len(log))
        return own_prices(prices, log, below)
    given = np.asarray(prices, np.float64)
    shape = (len(used), len(log.action_labels))
    must = f"be a model, BoostedPrices() or finite numbers of shape {shape}"
    require(given.shape == shape and bool(np.isfinite(given).all()), "evaluate", "prices", must, given.shape)
    return Prices(-given[used] if log.minimize else given[used], None, "given")
