"""From a case of an advice to its explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.completions import Completions, PriceTable
from prudent.explanation.account import ActionPrice, Explanation
from prudent.explanation.outlook import changes, measurements, valued_as
from prudent.explanation.reasons import Grounds, reason
from prudent.pictures import Figures

if TYPE_CHECKING:
    from prudent.advice import Case
    from prudent.policy import Policy

RANGE = (0.05, 0.95)
SIGNIFICANT = 7
"""Digits that survive in single precision, in which records are encoded."""


def explain(case: Case) -> Explanation:
    """All prices of the case, why this action, and what would change it."""
    advice, row, policy = case.advice, case.row, case.advice.policy
    fitted, labels = policy.fitted, policy.fitted.action_labels
    values, observed = advice.encoded.values[row], advice.encoded.observed[row]
    completions, table = policy.detail(values, observed)
    permitted = advice.permitted[row]
    candidates = permitted if permitted.any() else np.ones(len(labels), bool)
    best = int(np.argmax(np.where(candidates, advice.judged.scores[row], -np.inf)))
    index = labels.index(case.action) if case.action in labels else best
    inside = np.asarray(policy.plausible.plausible(table))
    prices = _prices(case, table, index, permitted)
    sentence, rival = reason(_grounds(case, index, permitted, prices), advice.chosen[row] >= 0, _fallback(case))
    measured, measure_next = measurements(case)
    told = _cells(policy, values, completions, _worst(policy, table, inside, index))
    return Explanation(
        row=row,
        action=case.action,
        about=labels[index],
        status=case.status,
        flags=case.flags,
        action_entropy=case.action_entropy,
        strategy=repr(policy.strategy),
        reason=sentence,
        runner_up=None if rival is None else labels[rival],
        prices=prices,
        observed=_named(policy, told[0], observed),
        most_likely=_named(policy, told[1], ~observed),
        worst_case=_named(policy, told[2], ~observed),
        plausible_share=min(float(np.asarray(table.weights)[inside].sum()), 1.0),
        changes=changes(case),
        measurements=measured,
        measure_next=measure_next,
        gain_measure=valued_as(policy.strategy),
        action_name=fitted.roles.action,
        reward_name=fitted.roles.reward,
        minimize=fitted.minimize,
        floor=None if policy.floor is None else float(policy.floor),
    )


def _fallback(case: Case) -> str | None:
    return None if case.action is None else str(case.action)


def _sign(policy: Policy) -> float:
    return -1.0 if policy.fitted.minimize else 1.0


def _prices(case: Case, table: PriceTable, index: int, permitted: np.ndarray) -> tuple[ActionPrice, ...]:
    policy, judged, row = case.advice.policy, case.advice.judged, case.row
    sign, weights, prices = _sign(policy), np.asarray(table.weights), np.asarray(table.prices, np.float64)
    ends = np.sort([sign * quantiles(prices, weights, share) for share in RANGE], axis=0)
    chances = np.asarray(policy.caution.net(table).best_frequency)
    doubt = None if table.doubt is None else weights @ np.asarray(table.doubt)
    noise = None if table.noise is None else np.sqrt(weights @ np.asarray(table.noise) ** 2)
    costs = np.asarray(policy.caution.costs)
    ranks = np.argsort(np.argsort(-judged.scores[row], kind="stable"))
    bounds = case.advice.guaranteed_reward
    bound = None if bounds is None or np.isnan(bounds[row]) else float(bounds[row])
    return tuple(
        ActionPrice(
            action=label,
            expected_reward=sign * float(judged.expected[row, at]),
            low_reward=float(ends[0, at]),
            high_reward=float(ends[1, at]),
            worst_reward=sign * float(judged.worst[row, at]),
            chance_best=min(float(chances[at]), 1.0),
            rank=int(ranks[at]) + 1,
            doubt=None if doubt is None else float(doubt[at]),
            noise=None if noise is None else float(noise[at]),
            cost=float(costs[at]),
            allowed=bool(permitted[at]),
            guaranteed_reward=bound if label == case.action else None,
        )
        for at, label in enumerate(policy.fitted.action_labels)
    )


def quantiles(prices: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """For each action the lowest price (of [completion, action]) at which the weight of all up to it reaches `share`.

    >>> quantiles(np.array([[3.0], [1.0], [2.0]]), np.array([0.0, 0.1, 0.9]), 0.5).tolist()
    [2.0]
    """
    order = np.argsort(prices, axis=0)
    reached = np.cumsum(weights[order], axis=0) >= share * weights.sum() - 1e-6
    return np.take_along_axis(prices, order, axis=0)[np.argmax(reached, axis=0), np.arange(prices.shape[1])]


def _grounds(case: Case, index: int, permitted: np.ndarray, prices: tuple[ActionPrice, ...]) -> Grounds:
    policy, judged, row = case.advice.policy, case.advice.judged, case.row
    floor = policy.floor
    internal = -np.inf if floor is None else _sign(policy) * floor
    claims = _sign(policy) * judged.scores[row]
    return Grounds(
        strategy=policy.strategy,
        labels=policy.fitted.action_labels,
        about=index,
        scores=judged.scores[row],
        claims=claims,
        worst=_sign(policy) * judged.worst[row],
        permitted=permitted,
        reaches_floor=judged.worst[row] >= internal,
        complete=bool(case.advice.encoded.observed[row].all()),
        floor=floor,
        lowered=_lowered(policy),
        figures=Figures.of(number for price in prices for number in (price.expected_reward, price.worst_reward)),
    )


def _lowered(policy: Policy) -> str:
    own = policy.caution
    taken = [f"{size:g} × the {name}" for size, name in ((own.doubt, "doubt"), (own.noise, "noise")) if size]
    worsened = ["worsened by " + " and ".join(taken)] if taken else []
    after = ["after the cost of each action"] if np.any(np.asarray(own.costs)) else []
    return " and ".join([*worsened, *after])


def _worst(policy: Policy, table: PriceTable, inside: np.ndarray, index: int) -> int:
    outcome = np.asarray(policy.caution.outcome(table).prices)[:, index]
    return int(np.argmin(np.where(inside, outcome, np.inf)))


def _cells(policy: Policy, values: np.ndarray, completions: Completions, worst: int) -> list[list[Any]]:
    """The record itself, its most likely and its worst plausible completion, in the user's words."""
    rows = np.stack([values, np.asarray(completions.values[0]), np.asarray(completions.values[worst])])
    columns = policy.fitted.schema.decode(rows).values()
    return [[_rounded(column[which]) for column in columns] for which in range(3)]


def _rounded(cell: Any) -> Any:
    return float(f"{cell:.{SIGNIFICANT}g}") if isinstance(cell, float) else cell


def _named(policy: Policy, cells: list[Any], which: np.ndarray) -> dict[str, Any]:
    return {name: cell for name, cell, own in zip(policy.fitted.schema.names, cells, which, strict=True) if own}
