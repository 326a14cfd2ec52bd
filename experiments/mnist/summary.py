"""From pieces to results: plain numbers for each row, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from experiments.chosen_actions import StoredChoices
from experiments.entries import rows_of
from experiments.mnist.aims import failures, most_careful
from experiments.mnist.data import DIGITS, Replication
from experiments.mnist.pieces import Piece
from experiments.mnist.settings import BEST, GROUPS, THRESHOLD, Effort, Entry
from experiments.results import Results, six_digits, standard_error, with_kept

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
    """Every row, over the replications that are stored of it (at least two; the row says how many)."""
    truths = {index: Replication.of(index, seed, effort.size) for index in range(replications)}
    entries = sorted(effort.entries, key=lambda entry: GROUPS.index(entry.group))
    stored = [(entry, _stored(entry, effort, seed, truths, folder)) for entry in entries]
    rows = [row for entry, kept in stored if len(kept) > 1 for row in rows_of(entry, kept, partial(_numbers, truths))]
    machines = dict.fromkeys(choices.machine for _, kept in stored for choices in kept.values())
    return {
        "images": min(effort.size.images, len(truths[0].tested.labels) + len(truths[0].actions)),
        "side": effort.size.side,
        "learnt_from": len(truths[0].actions),
        "tested": len(truths[0].tested.labels),
        "replications": replications,
        "seed": seed,
        "rows": rows,
        "left": _left(rows, {entry.name: kept for entry, kept in stored}, truths),
        "machine": ", ".join(machines),
    }


def kept(effort: Effort, now: Results, before: Results) -> Results:
    """The results with the rows that were stored before and not made anew."""
    names = [entry.name for entry in sorted(effort.entries, key=lambda entry: GROUPS.index(entry.group))]
    rows = with_kept(now["rows"], before["rows"], names)
    machines = dict.fromkeys(row["machine"] for row in rows)
    left = now["left"] if any(row["model"] == BEST for row in now["rows"]) else before["left"]
    return now | {"rows": rows, "left": left, "machine": ", ".join(machines)}


def showcase_of(effort: Effort, seed: int, folder: Path) -> dict[str, np.ndarray]:
    """The arrays of the showcase, or none where its piece was not run."""
    pieces = (Piece(entry, effort.size, seed, 0) for entry in effort.entries)
    stored = (piece.load(folder) for piece in pieces if piece.shows)
    return next((choices.showcase for choices in stored if choices is not None), {})


def _left(rows: Sequence[Results], kept: dict[str, dict[int, StoredChoices]], truths: Truths) -> Results | None:
    """What our most careful row of a good mean has left of disasters, image by image."""
    row = most_careful(rows)
    if row is None:
        return None
    pieces = kept[row["model"]]
    actions = {index: one.actions[one.strategies.index(row["strategy"])] for index, one in pieces.items()}
    decisions = sum(map(len, actions.values()))
    return {"row": row["name"], "decisions": decisions, "images": failures(actions, truths)}


def _stored(entry: Entry, effort: Effort, seed: int, truths: Truths, folder: Path) -> dict[int, StoredChoices]:
    loaded = {index: Piece(entry, effort.size, seed, index).load(folder) for index in truths}
    return {index: choices for index, choices in loaded.items() if choices is not None}


def _numbers(truths: Truths, actions: dict[int, np.ndarray]) -> Results:
    outcomes = [Outcome.of(chosen, truths[index]) for index, chosen in actions.items()]
    means, below = (
        np.array([value(outcome) for outcome in outcomes]) for value in (_mean, lambda outcome: outcome.below)
    )
    unseen = np.concatenate([outcome.unseen for outcome in outcomes])
    return {
        "replications": len(outcomes),
        "mean": six_digits(means.mean()),
        "mean_error": six_digits(standard_error(means)),
        "below": six_digits(below.mean()),
        "below_error": six_digits(standard_error(below)),
        "never_below": six_digits((below == 0).mean()),
        "correct": six_digits(np.mean([outcome.correct for outcome in outcomes])),
        # in development every image is of the pool
        "unseen_mean": six_digits(unseen.mean()) if len(unseen) else None,
        "actions": [six_digits(share) for share in np.mean([outcome.actions for outcome in outcomes], axis=0)],
        "rewards": [six_digits(share) for share in np.mean([outcome.distances for outcome in outcomes], axis=0)],
    }


def _mean(outcome: Outcome) -> float:
    return float(outcome.rewards.mean())
