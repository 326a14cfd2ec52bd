"""Plain types for JSON: dictionaries, lists, texts, and finite numbers."""

import enum
import math
from dataclasses import asdict, is_dataclass
from typing import Any

Facts = dict[str, Any]
"""What an object of another room knows, as its `to_dict()` gives it and `--json` writes it."""


def plain_types(value: Any) -> Any:
    """The same in plain types; NaN and infinite numbers become None.

    >>> plain_types({"value": float("nan"), "rows": (1, 2)})
    {'value': None, 'rows': [1, 2]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return plain_types(asdict(value))
    if isinstance(value, dict):
        return {key: plain_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_types(item) for item in value]
    if isinstance(value, enum.Enum):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain_number(number: float) -> float | None:
    """A Python float, None for NaN."""
    return None if math.isnan(number) else float(number)
