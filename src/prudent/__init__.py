"""Learn which action to take from logged decisions whose records have gaps, and be careful about it.

The names of the package stand in `__init__.pyi`, once; each is imported when it is first used, so that
`prudent --help` does not wait for JAX.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

_ROOMS = {
    alias.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}

__all__ = [*_ROOMS]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'prudent' has no attribute {name!r}")
    room = _ROOMS[name]
    if room == "prudent":  # a room itself, such as prudent.worlds
        return importlib.import_module(f"prudent.{name}")
    globals()[name] = value = getattr(importlib.import_module(room), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
