"""`make hostile`: every hazard many times; the counts are printed and kept for docs/reliability.md.

python -m tests.hostile.run                                 all of it: a night
python -m tests.hostile.run --share 0.1 --set damaged=3000  a tenth of every count, but for one
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


def hazards(share: float, chosen: dict[str, int], folder: Path) -> Iterator[Callable[[], object]]:
    """Each returns its counts. What forks comes first: JAX has no threads yet."""
    from tests.hostile import processes, rivals

    def times(name: str) -> int:
        return chosen.get(name, max(1, round(share * FULL[name])))

    for writer in processes.WRITERS:
        yield lambda writer=writer: processes.writers_are_killed(writer, times("kills"), folder)
    yield lambda: processes.writers_and_readers(times("seconds"), folder)
    for name in rivals.MODELS:
        yield lambda name=name: rivals.flipped_bits(name, times("rival_flips"), folder)
        yield lambda name=name: rivals.killed_writers(name, times("rival_kills"), folder)
        yield lambda name=name: rivals.writers_and_readers(name, times("rival_seconds"), folder)
        yield lambda name=name: rivals.odd_tables(name, range(times("rival_tables")), folder)
    yield rivals.codes
    log, cases, model = clinic(folder)
    roles = ["--action", "act", "--reward", "y"]
    advice, facts, other = folder / "advice.csv", folder / "facts.json", folder / "other"
    written = {
        "inspect": ([log, *roles, "--json", facts], [facts], 8.0),
        "fit": ([log, *roles, "--out", other, "--rounds", "4"], [other / "model.json"], 25.0),
        "recommend": ([model, cases, "--out", advice], [advice], 8.0),
    }
    for name, (words, outputs, longest) in written.items():
        subprocess.run(processes.command(name, *words), check=True, capture_output=True)
        line, each = processes.command(name, *words), times("interrupts") // 3 + 1
        yield lambda line=line, outputs=outputs, longest=longest, each=each: processes.interrupted(
            line, each, longest, outputs, random.Random(0)
        )
    yield lambda: processes.no_room(processes.command("recommend", model, cases, "--out", advice), advice)
    from prudent import CausalPVAE, Sizes
    from prudent.networks import Training
    from tests.hostile import in_process

    small = CausalPVAE(
        members=1,
        samples=2,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=1, steps_per_round=5, batch=32, extensions=0),
    )
    yield lambda: in_process.damaged_folders(model, folder / "copy", range(times("damaged")))
    yield lambda: in_process.damaged_folders(model, folder / "copy", range(times("forged")), forged=True)
    yield lambda: in_process.tables_are_read(range(times("read")), folder)
    yield lambda: in_process.tables_are_inspected(range(times("inspected")), folder)
    yield lambda: in_process.tables_are_fitted(range(times("fitted")), folder, small)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=COUNT", help=f"one of {', '.join(FULL)}")
    options = parser.parse_args()
    chosen = {name: int(count) for name, count in (text.split("=") for text in options.set)}
    warnings.simplefilter("ignore")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for hazard in hazards(options.share, chosen, Path(folder)):
            began = time.monotonic()
            counts = hazard()
            found.append(counts.to_dict())  # pyright: ignore[reportAttributeAccessIssue]
            print(f"{found[-1]['hazard']}: {found[-1]['ends']} ({time.monotonic() - began:.0f} s)", flush=True)
            for example in found[-1]["examples"]:
                print(f"    {example.encode('ascii', 'backslashreplace').decode()}", flush=True)
            options.results.write_text(json.dumps(found, indent=1) + os.linesep)


if __name__ == "__main__":
    main()
