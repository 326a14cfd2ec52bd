"""The worst plausible case: what sampling finds and what search finds, against the exact minimum and against time.

    python -m benchmarks.search

Dosing worlds known exactly (completions, densities and prices are the world's own), so that all that is measured is the
looking. The set is the paper's {p > 0.1 · p(x̂)}, whose minimum is a closed form. Times are of a second call, so that
nothing is compiled, the ways of looking taking turns.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.dosing import Printed
from prudent import Conservative, Search
from prudent.decide import Policy
from prudent.worlds import DosingWorld

C = 0.1
ROWS = 256
WORLDS = {
    "8 numbers": DosingWorld(),
    "20 numbers": DosingWorld(attributes=20),
    "6 numbers, 2 categories": DosingWorld(categorical=2),
}
WAYS: dict[str, dict[str, Any]] = {
    **{f"{count} draws": {"completions": count, "search": Search(steps=0)} for count in (256, 1024, 4096, 16384)},
    "256 draws, then 1 × 3 steps": {"search": Search(starts=1, steps=3)},
    "256 draws, then 2 × 6 steps (default)": {"search": Search()},
    "256 draws, then 4 × 12 steps": {"search": Search(starts=4, steps=12)},
}


def seconds_of(policy: Policy, encoded: Any) -> float:
    start = time.perf_counter()
    policy.chooser.score(encoded)
    return time.perf_counter() - start


def in_world(world: DosingWorld, rounds: int) -> dict[str, dict[str, float]]:
    fitted, sample = world.exact_model(), world.sample(ROWS, seed=9)
    encoded = fitted.schema.encode(sample.cases())
    exact = world.scores("conservative", sample, c=C)
    policies = {name: fitted.policy(Conservative(c=C), **options) for name, options in WAYS.items()}
    found = {name: policy.chooser.score(encoded).scores for name, policy in policies.items()}
    times = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, policy in policies.items():
            times[name].append(seconds_of(policy, encoded))
    every = np.arange(ROWS)
    return {
        name: {
            "short": float(np.mean(scores - exact)),
            "short_for_choice": float(np.mean((scores - exact)[every, scores.argmax(axis=1)])),
            "below_exact": float(np.mean(np.maximum(exact - scores, 0.0))),
            "same_choice": float(np.mean(scores.argmax(axis=1) == exact.argmax(axis=1))),
            "seconds": float(np.median(times[name])),
        }
        for name, scores in found.items()
    }


def search_table(described: dict[str, Any]) -> Printed:
    rows = []
    for world, found in described["worlds"].items():
        for name, one in found.items():
            short = f"{one['short']:.3f}", f"{one['short_for_choice']:.3f}"
            rows.append((world, name, *short, f"{one['same_choice']:.0%}", f"{one['seconds']:.2f}"))
    return Printed(
        f"Short of the exact minimum, mean over {ROWS} cases",
        ("world", "looked at", "all actions", "the action chosen", "exact action chosen", "seconds"),
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "search.json")
    settings = parser.parse_args()
    console = Console(width=130)
    described = {
        "rows": ROWS,
        "c": C,
        "worlds": {name: in_world(world, settings.rounds) for name, world in WORLDS.items()},
    }
    console.print(search_table(described).rich())
    settings.out.write_text(json.dumps(described, indent=1))
    console.print(f"Numbers written to {settings.out}")


if __name__ == "__main__":
    main()
