"""Log: logged decisions as arrays. What was known, what was done, how it turned out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike
from typing import Any

import numpy as np

from prudent.errors import InputProblem, check, number, require, whole
from prudent.show import log_fragment, plain_types
from prudent.table.cells import as_numbers, stray_count
from prudent.table.censored import read_censored
from prudent.table.files import read_with_notes
from prudent.table.frames import Table, frame_like, take_rows, to_table
from prudent.table.gap_marks import gap_mark_notes, marks_in
from prudent.table.groups import first_groups, read_groups
from prudent.table.kind_overrides import KindOverride, labelled_columns
from prudent.table.log_summary import ActionSummary, ColumnSummary, LogSummary
from prudent.table.missing_values import EVERY_COLUMN, Missing, missing_by_column, several_texts
from prudent.table.odd_cells import read_both
from prudent.table.rewards import read_role_numbers
from prudent.table.role_columns import (
    ActionLabel,
    Roles,
    action_codes,
    count_rows,
    label_actions,
    read_actions,
    read_propensities,
)
from prudent.table.schema import Encoded, Schema
from prudent.table.separated import Faithful
from prudent.table.sources.part import Part
from prudent.table.sources.place import Place
from prudent.table.sources.text import TextFormat
from prudent.table.weighted_reward import Weights, as_text

_SPLIT_RULES = {"share": number(0, 1, "()"), "seed": whole()}
_ARRAYS = ("values", "observed", "actions", "rewards", "propensities", "positions", "groups", "censored")


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Logged decisions in encoded space; arrays are read-only.

    `actions` index `action_labels`, -1 where none is recorded; `rewards` are NaN where there is none, and higher is
    always better here: with `minimize` their sign is flipped, see `sign`. `propensities` are logged probabilities of
    the action that was taken. Rows without action or reward are kept, since they still teach how features are related.
    `source` is the table that the log was read from, and `positions` are its rows in it: see `cases`.
    `groups` are numbers that rows of one group share, such as visits of one patient: they stay on one side of every
    split. `censored` marks rows whose outcome was not seen since follow-up ended; their rewards are NaN, too.
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
    groups: np.ndarray | None = None
    censored: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is not None:
                view = np.asarray(array).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return (
            f"<Log: {count_rows(len(self))}, {int(self.rewarded.sum())} with action and reward, "
            f"{len(self.schema)} columns, {len(self.action_labels)} actions>"
        )

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return log_fragment(plain_types(self.summary()))

    @property
    def sign(self) -> float:
        """-1 where lower outcomes are better: `rewards` times the sign are the outcomes as the user wrote them."""
        return -1.0 if self.minimize else 1.0

    @property
    def rewarded(self) -> np.ndarray:
        """Rows that have both an action and a reward."""
        return (self.actions >= 0) & np.isfinite(self.rewards)

    @property
    def followed(self) -> np.ndarray:
        """Rows with an action whose outcome is known or censored: all that an evaluation is about."""
        return self.rewarded if self.censored is None else self.rewarded | ((self.actions >= 0) & self.censored)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        action: str,
        reward: str | Weights,
        propensity: str | None = None,
        group: str | None = None,
        censored: str | None = None,
        kinds: Mapping[str, KindOverride] | None = None,
        ignore: Iterable[str] = (),
        missing: Missing = (),
        not_missing: Missing = (),
        minimize: bool = False,
        schema: Schema | None = None,
        action_labels: Sequence[ActionLabel] | None = None,
    ) -> "Log":
        """A log of a pandas, polars or pyarrow frame.

        `reward` is a column or a weighted sum, as in "survival - 0.1*days" or {"survival": 1, "days": -0.1}.
        `group` names the column that says which rows belong together, such as the patient of a visit; `censored` the
        column that is true (or 1) where follow-up ended before the outcome was seen.
        `missing` declares values to be gaps, such as 999: for all columns, as in [999], or by column or pattern, as in
        {"age": 999}; `not_missing` declares texts to be values that look like gaps, as in {"arm": "None"}. With
        `schema` and `action_labels` of a model, the table is read as the model's log was.

        >>> table = {"age": [31, 54, None, 47], "dose": ["low", "high", "low", "high"], "outcome": [1, 0, 1, 1]}
        >>> log = Log.from_frame(table, action="dose", reward="outcome")
        >>> len(log), log.action_labels, log.observed[:, 0].tolist()
        (4, ('high', 'low'), [True, True, False, True])
        """
        table, reward = to_table(frame), as_text(reward)
        roles = Roles.of(table, action, reward, propensity, group, censored)
        roles.check(table, fewest_rows=2 if schema is None else 1)
        table = table.with_missing(missing_by_column(missing, table), missing_by_column(not_missing, table))
        roles = roles.with_missing_of(table)
        cells, notes = read_actions(table, action, action_labels or ())
        ignored = [ignore] if isinstance(ignore, str) else list(ignore)
        left_out = [*roles.names, *(name for name in ignored if name not in roles.names)]
        (outcomes, reward_notes), (known, inferred) = read_both(
            lambda: read_role_numbers(table, roles),
            lambda: Schema.infer(table, kinds, left_out) if schema is None else (schema, ()),
        )
        groups, group_notes = (None, []) if group is None else read_groups(table, group, to_learn=schema is None)
        hidden, censored_notes = (None, []) if censored is None else read_censored(table, censored, outcomes)
        outcomes = outcomes if hidden is None else np.where(hidden, np.nan, outcomes)
        if action_labels is None:
            marks = marks_in(table.source(action), table.values_like_gaps(action))
            labels = label_actions(cells, np.isfinite(outcomes), gap_mark_notes({action: marks}))
        else:
            labels = tuple(action_labels)
        actions, unknown = action_codes(cells, labels, known_to_model=action_labels is not None)
        propensities = None
        gap_notes = _gap_notes(table, ignored, roles, known) if schema is None else []
        notes = [*gap_notes, *inferred, *notes, *reward_notes, *unknown, *group_notes, *censored_notes]
        if propensity:
            propensities, propensity_notes = read_propensities(table, propensity, actions)
            notes += propensity_notes
        encoded = known.encode(table)
        held = np.clip(encoded.values, *np.array([column.farthest_encoded for column in known.columns], np.float32).T)
        notes += encoded.notes
        consequence = "; they still teach how the features are related"
        if schema is not None:
            notes += _flag_notes(encoded.flags)
            consequence = ""
        log = cls(
            *(known, held, encoded.observed, actions, outcomes, labels, propensities, minimize),
            roles=roles,
            source=frame,
            positions=np.arange(table.rows),
            groups=groups,
            censored=hidden,
        )
        notes += _row_notes(log, action, reward, consequence)
        return replace(log, rewards=log.sign * outcomes, notes=tuple(notes))

    def take(self, index: Any) -> "Log":
        """The rows of an integer or boolean index, in its order."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return replace(self, **{name: array[index] for name, array in arrays.items() if array is not None})

    def split(self, share: float, seed: int = 0) -> tuple["Log", "Log"]:
        """Two logs with `share` and the rest of the rows at random, each in the original order.

        The rows of a group are all in one of them.
        """
        check("Log.split", _SPLIT_RULES, {"share": share, "seed": seed})
        require(len(self) >= 2, "Log.split", "log", "have at least two rows", len(self))
        first = min(max(round(share * len(self)), 1), len(self) - 1)
        if self.groups is not None:
            chosen = first_groups(self.groups, first, np.random.default_rng(seed))
            require(0 < chosen.sum() < len(self), "Log.split", "log", "have at least two groups", 1)
            return self.take(chosen), self.take(~chosen)
        order = np.random.default_rng(seed).permutation(len(self))
        return self.take(np.sort(order[:first])), self.take(np.sort(order[first:]))

    @property
    def encoded(self) -> Encoded:
        """The records in encoded space, as deciding takes them; reading a log leaves no flags on its rows."""
        return Encoded(self.values, self.observed, [""] * len(self))

    def cases(self) -> Any:
        """What was known about each row, as the same kind of frame as the source: all columns without a role.

        >>> log = Log.from_frame({"age": [31, 54], "dose": ["a", "b"], "died": [0, 1]}, action="dose", reward="died")
        >>> log.take([1]).cases()["age"].to_list()
        [54]
        """
        if self.source is None or self.positions is None:
            return frame_like(None, self.schema.decode(np.where(self.observed, self.values, np.nan)))
        return take_rows(self.source, self.positions, without=self.roles.names)

    def fingerprints(self) -> np.ndarray:
        """A hash per row with action and reward, equal for equal rows: to recognise rows that a model was fitted on."""
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


def read_log(
    path: str | PathLike[str] | Place,
    *,
    action: str,
    reward: str | Weights,
    table: str | None = None,
    query: str | None = None,
    sheet: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    **reading: Any,
) -> Log:
    """Read a log from a file, a folder or a database; `table` to `encoding` are those of `read_table`, and the other
    options are those of `Log.from_frame`."""
    values = reading.get("not_missing", ())
    kept = values if isinstance(values, Mapping) else {EVERY_COLUMN: values}
    texts = labelled_columns(reading.get("kinds") or {})
    faithful = Faithful(texts, (action,), {str(name): several_texts(cells) for name, cells in kept.items()})
    frame, notes = read_with_notes(path, TextFormat(sep, decimal, encoding), faithful, Part(table, query, sheet))
    log = Log.from_frame(frame, action=action, reward=reward, **reading)
    return replace(log, notes=(*notes, *log.notes))


def _gap_notes(table: Table, ignored: Sequence[str], roles: Roles, schema: Schema) -> list[str]:
    """Which texts were read as gaps; among numbers they cannot be anything else."""
    categories = {column.name: column.categories for column in schema.columns}
    marks: dict[bool, dict[str, dict[str, int]]] = {False: {}, True: {}}
    for name in table.names:
        if name in ignored:
            continue
        source = table.source(name)
        found = marks_in(source, (*table.values_like_gaps(name), *categories.get(name, ())))
        if found:
            cells = table.cells(name)
            numbers = name in (*roles.reward_columns, roles.propensity) or stray_count(cells, as_numbers(cells)) == 0
            marks[not numbers or name == roles.action][name] = found
    return [note for may_be in (True, False) for note in gap_mark_notes(marks[may_be], may_be_values=may_be)]


def _row_notes(log: Log, action: str, reward: str, consequence: str) -> list[str]:
    if not log.rewarded.any():
        raise InputProblem(
            f"No row has both an action in '{action}' and a reward in '{reward}'; a log needs rows with both."
        )
    expected = log.rewards if log.censored is None else log.rewards[~log.censored]
    lacking = {
        f"action in '{action}' that can be used": int((log.actions < 0).sum()),
        f"reward in '{reward}'": int(np.isnan(expected).sum()),
    }
    return [
        f"{count_rows(count)} {'has' if count == 1 else 'have'} no {what}{consequence}."
        for what, count in lacking.items()
        if count
    ]


def _flag_notes(flags: list[str]) -> list[str]:
    flagged = [flag for flag in flags if flag]
    if not flagged:
        return []
    return [f"{count_rows(len(flagged))} hold values that the model's log did not; the first: {flagged[0]}."]
