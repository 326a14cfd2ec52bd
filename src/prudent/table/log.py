"""Log: the one container that flows. What was known, what was done, how it turned out, as arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike
from typing import Any

import numpy as np

from prudent.errors import InputProblem, is_number, is_whole, require
from prudent.table.cells import row_name
from prudent.table.decision_columns import ActionLabel, action_codes, label_actions, read_actions, read_numbers
from prudent.table.files import Table, like, read_table, take_rows, to_table
from prudent.table.schema import Encoded, KindOverride, Schema

__all__ = ["ActionLabel", "ActionSummary", "ColumnSummary", "Log", "LogSummary", "read_log", "read_table"]

_ARRAYS = ("values", "observed", "actions", "rewards", "propensities", "positions")


@dataclass(frozen=True)
class ColumnSummary:
    """One feature: `gap_share` of its cells are empty; `shows` are its levels or its range."""

    name: str
    kind: str
    gap_share: float
    shows: str


@dataclass(frozen=True)
class ActionSummary:
    """One action: rows where it was taken with a known reward, and their mean reward in the user's sign."""

    label: ActionLabel
    rows: int
    mean_reward: float


@dataclass(frozen=True)
class LogSummary:
    """What is in the log, for people."""

    rows: int
    rewarded: int
    columns: tuple[ColumnSummary, ...]
    actions: tuple[ActionSummary, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Roles:
    """Which columns of the table said what was done, how it turned out and, if any, how likely the action was."""

    action: str = "action"
    reward: str = "reward"
    propensity: str | None = None


@dataclass(frozen=True, eq=False)
class Log:
    """Logged decisions in encoded space; arrays are read-only.

    `actions` index `action_labels`, -1 where none is recorded; `rewards` are NaN where there is none, and higher is
    always better inside: with `minimize` their sign is flipped. `propensities` are logged probabilities of the action
    that was taken. Rows without action or reward stay, since they still teach how features hang together.
    `source` is the table they were read from, and `positions` the rows of it: see `cases`.
    """

    schema: Schema
    values: np.ndarray
    observed: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    action_labels: tuple[ActionLabel, ...]
    propensities: np.ndarray | None = None
    minimize: bool = False
    notes: tuple[str, ...] = ()
    roles: Roles = Roles()
    source: Any = None
    positions: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is not None:
                view = np.asarray(array).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def sign(self) -> float:
        """-1 where lower outcomes are better: `rewards` times the sign are the outcomes as the user wrote them."""
        return -1.0 if self.minimize else 1.0

    @property
    def rewarded(self) -> np.ndarray:
        """Rows that have both an action and a reward."""
        return (self.actions >= 0) & np.isfinite(self.rewards)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        action: str,
        reward: str,
        propensity: str | None = None,
        kinds: Mapping[str, KindOverride] | None = None,
        ignore: Iterable[str] = (),
        minimize: bool = False,
        schema: Schema | None = None,
        action_labels: Sequence[ActionLabel] | None = None,
    ) -> "Log":
        """A log of a pandas, polars or pyarrow frame.

        With `schema` and `action_labels` of a model, the table is read as that model saw its own log.

        >>> table = {"age": [31, 54, None, 47], "dose": ["low", "high", "low", "high"], "outcome": [1, 0, 1, 1]}
        >>> log = Log.from_frame(table, action="dose", reward="outcome")
        >>> len(log), log.action_labels, log.observed[:, 0].tolist()
        (4, ('high', 'low'), [True, True, False, True])
        """
        table = to_table(frame)
        roles = _roles(table, action, reward, propensity, minimum_rows=2 if schema is None else 1)
        ignored = [ignore] if isinstance(ignore, str) else list(ignore)
        cells = read_actions(table, action)
        rewards, notes = _rewards(table, reward, minimize)
        labels = tuple(action_labels) if action_labels is not None else label_actions(cells, np.isfinite(rewards))
        actions, unknown = action_codes(cells, labels, known_to_model=action_labels is not None)
        notes += unknown
        propensities, noticed = _propensities(table, propensity, actions) if propensity else (None, [])
        notes += noticed
        learning = schema is None
        if schema is None:
            schema, inferred = Schema.infer(table, kinds, [*roles, *(name for name in ignored if name not in roles)])
            encoded = schema.encode(table)
            notes = [*inferred, *notes]
        else:
            encoded = schema.encode(table)
            notes += _flag_notes(encoded.flags)
        log = cls(
            *(schema, encoded.values, encoded.observed, actions, rewards, labels, propensities, minimize),
            roles=Roles(action, reward, propensity),
            source=frame,
            positions=np.arange(table.rows),
        )
        notes += _row_notes(log, action, reward, "; they still teach how the features hang together" * learning)
        return replace(log, notes=tuple(notes))

    def take(self, index: Any) -> "Log":
        """The rows of an integer or boolean index, in its order."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return replace(self, **{name: array[index] for name, array in arrays.items() if array is not None})

    def split(self, share: float, seed: int = 0) -> tuple["Log", "Log"]:
        """Two logs with `share` and the rest of the rows at random, each in the original order."""
        require(is_number(share) and 0 < share < 1, "Log.split", "share", "be between 0 and 1", share)
        require(is_whole(seed), "Log.split", "seed", "be a whole number of at least 0", seed)
        require(len(self) >= 2, "Log.split", "log", "have at least two rows", len(self))
        first = min(max(round(share * len(self)), 1), len(self) - 1)
        order = np.random.default_rng(seed).permutation(len(self))
        return self.take(np.sort(order[:first])), self.take(np.sort(order[first:]))

    @property
    def encoded(self) -> Encoded:
        """The records in encoded space, as deciding takes them; reading a log leaves no flags on its rows."""
        return Encoded(self.values, self.observed, [""] * len(self))

    def cases(self) -> Any:
        """What was known about each row, as the kind of frame it was read from: all columns but action and outcome.

        >>> log = Log.from_frame({"age": [31, 54], "dose": ["a", "b"], "died": [0, 1]}, action="dose", reward="died")
        >>> log.take([1]).cases()["age"].to_list()
        [54]
        """
        told = (self.roles.action, self.roles.reward, self.roles.propensity)
        if self.source is None or self.positions is None:
            return like(None, self.schema.decode(np.where(self.observed, self.values, np.nan)))
        return take_rows(self.source, self.positions, without=told)

    def fingerprints(self) -> np.ndarray:
        """A number per row with action and reward that equal rows share: to notice rows that a model has seen."""
        used = self.rewarded
        if not used.any():
            return np.zeros(0, np.uint64)
        arrays = (self.values, self.observed, self.actions.astype(np.int64), self.rewards.astype(np.float64))
        cells = [np.ascontiguousarray(array[used]).reshape(int(used.sum()), -1).view(np.uint8) for array in arrays]
        return np.array(
            [int.from_bytes(blake2b(row.tobytes(), digest_size=8).digest()) for row in np.concatenate(cells, axis=1)],
            dtype=np.uint64,
        )

    def summary(self) -> LogSummary:
        """What `prudent inspect` prints: kinds, gaps, actions with their mean rewards, notes."""
        gaps = 1 - self.observed.mean(axis=0)
        columns = tuple(
            ColumnSummary(column.name, column.kind, float(gap), column.description)
            for column, gap in zip(self.schema.columns, gaps, strict=True)
        )
        actions = []
        for code, label in enumerate(self.action_labels):
            rewards = self.rewards[self.rewarded & (self.actions == code)]
            mean = self.sign * float(rewards.mean()) if len(rewards) else float("nan")
            actions.append(ActionSummary(label, len(rewards), mean))
        return LogSummary(len(self), int(self.rewarded.sum()), columns, tuple(actions), self.notes)


def read_log(path: str | PathLike[str], *, action: str, reward: str, **reading: Any) -> Log:
    """Read a log from a csv, parquet or arrow file; the settings are those of `Log.from_frame`."""
    return Log.from_frame(read_table(path), action=action, reward=reward, **reading)


def _roles(table: Table, action: str, reward: str, propensity: str | None, minimum_rows: int) -> list[str]:
    roles = {"action": action, "reward": reward} | ({"propensity": propensity} if propensity is not None else {})
    for role, name in roles.items():
        table.find(name, f"the {role}")
        shared = [other for other, column in roles.items() if column == name and other != role]
        if shared:
            raise InputProblem(f"Column '{name}' cannot be both the {role} and the {shared[0]}; name two columns.")
    if table.rows < minimum_rows:
        count = "no rows" if table.rows == 0 else "one row"
        raise InputProblem(f"The table has {count}; a log to learn from needs more, at least two actions with rewards.")
    return list(roles.values())


def _rewards(table: Table, name: str, minimize: bool) -> tuple[np.ndarray, list[str]]:
    numbers = read_numbers(table, name, "reward")
    infinite = int(np.isinf(numbers).sum())
    notes = [f"Reward '{name}' is infinite in {_rows(infinite)}: treated as none."] if infinite else []
    finite = np.where(np.isfinite(numbers), numbers, np.nan)
    if not np.isfinite(finite).any():
        raise InputProblem(f"Reward column '{name}' has no number in any row; a log needs rows with known rewards.")
    return (-finite if minimize else finite), notes


def _propensities(table: Table, name: str, actions: np.ndarray) -> tuple[np.ndarray, list[str]]:
    numbers = read_numbers(table, name, "propensity")
    wrong = ~np.isnan(numbers) & ~((numbers > 0) & (numbers <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputProblem(
            f"Propensity column '{name}' holds {numbers[row]:g} in {row_name(row)}, and the probability of an action "
            f"that was taken is above 0 and at most 1; correct it, or leave the cell empty."
        )
    absent = int((np.isnan(numbers) & (actions >= 0)).sum())
    return numbers, [f"Propensity '{name}' is empty in {_rows(absent)} of those with an action."] if absent else []


def _row_notes(log: Log, action: str, reward: str, but: str) -> list[str]:
    if not log.rewarded.any():
        raise InputProblem(
            f"No row has both an action in '{action}' and a reward in '{reward}'; a log needs rows with both."
        )
    lacking = {
        f"action in '{action}' that can be used": int((log.actions < 0).sum()),
        f"reward in '{reward}'": int(np.isnan(log.rewards).sum()),
    }
    return [
        f"{_rows(count)} {'has' if count == 1 else 'have'} no {what}{but}." for what, count in lacking.items() if count
    ]


def _flag_notes(flags: list[str]) -> list[str]:
    flagged = [flag for flag in flags if flag]
    if not flagged:
        return []
    return [f"{_rows(len(flagged))} hold what the model's log did not, the first being: {flagged[0]}."]


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
