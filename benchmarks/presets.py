"""What the presets cost and gain: two kinds of simulated clinic whose best decisions are known, fitted with each.

    python -m benchmarks.presets [--rows 2000] [--out benchmarks/results/presets.json]

Seconds are processor seconds of the fit, compilation included.
"""

import time

import numpy as np

import prudent
from benchmarks.dosing import FRESH, score, world_of
from benchmarks.reporting import CONSOLE, Benchmark, Stored

SETTINGS = {
    "fast": prudent.CausalPVAE.preset("fast"),
    "default": prudent.CausalPVAE(),
    "best": prudent.CausalPVAE.preset("best"),
}
SEEDS = (11, 12)  # no worlds that the defaults were chosen on


def measured(name: str, loss: str, rows: int, seed: int) -> dict[str, float]:
    world = world_of(seed, loss)
    log, fresh = world.sample(rows, seed=seed), world.sample(FRESH, seed=seed + 1)
    table = prudent.Log.from_frame(log.frame(), action="dose", reward="outcome", kinds=world.kinds)
    start = time.process_time()
    fitted = SETTINGS[name].fit(table, seed=0)
    seconds = time.process_time() - start
    chosen = fitted.policy().chooser.score(fitted.schema.encode(fresh.cases())).scores.argmax(axis=1)
    actions = world.index(np.array(fitted.action_labels)[chosen])
    return score(world, actions, fresh) | {"seconds": seconds, "rounds": fitted.report.rounds}


BENCHMARK = Benchmark("presets")


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    options = parser.parse_args()
    stored: Stored = {"rows": options.rows}
    for name in SETTINGS:
        stored[name] = {
            loss: [measured(name, loss, options.rows, seed) for seed in SEEDS] for loss in ("quadratic", "cliff")
        }
        CONSOLE.print(name, stored[name])
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
