"""The choice of an action for encoded records: a strategy on their price tables, within floor and permission."""

import enum
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.decide.caution import Caution
from prudent.decide.completions import Completions, PriceTable
from prudent.decide.model import FittedModel
from prudent.decide.outcomes import outcome_ranges
from prudent.decide.plausible_set import PlausibleSet, worst_over
from prudent.decide.pricing import Pricing
from prudent.decide.reading import read_tables, read_together
from prudent.decide.strategies import Strategy
from prudent.decide.support import Support, Supported
from prudent.errors import InputProblem
from prudent.table import ActionLabel, Encoded


class Scored(NamedTuple):
    """What a strategy makes of many records: arrays with a leading row axis, in internal sign (higher is better).

    scores, expected, worst: [row, action]. plausible: how many completions beside x̂ the plausible set has.
    effective: the effective number of completions.
    """

    scores: np.ndarray
    expected: np.ndarray
    worst: np.ndarray
    entropy: np.ndarray
    plausible: np.ndarray
    effective: np.ndarray


class Scoring(eqx.Module):
    """Makes the fields of `Scored` of one price table."""

    strategy: Strategy
    plausible_set: PlausibleSet
    caution: Caution

    def __call__(self, table: PriceTable) -> tuple[Array, ...]:
        known = table.with_density
        inside = self.plausible_set.inside(known)
        count = jnp.sum(inside & (known.log_density < known.log_density[0]))  # a draw may be x̂ itself
        net = self.caution.net(table)
        return (
            self.strategy.scores(net),
            table.expected,
            worst_over(self.caution.outcome(known), inside),
            net.action_entropy,
            count,
            table.effective_completions,
        )


EVERYTHING = Support(propensity=0.0, rows=0)
"""Closes no action."""


class Outcome(enum.IntEnum):
    """Whether the strategy's choice stands, or why no action could be chosen."""

    CHOSEN = 0
    NOT_ALLOWED = 1
    BELOW_FLOOR = 2
    NOT_SUPPORTED = 3


class Choice(NamedTuple):
    """The chosen action's number per row (-1: none), and the `Outcome`.

    closed: the action with the highest score, where it is permitted but not open to the case; -1 elsewhere.
    """

    action: np.ndarray
    outcome: np.ndarray
    closed: np.ndarray


class Decided(NamedTuple):
    """Every row scored and decided. given: the number of the action that the row gets, -1 for none of the log's.
    low, high: between them lie nine of ten single outcomes of that action, in internal sign; NaN where unknown."""

    scored: Scored
    choice: Choice
    given: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Chooser:
    """A strategy with everything its choice depends on, for encoded records.

    floor: in internal sign, None where there is none. support: which actions are open to a case, None where all are.
    seed: of the draws of a stochastic strategy. row_costs: what the actions cost in each of the cases that are decided,
    [row, action]; None where no case has costs of its own.
    """

    fitted: FittedModel
    strategy: Strategy
    caution: Caution
    pricing: Pricing
    floor: float | None
    fallback: ActionLabel | None
    support: Support | None
    seed: int
    row_costs: np.ndarray | None = None

    @property
    def plausible_set(self) -> PlausibleSet:
        return self.pricing.plausible_set

    @property
    def reading(self) -> Scoring:
        return Scoring(self.strategy, self.plausible_set, self.caution)

    def score(self, encoded: Encoded) -> Scored:
        """Scores, expected and worst rewards for all rows, chunk by chunk."""
        return score_together([self], encoded)[0]

    def decide(self, encoded: Encoded, permitted: np.ndarray) -> Decided:
        """The choice for every row, and the range of single outcomes of the action that is given."""
        parts: list[tuple[list[np.ndarray], Choice, np.ndarray]] = []
        start = 0
        for completions, tables in self.pricing.completed(encoded):
            tables = self.with_costs(tables, start)
            (scored,) = read_tables([self], tables)
            chunk = slice(start, start + len(tables.prices))
            choice = self.choose(_joined([scored], len(permitted[chunk])), _rows(encoded, chunk), permitted[chunk])
            parts.append((scored, choice, self._outcomes(completions, tables, self.given(choice))))
            start = chunk.stop
        scored, choices, ranges = zip(*parts, strict=True)
        choice = Choice(*(np.concatenate(column) for column in zip(*choices, strict=True)))
        return Decided(_joined(scored, len(permitted)), choice, self.given(choice), *np.concatenate(ranges).T)

    def with_costs(self, tables: PriceTable, start: int) -> PriceTable:
        """The tables of a chunk that begins with this row, with what the actions cost in each case."""
        costs = self.costs_of(start + np.arange(len(tables.prices)))
        return tables if costs is None else eqx.tree_at(lambda t: t.costs, tables, costs, is_leaf=_absent)

    def costs_of(self, rows: np.ndarray) -> Array | None:
        """The costs of these cases; rows beyond the last are padding."""
        if self.row_costs is None:
            return None
        return jax.device_put(self.row_costs[np.minimum(rows, len(self.row_costs) - 1)])

    def for_row(self, row: int) -> "Chooser":
        """The same for one case alone, whose costs are then those of every case."""
        if self.row_costs is None:
            return self
        caution = replace(self.caution, costs=self.caution.costs + self.row_costs[row])
        strategy = self.strategy.bound_to(self.fitted, caution.costs)
        return replace(self, caution=caution, strategy=strategy, row_costs=None)

    def _outcomes(self, completions: Completions, tables: PriceTable, given: np.ndarray) -> np.ndarray:
        """[row, end], NaN where no action is given or the model does not know how single outcomes scatter."""
        actions = np.resize(np.maximum(given, 0), (len(tables.prices), 1)).astype(np.int32)
        ranges = outcome_ranges(self.pricing.model, completions, tables, jax.device_put(actions))
        ends = (
            np.full((len(given), 2), np.nan) if ranges is None else np.asarray(ranges, np.float64)[: len(given), :, 0]
        )
        return np.where((given < 0)[:, None], np.nan, ends)

    def labels(self, choice: Choice) -> list[ActionLabel | None]:
        """The action that each row gets, as it is called; None where the row is referred."""
        below = choice.outcome == Outcome.BELOW_FLOOR
        chosen = (None if index < 0 else self.fitted.action_labels[index] for index in choice.action)
        return [self.fallback if missed else action for action, missed in zip(chosen, below, strict=True)]

    def given(self, choice: Choice) -> np.ndarray:
        """The number of the action that a row gets, chosen or as the fallback; -1 for none, or one not in the log."""
        labels = self.fitted.action_labels
        fallback = labels.index(self.fallback) if self.fallback in labels else -1
        return np.where(choice.outcome == Outcome.BELOW_FLOOR, fallback, choice.action)

    def choose(
        self, scored: Scored, encoded: Encoded, permitted: np.ndarray, supported: Supported | None = None
    ) -> Choice:
        """The choice for every row; `supported` where it is known already."""
        self._require_finite(scored)
        is_open = (supported or self.supported(encoded)).open
        wanted = self.wanted(scored, permitted)
        eligible = wanted & is_open
        action = np.argmax(np.where(eligible, scored.scores, -np.inf), axis=1)
        if self.strategy.stochastic:
            action = self._drawn(np.where(eligible, scored.scores, 0.0), encoded, action)
        outcome = np.full(len(action), Outcome.CHOSEN)
        outcome[~eligible.any(axis=1)] = Outcome.BELOW_FLOOR
        outcome[~(permitted & is_open).any(axis=1)] = Outcome.NOT_SUPPORTED
        outcome[~permitted.any(axis=1)] = Outcome.NOT_ALLOWED
        first = np.argmax(np.where(wanted, scored.scores, -np.inf), axis=1)
        closed = wanted.any(axis=1) & ~is_open[np.arange(len(first)), first]
        return Choice(np.where(outcome == Outcome.CHOSEN, action, -1), outcome, np.where(closed, first, -1))

    def _require_finite(self, scored: Scored) -> None:
        """Refuse to choose by prices that are no numbers: any comparison with them has a wrong answer."""
        broken = ~np.isfinite(scored.expected) | np.isnan(scored.scores)
        if broken.any():
            action, rows = self.fitted.action_labels[int(np.argmax(broken.any(axis=0)))], int(broken.any(axis=1).sum())
            raise InputProblem(
                f"The expected reward of action '{action}' is not a finite number in {rows} of {len(broken)} rows, so "
                "no action can be recommended; look for extreme numbers in the log, and fit the model again."
            )

    def supported(self, encoded: Encoded) -> Supported:
        """Which actions are open to each row; all of them where it is not known how the log's actions were chosen."""
        logged = self.fitted.logging_policy
        if logged is None:
            shape = len(encoded.flags), len(self.fitted.action_labels)
            return Supported(np.full(shape, np.nan), np.ones(shape, bool))
        return (self.support or EVERYTHING).of(logged, self.fitted.schema, encoded)

    def probabilities(
        self,
        scored: Scored,
        encoded: Encoded,
        supported: Supported | None = None,
        permitted: np.ndarray | None = None,
    ) -> np.ndarray:
        """How likely each action is to be chosen, [row, action]; NaN where the row is referred to a person.

        permitted: [row, action], by default all of them."""
        labels = self.fitted.action_labels
        permitted = np.ones(scored.scores.shape, bool) if permitted is None else permitted
        supported = supported or self.supported(encoded)
        choice = self.choose(scored, encoded, permitted, supported)
        action, outcome = self.given(choice), choice.outcome
        certain = np.where((action < 0)[:, None], np.nan, np.eye(len(labels))[action])
        if not self.strategy.stochastic:
            return certain
        eligible = self.wanted(scored, permitted) & supported.open
        weights = np.where(eligible, scored.scores, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        drawn = (total > 0) & (outcome == Outcome.CHOSEN)[:, None]
        return np.where(drawn, weights / np.where(total > 0, total, 1.0), certain)

    def wanted(self, scored: Scored, permitted: np.ndarray) -> np.ndarray:
        """The permitted actions whose worst plausible mean reaches the floor, [row, action]."""
        return permitted if self.floor is None else permitted & (scored.worst >= self.floor)

    def _drawn(self, weights: np.ndarray, encoded: Encoded, otherwise: np.ndarray) -> np.ndarray:
        """A draw per row from its own bytes and the seed: the same record always gets the same answer."""
        seed = str(self.seed).encode()
        records = zip(encoded.values, encoded.observed, strict=True)
        digests = [hashlib.blake2b(v.tobytes() + o.tobytes() + seed, digest_size=6).digest() for v, o in records]
        uniform = np.array([int.from_bytes(digest) for digest in digests]) / 2.0**48
        total = weights.sum(axis=1)
        drawn = (np.cumsum(weights, axis=1) <= (uniform * total)[:, None]).sum(axis=1)
        return np.where(total > 0, np.minimum(drawn, weights.shape[1] - 1), otherwise)


def score_together(choosers: Sequence[Chooser], encoded: Encoded) -> list[Scored]:
    """What each makes of the same rows; those that complete, price or search alike share that work."""
    return [Scored(*read) for read in read_together(choosers, encoded)]


def _absent(leaf: object) -> bool:
    return leaf is None


def _joined(parts: Sequence[list[np.ndarray]], rows: int) -> Scored:
    """The chunks of a table together, without the padding of the last."""
    return Scored(*(np.concatenate(arrays)[:rows] for arrays in zip(*parts, strict=True)))


def _rows(encoded: Encoded, rows: slice) -> Encoded:
    return Encoded(encoded.values[rows], encoded.observed[rows], encoded.flags[rows])
