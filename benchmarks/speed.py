"""How fast, and how much memory: ratios and seconds measured in one run.

    python -m benchmarks.speed [--out benchmarks/results/speed.json]

A fit is timed in a fresh process with an empty compilation cache, then in another with the cache it left.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np

from benchmarks.reporting import CONSOLE, Benchmark, Stored
from prudent.models import FeatureLoss, PartialVAE
from prudent.networks import Training, layout_of, quasi_random, train
from prudent.table import Column, Schema
from prudent.worlds import DosingWorld

REPLICATIONS = 100
ROWS, BATCH, EPOCHS = 150, 8, 25
EAGER_STEPS = 40

_FIT = """
import sys, time
start = time.perf_counter()
import prudent
log = prudent.read_log(sys.argv[1], action="dose", reward="outcome")
fitted = prudent.CausalPVAE().fit(log)
seconds = time.perf_counter() - start
fitted.save(sys.argv[2])
print(seconds)
"""

_RECOMMEND = """
import resource, sys, time
import prudent
fitted = prudent.load(sys.argv[1])
cases = prudent.read_table(sys.argv[2])
start = time.perf_counter()
fitted.policy(prudent.Conservative(risk=0.05)).recommend(cases)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def _python(code: str, *arguments: str, cache: Path) -> list[float]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def fit_and_recommend(folder: Path) -> dict[str, float]:
    """Default fit on the 5000-row dosing log, cold and warm; advice for 2000 and 20 000 rows with peak memory."""
    world = DosingWorld(doses=5, loss="quadratic")
    log, model, cache = str(folder / "log.csv"), str(folder / "model"), folder / "cache"
    world.sample(5000, seed=1).frame().write_csv(log)
    other = str(folder / "other.csv")
    world.sample(4600, seed=3).frame().write_csv(other)
    result = {"fit_cold": _python(_FIT, log, model, cache=cache)[0]}
    result["fit_other_rows_warm"] = _python(_FIT, other, str(folder / "second"), cache=cache)[0]
    for rows in (2000, 20_000):
        cases = str(folder / f"cases-{rows}.csv")
        world.sample(rows, seed=2).cases().write_csv(cases)
        _python(_RECOMMEND, model, cases, cache=cache)
        result[f"recommend_{rows}"], result[f"memory_mib_{rows}"] = _python(_RECOMMEND, model, cases, cache=cache)
    return result


def replications() -> dict[str, float]:
    """100 partial VAEs of IHDP size trained at once, against one after the other: compiled, and in eager mode.

    The sequential times are of one run (eager: of a few steps of one run) times what is left out.
    """
    schema = Schema(tuple(Column(f"x{i}", "real") for i in range(25)))
    generator = np.random.default_rng(0)
    observed = generator.random((ROWS, 25)) > 0.3
    values = np.where(observed, generator.normal(size=(ROWS, 25)), 0).astype(np.float32)
    data = {"values": values, "observed": observed}
    make = partial(PartialVAE, layout_of(schema), latent=10, width=20, embedding=10, summary=5)
    count = EPOCHS * ROWS // BATCH
    training = Training(learning_rate=1e-3, batch=BATCH, rounds=1, steps_per_round=count, patience=1)
    points = quasi_random(1, 35, 0)

    def run(members: int, steps: Training) -> float:
        start = time.perf_counter()
        train(lambda key: make(key=key), FeatureLoss(0.0), data, points=points, training=steps, members=members, seed=0)
        return time.perf_counter() - start

    run(REPLICATIONS, training)
    run(1, training)
    together, alone = np.inf, np.inf
    for _ in range(3):  # alternating: machines are noisy
        together, alone = min(together, run(REPLICATIONS, training)), min(alone, run(1, training))
    with jax.disable_jit():
        few = Training(learning_rate=1e-3, batch=BATCH, rounds=1, steps_per_round=EAGER_STEPS, patience=1)
        run(1, few)
        per_step = run(1, few) / EAGER_STEPS
    return {
        "vmapped_seconds": together,
        "sequential_compiled_seconds": alone * REPLICATIONS,
        "sequential_eager_seconds": per_step * count * REPLICATIONS,
        "times_faster_than_compiled": alone * REPLICATIONS / together,
        "times_faster_than_eager": per_step * count * REPLICATIONS / together,
    }


_BOOTSTRAP = """
import resource, sys, time
import numpy as np
from prudent.evaluation import EVERY_ESTIMATOR, Bootstrap
from prudent.evaluation.row_terms import Evidence
rows, draws = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(0)
weights = random.exponential(size=rows) * (random.random(rows) < 0.3)
evidence = Evidence(weights, random.normal(size=rows), random.normal(size=rows), random.normal(size=rows))
terms = [one.terms(evidence) for one in EVERY_ESTIMATOR]
start = time.perf_counter()
Bootstrap(draws=draws).estimates(terms)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def bootstrap(folder: Path) -> dict[str, float]:
    """Eight estimators over 100,000 rows: seconds and memory as the draws grow tenfold."""
    result = {}
    for draws in (100, 1000):
        seconds, memory = _python(_BOOTSTRAP, "100000", str(draws), cache=folder)
        result |= {f"seconds_{draws}": seconds, f"memory_mib_{draws}": memory}
    return result


BENCHMARK = Benchmark("speed")


def main() -> None:
    options = BENCHMARK.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stored: Stored = {"fit_and_recommend": fit_and_recommend(Path(folder)), "bootstrap": bootstrap(Path(folder))}
    stored["replications"] = replications()
    CONSOLE.print_json(json.dumps(stored))
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
