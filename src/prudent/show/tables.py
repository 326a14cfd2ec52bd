"""Tables of texts, drawn by rich for a terminal, a pipe or `print`. A table that is too wide becomes several."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from prudent.show.console import PlainConsole, printable

PRINTED_WIDTH = 100
"""Characters in a line of what `print` shows."""
WORDS_WIDTH = 28
"""Longer words are wrapped, so that they leave room for the numbers."""
BETWEEN_COLUMNS = 3


@dataclass(frozen=True)
class TextTable:
    """A table of texts; its first column names the rows. A heading may have several lines.

    words: headings of the columns that hold words, which are left-aligned and may wrap; all others hold numbers.
        Default: the first column.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[str] = ()

    def parts(self, width: int) -> list[TextTable]:
        """The same in tables of at most this width if possible; rich would cut the numbers. Each begins with the names.

        >>> table = TextTable(("policy", "value", "gain"), (("a", "1.25", "0.50"),))
        >>> [part.headings for part in table.parts(16)]
        [('policy', 'value'), ('policy', 'gain')]
        """
        groups = self._packed(width, most=len(self.headings) - 1)
        # of equal size if possible: the last table should not be left with a single column
        even = self._packed(width, most=-(-(len(self.headings) - 1) // len(groups)))
        return [self._only(group) for group in (even if len(even) == len(groups) else groups)]

    def _packed(self, width: int, most: int) -> list[list[int]]:
        """The numbers of the columns of each table, at most `most` beside the names."""
        names, *others = (self._width(column) for column in range(len(self.headings)))
        groups, used = [[0]], names
        for column, needed in enumerate(others, 1):
            full = used + BETWEEN_COLUMNS + needed > width or len(groups[-1]) > most
            if full and len(groups[-1]) > 1:
                groups.append([0])
                used = names
            groups[-1].append(column)
            used += BETWEEN_COLUMNS + needed
        return groups

    def _width(self, column: int) -> int:
        cells = [self.headings[column], *(row[column] for row in self.rows)]
        longest = max(cell_len(line) for cell in cells for line in cell.split("\n"))
        return min(longest, WORDS_WIDTH) if self.holds_words(column) else longest

    def holds_words(self, column: int) -> bool:
        """Whether a column holds words, not numbers."""
        return self.headings[column] in self.words if self.words else column == 0

    def _only(self, columns: Sequence[int]) -> TextTable:
        rows = tuple(tuple(row[column] for column in columns) for row in self.rows)
        return replace(self, headings=tuple(self.headings[column] for column in columns), rows=rows)

    def draw(self, console: Console) -> None:
        """On a console, in as many parts as its width needs."""
        for index, part in enumerate(self.parts(console.width)):
            if index:
                console.print()
            console.print(part._rich())

    def _rich(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for column, heading in enumerate(self.headings):
            if self.holds_words(column):
                table.add_column(heading, overflow="fold")
            else:
                table.add_column(heading, justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*(printable(cell, kept="") for cell in row))
        return table

    def text(self, width: int = PRINTED_WIDTH) -> str:
        """As lines without colours.

        >>> print(TextTable(("policy", "value"), (("a", "1.25"), ("best", "12.5"))).text())
        policy   value
        ──────────────
        a         1.25
        best      12.5
        """
        output = io.StringIO()
        self.draw(PlainConsole(file=output, width=width, color_system=None))
        return "\n".join(line.rstrip() for line in output.getvalue().splitlines())
