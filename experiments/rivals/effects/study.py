"""The question put to a rival and its answer: the effect of a treatment, from tables with gaps.

A study is one table and many replications of its outcomes, as in a semi-synthetic benchmark; an ordinary study has one
replication. What depends on the table alone (imputations, latent variables, propensities) is then learnt once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from prudent.errors import InputProblem, require
from prudent.progress import reporting, tracked

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Study:
    """Records with gaps, who was treated, and outcomes of one or many replications.

    values: [table, row, attribute], NaN in the gaps; one table shared by all replications, or one for each.
    binary: [attribute], True where an attribute has two levels only; the others are numbers.
    treated: [row], True where the treatment was given. outcomes: [replication, row].

    >>> treated = [True, False, True, False]
    >>> study = Study.of([[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0], [1.0, 0.0]], treated, [1.0, 2.0, 3.0, 4.0])
    >>> study.replications, study.rows, study.attributes, study.binary.tolist()
    (1, 4, 2, [True, True])
    """

    values: np.ndarray
    binary: np.ndarray
    treated: np.ndarray
    outcomes: np.ndarray

    def __post_init__(self) -> None:
        shape = np.shape(self.values)
        require(len(shape) == 3, "Study", "values", "be [table, row, attribute]", shape)
        fits = np.ndim(self.outcomes) == 2 and np.shape(self.outcomes)[1] == shape[1]
        require(fits, "Study", "outcomes", f"be [replication, {shape[1]} rows]", np.shape(self.outcomes))
        tables = shape[0] in (1, self.replications)
        require(tables, "Study", "values", "hold one table, or one for each replication", f"{shape[0]} tables")
        fits = np.shape(self.treated) == shape[1:2] and self.treated.dtype == bool
        require(fits, "Study", "treated", f"be {shape[1]} truth values", np.shape(self.treated))
        require(bool(np.isfinite(self.outcomes).all()), "Study", "outcomes", "be finite", "gaps")
        if not 2 <= int(self.treated.sum()) <= self.rows - 2:
            raise InputProblem("A study needs at least two rows with the treatment and two without it.")

    @classmethod
    def of(cls, values: object, treated: object, outcomes: object) -> "Study":
        """From plain arrays: one table [row, attribute] (or several), and outcomes [row] or [replication, row]."""
        table = np.asarray(values, np.float64)
        table = table[None] if table.ndim == 2 else table
        levels = [np.unique(column[np.isfinite(column)]) for column in np.moveaxis(table, 2, 0)]
        return cls(
            values=table,
            binary=np.array([len(values) <= 2 for values in levels]),
            treated=np.asarray(treated, bool),
            outcomes=np.atleast_2d(np.asarray(outcomes, np.float64)),
        )

    @property
    def replications(self) -> int:
        return self.outcomes.shape[0]

    @property
    def rows(self) -> int:
        return self.values.shape[1]

    @property
    def attributes(self) -> int:
        return self.values.shape[2]

    @property
    def shared(self) -> bool:
        """Whether all replications have one table."""
        return self.values.shape[0] == 1

    def part(self, start: int, stop: int) -> "Study":
        """Some of the replications."""
        tables = self.values if self.shared else self.values[start:stop]
        return Study(tables, self.binary, self.treated, self.outcomes[start:stop])

    def per_table(self) -> list["Study"]:
        """Studies of one table each: this one, or one for each replication."""
        return [self] if self.shared else [self.part(at, at + 1) for at in range(self.replications)]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method says: the average effect, [replication], and what every row would earn, [replication, row, 2].

    The last axis of `prices` is control, treated. The effect need not be the mean difference of the prices: a doubly
    robust one is not.
    """

    effect: np.ndarray
    prices: np.ndarray

    @classmethod
    def of_prices(cls, prices: np.ndarray) -> "Answer":
        return cls((prices[..., 1] - prices[..., 0]).mean(axis=-1), prices)

    @classmethod
    def mean(cls, answers: list["Answer"]) -> "Answer":
        """Pooled over imputations: effects and prices are averaged (Rubin's point estimate)."""
        return cls(np.mean([one.effect for one in answers], axis=0), np.mean([one.prices for one in answers], axis=0))

    @classmethod
    def joined(cls, answers: list["Answer"]) -> "Answer":
        """One after another along the replications."""
        return cls(np.concatenate([one.effect for one in answers]), np.concatenate([one.prices for one in answers]))


@runtime_checkable
class Method(Protocol):
    """One rival: settings in the constructor, everything it can answer from one fit by name ('OLS', 'AIPW', …).

    A method whose only answer is itself names it ''. Same study and seed, same answer.
    """

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]: ...


def over_tables(
    study: Study, estimate: Callable[[Study, int], dict[str, Answer]], seed: int, progress: Progress | bool | None
) -> dict[str, Answer]:
    """Estimate from each table separately, each with its own seed, and join the answers."""
    parts = study.per_table()
    with reporting(progress):
        answers = [estimate(parts[at], seed + at) for at in tracked(len(parts), "tables")]
    return {name: Answer.joined([one[name] for one in answers]) for name in answers[0]}
