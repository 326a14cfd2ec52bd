"""Insulin doses for meals, the paper's third table, by one command that can be stopped and resumed.
`python -m docs.build` then writes the tables.

python -m experiments.t1d                                     everything; what was done before is not done again
python -m experiments.t1d --mechanism mcar                    only cells that are missing completely at random
python -m experiments.t1d --size small                        fewer meals and smaller networks: minutes on two cores
python -m experiments.t1d --entries CausalPVAE LR1 --from 10 --to 20      some of it; several may run at once
python -m experiments.t1d --seed 7 --replications 3           development: seed 0 is the test
python -m experiments.t1d --tables-only                       results and pictures from the pieces there are
python -m experiments.t1d --ohio DIR --out FOLDER             the same with a simulator learnt from OhioT1DM files
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from experiments.command import Command, answered, store, store_showcase, write_files
from experiments.pieces import report_failures
from experiments.results import Results
from experiments.t1d import settings
from experiments.t1d.data import MECHANISMS, Clinic, OhioClinic, VirtualClinic, world_of
from experiments.t1d.pictures import files
from experiments.t1d.pieces import plan, run
from experiments.t1d.summary import kept, showcase_of, summarise
from experiments.t1d.tables import main_table, verdict_table
from prudent.errors import InputProblem

RESULTS = Path(__file__).parent / "results"
COMMAND = Command("t1d", settings.EFFORTS, RESULTS)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = COMMAND.parser(__doc__)
    parser.add_argument(
        "--mechanism", nargs="+", choices=MECHANISMS, default=list(MECHANISMS), help="run only these kinds of gaps"
    )
    parser.add_argument(
        "--ohio",
        type=Path,
        metavar="DIR",
        help="OhioT1DM files instead of virtual patients; needs --out and writes only below it (work is kept in "
        "OUT/pieces unless --pieces says otherwise)",
    )
    usual = parser.get_default("pieces")
    parser.set_defaults(pieces=None)
    options = parser.parse_args(arguments)
    if options.ohio and options.out is None:
        raise InputProblem("Results of --ohio must not lie in the project; name a folder for them with --out.")
    if options.pieces is None:
        options.pieces = options.out / "pieces" if options.ohio else usual
    return COMMAND.completed(options)


def check(options: argparse.Namespace) -> None:
    COMMAND.check(options)
    if options.ohio and options.out.resolve() == RESULTS.resolve():
        raise InputProblem(
            "Results of --ohio must not replace those of the virtual patients; name another place with --out."
        )


def clinics_of(options: argparse.Namespace) -> list[Clinic]:
    """All that the tables are made of; what is run may be less."""
    if options.ohio:
        return [OhioClinic.of(options.ohio.resolve())]
    return [VirtualClinic(name) for name in MECHANISMS]


def main(arguments: Sequence[str] | None = None) -> int:
    return answered(lambda: _run(options_of(arguments)))


def _run(options: argparse.Namespace) -> int:
    check(options)
    effort, clinics = settings.EFFORTS[options.size], clinics_of(options)
    if options.ohio:
        # files that cannot be read are reported once, before any piece runs
        world_of(clinics[0], options.seed)
    failures = []
    if not options.tables_only:
        requested = [clinic for clinic in clinics if options.ohio or clinic.name in options.mechanism]
        indices = range(options.start, options.stop)
        pieces = plan(requested, COMMAND.requested(options), indices, effort.size, options.seed)
        failures = run(pieces, options.replications, options.pieces, options.machine)
    results = summarise(effort, clinics, options.replications, options.seed, options.pieces)
    stored = store("t1d", results, options, _counts, partial(kept, effort))
    results = json.loads(stored.read_text())
    store_showcase(showcase_of(effort, clinics, options.seed, options.pieces), options.out)
    # nothing learnt from OhioT1DM may be written outside of --out
    write_files(files(options.out), options.out if options.ohio else options.out.parent)
    for name, clinic in results["clinics"].items():
        print(f"\n{clinic['title']}\n\n{main_table(results, name).markdown()}")
    print(f"\n{verdict_table(results).markdown()}\n\nin full: {stored}")
    return report_failures(failures)


def _counts(results: Results) -> dict[str, int]:
    return {
        f"{row['name']}, {name}": row["replications"]
        for name, clinic in results["clinics"].items()
        for row in clinic["rows"]
    }


if __name__ == "__main__":
    sys.exit(main())
