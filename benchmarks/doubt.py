"""A rarely logged action that looks good by chance: does doubt about prices keep away from it?

    python -m benchmarks.doubt

In each clinic two treatments are known well and a third was given to a few patients only; its true mean reward is lower
than both, but only clinics in which those few did well by luck are looked at. Then the dosing worlds: how often a true
price lies within two standard deviations of the estimate, by the members' spread alone and by the whole doubt.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import polars as pl

import prudent
from benchmarks.reporting import Benchmark, Stored, Table, mean_and_error, mean_of
from prudent.decide import HasDoubt, Model
from prudent.worlds import mcar

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
        advice = fitted.policy(doubt=doubt, support=None).recommend(cases)
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


def doubt_table(stored: Stored) -> Table:
    lines = []
    for name in stored["lucky"][0]:
        clinics = [clinic[name] for clinic in stored["lucky"]]
        given = f"{mean_of(clinics, 'rare'):.1%}"
        lines.append((name, given, mean_and_error([clinic["mean_reward"] for clinic in clinics])))
    return Table(
        ("policy", "rows given the rare action", "true mean reward"),
        lines,
        f"A rare action that was lucky: {len(stored['lucky'])} clinics, 1000 fresh cases each",
    )


def calibration_table(stored: Stored) -> Table:
    lines = []
    for loss, worlds in stored["calibration"].items():
        means = {name: mean_of(worlds, name) for name in worlds[0]}
        cells = f"{means['members']:.1%}", f"{means['doubt']:.1%}", f"{means['error']:.2f}", f"{means['said']:.2f}"
        lines.append((loss, *cells))
    return Table(
        ("world", "members' spread alone", "whole doubt", "error (root mean square)", "doubt (root mean square)"),
        lines,
        "True prices of complete records within two standard deviations of the estimate",
    )


BENCHMARK = Benchmark("doubt", {"doubt": doubt_table, "calibration": calibration_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--clinics", type=int, default=10)
    parser.add_argument("--worlds", type=int, default=3)
    options = parser.parse_args()
    stored = {
        "lucky": [lucky(LuckyClinic(), seed, prudent.CausalPVAE()) for seed in range(options.clinics)],
        "calibration": {
            loss: [calibration(seed, loss, 5000) for seed in range(options.worlds)] for loss in ("quadratic", "cliff")
        },
    }
    BENCHMARK.store(stored, options.out)


if __name__ == "__main__":
    main()
