"""What a strategy sees of the prices: lowered by doubt and noise where asked, and net of what an action costs."""

from collections.abc import Mapping
from dataclasses import replace

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from prudent.decide.completions import PriceTable
from prudent.errors import InputProblem, is_number, require
from prudent.table import ActionLabel, label_text

LARGEST_COST = 1e30
"""What is larger leaves nothing of a price, and is infinite in single precision from 3.4e38 on."""


class Caution(eqx.Module):
    """Prices become lower bounds: `doubt` standard deviations of the price itself and `noise` of the single outcome are
    taken off; `costs` (reward units) weigh in the choice only, never in a reported reward."""

    doubt: float
    noise: float
    costs: Float[Array, " action"]

    def outcome(self, table: PriceTable) -> PriceTable:
        """The table of lower bounds on outcomes."""
        prices = table.prices
        if self.doubt and table.doubt is not None:
            prices = prices - self.doubt * table.doubt
        if self.noise and table.noise is not None:
            prices = prices - self.noise * table.noise
        examined = None if table.examined is None else self.outcome(table.examined)
        return replace(table, prices=prices, examined=examined)

    def net(self, table: PriceTable) -> PriceTable:
        """What strategies choose from: lower bounds less the costs of acting."""
        outcome = self.outcome(table)
        return replace(outcome, prices=outcome.prices - self.total_costs(table)[None, :])

    def total_costs(self, table: PriceTable) -> Float[Array, " action"]:
        """What the actions cost in this case: the same in all of them, and what is its own."""
        return self.costs if table.costs is None else self.costs + table.costs


def action_costs(costs: Mapping[ActionLabel, float] | None, labels: tuple[ActionLabel, ...]) -> np.ndarray:
    """One cost per action, 0 where none is named; labels are compared as the log spells them (1.0 is "1")."""
    if costs is None:
        return np.zeros(len(labels), np.float32)
    require(isinstance(costs, Mapping), "policy", "costs", "map action labels to numbers", costs)
    spelled = {label_text(str(label)): cost for label, cost in costs.items()}
    known = [label_text(str(label)) for label in labels]
    for label, cost in spelled.items():
        if label not in known:
            raise InputProblem(f"The cost of '{label}' is not for an action of the log; those are {', '.join(known)}.")
        sensible = is_number(cost) and abs(cost) <= LARGEST_COST
        require(sensible, "policy", "costs", f"be a number of at most {LARGEST_COST:g} for '{label}'", cost)
    return np.array([spelled.get(label, 0.0) for label in known], np.float32)
