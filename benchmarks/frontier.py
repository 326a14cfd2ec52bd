"""What caution costs and gains in worlds where a wrong dose can be a catastrophe: the whole frontier, and its promise.

    python -m benchmarks.frontier [--seeds 3] [--rows 5000] [--out benchmarks/results/frontier.json]

Every setting on the truth of fresh cases, beside the same rule with the exact posterior; a setting chosen by a limit on
a held-out log, beside what it then does on the truth; and how much of the posterior a fixed c keeps. Rivals are read
from the results of benchmarks.dosing for the same worlds.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import prudent
from benchmarks.dosing import FRESH, world_of
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table, mean_and_error, mean_of
from prudent.decide import plausible_mass, risk_of_c
from prudent.evaluation import worst_mean
from prudent.models import Fitted
from prudent.promise import DEFAULT_SETTINGS, Frontier, frontier
from prudent.show import Picture, Series, frontier_series, scatter_lines
from prudent.worlds import DosingSample, DosingWorld

HERE = Path(__file__).parent
BELOW = -5.0
HELD_OUT = 2000
LIMITS = (0.03, 0.04, 0.05, 0.06, 0.08)
CS = (0.7, 0.1, 0.001)
MASS_ROWS = 512
RIVALS = ("MICE + forests, action as feature", "gradient boosting, action as feature", "the logging clinicians")


def exact_rule(setting: prudent.Strategy) -> tuple[str, dict[str, Any]]:
    """The world's name for a setting, and its parameter, to decide with the exact posterior."""
    if isinstance(setting, prudent.Conservative):
        return "conservative", {"risk": setting.risk or 0.0} if setting.c is None else {"c": setting.c}
    if isinstance(setting, prudent.TailAverse):
        return "tail", {"risk": setting.risk}
    return ("imputation" if isinstance(setting, prudent.Imputation) else "expected"), {}


def summary(mean_reward: float, tail_share: float, worst_mean: float) -> dict[str, float]:
    return {"mean_reward": mean_reward, "tail_share": tail_share, "worst_mean": worst_mean}


def of_model(judged: Frontier) -> dict[str, dict[str, float]]:
    return {
        name_of(point.strategy): summary(point.mean_reward.value, point.tail_share.value, point.worst_mean.value)
        for point in judged.points
    }


def of_exact(world: DosingWorld, fresh: DosingSample) -> dict[str, dict[str, float]]:
    results = {}
    for setting in DEFAULT_SETTINGS:
        rule, knobs = exact_rule(setting)
        rewards = fresh.theta[np.arange(len(fresh)), world.act(rule, fresh, **knobs)]
        worst = worst_mean(np.ones(len(rewards)), rewards, 0.05).value
        results[name_of(setting)] = summary(float(rewards.mean()), float((rewards < BELOW).mean()), worst)
    return results


def name_of(setting: prudent.Strategy) -> str:
    return repr(setting).replace(", measure='cvar'", "")


def of_choices(judged: Frontier, truth: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """For every limit the setting chosen on the held-out log, and what it does on the truth."""
    rows = []
    for limit in LIMITS:
        certificate = judged.certify(limit)
        name = None if certificate.best is None else name_of(certificate.best)
        rows.append({"limit": limit, "chosen": name, "truth": None if name is None else truth[name]})
    return rows


def of_masses(fitted: Fitted, fresh: DosingSample) -> dict[str, list[float]]:
    """The mean posterior mass inside the set of each c for 1, 2, … gaps, on equally many cases with each number."""
    width = fresh.full.shape[1]
    full, gaps = fresh.full[:MASS_ROWS], 1 + np.arange(MASS_ROWS) % width
    place = np.argsort(np.random.default_rng(0).random(full.shape), axis=1)
    observed = place >= gaps[:, None]
    cases = replace(fresh, full=full, observed=observed, values=np.where(observed, full, np.nan)).cases()
    masses = {}
    for c in CS:
        mass = plausible_mass(fitted.policy(prudent.Conservative(c=c)), cases)
        masses[f"{c:g}"] = [float(mass.held[mass.gaps == count].mean()) for count in range(1, width + 1)]
    return masses


def of_rivals(stored: Path, seed: int) -> dict[str, dict[str, float]]:
    rewards = json.loads(stored.read_text())["results"][seed]["cliff"]
    return {name: {key: rewards[name][key] for key in ("mean_reward", "catastrophes")} for name in RIVALS}


def one_seed(seed: int, rows: int) -> dict[str, Any]:
    world = world_of(seed, "cliff")
    log, fresh = world.sample(rows, seed=100 + seed), world.sample(FRESH, seed=200 + seed)
    held = world.sample(HELD_OUT, seed=300 + seed)
    table = prudent.Log.from_frame(log.frame(), action="dose", reward="outcome", kinds=world.kinds)
    fitted = prudent.CausalPVAE().fit(table, seed=seed)
    truth = of_model(frontier(fitted, fresh.known_truth(fitted), below=BELOW))
    later = fitted.read(held.frame())
    recorded = replace(later, propensities=held.propensity[np.arange(len(held)), held.actions])
    logs = {"estimated propensities": later, "recorded propensities": recorded}
    judged = {kind: frontier(fitted, judging, below=BELOW) for kind, judging in logs.items()}
    return {
        "model": truth,
        "exact": of_exact(world, fresh),
        "held_out": {kind: result.to_dict()["points"] for kind, result in judged.items()},
        "choices": {kind: of_choices(result, truth) for kind, result in judged.items()},
        "masses": of_masses(fitted, fresh),
        "rivals": of_rivals(HERE / "results" / "dosing.json", seed),
    }


def frontier_table(stored: Stored) -> Table:
    results = stored["results"]
    rows = []
    for name in map(name_of, DEFAULT_SETTINGS):
        reward = mean_and_error([result["model"][name]["mean_reward"] for result in results])
        exact = f"{mean_of(results, 'exact', name, 'mean_reward'):.3f}"
        tails = [f"{mean_of(results, which, name, 'tail_share'):.2%}" for which in ("model", "exact")]
        worst = [f"{mean_of(results, which, name, 'worst_mean'):.2f}" for which in ("model", "exact")]
        rows.append((name, reward, exact, *tails, *worst))
    for name in results[0]["rivals"]:
        reward = mean_and_error([result["rivals"][name]["mean_reward"] for result in results])
        rows.append((name, reward, "", f"{mean_of(results, 'rivals', name, 'catastrophes'):.2%}", "", "", ""))
    return Table(
        ("setting", "mean reward", "exact", f"below {BELOW:g}", "exact", "mean of the worst 5 %", "exact"),
        rows,
        f"The frontier in {len(results)} cliff worlds; 'exact' is the same rule with the exact posterior",
    )


def choices_table(stored: Stored) -> Table:
    results = stored["results"]
    rows = []
    for kind in results[0]["choices"]:
        for at, limit in enumerate(LIMITS):
            choices = [result["choices"][kind][at] for result in results]
            truths = [choice["truth"] for choice in choices if choice["chosen"] is not None]
            names = ", ".join(choice["chosen"] or "none" for choice in choices)
            tails = ", ".join(f"{truth['tail_share']:.2%}" for truth in truths) or "–"
            rewards = ", ".join(f"{truth['mean_reward']:.2f}" for truth in truths) or "–"
            rows.append((f"{limit:.0%}, {kind}", names, tails, rewards))
    return Table(
        ("limit", "chosen", f"truly below {BELOW:g}", "true mean reward"),
        rows,
        f"Chosen on a held-out log of {HELD_OUT} rows with 90 % confidence, world by world, and what the choice does",
    )


def frontier_picture(stored: Stored) -> Picture:
    results = stored["results"]

    def lines(which: str, settings: list[prudent.Strategy], suffix: str = "") -> list[Series]:
        points = []
        for setting in settings:
            numbers = {key: mean_of(results, which, name_of(setting), key) for key in ("tail_share", "mean_reward")}
            points.append({key: getattr(setting, key) for key in ("family", "setting", "boldness")} | numbers)
        return list(frontier_series(points, suffix))

    # the exact line of c runs far to the right and back, over everything else; its numbers are in the table
    by_c = [isinstance(s, prudent.Imputation) or getattr(s, "c", None) is not None for s in DEFAULT_SETTINGS]
    others = [setting for setting, left_out in zip(DEFAULT_SETTINGS, by_c, strict=True) if not left_out]
    series = lines("model", list(DEFAULT_SETTINGS)) + lines("exact", others, ", exact posterior")
    for rival in RIVALS[:2]:
        spot = (
            100 * mean_of(results, "rivals", rival, "catastrophes"),
            mean_of(results, "rivals", rival, "mean_reward"),
        )
        series.append(Series(rival, [spot], joined=False))
    title = f"What caution costs, and what it gains: {len(results)} cliff worlds"
    return scatter_lines(series, f"outcomes below {BELOW:g}, in %".replace("-", "−"), "mean reward", title, height=600)


def fixed_c_picture(stored: Stored) -> Picture:
    results = stored["results"]
    gaps = np.unique(np.round(np.geomspace(1, 800, 26)).astype(int))
    series = [Series(f"c = {c:g}, Gaussian", [(float(g), float(1 - risk_of_c(c, g))) for g in gaps]) for c in CS]
    for c in CS:
        shares = np.mean([result["masses"][f"{c:g}"] for result in results], axis=0)
        spots = [(float(at + 1), float(share)) for at, share in enumerate(shares)]
        series.append(Series(f"c = {c:g}, fitted model", spots, joined=False))
    title = "A fixed c keeps ever less"
    return scatter_lines(series, "gaps", "posterior mass inside the plausible set", title, log_x=True)


BENCHMARK = Benchmark(
    "frontier",
    {"frontier": frontier_table, "choices": choices_table},
    {"frontier": frontier_picture, "fixed_c": fixed_c_picture},
)


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    results = []
    for seed in range(options.seeds):
        results.append(one_seed(seed, options.rows))
        CONSOLE.print(f"seed {seed}: done")
    numbers = {"rows": options.rows, "fresh": FRESH, "held_out": HELD_OUT, "below": BELOW}
    BENCHMARK.store(numbers | {"results": results}, options.out)


if __name__ == "__main__":
    main()
