"""IHDP with gaps, the paper's second table: every method, every share, by one command that can be stopped and resumed.

python -m experiments.ihdp                                    everything; what was done before is not done again
python -m experiments.ihdp --methods MI MF --gaps shared      some of it
python -m experiments.ihdp --seed 7 --out build/trial         development: seed 0 is the test
python -m experiments.ihdp --tables-only                      results, tables and pictures from the pieces there are
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.ihdp import settings
from experiments.ihdp.data import GAPS
from experiments.ihdp.pieces import plan
from experiments.ihdp.run import run
from experiments.ihdp.summary import summarise
from experiments.ihdp.tables import write_page
from experiments.kept import tell_failures, this_machine
from experiments.pages import Results, refuse_to_lose, write_json
from prudent.errors import InputProblem, require

RESULTS = Path(__file__).parent / "results"
TEST_SEED = 0


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m experiments.ihdp", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=1000, help="where all share one mask (default 1000)")
    parser.add_argument("--fresh-replications", type=int, default=100, help="on the second page (default 100)")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--gaps", nargs="+", choices=GAPS, default=list(GAPS), help="only these kinds of gaps")
    parser.add_argument("--shares", nargs="+", type=float, default=list(settings.SHARES), help="shares of cells gone")
    parser.add_argument("--seed", type=int, default=TEST_SEED, help="of the data and the methods (default 0, the test)")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="results; README.md and pictures beside it are renewed"
    )
    parser.add_argument(
        "--pieces", type=Path, default=Path("build/ihdp"), help="where work is kept (default build/ihdp)"
    )
    parser.add_argument("--machine", default=this_machine(), help="in words, for the table of seconds")
    parser.add_argument("--forget", action="store_true", help="let rows go whose pieces are not there any more")
    parser.add_argument("--tables-only", action="store_true", help="run nothing")
    return parser.parse_args(arguments)


def check(options: argparse.Namespace) -> None:
    owner = "experiments.ihdp"
    for name in ("replications", "fresh_replications"):
        count = getattr(options, name)
        require(count >= 2, owner, name, "be at least 2, for a standard error", count)
    for share in options.shares:
        require(0 < share <= 0.6, owner, "shares", "be above 0 and at most 0.6", share)
    known = {entry.name for entry in (*settings.ENTRIES, *settings.HYPER_ENTRIES)}
    for name in options.methods or ():
        require(name in known, owner, "methods", f"be among {', '.join(sorted(known))}", name)
    if options.seed != TEST_SEED and options.out.resolve() == RESULTS.resolve():
        raise InputProblem(
            f"Seed {options.seed} is for development and must not replace the results of seed {TEST_SEED}; name "
            "another place with --out."
        )


def chosen(pages: Sequence[settings.Page], options: argparse.Namespace) -> list[settings.Page]:
    """What was asked for; the tables are made of everything there is all the same."""
    methods = options.methods
    return [
        replace(page, entries=tuple(entry for entry in page.entries if methods is None or entry.name in methods))
        for page in pages
        if page.gaps in options.gaps
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    try:
        check(options)
        return _run(options)
    except InputProblem as problem:
        print(problem, file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    pages = settings.pages(options.replications, options.fresh_replications, tuple(options.shares))
    failures = []
    if not options.tables_only:
        failures = run(plan(chosen(pages, options), options.seed), options.pieces, options.machine)
    results = summarise(pages, options.seed, options.pieces)
    stored = options.out / "ihdp.json"
    if stored.exists() and not options.forget:
        refuse_to_lose(_counts(json.loads(stored.read_text())), _counts(results), stored)
    write_json(results, stored)
    write_page(results, options.out.parent)
    return tell_failures(failures)


def _counts(results: Results) -> dict[str, int]:
    return {
        f"{name}, {page} {share}": row["n"]
        for page, own in results["pages"].items()
        for share, rows in own["shares"].items()
        for name, row in rows.items()
    }


if __name__ == "__main__":
    sys.exit(main())
