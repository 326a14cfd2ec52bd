"""From pieces to results: plain numbers for each row, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.chosen import Kept
from experiments.mnist.aims import failures, most_careful
from experiments.mnist.data import DIGITS, Replication
from experiments.mnist.pieces import Piece
from experiments.mnist.settings import GROUPS, THRESHOLD, Effort, Entry
from experiments.pages import Results, plain, standard_error

PER = 1000
Truths = dict[int, Replication]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How the choices of one strategy on one replication turned out: per test image, and a few numbers."""

    rewards: np.ndarray
    correct: float
    unseen: np.ndarray
    actions: np.ndarray

    @classmethod
    def of(cls, actions: np.ndarray, truth: Replication) -> "Outcome":
        part = truth.tested
        rewards = part.rewards[np.arange(len(actions)), actions]
        shares = np.bincount(actions, minlength=DIGITS) / len(actions)
        return cls(rewards, float((actions == part.labels).mean()), rewards[truth.unseen], shares)

    @property
    def below(self) -> float:
        """How many of a thousand rewards are below the threshold."""
        return PER * float((self.rewards < THRESHOLD).mean())

    @property
    def distances(self) -> np.ndarray:
        """Shares of −R, rounded to 0 … 9."""
        whole = np.clip(np.round(-self.rewards), 0, DIGITS - 1).astype(int)
        return np.bincount(whole, minlength=DIGITS) / len(whole)


def summarise(effort: Effort, replications: int, seed: int, folder: Path) -> Results:
    """Every row, over the replications there are of it: at least two, and `replications` of it says how many."""
    truths = {index: Replication.of(index, seed, effort.size) for index in range(replications)}
    entries = sorted(effort.entries, key=lambda entry: GROUPS.index(entry.group))
    found = [(entry, _kept(entry, effort, seed, truths, folder)) for entry in entries]
    rows = [row for entry, kept in found if len(kept) > 1 for row in _rows(entry, kept, truths)]
    machines = dict.fromkeys(own.machine for _, kept in found for own in kept.values())
    return {
        "images": min(effort.size.images, len(truths[0].tested.labels) + len(truths[0].actions)),
        "side": effort.size.side,
        "learnt_from": len(truths[0].actions),
        "tested": len(truths[0].tested.labels),
        "replications": replications,
        "seed": seed,
        "rows": rows,
        "left": _left(rows, {entry.name: kept for entry, kept in found}, truths),
        "machine": ", ".join(machines),
    }


def showcase_of(effort: Effort, seed: int, folder: Path) -> dict[str, np.ndarray]:
    """The arrays of the showcase, or none where its piece was not run."""
    pieces = (Piece(entry, effort.size, seed, 0) for entry in effort.entries)
    found = (piece.load(folder) for piece in pieces if piece.shows)
    return next((kept.showcase for kept in found if kept is not None), {})


def _left(rows: Sequence[Results], kept: dict[str, dict[int, Kept]], truths: Truths) -> Results | None:
    """What our most careful row of a good mean has left of disasters, image by image."""
    row = most_careful(rows)
    if row is None:
        return None
    pieces = kept[row["model"]]
    actions = {index: own.actions[own.strategies.index(row["strategy"])] for index, own in pieces.items()}
    decisions = sum(map(len, actions.values()))
    return {"row": row["name"], "decisions": decisions, "images": failures(actions, truths)}


def _kept(entry: Entry, effort: Effort, seed: int, truths: Truths, folder: Path) -> dict[int, Kept]:
    loaded = {index: Piece(entry, effort.size, seed, index).load(folder) for index in truths}
    return {index: own for index, own in loaded.items() if own is not None}


def _rows(entry: Entry, kept: dict[int, Kept], truths: Truths) -> list[Results]:
    first = next(iter(kept.values()))
    seconds = float(np.mean([own.fit_seconds + own.choose_seconds for own in kept.values()]))
    rows = []
    for at, strategy in enumerate(first.strategies):
        outcomes = [Outcome.of(own.actions[at], truths[index]) for index, own in kept.items()]
        name = {"name": entry.row(strategy), "group": entry.group, "model": entry.name, "strategy": strategy}
        rows.append(name | _numbers(outcomes) | {"seconds": plain(seconds), "machine": first.machine})
    return rows


def _numbers(outcomes: Sequence[Outcome]) -> Results:
    means, below = (np.array([value(own) for own in outcomes]) for value in (_mean, lambda own: own.below))
    unseen = np.concatenate([own.unseen for own in outcomes])
    return {
        "replications": len(outcomes),
        "mean": plain(means.mean()),
        "mean_error": plain(standard_error(means)),
        "below": plain(below.mean()),
        "below_error": plain(standard_error(below)),
        "never_below": plain((below == 0).mean()),
        "correct": plain(np.mean([own.correct for own in outcomes])),
        # in development every image is of the pool
        "unseen_mean": plain(unseen.mean()) if len(unseen) else None,
        "actions": [plain(share) for share in np.mean([own.actions for own in outcomes], axis=0)],
        "rewards": [plain(share) for share in np.mean([own.distances for own in outcomes], axis=0)],
    }


def _mean(outcome: Outcome) -> float:
    return float(outcome.rewards.mean())
