"""The worst plausible case: the minimum found by sampling and by search, beside the exact one, and their time.

    python -m benchmarks.search

Dosing worlds are known exactly (completions, densities and prices are the world's), so that only the search is
measured. The set is the paper's {p > 0.1 · p(x̂)}, whose minimum is a closed form. Times are of a second call, so that
nothing is compiled; the ways take turns.
"""

import time
from typing import Any

import numpy as np

from benchmarks.reporting import Benchmark, Stored, Table
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
    scores_by_way = {name: policy.chooser.score(encoded).scores for name, policy in policies.items()}
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
        for name, scores in scores_by_way.items()
    }


def search_table(stored: Stored) -> Table:
    lines = []
    for world, ways in stored["worlds"].items():
        for name, way in ways.items():
            short = f"{way['short']:.3f}", f"{way['short_for_choice']:.3f}"
            lines.append((world, name, *short, f"{way['same_choice']:.0%}", f"{way['seconds']:.2f}"))
    return Table(
        ("world", "looked at", "all actions", "the action chosen", "exact action chosen", "seconds"),
        lines,
        f"Short of the exact minimum, mean over {ROWS} cases",
    )


BENCHMARK = Benchmark("search", {"search": search_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    worlds = {name: in_world(world, options.rounds) for name, world in WORLDS.items()}
    BENCHMARK.store({"rows": ROWS, "c": C, "worlds": worlds}, options.out)


if __name__ == "__main__":
    main()
