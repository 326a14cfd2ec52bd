"""Insulin doses for meals, the paper's third table, by one command that can be stopped and resumed.

python -m experiments.t1d                                     everything; what was done before is not done again
python -m experiments.t1d --mechanism mcar                    only cells that are missing completely at random
python -m experiments.t1d --size small                        fewer meals and smaller networks: minutes on two cores
python -m experiments.t1d --entries CausalPVAE LR1 --from 10 --to 20      some of it; several may run at once
python -m experiments.t1d --seed 7 --replications 3           development: seed 0 is the test
python -m experiments.t1d --tables-only                       results, tables and pictures from the pieces there are
python -m experiments.t1d --ohio DIR --out FOLDER             the same with a simulator learnt from OhioT1DM files
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.command import Command, answered
from experiments.kept import tell_failures
from experiments.pages import Results
from experiments.t1d import settings
from experiments.t1d.data import MECHANISMS, Clinic, OhioClinic, VirtualClinic, world_of
from experiments.t1d.pictures import write_pictures
from experiments.t1d.pieces import plan, run
from experiments.t1d.summary import showcase_of, summarise
from experiments.t1d.tables import main_table, verdict_table, write_page
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
        raise InputProblem("What --ohio finds must not lie in the project; name a folder for it with --out.")
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
        # files that cannot be read are told of at once, and not by every piece
        world_of(clinics[0], options.seed)
    failures = []
    if not options.tables_only:
        asked = [clinic for clinic in clinics if options.ohio or clinic.name in options.mechanism]
        indices = range(options.start, options.stop)
        pieces = plan(asked, COMMAND.asked_for(options), indices, effort.size, options.seed)
        failures = run(pieces, options.pieces, options.machine)
    results = summarise(effort, clinics, options.replications, options.seed, options.pieces)
    stored = COMMAND.store(results, options, _counts)
    shown = showcase_of(effort, clinics, options.seed, options.pieces)
    if options.ohio:
        write_pictures(results, shown, options.out / "pictures")
    else:
        write_page(results, shown, options.out)
    for clinic, own in results["clinics"].items():
        print(f"\n{own['title']}\n\n{main_table(results, clinic).markdown()}")
    print(f"\n{verdict_table(results).markdown()}\n\nin full: {stored}")
    return tell_failures(failures)


def _counts(results: Results) -> dict[str, int]:
    return {
        f"{row['name']}, {clinic}": row["replications"]
        for clinic, own in results["clinics"].items()
        for row in own["rows"]
    }


if __name__ == "__main__":
    sys.exit(main())
