"""Files in: csv, tsv, parquet and arrow."""

import codecs
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import polars as pl

from prudent.errors import InputProblem, Rule, check, optional
from prudent.table.cells import first_stray, without_gaps, written_with_leading_zeros
from prudent.table.column_notes import count_and_names
from prudent.table.frames import refuse_repeated_names
from prudent.table.number_texts import COMMA, best_reading, number_spellings, numbers_from_text

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
    path: str | PathLike[str], *, sep: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> pl.DataFrame:
    """Read a csv (also tsv, and either with .gz), parquet or arrow (feather, ipc) file; the ending says which.

    sep, decimal, encoding: how a csv or tsv file is written. Default: what it looks like (see `TextFormat`).
    """
    return read_with_notes(path, TextFormat(sep, decimal, encoding))[0]


def read_with_notes(path: str | PathLike[str], written: TextFormat) -> tuple[pl.DataFrame, list[str]]:
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
            return _read_separated(file, written)
        frame = pl.read_parquet(file, glob=False) if ending.endswith(PARQUET) else pl.read_ipc(file)
    except pl.exceptions.NoDataError as problem:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.") from problem
    except (pl.exceptions.PolarsError, OSError, EOFError) as problem:
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
    content = _content(file, written.encoding)
    separator = written.separator or _likely_separator(content)
    return pl.read_csv(content, separator=separator, infer_schema=False).select(names)


# --- text ---


def _content(file: Path, encoding: str | None) -> bytes:
    """The file as UTF-8 without a byte order mark; a mark at its start says which encoding it has."""
    content = file.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    marked = next((name for mark, name in marks.items() if content.startswith(mark)), None)
    try:
        text = content.decode(marked or encoding or "utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        byte = f"byte {content[problem.start]:#04x} in line {line}"
        way_out = "try encoding='latin-1' or --encoding latin-1" if encoding is None else "name its encoding"
        raise InputProblem(
            f"'{file}' cannot be read as {marked or encoding or 'UTF-8'} ({byte}); {way_out}, or save it as UTF-8."
        ) from problem
    if "\0" in text[:1000]:
        raise InputProblem(
            f"'{file}' cannot be read as text in {encoding or 'UTF-8'}; if it is UTF-16, give its encoding: "
            f"--encoding utf-16-le."
        )
    return text.encode()


def _likely_separator(content: bytes) -> str:
    header = content.split(b"\n", 1)[0].decode()
    return max(",;\t", key=header.count)


def _read_separated(file: Path, written: TextFormat) -> tuple[pl.DataFrame, list[str]]:
    content = _content(file, written.encoding)
    separator = written.separator or _likely_separator(content)
    names = pl.read_csv(content, has_header=False, n_rows=1, separator=separator, infer_schema=False).row(0)
    refuse_repeated_names(name for name in names if name)
    has_commas = written.decimal == ","
    frame = pl.read_csv(content, separator=separator, infer_schema_length=None, infer_schema=not has_commas)
    frame = frame.with_columns(_numbers_despite_marks(cells, COMMA if has_commas else "") for cells in frame)
    guessed = written.sep is None and separator != ("\t" if file.name.lower().endswith((".tsv", ".tsv.gz")) else ",")
    notes = [f"The columns of '{file.name}' are separated by {separator!r}."] if guessed else []
    return _require_columns(file, frame), notes + ([] if written.decimal else _decimal_notes(frame))


def _decimal_notes(frame: pl.DataFrame) -> list[str]:
    """Where some columns have decimal commas, a point elsewhere may separate thousands."""
    commas = [cells.name for cells in frame if cells.dtype == pl.String and best_reading(without_gaps(cells)) == COMMA]
    points = [cells.name for cells in frame if cells.dtype == pl.Float64 and _may_be_thousands(cells)]
    if not commas or not points:
        return []
    return [
        f"Numbers have decimal commas in {count_and_names(commas)} and decimal points in {count_and_names(points)}; if "
        f"the points separate thousands, read the file with decimal=',' or --decimal ,"
    ]


def _may_be_thousands(cells: pl.Series) -> bool:
    """Whether all numbers have up to three decimals, and some have all three, as 1.234 would."""
    thousands = (cells * 1000).drop_nulls().filter(cells.drop_nulls().is_finite())
    whole = bool(((thousands - thousands.round()).abs() < 1e-6).all())
    return whole and bool((thousands.round() % 10 != 0).any())


def _numbers_despite_marks(cells: pl.Series, reading: str = "") -> pl.Series:
    """A text column whose only texts are gap marks becomes the number column it was meant to be."""
    if cells.dtype != pl.String:
        return cells
    present = without_gaps(cells)
    if present.null_count() == len(present) or written_with_leading_zeros(present):
        return cells
    for dtype in (pl.Int64, pl.Float64):
        numbers = present.cast(dtype, strict=False)
        if reading and dtype == pl.Float64 and _are_plain(present, reading):
            numbers = numbers_from_text(present, reading)
        if first_stray(present, numbers) is None:
            return numbers
    return cells


def _are_plain(cells: pl.Series, reading: str) -> bool:
    """Limits such as <5 and percents stay text: how they are read is a note on the column."""
    spellings = number_spellings(cells, reading)
    return spellings.limits == spellings.percents == 0


def _require_columns(file: Path, frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        raise InputProblem(f"'{file}' is empty; it needs a line of column names and rows below it.")
    return frame
