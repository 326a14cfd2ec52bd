"""How often `prudent journal watch` raises a false alarm, and what it finds, where the truth is known.

    python -m benchmarks.drift [--journals 500] [--changed 60] [--out benchmarks/results/drift.json]

A clinic of doses: eight attributes, two of them categories, 40 % gaps. One model is fitted; every journal is of 300 new
cases, which get the model's advice and an outcome, and is compared with counts of a fresh log of 2000 rows. Then the
same with one thing changed.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table
from prudent.journal import Entry, Recorded, watch
from prudent.models import Fitted, Reference
from prudent.worlds import DosingWorld

ROWS, CASES, RISK = 2000, 300, 0.05
WORLD = DosingWorld(categorical=2, loss="quadratic")
START = datetime(2026, 1, 1, tzinfo=UTC)
_LABELS = "categorical"


@dataclass(frozen=True)
class Change:
    """cases: what becomes of the recorded cells; outcomes: of the outcomes, in standard deviations of their noise."""

    cases: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame
    outcomes: Callable[[np.ndarray], np.ndarray] = lambda noise: noise
    column: str = ""


def _columns() -> tuple[str, str]:
    """A number and a category."""
    kinds = WORLD.kinds
    return (
        next(name for name, kind in kinds.items() if kind != _LABELS),
        next(name for name, kind in kinds.items() if kind == _LABELS),
    )


NUMBER, CATEGORY = _columns()


def _moved(shift: float, spread: float) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """shift: in standard deviations."""

    def move(frame: pl.DataFrame) -> pl.DataFrame:
        cells = pl.col(NUMBER)
        return frame.with_columns(cells.mean() + spread * (cells - cells.mean()) + shift * cells.std())

    return move


def _every(rows: int, column: str, cell: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """This cell in one of so many rows, gaps or not."""

    def set_cells(frame: pl.DataFrame) -> pl.DataFrame:
        chosen = pl.int_range(pl.len()) % rows == 0
        return frame.with_columns(pl.when(chosen).then(pl.lit(cell)).otherwise(pl.col(column)).alias(column))

    return set_cells


CHANGES = {
    "a number a quarter of a standard deviation higher": Change(_moved(0.25, 1), column=NUMBER),
    "a number half a standard deviation higher": Change(_moved(0.5, 1), column=NUMBER),
    "a number that varies half as much again": Change(_moved(0, 1.5), column=NUMBER),
    "a number empty in 52 % of rows instead of 40 %": Change(_every(5, NUMBER, None), column=NUMBER),
    "a category never seen in 3 % of rows": Change(_every(33, CATEGORY, "never seen"), column=CATEGORY),
    "outcomes worse by a standard deviation of their noise": Change(outcomes=lambda noise: noise - 1),
    "outcomes that scatter half as much again": Change(outcomes=lambda noise: 1.5 * noise),
}


def journals(fitted: Fitted, count: int, change: Change, seed: int) -> list[list[Recorded]]:
    """So many journals, decided together."""
    sample = WORLD.sample(count * CASES, seed=seed)
    cases = change.cases(sample.cases())
    advice = fitted.policy().recommend(cases)
    columns, chosen = advice.columns(), WORLD.index(advice.actions)
    noise = change.outcomes(np.random.default_rng(seed).normal(size=len(sample)))
    rewards = sample.theta[np.arange(len(sample)), chosen] + WORLD.noise * noise
    found = []
    for row, case in enumerate(cases.iter_rows(named=True)):
        at = START + timedelta(hours=row % CASES)
        given = {name: cells[row] for name, cells in columns.items()}
        entry = Entry.new("m", case, given, at=at)
        found.append(Recorded(entry, given["action"], at, float(rewards[row]), at))
    return [found[start : start + CASES] for start in range(0, len(found), CASES)]


def measured(fitted: Fitted, count: int, change: Change, seed: int) -> dict[str, Any]:
    """The share of journals with any alarm, and with one that names what was changed; alarms by what they are about."""
    any_alarm, named, subjects = 0, 0, Counter[str]()
    for number, journal in enumerate(journals(fitted, count, change, seed)):
        log = fitted.read(WORLD.sample(ROWS, seed=seed + 1 + number).frame())
        drift = watch(journal, replace(fitted, reference=Reference.of(log)))
        any_alarm += bool(drift.found)
        named += any(one.column == change.column for one in drift.found)
        subjects.update(str(one.subject) for one in drift.found)
    return {"any": any_alarm / count, "named": named / count, "alarms": dict(subjects)}


def drift_table(stored: Stored) -> Table:
    lines = [("nothing", f"{stored['unchanged']['any']:.1%}", "–")]
    lines += [(name, f"{of['any']:.0%}", f"{of['named']:.0%}") for name, of in stored["changed"].items()]
    counts = f"{stored['journals']} journals without a change, {stored['changed_journals']} of each with one"
    return Table(("what has changed", "any alarm", "named"), lines, counts)


BENCHMARK = Benchmark("drift", {"drift": drift_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--journals", type=int, default=500)
    parser.add_argument("--changed", type=int, default=40)
    options = parser.parse_args()
    start = time.perf_counter()
    past = WORLD.sample(ROWS, seed=1).frame()
    log = prudent.Log.from_frame(past, action="dose", reward="outcome", kinds=WORLD.kinds)
    fitted = prudent.CausalPVAE.preset("fast").fit(log, seed=0)
    CONSOLE.print(f"fitted after {time.perf_counter() - start:.0f} s")
    unchanged = measured(fitted, options.journals, Change(), seed=100_000)
    CONSOLE.print(f"unchanged: {unchanged}, after {time.perf_counter() - start:.0f} s")
    changed = {}
    for number, (name, change) in enumerate(CHANGES.items()):
        changed[name] = measured(fitted, options.changed, change, seed=200_000 + 10_000 * number)
        CONSOLE.print(f"{name}: {changed[name]}, after {time.perf_counter() - start:.0f} s")
    counts = {"journals": options.journals, "changed_journals": options.changed}
    BENCHMARK.store({**counts, "unchanged": unchanged, "changed": changed}, options.out)


if __name__ == "__main__":
    main()
