"""A policy as plain JSON: its strategy by name and its options, without the model."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from prudent.decide import (
    AtMost,
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Policy,
    Search,
    Strategy,
    Support,
    TailAverse,
)
from prudent.errors import InputProblem
from prudent.models import Fitted

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.__name__: strategy
    for strategy in (
        *(AtMost, BestFrequencyLottery, Conservative, Imputation),
        *(MaximumExpectedReward, MostOftenBest, TailAverse),
    )
}
PLAIN = ("completions", "floor", "fallback", "doubt", "noise", "seed")


def described(policy: Policy) -> dict[str, Any]:
    """What `policy_from` makes the same policy of."""
    strategy = policy.strategy
    if STRATEGIES.get(type(strategy).__name__) is not type(strategy):
        raise InputProblem(
            f"Only prudent's own strategies can be saved for MLflow; {type(strategy).__name__} is not one."
        )
    return {
        "strategy": type(strategy).__name__,
        "settings": _settings(strategy),
        **{name: getattr(policy, name) for name in PLAIN},
        "costs": None if policy.costs is None else [[label, cost] for label, cost in policy.costs.items()],
        "support": None if policy.support is None else asdict(policy.support),
        "search": None if policy.search is None else {"starts": policy.search.starts, "steps": policy.search.steps},
    }


def policy_from(stored: Any, fitted: Fitted) -> Policy:
    """The policy that was described; what is damaged or unknown is refused."""
    try:
        costs, support, search = stored["costs"], stored["support"], stored["search"]
        return fitted.policy(
            STRATEGIES[stored["strategy"]](**stored["settings"]),
            **{name: stored[name] for name in PLAIN},
            costs=None if costs is None else dict(costs),
            support=None if support is None else Support(**support),
            search=None if search is None else Search(**search),
        )
    except (KeyError, TypeError) as problem:
        raise InputProblem(f"The stored policy is damaged: {problem} is missing or wrong; save it again.") from problem


def _settings(strategy: Strategy) -> Mapping[str, Any]:
    if isinstance(strategy, Conservative):
        names = {"paper_literal": strategy.paper_literal, "per_attribute": strategy.plausible.per_attribute}
        return {"risk": strategy.risk, "c": strategy.c, **names}
    if isinstance(strategy, TailAverse):
        return {"risk": strategy.risk, "measure": strategy.measure}
    return {"chance": strategy.chance, "below": strategy.below} if isinstance(strategy, AtMost) else {}
