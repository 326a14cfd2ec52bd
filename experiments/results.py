"""Results as JSON, and the numbers in them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prudent.errors import InputProblem

Results = dict[str, Any]


def write_json(results: Results, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    innermost = re.compile(r"[\[{]\s+[^\[\]{}]*?[\]}]")  # lists and objects without others inside fit on one line
    path.write_text(innermost.sub(lambda match: " ".join(match[0].split()), text) + "\n", encoding="utf-8")


def refuse_to_lose(before: Mapping[str, int], now: Mapping[str, int], stored: Path) -> None:
    """Rows that took hours must not vanish because their pieces are elsewhere. Both map a row to its replications."""
    poorer = [name for name, count in before.items() if now.get(name, 0) < count]
    if poorer:
        raise InputProblem(
            f"{len(poorer)} rows of {stored} would have fewer replications, or none, such as '{poorer[0]}': there are "
            "no pieces of them with the present settings. Run them, or say --forget."
        )


def with_kept(now: Sequence[Results], before: Sequence[Results], names: Sequence[str]) -> list[Results]:
    """The new rows, and those stored ones of which there are no pieces here, in the order of the entries.

    Rows of an entry that no longer exists are dropped.

    >>> old = [{"name": "a, mean", "model": "a"}, {"name": "gone", "model": "gone"}]
    >>> [row["name"] for row in with_kept([{"name": "b", "model": "b"}], old, ["a", "b"])]
    ['a, mean', 'b']
    """
    made = {row["name"] for row in now}
    every = [*(row for row in before if row["name"] not in made), *now]
    return sorted((row for row in every if row["model"] in names), key=lambda row: names.index(row["model"]))


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / len(values) ** 0.5


def six_digits(number: float | np.floating) -> float:
    """More digits would only differ between machines.

    >>> six_digits(1 / 3)
    0.333333
    """
    return float(f"{float(number):.6g}")
