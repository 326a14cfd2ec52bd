"""The dosing world: prudent beside what people use today, and every strategy beside its exact answer.

    python -m benchmarks.dosing [--seeds 5] [--rows 5000] [--out benchmarks/results/dosing.json]

Each seed is another world, another log and other fresh cases. Nothing here is tuned on the fresh cases.
"""

import time
from typing import Any

import jax
import numpy as np

import prudent
from benchmarks.reporting import CONSOLE, Benchmark, Stored, Table, mean_and_error, mean_of
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
from experiments.tables import NONE
from prudent.decide import MostOftenBest
from prudent.worlds import DosingSample, DosingWorld

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
    "MostOftenBest()": (MostOftenBest(), "most often best", {}),
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
    policy, encoded = fitted.policy(prudent.Imputation()), fitted.schema.encode(fresh.cases())
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


def one_seed(seed: int, rows: int) -> dict[str, Any]:
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
        CONSOLE.print(f"seed {seed}, {loss}: done")
    return result


def quadratic_table(stored: Stored) -> Table:
    results = [seed["quadratic"] for seed in stored["results"]]
    ours = np.array([result["CausalPVAE MaximumExpectedReward()"]["share_of_the_way"] for result in results])
    lines = []
    for name in results[0]:
        rows = [result[name] for result in results]
        shares = np.array([row["share_of_the_way"] for row in rows])
        behind = "" if name.startswith("CausalPVAE") else mean_and_error(ours - shares)
        lines.append((name, mean_and_error(shares), mean_and_error([row["mean_reward"] for row in rows]), behind))
    return Table(
        ("policy", "share of the way", "mean reward", "share behind CausalPVAE (paired)"),
        lines,
        f"Asymmetric quadratic loss, 5 doses: mean ± s.e. over {len(results)} worlds",
    )


def cliff_table(stored: Stored) -> Table:
    results = [seed["cliff"] for seed in stored["results"]]
    lines = []
    for name in results[0]:
        rows = [result[name] for result in results]
        reward = mean_and_error([row["mean_reward"] for row in rows])
        catastrophes = f"{mean_of(rows, 'catastrophes'):.2%}"
        if "exact" not in rows[0]:
            lines.append((name, reward, "", catastrophes, "", ""))
            continue
        exact = f"{mean_of(rows, 'exact', 'mean_reward'):.3f}", f"{mean_of(rows, 'exact', 'catastrophes'):.2%}"
        lines.append((name, reward, exact[0], catastrophes, exact[1], f"{mean_of(rows, 'claim_error'):.3f}"))
    return Table(
        ("policy", "mean reward", "exact", "catastrophes", "exact", "claim off by (mean, absolute)"),
        lines,
        f"Cliff loss, 9 doses: mean over {len(results)} worlds; 'exact' is the same rule with the exact posterior",
    )


DEFAULTS = (
    "best constant dose",
    "gradient boosting, action as feature",
    "mean + forest, action as feature",
    "MICE + forests, action as feature",
    "MICE + policy forest (EconML)",
    "CausalPVAE MaximumExpectedReward()",
    "CausalPVAE TailAverse(risk=0.2)",
    "Bayes policy (exact posterior)",
)
"""Rows of the README's table: methods at their default settings."""


def defaults_table(stored: Stored) -> Table:
    lines = []
    for name in DEFAULTS:
        quadratic = [seed["quadratic"][name] for seed in stored["results"] if name in seed["quadratic"]]
        share = mean_and_error([row["share_of_the_way"] for row in quadratic]) if quadratic else NONE
        cliff = [seed["cliff"][name] for seed in stored["results"]]
        reward = mean_and_error([row["mean_reward"] for row in cliff])
        lines.append((name, share, reward, f"{mean_of(cliff, 'catastrophes'):.2%}"))
    losses = ("quadratic loss: share of the way", "cliff loss: mean reward", "cliff loss: catastrophes")
    return Table(("method", *losses), lines, "Methods at their default settings")


BENCHMARK = Benchmark("dosing", {"quadratic": quadratic_table, "cliff": cliff_table, "defaults": defaults_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    results = [one_seed(seed, options.rows) for seed in range(options.seeds)]
    stored = {"rows": options.rows, "fresh": FRESH, "seeds": options.seeds, "results": results}
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
