"""Guarantees checked against the truth: how often the reward of the recommended action stays above its bound.

    python -m benchmarks.coverage [--seeds 5] [--clinics usual rare] [--out benchmarks/results/coverage.json]

Each seed is another dosing world (cliff loss, 5 doses, 8 attributes), another log to fit a small model on, other
decisions to compare with and other cases; gaps are made in the complete records by `prudent.worlds.missingness`.
Coverage is the exact probability, given the complete record, that the noisy reward is at least the bound, averaged over
the cases. The oracle's bound is the quantile of the exact distribution of the same action's reward given what was
observed. The worlds are others than those on which `ALLOWANCE` (prudent.promise) was chosen.

A model that is hardly trained must have the same coverage: what is guaranteed must not depend on the model. In clinics
with rare actions the clinician gives one dose to nearly all like cases, and each other one to a hundredth of them. Rows
of clinics that are not run again are kept.
"""

import json
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import polars
from scipy.special import ndtr

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table
from prudent.propensity import Boosted, Stacked
from prudent.worlds import DosingSample, DosingWorld, mar, mcar, mnar

FITTED, COMPARED, CASES = 2000, 1000, 600
CONFIDENCE = 0.95
FIRST_SEED = 100
SHARES = (0.1, 0.2, 0.4, 0.6)
MECHANISMS: dict[str, Callable[[np.ndarray, float, int], np.ndarray]] = {
    "MCAR": lambda full, share, seed: mcar((len(full), full.shape[1]), share, seed),
    "MAR": mar,
    "MNAR": mnar,
}
GROUPS = {"0": (0, 0), "1-2": (1, 2), "3-4": (3, 4), "5+": (5, 99)}
STRATEGIES = {"MaximumExpectedReward()": prudent.MaximumExpectedReward(), "TailAverse(risk=0.2)": prudent.TailAverse()}
MODELS = {
    name: prudent.CausalPVAE(
        members=1,
        samples=8,
        sizes=prudent.Sizes(latent=6, width=24, embedding=6, summary=24),
        training=prudent.Training(rounds=rounds, steps_per_round=100, batch=64),
    )
    for name, rounds in (("small", 10), ("hardly trained", 1))
}
ARMS = (
    ("small", "MaximumExpectedReward()"),
    ("small", "TailAverse(risk=0.2)"),
    ("hardly trained", "MaximumExpectedReward()"),
)
ALL_ARMS_AT = 0.4
CLINICS: dict[str, dict[str, Any]] = {"usual": {}, "rare": {"uniform": 0.05, "temperature": 0.25}}
RARE_SHARES = (0.2, 0.4)
COMPLETIONS = 32
ORACLE_DRAWS = 200
FEWEST_CASES = 50  # a share of fewer cases, over all seeds, says nothing
PROPENSITIES = (prudent.Known(), Boosted(), Stacked())


def records(world: DosingWorld, mechanism: str, share: float, seed: int) -> tuple[polars.DataFrame, DosingSample]:
    """Complete records, gaps made in them, what the clinician did, and its probability as one more column."""
    full = world.sample(FITTED + COMPARED + CASES, seed=300 + seed).full
    sample = world.record(full, MECHANISMS[mechanism](full, share, seed), seed=seed)
    chance = sample.propensity[np.arange(len(full)), sample.actions]
    return sample.frame().with_columns(polars.Series("chance", chance)), sample


def oracle(world: DosingWorld, sample: DosingSample, rows: np.ndarray, actions: np.ndarray, seed: int) -> np.ndarray:
    """The exact lower quantile of the reward of each row's action given what was observed, by simulation."""
    drawn = world.completions(sample.values[rows], sample.observed[rows], count=ORACLE_DRAWS, seed=seed)
    theta = world.theta(drawn.reshape(-1, world.attributes)).reshape(len(rows), ORACLE_DRAWS, -1)
    noise = world.noise * np.random.default_rng(seed).normal(size=theta.shape[:2])
    rewards = np.take_along_axis(theta, actions[:, None, None], axis=2)[:, :, 0] + noise
    return np.quantile(rewards, 1 - CONFIDENCE, axis=1)


def summarise(covered: np.ndarray, bound: np.ndarray, theta: np.ndarray, best: np.ndarray, extra: np.ndarray) -> Any:
    """One group of cases in numbers; None where none of them has a bound."""
    has = ~np.isnan(bound)

    def mean(of: np.ndarray) -> float | None:
        return float(of[has].mean()) if has.any() else None

    return {
        "cases": len(bound),
        "without_bound": int((~has).sum()),
        "coverage": mean(covered),
        "width": mean(theta - bound),
        "oracle_width": mean(theta - best),
        "exact_form": mean(extra == 0),
    }


def settings_of(clinic: str) -> Iterator[tuple[str, float]]:
    """Kinds and shares of gaps that are run for a clinic; MNAR breaks an assumption of its own."""
    if clinic == "usual":
        return product(MECHANISMS, SHARES)
    return product(("MCAR", "MAR"), RARE_SHARES)


def one_setting(mechanism: str, share: float, seed: int, clinic: str = "usual") -> list[dict[str, Any]]:
    """Every arm on the same records: a row per arm and kind of propensity."""
    world = DosingWorld(loss="cliff", doses=5, seed=seed, **CLINICS[clinic])
    frame, sample = records(world, mechanism, share, seed)
    results, fitted, name = [], None, ""
    for model, strategy in ARMS if share == ALL_ARMS_AT and clinic == "usual" else ARMS[:1]:
        if fitted is None or model != name:
            past = prudent.Log.from_frame(
                frame[:FITTED], action="dose", reward="outcome", propensity="chance", kinds=world.kinds
            )
            fitted, name = MODELS[model].fit(past, seed=seed), model
        for propensity, groups in one_arm(
            world, frame, sample, fitted.policy(STRATEGIES[strategy], completions=COMPLETIONS), seed
        ):
            arm = {"mechanism": mechanism, "share": share, "seed": seed, "model": model, "strategy": strategy}
            arm["clinic"] = clinic
            results.append({**arm, "propensity": propensity, "groups": groups})
    return results


def one_arm(
    world: DosingWorld, frame: polars.DataFrame, sample: DosingSample, policy: prudent.Policy, seed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    later, cases = frame[FITTED : FITTED + COMPARED], frame[FITTED + COMPARED :]
    log = policy.fitted.read(later)
    rows = np.arange(FITTED + COMPARED, len(sample))
    encoded = policy.fitted.schema.encode(cases)
    gaps = (~encoded.observed).sum(axis=1)
    chosen = np.argmax(policy.chooser.score(encoded).scores, axis=1)
    actions = world.index(np.array(policy.fitted.action_labels)[chosen])
    theta, best = sample.theta[rows, actions], oracle(world, sample, rows, actions, seed)
    made = prudent.guarantee(policy, log, confidence=CONFIDENCE, seed=seed)
    for propensity in PROPENSITIES:
        bounds = made.weighted(propensity, seed=seed).examine(encoded, chosen)
        covered = ndtr((theta - bounds.reward) / world.noise)
        columns = covered, bounds.reward, theta, best, bounds.extra_gaps
        yield (
            type(propensity).__name__,
            {
                name: summarise(*(column[(gaps >= low) & (gaps <= high)] for column in columns))
                for name, (low, high) in GROUPS.items()
            },
        )


def pooled(rows: list[dict[str, Any]], what: str, groups: tuple[str, ...] = tuple(GROUPS)) -> tuple[float, int]:
    """The mean over all cases that have a bound, of all seeds and the groups named, and the number of these cases."""
    summaries = [row["groups"][group] for row in rows for group in groups]
    counts = np.array([summary["cases"] - summary["without_bound"] for summary in summaries])
    values = np.array([summary[what] or 0.0 for summary in summaries])
    return float(values @ counts / max(counts.sum(), 1)), int(counts.sum())


def _arm(row: dict[str, Any]) -> tuple[str, str, str, float, str]:
    return row["model"], row["strategy"], row["mechanism"], row["share"], row.get("clinic", "usual")


def coverage_table(stored: Stored) -> Table:
    """Coverage by number of gaps with true propensities, with estimated ones, and how far below the mean bounds are."""
    results = stored["results"]

    def share(rows: list[dict[str, Any]], *groups: str) -> str:
        value, cases = pooled(rows, "coverage", groups or tuple(GROUPS))
        return f"{value:.1%}" if cases >= FEWEST_CASES else "–"

    def lowest(rows: list[dict[str, Any]]) -> str:
        shares = [pooled(rows, "coverage", (group,)) for group in GROUPS]
        return f"{min(value for value, cases in shares if cases >= FEWEST_CASES):.1%}"

    lines, names = [], {row["propensity"] for row in results}
    kinds = [name for name in (type(estimated).__name__ for estimated in PROPENSITIES[1:]) if name in names]
    arms = dict.fromkeys(_arm(row) for row in results)
    clinics, mechanisms = list(CLINICS), list(MECHANISMS)
    order = sorted(arms, key=lambda arm: (ARMS.index(arm[:2]), clinics.index(arm[4]), mechanisms.index(arm[2]), arm[3]))
    for arm in order:
        rows = [row for row in results if _arm(row) == arm]
        known, *estimated = ([row for row in rows if row["propensity"] == kind] for kind in ("Known", *kinds))
        summaries = [row["groups"][group] for row in known for group in GROUPS]
        absent = sum(summary["without_bound"] for summary in summaries) / sum(summary["cases"] for summary in summaries)
        note = "" if arm[:2] == ARMS[0] else f", {arm[1] if arm[0] == 'small' else arm[0]}"
        note += "" if arm[4] == "usual" else ", rare actions"
        lines.append(
            (
                f"{arm[2]} {arm[3]:.0%}{note}",
                *(share(known), *(share(known, group) for group in GROUPS)),
                *(cell for of_kind in estimated for cell in (share(of_kind), lowest(of_kind))),
                *(f"{absent:.1%}", f"{pooled(known, 'width')[0]:.2f}", f"{pooled(known, 'oracle_width')[0]:.2f}"),
            )
        )
    seeds = len({row["seed"] for row in results})
    return Table(
        (
            *("gaps", "all cases", *(f"{group} gaps" for group in GROUPS)),
            *(f"{which}, {kind}" for kind in kinds for which in ("all", "lowest")),
            *("no bound", "width", "oracle's width"),
        ),
        lines,
        f"Coverage of bounds at confidence {CONFIDENCE:.0%}, {seeds} worlds",
    )


BENCHMARK = Benchmark("coverage", {"coverage": coverage_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--clinics", nargs="+", choices=CLINICS, default=list(CLINICS))
    options = parser.parse_args()
    before = json.loads(options.out.read_text())["results"] if options.out.exists() else []
    start, results = time.perf_counter(), [row for row in before if _arm(row)[4] not in options.clinics]
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for clinic in options.clinics:
            for mechanism, share in settings_of(clinic):
                results += one_setting(mechanism, share, seed, clinic)
        CONSOLE.print(f"seed {seed}: done after {time.perf_counter() - start:.0f} s")
    rows = {"fitted": FITTED, "compared": COMPARED, "cases": CASES}
    seeds = len({row["seed"] for row in results})
    BENCHMARK.store({"level": CONFIDENCE, **rows, "seeds": seeds, "results": results}, options.out)


if __name__ == "__main__":
    main()
