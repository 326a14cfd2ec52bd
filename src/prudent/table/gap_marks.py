"""Which texts were read as gaps, in which columns and how often: `NA` may be a country, `None` an arm of a trial."""

from collections.abc import Iterable, Mapping

import polars as pl

from prudent.table.cells import GAP_MARKS
from prudent.table.column_notes import MOST_SEPARATE, count_and_names, option


def marks_in(cells: pl.Series, labels: Iterable[str] = ()) -> dict[str, int]:
    """The marks that are read as gaps in a column of texts, with how often; empty cells need no words."""
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return {}
    kept = {"", *labels}
    marks = [mark for mark in GAP_MARKS if mark not in kept]
    text = cells.cast(pl.String).str.strip_chars().drop_nulls()
    counts = text.filter(text.is_in(marks)).value_counts(name="cells", sort=True)
    return dict(zip(counts[cells.name].to_list(), counts["cells"].to_list(), strict=True))


def gap_mark_notes(found: Mapping[str, Mapping[str, int]], may_be_values: bool = True) -> list[str]:
    """A sentence per column, or one for many columns. may_be_values: say how to keep them."""
    found = {name: marks for name, marks in found.items() if marks}
    if len(found) > MOST_SEPARATE:
        total: dict[str, int] = {}
        for marks in found.values():
            for mark, cells in marks.items():
                total[mark] = total.get(mark, 0) + cells
        way_out = _way_out("COLUMN", max(total, key=total.__getitem__)) if may_be_values else ""
        return [f"{_said(total)} {_are(total)} read as gaps in {count_and_names(list(found))}{way_out}."]
    return [
        f"Column '{name}': {_said(marks)} {_are(marks)} read as gaps"
        f"{_way_out(name, next(iter(marks))) if may_be_values else ''}."
        for name, marks in found.items()
    ]


def _said(marks: Mapping[str, int]) -> str:
    return ", ".join(f"{mark!r} ({cells} cell{'s' * (cells > 1)})" for mark, cells in marks.items())


def _are(marks: Mapping[str, int]) -> str:
    return "is" if sum(marks.values()) == 1 else "are"


def _way_out(name: str, mark: str) -> str:
    kept = option("--not-missing", f"{name}={mark}")
    return f"; if {mark!r} is a value, add {kept} or not_missing={ {name: mark} }"
