"""`prudent demo`: the main job end to end in a made-up clinic, where the best advice is known exactly."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int
from rich.console import Console

from prudent.advice import Advice
from prudent.command_line.files import require_folder_destination, write_table
from prudent.command_line.reading import command
from prudent.command_line.recommending import advice_table, kept_columns
from prudent.command_line.screen import counted, heading, screen, sentence, share, table
from prudent.completions import PriceTable
from prudent.log import read_log
from prudent.models.causal import CausalPVAE
from prudent.models.fitted import Fitted
from prudent.models.fitting import Sizes
from prudent.networks.training import Training
from prudent.policy import Policy
from prudent.strategies import Conservative, Imputation, MaximumExpectedReward, MostOftenBest, Strategy, TailAverse
from prudent.worlds import DosingWorld
from prudent.worlds.dosing import DosingSample

CAREFUL = TailAverse(risk=0.2)


@dataclass(frozen=True)
class Contender:
    """One strategy of the demonstration, and what the world calls it to answer it exactly."""

    name: str
    strategy: Strategy
    exact: str
    exact_settings: dict[str, Any]


CONTENDERS = (
    Contender("expected", MaximumExpectedReward(), "expected", {}),
    Contender("tail, risk 0.2", CAREFUL, "tail", {"risk": 0.2}),
    Contender("conservative, risk 0.05", Conservative(risk=0.05), "conservative", {"risk": 0.05}),
    Contender("imputation", Imputation(), "imputation", {}),
    Contender("most often best", MostOftenBest(), "most often best", {}),
)


CAREFUL_NAME = CONTENDERS[1].name


@dataclass(frozen=True)
class Scale:
    """How much the demonstration does."""

    rows: int
    cases: int
    settings: CausalPVAE
    completions: int


def _scale(rows: int, quick: bool) -> Scale:
    if not quick:
        return Scale(rows, 1000, CausalPVAE(), 256)
    small = CausalPVAE(
        members=1,
        samples=4,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=2, steps_per_round=10, batch=32),
    )
    return Scale(min(rows, 300), 100, small, 32)


def demonstrate(rows: int, out: Path, seed: int, quick: bool) -> None:
    require_folder_destination(out, "the demonstration")
    scale, console, world = _scale(rows, quick), screen(), DosingWorld(seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    log_file, cases_file = out / "log.csv", out / "new_cases.csv"
    write_table(world.sample(scale.rows, seed=seed + 1).frame(), str(log_file))
    fresh = world.sample(scale.cases, seed=seed + 2)
    write_table(fresh.cases().with_row_index("patient", offset=1), str(cases_file))

    log = read_log(log_file, action="dose", reward="outcome", kinds=world.kinds)
    sentence(
        console,
        f"A made-up clinic: {counted(len(log), 'logged decision')}, {len(log.action_labels)} doses, "
        f"{len(log.schema)} measurements, {share(1 - float(log.observed.mean()))} of the cells missing. A dose is "
        f"worth less the farther it is from the one the patient needs, and an overdose by more than "
        f"{world.loss_function.margin:g} is a catastrophe ({world.loss_function.jump:g} worse).",
    )
    sentence(console, "Learning from the log ...")
    fitted = scale.settings.fit(log, seed=seed)
    fitted.save(out / "model")

    policy = fitted.policy(CAREFUL, completions=scale.completions)
    advice = policy.recommend(fresh.cases())
    chosen = _choices(policy, advice, fitted, world)
    kept = kept_columns(cases_file, fresh.cases().with_row_index("patient", offset=1), ("patient",))
    write_table(advice_table(advice, kept, as_text=True), str(out / "advice.csv"))

    _show_comparison(console, world, fresh, chosen)
    _show_case(console, advice, chosen)
    _show_next(console, out)


def _choices(policy: Policy, advice: Advice, fitted: Fitted, world: DosingWorld) -> dict[str, np.ndarray]:
    """The dose numbers of every strategy. The cases are completed and priced once: strategies only choose."""
    strategies = [one.strategy for one in CONTENDERS]
    parts = [np.asarray(_best_actions(strategies, tables)) for tables in policy.tables(advice.encoded)]
    doses = world.index(fitted.action_labels)[np.concatenate(parts, axis=1)[:, : len(advice)]]
    return {one.name: own for one, own in zip(CONTENDERS, doses, strict=True)}


@eqx.filter_jit
def _best_actions(strategies: list[Strategy], tables: PriceTable) -> Int[Array, "strategy row"]:
    return jnp.stack([jnp.argmax(jax.vmap(strategy.scores)(tables), axis=1) for strategy in strategies])


def _show_comparison(console: Console, world: DosingWorld, fresh: DosingSample, chosen: dict[str, np.ndarray]) -> None:
    def cells(actions: np.ndarray) -> list[str]:
        way = round(world.share_of_the_way(actions, fresh), 2) + 0.0  # no "-0%"
        return [f"{world.value(actions, fresh):.2f}", f"{world.catastrophes(actions, fresh):.1%}", f"{way:.0%}"]

    def exact(one: Contender) -> np.ndarray:
        return world.act(one.exact, fresh, **one.exact_settings)

    rows = [[one.name, *cells(chosen[one.name]), *cells(exact(one))] for one in CONTENDERS]
    bayes = cells(world.act("expected", fresh))
    constant = np.full(len(fresh), world.best_constant(fresh))
    rows += [
        ["clinicians' own doses", *cells(fresh.actions), "", "", ""],
        ["best single dose", *cells(constant), "", "", ""],
        ["best possible (Bayes)", "", "", "", *bayes],
    ]
    heading(console, f"{counted(len(fresh), 'new patient')}: prudent, and each strategy with exact knowledge")
    measures = ["reward", "overdosed", "way"]
    console.print(table(["strategy", *measures, *(f"exact\n{name}" for name in measures)], rows, words=["strategy"]))
    sentence(
        console,
        "reward: the mean, higher is better. overdosed: the share of catastrophes. way: how far from the best single "
        "dose (0%) to the best that is possible with these gaps (100%).",
    )


def _show_case(console: Console, advice: Advice, chosen: dict[str, np.ndarray]) -> None:
    row = _interesting(advice, chosen)
    heading(console, f"Patient {row + 1}, where caution changes the advice ({CAREFUL_NAME})")
    console.print(str(advice[row].explain()), soft_wrap=not console.is_terminal)


def _interesting(advice: Advice, chosen: dict[str, np.ndarray]) -> int:
    """A case with some gaps whose careful dose is neither that of the most likely completion nor the expected one."""
    gaps = (~advice.encoded.observed).sum(axis=1)
    careful = chosen[CAREFUL_NAME]
    merit = (
        2.0 * (careful != chosen["imputation"]) + 2.0 * (careful != chosen["expected"]) + ((gaps >= 2) & (gaps <= 4))
    )
    return int(np.argmax(np.where(gaps > 0, merit, -1.0)))


def _show_next(console: Console, out: Path) -> None:
    heading(console, "Next")
    sentence(
        console, f"In {out}: log.csv, new_cases.csv, model, advice.csv. Ask the model again, more or less carefully:"
    )
    model, cases = command(out / "model"), command(out / "new_cases.csv")
    sentence(console, f"prudent recommend {model} {cases} --keep patient --strategy conservative --out -", indent=2)
    sentence(console, "With a table of your own:")
    sentence(console, "prudent inspect YOURS.csv --action COLUMN --reward COLUMN", indent=2)
    sentence(
        console, "prudent fit YOURS.csv --action COLUMN --reward COLUMN --out model --hold-out later.csv", indent=2
    )
    sentence(console, "prudent evaluate model later.csv", indent=2)
    sentence(console, "prudent recommend model NEW_CASES.csv --strategy tail --out advice.csv", indent=2)
