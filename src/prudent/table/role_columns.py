"""The columns of a log that are not features: the action, the reward and, if any, the propensity, the group and whether
the outcome is censored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import as_labels, as_numbers, closest_name, label_text, natural_order, row_name, stray_count
from prudent.table.columns import Column
from prudent.table.frames import Table
from prudent.table.missing_codes import MissingCode, missing_codes
from prudent.table.number_texts import best_reading
from prudent.table.odd_cells import OddCells, odd_cells_problem
from prudent.table.reading_notes import spelling_notes
from prudent.table.spellings import by_number, one_spelling, positions
from prudent.table.weighted_reward import is_sum, weighted_sum

ActionLabel = str | int | float | bool

MOST_ACTIONS = 200


@dataclass(frozen=True)
class Roles:
    """Which columns hold the action, the reward and, if any, the logged probability of the action, which rows belong
    together, and whether the outcome is censored.

    `missing` are pairs of such a column and a value in it that was declared to be a gap. `parts` are the columns of a
    reward that is a weighted sum, such as "survival - 0.1*days".
    """

    action: str = "action"
    reward: str = "reward"
    propensity: str | None = None
    missing: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()
    group: str | None = None
    censored: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "missing", tuple((str(name), str(value)) for name, value in self.missing))

    @staticmethod
    def of(
        table: Table, action: str, reward: str, propensity: str | None, group: str | None, censored: str | None
    ) -> "Roles":
        """With the columns of the table that the reward is the sum of, where it is one."""
        return Roles(action, reward, propensity, parts=_parts(reward, table), group=group, censored=censored)

    def with_missing_of(self, table: Table) -> "Roles":
        """With the values that the table declares to be gaps."""
        pairs = [(name, value) for name in self.names for value in table.missing.get(name, ())]
        return replace(self, missing=tuple(pairs))

    @property
    def reward_columns(self) -> tuple[str, ...]:
        """The column of the reward, or those that it is the sum of."""
        return self.parts or (self.reward,)

    @property
    def by_role(self) -> dict[str, str]:
        """The columns that there are, by what they are."""
        reward = f"part '{{}}' of the reward '{self.reward}'" if self.parts else "reward"
        optional = {"propensity": self.propensity, "group": self.group, "censored": self.censored}
        given = {role: name for role, name in optional.items() if name is not None}
        return {"action": self.action} | {reward.format(name): name for name in self.reward_columns} | given

    @property
    def names(self) -> list[str]:
        return list(self.by_role.values())

    def missing_values(self) -> dict[str, list[str]]:
        """The values declared to be gaps, by column."""
        return {name: [value for column, value in self.missing if column == name] for name in self.names}

    def check(self, table: Table, fewest_rows: int) -> None:
        """Refuse a table without these columns, one column in two roles, or too few rows."""
        roles = self.by_role
        for role, name in roles.items():
            table.find(name, "whether the outcome is censored" if role == "censored" else f"the {role}")
            shared = [other for other, column in roles.items() if column == name and other != role]
            if shared:
                raise InputProblem(f"Column '{name}' cannot be both the {role} and the {shared[0]}; name two columns.")
        if table.rows < fewest_rows:
            count = "no rows" if table.rows == 0 else "one row"
            raise InputProblem(
                f"The table has {count}; a log to learn from needs more, at least two actions with rewards."
            )


def _parts(reward: str, table: Table) -> tuple[str, ...]:
    """The columns of a weighted sum; none where the text is the name of a column, or is not meant as a sum."""
    if reward in table.names or not is_sum(reward):
        return ()
    misspelled = closest_name(reward, table.names) is not None
    try:
        columns = weighted_sum(reward).columns
    except InputProblem:
        if misspelled:
            return ()
        raise
    return columns if set(columns) & set(table.names) or not misspelled else ()


def read_numbers(table: Table, name: str, role: str) -> np.ndarray:
    """A column of numbers as float64, NaN in gaps; true and false are 1 and 0."""
    cells = table.cells(name)
    numbers = as_numbers(cells, reading_of(cells))
    strays = stray_count(cells, numbers)
    if strays == 0:
        return numbers.fill_null(np.nan).to_numpy()
    odd = OddCells.of(f"{role} column '{name}' must hold numbers", cells, numbers, otherwise=None)
    if strays <= (len(cells) - cells.null_count()) / 2 and odd.options:
        raise odd_cells_problem([odd])
    raise InputProblem(
        f"{role.capitalize()} column '{name}' must hold numbers, but {row_name(odd.rows[0] - 1)} holds "
        f"{odd.values[0]!r}; turn it into numbers or empty the cell."
    )


def reading_of(cells: pl.Series) -> str:
    """How the texts of a column write decimals."""
    return best_reading(cells) if cells.dtype == pl.String else ""


def role_codes(table: Table, roles: Roles) -> list[MissingCode]:
    """Codes for gaps among the rewards and the actions that are numbers."""
    columns = [table.cells(name) for name in (roles.action, *roles.reward_columns)]
    numeric = [cells for cells in columns if cells.dtype != pl.Boolean and not cells.dtype.is_temporal()]
    return [code for cells in numeric for code in codes_among(cells)]


def codes_among(cells: pl.Series) -> list[MissingCode]:
    """Codes for gaps among the numbers of a column."""
    reading = reading_of(cells)
    if stray_count(cells, as_numbers(cells, reading)):
        return []
    return missing_codes(Column(cells.name, "real", reading=reading), cells)


def read_propensities(table: Table, name: str, actions: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Logged probabilities of the actions that were taken, NaN where there is none, and notes."""
    numbers = read_numbers(table, name, "propensity")
    wrong = ~np.isnan(numbers) & ~((numbers > 0) & (numbers <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputProblem(
            f"Propensity column '{name}' holds {numbers[row]:g} in {row_name(row)}, but the probability of an action "
            f"that was taken is above 0 and at most 1; correct it, or leave the cell empty."
        )
    absent = int((np.isnan(numbers) & (actions >= 0)).sum())
    certain, labels = int((numbers[actions >= 0] == 1).sum()), len(np.unique(actions[actions >= 0]))
    notes = [f"Propensity '{name}' is empty in {count_rows(absent)} of those with an action."] if absent else []
    if labels > 1 and certain and certain == int((~np.isnan(numbers[actions >= 0])).sum()):
        notes.append(
            f"Propensity '{name}' is 1 in every row, as if each action had been certain, although {labels} different "
            "ones were taken: then the log is silent about what another action would have done. Name the column with "
            "their probabilities, or leave it out to have them estimated."
        )
    elif certain:
        notes.append(
            f"Propensity '{name}' is 1 in {count_rows(certain)}: there no other action could be taken, so the log says "
            "nothing about others in such cases."
        )
    return numbers, notes


def read_actions(table: Table, name: str, labels: Iterable[ActionLabel] = ()) -> tuple[pl.Series, list[str]]:
    """The action cells with their type kept, gaps as null, each label in one spelling; and notes.

    Floats that are all whole become integers: a frame whose integers cannot have gaps turns 1 into 1.0. labels: those
    of a model; one of them may look like a gap.
    """
    cells = table.cells(name, [str(label) for label in labels])
    if cells.dtype.is_temporal():
        return cells.cast(pl.String), []
    if cells.dtype == pl.String:
        kept, others = one_spelling(cells)
        return kept, [note.sentence for note in spelling_notes(name, others)]
    if cells.dtype == pl.Boolean:
        return cells, []
    if not cells.dtype.is_float():
        return cells, [code.sentence for code in codes_among(cells)]
    cells = cells.set(cells.is_infinite().fill_null(False), None)
    if bool((cells == cells.round()).all()) and not bool((cells.abs() > 2**53).any()):
        cells = cells.cast(pl.Int64)
        return cells, [code.sentence for code in codes_among(cells)]
    _refuse_a_measurement(cells)
    return cells, [code.sentence for code in codes_among(cells)]


def _refuse_a_measurement(cells: pl.Series) -> None:
    present = cells.drop_nulls()
    if len(present) > 2 and present.n_unique() == len(present):
        raise InputProblem(
            f"Action column '{cells.name}' holds a different number in every row, such as {present[0]:g}; "
            f"bin it into a few actions first."
        )


def label_actions(cells: pl.Series, has_reward: np.ndarray, gap_notes: Sequence[str] = ()) -> tuple[ActionLabel, ...]:
    """The actions that occur with a reward, in natural order. gap_notes: which texts among them were read as gaps."""
    marks = "".join(f" {note}" for note in gap_notes)
    distinct = as_labels(cells).drop_nulls().n_unique()
    if distinct > MOST_ACTIONS:
        raise InputProblem(
            f"Action column '{cells.name}' holds {distinct} different actions, and {MOST_ACTIONS} is the most; "
            f"bin or group them first."
        )
    rows = pl.DataFrame({"key": as_labels(cells), "label": cells, "rewarded": has_reward})
    kept = rows.filter("rewarded").drop_nulls().group_by("key").agg(pl.col("label").min())["label"].to_list()
    if len(kept) == 0:
        raise InputProblem(
            f"No row has both an action in '{cells.name}' and a reward; a log needs rows with both.{marks}"
        )
    if len(kept) == 1:
        raise InputProblem(
            f"Action column '{cells.name}' holds only {kept[0]!r} where there is a reward, so there is nothing to "
            f"choose between; a log needs at least two actions.{marks}"
        )
    return tuple(sorted(kept, key=natural_order))


def action_codes(cells: pl.Series, labels: Sequence[ActionLabel], known_to_model: bool) -> tuple[np.ndarray, list[str]]:
    """Indices into `labels`, -1 for gaps and for actions that are not among them, with a note on the latter."""
    keys = as_labels(cells)
    known = [label_text(label) for label in labels]
    codes = positions(keys, known)
    unread = (keys.is_not_null() & codes.is_null()).arg_true()
    codes = codes.scatter(unread, by_number(keys.gather(unread), known))
    left_out = keys.filter(codes.is_null()).drop_nulls().value_counts(name="rows", sort=True)
    notes = [_left_out_note(left_out, known_to_model)] if len(left_out) else []
    return codes.fill_null(-1).to_numpy().astype(np.int32), notes


def _left_out_note(left_out: pl.DataFrame, known_to_model: bool) -> str:
    shown = ", ".join(f"'{label}' ({count_rows(rows)})" for label, rows in left_out.head(6).iter_rows())
    more = f" and {len(left_out) - 6} more" if len(left_out) > 6 else ""
    why = "unknown to the model" if known_to_model else "never with a reward, so nothing can be learnt about it"
    return f"Action {shown}{more} is {why}: read as no action."


def count_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
