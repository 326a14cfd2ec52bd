"""Values that the user declares to be gaps, such as 999: in some columns, or in all."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from prudent.errors import InputProblem
from prudent.table.cells import label_text
from prudent.table.frames import Table

Missing = Mapping[str, Any] | Iterable[Any] | str | float
"""A value or several that are gaps in every column; or, by column or pattern of columns, a value or several."""

EVERY_COLUMN = "*"


def missing_by_column(missing: Missing, table: Table) -> dict[str, tuple[str, ...]]:
    """The declared values of every column that has some, in the spelling of `label_text`.

    >>> from prudent.table.frames import to_table
    >>> missing_by_column({"age": 999, "*": ["n.k."]}, to_table({"age": [1], "ward": ["a"]}))
    {'age': ('999', 'n.k.'), 'ward': ('n.k.',)}
    """
    declared = missing if isinstance(missing, Mapping) else {EVERY_COLUMN: missing}
    values: dict[str, dict[str, None]] = {name: {} for name in table.names}
    for name, cells in declared.items():
        for column in _columns(str(name), table):
            values[column] |= dict.fromkeys(map(label_text, _several(cells)))
    return {name: tuple(found) for name, found in values.items() if found}


def _columns(name: str, table: Table) -> list[str]:
    if name in table.sources:
        return [name]
    matching = [column for column in table.names if fnmatchcase(column, name)]
    return matching or [table.find(name, "to declare missing values of")]


def _several(cells: Any) -> list[Any]:
    return [cells] if isinstance(cells, str) or not isinstance(cells, Iterable) else list(cells)


def several_texts(cells: Any) -> list[str]:
    return [label_text(cell) for cell in _several(cells)]


def parse_missing(texts: Iterable[str]) -> dict[str, list[str]]:
    """Read the values of --missing or --not-missing on the command line.

    >>> parse_missing(["999", "age=-1", "age=old"])
    {'*': ['999'], 'age': ['-1', 'old']}
    """
    declared: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = (piece.strip() for piece in text.partition("="))
        if not equals:
            name, value = EVERY_COLUMN, name
        if not (name and value):
            raise InputProblem(f"A missing value must be written VALUE or COLUMN=VALUE. Got {text!r} instead.")
        declared.setdefault(name, []).append(value)
    return declared
