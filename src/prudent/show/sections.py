"""What a command prints, as a list of sections."""

from typing import NamedTuple

from prudent.show.tables import TextTable


class Section(NamedTuple):
    """A part of a report: a title, a table, sentences around it, and a list of sentences; each may be missing."""

    title: str = ""
    table: TextTable | None = None
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    introduction: tuple[str, ...] = ()
    """Sentences above the table."""
