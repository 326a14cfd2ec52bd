"""Write every generated table and picture of the documents from stored results; nothing is run again.

    python -m docs.build              write
    python -m docs.build --check      write nothing; exit with 1 and name the files that are not up to date

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. README.md and docs/*.md may have any table of the
benchmarks and the short table of each experiment, which has its name (`ihdp`, `mnist`, `t1d`); README.md and DETAILS.md
of an experiment may have any table of that experiment.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any

from benchmarks import (
    attention,
    coverage,
    dosing,
    doubt,
    drift,
    evaluation,
    field,
    frontier,
    groups,
    hostile,
    measuring,
    search,
    speed,
    web,
)
from experiments.command import Files
from experiments.ihdp import pictures as ihdp_pictures
from experiments.ihdp import tables as ihdp_tables
from experiments.mnist import pictures as mnist_pictures
from experiments.mnist import tables as mnist_tables
from experiments.t1d import pictures as t1d_pictures
from experiments.t1d import tables as t1d_tables
from experiments.tables import Table, Tables, filled
from prudent.errors import InputProblem

ROOT = Path(__file__).parent.parent
BENCHMARKS = [
    module.BENCHMARK
    for module in (
        attention,
        coverage,
        dosing,
        doubt,
        drift,
        evaluation,
        field,
        frontier,
        groups,
        hostile,
        measuring,
        search,
        speed,
        web,
    )
]
EXPERIMENTS: dict[str, tuple[Tables, Callable[[Path], Files]]] = {
    "ihdp": (ihdp_tables.TABLES, ihdp_pictures.files),
    "mnist": (mnist_tables.TABLES, mnist_pictures.files),
    "t1d": (t1d_tables.TABLES, t1d_pictures.files),
}
NUMBER = re.compile(r"(-?\d+\.?\d*(?:e-?\d+)?)")
TOLERATED = 0.02
"""Of a picture's coordinates: other machines round differently."""


def generated(root: Path = ROOT) -> dict[Path, str]:
    """What every document and picture should hold."""
    return _documents(root) | _pictures(root)


def _documents(root: Path) -> dict[Path, str]:
    folders = {name: root / "experiments" / name for name in EXPERIMENTS}
    stored = {name: _read(folder / "results" / f"{name}.json") for name, folder in folders.items()}
    tables = {name: _bound(EXPERIMENTS[name][0], stored[name]) for name in EXPERIMENTS}
    project = {name: tables[name][name] for name in EXPERIMENTS}
    for benchmark in BENCHMARKS:
        project |= _bound(benchmark.tables, _read(root / "benchmarks" / "results" / f"{benchmark.name}.json"))
    pages = dict.fromkeys([root / "README.md", *sorted((root / "docs").glob("*.md"))], project)
    for name, folder in folders.items():
        pages |= dict.fromkeys([folder / "README.md", folder / "DETAILS.md"], tables[name])
    return {path: _filled(path, known) for path, known in pages.items()}


def _bound(tables: Tables, stored: Any) -> dict[str, Callable[[], Table]]:
    return {name: partial(table, stored) for name, table in tables.items()}


def _filled(path: Path, tables: dict[str, Callable[[], Table]]) -> str:
    try:
        return filled(path.read_text(encoding="utf-8"), tables)
    except InputProblem as problem:
        raise InputProblem(f"{path}: {problem}") from None


def _pictures(root: Path) -> dict[Path, str]:
    files = {}
    for name, (_, draw) in EXPERIMENTS.items():
        folder = root / "experiments" / name
        files |= {folder / path: text for path, text in draw(folder / "results").items()}
    for benchmark in BENCHMARKS:
        stored = _read(root / "benchmarks" / "results" / f"{benchmark.name}.json") if benchmark.pictures else {}
        for name, draw in benchmark.pictures.items():
            files[root / "docs" / "pictures" / f"{name}.svg"] = draw(stored).svg()
    return files


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def outdated(root: Path = ROOT) -> list[Path]:
    """The files that do not hold what they should."""
    return [path for path, text in generated(root).items() if not (path.exists() and _same(path, text))]


def _same(path: Path, text: str) -> bool:
    """Documents to the letter; of pictures, numbers may differ by the rounding of another machine."""
    present = path.read_text(encoding="utf-8")
    if path.suffix == ".md" or present == text:
        return present == text
    pairs = zip_longest(NUMBER.split(present), NUMBER.split(text), fillvalue="")
    return all(one == other or _near(one, other) for one, other in pairs)


def _near(one: str, other: str) -> bool:
    numbers = NUMBER.fullmatch(one) and NUMBER.fullmatch(other)
    return bool(numbers) and isclose(float(one), float(other), abs_tol=TOLERATED)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m docs.build", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is not up to date")
    try:
        if parser.parse_args(arguments).check:
            stale = outdated()
            for path in stale:
                print(f"{path.relative_to(ROOT)} is not up to date: run python -m docs.build", file=sys.stderr)
            return 1 if stale else 0
        for path, text in generated().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except InputProblem as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
