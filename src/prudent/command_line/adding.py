"""`prudent journal add`: actions taken and outcomes from a table into the journal."""

import math
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import polars as pl

from prudent.command_line.screen import screen, sentence, show
from prudent.errors import InputProblem
from prudent.journal import Journal, Known
from prudent.show import Section, counted
from prudent.table import (
    Faithful,
    Part,
    Place,
    TextFormat,
    did_you_mean,
    read_numbers,
    read_with_notes,
    row_name,
    to_table,
)


@dataclass(frozen=True)
class Columns:
    """Where the table has what. action, reward: None where it has none."""

    id: str
    action: str | None
    reward: str | None

    def check(self, frame: pl.DataFrame) -> None:
        if self.action is None and self.reward is None:
            raise InputProblem(
                "There is nothing to add; name the column of the actions with --action or of the "
                "outcomes with --reward, or both."
            )
        for name in filter(None, (self.id, self.action, self.reward)):
            if name not in frame.columns:
                raise InputProblem(f"The table has no column '{name}'. {did_you_mean(name, frame.columns)}")


def add_to_journal(
    place: Place, table: Place, columns: Columns, correct: bool, written: TextFormat, part: Part
) -> None:
    as_text = Faithful((columns.id, *([] if columns.action is None else [columns.action])))
    frame, notes = read_with_notes(table, written, as_text, part)
    show([Section(sentences=tuple(notes))], stderr=True)
    columns.check(frame)
    ids = [_id(cell, row) for row, cell in enumerate(frame[columns.id].to_list())]
    cells = to_table(frame)
    actions = [None] * len(ids) if columns.action is None else cells.cells(columns.action).to_list()
    numbers = [None] * len(ids) if columns.reward is None else read_numbers(cells, columns.reward, "outcome").tolist()
    rewards = [None if number is None or math.isnan(number) else number for number in numbers]
    known = [Known(*one) for one in zip(ids, actions, rewards, strict=True)]
    with Journal.open(place, must_exist=True) as journal:
        journal.add(known, correct)
    counts = counted(_present(actions), "action"), counted(_present(rewards), "outcome")
    sentence(screen(stderr=True), f"{' and '.join(counts)} of {counted(len(known), 'row')} are in {place}.")


def _present(cells: list[Any]) -> int:
    return sum(cell is not None for cell in cells)


def _id(cell: Any, row: int) -> str:
    """As the journal has it; with or without hyphens."""
    try:
        return UUID(str(cell)).hex
    except ValueError:
        raise InputProblem(
            f"The id in {row_name(row)} is {str(cell)!r:.80}, and those of a journal are 32 hexadecimal digits, with "
            f"or without hyphens; name their column with --id."
        ) from None
