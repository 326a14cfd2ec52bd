"""The command line that experiments of entries share: which pieces to run, where they are kept and where results go."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from experiments.kept import this_machine
from experiments.pages import Results, refuse_to_lose, write_json
from prudent.errors import InputProblem, require

TEST_SEED = 0


class Effort(Protocol):
    """How much is run under a name: so many replications of these entries, which have names."""

    @property
    def replications(self) -> int: ...
    @property
    def entries(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Command:
    """An experiment by its name; `results` is the folder of what the test found, which nothing else may replace."""

    name: str
    efforts: Mapping[str, Effort]
    results: Path

    @property
    def module(self) -> str:
        return f"experiments.{self.name}"

    def parser(self, description: str | None) -> argparse.ArgumentParser:
        """With all options that experiments share."""
        parser = argparse.ArgumentParser(
            f"python -m {self.module}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        full, kept = self.efforts["full"].replications, f"build/{self.name}"
        count = f"how many there are (default: of the size, {full} when full)"
        parser.add_argument("--size", choices=self.efforts, default="full", help="how much is run (default full)")
        parser.add_argument("--replications", type=int, help=count)
        parser.add_argument(
            "--from", dest="start", type=int, default=0, metavar="I", help="run replications from this one"
        )
        parser.add_argument("--to", dest="stop", type=int, metavar="J", help="and up to, not including, this one")
        parser.add_argument("--entries", nargs="+", metavar="NAME", help="run only these")
        parser.add_argument(
            "--seed", type=int, default=TEST_SEED, help="of the data and the methods (default 0, the test)"
        )
        parser.add_argument(
            "--out",
            type=Path,
            help="results; README.md, DETAILS.md and pictures beside it are renewed (default: this "
            "experiment's own when size and seed are those of the test, a folder among the pieces otherwise)",
        )
        parser.add_argument("--pieces", type=Path, default=Path(kept), help=f"where work is kept ({kept})")
        parser.add_argument("--machine", default=this_machine(), help="in words, for the table of seconds")
        parser.add_argument("--forget", action="store_true", help="let rows go whose pieces are not there any more")
        parser.add_argument("--tables-only", action="store_true", help="run nothing")
        return parser

    def completed(self, options: argparse.Namespace) -> argparse.Namespace:
        """What was not said follows from the size; what is not the test is put among the pieces."""
        if options.replications is None:
            options.replications = self.efforts[options.size].replications
        if options.stop is None:
            options.stop = options.replications
        if options.out is None:
            own = options.pieces / "trials" / f"{options.size}-seed-{options.seed}" / "results"
            options.out = self.results if self.is_test(options) else own
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

    def asked_for(self, options: argparse.Namespace) -> list[Any]:
        """The entries to run."""
        every = self.efforts[options.size].entries
        return [entry for entry in every if options.entries is None or entry.name in options.entries]

    def store(self, results: Results, options: argparse.Namespace, counts: Callable[[Results], dict[str, int]]) -> Path:
        """Write the results, unless rows that are there would vanish; `counts` are the replications of each row."""
        stored = options.out / f"{self.name}.json"
        if stored.exists() and not options.forget:
            refuse_to_lose(counts(json.loads(stored.read_text())), counts(results), stored)
        write_json(results, stored)
        return stored


def answered(run: Callable[[], int]) -> int:
    """The exit code of a run; what is wrong with its input is told in a sentence."""
    try:
        return run()
    except InputProblem as problem:
        print(problem, file=sys.stderr)
        return 2
