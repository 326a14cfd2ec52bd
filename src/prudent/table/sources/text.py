"""Text files: csv and tsv, plain or compressed, one or the parts of one table in a folder."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem, Rule, check, optional
from prudent.table.separated import Faithful, SeparatedText, typed
from prudent.table.sources.packed import PACKED

TEXT_ENDINGS = tuple(f"{ending}{packed}" for ending in (".csv", ".tsv", ".txt") for packed in PACKED)
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


def _is_codec(name: object) -> bool:
    try:
        return isinstance(name, str) and codecs.lookup(name)._is_text_encoding
    except LookupError:
        return False


_RULES = {
    "sep": optional(
        Rule("be one character, as ';' or 'tab'", lambda sep: isinstance(sep, str) and len(_separator_of(sep)) == 1)
    ),
    "decimal": optional(Rule("be '.' or ','", (".", ",").__contains__)),
    "encoding": optional(Rule("be the name of an encoding, as 'utf-8', 'latin-1' or 'utf-16'", _is_codec)),
}


@dataclass(frozen=True)
class TextFormat:
    """How a csv or tsv file is written; None stands for what the file looks like. Other files know it themselves.

    sep: the character between columns. decimal: '.' or ','. encoding: as in Python, e.g. 'latin-1'.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        check("read_table", _RULES, vars(self))

    @property
    def separator(self) -> str | None:
        return None if self.sep is None else _separator_of(self.sep)


def _separator_of(sep: str) -> str:
    return NAMED_SEPARATORS.get(sep, sep)


def read_texts(files: Sequence[Path], written: TextFormat) -> tuple[pl.DataFrame, list[str]]:
    """The texts of a file, or of parts with the same columns one below the other, and what was seen in them."""
    tables, notes = [], []
    for file in files:
        text = SeparatedText.of(file, written.separator, written.encoding)
        notes += _separator_note(file, text.separator, written)
        notes += text.row_notes(file, len(text.names()))
        tables.append(text.texts())
        if set(tables[0].columns) != set(tables[-1].columns):
            raise InputProblem(
                f"'{file}' has the columns {tables[-1].columns}, and '{files[0]}' has {tables[0].columns}; parts of "
                f"one table must have the same."
            )
    return pl.concat([table.select(tables[0].columns) for table in tables]), list(dict.fromkeys(notes))


def read_separated(files: Sequence[Path], written: TextFormat, faithful: Faithful) -> tuple[pl.DataFrame, list[str]]:
    texts, notes = read_texts(files, written)
    frame, typing_notes = typed(texts, written.decimal, faithful)
    return frame, [*notes, *typing_notes]


def _separator_note(file: Path, separator: str, written: TextFormat) -> list[str]:
    usual = "\t" if file.name.lower().endswith(TEXT_ENDINGS[len(PACKED) : 2 * len(PACKED)]) else ","
    guessed = written.sep is None and separator != usual
    return [f"The columns of '{file.name}' are separated by {separator!r}."] * guessed
