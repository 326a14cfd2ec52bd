"""csv and tsv files: their encoding and separator, rows that are not whole, and which columns hold numbers."""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import polars as pl

from prudent.errors import InputProblem
from prudent.table.cells import EXACT_DIGITS, first_stray, have_leading_zeros, row_name, without_gaps, written_as_codes
from prudent.table.column_notes import count_and_names
from prudent.table.frames import refuse_patterns, refuse_repeated_names
from prudent.table.gap_marks import gap_mark_notes, marks_in
from prudent.table.number_texts import COMMA, best_reading, number_spellings, numbers_from_text
from prudent.table.sources.packed import unpacked

_QUOTE, _LINE_END, _RETURN = b'"\n\r'


@dataclass(frozen=True)
class Faithful:
    """What must stay as it is written where texts are read as numbers.

    texts: columns, or patterns of columns, that stay text. codes: columns that stay text where a cell has a leading
    zero, or where two spellings, such as 1.1 and 1.10, would become one number. values: by column, or "*" for all,
    texts that are values although they look like gaps.
    """

    texts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def stays_text(self, name: str) -> bool:
        return name in self.texts or any(fnmatchcase(name, pattern) for pattern in self.texts)

    def values_of(self, name: str) -> list[str]:
        return [value for key, values in self.values.items() if fnmatchcase(name, key) for value in values]


@dataclass(frozen=True)
class SeparatedText:
    """The content of a csv or tsv file as UTF-8, and what separates its columns."""

    content: bytes
    separator: str

    @staticmethod
    def of(file: Path, separator: str | None, encoding: str | None) -> "SeparatedText":
        content = _decoded(file, encoding)
        return SeparatedText(content, separator or _likely_separator(content))

    def names(self) -> list[str]:
        """The names of the columns; repeated ones are refused."""
        how = {"separator": self.separator, "infer_schema": False, "truncate_ragged_lines": True}
        header = pl.read_csv(self.content, has_header=False, n_rows=1, **how)
        refuse_repeated_names(name for name in header.row(0) if name)
        refuse_patterns(name for name in header.row(0) if name)
        return header.columns

    def texts(self) -> pl.DataFrame:
        """Every column as the text in it."""
        return pl.read_csv(self.content, separator=self.separator, infer_schema=False)

    def row_notes(self, file: Path, columns: int) -> list[str]:
        """What is odd about the rows; too many cells, and an end in the middle of a row, are refused."""
        rows = _rows_of(self.content, self.separator)
        long = np.flatnonzero(rows.cells > columns)
        if len(long) and not rows.in_quotes:
            raise InputProblem(
                f"'{file}' has {columns} columns, and {row_name(int(long[0]))} has {rows.cells[long[0]]} cells; a cell "
                f"that holds {self.separator!r}, as in 1,250, must stand in quotes."
            )
        short = np.flatnonzero(rows.cells < columns)
        if rows.in_quotes or (not rows.ended and len(short) and short[-1] == len(rows.cells) - 1):
            last = row_name(len(rows.cells) - 1)
            raise InputProblem(
                f"'{file}' ends in the middle of {last}, as if it was cut off; get the whole file, or delete that row."
            )
        notes = [] if rows.ended else [_unended_note(file, len(rows.cells))]
        if len(short) == 0:
            return notes
        count = "1 row has" if len(short) == 1 else f"{len(short)} rows have"
        first = row_name(int(short[0]))
        said = f"{count} fewer cells than there are columns, the first is {first}: the last cells are read as gaps."
        return [*notes, said]


def _unended_note(file: Path, rows: int) -> str:
    return (
        f"'{file.name}' has no line end after its last row, {row_name(rows - 1)}: if it was cut off, the last cell "
        "of that row may be incomplete."
    )


def _decoded(file: Path, encoding: str | None) -> bytes:
    """The file as UTF-8 without a byte order mark; a mark at its start says which encoding it has."""
    content = unpacked(file)
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
    return text.encode(errors="replace")


def _likely_separator(content: bytes) -> str:
    header = content.split(b"\n", 1)[0].decode()
    return max(",;\t|", key=header.count)


@dataclass(frozen=True)
class _Rows:
    """Cells in each row below the header; blank lines are no rows. ended: the last row has a line end. in_quotes: the
    file ends within quotes."""

    cells: np.ndarray
    ended: bool
    in_quotes: bool


def _rows_of(content: bytes, separator: str) -> _Rows:
    signs = np.frombuffer(content, np.uint8)
    if len(signs) == 0 or not _quoted_as_usual(signs, separator):
        return _Rows(np.zeros(0, int), True, False)
    quoted = np.bitwise_xor.accumulate(signs == _QUOTE)
    ends = np.flatnonzero((signs == _LINE_END) & ~quoted)
    ended = len(ends) > 0 and ends[-1] == len(signs) - 1
    stops = ends if ended else np.append(ends, len(signs))
    starts = np.append(0, stops[:-1] + 1)
    mark = separator.encode()
    separators = np.flatnonzero((signs == mark[0]) & ~quoted) if len(mark) == 1 else np.zeros(0, int)
    cells = 1 + np.diff(np.searchsorted(separators, stops), prepend=0)
    length = stops - starts
    blank = (length == 0) | ((length == 1) & (signs[np.minimum(starts, len(signs) - 1)] == _RETURN))
    return _Rows(cells[~blank][1:], bool(ended), bool(quoted[-1]))


def _quoted_as_usual(signs: np.ndarray, separator: str) -> bool:
    """Whether every quote begins or ends a cell or follows another; in 5" it is a part of the text."""
    quotes = np.flatnonzero(signs == _QUOTE)
    beside = [*separator.encode(), _QUOTE, _LINE_END, _RETURN]
    before = (quotes == 0) | np.isin(signs[quotes - 1], beside)
    after = (quotes == len(signs) - 1) | np.isin(signs[np.minimum(quotes + 1, len(signs) - 1)], beside)
    return bool((before | after).all())


# --- texts that are numbers ---


def typed(texts: pl.DataFrame, decimal: str | None, faithful: Faithful) -> tuple[pl.DataFrame, list[str]]:
    """The table with numbers as numbers, and notes on the marks in such columns that were read as gaps."""
    reading = COMMA if decimal == "," else ""
    plain = _plain_numbers(texts, faithful) if reading == "" else pl.DataFrame()
    others = [_typed(cells, reading, faithful) for cells in texts if cells.name not in plain.columns]
    frame = texts.with_columns(*plain.get_columns(), *others)
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    marked = [name for name in numbers if name not in plain.columns]
    marks = {name: marks_in(texts[name], faithful.values_of(name)) for name in marked}
    return frame, gap_mark_notes(marks, may_be_values=False) + ([] if decimal else _decimal_notes(frame))


def _plain_numbers(texts: pl.DataFrame, faithful: Faithful) -> pl.DataFrame:
    """The columns in which every cell is empty or plainly a number, all at once: one by one, thousands take long."""
    open_ones = [name for name in texts.columns if not (name in faithful.codes or faithful.stays_text(name))]
    if not open_ones or len(texts) == 0:
        return pl.DataFrame()
    every, texts = pl.all(), texts[open_ones]  # by position: a column may be called "*"
    gaps = texts.select(every.null_count()).row(0)
    coded = texts.select(every.str.contains(rf"^\s*(0\d|\d{{{EXACT_DIGITS}}})").any()).row(0)
    candidates = [
        name for name, empty, code in zip(open_ones, gaps, coded, strict=True) if not code and empty < len(texts)
    ]
    unread = dict(zip(open_ones, gaps, strict=True))
    plain: list[pl.Series] = []
    for dtype in (pl.Int64, pl.Float64):
        cast = texts[candidates].select(pl.all().cast(dtype, strict=False))
        nulls = dict(zip(candidates, cast.null_count().row(0), strict=True)) if candidates else {}
        plain += [cast[name] for name in candidates if nulls[name] == unread[name]]
        candidates = [name for name in candidates if nulls[name] != unread[name]]
    # a dictionary keeps a column without a name without one
    return pl.DataFrame({cells.name: cells for cells in plain if not (cells.dtype.is_float() and cells.is_nan().any())})


def _typed(cells: pl.Series, reading: str, faithful: Faithful) -> pl.Series:
    if faithful.stays_text(cells.name):
        return cells
    truths = cells.drop_nulls().str.to_lowercase()
    if len(truths) and truths.is_in(["true", "false"]).all():
        return cells.str.to_lowercase() == "true"
    present = without_gaps(cells, faithful.values_of(cells.name))
    if present.null_count() == len(present) or written_as_codes(present):
        return cells
    for dtype in (pl.Int64, pl.Float64):
        numbers = present.cast(dtype, strict=False)
        if reading and dtype == pl.Float64 and _are_plain(present, reading):
            numbers = numbers_from_text(present, reading)
        if first_stray(present, numbers) is None:
            lost = have_leading_zeros(present) or numbers.n_unique() < present.n_unique()
            return cells if lost and cells.name in faithful.codes else numbers
    return cells


def _are_plain(cells: pl.Series, reading: str) -> bool:
    """Limits such as <5 and percents stay text: how they are read is a note on the column."""
    spellings = number_spellings(cells, reading)
    return spellings.limits == spellings.percents == 0


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
