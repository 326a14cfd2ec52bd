"""How fast, how much memory, and where the time goes: tables of four shapes, ours beside what people use today.

    python -m benchmarks.speed [--only tables growth commands many] [--out benchmarks/results/speed.json]

Everything runs on two cores, each measurement in a process of its own with a compilation cache of its own. On
a machine with an accelerator the device that JAX finds is measured, and kept under its name.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table
from benchmarks.tables import BROAD, COHORT, NARROW, STROKE
from benchmarks.tables import Table as Shape
from experiments.rivals.actions import Boosting, ChainedImputation, Forest, LoggedDecisions, PerAction
from prudent.models import FeatureLoss, PartialVAE
from prudent.networks import Training, layout_of, quasi_random, train
from prudent.show import Picture, Series, scatter_lines
from prudent.table import Column, Encoded, Log, Schema

SHAPES: dict[str, tuple[Shape, int]] = {
    "14 columns × 4000 rows, 4 actions": (NARROW, 4000),
    "60 columns × 3000 rows, 3 actions": (BROAD, 3000),
    "66 columns, mostly categories, × 4400 rows, 4 actions": (COHORT, 4400),
    "25 columns × 15,500 rows, 8 actions": (STROKE, 15_500),
}
ADVISED, SEARCHED, REPEATED = 4000, 512, 30
RIVALS = {
    "gradient boosting": Boosting(PerAction(), stages=(100,)),
    "mean + forests": Forest(PerAction()),
    "MICE + forests": Forest(PerAction(), ChainedImputation()),
}
PLAIN = Shape(3, real=10, gaps=0.3)
GROWTH: dict[str, dict[str, tuple[Shape, int]]] = {
    "rows": {str(rows): (PLAIN, rows) for rows in (1000, 10_000, 100_000, 1_000_000)},
    "columns": {str(width): (replace(PLAIN, real=width), 3000) for width in (10, 30, 100, 300)},
    "actions": {str(count): (replace(PLAIN, actions=count), 5000) for count in (2, 8, 20, 50)},
    "gaps": {f"{share:.0%}": (replace(PLAIN, gaps=share), 3000) for share in (0.05, 0.3, 0.6)},
}
MANY = 100_000
REPLICATIONS = 100
ROWS, BATCH, EPOCHS = 150, 8, 25


# --- one measurement, in its own process ---


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _memory() -> float:
    """The most that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_and_advise(shape: Shape, rows: int, model: str) -> dict[str, float]:
    """A fit, the same again, and advice for many cases and for one."""
    log = shape.sample(rows, 1).log()
    times: dict[str, float] = {}
    fitted = None
    for name in ("first fit", "fit again"):
        start = time.perf_counter()
        fitted = prudent.CausalPVAE().fit(log, progress=False)
        times[name] = time.perf_counter() - start
    assert fitted is not None
    fitted.save(model)
    times["rounds"], times["fit memory"] = fitted.report.rounds, _memory()
    cases = shape.sample(ADVISED, 2).cases()
    expected, careful = fitted.policy(), fitted.policy(prudent.Conservative(risk=0.05))
    times["first advice"] = _seconds(lambda: expected.recommend(cases))
    times["expected rows/s"] = ADVISED / min(_seconds(lambda: expected.recommend(cases)) for _ in range(2))
    some = cases.head(SEARCHED)
    careful.recommend(some)
    times["conservative rows/s"] = SEARCHED / min(_seconds(lambda: careful.recommend(some)) for _ in range(2))
    for name, policy in (("one expected", expected), ("one conservative", careful)):
        policy.recommend(cases.head(1))
        one = [_seconds(lambda p=policy, at=at: p.recommend(cases[at : at + 1])) for at in range(REPEATED)]
        times[name] = float(np.median(one))
    cases.head(1).write_csv(f"{model}.csv")
    return times


_FIRST_CASE = """
import sys
import prudent
prudent.load(sys.argv[1]).policy().recommend(prudent.read_table(sys.argv[1] + ".csv"))
"""


def _first_case(model: str, cache: str) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    subprocess.run([sys.executable, "-c", _FIRST_CASE, model], env=environment, check=True, capture_output=True)


def _with_nan(encoded: Encoded) -> np.ndarray:
    return np.where(encoded.observed, encoded.values, np.nan)


def _for_rivals(log: Log) -> LoggedDecisions:
    labelled = np.array([column.likelihood == "categorical" for column in log.schema.columns])
    return LoggedDecisions.of(_with_nan(log.encoded), labelled, log.actions, log.rewards, len(log.action_labels))


def rivals(shape: Shape, rows: int) -> dict[str, dict[str, float]]:
    log = shape.sample(rows, 1).log()
    logged, asked = _for_rivals(log), _with_nan(log.schema.encode(shape.sample(ADVISED, 2).cases()))
    times = {}
    for name, rival in RIVALS.items():
        start = time.perf_counter()
        fitted = rival.fit(logged, seed=0)
        learnt = time.perf_counter()
        fitted.predict(asked)
        times[name] = {"fit": learnt - start, "rows/s": ADVISED / (time.perf_counter() - learnt)}
    return times


def where_time_goes(shape: Shape, rows: int) -> dict[str, float]:
    """The parts of a first fit from a file."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        shape.sample(rows, 1).frame.write_csv(path)
        start = time.perf_counter()
        log = prudent.read_log(path, action="action", reward="reward")
        reading = time.perf_counter() - start
    ticks: list[float] = []

    def hear(done: int, total: int) -> None:
        """The rounds of training come first; what is learnt afterwards counts as the finish."""
        if not ticks or (len(ticks) < total and done == len(ticks) + 1):
            ticks.append(time.perf_counter())

    start = time.perf_counter()
    prudent.CausalPVAE().fit(log, progress=hear)
    end = time.perf_counter()
    step = (ticks[-1] - ticks[0]) / max(len(ticks) - 1, 1)
    compiling = ticks[0] - start - step
    return {
        "reading": reading,
        "compiling": compiling,
        "training": ticks[-1] - start - compiling,
        "finishing": end - ticks[-1],
        "all": end - began,
    }


def growth(shape: Shape, rows: int) -> dict[str, float]:
    """A compiled fit, its memory, and advice; gradient boosting beside it."""
    log = shape.sample(rows, 1).log()
    prudent.CausalPVAE(training=Training(rounds=1)).fit(log, progress=False)  # compiles
    start = time.perf_counter()
    fitted = prudent.CausalPVAE().fit(log, progress=False)
    times = {"fit": time.perf_counter() - start, "memory": _memory(), "rounds": fitted.report.rounds}
    cases = shape.sample(1024, 2).cases()
    policy = fitted.policy()
    policy.recommend(cases)
    times["rows/s"] = 1024 / min(_seconds(lambda: policy.recommend(cases)) for _ in range(2))
    logged = _for_rivals(log)
    return times | {"boosting": _seconds(lambda: RIVALS["gradient boosting"].fit(logged, seed=0))}


def commands() -> dict[str, float]:
    """Whole commands as a user types them, from empty caches: seconds of the clock."""
    prudent_command = [sys.executable, "-m", "prudent.command_line"]
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.csv" for name in ("log", "later", "many", "cases", "wide")}
        NARROW.sample(4000, 1).frame.write_csv(files["log"])
        NARROW.sample(1070, 2).frame.write_csv(files["later"])
        NARROW.sample(20_000, 3).frame.write_csv(files["many"])
        NARROW.sample(200, 4).cases().write_csv(files["cases"])
        replace(NARROW, real=6).sample(40_000, 5).frame.write_csv(files["wide"])
        roles = ["--action", "action", "--reward", "reward"]

        def run(*arguments: str) -> float:
            quiet = partial(subprocess.run, check=True, capture_output=True)
            return _seconds(lambda: quiet([*prudent_command, *arguments]))

        times = {"fit, 4000 rows": run("fit", files["log"], *roles, "--out", f"{folder}/model")}
        measured = ["--measure", "--guarantee", files["later"], "--out", f"{folder}/advice.csv"]
        times["recommend --measure --guarantee, 200 cases, 1070 later decisions"] = run(
            "recommend", f"{folder}/model", files["cases"], *measured
        )
        times["evaluate, 20,000 rows"] = run("evaluate", f"{folder}/model", files["many"])
        times["fit, 40,000 rows × 16 columns"] = run("fit", files["wide"], *roles, "--out", f"{folder}/wide")
    return times


def many_rows(rows: int) -> dict[str, float]:
    """Advice for a large table, and the most memory that it took."""
    fitted = prudent.CausalPVAE(training=Training(rounds=1)).fit(NARROW.sample(2000, 1).log(), progress=False)
    cases = NARROW.sample(rows, 2).cases()
    fitted.policy().recommend(cases.head(200))
    before = _memory()
    seconds = _seconds(lambda: fitted.policy().recommend(cases))
    return {"seconds": seconds, "memory": _memory(), "memory before": before}


def replications() -> dict[str, float]:
    """100 partial VAEs of IHDP size trained at once, against one after the other."""
    schema = Schema(tuple(Column(f"x{i}", "real") for i in range(25)))
    generator = np.random.default_rng(0)
    observed = generator.random((ROWS, 25)) > 0.3
    values = np.where(observed, generator.normal(size=(ROWS, 25)), 0).astype(np.float32)
    data = {"values": values, "observed": observed}
    make = partial(PartialVAE, layout_of(schema), latent=10, width=20, embedding=10, summary=5)
    count = EPOCHS * ROWS // BATCH
    training = Training(learning_rate=1e-3, batch=BATCH, rounds=1, steps_per_round=count, patience=1)
    points = quasi_random(1, 35, 0)

    def run(members: int) -> float:
        options = {"points": points, "training": training, "members": members, "seed": 0}
        return _seconds(lambda: train(lambda key: make(key=key), FeatureLoss(0.0), data, **options))

    run(REPLICATIONS)
    run(1)
    together, alone = np.inf, np.inf
    for _ in range(3):  # alternating: machines are noisy
        together, alone = min(together, run(REPLICATIONS)), min(alone, run(1))
    return {"together": together, "one after the other": alone * REPLICATIONS}


# --- all of them ---


def _measured(name: str, *arguments: Any, cache: str | None = None) -> Any:
    """What a function of this file returns in a fresh process on two cores, with an empty compilation cache."""
    with tempfile.TemporaryDirectory() as own:
        environment = {**os.environ, "XDG_CACHE_HOME": cache or own}
        code = f"from benchmarks import speed; speed.alone({name!r}, {json.dumps(arguments)!r})"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def alone(name: str, arguments: str) -> None:
    """Run one function of this file on two cores and print what it returns."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    given = [_shape(argument) for argument in json.loads(arguments)]
    print(json.dumps(globals()[name](*given)))


def _shape(argument: Any) -> Any:
    if not isinstance(argument, dict):
        return argument
    return Shape(**{**argument, "categories": tuple(argument["categories"])})


def _plain(shape: Shape) -> dict[str, Any]:
    return vars(shape)


def tables() -> Stored:
    found: Stored = {}
    for name, (shape, rows) in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            model = f"{folder}/model"
            times = _measured("fit_and_advise", _plain(shape), rows, model, cache=folder)
            times["first case"] = min(_seconds(partial(_first_case, model, folder)) for _ in range(3))
        times["parts"] = _measured("where_time_goes", _plain(shape), rows)
        if _on_cpu():
            times["rivals"] = _measured("rivals", _plain(shape), rows)
        found[name] = times
        CONSOLE.print(name, times)
    return found


def all_growth() -> Stored:
    found: Stored = {}
    for name, steps in GROWTH.items():
        found[name] = {at: _measured("growth", _plain(shape), rows) for at, (shape, rows) in steps.items()}
        CONSOLE.print(name, found[name])
    return found


PARTS: dict[str, Callable[[], Any]] = {
    "tables": tables,
    "commands": commands,
    "many": lambda: {str(rows): _measured("many_rows", rows) for rows in (MANY // 10, MANY)},
    "growth": all_growth,
    "replications": lambda: _measured("replications"),
}


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


# --- as the documents show it ---


def _speed_table(stored: Stored) -> Table:
    def cells(times: Any) -> list[str]:
        seconds = [f"{times[name]:.1f} s" for name in ("first fit", "fit again")]
        rates = [f"{times[name]:,.0f}" for name in ("expected rows/s", "conservative rows/s")]
        single = [f"{1e3 * times[name]:.1f} ms" for name in ("one expected", "one conservative")]
        return [*seconds, *rates, *single, f"{times['first case']:.1f} s", f"{times['fit memory']:,.0f} MiB"]

    header = ("first fit", "again", "rows/s, expected", "rows/s, searched", "one case", "one, searched")
    header = ("table", *header, "first case, new process", "memory")
    rows = [
        (f"{name} ({device})" if device != "cpu" else name, *cells(times))
        for device, parts in stored.items()
        for name, times in parts.get("tables", {}).items()
    ]
    return Table(header, rows, "prudent")


def _rival_table(stored: Stored) -> Table:
    rows = []
    for name, times in stored["cpu"]["tables"].items():
        ours, advice = times["fit again"], times["expected rows/s"]
        for rival, own in times["rivals"].items():
            cells = f"{own['fit']:.1f} s", f"{ours / own['fit']:.2f}", f"{own['rows/s']:,.0f}"
            rows.append((name, rival, *cells, f"{advice / own['rows/s']:.3f}"))
    header = ("table", "rival", "fit", "our fit / its", "rows/s", "our rows/s / its")
    return Table(header, rows, "beside what people use today")


def _parts_table(stored: Stored) -> Table:
    names = ("reading", "compiling", "training", "finishing")
    rows = [
        (name, *(f"{times['parts'][part]:.1f} s" for part in names)) for name, times in stored["cpu"]["tables"].items()
    ]
    return Table(("first fit from a file", *names), rows, "where the time goes")


def _growth_table(stored: Stored) -> Table:
    rows = [
        (
            f"{int(at):,} {name}" if at.isdigit() else f"{at} {name}",
            f"{own['fit']:.1f} s",
            f"{own['rounds']}",
            f"{own['boosting']:.1f} s",
            f"{own['rows/s']:,.0f}",
            f"{own['memory']:,.0f} MiB",
        )
        for name, steps in stored["cpu"]["growth"].items()
        for at, own in steps.items()
    ]
    header = ("10 numbers, 3 actions, but", "fit", "rounds", "gradient boosting", "rows/s", "memory")
    return Table(header, rows, "growth")


def _command_table(stored: Stored) -> Table:
    rows = [(name, f"{seconds:.0f} s") for name, seconds in stored["cpu"]["commands"].items()]
    for count, own in stored["cpu"]["many"].items():
        grown = f"{own['seconds']:.0f} s, {own['memory'] - own['memory before']:,.0f} MiB more"
        rows.append((f"recommend in Python, {int(count):,} rows", grown))
    return Table(("command, empty caches", "time"), rows, "commands")


def _fits_by(stored: Stored, what: str, x_label: str, title: str) -> Picture:
    steps = stored["cpu"]["growth"][what].items()
    series = [
        Series(name, [(float(at), own[which]) for at, own in steps])
        for name, which in (("prudent, compiled before", "fit"), ("gradient boosting", "boosting"))
    ]
    return scatter_lines(series, x_label, "seconds", title, log_x=True)


def _by_rows(stored: Stored) -> Picture:
    return _fits_by(stored, "rows", "rows of the log", "How long a fit takes, by the rows of the log")


def _by_columns(stored: Stored) -> Picture:
    return _fits_by(stored, "columns", "columns", "How long a fit takes, by the columns of the log")


BENCHMARK = Benchmark(
    "speed",
    {
        "speed": _speed_table,
        "speed rivals": _rival_table,
        "speed parts": _parts_table,
        "speed growth": _growth_table,
        "speed commands": _command_table,
    },
    {"speed-rows": _by_rows, "speed-columns": _by_columns},
)


def main() -> None:
    parser: argparse.ArgumentParser = BENCHMARK.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args()
    stored: Stored = json.loads(options.out.read_text()) if options.out.exists() else {}
    device = "cpu" if _on_cpu() else jax.devices()[0].device_kind
    own = stored.setdefault(device, {})
    for part in options.only:
        own[part] = PARTS[part]()
        CONSOLE.print(part, own[part])
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
