"""A field of decision problems: every method at its defaults, on the same rows, judged by the truth.

    python -m benchmarks.field                  five development seeds of everything: many hours on two cores
    python -m benchmarks.field --problems steps mnar --methods prudent boosting --seeds 3
    python -m benchmarks.field --reported       the seeds that are reported; nothing may be chosen on them
    python -m benchmarks.field --list           problems and methods

Each seed is another world and another log. Results are written as they are made, and what is there is not run again.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.field.problems import PROBLEMS, runnable
from benchmarks.field.rivals import METHODS, methods_for
from benchmarks.field.sample import seeds
from benchmarks.field.scoring import sample_of, score
from benchmarks.field.tables import BENCHMARK
from benchmarks.reporting import CONSOLE, Stored

DEVELOPMENT_RESULTS = BENCHMARK.results.with_name("field-development.json")


def read(out: Path) -> Stored:
    return json.loads(out.read_text()) if out.exists() else {"results": {}}


def add(out: Path, problem: str, seed: int, method: str, found: dict[str, float]) -> None:
    """Read again before writing, so that several runs may share a file."""
    stored = read(out)
    stored["results"].setdefault(problem, {}).setdefault(str(seed), {})[method] = found
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    part.write_text(json.dumps(stored, indent=1))
    part.replace(out)


def missing(
    out: Path, problems: Sequence[str], methods: Sequence[str], chosen: Sequence[int]
) -> Iterator[tuple[str, int, str]]:
    """What is not in the file yet, one seed of every problem before the next seed."""
    for seed in chosen:
        for problem in problems:
            done = read(out)["results"].get(problem, {}).get(str(seed), {})
            left = [method for method in methods if method not in done]
            if left:
                able = methods_for(len(sample_of(problem, seed).labels))
                yield from ((problem, seed, method) for method in left if method in able)


def run(out: Path, problems: Sequence[str], methods: Sequence[str], chosen: Sequence[int]) -> None:
    for problem, seed, method in missing(out, problems, methods, chosen):
        found = score(problem, seed, METHODS[method])
        add(out, problem, seed, method, asdict(found))
        CONSOLE.print(f"{problem}, seed {seed}, {method}: {found.score:.3f} in {found.seconds:.1f} s")


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--problems", nargs="+", metavar="NAME", choices=list(PROBLEMS), default=runnable())
    parser.add_argument("--methods", nargs="+", metavar="NAME", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="how many; default: 5")
    parser.add_argument("--reported", action="store_true", help="reported seeds rather than those for development")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.set_defaults(out=None)
    options = parser.parse_args(arguments)
    options.out = options.out or (BENCHMARK.results if options.reported else DEVELOPMENT_RESULTS)
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(arguments)
    if options.list:
        for problem in PROBLEMS.values():
            CONSOLE.print(f"{problem.name}: {problem.says}")
        CONSOLE.print("methods: " + "; ".join(METHODS))
        return
    run(options.out, options.problems, options.methods, seeds(options.seeds, options.reported))
    BENCHMARK.store(read(options.out), options.out)


if __name__ == "__main__":
    main()
