"""Notes on the columns of a log; the same note on many columns becomes one sentence."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

MOST_SEPARATE = 5
"""Up to this many columns get the same note one by one."""


@dataclass(frozen=True)
class ColumnNote:
    """A sentence on one column; `plural` says the same of several, following "12 columns ('a', 'b' …)"."""

    column: str
    sentence: str
    plural: str


def merged_sentences(notes: Sequence[ColumnNote]) -> tuple[str, ...]:
    """The sentences in order; more than a few that say the same become one, in the place of the first.

    >>> empty = [ColumnNote(f"p{i}", f"Column 'p{i}' is empty: dropped.", "are empty: dropped.") for i in range(9)]
    >>> merged_sentences(empty)
    ("9 columns ('p0', 'p1', 'p2' …) are empty: dropped.",)
    """
    columns: dict[str, list[str]] = {}
    for note in notes:
        columns.setdefault(note.plural, []).append(note.column)
    sentences: dict[str, None] = {}
    for note in notes:
        names = columns[note.plural]
        merged = len(names) > MOST_SEPARATE
        sentences[f"{count_and_names(names)} {note.plural}" if merged else note.sentence] = None
    return tuple(sentences)


def count_and_names(names: Sequence[str]) -> str:
    """How many columns, and the first few by name.

    >>> count_and_names(["age"]), count_and_names(["a", "b", "c", "d"])
    ("1 column ('age')", "4 columns ('a', 'b', 'c' …)")
    """
    shown = ", ".join(repr(name) for name in names[:3]) + (" …" if len(names) > 3 else "")
    return f"{len(names)} column{'s' if len(names) > 1 else ''} ({shown})"


def option(name: str, value: str) -> str:
    """An option that can be pasted into a command.

    >>> option("--ignore", "blood group")
    "--ignore 'blood group'"
    """
    return shlex.join((name, value))
