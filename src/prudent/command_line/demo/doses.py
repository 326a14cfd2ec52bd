"""Ways to dose: prudent's strategies, what clinics do and bounds; how well each does, and what the log estimated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.decide import (
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Policy,
    Search,
    TailAverse,
    score_together,
)
from prudent.evaluation import LOGGED, Estimate, Evaluation
from prudent.models import Fitted
from prudent.table import Encoded, Log, label_text
from prudent.worlds.insulin import SERIOUSLY_LOW, InsulinSample, InsulinWorld, calculated_bolus, nearest

BAD = -2.0
"""A reward below this is a bad outcome: mean glucose from two to four hours after the meal under 60 or above 280."""
BOLD, CAREFUL = "expected", "tail"
STRATEGIES = {
    BOLD: MaximumExpectedReward(),
    CAREFUL: TailAverse(),
    "conservative": Conservative(),
    "imputation": Imputation(),
    "most-often": MostOftenBest(),
}
"""By their names on the command line, with the settings they have there."""
RULE, CLINIC, SINGLE, ORACLE = "usual bolus rule", "clinic's doses", "best single dose", "best possible"
MEANINGS = {
    BOLD: "best on average over what the gaps may hide",
    CAREFUL: "careful: best on average over the worst fifth of what the gaps may hide",
    "conservative": "most careful: best in the worst case that is still plausible",
    "imputation": "gaps filled with their most likely values, then the best dose for those",
    "most-often": "the dose that is most often the best one over what the gaps may hide",
    RULE: "as pumps calculate it: carbohydrates, correction, insulin on board; gaps filled with averages",
    CLINIC: "what the simulated clinic gave: half of its doses by habit, half at random",
    SINGLE: "the same dose for everybody, chosen in hindsight",
    ORACLE: "the best of all doses for every meal, which only the simulator knows",
}


@dataclass(frozen=True)
class Outcome:
    """How well a way to dose does in truth, and what the evaluation on the log estimated; None where it cannot.

    error: the standard error of the mean. bad, low, serious: the shares of meals with a bad outcome, with glucose under
    70, and under 54 mg/dl.
    """

    name: str
    mean: float
    error: float
    bad: float
    low: float
    serious: float
    estimated_mean: Estimate | None = None
    estimated_bad: Estimate | None = None

    @property
    def cells(self) -> list[str]:
        """As a row of the table of all ways to dose, see `HEADINGS`."""
        mean, bad = self.estimated_mean, self.estimated_bad
        return [
            *(self.name, f"{self.mean:.2f}", *(f"{share:.1%}" for share in (self.bad, self.low, self.serious))),
            "" if mean is None else f"{mean.low:.2f} to {mean.high:.2f}",
            "" if bad is None else f"{bad.low:.0%} to {bad.high:.0%}",
        ]


HEADINGS = ("way to dose", "mean\nreward", "bad", "under\n70", "under\n54", "from log:\nmean reward", "from log:\nbad")


def policies_of(fitted: Fitted, completions: int) -> dict[str, Policy]:
    """One for each strategy. Without a search for worst cases, all share one table of prices."""
    return {
        name: fitted.policy(strategy, completions=completions, search=Search(steps=0))
        for name, strategy in STRATEGIES.items()
    }


def usual_rule(world: InsulinWorld, past: Log) -> Callable[[Any], list[float]]:
    """The bolus rule of clinics and pumps, to the nearest dose, with gaps filled with the averages of the past."""
    averages = np.nanmean(_cells(past.cases(), world), axis=0)

    def doses(frame: Any) -> list[float]:
        cells = _cells(frame, world)
        units = calculated_bolus(np.where(np.isnan(cells), averages[None, :], cells))
        return [world.units[at] for at in nearest(units, world.units)]

    return doses


def _cells(frame: Any, world: InsulinWorld) -> np.ndarray:
    """The records of a polars frame, NaN in the gaps."""
    return np.stack([frame[name].cast(float).to_numpy() for name in world.names], axis=1)


def dose_numbers(
    policies: Mapping[str, Policy], rule: Callable[[Any], list[float]], encoded: Encoded, fresh: InsulinSample
) -> dict[str, np.ndarray]:
    """The dose numbers of all ways to dose, in the order of `MEANINGS`."""
    world = fresh.world
    numbers = world.index(next(iter(policies.values())).fitted.action_labels)
    choosers = [policy.chooser for policy in policies.values()]
    anything = np.ones((len(fresh), len(numbers)), bool)
    choices = [
        chooser.choose(scored, encoded, anything)
        for chooser, scored in zip(choosers, score_together(choosers, encoded), strict=True)
    ]
    # a meal that is left to the clinic gets the clinic's dose
    chosen = {
        name: np.where(choice.action < 0, fresh.actions, numbers[choice.action])
        for name, choice in zip(policies, choices, strict=True)
    }
    return chosen | {
        RULE: world.index(rule(fresh.cases())),
        CLINIC: fresh.actions,
        SINGLE: np.full(len(fresh), world.best_constant(fresh)),
        ORACLE: fresh.theta.argmax(axis=1),
    }


def outcomes_of(doses: Mapping[str, np.ndarray], fresh: InsulinSample, evaluation: Evaluation) -> tuple[Outcome, ...]:
    """Every way to dose, in truth and as estimated from the log."""
    world = fresh.world
    evaluated_as = {CLINIC: LOGGED, SINGLE: f"always {label_text(world.units[world.best_constant(fresh)])}"}

    def outcome(name: str) -> Outcome:
        rewards, evaluated = fresh.of(fresh.theta, doses[name]), evaluated_as.get(name, name)
        known = evaluated in evaluation.names
        return Outcome(
            name,
            float(rewards.mean()),
            float(rewards.std() / np.sqrt(len(fresh))),
            float((rewards < BAD).mean()),
            world.low(doses[name], fresh),
            world.low(doses[name], fresh, SERIOUSLY_LOW),
            evaluation.estimate(evaluated) if known else None,
            evaluation.tail_share(evaluated) if known else None,
        )

    return tuple(map(outcome, doses))
