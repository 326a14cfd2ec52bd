"""Digits as decisions, the paper's first table, by one command that can be stopped and resumed.
`python -m docs.build` then writes the tables.

python -m experiments.mnist                                   everything; what was done before is not done again
python -m experiments.mnist --size small                      smaller images, fewer of them: minutes on two cores
python -m experiments.mnist --entries "CausalPVAE, types" --from 20 --to 40     some of it; several may run at once
python -m experiments.mnist --seed 7 --replications 3         development: seed 0 is the test
python -m experiments.mnist --tables-only                     results and pictures from the pieces there are
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from experiments.command import Command, answered, store, store_showcase, write_files
from experiments.mnist import settings
from experiments.mnist.pictures import files
from experiments.mnist.pieces import plan
from experiments.mnist.run import run
from experiments.mnist.summary import kept, showcase_of, summarise
from experiments.mnist.tables import main_table
from experiments.pieces import report_failures
from experiments.results import Results

RESULTS = Path(__file__).parent / "results"
COMMAND = Command("mnist", settings.EFFORTS, RESULTS)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    return COMMAND.completed(COMMAND.parser(__doc__).parse_args(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    return answered(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    COMMAND.check(options)
    effort = settings.EFFORTS[options.size]
    failures = []
    if not options.tables_only:
        pieces = plan(COMMAND.requested(options), range(options.start, options.stop), effort.size, options.seed)
        failures = run(pieces, options.replications, options.pieces, options.machine)
    results = summarise(effort, options.replications, options.seed, options.pieces)
    stored = store("mnist", results, options, _counts, partial(kept, effort))
    results = json.loads(stored.read_text())
    store_showcase(showcase_of(effort, options.seed, options.pieces), options.out)
    write_files(files(options.out), options.out.parent)
    print(f"\n{main_table(results).markdown()}\n\nin full: {stored}")
    return report_failures(failures)


def _counts(results: Results) -> dict[str, int]:
    return {row["name"]: row["replications"] for row in results["rows"]}


if __name__ == "__main__":
    sys.exit(main())
