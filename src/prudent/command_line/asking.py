"""How `recommend` is asked to choose: from words on the command line to a strategy and a policy."""

import math
from dataclasses import dataclass
from typing import Any

from prudent.decide import (
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Policy,
    Search,
    Strategy,
    TailAverse,
)
from prudent.errors import InputProblem
from prudent.models import Fitted
from prudent.table import ActionLabel, label_text

PLAIN: dict[str, type[Strategy]] = {
    "expected": MaximumExpectedReward,
    "imputation": Imputation,
    "most-often": MostOftenBest,
    "lottery": BestFrequencyLottery,
}


@dataclass(frozen=True)
class Asking:
    """The strategy by name with its one number, and the options of the policy."""

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

    def chosen_strategy(self) -> Strategy:
        """The strategy itself, or the sentence that says which options do not go together."""
        if self.fallback is not None and self.floor is None:
            raise InputProblem("--fallback says what to give when no action reaches the floor; give --floor R too.")
        if self.risk is not None and self.c is not None:
            raise InputProblem("--risk and --c are two ways to say the same; give one of them.")
        if self.strategy == "conservative":
            return Conservative(risk=self.risk, c=self.c)
        if self.c is not None:
            raise InputProblem(f"--c belongs to --strategy conservative. Got --strategy {self.strategy} instead.")
        if self.strategy == "tail":
            return TailAverse() if self.risk is None else TailAverse(risk=self.risk)
        if self.risk is not None:
            raise InputProblem(
                f"--risk belongs to --strategy conservative or tail. Got --strategy {self.strategy} instead; "
                "drop --risk, or choose one of these."
            )
        return PLAIN[self.strategy]()

    def policy(self, fitted: Fitted, strategy: Strategy | None = None, **judged: Any) -> Policy:
        """The policy as asked for; `strategy` and the options it was judged with in place of those named."""
        return fitted.policy(
            self.chosen_strategy() if strategy is None else strategy,
            floor=self.floor,
            fallback=self.known_fallback(fitted.action_labels),
            completions=self.completions,
            seed=self.seed,
            **(self.judged_options() | judged),
        )

    def judged_options(self) -> dict[str, Any]:
        """The options that change what strategies see."""
        return {
            "search": None if self.search is None else Search(steps=self.search),
            "doubt": self.doubt,
            "noise": self.noise,
            "costs": priced(self.costs, "--cost ACTION=COST") or None,
        }

    def known_fallback(self, labels: tuple[ActionLabel, ...]) -> ActionLabel | None:
        """The log's own label where the fallback is spelled like one (2.0 is 2), and else the text as it is."""
        if self.fallback is None:
            return None
        texts = {label_text(label): label for label in labels}
        return texts.get(label_text(self.fallback), self.fallback)


def priced(texts: tuple[str, ...], form: str) -> dict[str, float]:
    """What follows --cost or --measure-cost, name by name.

    >>> priced(("scan=0.2", "a=b=3"), "--cost ACTION=COST")
    {'scan': 0.2, 'a=b': 3.0}
    """
    found: dict[str, float] = {}
    for text in texts:
        name, equals, cost = (part.strip() for part in text.rpartition("="))
        try:
            number = float(cost)
        except ValueError:
            number = math.nan
        if not (name and equals and math.isfinite(number)):
            raise InputProblem(f"A cost must be written {form}, the cost a number. Got {text!r} instead.")
        found[name] = number
    return found
