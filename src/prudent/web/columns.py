"""The columns of a model as a form asks for them: kind, range, levels."""

from typing import Any

from prudent.table import Column


def column_facts(column: Column, unit: str | None = None) -> dict[str, Any]:
    """low, high: of the log, or the bounds; dates as ISO text. levels: of a column with labels, in order."""
    labelled = bool(column.categories)
    numbers = column.kind != "date"
    return {
        "name": column.name,
        "kind": column.kind,
        "unit": unit,
        "levels": [*column.categories] if labelled else None,
        "low": None if labelled else column.low if numbers else column.shown(column.low),
        "high": None if labelled else column.high if numbers else column.shown(column.high),
        "whole": column.integral or column.kind == "count",
        "shows": column.description,
    }
