"""Strategies by the names and the one number that the command line and the web page know them by."""

from collections.abc import Sequence

from prudent.decide.strategies import (
    AtMost,
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Strategy,
    TailAverse,
)
from prudent.errors import InputProblem
from prudent.table import ActionLabel, did_you_mean, label_text

WITHOUT_SETTINGS: dict[str, type[Strategy]] = {
    "expected": MaximumExpectedReward,
    "imputation": Imputation,
    "most-often": MostOftenBest,
    "lottery": BestFrequencyLottery,
}
STRATEGY_NAMES = ("expected", "conservative", "tail", "at-most", "imputation", "most-often", "lottery")

DEFAULT_CHANCE = 0.05
"""How likely a disaster may be with the strategy at-most."""


def strategy_named(
    name: str, risk: float | None = None, c: float | None = None, below: float | None = None, dashes: str = "--"
) -> Strategy:
    """The strategy; numbers that do not go with it are refused. dashes: what stands before an option where it is given.

    >>> strategy_named("tail", risk=0.1), strategy_named("conservative")
    (TailAverse(risk=0.1), Conservative(risk=0.05))
    """
    if name not in STRATEGY_NAMES:
        raise InputProblem(f"There is no strategy '{name}'. {did_you_mean(name, STRATEGY_NAMES)}")
    if risk is not None and c is not None:
        raise InputProblem(f"{dashes}risk and {dashes}c are two ways to set the same threshold; give only one of them.")
    if name == "conservative":
        return Conservative(risk=risk, c=c)
    if c is not None:
        raise InputProblem(f"{dashes}c belongs to {dashes}strategy conservative. Got {dashes}strategy {name} instead.")
    if name == "tail":
        return TailAverse() if risk is None else TailAverse(risk=risk)
    if name == "at-most":
        if below is None:
            raise InputProblem(
                f"{dashes}strategy at-most keeps outcomes worse than {dashes}below R rarer than {dashes}risk P; give "
                f"{dashes}below R too."
            )
        return AtMost(DEFAULT_CHANCE if risk is None else risk, below)
    if risk is not None:
        raise InputProblem(
            f"{dashes}risk belongs to {dashes}strategy conservative, tail or at-most. Got {dashes}strategy {name} "
            f"instead; drop {dashes}risk, or choose one of these."
        )
    return WITHOUT_SETTINGS[name]()


def label_like(text: ActionLabel, labels: Sequence[ActionLabel]) -> ActionLabel:
    """The label that is spelled like this (2.0 is 2), otherwise the text as it is."""
    texts = {label_text(label): label for label in labels}
    return texts.get(label_text(text), text)
