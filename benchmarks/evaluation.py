"""Estimators against the truth: bias, error and coverage of every estimator over many simulated logs.

    python -m benchmarks.evaluation [--logs 500] [--workers N] [--pieces DIR] [--out FILE]

In each dosing world (30 % gaps) a model is fitted once, on decisions of its own; its policies, and one constant dose,
are then evaluated on `--logs` fresh logs: with the true propensities and with estimated ones (`Stacked`, from each log
anew), with the default prices (the model's and such as are learnt from each log, together) and with learnt ones alone.
What is estimated is the mean of the true reward of the policy's actions over all rows of all logs. The result of each
log is kept in `--pieces`, so that a run can be continued; about an hour per world on two cores.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars
from scipy.special import ndtr

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table
from prudent.decide import score_together
from prudent.evaluation import (
    EVERY_ESTIMATOR,
    Bootstrap,
    DoublyRobust,
    EmpiricalBernstein,
    Evaluation,
    LearntPrices,
    LogarithmicSmoothing,
    SelfNormalised,
    SelfNormalisedDoublyRobust,
    Student,
    evaluate,
)
from prudent.evaluation.prices import Prices, model_prices
from prudent.evaluation.row_terms import Evidence
from prudent.evaluation.tails import as_share
from prudent.propensity import effective_sample_size
from prudent.worlds import DosingSample, DosingWorld

FITTED, ROWS, FIRST_SEED = 3000, 2000, 1000
BELOW = -3.0
LEVEL = 0.95
WORLDS = {
    "cliff, MCAR": DosingWorld(gaps=0.3),
    "quadratic, MAR": DosingWorld(gaps=0.3, doses=5, loss="quadratic", mechanism="mar"),
}
STRATEGIES = {"expected": prudent.MaximumExpectedReward(), "tail": prudent.TailAverse()}
CONSTANT = "constant"
ARMS = {"known": "known", "estimated": "estimated", "learnt": "estimated, no model"}
INTERVALS = {"student": Student(), "bootstrap": Bootstrap(draws=400), "bernstein": EmpiricalBernstein()}


@dataclass(frozen=True)
class Job:
    """One log: what the policies chose there, by action number, and the model's prices."""

    world: str
    seed: int
    labels: tuple[Any, ...]
    chosen: dict[str, np.ndarray]
    prices: np.ndarray
    tail: np.ndarray


def jobs(name: str, seeds: Sequence[int]) -> Iterator[Job]:
    """The logs of a world with these seeds."""
    world = WORLDS[name]
    past = world.sample(FITTED, seed=77).frame()
    log = prudent.Log.from_frame(past, action="dose", reward="outcome", kinds=world.kinds)
    fitted = prudent.CausalPVAE().fit(log, seed=0)
    policies = [fitted.policy(strategy) for strategy in STRATEGIES.values()]
    for seed in seeds:
        later = fitted.read(world.sample(ROWS, seed=seed).frame())
        chosen = [
            np.argmax(judged.scores, axis=1)
            for judged in score_together([policy.chooser for policy in policies], later.encoded)
        ]
        prices = model_prices(fitted, later, BELOW)
        assert prices.tail is not None
        own = dict(zip(STRATEGIES, chosen, strict=True))
        yield Job(name, seed, fitted.action_labels, own, prices.rewards, prices.tail)


def one_log(job: Job) -> dict[str, Any]:
    """Every estimate of one log, [value, low, high] by arm, policy, estimator and interval; the truth of its rows."""
    world = WORLDS[job.world]
    sample = world.sample(ROWS, seed=job.seed)
    chance = sample.propensity[np.arange(ROWS), sample.actions]
    frame = sample.frame().with_columns(polars.Series("chance", chance))
    log = prudent.Log.from_frame(
        frame, action="dose", reward="outcome", propensity="chance", kinds=world.kinds, action_labels=job.labels
    )
    policies = {key: (lambda _, own=own: [job.labels[index] for index in own]) for key, own in job.chosen.items()}
    model = Prices(job.prices, job.tail, "the model's own")
    estimated = replace(log, propensities=prudent.Stacked().fit(log, job.seed).taken)
    both = LearntPrices().fit(log, BELOW, job.seed, beside=model)
    arms = {
        "known": (log, both),
        "estimated": (estimated, both),
        "learnt": (estimated, LearntPrices().fit(log, None, job.seed)),
    }
    middle = f"always {world.dose_labels[world.doses // 2]}"
    estimates: dict[str, dict[str, list[float]]] = {}
    for arm, (weighed, prices) in arms.items():
        judged = evaluate(policies, weighed, prices=prices, below=BELOW)
        for policy in (*policies, middle):
            tails = arm == "estimated" and policy != middle
            place = f"{arm}/{CONSTANT if policy == middle else policy}"
            estimates[place] = dict(_estimates(judged, policy, tails))
    return {"estimates": estimates, "truth": _truth(job, sample)}


def _truth(job: Job, sample: DosingSample) -> dict[str, dict[str, float]]:
    """What each policy truly earns on the rows of one log, and the share of its outcomes below the threshold."""
    world, rows = sample.world, np.arange(ROWS)
    order = world.index(job.labels)
    earned = {policy: sample.theta[rows, order[codes]] for policy, codes in job.chosen.items()}
    earned[CONSTANT] = sample.theta[:, world.doses // 2]
    return {
        policy: {"value": float(own.mean()), "tail": float(ndtr((BELOW - own) / world.noise).mean())}
        for policy, own in earned.items()
    }


def _estimates(judged: Evaluation, policy: str, tails: bool) -> Iterator[tuple[str, list[float]]]:
    evidence = judged.evidence(policy)
    terms = [one.terms(evidence) for one in EVERY_ESTIMATOR]
    for name, interval in INTERVALS.items():
        for estimator, estimate in zip(EVERY_ESTIMATOR, interval.estimates(terms, confidence=LEVEL), strict=True):
            yield f"value/{estimator.name}/{name}", [estimate.value, estimate.low, estimate.high]
    if tails:
        tail = judged.tail_evidence(policy)
        shares = Student().estimates([one.terms(tail) for one in EVERY_ESTIMATOR], confidence=LEVEL)
        for estimator, estimate in zip(EVERY_ESTIMATOR, shares, strict=True):
            yield f"tail/{estimator.name}/student", [estimate.value, estimate.low, estimate.high]
    yield "value/smoothing/bound", [LogarithmicSmoothing().lower_bound(evidence, LEVEL), np.nan, np.nan]
    yield "weights", [evidence.weights.mean(), np.nan, np.nan]


def summary(pieces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bias, error and coverage by arm, policy, what is estimated, estimator and interval."""
    rows = []
    for place, first in pieces[0]["estimates"].items():
        arm, policy = place.split("/")
        for what in first:
            values = np.array([piece["estimates"][place][what] for piece in pieces])
            row: dict[str, Any] = {"arm": arm, "policy": policy}
            if what == "weights":
                rows.append({**row, "what": what, "mean": float(values[:, 0].mean())})
                continue
            quantity, estimator, interval = what.split("/")
            # all rows of all logs together know the truth far better than one log can estimate it
            right = float(np.mean([piece["truth"][policy][quantity] for piece in pieces]))
            off = values[:, 0] - right
            row |= {"what": quantity, "estimator": estimator, "interval": interval, "truth": right}
            row |= {"bias": float(off.mean()), "error": float(np.sqrt(np.mean(off**2)))}
            if estimator == "smoothing":
                row["coverage"] = float(np.mean(values[:, 0] <= right))
            elif quantity == "value":
                row["coverage"] = float(np.mean((values[:, 1] <= right) & (right <= values[:, 2])))
                row["width"] = float(np.mean(values[:, 2] - values[:, 1]))
            rows.append(row)
    return rows


def chosen_rows(results: dict[str, Any], world: str, **wanted: str) -> list[dict[str, Any]]:
    """The rows of one world that have all of these."""
    return [row for row in results[world] if all(row.get(key) == value for key, value in wanted.items())]


def estimators_table(stored: Stored, policy: str = "expected") -> Table:
    """Error and coverage of every estimator in every world, for the policy of the highest expected reward."""
    worlds = list(stored["results"])
    lines = []
    for arm, meaning in ARMS.items():
        for estimator in EVERY_ESTIMATOR:
            if arm == "learnt" and not estimator.uses_prices:
                continue  # other prices change nothing
            cells = []
            for world in worlds:
                wanted = {"arm": arm, "policy": policy, "what": "value", "interval": "student"}
                (row,) = chosen_rows(stored["results"], world, estimator=estimator.name, **wanted)
                cells += [f"{row['bias']:+.3f}", f"{row['error']:.3f}", f"{row['coverage']:.1%}"]
            lines.append((meaning, estimator.name, *cells))
    heads = [f"{world}: {what}" for world in worlds for what in ("bias", "RMSE", "cover")]
    return Table(("propensities", "estimator", *heads), lines, f"Estimators over {stored['logs']} logs")


def constants_table(stored: Stored) -> Table:
    """The same for always giving the middle dose."""
    return estimators_table(stored, CONSTANT)


def intervals_table(stored: Stored) -> Table:
    """How often each interval of the doubly robust value holds, and its width, propensities estimated."""
    lines = []
    for name in (*INTERVALS, "bound"):
        cells = []
        for world in stored["results"]:
            estimator = "smoothing" if name == "bound" else "dr"
            wanted = {"arm": "estimated", "policy": "expected", "what": "value", "estimator": estimator}
            (row,) = chosen_rows(stored["results"], world, interval=name, **wanted)
            size = f"{row['bias']:+.2f}" if name == "bound" else f"{row['width']:.2f}"
            cells += [f"{row['coverage']:.1%}", size]
        lines.append((NAMES[name], *cells))
    heads = [f"{world}: {what}" for world in stored["results"] for what in ("holds", "width")]
    return Table(("interval", *heads), lines, "Intervals")


def tails_table(stored: Stored) -> Table:
    """The share of bad outcomes in the world with a cliff: error of every estimator, propensities estimated."""
    lines = []
    for estimator in EVERY_ESTIMATOR:
        cells = []
        for policy in STRATEGIES:
            wanted = {"arm": "estimated", "policy": policy, "what": "tail", "estimator": estimator.name}
            (row,) = chosen_rows(stored["results"], "cliff, MCAR", **wanted)
            cells += [f"{row['truth']:.2%}", f"{row['bias']:+.2%}", f"{row['error']:.2%}"]
        lines.append((estimator.name, *cells))
    heads = [f"{policy}: {what}" for policy in STRATEGIES for what in ("true share", "bias", "RMSE")]
    return Table(("estimator", *heads), lines, "Tail shares")


def tail_intervals(logs: int) -> dict[str, dict[str, float]]:
    """How often intervals of the tail share hold, and are too low: exact policy and propensities.

    Prices are exact too, or wrong: a share of 30 % everywhere.
    """
    world = WORLDS["cliff, MCAR"]
    large = world.sample(100 * ROWS, seed=FIRST_SEED - 1)
    own = large.theta[np.arange(len(large)), world.act("tail", large)]
    truth = float(ndtr((BELOW - own) / world.noise).mean())
    held: dict[str, list[tuple[bool, bool]]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + logs):
        exact = _exact_evidence(world, seed)
        rows, wrong = effective_sample_size(exact.weights), np.full(ROWS, 0.3)
        for estimator, evidence, name in (
            (SelfNormalised(), exact, "self-normalised ips"),
            (DoublyRobust(), exact, "dr"),
            (DoublyRobust(), replace(exact, logged_prices=wrong, policy_prices=wrong), "dr, wrong prices"),
            (SelfNormalisedDoublyRobust(), exact, "self-normalised dr"),
        ):
            (student,) = Student().estimates([estimator.terms(evidence)], confidence=LEVEL)
            for interval, found in (("Student", student), ("effective counts", as_share(student, rows, LEVEL))):
                inside = (found.low <= truth <= found.high, found.high < truth)
                held.setdefault(f"{name}, {interval}", []).append(inside)
    return {
        name: dict(zip(("holds", "too_low"), np.mean(own, axis=0).tolist(), strict=True)) for name, own in held.items()
    }


def _exact_evidence(world: DosingWorld, seed: int) -> Evidence:
    sample = world.sample(ROWS, seed=seed)
    rows, chosen = np.arange(ROWS), world.act("tail", sample)
    drawn = world.completions(sample.values, sample.observed, count=32, seed=seed)
    theta = world.theta(drawn.reshape(-1, world.attributes)).reshape(ROWS, 32, -1)
    prices = ndtr((BELOW - theta) / world.noise).mean(axis=1)
    weights = (chosen == sample.actions) / sample.propensity[rows, sample.actions]
    outcomes = (sample.rewards < BELOW) * 1.0
    return Evidence(weights, outcomes, prices[rows, sample.actions], prices[rows, chosen])


def tail_intervals_table(stored: Stored) -> Table:
    lines = [
        (name, f"{rates['holds']:.1%}", f"{rates['too_low']:.1%}") for name, rates in stored["tail_intervals"].items()
    ]
    return Table(("estimator, interval", "holds", "too low"), lines, "Intervals of tail shares")


NAMES = {
    "student": "Student",
    "bootstrap": "bootstrap",
    "bernstein": "empirical Bernstein",
    "bound": "logarithmic smoothing, lower bound (width: its mean distance from the truth)",
}


BENCHMARK = Benchmark(
    "evaluation",
    {
        "estimators": estimators_table,
        "constant": constants_table,
        "intervals": intervals_table,
        "tail shares": tails_table,
        "tail intervals": tail_intervals_table,
    },
)


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--pieces", type=Path, default=Path("build/evaluation"))
    options = parser.parse_args()
    start = time.perf_counter()
    stored: Stored = {"logs": options.logs, "rows": ROWS, "fitted": FITTED, "below": BELOW, "results": {}}
    if options.out.exists() and (earlier := json.loads(options.out.read_text()))["logs"] == options.logs:
        stored["results"] = earlier["results"]  # of worlds that are not requested now
    with ProcessPoolExecutor(options.workers, get_context("spawn"), _on_one_core) as pool:
        for name in options.worlds:
            stored["results"][name] = summary(pieces(pool, name, options.logs, options.pieces))
            CONSOLE.print(f"{name}: done after {time.perf_counter() - start:.0f} s")
    stored["tail_intervals"] = tail_intervals(options.logs)
    BENCHMARK.store(stored, options.out)


def pieces(pool: ProcessPoolExecutor, name: str, logs: int, folder: Path) -> list[dict[str, Any]]:
    """The results of every log of a world; those that an earlier run has left in the folder are not made again."""
    place = folder / name.replace(", ", "-")
    place.mkdir(parents=True, exist_ok=True)
    files = {seed: place / f"{seed}.json" for seed in range(FIRST_SEED, FIRST_SEED + logs)}
    missing = [seed for seed, file in files.items() if not file.exists()]
    waiting = [pool.submit(_store, job, files[job.seed]) for job in jobs(name, missing)] if missing else []
    for done in waiting:
        done.result()
    return [json.loads(file.read_text()) for file in files.values()]


def _store(job: Job, file: Path) -> None:
    file.write_text(json.dumps(one_log(job)))


def _on_one_core() -> None:
    import jax
    from threadpoolctl import threadpool_limits

    jax.config.update("jax_platforms", "cpu")
    threadpool_limits(limits=1)


if __name__ == "__main__":
    main()
