"""IHDP with gaps, the paper's second table: every method, every share, by one command that can be stopped and resumed.
`python -m docs.build` then writes the tables.

python -m experiments.ihdp                                    everything; what was done before is not done again
python -m experiments.ihdp --methods MI MF --gaps shared      some of it
python -m experiments.ihdp --seed 7 --out build/trial         development: seed 0 is the test
python -m experiments.ihdp --tables-only                      results and pictures from the pieces there are
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.command import TEST_SEED, answered, parser_of, store, write_files
from experiments.ihdp import settings
from experiments.ihdp.data import GAPS
from experiments.ihdp.pictures import files
from experiments.ihdp.pieces import plan
from experiments.ihdp.run import run
from experiments.ihdp.summary import kept, summarise
from experiments.pieces import report_failures
from experiments.results import Results
from prudent.errors import InputProblem, require

RESULTS = Path(__file__).parent / "results"


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of("ihdp", __doc__)
    parser.add_argument(
        "--replications", type=int, default=1000, help="where all replications share one mask (default 1000)"
    )
    parser.add_argument("--fresh-replications", type=int, default=100, help="on the second page (default 100)")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--gaps", nargs="+", choices=GAPS, default=list(GAPS), help="only these kinds of gaps")
    parser.add_argument("--shares", nargs="+", type=float, default=list(settings.SHARES), help="shares of cells gone")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results; pictures are drawn beside it")
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
    """The pages and methods that were requested; the tables still show everything that is stored."""
    methods = options.methods
    return [
        replace(page, entries=tuple(entry for entry in page.entries if methods is None or entry.name in methods))
        for page in pages
        if page.gaps in options.gaps
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    return answered(lambda: _run(options_of(arguments)))


def _run(options: argparse.Namespace) -> int:
    check(options)
    pages = settings.pages(options.replications, options.fresh_replications, tuple(options.shares))
    failures = []
    if not options.tables_only:
        failures = run(plan(chosen(pages, options), options.seed), options.pieces, options.machine)
    results = summarise(pages, options.seed, options.pieces)
    store("ihdp", results, options, _counts, partial(kept, pages))
    write_files(files(options.out), options.out.parent)
    return report_failures(failures)


def _counts(results: Results) -> dict[str, int]:
    return {
        f"{name}, {page} {share}": row["n"]
        for page, kind in results["pages"].items()
        for share, rows in kind["shares"].items()
        for name, row in rows.items()
    }


if __name__ == "__main__":
    sys.exit(main())
