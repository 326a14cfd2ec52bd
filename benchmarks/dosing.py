"""The dosing world: prudent beside what people use today, and every strategy beside its exact answer.

    python -m benchmarks.dosing [--seeds 5] [--rows 5000] [--out benchmarks/results/dosing.json]

Each seed is another world, another log and other fresh cases. Nothing here is tuned on the fresh cases.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import prudent
from experiments.rivals.actions import (
    ActionAsFeature,
    Boosting,
    ChainedImputation,
    ChainedPolicyForest,
    Forest,
    LoggedDecisions,
    PerAction,
    Rival,
)
from prudent.worlds import DosingWorld
from prudent.worlds.dosing import DosingSample

FRESH = 2000
MODELS = {"CausalPVAE": prudent.CausalPVAE(), "SPVAE": prudent.SPVAE(), "CPVAE": prudent.CPVAE()}
RIVALS: dict[str, Rival] = {
    "gradient boosting per action": Boosting(PerAction(), stages=(25, 50, 100, 200)),
    "gradient boosting, action as feature": Boosting(ActionAsFeature(), stages=(50, 100, 200, 400, 800)),
    "mean + forests per action": Forest(PerAction()),
    "mean + forest, action as feature": Forest(ActionAsFeature()),
    "MICE + forests per action": Forest(PerAction(), ChainedImputation()),
    "MICE + forests, action as feature": Forest(ActionAsFeature(), ChainedImputation()),
    "MICE + policy forest (EconML)": ChainedPolicyForest(),
}
STRATEGIES: dict[str, tuple[prudent.Strategy, str, dict[str, Any]]] = {
    "Imputation()": (prudent.Imputation(), "imputation", {}),
    "MostOftenBest()": (prudent.MostOftenBest(), "most often best", {}),
    "MaximumExpectedReward()": (prudent.MaximumExpectedReward(), "expected", {}),
    "Conservative(c=0.1)": (prudent.Conservative(c=0.1), "conservative", {"c": 0.1}),
    "Conservative(risk=0.2)": (prudent.Conservative(risk=0.2), "conservative", {"risk": 0.2}),
    "Conservative(risk=0.05)": (prudent.Conservative(risk=0.05), "conservative", {"risk": 0.05}),
    "TailAverse(risk=0.2)": (prudent.TailAverse(risk=0.2), "tail", {"risk": 0.2}),
}


def world_of(seed: int, loss: str) -> DosingWorld:
    return DosingWorld(attributes=8, doses=5 if loss == "quadratic" else 9, loss=loss, gaps=0.4, seed=seed)


def score(world: DosingWorld, actions: np.ndarray, fresh: DosingSample) -> dict[str, float]:
    return {
        "share_of_the_way": world.share_of_the_way(actions, fresh),
        "mean_reward": world.value(actions, fresh),
        "catastrophes": world.catastrophes(actions, fresh),
    }


def of_rivals(world: DosingWorld, log: DosingSample, fresh: DosingSample, seed: int) -> dict[str, Any]:
    rows = {}
    categorical = np.array([kind == "categorical" for kind in world.kinds.values()])
    logged = LoggedDecisions.of(log.values, categorical, log.actions, log.rewards, len(world.levels))
    for name, rival in RIVALS.items():
        start = time.perf_counter()
        actions = rival.fit(logged, seed=seed).predict(fresh.values)
        rows[name] = score(world, actions, fresh) | {"seconds": time.perf_counter() - start}
    return rows


def of_trivial(world: DosingWorld, fresh: DosingSample) -> dict[str, Any]:
    bayes = world.act("expected", fresh)
    constant = np.full(len(fresh), world.theta(fresh.full).mean(axis=0).argmax())
    return {
        "best constant dose": score(world, constant, fresh),
        "the logging clinicians": score(world, fresh.actions, fresh),
        "Bayes policy (exact posterior)": score(world, bayes, fresh),
    }


def of_model(
    model: Any, world: DosingWorld, log: DosingSample, fresh: DosingSample, seed: int, strategies: list[str]
) -> dict[str, Any]:
    start = time.perf_counter()
    table = prudent.Log.from_frame(log.frame(), action="dose", reward="outcome", kinds=world.kinds)
    fitted = model.fit(table, seed=seed)
    seconds = time.perf_counter() - start
    # the cases are completed and priced once; strategies only choose, and the worst case is searched for beyond that
    policy, encoded = fitted.policy(), fitted.schema.encode(fresh.cases())
    tables = list(policy.pricing.tables(encoded))
    every, rows = np.arange(len(fresh)), {}
    for name in strategies:
        strategy, exact_name, settings = STRATEGIES[name]
        if isinstance(strategy, prudent.Conservative):
            scores = fitted.policy(strategy).chooser.score(encoded).scores
        else:
            judge = jax.jit(jax.vmap(strategy.scores))
            scores = np.concatenate([judge(table) for table in tables])[: len(fresh)]
        chosen = scores.argmax(axis=1)
        exact = world.scores(exact_name, fresh, **settings)
        claimed, truth = scores[every, chosen], exact[every, chosen]
        rows[name] = score(world, world.index(np.array(fitted.action_labels)[chosen]), fresh) | {
            "seconds": seconds,
            "claim_error": float(np.abs(claimed - truth).mean()),
            "claimed": float(claimed.mean()),
            "exact_for_same_actions": float(truth.mean()),
            "exact": score(world, exact.argmax(axis=1), fresh),
        }
    return rows


def one_seed(seed: int, rows: int, console: Console) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for loss in ("quadratic", "cliff"):
        world = world_of(seed, loss)
        log, fresh = world.sample(rows, seed=100 + seed), world.sample(FRESH, seed=200 + seed)
        found = of_trivial(world, fresh) | of_rivals(world, log, fresh, seed)
        for name, model in MODELS.items():
            strategies = ["MaximumExpectedReward()"] if loss == "quadratic" else list(STRATEGIES)
            if loss == "quadratic" or name == "CausalPVAE":
                own = of_model(model, world, log, fresh, seed, strategies)
                found |= {f"{name} {strategy}": row for strategy, row in own.items()}
        result[loss] = found
        console.print(f"seed {seed}, {loss}: done")
    return result


def mean_and_error(values: list[float]) -> str:
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} ± {spread:.3f}"


@dataclass(frozen=True)
class Printed:
    """A table as words: for the terminal and, from the stored numbers, for the docs."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def markdown(self) -> str:
        lines = [self.header, ("---", *("---:" for _ in self.header[1:])), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def rich(self) -> Table:
        table = Table(title=self.title)
        for index, column in enumerate(self.header):
            table.add_column(column, justify="right" if index else "left")
        for row in self.rows:
            table.add_row(*row)
        return table


def quadratic_table(results: list[dict[str, Any]]) -> Printed:
    ours = np.array([r["quadratic"]["CausalPVAE MaximumExpectedReward()"]["share_of_the_way"] for r in results])
    rows = []
    for name in results[0]["quadratic"]:
        own = [r["quadratic"][name] for r in results]
        shares = np.array([row["share_of_the_way"] for row in own])
        behind = "" if name.startswith("CausalPVAE") else mean_and_error(list(ours - shares))
        rows.append((name, mean_and_error(list(shares)), mean_and_error([row["mean_reward"] for row in own]), behind))
    return Printed(
        f"Asymmetric quadratic loss, 5 doses: mean ± s.e. over {len(results)} worlds",
        ("policy", "share of the way", "mean reward", "share behind CausalPVAE (paired)"),
        rows,
    )


def cliff_table(results: list[dict[str, Any]]) -> Printed:
    def mean(own: list[dict[str, Any]], *path: str) -> float:
        values: list[Any] = list(own)
        for key in path:
            values = [value[key] for value in values]
        return float(np.mean(np.array(values, np.float64)))

    rows = []
    for name in results[0]["cliff"]:
        own = [r["cliff"][name] for r in results]
        reward, fell = mean_and_error([row["mean_reward"] for row in own]), f"{mean(own, 'catastrophes'):.2%}"
        if "exact" not in own[0]:
            rows.append((name, reward, "", fell, "", ""))
            continue
        exact = f"{mean(own, 'exact', 'mean_reward'):.3f}", f"{mean(own, 'exact', 'catastrophes'):.2%}"
        rows.append((name, reward, exact[0], fell, exact[1], f"{mean(own, 'claim_error'):.3f}"))
    return Printed(
        f"Cliff loss, 9 doses: mean over {len(results)} worlds; 'exact' is the same rule with the exact posterior",
        ("policy", "mean reward", "exact", "catastrophes", "exact", "claim off by (mean, absolute)"),
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "dosing.json")
    settings = parser.parse_args()
    console = Console(width=130)
    results = [one_seed(seed, settings.rows, console) for seed in range(settings.seeds)]
    for table in (quadratic_table(results), cliff_table(results)):
        console.print(table.rich())
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    described = {"rows": settings.rows, "fresh": FRESH, "seeds": settings.seeds, "results": results}
    settings.out.write_text(json.dumps(described, indent=1))
    console.print(f"Numbers written to {settings.out}")


if __name__ == "__main__":
    main()
