"""Cells as JSON that gives back what went in: 007 stays text, 7 and 7.0 stay apart, days stay days, gaps are null."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from prudent.errors import InputProblem

_DATE, _MOMENT, _NUMBER, _MAPPING = "$date", "$datetime", "$number", "$mapping"


def to_json(values: Mapping[str, object]) -> str:
    """Named cells as one line of JSON; NaN, NaT and NA become null.

    >>> to_json({"code": "007", "dose": 7, "weight": 7.0, "since": date(2024, 3, 1), "lactate": float("nan")})
    '{"code": "007", "dose": 7, "weight": 7.0, "since": {"$date": "2024-03-01"}, "lactate": null}'
    """
    return json.dumps({str(name): _plain(str(name), cell) for name, cell in values.items()}, allow_nan=False)


def from_json(text: str) -> dict[str, Any]:
    """What `to_json` was given.

    >>> from_json('{"code": "007", "since": {"$date": "2024-03-01"}}')
    {'code': '007', 'since': datetime.date(2024, 3, 1)}
    """
    return {name: _cell(stored) for name, stored in json.loads(text).items()}


def value_to_json(name: str, value: object) -> str:
    """One value; `name` says in a problem what it is."""
    return json.dumps(_plain(name, value), allow_nan=False)


def value_from_json(text: str) -> Any:
    return _cell(json.loads(text))


def _plain(name: str, cell: Any) -> Any:
    cell = cell.item() if hasattr(cell, "item") and getattr(cell, "shape", None) == () else cell  # of NumPy
    if cell is None or isinstance(cell, bool | str):
        return cell
    if type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return None
    if isinstance(cell, Integral):
        return int(cell)
    if isinstance(cell, Real | Decimal):
        number = float(cell)
        return number if math.isfinite(number) else {_NUMBER: str(number)}
    if isinstance(cell, datetime):
        return {_MOMENT: cell.isoformat()}
    if isinstance(cell, date):
        return {_DATE: cell.isoformat()}
    if isinstance(cell, Mapping):
        inner = {str(key): _plain(name, value) for key, value in cell.items()}
        return {_MAPPING: inner} if any(key.startswith("$") for key in inner) else inner
    if isinstance(cell, Sequence) and not isinstance(cell, bytes | bytearray):
        return [_plain(name, value) for value in cell]
    raise InputProblem(
        f"A journal keeps numbers, text, dates and truths, and '{name}' is {cell!r:.80} ({type(cell).__name__}); turn "
        f"it into one of these."
    )


def _cell(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_cell(value) for value in stored]
    if not isinstance(stored, dict):
        return stored
    if len(stored) == 1:
        (key, value), *_ = stored.items()
        if key == _DATE:
            return date.fromisoformat(value)
        if key == _MOMENT:
            return datetime.fromisoformat(value)
        if key == _NUMBER:
            return float(value)
        if key == _MAPPING:
            stored = value
    return {name: _cell(value) for name, value in stored.items()}


def moment_text(at: datetime | None) -> str:
    """A moment, by default now, as text that sorts by time.

    >>> moment_text(datetime(2024, 3, 1, 12, tzinfo=UTC))
    '2024-03-01T12:00:00.000000+00:00'
    """
    at = datetime.now(UTC) if at is None else at
    if at.tzinfo is None:
        raise InputProblem(f"A moment of a journal needs its time zone, and {at.isoformat()} has none; give it in UTC.")
    return at.astimezone(UTC).isoformat(timespec="microseconds")
