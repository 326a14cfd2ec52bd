"""Texts as numbers: `<5`, `5 %`, `1 234`, and decimal commas where a column has them."""

from typing import NamedTuple

import polars as pl

COMMA, EITHER = "decimal comma", "decimal comma or point"
"""How a column writes decimals; without one of these, with a point. `EITHER` has both, and no thousands separators."""

_SIGN = r"[-+−]?"
_SPACED_THOUSANDS = rf"^{_SIGN}\d{{1,3}}([ '’\u00a0\u202f]\d{{3}})+([.,]\d+)?$"
_COMMA_THOUSANDS = rf"^{_SIGN}[1-9]\d{{0,2}}(,\d{{3}})+(\.\d+)?$"
_POINT_THOUSANDS = rf"^{_SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+(,\d+)?$"
_DECIMAL_COMMA = rf"^{_SIGN}\d*,\d+$"
_DECIMAL_POINT = rf"^{_SIGN}\d*\.\d+$"
_BEYOND_A_LIMIT = r"^[<>≤≥]=?\s*"
_PERCENT = r"\s*%$"


def numbers_from_text(cells: pl.Series, reading: str = "") -> pl.Series:
    """Texts as float64, null where a text is not a number; each cell is read by itself.

    >>> numbers_from_text(pl.Series(["<5", "5 %", "1 234", "1,234", "72,5"])).to_list()
    [5.0, 5.0, 1234.0, 1234.0, None]
    >>> numbers_from_text(pl.Series(["72,5", "1.234,5", "1.234", "7.5"]), COMMA).to_list()
    [72.5, 1234.5, 1234.0, 7.5]
    """
    numbers = cells.cast(pl.Float64, strict=False)
    if reading == COMMA:
        rewritten = (cells.str.contains(r"[.,]") | numbers.is_null()).fill_null(False).arg_true()
    else:
        rewritten = (cells.is_not_null() & numbers.is_null()).arg_true()
    if len(rewritten) == 0:
        return numbers
    return numbers.scatter(rewritten, _plain(cells.gather(rewritten), reading).cast(pl.Float64, strict=False))


def _plain(texts: pl.Series, reading: str) -> pl.Series:
    """The texts as a computer writes numbers, as far as they are numbers."""
    texts = texts.str.replace(_BEYOND_A_LIMIT, "").str.replace(_PERCENT, "").str.replace("^−", "-")
    texts = _where(texts, _SPACED_THOUSANDS, texts.str.replace_all(r"[ '’\u00a0\u202f]", ""))
    if reading == "":
        return _where(texts, _COMMA_THOUSANDS, texts.str.replace_all(",", ""))
    if reading == COMMA:
        texts = _where(texts, _POINT_THOUSANDS, texts.str.replace_all(".", "", literal=True))
    return _where(texts, _DECIMAL_COMMA, texts.str.replace(",", "."))


def _where(texts: pl.Series, pattern: str, instead: pl.Series) -> pl.Series:
    return instead.zip_with(texts.str.contains(pattern).fill_null(False), texts)


def best_reading(cells: pl.Series) -> str:
    """How the texts of a column write decimals: the reading that leaves the fewest texts unread."""
    bare = cells.drop_nulls().str.replace(_BEYOND_A_LIMIT, "").str.replace(_PERCENT, "")
    with_comma = bare.filter(bare.str.contains(_DECIMAL_COMMA))
    if len(with_comma) == 0 or with_comma.str.contains(_COMMA_THOUSANDS).all():
        return ""
    other_points = bare.str.contains(_DECIMAL_POINT) & ~bare.str.contains(_POINT_THOUSANDS)
    reading = EITHER if other_points.any() else COMMA
    unread = {way: numbers_from_text(cells, way).null_count() for way in (reading, "")}
    return min(unread, key=unread.__getitem__)


class NumberSpellings(NamedTuple):
    """How many texts of a column are written in a way that had to be interpreted."""

    limits: int
    percents: int
    thousands: int


def number_spellings(cells: pl.Series, reading: str) -> NumberSpellings:
    if cells.dtype != pl.String:
        return NumberSpellings(0, 0, 0)
    grouped = cells.str.contains(_SPACED_THOUSANDS)
    if reading != EITHER:
        grouped |= cells.str.contains(_COMMA_THOUSANDS if reading == "" else _POINT_THOUSANDS)
    parts = (cells.str.contains(_BEYOND_A_LIMIT), cells.str.contains(_PERCENT), grouped)
    return NumberSpellings(*(int(part.sum()) for part in parts))
