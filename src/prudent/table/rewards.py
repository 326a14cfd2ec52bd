"""The rewards of a log, from one column or several: numbers, or yes and no, with notes on how they were read."""

import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import as_numbers, row_name
from prudent.table.extremes import usual_range
from prudent.table.frames import Table
from prudent.table.odd_cells import read_both
from prudent.table.reading_notes import number_notes
from prudent.table.role_columns import Roles, codes_among, count_rows, read_numbers, reading_of
from prudent.table.weighted_reward import weighted_sum
from prudent.table.yes_or_no import yes_or_no

LARGEST_REWARD = 1e30


def read_role_numbers(table: Table, roles: Roles) -> tuple[np.ndarray, list[str]]:
    """The rewards and notes on them, as `read_rewards`; odd cells of the propensity are found along with theirs."""
    propensity = roles.propensity
    return read_both(
        lambda: read_rewards(table, roles),
        lambda: None if propensity is None else read_numbers(table, propensity, "propensity"),
    )[0]


def read_rewards(table: Table, roles: Roles) -> tuple[np.ndarray, list[str]]:
    """The rewards as the user wrote them, NaN where there is none, and notes."""
    read = {name: _read_outcomes(table, name) for name in roles.reward_columns}
    columns = {name: numbers for name, (numbers, _) in read.items()}
    notes = [note for _, found in read.values() for note in found]
    codes = [code.sentence for name in read for code in codes_among(table.cells(name))]
    rewards = weighted_sum(roles.reward).of(columns) if roles.parts else columns[roles.reward]
    if roles.parts:
        notes.append(_sum_note(roles, columns))
    _refuse_absurd(roles.reward, rewards)
    if not np.isfinite(rewards).any():
        together = " in all of its parts" if roles.parts else ""
        raise InputProblem(
            f"Reward column '{roles.reward}' has no number in any row{together}; a log needs rows with known rewards."
        )
    notes += codes
    return rewards, notes + ([] if codes else _extreme_rewards(roles.reward, rewards[np.isfinite(rewards)]))


def _read_outcomes(table: Table, name: str) -> tuple[np.ndarray, list[str]]:
    """One column of outcomes: numbers, or two words of which one means yes; and notes."""
    cells = table.cells(name)
    answers = yes_or_no(cells)
    if answers is not None:
        return answers.numbers, [answers.note]
    _refuse_other_words(cells)
    numbers = read_numbers(table, name, "reward")
    infinite = int(np.isinf(numbers).sum())
    notes = [note.sentence for note in number_notes(name, cells, reading_of(cells))]
    notes += [f"Reward '{name}' is infinite in {count_rows(infinite)}: treated as missing."] if infinite else []
    return np.where(np.isfinite(numbers), numbers, np.nan), notes


def _refuse_other_words(cells: pl.Series) -> None:
    """Two words of which nobody says which one is better."""
    words = cells.drop_nulls().unique().sort() if cells.dtype == pl.String else pl.Series([], dtype=pl.String)
    if len(words) == 2 and as_numbers(words).null_count() == 2:
        raise InputProblem(
            f"Reward column '{cells.name}' holds two words, '{words[0]}' and '{words[1]}', and nothing says which is "
            "which; write one of them as 1 and the other as 0, or as yes and no."
        )


def _sum_note(roles: Roles, columns: dict[str, np.ndarray]) -> str:
    """Which columns the reward is made of, and in how many rows a part of it is missing."""
    some = ~np.isnan(list(columns.values())).all(axis=0)
    gaps = {name: int((np.isnan(numbers) & some).sum()) for name, numbers in columns.items()}
    named = ", ".join(f"'{name}' in {count_rows(count)}" for name, count in gaps.items() if count)
    lacking = f" Where only a part is missing ({named}), so is the reward." if named else ""
    listed = ", ".join(f"'{name}'" for name in columns)
    return f"The reward is {roles.reward}: its columns {listed} are not among the features.{lacking}"


def _refuse_absurd(name: str, finite: np.ndarray) -> None:
    absurd = np.abs(finite) > LARGEST_REWARD
    if absurd.any():
        row = int(np.argmax(absurd))
        raise InputProblem(
            f"Reward column '{name}' holds {finite[row]:g} in {row_name(row)}, and rewards beyond {LARGEST_REWARD:g} "
            "cannot be computed with; correct or empty the cell, or use a larger unit."
        )


def _extreme_rewards(name: str, rewards: np.ndarray) -> list[str]:
    low, high = usual_range(rewards)
    extreme = rewards[(rewards < low) | (rewards > high)]
    if not len(extreme):
        return []
    return [
        f"Reward '{name}' is far from all others ({low:.6g} to {high:.6g}) in {count_rows(len(extreme))}, such as "
        f"{extreme[0]:.6g}: a fit counts it as the end of that range, widened by its width, but an evaluation in full. "
        "Correct or empty such cells if they are slips; leave them if they are right, as a few very large sums may be."
    ]
