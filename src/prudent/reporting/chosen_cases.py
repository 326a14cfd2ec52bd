"""A few cases to explain, each chosen for a reason that is said."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from prudent.decide import Advice, Status
from prudent.show import plain_types
from prudent.table import ActionLabel, Log

Why = Literal["typical", "unsure", "largest change", "not as usual", "most gaps", "surest"]
ROUNDS: tuple[Why, ...] = ("typical", "largest change", "unsure", "not as usual", "most gaps", "surest")


@dataclass(frozen=True)
class ExplainedCase:
    """why: what it was chosen for. logged: what was done, None where that is not known. outcome: what came of it.

    explanation: as `Explanation.to_dict` gives it.
    """

    why: Why
    logged: ActionLabel | None
    outcome: float | None
    explanation: dict[str, Any]


def explained_cases(
    advice: Advice, log: Log, count: int, labels: Sequence[str | None] | None
) -> tuple[ExplainedCase, ...]:
    """advice: for the rows of the log, in their order."""
    found = []
    for row, why in chosen_rows(advice, log, count):
        explanation = advice[row].explain(None if labels is None else labels[row])
        logged = None if log.actions[row] < 0 else log.action_labels[log.actions[row]]
        outcome = float(log.sign * log.rewards[row])
        found.append(
            ExplainedCase(why, logged, outcome if np.isfinite(outcome) else None, plain_types(explanation.to_dict()))
        )
    return tuple(found)


def chosen_rows(advice: Advice, log: Log, count: int) -> list[tuple[int, Why]]:
    """Rows with what they are chosen for, every kind in turn until there are enough; none twice."""
    queues: dict[Why, Iterator[int]] = {why: _ranked(why, advice, log) for why in ROUNDS}
    chosen: dict[int, Why] = {}
    while len(chosen) < count and queues:
        for why in list(queues):
            row = next((row for row in queues[why] if row not in chosen), None)
            if row is None:
                del queues[why]
            elif len(chosen) < count:
                chosen[row] = why
    return sorted(chosen.items(), key=lambda one: ROUNDS.index(one[1]))


def _ranked(why: Why, advice: Advice, log: Log) -> Iterator[int]:
    """The rows that it fits, the best example first."""
    usual = np.array([status is Status.OK for status in advice.status])
    entropy = advice.scored.entropy
    gaps = (~log.observed).sum(axis=1)
    match why:
        case "typical":
            yield from _typical(advice, usual)
        case "largest change":
            gain = _gain(advice, log)
            yield from (int(row) for row in np.argsort(-gain, kind="stable") if usual[row] and gain[row] > 0)
        case "unsure":
            yield from (int(row) for row in np.argsort(-entropy, kind="stable") if usual[row] and entropy[row] > 0)
        case "not as usual":
            yield from _one_of_each_status(advice)
        case "most gaps":
            yield from (int(row) for row in np.argsort(-gaps, kind="stable") if gaps[row] > 0)
        case "surest":
            lead = _lead(advice)
            yield from (int(row) for row in np.argsort(-lead, kind="stable") if usual[row] and np.isfinite(lead[row]))


def _typical(advice: Advice, usual: np.ndarray) -> Iterator[int]:
    """Of each action, the most frequently advised first, the row whose expected reward is in the middle."""
    for action, _ in Counter(advice.chosen[usual].tolist()).most_common():
        rows = np.flatnonzero(usual & (advice.chosen == action))
        if action >= 0:
            order = rows[np.argsort(advice.expected_reward[rows], kind="stable")]
            yield int(order[len(order) // 2])


def _one_of_each_status(advice: Advice) -> Iterator[int]:
    """The rarer a status, the earlier."""
    counts = Counter(advice.status)
    for status, _ in reversed(counts.most_common()):
        if status is not Status.OK:
            yield advice.status.index(status)


def _gain(advice: Advice, log: Log) -> np.ndarray:
    """The expected reward of what is advised less that of what was done; 0 where either is not known."""
    rows, expected = np.arange(len(log)), advice.scored.expected
    known = (log.actions >= 0) & (advice.chosen >= 0)
    return np.where(known, expected[rows, advice.chosen] - expected[rows, log.actions], 0.0)


def _lead(advice: Advice) -> np.ndarray:
    """How far the best action is ahead of the next."""
    if advice.scored.scores.shape[1] < 2:
        return np.zeros(len(advice))
    ordered = np.sort(advice.scored.scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]
