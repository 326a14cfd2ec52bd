"""Texts that a spreadsheet would run as formulas: in a csv file an apostrophe before them has them shown as text."""

import polars as pl

_FORMULA = r"^\s*[=+\-@].|^[\t\r]"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with such texts marked; numbers and texts that are numbers stay as they are.

    >>> without_formulas(pl.DataFrame({"action": ["=1+1", "-1.5", "-", "low"]}))["action"].to_list()
    ["'=1+1", '-1.5', '-', 'low']
    """
    return frame.with_columns(_marked(cells) for cells in frame if cells.dtype == pl.String)


def _marked(cells: pl.Series) -> pl.Series:
    runs = cells.str.contains(_FORMULA).fill_null(False) & cells.cast(pl.Float64, strict=False).is_null()
    return cells.str.replace("^", "'").zip_with(runs, cells)
