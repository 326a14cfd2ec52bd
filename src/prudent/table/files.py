"""Files in: csv, tsv, parquet and arrow."""

import codecs
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem, Rule, check, optional
from prudent.table.separated import Faithful, SeparatedText, typed

SEPARATED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
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


def read_table(
    path: str | PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: Iterable[str] = (),
) -> pl.DataFrame:
    """Read a csv (also tsv, and either with .gz), parquet or arrow (feather, ipc) file; the ending says which.

    sep, decimal, encoding: how a csv or tsv file is written. Default: what it looks like (see `TextFormat`).
    text: columns of such a file, or patterns of them, that stay text even if they hold nothing but numbers. Codes with
    leading zeros and numbers of 16 digits and more do so by themselves.
    """
    names = (text,) if isinstance(text, str) else tuple(text)
    return read_with_notes(path, TextFormat(sep, decimal, encoding), Faithful(names))[0]


def read_with_notes(
    path: str | PathLike[str], written: TextFormat, faithful: Faithful = Faithful()
) -> tuple[pl.DataFrame, list[str]]:
    """The table, and what was guessed about the way it is written."""
    if not isinstance(path, str | PathLike):
        raise InputProblem(
            f"A file is read from its path, and this is a {type(path).__name__}; a table that is already in memory, of "
            f"pandas or polars, goes straight into Log.from_frame(frame, action=..., reward=...)."
        )
    file = Path(path)
    ending = file.name.lower()
    if not ending.endswith((*SEPARATED, *PARQUET, *ARROW)):
        raise InputProblem(
            f"'{file}' must end in .csv, .tsv, .parquet or .arrow (also .pq, .feather, .ipc); "
            f"save the table as one of these."
        )
    if not file.is_file():
        raise InputProblem(f"There is no file '{file}'; check the path.")
    try:
        if ending.endswith(SEPARATED):
            return _read_separated(file, written, faithful)
        frame = pl.read_parquet(file, glob=False) if ending.endswith(PARQUET) else pl.read_ipc(file)
    except pl.exceptions.NoDataError as problem:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.") from problem
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error) as problem:
        reason = str(problem).strip().splitlines()[0].rstrip(".")
        raise InputProblem(
            f"'{file}' cannot be read ({reason}); check that it is an undamaged {file.suffix} file."
        ) from problem
    return _require_columns(file, frame), []


def read_as_text(path: str | PathLike[str], names: Sequence[str], written: TextFormat) -> pl.DataFrame | None:
    """Columns of a csv or tsv file as the text in it; None for formats that store types."""
    file = Path(path)
    if not file.name.lower().endswith(SEPARATED):
        return None
    return SeparatedText.of(file, written.separator, written.encoding).texts().select(names)


def _read_separated(file: Path, written: TextFormat, faithful: Faithful) -> tuple[pl.DataFrame, list[str]]:
    text = SeparatedText.of(file, written.separator, written.encoding)
    notes = text.row_notes(file, len(text.names()))
    frame, typing_notes = typed(text.texts(), written.decimal, faithful)
    usual = "\t" if file.name.lower().endswith((".tsv", ".tsv.gz")) else ","
    guessed = written.sep is None and text.separator != usual
    notes = [f"The columns of '{file.name}' are separated by {text.separator!r}."] * guessed + notes
    return _require_columns(file, frame), [*notes, *typing_notes]


def _require_columns(file: Path, frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.")
    return frame
