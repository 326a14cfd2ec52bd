"""Was the aim reached? Paired comparisons of rows, and the verdict in plain values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.results import Results, standard_error
from experiments.strategy_order import family
from experiments.t1d.settings import BEST

Measure = Literal["mean", "below"]
Word = Literal["yes", "yes, not clearly", "no"]
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
        """More than two standard errors from zero."""
        return abs(self.value) > 2 * self.error

    @property
    def errors(self) -> float:
        """How many standard errors above zero."""
        return self.value / max(self.error, 1e-12)


def paired(row: Results, other: Results, measure: Measure, share: float = 1.0) -> Difference | None:
    """A row less a `share` of another; None where the two have fewer than two replications in common."""
    ours, theirs = (dict(zip(one["indices"], one[f"{measure}s"], strict=True)) for one in (row, other))
    apart = np.array([ours[index] - share * theirs[index] for index in ours if index in theirs])
    if len(apart) < 2:
        return None
    better = apart > 0 if measure == "mean" else apart < 0
    return Difference(float(apart.mean()), standard_error(apart), int(better.sum()), len(apart))


def best(rows: Iterable[Results], measure: Measure) -> Results | None:
    """The row with the highest mean, or with the lowest share, each over its replications, whose number may
    differ and is therefore always reported."""
    sign = 1 if measure == "mean" else -1
    return max(rows, key=lambda row: sign * row[measure], default=None)


def rivals_of(rows: Sequence[Results]) -> list[Results]:
    return [row for row in rows if row["group"] == "rival"]


@dataclass(frozen=True)
class ExpectedVerdict:
    """Our expected reward against every rival that was run, and the names of those that were not: reached when it is
    ahead of all on average, and clearly so when it is clearly ahead of each."""

    against: tuple[tuple[str, Difference], ...]
    not_run: tuple[str, ...]

    @property
    def word(self) -> Word:
        reached = self.beaten == len(self.against)
        return word_of(reached, all(difference.clear for _, difference in self.against))

    @property
    def least_certain(self) -> tuple[str, Difference]:
        return min(self.against, key=lambda pair: pair[1].errors)

    @property
    def beaten(self) -> int:
        return sum(difference.value > 0 for _, difference in self.against)


def word_of(reached: bool, clearly: bool) -> Word:
    return "no" if not reached else "yes" if clearly else "yes, not clearly"


def expected_verdict(rows: Sequence[Results], rivals: Sequence[str] = ()) -> ExpectedVerdict | None:
    """None where our row or all rivals were not run; `rivals` are the names of all rivals, run or not."""
    ours = next((row for row in rows if row["model"] == BEST and row["strategy"] == EXPECTED), None)
    if ours is None:
        return None
    pairs = ((rival["name"], paired(ours, rival, "mean")) for rival in rivals_of(rows))
    against = tuple((name, difference) for name, difference in pairs if difference is not None)
    run = [name for name, _ in against]
    return ExpectedVerdict(against, tuple(name for name in rivals if name not in run)) if against else None


@dataclass(frozen=True)
class CarefulVerdict:
    """Half a rival's share of R < −2 at no lower mean. `row` is our row that shows it, or that comes nearest.

    mean: its mean less the rival's. below: its share less half of the rival's. Both are paired, and both have to be
    clear for a clear verdict.
    """

    rival: Results
    row: Results
    mean: Difference
    below: Difference

    @property
    def word(self) -> Word:
        reached = self.mean.value >= 0 and self.below.value <= 0
        return word_of(reached, self.mean.clear and self.below.clear)


def careful_verdict(rows: Sequence[Results], rival: Results | None) -> CarefulVerdict | None:
    """Of our careful rows that reach it, clearly if any does, the one with the best mean; else of those whose mean is
    no lower the one with the lowest share; else the one with the best mean."""
    ours = [row for row in rows if row["group"] == "ours" and family(row["strategy"]) in CAREFUL]
    if rival is None:
        return None
    verdicts = []
    for row in ours:
        mean, below = paired(row, rival, "mean"), paired(row, rival, "below", share=0.5)
        if mean is not None and below is not None:
            verdicts.append(CarefulVerdict(rival, row, mean, below))
    for word in ("yes", "yes, not clearly"):
        reached = [verdict for verdict in verdicts if verdict.word == word]
        if reached:
            return max(reached, key=lambda verdict: verdict.mean.value)
    level = [verdict for verdict in verdicts if verdict.mean.value >= 0]
    if level:
        return min(level, key=lambda verdict: verdict.below.value)
    return max(verdicts, key=lambda verdict: verdict.mean.value, default=None)
