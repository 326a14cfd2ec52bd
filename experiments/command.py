"""The command line that experiments share: which pieces to run, where they are stored and where results go."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from experiments.pieces import this_machine
from experiments.results import Results, refuse_to_lose, write_json
from prudent.errors import InputProblem, require

TEST_SEED = 0
Files = dict[str, str]
"""Contents of pictures and pages drawn from stored results, by their path below the experiment's folder."""


def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """With the options that all experiments have."""
    parser = argparse.ArgumentParser(
        f"python -m experiments.{name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=TEST_SEED, help="of the data and the methods (default 0, the test)")
    pieces = f"build/{name}"
    parser.add_argument("--pieces", type=Path, default=Path(pieces), help=f"where pieces are stored ({pieces})")
    parser.add_argument("--machine", default=this_machine(), help="in words, for the table of seconds")
    parser.add_argument("--forget", action="store_true", help="drop rows whose pieces no longer exist")
    parser.add_argument(
        "--keep", action="store_true", help="keep stored rows that have no pieces here, if their entries still exist"
    )
    parser.add_argument("--tables-only", action="store_true", help="run nothing")
    return parser


def store(
    name: str,
    results: Results,
    options: argparse.Namespace,
    counts: Callable[[Results], dict[str, int]],
    keep: Callable[[Results, Results], Results],
) -> Path:
    """Write the results, unless stored rows would vanish.

    counts: the replications of each row. keep: adds to the results the rows stored before (--keep).
    """
    stored = options.out / f"{name}.json"
    if stored.exists() and not options.forget:
        before = json.loads(stored.read_text())
        if options.keep:
            results = keep(results, before)
            before = keep(before, before)  # without the rows of entries that no longer exist
        refuse_to_lose(counts(before), counts(results), stored)
    write_json(results, stored)
    return stored


def store_showcase(showcase: Mapping[str, Any], out: Path) -> None:
    if showcase:
        np.savez_compressed(out / "showcase.npz", **showcase)


def read_showcase(out: Path) -> dict[str, Any]:
    """Nothing where none was stored."""
    path = out / "showcase.npz"
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def write_files(files: Files, folder: Path) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Effort(Protocol):
    """How much is run under a name: the number of replications, and entries, which have names."""

    @property
    def replications(self) -> int: ...
    @property
    def entries(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Command:
    """An experiment with entries; `results` is the folder of the test's results, which nothing else may replace."""

    name: str
    efforts: Mapping[str, Effort]
    results: Path

    @property
    def module(self) -> str:
        return f"experiments.{self.name}"

    def parser(self, description: str | None) -> argparse.ArgumentParser:
        parser = parser_of(self.name, description)
        full = self.efforts["full"].replications
        count = f"number of replications (default: that of the size, {full} when full)"
        parser.add_argument("--size", choices=self.efforts, default="full", help="how much is run (default full)")
        parser.add_argument("--replications", type=int, help=count)
        parser.add_argument(
            "--from", dest="start", type=int, default=0, metavar="I", help="run replications from this one"
        )
        parser.add_argument("--to", dest="stop", type=int, metavar="J", help="and up to, not including, this one")
        parser.add_argument("--entries", nargs="+", metavar="NAME", help="run only these")
        parser.add_argument(
            "--out",
            type=Path,
            help="folder of the results; pictures are drawn beside it (default: the experiment's folder when size "
            "and seed are those of the test, otherwise one among the pieces)",
        )
        return parser

    def completed(self, options: argparse.Namespace) -> argparse.Namespace:
        """Defaults follow from the size; results of anything but the test go among the pieces."""
        if options.replications is None:
            options.replications = self.efforts[options.size].replications
        if options.stop is None:
            options.stop = options.replications
        if options.out is None:
            trial = options.pieces / "trials" / f"{options.size}-seed-{options.seed}" / "results"
            options.out = self.results if self.is_test(options) else trial
        return options

    def is_test(self, options: argparse.Namespace) -> bool:
        whole = options.replications == self.efforts["full"].replications
        return options.seed == TEST_SEED and options.size == "full" and whole

    def check(self, options: argparse.Namespace) -> None:
        count = options.replications
        require(count >= 2, self.module, "replications", "be at least 2, for a standard error", count)
        require(0 <= options.start < options.stop, self.module, "from", "be at least 0 and below 'to'", options.start)
        require(options.stop <= count, self.module, "to", "be at most the number of replications", options.stop)
        known = [entry.name for entry in self.efforts[options.size].entries]
        for name in options.entries or ():
            require(name in known, self.module, "entries", f"be among {'; '.join(known)}", name)
        if options.out.resolve() == self.results.resolve() and not self.is_test(options):
            raise InputProblem(
                f"Size {options.size} with seed {options.seed} and {count} replications is for development and must "
                f"not replace the results of the full size with seed {TEST_SEED}; name another place with --out."
            )

    def requested(self, options: argparse.Namespace) -> list[Any]:
        """The entries to run."""
        every = self.efforts[options.size].entries
        return [entry for entry in every if options.entries is None or entry.name in options.entries]


def answered(run: Callable[[], int]) -> int:
    """The exit code of a run; a problem with its input is one sentence on standard error."""
    try:
        return run()
    except InputProblem as problem:
        print(problem, file=sys.stderr)
        return 2
