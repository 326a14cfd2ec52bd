"""Tables of texts: for the terminal, and between the markers of a document."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table as RichTable

from prudent.errors import InputProblem

OURS, NONE = "◆", "–"
MARKERS = re.compile(r"(<!-- table: (.*?) -->\n)(.*?)(\n?<!-- end -->)", re.S)


@dataclass(frozen=True)
class Table:
    """Rows of texts under a header; the first column names the rows, and `title` is shown on the terminal only."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    title: str = ""

    def markdown(self) -> str:
        lines = [self.header, ("---", *("---:" for _ in self.header[1:])), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def rich(self) -> RichTable:
        table = RichTable(title=self.title or None)
        for index, column in enumerate(self.header):
            table.add_column(column, justify="right" if index else "left")
        for row in self.rows:
            table.add_row(*row)
        return table


Tables = Mapping[str, Callable[[Any], Table]]
"""By the name in their marker, each made from the stored results of one run."""


def filled(document: str, tables: Mapping[str, Callable[[], Table]]) -> str:
    """The document with every table between its markers written anew.

    >>> page = "<!-- table: one -->\\n<!-- end -->"
    >>> print(filled(page, {"one": lambda: Table(("a", "b"), [("x", "1")])}))
    <!-- table: one -->
    | a | b |
    | --- | ---: |
    | x | 1 |
    <!-- end -->
    """

    def written(marked: re.Match[str]) -> str:
        if marked[2] not in tables:
            known = ", ".join(f"'{name}'" for name in tables)
            raise InputProblem(f"There is no table '{marked[2]}' for this document. Its tables are: {known}.")
        return f"{marked[1]}{tables[marked[2]]().markdown()}\n<!-- end -->"

    return MARKERS.sub(written, document)


# --- texts of cells ---


def marked(name: str, group: str) -> str:
    """A row's name with the mark of its group: ours, or a limit that no method can pass."""
    return {"ours": f"{OURS} {name}", "limit": f"*{name}*"}.get(group, name)


def row_name(row: Mapping[str, Any]) -> str:
    return marked(row["name"], row["group"])


def number(value: float, digits: int = 3) -> str:
    """
    >>> number(-0.5)
    '−0.500'
    """
    return f"{value:.{digits}f}".replace("-", "−")


def bold(text: str, really: bool = True) -> str:
    return f"**{text}**" if really else text
