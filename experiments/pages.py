"""What the pages of experiments share: results as JSON, and tables that the run writes and a test compares."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prudent.errors import InputProblem

Results = dict[str, Any]


@dataclass(frozen=True)
class Table:
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def markdown(self) -> str:
        lines = [self.header, ("---", *("---:" for _ in self.header[1:])), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def filled(page: str, tables: Mapping[str, Callable[[Results], Table]], results: Results) -> str:
    """The page with every table between its marks written anew.

    >>> page = "<!-- table: one -->\\n<!-- end -->"
    >>> print(filled(page, {"one": lambda results: Table(("a", "b"), [("x", results["x"])])}, {"x": "1"}))
    <!-- table: one -->
    | a | b |
    | --- | ---: |
    | x | 1 |
    <!-- end -->
    """
    for name, table in tables.items():
        marks = re.compile(rf"(<!-- table: {name} -->\n).*?(\n?<!-- end -->)", re.S)
        if marks.search(page):
            written = table(results).markdown()
            page = marks.sub(lambda found, written=written: f"{found[1]}{written}\n<!-- end -->", page)
    return page


def write_json(results: Results, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    short = re.sub(r"[\[{]\s+[^\[\]{}]*?[\]}]", lambda found: " ".join(found[0].split()), text)  # innermost on one line
    path.write_text(short + "\n", encoding="utf-8")


def refuse_to_lose(before: Mapping[str, int], now: Mapping[str, int], stored: Path) -> None:
    """Rows that took hours must not vanish because their pieces are elsewhere. Both map a row to its replications."""
    poorer = [name for name, count in before.items() if now.get(name, 0) < count]
    if poorer:
        raise InputProblem(
            f"{len(poorer)} rows of {stored} would have fewer replications, or none, such as '{poorer[0]}': their "
            "pieces are not there under the settings of now. Run them, or say --forget."
        )


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / len(values) ** 0.5


def plain(number: float | np.floating) -> float:
    """Six digits: more would only differ between machines.

    >>> plain(1 / 3)
    0.333333
    """
    return float(f"{float(number):.6g}")
