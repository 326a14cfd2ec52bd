"""Ways to dose: prudent's strategies, what clinics do by hand, and bounds; how each fares, and what the log said."""

from collections.abc import Callable, Mapping, Sequence
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
from prudent.worlds.insulin.clinic import calculated_bolus, nearest
from prudent.worlds.insulin.world import SERIOUSLY_LOW, InsulinSample, InsulinWorld

BAD = -2.0
"""A reward below this is a bad outcome: the later mean of glucose is under 60 or above 280 mg/dl."""
BOLD, CAREFUL, MOST_CAREFUL = "expected", "tail", "conservative"
STRATEGIES = {
    BOLD: MaximumExpectedReward(),
    CAREFUL: TailAverse(),
    MOST_CAREFUL: Conservative(),
    "imputation": Imputation(),
    "most-often": MostOftenBest(),
}
"""By their names on the command line, with its settings."""
RULE, CLINIC, SINGLE, ORACLE = "usual bolus rule", "clinic's own", "best single dose", "best possible"
MEANINGS = {
    BOLD: "best on average over what the gaps may hide",
    CAREFUL: "careful: best on average over the worst fifth of what the gaps may hide",
    MOST_CAREFUL: "most careful: best in the worst case that is still plausible",
    "imputation": "gaps filled with their most likely values, then the dose that is best for those",
    "most-often": "the dose that is most often the best one over what the gaps may hide",
    RULE: "as pumps calculate it: carbohydrates, correction, insulin on board; gaps filled with averages",
    CLINIC: "what the simulated clinic gave: half of its doses by habit, half any dose",
    SINGLE: "the same for everybody, chosen with hindsight",
    ORACLE: "the best of all doses for every meal, which only the simulator knows",
}


@dataclass(frozen=True)
class Outcome:
    """How a way to dose fares by the truth, and what the evaluation on the log had said; None where it cannot.

    error: by how much chance alone moves the mean (its standard error). bad, low, serious: the shares of meals with a
    bad outcome, with glucose under 70, and under 54 mg/dl.
    """

    name: str
    mean: float
    error: float
    bad: float
    low: float
    serious: float
    said_mean: Estimate | None = None
    said_bad: Estimate | None = None

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """The truth as it is written everywhere: mean, bad, low, serious."""
        return number(self.mean), percent(self.bad), percent(self.low), percent(self.serious)

    @property
    def said(self) -> tuple[str, str]:
        """What the log had said of mean and bad, as intervals."""
        mean = "" if self.said_mean is None else f"{number(self.said_mean.low)} to {number(self.said_mean.high)}"
        bad = "" if self.said_bad is None else f"{self.said_bad.low:.0%} to {self.said_bad.high:.0%}"
        return mean, bad


def number(value: float) -> str:
    """
    >>> number(-0.001), number(-1.5)
    ('0.00', '-1.50')
    """
    return f"{round(value, 2) + 0.0:.2f}"


def percent(share: float) -> str:
    return f"{share:.1%}"


def policies_of(fitted: Fitted, completions: int) -> dict[str, Policy]:
    """One for each strategy. Worst cases are looked up, not searched for: all then share one table of prices."""
    return {
        name: fitted.policy(strategy, completions=completions, search=Search(steps=0))
        for name, strategy in STRATEGIES.items()
    }


def usual_rule(world: InsulinWorld, past: Log) -> Callable[[Any], list[float]]:
    """The bolus rule of clinics and pumps, to the nearest dose, with gaps read as the averages of the past."""
    averages = np.nanmean(_cells(past.cases(), world), axis=0)

    def doses(frame: Any) -> list[float]:
        cells = _cells(frame, world)
        units = calculated_bolus(np.where(np.isnan(cells), averages[None, :], cells))
        return [world.units[at] for at in nearest(units, world.units)]

    return doses


def _cells(frame: Any, world: InsulinWorld) -> np.ndarray:
    """The records of a polars frame, NaN in the gaps."""
    return np.stack([frame[name].cast(float).to_numpy() for name in world.names], axis=1)


def dose_numbers(policies: Mapping[str, Policy], encoded: Encoded, world: InsulinWorld) -> dict[str, np.ndarray]:
    """The dose numbers of every policy; they share the work."""
    labels = next(iter(policies.values())).fitted.action_labels
    numbers = world.index(labels)
    judged = score_together([policy.chooser for policy in policies.values()], encoded)
    return {name: numbers[own.scores.argmax(axis=1)] for name, own in zip(policies, judged, strict=True)}


def everyone(chosen: Mapping[str, np.ndarray], fresh: InsulinSample) -> dict[str, np.ndarray]:
    """Dose numbers of all ways to dose: those given, then the clinic's own and the bounds."""
    single = np.full(len(fresh), fresh.world.best_constant(fresh))
    return {**chosen, CLINIC: fresh.actions, SINGLE: single, ORACLE: fresh.theta.argmax(axis=1)}


def compared(chosen: Mapping[str, np.ndarray], fresh: InsulinSample, evaluation: Evaluation) -> tuple[Outcome, ...]:
    """Every way to dose, by the truth and by the log."""
    world = fresh.world
    always = f"always {label_text(world.units[world.best_constant(fresh)])}"
    judged_as = {name: name for name in evaluation.asked} | {CLINIC: LOGGED, SINGLE: always}
    rewards = {name: fresh.of(fresh.theta, doses) for name, doses in chosen.items()}
    return tuple(
        Outcome(
            name,
            world.value(doses, fresh),
            float(rewards[name].std() / np.sqrt(len(fresh))),
            float((rewards[name] < BAD).mean()),
            world.low(doses, fresh),
            world.low(doses, fresh, SERIOUSLY_LOW),
            *_said(evaluation, judged_as.get(name, "")),
        )
        for name, doses in chosen.items()
    )


def _said(evaluation: Evaluation, name: str) -> tuple[Estimate | None, Estimate | None]:
    if name not in evaluation.names:
        return None, None
    return evaluation.estimate(name), evaluation.tail_share(name)


@dataclass(frozen=True)
class Preferred:
    """The strategy that the log alone prefers, and by how much more than the usual rule: as the log had said, and by
    the truth; `behind` is by how much the strategy that is truly best is better."""

    name: str
    said_more: Estimate
    more: float
    behind: float


def preferred(evaluation: Evaluation, outcomes: Sequence[Outcome]) -> Preferred:
    truth = {own.name: own.mean for own in outcomes}
    name = max(STRATEGIES, key=lambda own: evaluation.estimate(own).value)
    best = max(truth[own] for own in STRATEGIES)
    return Preferred(name, evaluation.difference(name, RULE), truth[name] - truth[RULE], best - truth[name])
