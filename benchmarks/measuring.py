"""What to measure next: the estimated value of filling each gap beside the exact one, and what following it earns.

    python -m benchmarks.measuring [--seeds 5] [--fresh 2000] [--models FOLDER] [--out results.json]

Each seed is another dosing world with a cliff, another log of 5000 rows and other fresh cases. One cell of every fresh
case is then filled with its true value, chosen in different ways, and the same policy decides again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import prudent
from benchmarks.dosing import world_of
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table, mean_and_error, mean_of
from prudent.decide import Measuring, value_of_measuring
from prudent.models import Fitted
from prudent.table import Encoded
from prudent.worlds import DosingSample, DosingWorld, posterior_spread

LOGGED = 5000
CAUTIOUS_SHARE = 0.2
"""Of the fresh cases, for the conservative policy: its search for worst cases takes longer."""

AGAIN_ROWS, AGAIN_VALUES = 100, 12


@dataclass(frozen=True)
class Kind:
    """One strategy, its exact counterpart, and what following it is judged by: a number per row, higher is better."""

    strategy: prudent.Strategy
    exact: str
    settings: dict[str, Any]
    judged: Callable[[DosingWorld, DosingSample, np.ndarray], np.ndarray]


def true_reward(world: DosingWorld, sample: DosingSample, actions: np.ndarray) -> np.ndarray:
    return sample.theta[np.arange(len(sample)), actions]


def exact_worst_case(world: DosingWorld, sample: DosingSample, actions: np.ndarray) -> np.ndarray:
    return world.scores("conservative", sample, risk=0.05)[np.arange(len(sample)), actions]


KINDS = {
    "MaximumExpectedReward()": Kind(prudent.MaximumExpectedReward(), "expected", {}, true_reward),
    "Conservative(risk=0.05)": Kind(prudent.Conservative(risk=0.05), "conservative", {"risk": 0.05}, exact_worst_case),
}
WAYS = ("nothing", "a random gap", "the least certain gap", "prudent's first suggestion", "the exact best gap")


def fitted_model(world: DosingWorld, seed: int, kept: Path | None) -> Fitted:
    folder = None if kept is None else kept / f"cliff{seed}"
    if folder is not None and folder.exists():
        return prudent.load(folder)
    log = world.sample(LOGGED, seed=100 + seed).frame()
    table = prudent.Log.from_frame(log, action="dose", reward="outcome", kinds=world.kinds)
    fitted = prudent.CausalPVAE().fit(table, seed=seed)
    if folder is not None:
        fitted.save(folder)
    return fitted


def some_rows(sample: DosingSample, rows: int) -> DosingSample:
    names = ("full", "values", "observed", "theta", "actions", "rewards", "propensity")
    return replace(sample, **{name: getattr(sample, name)[:rows] for name in names})


def filled(sample: DosingSample, cell: np.ndarray) -> DosingSample:
    """The same cases after one cell of each (-1: none) was measured."""
    observed = sample.observed.copy()
    rows = np.flatnonzero(cell >= 0)
    observed[rows, cell[rows]] = True
    return replace(sample, values=np.where(observed, sample.full, np.nan), observed=observed)


def first_gap(score: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """The gap with the highest score; -1 in rows without gaps."""
    return np.where(gaps.any(axis=1), np.where(gaps, score, -np.inf).argmax(axis=1), -1)


def cells_to_fill(
    world: DosingWorld, sample: DosingSample, measuring: Measuring, exact: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    gaps, names = ~sample.observed, [column.name for column in world.columns]
    suggested = [-1 if name is None else names.index(name) for name in measuring.measure_next]
    random = np.random.default_rng(seed).random(gaps.shape)
    ways = (
        np.full(len(sample), -1),
        first_gap(random, gaps),
        first_gap(posterior_spread(world.contexts, sample.values, sample.observed), gaps),
        np.array(suggested),
        first_gap(exact, gaps),
    )
    return dict(zip(WAYS, ways, strict=True))


def compared(estimates: np.ndarray, exact: np.ndarray, cells: np.ndarray) -> dict[str, float]:
    estimate, truth = estimates[cells], exact[cells]
    return {
        "correlation": float(np.corrcoef(estimate, truth)[0, 1]),
        "mean_absolute_error": float(np.abs(estimate - truth).mean()),
        "mean_estimate": float(estimate.mean()),
        "mean_exact": float(truth.mean()),
    }


def asked_again(policy: prudent.Policy, sample: DosingSample, cells: np.ndarray) -> np.ndarray:
    """The expensive way: fill a gap with quantiles of the model's prediction, and let it price each such record."""
    encoded = policy.fitted.schema.encode(sample.cases())
    gain, levels = np.full(cells.shape, np.nan), (np.arange(AGAIN_VALUES) + 0.5) / AGAIN_VALUES
    rows, columns = np.nonzero(cells)
    values, observed = (np.repeat(part[rows], AGAIN_VALUES, axis=0) for part in (encoded.values, encoded.observed))
    for number, (row, column) in enumerate(zip(rows, columns, strict=True)):
        completions, table = policy.pricing.detail(encoded.values[row], encoded.observed[row])
        drawn, weights = np.asarray(completions.values[1:, column]), np.asarray(table.weights[1:])
        order = np.argsort(drawn)
        mass = np.cumsum(weights[order]) - weights[order] / 2
        these = slice(number * AGAIN_VALUES, (number + 1) * AGAIN_VALUES)
        values[these, column], observed[these, column] = np.interp(levels, mass, drawn[order]), True
    after = policy.chooser.score(Encoded(values, observed, [""] * len(values))).scores.max(axis=1)
    now = policy.chooser.score(encoded).scores.max(axis=1)
    gain[rows, columns] = after.reshape(-1, AGAIN_VALUES).mean(axis=1) - now[rows]
    return gain


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def of_kind(kind: Kind, world: DosingWorld, fitted: Fitted, sample: DosingSample, seed: int) -> dict[str, Any]:
    policy = fitted.policy(kind.strategy)
    cases = sample.cases()
    for ask in (value_of_measuring, prudent.Policy.recommend):
        ask(policy, cases[:256])  # compiled before the clock starts
    measuring, seconds = timed(lambda: value_of_measuring(policy, cases))
    seconds_to_recommend = timed(lambda: policy.recommend(cases))[1]
    exact = world.value_of_measuring(sample, strategy=kind.exact, **kind.settings)
    gaps = ~sample.observed
    measures: dict[str, Any] = compared(measuring.gain, exact, gaps) | {
        "rows": len(sample),
        "seconds_per_1000_rows": 1000 * seconds / len(sample),
        "seconds_to_recommend_1000_rows": 1000 * seconds_to_recommend / len(sample),
    }
    if kind.exact == "expected":
        few = gaps & (np.arange(len(gaps)) < AGAIN_ROWS)[:, None]
        measures["few"] = compared(measuring.gain, exact, few)
        measures["few, asked again"] = compared(asked_again(policy, sample, few), exact, few)
    for way, cell in cells_to_fill(world, sample, measuring, exact, seed).items():
        after = filled(sample, cell)
        actions = world.index(policy.recommend(after.cases()).actions)
        measures[way] = {
            "measured": float((cell >= 0).mean()),
            "judged": float(kind.judged(world, after, actions).mean()),
            "mean_reward": world.value(actions, after),
            "catastrophes": world.catastrophes(actions, after),
        }
    return measures


def one_seed(seed: int, fresh: int, kept: Path | None) -> dict[str, Any]:
    world = world_of(seed, "cliff")
    fitted = fitted_model(world, seed, kept)
    sample = world.sample(fresh, seed=200 + seed)
    by_kind = {}
    for name, kind in KINDS.items():
        rows = fresh if name == "MaximumExpectedReward()" else int(CAUTIOUS_SHARE * fresh)
        by_kind[name] = of_kind(kind, world, fitted, some_rows(sample, rows), seed)
        CONSOLE.print(f"seed {seed}, {name}: done")
    return by_kind


def value_table(stored: Stored) -> Table:
    """How near the estimates are to the exact values."""
    results, expected = stored["results"], "MaximumExpectedReward()"
    few = f"{expected}, {AGAIN_ROWS} cases"
    lines = {name: [result[name] for result in results] for name in KINDS}
    lines[few] = [result[expected]["few"] for result in results]
    lines[f"{few}, model asked again {AGAIN_VALUES} times per gap"] = [
        result[expected]["few, asked again"] for result in results
    ]
    keys = ("correlation", "mean_absolute_error", "mean_estimate", "mean_exact")
    return Table(
        ("policy", "correlation", "mean absolute error", "mean estimate", "mean exact value"),
        [(name, *(mean_and_error([row[key] for row in rows]) for key in keys)) for name, rows in lines.items()],
        f"Estimated against exact value of every gap, {len(results)} worlds",
    )


def following_table(stored: Stored) -> Table:
    """What measuring one cell earns: differences are paired within worlds."""
    results, suggested = stored["results"], WAYS[3]
    lines = []
    for way in WAYS:
        cells = [way, f"{mean_of(results, 'MaximumExpectedReward()', way, 'measured'):.0%}"]
        for name in KINDS:
            judged = np.array([result[name][way]["judged"] for result in results])
            ours = np.array([result[name][suggested]["judged"] for result in results])
            cells += [mean_and_error(judged), "" if way == suggested else mean_and_error(ours - judged)]
        lines.append(tuple(cells))
    ahead = "suggestion is ahead by"
    return Table(
        ("measured first", "cases measured", "true reward", ahead, "worst case (Conservative)", ahead),
        lines,
        f"One cell of every case measured, then decided again: mean ± s.e. over {len(results)} worlds",
    )


BENCHMARK = Benchmark("measuring", {"measured values": value_table, "measuring": following_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fresh", type=int, default=2000)
    parser.add_argument("--models", type=Path, help="store fitted models here, and use those that are there already")
    options = parser.parse_args()
    results = [one_seed(seed, options.fresh, options.models) for seed in range(options.seeds)]
    stored = {"rows": LOGGED, "fresh": options.fresh, "seeds": options.seeds, "results": results}
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
