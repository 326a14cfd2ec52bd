"""Digits as decisions, the paper's first table, by one command that can be stopped and resumed.

python -m experiments.mnist                                   everything; what was done before is not done again
python -m experiments.mnist --size small                      smaller images, fewer of them: minutes on two cores
python -m experiments.mnist --entries "CausalPVAE, types" --from 20 --to 40     some of it; several may run at once
python -m experiments.mnist --seed 7 --replications 3         development: seed 0 is the test
python -m experiments.mnist --tables-only                     results, tables and pictures from the pieces there are
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.kept import tell_failures, this_machine
from experiments.mnist import settings
from experiments.mnist.data import TEST_SEED
from experiments.mnist.pieces import plan
from experiments.mnist.run import run
from experiments.mnist.summary import showcase_of, summarise
from experiments.mnist.tables import main_table, write_page
from experiments.pages import Results, refuse_to_lose, write_json
from prudent.errors import InputProblem, require

RESULTS = Path(__file__).parent / "results"


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m experiments.mnist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=settings.EFFORTS, default="full", help="how much is run (default full)")
    parser.add_argument("--replications", type=int, help="how many there are (default: of the size, 100 when full)")
    parser.add_argument("--from", dest="start", type=int, default=0, metavar="I", help="run replications from this one")
    parser.add_argument("--to", dest="stop", type=int, metavar="J", help="and up to, not including, this one")
    parser.add_argument("--entries", nargs="+", metavar="NAME", help="run only these")
    parser.add_argument("--seed", type=int, default=TEST_SEED, help="of the data and the methods (default 0, the test)")
    parser.add_argument(
        "--out",
        type=Path,
        help="results; README.md, DETAILS.md and pictures beside it are renewed (default: this "
        "experiment's own when size and seed are those of the test, a folder among the pieces otherwise)",
    )
    parser.add_argument("--pieces", type=Path, default=Path("build/mnist"), help="where work is kept (build/mnist)")
    parser.add_argument("--machine", default=this_machine(), help="in words, for the table of seconds")
    parser.add_argument("--forget", action="store_true", help="let rows go whose pieces are not there any more")
    parser.add_argument("--tables-only", action="store_true", help="run nothing")
    options = parser.parse_args(arguments)
    if options.replications is None:
        options.replications = settings.EFFORTS[options.size].replications
    if options.stop is None:
        options.stop = options.replications
    if options.out is None:
        own = options.pieces / "trials" / f"{options.size}-seed-{options.seed}" / "results"
        options.out = RESULTS if _is_test(options) else own
    return options


def _is_test(options: argparse.Namespace) -> bool:
    whole = options.replications == settings.EFFORTS["full"].replications
    return options.seed == TEST_SEED and options.size == "full" and whole


def check(options: argparse.Namespace) -> None:
    owner, count = "experiments.mnist", options.replications
    require(count >= 2, owner, "replications", "be at least 2, for a standard error", count)
    require(0 <= options.start < options.stop, owner, "from", "be at least 0 and below 'to'", options.start)
    require(options.stop <= count, owner, "to", "be at most the number of replications", options.stop)
    known = [entry.name for entry in settings.EFFORTS[options.size].entries]
    for name in options.entries or ():
        require(name in known, owner, "entries", f"be among {'; '.join(known)}", name)
    if options.out.resolve() == RESULTS.resolve() and not _is_test(options):
        raise InputProblem(
            f"Size {options.size} with seed {options.seed} and {count} replications is for development and must not "
            f"replace the results of the full size with seed {TEST_SEED}; name another place with --out."
        )


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    try:
        check(options)
        return _run(options)
    except InputProblem as problem:
        print(problem, file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    effort = settings.EFFORTS[options.size]
    failures = []
    if not options.tables_only:
        entries = [entry for entry in effort.entries if options.entries is None or entry.name in options.entries]
        pieces = plan(entries, range(options.start, options.stop), effort.size, options.seed)
        failures = run(pieces, options.replications, options.pieces, options.machine)
    results = summarise(effort, options.replications, options.seed, options.pieces)
    stored = options.out / "mnist.json"
    if stored.exists() and not options.forget:
        refuse_to_lose(_counts(json.loads(stored.read_text())), _counts(results), stored)
    write_json(results, stored)
    write_page(results, showcase_of(effort, options.seed, options.pieces), options.out)
    print(f"\n{main_table(results).markdown()}\n\nin full: {stored}")
    return tell_failures(failures)


def _counts(results: Results) -> dict[str, int]:
    return {row["name"]: row["replications"] for row in results["rows"]}


if __name__ == "__main__":
    sys.exit(main())
