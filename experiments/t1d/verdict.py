"""Is what was to beat beaten? Paired comparisons of rows, and the verdict in plain values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.order import family
from experiments.pages import Results, standard_error
from experiments.t1d.settings import BEST

Measure = Literal["mean", "below"]
EXPECTED = "MaximumExpectedReward"
CAREFUL = ("TailAverse(risk)", "Conservative(risk)", "Conservative(c)")


@dataclass(frozen=True)
class Difference:
    """A row less another, over the replications both have; `ahead` counts those in which the row was better."""

    value: float
    error: float
    ahead: int
    of: int

    @property
    def clear(self) -> bool:
        """More than two standard errors from nothing."""
        return abs(self.value) > 2 * self.error


def paired(row: Results, other: Results, measure: Measure) -> Difference | None:
    """None where the two share fewer than two replications."""
    own, theirs = (dict(zip(one["indices"], one[f"{measure}s"], strict=True)) for one in (row, other))
    apart = np.array([own[index] - theirs[index] for index in own if index in theirs])
    if len(apart) < 2:
        return None
    better = apart > 0 if measure == "mean" else apart < 0
    return Difference(float(apart.mean()), standard_error(apart), int(better.sum()), len(apart))


def best(rows: Iterable[Results], measure: Measure) -> Results | None:
    """The row with the highest mean, or with the lowest share."""
    sign = 1 if measure == "mean" else -1
    return max(rows, key=lambda row: sign * row[measure], default=None)


def rivals_of(rows: Sequence[Results]) -> list[Results]:
    return [row for row in rows if row["group"] == "rival"]


@dataclass(frozen=True)
class ExpectedVerdict:
    """Our expected reward against every rival: reached when it is ahead of all on average."""

    row: str
    against: tuple[tuple[str, Difference], ...]

    @property
    def reached(self) -> bool:
        return all(own.value > 0 for _, own in self.against)

    @property
    def closest(self) -> tuple[str, Difference]:
        return min(self.against, key=lambda own: own[1].value)

    @property
    def beaten(self) -> int:
        return sum(own.value > 0 for _, own in self.against)


def expected_verdict(rows: Sequence[Results]) -> ExpectedVerdict | None:
    """None where our row or the rivals were not run."""
    ours = next((row for row in rows if row["model"] == BEST and row["strategy"] == EXPECTED), None)
    if ours is None:
        return None
    pairs = ((rival["name"], paired(ours, rival, "mean")) for rival in rivals_of(rows))
    against = tuple((name, own) for name, own in pairs if own is not None)
    return ExpectedVerdict(ours["name"], against) if against else None


@dataclass(frozen=True)
class CarefulVerdict:
    """Half a rival's share of R < −2 at no lower mean. `row` is our row that shows it, or that comes nearest."""

    rival: Results
    row: Results
    mean: Difference
    below: Difference
    reached: bool


def careful_verdict(rows: Sequence[Results], rival: Results | None) -> CarefulVerdict | None:
    """Of our careful rows that reach it the one with the best mean; else of those whose mean is no lower the one with
    the lowest share; else the one with the best mean."""
    ours = [row for row in rows if row["group"] == "ours" and family(row["strategy"]) in CAREFUL]
    if rival is None:
        return None
    found = []
    for row in ours:
        mean, below = paired(row, rival, "mean"), paired(row, rival, "below")
        if mean is not None and below is not None:
            halved = row["below"] <= rival["below"] / 2
            found.append(CarefulVerdict(rival, row, mean, below, halved and mean.value >= 0))
    reached = [own for own in found if own.reached]
    if reached:
        return max(reached, key=lambda own: own.row["mean"])
    level = [own for own in found if own.mean.value >= 0]
    if level:
        return min(level, key=lambda own: own.row["below"])
    return max(found, key=lambda own: own.row["mean"], default=None)
