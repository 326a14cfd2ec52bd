"""From a case of an advice to its explanation."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from prudent.decide.choice import Chooser
from prudent.decide.completions import Completions, PriceTable
from prudent.decide.explanation.changes import changes, measurements
from prudent.decide.explanation.explanation import ActionPrice, Explanation
from prudent.decide.explanation.influences import influences
from prudent.decide.explanation.reasons import Grounds, reason
from prudent.decide.explanation.subject import Subject
from prudent.decide.outcomes import chance_best, outcome_ranges
from prudent.decide.support import closed_words
from prudent.show import Figures, plain_number

RANGE = (0.05, 0.95)
SIGNIFICANT = 7
"""Digits that survive in single precision, in which records are encoded."""


def explain(subject: Subject, label: str | None = None) -> Explanation:
    """All prices of the case, why this action, and what would change it. `label` says whose case it is."""
    chooser, scored = subject.chooser, subject.scored
    fitted, labels = chooser.fitted, chooser.fitted.action_labels
    completions, table = chooser.pricing.detail(subject.values, subject.observed)
    candidates = _candidates(subject)
    best = int(np.argmax(np.where(candidates, scored.scores, -np.inf)))
    index = labels.index(subject.action) if subject.action in labels else best
    inside = np.asarray(chooser.plausible_set.inside(table))
    prices = _prices(subject, completions, table)
    fallback = None if subject.action is None else str(subject.action)
    sentence, rival = reason(_grounds(subject, index, prices), subject.chosen >= 0, fallback)
    measured, measure_next = measurements(subject)
    turning = changes(subject)
    lead, influence = influences(subject, index, rival, measured, turning)
    observed, most_likely, worst = _cells(subject, completions, _worst(chooser, table, inside, index))
    return Explanation(
        row=subject.row,
        label=label,
        action=subject.action,
        about=labels[index],
        status=subject.status,
        flags=subject.flags,
        action_entropy=float(scored.entropy),
        strategy=repr(chooser.strategy),
        reason=sentence,
        runner_up=None if rival is None else labels[rival],
        prices=prices,
        observed=_named(chooser, observed, subject.observed),
        most_likely=_named(chooser, most_likely, ~subject.observed),
        worst_case=_named(chooser, worst, ~subject.observed),
        plausible_share=min(float(np.asarray(table.weights)[inside].sum()), 1.0),
        lead=lead,
        influences=influence,
        changes=turning,
        measurements=measured,
        measure_next=measure_next,
        gain_measure=chooser.strategy.gain_words,
        action_name=fitted.roles.action,
        reward_name=fitted.roles.reward,
        minimize=fitted.sign < 0,
        floor=_floor(chooser),
        origin=float(fitted.reported(0.0)) + 0.0,
    )


def _floor(chooser: Chooser) -> float | None:
    return None if chooser.floor is None else float(chooser.fitted.reported(chooser.floor))


def _candidates(subject: Subject) -> np.ndarray:
    """The actions that the case can get; where there is none, those that it may get, or else all."""
    permitted = subject.permitted
    return next(some for some in (permitted & subject.supported.open, permitted, ~permitted) if some.any())


def _prices(subject: Subject, completions: Completions, table: PriceTable) -> tuple[ActionPrice, ...]:
    chooser, scored, bound = subject.chooser, subject.scored, subject.guaranteed_reward
    reported, weights, prices = chooser.fitted.reported, np.asarray(table.weights), np.asarray(table.prices, np.float64)
    ends = np.sort([reported(quantiles(prices, weights, share)) for share in RANGE], axis=0)
    doubts = None if table.doubt is None else np.asarray(table.doubt, np.float64)
    doubt = None if doubts is None else weights @ doubts
    noise = None if table.noise is None else np.sqrt(weights @ np.asarray(table.noise) ** 2)
    costs = np.asarray(chooser.caution.costs)
    chances = chance_best(np.where(_candidates(subject), prices - costs, -np.inf), weights, doubts)
    single = _single_outcomes(chooser, completions, table)
    ranks = np.argsort(np.argsort(-scored.scores, kind="stable"))
    bound = None if bound is None or np.isnan(bound) else bound
    return tuple(
        ActionPrice(
            action=label,
            expected_reward=float(reported(scored.expected[at])),
            low_reward=float(ends[0, at]),
            high_reward=float(ends[1, at]),
            worst_reward=float(reported(scored.worst[at])),
            chance_best=float(chances[at]),
            rank=int(ranks[at]) + 1,
            doubt=None if doubt is None else float(doubt[at]),
            noise=None if noise is None else float(noise[at]),
            cost=float(costs[at]),
            allowed=bool(subject.permitted[at]),
            open=bool(subject.supported.open[at]),
            propensity=plain_number(subject.supported.propensity[at]),
            guaranteed_reward=bound if label == subject.action else None,
            outcome_low=None if single is None else float(single[0, at]),
            outcome_high=None if single is None else float(single[1, at]),
        )
        for at, label in enumerate(chooser.fitted.action_labels)
    )


def _single_outcomes(chooser: Chooser, completions: Completions, table: PriceTable) -> np.ndarray | None:
    """[end, action]: between which values nine of ten single outcomes lie, in the user's sign."""
    actions = jnp.arange(table.prices.shape[1])[None]
    drawn, tables = jax.tree.map(lambda leaf: leaf[None], (completions, table))
    ranges = outcome_ranges(chooser.pricing.model, drawn, tables, actions)
    return None if ranges is None else np.sort(chooser.fitted.reported(np.asarray(ranges)[0]), axis=0)


def quantiles(prices: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """For each action the lowest price (of [completion, action]) at which the weight of all up to it reaches `share`.

    >>> quantiles(np.array([[3.0], [1.0], [2.0]]), np.array([0.0, 0.1, 0.9]), 0.5).tolist()
    [2.0]
    """
    order = np.argsort(prices, axis=0)
    reached = np.cumsum(weights[order], axis=0) >= share * weights.sum() - 1e-6
    return np.take_along_axis(prices, order, axis=0)[np.argmax(reached, axis=0), np.arange(prices.shape[1])]


def _grounds(subject: Subject, index: int, prices: tuple[ActionPrice, ...]) -> Grounds:
    chooser, scored = subject.chooser, subject.scored
    fitted, scores = chooser.fitted, scored.scores
    return Grounds(
        strategy=chooser.strategy,
        labels=chooser.fitted.action_labels,
        about=index,
        scores=scored.scores,
        claims=fitted.reported(scores) if chooser.strategy.in_reward_units else fitted.sign * scores,
        worst=fitted.reported(scored.worst),
        permitted=subject.permitted,
        supported=subject.supported.open,
        closed=partial(_closed, subject),
        reaches_floor=scored.worst >= (-np.inf if chooser.floor is None else chooser.floor),
        complete=bool(subject.observed.all()),
        floor=_floor(chooser),
        lowered=_lowered(chooser),
        figures=Figures.of(
            (number for price in prices for number in (price.expected_reward, price.worst_reward)),
            float(fitted.reported(0.0)),
        ),
    )


def _closed(subject: Subject, action: int) -> str:
    fitted, support = subject.chooser.fitted, subject.chooser.support
    assert fitted.logging_policy is not None  # otherwise nothing is closed
    assert support is not None
    return closed_words(fitted.logging_policy, support, fitted.action_labels, action, subject.supported.propensity)


def _lowered(chooser: Chooser) -> str:
    caution = chooser.caution
    taken = [f"{size:g} × the {name}" for size, name in ((caution.doubt, "doubt"), (caution.noise, "noise")) if size]
    worsened = ["worsened by " + " and ".join(taken)] if taken else []
    after = ["after the cost of each action"] if np.any(np.asarray(caution.costs)) else []
    return " and ".join([*worsened, *after])


def _worst(chooser: Chooser, table: PriceTable, inside: np.ndarray, index: int) -> int:
    outcome = np.asarray(chooser.caution.outcome(table).prices)[:, index]
    return int(np.argmin(np.where(inside, outcome, np.inf)))


def _cells(subject: Subject, completions: Completions, worst: int) -> list[list[Any]]:
    """The record itself, its most likely and its worst plausible completion, in the user's words."""
    rows = np.stack([subject.values, np.asarray(completions.values[0]), np.asarray(completions.values[worst])])
    columns = subject.chooser.fitted.schema.decode(rows).values()
    return [[_rounded(column[which]) for column in columns] for which in range(3)]


def _rounded(cell: Any) -> Any:
    return float(f"{cell:.{SIGNIFICANT}g}") if isinstance(cell, float) else cell


def _named(chooser: Chooser, cells: list[Any], which: np.ndarray) -> dict[str, Any]:
    return {name: cell for name, cell, one in zip(chooser.fitted.schema.names, cells, which, strict=True) if one}
