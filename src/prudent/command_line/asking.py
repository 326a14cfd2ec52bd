"""How `recommend` is asked to choose: from words on the command line to a strategy and a policy."""

from dataclasses import dataclass

from prudent.cells import label_text
from prudent.errors import InputProblem
from prudent.log import ActionLabel
from prudent.models.fitted import Fitted
from prudent.policy import Policy
from prudent.strategies import (
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Strategy,
    TailAverse,
)

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

    def policy(self, fitted: Fitted) -> Policy:
        return fitted.policy(
            self.chosen_strategy(),
            completions=self.completions,
            floor=self.floor,
            fallback=self.known_fallback(fitted.action_labels),
            seed=self.seed,
        )

    def known_fallback(self, labels: tuple[ActionLabel, ...]) -> ActionLabel | None:
        """The log's own label where the fallback is spelled like one (2.0 is 2), and else the text as it is."""
        if self.fallback is None:
            return None
        texts = {label_text(label): label for label in labels}
        return texts.get(label_text(self.fallback), self.fallback)
