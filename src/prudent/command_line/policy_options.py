"""The options of `recommend` and `evaluate` that make a policy of a model: a strategy by name, and its settings."""

import math
from dataclasses import dataclass
from typing import Any

from prudent.decide import Policy, Search, Strategy, Support, label_like, strategy_named
from prudent.errors import InputProblem
from prudent.models import Fitted
from prudent.table import ActionLabel


@dataclass(frozen=True)
class PolicyOptions:
    """A strategy by its name on the command line, its one number, and the options of the policy."""

    strategy: str
    risk: float | None = None
    c: float | None = None
    floor: float | None = None
    fallback: str | None = None
    allowed: str | None = None
    completions: int = 256
    seed: int = 0
    search: int | None = None
    doubt: float = 0.0
    noise: float = 0.0
    costs: tuple[str, ...] = ()
    support: bool = True
    min_propensity: float | None = None
    min_rows: int | None = None
    below: float | None = None
    cost_columns: tuple[str, ...] = ()

    def row_costs(self) -> dict[ActionLabel, str] | None:
        """The columns of costs that differ between cases, by action."""
        named = [text.rpartition("=") for text in self.cost_columns]
        for text, (action, _, column) in zip(self.cost_columns, named, strict=True):
            if not action.strip() or not column.strip():
                raise InputProblem(f"A column of costs must be written --cost-column ACTION=COL. Got {text!r} instead.")
        return {action.strip(): column.strip() for action, _, column in named} or None

    def chosen_strategy(self) -> Strategy:
        """The strategy; options that do not go together are refused."""
        if self.fallback is not None and self.floor is None:
            raise InputProblem(
                "--fallback is the action for rows where no action reaches the floor; give --floor R too."
            )
        return strategy_named(self.strategy, self.risk, self.c, self.below)

    def policy(self, fitted: Fitted, strategy: Strategy | None = None, **overrides: Any) -> Policy:
        """The policy that the options describe; `strategy` and `overrides` take precedence."""
        return fitted.policy(
            self.chosen_strategy() if strategy is None else strategy,
            floor=self.floor,
            fallback=self.known_fallback(fitted.action_labels),
            completions=self.completions,
            seed=self.seed,
            **(self.scoring_options() | overrides),
        )

    def chosen_support(self) -> Support:
        """Which actions are open to a case."""
        if not self.support and (self.min_propensity is not None or self.min_rows is not None):
            raise InputProblem("--no-support opens every action, so --min-propensity and --min-rows have no effect.")
        return Support(self.min_propensity, self.min_rows) if self.support else Support(propensity=0.0, rows=0)

    def scoring_options(self) -> dict[str, Any]:
        """The options that change the prices a strategy chooses by, and the actions it may choose."""
        return {
            "support": self.chosen_support(),
            "search": None if self.search is None else Search(steps=self.search),
            "doubt": self.doubt,
            "noise": self.noise,
            "costs": parse_costs(self.costs, "--cost ACTION=COST") or None,
        }

    def known_fallback(self, labels: tuple[ActionLabel, ...]) -> ActionLabel | None:
        """The log's label if the fallback is spelled like one (2.0 is 2), otherwise the text as it is."""
        return None if self.fallback is None else label_like(self.fallback, labels)


def parse_costs(texts: tuple[str, ...], form: str) -> dict[str, float]:
    """The values of --cost or --measure-cost by name.

    >>> parse_costs(("scan=0.2", "a=b=3"), "--cost ACTION=COST")
    {'scan': 0.2, 'a=b': 3.0}
    """
    costs: dict[str, float] = {}
    for text in texts:
        name, equals, cost = (part.strip() for part in text.rpartition("="))
        try:
            number = float(cost)
        except ValueError:
            number = math.nan
        if not (name and equals and math.isfinite(number)):
            raise InputProblem(f"A cost must be written {form}, with a number for COST. Got {text!r} instead.")
        costs[name] = number
    return costs
