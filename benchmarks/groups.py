"""Intervals where rows belong together, and where outcomes are censored, against a known truth.

    python -m benchmarks.groups [--logs 500] [--censored-logs 200] [--out benchmarks/results/groups.json]

Visits: patients come several times. An outcome depends on what is recorded, on the action, on what is the patient's own
and not recorded, and on chance. Policies are fixed rules, propensities are known, prices are rough, so that every
difference between the columns is due to the intervals. The same logs are evaluated with and without `group`.

Censored: follow-up ends early more often for some records and actions than for others. The same logs are evaluated by
the rows whose outcome was seen, and with `censored`, where the probability of seeing an outcome is learnt.
"""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, ndtr

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table
from prudent.evaluation import Bootstrap, EmpiricalBernstein, Estimate, Interval, LearntPrices, Student, evaluate
from prudent.evaluation.effects import effects
from prudent.propensity import Known

FIRST_SEED = 7000
LEVEL, BELOW, PATIENTS, ROWS = 0.95, -1.0, 100, 1000
INTERVALS: dict[str, Interval] = {
    "Student": Student(),
    "bootstrap": Bootstrap(draws=400),
    "empirical Bernstein": EmpiricalBernstein(),
}
SHOWN = (("dr", "bootstrap"), ("dr", "empirical Bernstein"))
ESTIMATORS = ("ips", "self-normalised ips", "dr", "self-normalised dr")
POLICY = "treat the severe"


class Sample(NamedTuple):
    """A log as a table, rough prices of both actions for its rows, and what the rule would do."""

    frame: pl.DataFrame
    prices: np.ndarray


def treat_the_severe(cases: pl.DataFrame) -> list[int]:
    """A rule that needs no model."""
    return (cases["severity"] > 0).cast(pl.Int64).to_list()


@dataclass(frozen=True)
class Visits:
    """Visits of patients: 1 to about 12 each, five on average.

    own: the standard deviation of what is a patient's own and not recorded. lasting: the recorded severity is the same
    at every visit. habit: a patient's visits are decided by one throw of the dice, so that like visits get the same
    action.
    """

    own: float = 0.0
    lasting: bool = False
    habit: bool = False
    patients: int = PATIENTS

    def sample(self, seed: int) -> Sample:
        random = np.random.default_rng(seed)
        patient = np.repeat(np.arange(self.patients), 1 + random.poisson(4, self.patients))
        rows = len(patient)
        severity, mood = random.normal(size=(2, rows))
        severity = severity[np.unique(patient, return_index=True)[1]][patient] if self.lasting else severity
        chance = np.clip(expit(0.8 * severity + 0.4 * mood), 0.1, 0.9)
        throw = random.random(self.patients)[patient] if self.habit else random.random(rows)
        action = (throw < chance).astype(int)
        own = self.own * random.normal(size=self.patients)[patient]
        outcome = self.expected(severity, mood, action) + own + random.normal(size=rows)
        frame = pl.DataFrame(
            {
                "patient": [f"P{number:03d}" for number in patient],
                "severity": severity,
                "mood": mood,
                "treated": action,
                "likely": np.where(action == 1, chance, 1 - chance),
                "outcome": outcome,
            }
        )
        return Sample(frame, np.stack([1 + 0.3 * severity, 1 + severity], axis=1))

    @staticmethod
    def expected(severity: np.ndarray, mood: np.ndarray, action: np.ndarray) -> np.ndarray:
        return 1 + 0.5 * severity + action * (severity + 0.5 * mood)

    def truth(self) -> dict[str, float]:
        """Of the rule, by simulation of many independent visits; the average effect is 0."""
        random = np.random.default_rng(0)
        severity, mood = random.normal(size=(2, 4_000_000))
        expected, sd = self.expected(severity, mood, severity > 0), float(np.hypot(self.own, 1.0))
        logged = np.clip(expit(0.8 * severity + 0.4 * mood), 0.1, 0.9)
        usual = self.expected(severity, mood, logged)
        return {
            "value": float(expected.mean()),
            "gain": float((expected - usual).mean()),
            "tail": float(ndtr((BELOW - expected) / sd).mean()),
            "effect": 0.0,
        }


WORLDS = {
    "independent visits": Visits(),
    "patients differ": Visits(own=1.0, lasting=True),
    "patients differ and are treated alike": Visits(own=1.0, lasting=True, habit=True),
}


def one_log(world: Visits, seed: int, group: str | None) -> dict[str, tuple[float, float]]:
    """Interval ends of every quantity; a lower bound has no upper end."""
    sample = world.sample(seed)
    log = prudent.Log.from_frame(
        sample.frame, action="treated", reward="outcome", propensity="likely", group=group, ignore=["patient"]
    )
    found = evaluate({POLICY: treat_the_severe}, log, prices=sample.prices, confidence=LEVEL, below=BELOW)
    ends = {f"{name}, Student": found.estimate(POLICY, name) for name in ESTIMATORS}
    ends |= {f"{name}, {interval}": found.estimate(POLICY, name, INTERVALS[interval]) for name, interval in SHOWN}
    ends["gain over the decisions as logged"] = found.difference(POLICY)
    ends["share of outcomes below -1"] = found.tail_share(POLICY)
    ends["average effect (aipw)"] = effects(log, treated=1, propensity=Known(), prices=sample.prices).ate
    result = {name: (estimate.low, estimate.high) for name, estimate in ends.items()}
    result["lower bound (logarithmic smoothing)"] = found.at_worst(POLICY), np.inf
    return result


def truth_of(quantity: str, truth: dict[str, float]) -> float:
    for name, key in (("gain", "gain"), ("share", "tail"), ("average effect", "effect")):
        if quantity.startswith(name):
            return truth[key]
    return truth["value"]


def coverage(world: Visits, logs: int) -> dict[str, dict[str, dict[str, float]]]:
    """By quantity, without and with the group: how often the interval holds, and how wide it is."""
    truth, ends = world.truth(), {"without": [], "with": []}
    for seed in range(FIRST_SEED, FIRST_SEED + logs):
        for name, group in (("without", None), ("with", "patient")):
            ends[name].append(one_log(world, seed, group))
    return {
        quantity: {
            name: _held([one[quantity] for one in every], truth_of(quantity, truth)) for name, every in ends.items()
        }
        for quantity in ends["with"][0]
    }


def _held(ends: list[tuple[float, float]], truth: float) -> dict[str, float]:
    low, high = np.array(ends).T
    width = truth - low if np.isinf(high).any() else high - low
    return {"holds": float(((low <= truth) & (truth <= high)).mean()), "width": float(width.mean())}


# --- censored outcomes ---


def censored_log(seed: int, rows: int = ROWS) -> Sample:
    """Treated severe cases, and untreated mild ones, leave before their outcome is seen."""
    random = np.random.default_rng(seed)
    severity, age = random.normal(size=(2, rows))
    chance = expit(0.5 * severity)
    action = (random.random(rows) < chance).astype(int)
    outcome = 1 + severity + action * (0.5 + severity) + random.normal(size=rows)
    lost = random.random(rows) < expit(-1.2 + 1.2 * severity * (2 * action - 1))
    frame = pl.DataFrame(
        {
            "severity": severity,
            "age": np.where(random.random(rows) < 0.2, np.nan, age),
            "treated": action,
            "likely": np.where(action == 1, chance, 1 - chance),
            "outcome": np.where(lost, np.nan, outcome),
            "lost": lost,
        }
    ).with_columns(pl.col("age", "outcome").fill_nan(None))
    return Sample(frame, np.stack([np.full(rows, 1.0), np.full(rows, 1.5)], axis=1))


CENSORED_TRUTH = {"value": 1 + 0.25 + 1 / np.sqrt(2 * np.pi), "effect": 0.5}
"""1 + E[(0.5 + s)⁺ where s > 0], and the mean of 0.5 + s."""


def one_censored_log(seed: int, censored: str | None) -> dict[str, Estimate]:
    sample = censored_log(seed)
    log = prudent.Log.from_frame(
        sample.frame, action="treated", reward="outcome", propensity="likely", censored=censored, ignore=["lost"]
    )
    found = evaluate({POLICY: treat_the_severe}, log, prices=LearntPrices(), confidence=LEVEL)
    result = {name: found.estimate(POLICY, name) for name in ("direct", *ESTIMATORS)}
    study = effects(log, treated=1, propensity=Known(), prices=sample.prices)
    result |= {"average effect (aipw), rough prices": study.ate, "average effect (ipw)": study.ipw}
    return result


def censoring(logs: int) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, list[dict[str, Estimate]]] = {"seen alone": [], "weighted": []}
    for seed in range(FIRST_SEED, FIRST_SEED + logs):
        for name, column in (("seen alone", None), ("weighted", "lost")):
            found[name].append(one_censored_log(seed, column))
    return {
        quantity: {name: _off([one[quantity] for one in every], quantity) for name, every in found.items()}
        for quantity in found["weighted"][0]
    }


def _off(estimates: list[Estimate], quantity: str) -> dict[str, float]:
    truth = CENSORED_TRUTH["effect" if quantity.startswith("average effect") else "value"]
    values = np.array([one.value for one in estimates])
    inside = [one.low <= truth <= one.high for one in estimates]
    return {
        "bias": float(values.mean() - truth),
        "error": float(values.std(ddof=1) / np.sqrt(len(values))),
        "holds": float(np.mean(inside)),
    }


# --- tables ---


def groups_table(stored: Stored) -> Table:
    lines = [
        (
            f"{world}: {quantity}",
            *(f"{of['without']['holds']:.1%}", f"{of['with']['holds']:.1%}"),
            *(f"{of['without']['width']:.3f}", f"{of['with']['width']:.3f}"),
        )
        for world, quantities in stored["results"].items()
        for quantity, of in quantities.items()
    ]
    headings = ("visits, quantity", "holds, rows", "holds, groups", "width, rows", "width, groups")
    return Table(headings, lines, f"95 % intervals over {stored['logs']} logs of {PATIENTS} patients")


def censoring_table(stored: Stored) -> Table:
    def cells(of: dict[str, Any]) -> tuple[str, str]:
        return f"{of['bias']:+.3f} ± {of['error']:.3f}", f"{of['holds']:.1%}"

    lines = [
        (quantity, *cells(of["seen alone"]), *cells(of["weighted"])) for quantity, of in stored["censored"].items()
    ]
    headings = ("quantity", "bias, rows seen alone", "holds", "bias, weighted", "holds")
    return Table(headings, lines, f"Censored outcomes, {stored['censored_logs']} logs of {ROWS} rows")


BENCHMARK = Benchmark("groups", {"groups": groups_table, "censored": censoring_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--censored-logs", type=int, default=200)
    options = parser.parse_args()
    start, results = time.perf_counter(), {}
    for name, world in WORLDS.items():
        results[name] = coverage(world, options.logs)
        CONSOLE.print(f"{name}: done after {time.perf_counter() - start:.0f} s")
    censored = censoring(options.censored_logs)
    counts = {"logs": options.logs, "censored_logs": options.censored_logs}
    BENCHMARK.store({**counts, "results": results, "censored": censored}, options.out)


if __name__ == "__main__":
    main()
