"""How to choose, as a request says it: a strategy by name with its number, a floor, and the steps of the slider."""

from dataclasses import dataclass
from typing import NamedTuple

from prudent.decide import Policy, label_like, strategy_named
from prudent.errors import InputProblem, check, number, optional
from prudent.models import Fitted
from prudent.table import ActionLabel


@dataclass(frozen=True)
class Choice:
    """The options of `prudent recommend` that a request may set."""

    strategy: str = "expected"
    risk: float | None = None
    c: float | None = None
    below: float | None = None
    floor: float | None = None
    fallback: ActionLabel | None = None

    def policy(self, fitted: Fitted) -> Policy:
        """Numbers that do not go together are refused in the words of the command line."""
        numbers = {name: getattr(self, name) for name in ("risk", "c", "below", "floor")}
        check("the request", dict.fromkeys(numbers, optional(number())), numbers)
        if self.below is not None and self.strategy != "at-most":
            raise InputProblem(
                f"below belongs to strategy at-most. Got strategy {self.strategy} instead; leave it out."
            )
        if self.fallback is not None and self.floor is None:
            raise InputProblem("fallback is the action for cases where no action reaches the floor; give floor too.")
        strategy = strategy_named(self.strategy, self.risk, self.c, self.below, dashes="")
        fallback = None if self.fallback is None else label_like(self.fallback, fitted.action_labels)
        return fitted.policy(strategy, floor=self.floor, fallback=fallback)


class Step(NamedTuple):
    """One position of the slider for caution: what it does, in a word or two and in a sentence."""

    choice: Choice
    name: str
    sentence: str


CAUTION = (
    Step(Choice(), "Best on average", "Picks the action with the best expected outcome."),
    Step(
        Choice("tail", risk=0.5),
        "A little careful",
        "Picks the action that does best over the worse half of what the gaps may hold.",
    ),
    Step(
        Choice("tail", risk=0.2),
        "Careful",
        "Picks the action that does best over the worst fifth of what the gaps may hold.",
    ),
    Step(
        Choice("tail", risk=0.1),
        "More careful",
        "Picks the action that does best over the worst tenth of what the gaps may hold.",
    ),
    Step(
        Choice("tail", risk=0.05),
        "Very careful",
        "Picks the action that does best over the worst twentieth of what the gaps may hold.",
    ),
    Step(
        Choice("conservative", risk=0.05),
        "Worst case first",
        "Picks the action whose worst plausible case is best, whatever it costs on average.",
    ),
)
"""From the best expected outcome to the best worst case."""
