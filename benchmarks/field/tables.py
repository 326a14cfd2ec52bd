"""The tables of the field, from stored results: {problem: {seed: {method: {"score", "value", "seconds"}}}}."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, t

from benchmarks.field.problems import PROBLEMS
from benchmarks.field.rivals import OURS
from benchmarks.field.sample import DEVELOPMENT
from benchmarks.reporting import Benchmark, Stored, Table
from experiments.tables import NONE, bold, number

SHARE = "share of the way"


class Against(NamedTuple):
    """Ours beside the best rival of a problem, on the seeds that both have."""

    ours: float
    rival: str
    rivals: float
    difference: float
    error: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "level"


def methods_of(results: Stored) -> list[str]:
    """Ours first, then in the order in which they were run."""
    every = dict.fromkeys(method for seeds in results.values() for row in seeds.values() for method in row)
    return sorted(every, key=lambda method: not method.startswith(OURS))


def numbers_of(results: Stored, problem: str, method: str, what: str = "score") -> dict[str, float]:
    """By seed."""
    return {seed: row[method][what] for seed, row in results.get(problem, {}).items() if method in row}


def mean_score(results: Stored, problem: str, method: str) -> float:
    found = numbers_of(results, problem, method)
    return float(np.mean(list(found.values()))) if found else np.nan


def against(results: Stored, problem: str, ours: str = OURS) -> Against | None:
    """None where ours or every rival is missing."""
    own = numbers_of(results, problem, ours)
    pairs = {}
    for rival in methods_of(results):
        found = numbers_of(results, problem, rival)
        common = [seed for seed in own if seed in found]
        if common and not rival.startswith(OURS):
            pairs[rival] = np.array([[own[seed], found[seed]] for seed in common])
    if not pairs:
        return None
    rival = max(pairs, key=lambda name: pairs[name][:, 1].mean())
    scores = pairs[rival]
    differences, count = scores[:, 0] - scores[:, 1], len(scores)
    error = float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else np.nan
    mean, half = float(differences.mean()), error * float(t.ppf(0.975, max(count - 1, 1)))
    ours_mean, rivals_mean = scores.mean(axis=0).tolist()
    return Against(ours_mean, rival, rivals_mean, mean, error, mean - half, mean + half)


def mean_ranks(results: Stored, methods: Sequence[str]) -> dict[str, float]:
    """Each method's rank among those that ran on a problem (1 is best), averaged over problems."""
    ranks: dict[str, list[float]] = {method: [] for method in methods}
    for problem in results:
        present = [method for method in methods if numbers_of(results, problem, method)]
        scores = [-mean_score(results, problem, method) for method in present]
        for method, rank in zip(present, rankdata(scores), strict=True):
            ranks[method].append(float(rank))
    return {method: float(np.mean(found)) if found else np.nan for method, found in ranks.items()}


def _cells(values: Sequence[float], digits: int = 3, mark: bool = True) -> list[str]:
    best = np.nanmax(values)
    return [NONE if np.isnan(value) else bold(number(value, digits), mark and value == best) for value in values]


def scores_table(stored: Stored) -> Table:
    """Every problem and every method: means over seeds; and means over problems below."""
    results = stored["results"]
    methods = methods_of(results)
    rows, shares = [], []
    for problem in [name for name in PROBLEMS if name in results]:
        means = [mean_score(results, problem, method) for method in methods]
        rows.append((problem, *_cells(means)))
        if PROBLEMS[problem].measure == SHARE:
            shares.append(means)
    if shares:
        every = np.array(shares)
        complete = np.where(np.isnan(every).any(axis=0), np.nan, every.mean(axis=0))
        rows.append(("mean share", *_cells(complete.tolist())))
    rows.append(("mean rank", *_cells(list(mean_ranks(results, methods).values()), 1, mark=False)))
    seconds = [
        [value for problem in results for value in numbers_of(results, problem, method, "seconds").values()]
        for method in methods
    ]
    rows.append(("mean seconds", *(f"{np.mean(found):.1f}" for found in seconds)))
    return Table(("problem", *methods), rows, f"Share of the way, in trials gain over the best arm ({_kind(stored)})")


def verdict_table(stored: Stored) -> Table:
    """Ours beside the best rival of each problem, paired by seed."""
    results = stored["results"]
    found = {name: beside for name in PROBLEMS if (beside := against(results, name))}
    rows = []
    for problem, beside in found.items():
        interval = NONE if np.isnan(beside.error) else f"{number(beside.low)} to {number(beside.high)}"
        error = "" if np.isnan(beside.error) else f" ± {number(beside.error)}"
        cells = number(beside.ours), number(beside.rivals), beside.rival, number(beside.difference) + error
        rows.append((problem, *cells, interval, beside.verdict if beside.error == beside.error else NONE))
    if found:
        wins = sum(beside.difference > 0 for beside in found.values())
        behind = sum(beside.difference < -np.nan_to_num(beside.error) for beside in found.values())
        verdicts = [beside.verdict for beside in found.values() if not np.isnan(beside.error)]
        known = [beside.difference for name, beside in found.items() if PROBLEMS[name].measure == SHARE]
        surely = f"ahead {verdicts.count('ahead')}, behind {verdicts.count('behind')}"
        better = f"better in {wins} of {len(found)}, worse by more than the error in {behind}"
        rows.append(("all", "", "", "", number(float(np.mean(known))) if known else NONE, better, surely))
    header = ("problem", OURS, "best rival", "which", "difference ± s.e.", "95 % interval", "verdict")
    return Table(header, rows, f"{OURS} beside the best rival, paired by seed ({_kind(stored)})")


def _kind(stored: Stored) -> str:
    seeds = {int(seed) for row in stored["results"].values() for seed in row}
    kind = "development" if seeds and max(seeds) in DEVELOPMENT else "reported"
    return f"{len(seeds)} {kind} seeds"


BENCHMARK = Benchmark("field", {"field": scores_table, "field verdict": verdict_table})
