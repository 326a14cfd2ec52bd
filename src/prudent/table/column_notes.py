"""What was noticed about the columns of a log: sentences that can be read through even where columns are many."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_ALIKE = 5


@dataclass(frozen=True)
class Note:
    """A sentence on one column; `of_many` says the same of several at once, after "12 columns ('a', 'b' …)"."""

    column: str
    sentence: str
    of_many: str


def told(notes: Sequence[Note]) -> tuple[str, ...]:
    """The sentences in order; more than a few that say the same become one, where the first of them stood.

    >>> told([Note(f"p{i}", f"Column 'p{i}' is empty: dropped.", "are empty: dropped.") for i in range(9)])
    ("9 columns ('p0', 'p1', 'p2' …) are empty: dropped.",)
    """
    alike: dict[str, list[Note]] = {}
    for note in notes:
        alike.setdefault(note.of_many, []).append(note)
    sentences: dict[str, None] = {}
    for note in notes:
        names = [one.column for one in alike[note.of_many]]
        sentences[note.sentence if len(names) <= MOST_ALIKE else f"{several(names)} {note.of_many}"] = None
    return tuple(sentences)


def several(names: Sequence[str]) -> str:
    """How many columns, and the first few by name.

    >>> several(["age"]), several(["a", "b", "c", "d"])
    ("1 column ('age')", "4 columns ('a', 'b', 'c' …)")
    """
    shown = ", ".join(repr(name) for name in names[:3]) + (" …" if len(names) > 3 else "")
    return f"{len(names)} column{'s' if len(names) > 1 else ''} ({shown})"
