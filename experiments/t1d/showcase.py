"""A closer look at a few test meals: the record, the dose of each strategy, and glucose under every dose."""

import numpy as np

from experiments.chosen_actions import Chosen
from experiments.t1d.data import TESTED, Replication
from prudent.worlds.insulin import instructive_meals

BOLD, CAREFUL = "MaximumExpectedReward", "TailAverse(risk=0.2)"


def showcase(chosen: Chosen, replication: Replication) -> dict[str, np.ndarray]:
    """Arrays over the shown meals: curves [meal, dose, minute] from the meal on, rewards `theta` [meal, dose], the
    record with what of it was observed, the choice [meal, strategy], and why a meal is shown."""
    part, names = replication.tested, replication.draw.world.names
    rows, why = shown_meals(chosen, part.theta, part.full[:, names.index("age")])
    world, sample, doses = replication.draw.world, replication.draw.sample(TESTED), len(replication.units)
    curves = world.curves(sample, np.repeat(rows, doses), np.tile(np.arange(doses), len(rows)))  # type: ignore[attr-defined]
    return {
        "why": np.array(why),
        "names": np.array(names),
        "units": np.array(replication.units),
        "full": part.full[rows],
        "observed": ~np.isnan(part.values[rows]),
        "theta": part.theta[rows],
        "curves": np.asarray(curves, np.float32).reshape(len(rows), doses, -1),
        "strategies": np.array(chosen.strategies),
        "choice": chosen.actions[:, rows].T,
    }


def shown_meals(chosen: Chosen, theta: np.ndarray, age: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """As `instructive_meals` picks them, caution against the expected reward."""
    bold, careful = (chosen.actions[_at(chosen, name)] for name in (BOLD, CAREFUL))
    reasons = instructive_meals(theta, bold, careful, age)
    return np.array(list(reasons)), list(reasons.values())


def _at(chosen: Chosen, name: str) -> int:
    if name not in chosen.strategies:
        raise ValueError(f"the showcase needs {name}, which is not among {', '.join(chosen.strategies)}")
    return chosen.strategies.index(name)
