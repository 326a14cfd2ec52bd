"""Why this action and not the next: one sentence per strategy, and one for a better-scored action that was barred."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prudent.decide.strategies import Comparison, Strategy
from prudent.show import Figures, one_line, percent
from prudent.table import ActionLabel


@dataclass(frozen=True)
class Grounds:
    """What a decision rests on, for one record: [action] arrays, rewards in the user's sign.

    scores: as the strategy gave them (higher is better, whatever the sign of the reward).
    claims: the scores in the user's sign, which are rewards where the strategy scores in reward units.
    permitted, supported, reaches_floor: True where the action may be taken, where cases like this one got it often
        enough, and where its worst plausible mean is good enough. closed: why it is not supported, in words.
    lowered: whether claims are after costs, or less doubt or noise, and so differ from the rewards reported.
    """

    strategy: Strategy
    labels: tuple[ActionLabel, ...]
    about: int
    scores: np.ndarray
    claims: np.ndarray
    worst: np.ndarray
    permitted: np.ndarray
    supported: np.ndarray
    closed: Callable[[int], str]
    reaches_floor: np.ndarray
    complete: bool
    floor: float | None
    lowered: str
    figures: Figures

    @property
    def open(self) -> np.ndarray:
        return self.permitted & self.supported & self.reaches_floor

    def name(self, index: int) -> str:
        return one_line(self.labels[index])

    def score(self, index: int) -> str:
        """What the strategy says of an action, in words."""
        return percent(float(self.scores[index])) if self.strategy.in_shares else self.figures(self.claims[index])

    def best_of(self, among: np.ndarray) -> int | None:
        """The highest-scored action of a set, other than the one in question."""
        others = np.flatnonzero(among & (np.arange(len(self.labels)) != self.about))
        return int(others[np.argmax(self.scores[others])]) if len(others) else None


def reason(grounds: Grounds, chosen: bool, fallback: str | None) -> tuple[str, int | None]:
    """The deciding comparison, and the action compared with. `chosen`: by the strategy, not referred or fallen back."""
    if not grounds.permitted.any():
        return "No action is allowed for this case.", None
    if not (grounds.permitted & grounds.supported).any():
        best = int(np.argmax(np.where(grounds.permitted, grounds.scores, -np.inf)))
        return f"No action that is allowed is open to this case: {grounds.closed(best)}.", None
    if not chosen:
        return _below_floor(grounds, fallback), None
    rival = grounds.best_of(grounds.open)
    sentences = [_alone(grounds) if rival is None else f"{grounds.strategy!r}: {_compared(grounds, rival)}."]
    if rival is not None and grounds.lowered and grounds.strategy.in_reward_units:
        sentences.append(f"These figures are {grounds.lowered}.")
    barred = grounds.best_of(~grounds.open & (grounds.scores > grounds.scores[grounds.about]))
    if barred is not None:
        sentences.append(_barred(grounds, barred))
    return " ".join(sentences), rival


def _below_floor(grounds: Grounds, fallback: str | None) -> str:
    best = int(np.argmax(np.where(grounds.permitted & grounds.supported, grounds.scores, -np.inf)))
    sentence = (
        f"No action's worst plausible mean reaches the floor of {grounds.figures(grounds.floor)}; "
        f"that of the best candidate, {grounds.name(best)}, is {grounds.figures(grounds.worst[best])}."
    )
    return sentence if fallback is None else f"{sentence} So the fallback, {one_line(fallback)}, is given."


def _alone(grounds: Grounds) -> str:
    if len(grounds.labels) == 1:
        return f"{grounds.name(grounds.about)} is the only action in the log."
    if grounds.permitted.sum() == 1:
        return f"{grounds.name(grounds.about)} is the only action allowed for this case."
    if (grounds.permitted & grounds.supported).sum() == 1:
        return f"{grounds.name(grounds.about)} is the only action that cases like this one got often enough."
    return (
        f"{grounds.name(grounds.about)} is the only action whose worst plausible mean, "
        f"{grounds.figures(grounds.worst[grounds.about])}, reaches the floor of {grounds.figures(grounds.floor)}."
    )


def _barred(grounds: Grounds, index: int) -> str:
    if not grounds.permitted[index]:
        return f"{grounds.name(index)} scores higher but is not allowed for this case."
    if not grounds.supported[index]:
        return f"{grounds.closed(index)}; it would score higher."
    return (
        f"{grounds.name(index)} scores higher but its mean could be as bad as {grounds.figures(grounds.worst[index])}, "
        f"beyond the floor of {grounds.figures(grounds.floor)}."
    )


def _compared(grounds: Grounds, rival: int) -> str:
    strategy = grounds.strategy
    compared = Comparison(
        grounds.name(grounds.about), grounds.name(rival), grounds.score(grounds.about), grounds.score(rival)
    )
    if not strategy.in_reward_units:
        return strategy.reason(compared)
    action, other, score, other_score = compared
    if score == other_score:
        return f"{action} and {other} come out level at {score}; a difference too small to show decides"
    if grounds.complete:
        return f"nothing is missing, and {action} brings {score}; {other} brings {other_score}"
    return strategy.reason(compared)
