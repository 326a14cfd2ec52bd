"""What fits, advice and evaluations cost on tables of several shapes: where the constants of
`prudent.models.cost_estimate` come from, and how far its estimates are off on other shapes.

    python -m benchmarks.cost [--out benchmarks/results/cost.json]

Each shape runs in a fresh process with an empty compilation cache; half an hour on two cores. Times are processor
seconds, so that other work on the machine does not count.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored
from prudent.models import estimate_costs
from prudent.models.cost_estimate import CORES_USED
from prudent.models.machine_speed import slowness
from prudent.progress import reporting
from prudent.table import Column, Log, Schema

ROUNDS = 3
ADVISED, SEARCHED, EVALUATED, THOUSAND = 512, 64, 500, 1000


class Shape(NamedTuple):
    """Rows, columns that are numbers, columns of labels and how many labels each has, actions."""

    rows: int
    numbers: int
    labelled: int
    levels: int
    actions: int

    def log(self, rows: int, seed: int) -> Log:
        random = np.random.default_rng(seed)
        width = self.numbers + self.labelled
        need = random.normal(size=(rows, 1))
        values = need + random.normal(size=(rows, width))
        labels = tuple(f"level {level}" for level in range(self.levels))
        values[:, self.numbers :] = random.integers(0, max(self.levels, 1), (rows, self.labelled))
        observed = random.random((rows, width)) > 0.3
        actions = random.integers(0, self.actions, rows).astype(np.int32)
        rewards = need[:, 0] * (actions - self.actions / 2) + random.normal(size=rows)
        columns = [Column(f"number {index}", "real") for index in range(self.numbers)]
        columns += [Column(f"label {index}", "categorical", labels) for index in range(self.labelled)]
        cells = np.where(observed, values, 0).astype(np.float32)
        return Log(Schema(tuple(columns)), cells, observed, actions, rewards, tuple(range(self.actions)))


MEASURED = (
    Shape(1000, 8, 0, 0, 3),
    Shape(5000, 8, 2, 4, 5),
    Shape(5000, 30, 10, 6, 3),
    Shape(2000, 20, 20, 30, 4),
    Shape(2000, 60, 0, 0, 8),
    Shape(2000, 100, 20, 10, 3),
)
CHECKED = (Shape(3000, 25, 5, 12, 3), Shape(1500, 80, 10, 20, 5), Shape(8000, 12, 8, 8, 6))


def measure(shape: Shape) -> dict[str, Any]:
    """Seconds of every part on this shape, and the peak of memory after each command's work."""
    result: dict[str, Any] = {"shape": shape}
    past, later = shape.log(shape.rows, 0), shape.log(EVALUATED, 1)
    ticks: list[float] = []

    def hear(done: int, total: int) -> None:
        """The rounds of training come first; what is learnt afterwards counts as the finish."""
        if not ticks or (len(ticks) < total and done == len(ticks) + 1):
            ticks.append(time.process_time())

    settings = prudent.CausalPVAE(training=prudent.Training(rounds=ROUNDS))
    began = time.process_time()
    with reporting(hear):
        fitted = settings.fit(past)
    ended = time.process_time()
    pieces = len(ticks) // ROUNDS
    result["round"] = (ticks[-1] - ticks[pieces - 1]) / (ROUNDS - 1)
    result["compile"] = ticks[pieces - 1] - began - result["round"]
    result["finish"] = ended - ticks[-1]
    result["fit_memory"] = _peak()
    encoded = shape.log(ADVISED, 2).encoded
    for name, policy, rows in (
        ("recommend", fitted.policy(), ADVISED),
        ("search", fitted.policy(prudent.Conservative(risk=0.05)), SEARCHED),
    ):
        some = replace(encoded, values=encoded.values[:rows], observed=encoded.observed[:rows], flags=[""] * rows)
        start = time.process_time()
        policy.chooser.score(some)
        first, start = time.process_time() - start, time.process_time()
        policy.chooser.score(some)
        again = time.process_time() - start
        result |= {f"{name}_compile": first - again, f"{name}_row": again / rows}
    result["recommend_memory"] = _peak()
    start = time.process_time()
    prudent.evaluate({"expected": fitted.policy()}, later).to_dict()
    result["evaluate"] = time.process_time() - start
    result["evaluate_memory"] = _peak()
    return result


def ratios(measured: dict[str, Any]) -> dict[str, float]:
    """What is estimated for the defaults of a fit and of evaluations, as a multiple of what was measured."""
    shape = Shape(*measured["shape"])
    settings = prudent.CausalPVAE()
    estimated = estimate_costs(settings, shape.log(shape.rows, 0), rows=THOUSAND)
    processor = CORES_USED / slowness()
    fit = measured["compile"] + settings.training.rounds * measured["round"] + measured["finish"]
    advice = measured["recommend_compile"] + THOUSAND * measured["recommend_row"]
    search = measured["search_compile"] + THOUSAND * measured["search_row"]
    return {
        "fit": estimated.fit.seconds * processor / fit,
        "recommend": estimated.recommend.seconds * processor / advice,
        "search": estimated.search.seconds * processor / (advice if shape.numbers + shape.labelled > 64 else search),
        "fit_memory": estimated.fit.memory / measured["fit_memory"] / 2**20,
        "evaluate_memory": estimated.evaluate.memory / measured["evaluate_memory"] / 2**20,
    }


def _peak() -> float:
    """MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_fresh_process(shape: Shape) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.cost", "--shape", json.dumps(shape)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


BENCHMARK = Benchmark("cost")


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--shape", type=json.loads, help="measure this one in this process and print it")
    options = parser.parse_args()
    if options.shape:
        print(json.dumps(measure(Shape(*options.shape))))
        return
    stored: Stored = {"measured": [], "checked": []}
    for name, shapes in (("measured", MEASURED), ("checked", CHECKED)):
        for shape in shapes:
            stored[name].append(in_fresh_process(shape))
            CONSOLE.print(stored[name][-1], "estimate / measured:", ratios(stored[name][-1]))
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
