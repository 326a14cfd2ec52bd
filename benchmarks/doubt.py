"""A rarely logged action that looks good by chance: does doubt about prices keep away from it?

    python -m benchmarks.doubt

In each clinic two treatments are known well and a third was given to a few patients only; its true mean reward is lower
than both, but only clinics in which those few did well by luck are looked at. Then the dosing worlds: how often a true
price lies within two standard deviations of the estimate, by the members' spread alone and by the whole doubt.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from rich.console import Console

import prudent
from benchmarks.dosing import Printed, mean_and_error
from prudent.decide import HasDoubt, Model
from prudent.worlds.missingness import mcar

DOUBTS = (0.0, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class LuckyClinic:
    """Four correlated measurements; "usual" and "other" suit different patients, "rare" suits nobody."""

    rows: int = 1500
    rare: int = 6
    gaps: float = 0.3
    noise: float = 1.0

    def theta(self, full: np.ndarray) -> np.ndarray:
        """Mean rewards of other, rare and usual."""
        need = full.mean(axis=1)
        return np.stack([0.6 * need, np.full(len(full), -0.5), -0.6 * need], axis=1)

    def draw(self, rows: int, random: np.random.Generator) -> tuple[np.ndarray, pl.DataFrame]:
        full = random.normal(size=(rows, 1)) + 0.7 * random.normal(size=(rows, 4))
        cells = np.where(mcar(full.shape, self.gaps, seed=int(random.integers(1 << 31))), full, np.nan)
        return full, pl.DataFrame(cells, schema=["a", "b", "c", "d"], nan_to_null=True)

    def log(self, seed: int) -> pl.DataFrame:
        """Drawn again until the few rare ones did well."""
        random = np.random.default_rng(seed)
        full, frame = self.draw(self.rows, random)
        actions = random.choice([0, 2], size=self.rows)
        actions[: self.rare] = 1
        luck = random.normal(size=self.rare)
        while luck.mean() < 1.0:
            luck = random.normal(size=self.rare)
        noise = np.concatenate([luck, random.normal(size=self.rows - self.rare)])
        rewards = self.theta(full)[np.arange(self.rows), actions] + self.noise * noise
        labels = np.array(["other", "rare", "usual"])[actions]
        return frame.with_columns(pl.Series("treatment", labels), pl.Series("outcome", rewards))


def lucky(clinic: LuckyClinic, seed: int, model: Any, doubts: tuple[float, ...] = DOUBTS) -> dict[str, Any]:
    log = prudent.Log.from_frame(clinic.log(seed), action="treatment", reward="outcome")
    full, cases = clinic.draw(1000, np.random.default_rng(10_000 + seed))
    theta, fitted, found = clinic.theta(full), model.fit(log, seed=seed), {}
    for doubt in doubts:
        advice = fitted.policy(doubt=doubt).recommend(cases)
        found[f"doubt {doubt:g}"] = {
            "mean_reward": float(theta[np.arange(len(full)), advice.chosen].mean()),
            "rare": float(np.mean(np.array(advice.actions) == "rare")),
        }
    best_known = theta[:, [0, 2]].max(axis=1).mean()
    return found | {"full information": {"mean_reward": float(best_known), "rare": 0.0}}


@eqx.filter_jit
def _prices(model: Model, values: Any) -> tuple[Any, Any]:
    assert isinstance(model, HasDoubt)
    return jax.vmap(lambda own: (model.price(own), model.own_doubt(own)))(values)


def calibration(seed: int, loss: str, rows: int) -> dict[str, float]:
    """How far true prices of complete records lie from the estimates, in units of what was said about them."""
    world = prudent.worlds.DosingWorld(loss=loss, doses=9 if loss == "cliff" else 5, seed=seed)
    log = prudent.Log.from_frame(
        world.sample(rows, seed=100 + seed).frame(), action="dose", reward="outcome", kinds=world.kinds
    )
    fitted, fresh = prudent.CausalPVAE().fit(log, seed=seed), world.sample(2000, seed=200 + seed)
    full = prudent.worlds.DosingSample(
        *(world, fresh.full, fresh.full, np.ones_like(fresh.observed), fresh.theta),
        *(fresh.actions, fresh.rewards, fresh.propensity),
    )
    prices, own = map(np.asarray, _prices(fitted.model, jnp.asarray(fitted.schema.encode(full.cases()).values)))
    apart = np.abs(prices.mean(axis=1) - fresh.theta[:, world.index(fitted.action_labels)])
    spread = prices.std(axis=1, ddof=1)
    doubt = np.sqrt(spread**2 + (own**2).mean(axis=1))
    return {
        "members": float((apart <= 2 * spread).mean()),
        "doubt": float((apart <= 2 * doubt).mean()),
        "error": float(np.sqrt((apart**2).mean())),
        "said": float(np.sqrt((doubt**2).mean())),
    }


def doubt_table(described: dict[str, Any]) -> Printed:
    rows = []
    for name in described["lucky"][0]:
        own = [one[name] for one in described["lucky"]]
        given = f"{np.mean([row['rare'] for row in own]):.1%}"
        rows.append((name, given, mean_and_error([row["mean_reward"] for row in own])))
    return Printed(
        f"A rare action that was lucky: {len(described['lucky'])} clinics, 1000 fresh cases each",
        ("policy", "rows given the rare action", "true mean reward"),
        rows,
    )


def calibration_table(described: dict[str, Any]) -> Printed:
    rows = []
    for loss, found in described["calibration"].items():
        means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        cells = f"{means['members']:.1%}", f"{means['doubt']:.1%}", f"{means['error']:.2f}", f"{means['said']:.2f}"
        rows.append((loss, *cells))
    return Printed(
        "True prices of complete records within two standard deviations of the estimate",
        ("world", "members' spread alone", "whole doubt", "error (root mean square)", "doubt (root mean square)"),
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clinics", type=int, default=10)
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "doubt.json")
    settings = parser.parse_args()
    console = Console(width=130)
    described = {
        "lucky": [lucky(LuckyClinic(), seed, prudent.CausalPVAE()) for seed in range(settings.clinics)],
        "calibration": {
            loss: [calibration(seed, loss, 5000) for seed in range(settings.worlds)] for loss in ("quadratic", "cliff")
        },
    }
    for table in (doubt_table(described), calibration_table(described)):
        console.print(table.rich())
    settings.out.write_text(json.dumps(described, indent=1))
    console.print(f"Numbers written to {settings.out}")


if __name__ == "__main__":
    main()
