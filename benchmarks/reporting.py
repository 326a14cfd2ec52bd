"""What the benchmarks share: arguments, stored results, tables on the terminal, and a mean with its standard error."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from experiments.tables import Table, Tables
from prudent.show import Picture

Stored = dict[str, Any]
"""The results of one run, as they are in its file."""

RESULTS = Path(__file__).parent / "results"
CONSOLE = Console(width=150)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark by the name of its file of results, with the tables and pictures that are made from that file."""

    name: str
    tables: Tables = field(default_factory=dict)
    pictures: dict[str, Callable[[Stored], Picture]] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        return RESULTS / f"{self.name}.json"

    def parser(self, description: str | None) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            f"python -m benchmarks.{self.name}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("--out", type=Path, default=self.results, help=f"default: {self.results.name}")
        return parser

    def store(self, stored: Stored, out: Path) -> None:
        """Print all tables and write the results."""
        for table in self.tables.values():
            CONSOLE.print(table(stored).rich())
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(stored, indent=1))
        CONSOLE.print(f"Numbers written to {out}; python -m docs.build writes them into the documents")


def mean_and_error(values: Sequence[float] | np.ndarray) -> str:
    """
    >>> mean_and_error([1.0, 2.0, 3.0])
    '2.000 ± 0.577'
    """
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} ± {error:.3f}"


def mean_of(rows: Sequence[Any], *path: str) -> float:
    """The mean of a number that lies at `path` in every row."""
    values = list(rows)
    for key in path:
        values = [value[key] for value in values]
    return float(np.mean(np.array(values, np.float64)))


__all__ = ["CONSOLE", "Benchmark", "Stored", "Table", "mean_and_error", "mean_of"]
