"""Texts as dates: ISO 8601, 31.12.2020, 2020/12/31, and 31/12/2020 or 12/31/2020 where a column says which."""

import polars as pl

DAY_FIRST, MONTH_FIRST = "day first", "month first"

_ISO_MOMENT = r"^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?:Z|([+-])(\d{2}):?(\d{2}))?$"
_WRITTEN = r"^(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$"
_POINTS = r"^\d{1,2}\.\d{1,2}\.\d{4}"
_YEAR_FIRST = r"^\d{4}[./]\d{1,2}[./]\d{1,2}"
_YEAR_LAST = r"^\d{1,2}[/-]\d{1,2}[/-]\d{4}"
_SECONDS_PER_DAY = 86_400.0


def days_from_text(cells: pl.Series, reading: str = "") -> pl.Series:
    """Days since 1970-01-01 (float64, UTC), null where a text is not a date; each cell is read by itself.

    Without a reading, 3/4/2020 is not a date: it may be in March or in April.

    >>> days_from_text(pl.Series(["1970-01-03", "3.1.1970", "3/1/1970"])).to_list()
    [2.0, 2.0, None]
    >>> days_from_text(pl.Series(["3/1/1970", "03.01.1970 12:00"]), DAY_FIRST).to_list()
    [2.0, 2.5]
    """
    # most texts are not dates, and most dates have no time of day: only those that have one are taken apart
    days = cells.str.head(10).str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
    longer = (days.is_not_null() & (cells.str.len_bytes() > 10)).arg_true()
    days = days.set((cells.str.len_bytes() < 10).fill_null(False), None)
    if len(longer):
        days = days.scatter(longer, _days_with_clock(cells.gather(longer)))
    others = (cells.is_not_null() & days.is_null() & cells.str.contains(_WRITTEN)).arg_true()
    return days.scatter(others, _written_days(cells.gather(others), reading)) if len(others) else days


def _days_with_clock(cells: pl.Series) -> pl.Series:
    def seconds(group: int, factor: float) -> pl.Expr:
        return pl.col("cell").str.extract(_ISO_MOMENT, group).cast(pl.Float64).fill_null(0.0) * factor

    day = pl.col("cell").str.extract(_ISO_MOMENT, 1).str.to_date("%Y-%m-%d", strict=False)
    clock = seconds(2, 3600) + seconds(3, 60) + seconds(4, 1)
    east = pl.when(pl.col("cell").str.extract(_ISO_MOMENT, 5) == "-").then(-1.0).otherwise(1.0)
    zone = east * (seconds(6, 3600) + seconds(7, 60))
    days = day.to_physical().cast(pl.Float64) + (clock - zone) / _SECONDS_PER_DAY
    return pl.DataFrame({"cell": cells}).select(days).to_series()


def _written_days(cells: pl.Series, reading: str) -> pl.Series:
    def part(group: int) -> pl.Expr:
        return pl.col("cell").str.extract(_WRITTEN, group)

    def date(year: int, month: int, day: int) -> pl.Expr:
        text = pl.concat_str([part(year), part(month).str.zfill(2), part(day).str.zfill(2)], separator="-")
        return text.str.to_date("%Y-%m-%d", strict=False)

    year_last = {DAY_FIRST: date(3, 2, 1), MONTH_FIRST: date(3, 1, 2)}.get(reading, pl.lit(None, pl.Date))
    day = (
        pl.when(pl.col("cell").str.contains(_POINTS))
        .then(date(3, 2, 1))
        .when(pl.col("cell").str.contains(_YEAR_FIRST))
        .then(date(1, 2, 3))
        .when(pl.col("cell").str.contains(_YEAR_LAST))
        .then(year_last)
    )
    clock = sum(
        part(group).cast(pl.Float64).fill_null(0.0) * factor for group, factor in ((4, 3600.0), (5, 60.0), (6, 1.0))
    )
    days = day.to_physical().cast(pl.Float64) + clock / _SECONDS_PER_DAY
    return pl.DataFrame({"cell": cells}).select(days).to_series()


def date_order(cells: pl.Series) -> tuple[str, bool]:
    """Whether dates such as 3/4/2020 begin with the day or the month, and whether some cell proves it.

    A first number above 12 is a day; so is a second one. Where no cell tells, the day is taken to be first. ("", True)
    where no date is written so.
    """
    written = cells.drop_nulls()
    written = written.filter(written.str.contains(_YEAR_LAST))
    if len(written) == 0:
        return "", True
    first, second = (written.str.extract(_WRITTEN, group).cast(pl.Int32, strict=False) for group in (1, 2))
    days_first, months_first = int((first > 12).sum()), int((second > 12).sum())
    return (MONTH_FIRST if months_first > days_first else DAY_FIRST), days_first != months_first
