"""Why this action and not the next: one sentence per strategy, and one for a better-scored action that was barred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prudent.explanation.telling import percent
from prudent.log import ActionLabel
from prudent.pictures import Figures
from prudent.pictures.text import plain
from prudent.strategies import (
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Strategy,
    TailAverse,
)

IN_REWARD_UNITS = (Conservative, Imputation, MaximumExpectedReward, TailAverse)


@dataclass(frozen=True)
class Grounds:
    """What a decision rests on, for one record: [action] arrays, rewards in the user's sign.

    scores: as the strategy gave them (higher is better, whatever the sign of the reward).
    claims: the scores in the user's sign, which are rewards where the strategy scores in reward units.
    permitted, reaches_floor: True where the action may be taken, and where its worst plausible case is good enough.
    lowered: whether claims are after costs, or less doubt or noise, and so differ from the rewards reported.
    """

    strategy: Strategy
    labels: tuple[ActionLabel, ...]
    about: int
    scores: np.ndarray
    claims: np.ndarray
    worst: np.ndarray
    permitted: np.ndarray
    reaches_floor: np.ndarray
    complete: bool
    floor: float | None
    lowered: str
    figures: Figures

    @property
    def open(self) -> np.ndarray:
        return self.permitted & self.reaches_floor

    def name(self, index: int) -> str:
        return plain(self.labels[index])

    def best_of(self, among: np.ndarray) -> int | None:
        """The highest-scored action of a set, other than the one in question."""
        others = np.flatnonzero(among & (np.arange(len(self.labels)) != self.about))
        return int(others[np.argmax(self.scores[others])]) if len(others) else None


def reason(grounds: Grounds, chosen: bool, fallback: str | None) -> tuple[str, int | None]:
    """The deciding comparison, and the action compared with. `chosen`: by the strategy, not referred or fallen back."""
    if not grounds.permitted.any():
        return "No action is allowed for this case.", None
    if not chosen:
        return _below_floor(grounds, fallback), None
    rival = grounds.best_of(grounds.open)
    sentences = [_alone(grounds) if rival is None else f"{grounds.strategy!r}: {_compared(grounds, rival)}."]
    if rival is not None and grounds.lowered and isinstance(grounds.strategy, IN_REWARD_UNITS):
        sentences.append(f"These figures are {grounds.lowered}.")
    barred = grounds.best_of(~grounds.open & (grounds.scores > grounds.scores[grounds.about]))
    if barred is not None:
        sentences.append(_barred(grounds, barred))
    return " ".join(sentences), rival


def _below_floor(grounds: Grounds, fallback: str | None) -> str:
    best = int(np.argmax(np.where(grounds.permitted, grounds.scores, -np.inf)))
    sentence = (
        f"No action's worst plausible case reaches the floor of {grounds.figures(grounds.floor)}; "
        f"the best candidate, {grounds.name(best)}, could be as bad as {grounds.figures(grounds.worst[best])}."
    )
    return sentence if fallback is None else f"{sentence} So the fallback, {plain(fallback)}, is given."


def _alone(grounds: Grounds) -> str:
    if len(grounds.labels) == 1:
        return f"{grounds.name(grounds.about)} is the only action in the log."
    if grounds.permitted.sum() == 1:
        return f"{grounds.name(grounds.about)} is the only action allowed for this case."
    return (
        f"{grounds.name(grounds.about)} is the only action whose worst plausible case, "
        f"{grounds.figures(grounds.worst[grounds.about])}, reaches the floor of {grounds.figures(grounds.floor)}."
    )


def _barred(grounds: Grounds, index: int) -> str:
    if not grounds.permitted[index]:
        return f"{grounds.name(index)} scores higher but is not allowed for this case."
    return (
        f"{grounds.name(index)} scores higher but could be as bad as {grounds.figures(grounds.worst[index])}, "
        f"beyond the floor of {grounds.figures(grounds.floor)}."
    )


def _compared(grounds: Grounds, rival: int) -> str:
    strategy, figures, claims = grounds.strategy, grounds.figures, grounds.claims
    own, other = grounds.name(grounds.about), grounds.name(rival)
    mine, theirs = figures(claims[grounds.about]), figures(claims[rival])
    if isinstance(strategy, MostOftenBest | BestFrequencyLottery):
        return _frequencies(grounds, rival)
    if not isinstance(strategy, IN_REWARD_UNITS):
        return f"{own} has the highest score, {mine}; {other} follows with {theirs}"
    if mine == theirs:
        return f"{own} and {other} come out level at {mine}; a difference too small to show decides"
    if grounds.complete:
        return f"nothing is missing, and {own} brings {mine}; {other} brings {theirs}"
    if isinstance(strategy, Conservative):
        return f"{own} is no worse than {mine} in any plausible case; {other} could be as bad as {theirs}"
    if isinstance(strategy, Imputation):
        return f"for the most likely values of what is missing, {own} brings {mine}; {other} brings {theirs}"
    if isinstance(strategy, TailAverse):
        return _tails(strategy, own, other, mine, theirs)
    return f"{own} has the best expected reward, {mine}; {other} follows with {theirs}"


def _tails(strategy: TailAverse, own: str, other: str, mine: str, theirs: str) -> str:
    if strategy.measure == "quantile":
        return (
            f"leaving out the worst {percent(strategy.risk)} of cases, {own} is no worse than {mine}; "
            f"{other} could be as bad as {theirs}"
        )
    return f"over the worst {percent(strategy.risk)} of cases, {own} averages {mine}; {other} averages {theirs}"


def _frequencies(grounds: Grounds, rival: int) -> str:
    own, other = grounds.name(grounds.about), grounds.name(rival)
    mine, theirs = percent(float(grounds.scores[grounds.about])), percent(float(grounds.scores[rival]))
    if grounds.strategy.stochastic:
        return (
            f"each action is drawn with the probability that it is the best one, and the draw fell on {own} ({mine}); "
            f"{other} had {theirs}"
        )
    return f"{own} is the best action in {mine} of what the gaps may hold, {other} in {theirs}"
