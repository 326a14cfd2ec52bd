"""`make hostile`: every hazard many times; the counts are printed and kept for docs/reliability.md.

python -m tests.hostile.run                                 all of it: a night
python -m tests.hostile.run --share 0.1 --set damaged=3000  a tenth of every count, but for one
python -m tests.hostile.run --only fitted --set fitted=150  one hazard again; the other results stay
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.counting import Counts

Facts = dict[str, Any]
Hazard = tuple[str, Callable[[], Counts]]
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "hostile.json"
FULL = {
    **{"read": 10_000, "inspected": 10_000, "fitted": 1_000, "damaged": 3_000, "forged": 1_000},
    **{"kills": 200, "interrupts": 200, "seconds": 300},
    **{"rival_flips": 1_000, "rival_kills": 200, "rival_seconds": 60, "rival_tables": 1_000},
}


def clinic(folder: Path) -> tuple[Path, Path, Path]:
    """A log, new cases, and a model of the command line."""
    chance = random.Random(0)
    lines = [
        f"{chance.gauss(0, 1):.3f},{chance.choice(['n', 's', ''])},{chance.choice('abc')},{chance.gauss(0, 1):.3f}"
        for _ in range(300)
    ]
    log, cases, model = folder / "log.csv", folder / "cases.csv", folder / "model"
    log.write_text("x,site,act,y\n" + "\n".join(lines) + "\n")
    cases.write_text("x,site\n" + "\n".join(",".join(line.split(",")[:2]) for line in lines) + "\n")
    words = ["fit", log, "--action", "act", "--reward", "y", "--out", model, "--rounds", "2", "--members", "1"]
    subprocess.run([sys.executable, "-m", "prudent.command_line", *map(str, words)], check=True, capture_output=True)
    return log, cases, model


CLINIC = ("interrupts", "no room", "damaged", "forged")
"""Hazards that need a log and a model of the command line."""


def hazards(count: Callable[[str], int], wanted: Callable[[str], bool], folder: Path) -> Iterator[Hazard]:
    """The name of each, and what returns its counts. What forks comes first: JAX has no threads yet."""
    from tests.hostile import processes, rivals

    for writer in processes.WRITERS:
        yield "kills", lambda writer=writer: processes.writers_are_killed(writer, count("kills"), folder)
    yield "seconds", lambda: processes.writers_and_readers(count("seconds"), folder)
    for name in rivals.MODELS:
        yield "rival_flips", lambda name=name: rivals.flipped_bits(name, count("rival_flips"), folder)
        yield "rival_kills", lambda name=name: rivals.killed_writers(name, count("rival_kills"), folder)
        yield "rival_seconds", lambda name=name: rivals.writers_and_readers(name, count("rival_seconds"), folder)
        yield "rival_tables", lambda name=name: rivals.odd_tables(name, range(count("rival_tables")), folder)
    yield "rival_codes", rivals.codes
    if any(map(wanted, CLINIC)):
        yield from _hazards_of_a_clinic(count, folder)
    from prudent import CausalPVAE, Sizes
    from prudent.networks import Training
    from tests.hostile import in_process

    small = CausalPVAE(
        members=1,
        samples=2,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=1, steps_per_round=5, batch=32, extensions=0),
    )
    yield "read", lambda: in_process.tables_are_read(range(count("read")), folder)
    yield "inspected", lambda: in_process.tables_are_inspected(range(count("inspected")), folder)
    yield "fitted", lambda: in_process.tables_are_fitted(range(count("fitted")), folder, small)


def _hazards_of_a_clinic(count: Callable[[str], int], folder: Path) -> Iterator[Hazard]:
    from tests.hostile import in_process, processes

    log, cases, model = clinic(folder)
    roles = ["--action", "act", "--reward", "y"]
    advice, facts, other = folder / "advice.csv", folder / "facts.json", folder / "other"
    written = {
        "inspect": ([log, *roles, "--json", facts], [facts], 8.0),
        "fit": ([log, *roles, "--out", other, "--rounds", "4"], [other / "model.json"], 25.0),
        "recommend": ([model, cases, "--out", advice], [advice], 8.0),
    }
    for name, (words, outputs, longest) in written.items():
        line = processes.command(name, *words)

        def interrupted(line: list[str] = line, outputs: list[Path] = outputs, longest: float = longest) -> Counts:
            subprocess.run(line, check=True, capture_output=True)
            return processes.interrupted(line, count("interrupts") // 3 + 1, longest, outputs, random.Random(0))

        yield "interrupts", interrupted
    yield "no room", lambda: processes.no_room(processes.command("recommend", model, cases, "--out", advice), advice)
    yield "damaged", lambda: in_process.damaged_folders(model, folder / "copy", range(count("damaged")))
    yield "forged", lambda: in_process.damaged_folders(model, folder / "copy", range(count("forged")), forged=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="and keep the other results")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=COUNT", help=f"one of {', '.join(FULL)}")
    options = parser.parse_args()
    chosen = {name: int(count) for name, count in (text.split("=") for text in options.set)}
    warnings.simplefilter("ignore")

    def count(name: str) -> int:
        return chosen.get(name, max(1, round(options.share * FULL[name])))

    def wanted(name: str) -> bool:
        return not options.only or name in options.only

    found: dict[str, Facts] = {}
    if options.only:
        found = {facts["hazard"]: facts for facts in json.loads(options.results.read_text())}
    with tempfile.TemporaryDirectory() as folder:
        for name, hazard in hazards(count, wanted, Path(folder)):
            if not wanted(name):
                continue
            began, facts = time.monotonic(), hazard().to_dict()
            print(f"{facts['hazard']}: {facts['ends']} ({time.monotonic() - began:.0f} s)", flush=True)
            for example in facts["examples"]:
                print(f"    {example.encode('ascii', 'backslashreplace').decode()}", flush=True)
            found[facts["hazard"]] = facts
            options.results.write_text(json.dumps(list(found.values()), indent=1) + os.linesep)


if __name__ == "__main__":
    main()
