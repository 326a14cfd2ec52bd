"""Which gap is worth filling before deciding, and by how much it would help."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.decide.caution import Caution
from prudent.decide.choice import Chooser, Scored
from prudent.decide.completions import PriceTable
from prudent.decide.measure.filling import STRATA, Attributes, Draws, Gains, record_gains
from prudent.decide.model import Model, price_draws
from prudent.decide.plausible_set import PlausibleSet
from prudent.decide.strategies import Strategy
from prudent.errors import InputProblem, is_number, require
from prudent.networks import compiled
from prudent.table import Encoded, Schema, did_you_mean

COMPLETIONS = 512
"""Drawn afresh: a value is a difference of two nearly equal numbers and needs more completions than a decision."""

SMALLEST_CHANCE = 0.02


@dataclass(frozen=True, eq=False)
class Measuring:
    """What filling each gap would be worth, in reward units; a gain is positive when the outcome improves, whether
    the reward column is maximised or minimised.

    `expected_gain` and `worst_gain` [row, attribute] are before costs, NaN where the cell is present and exactly 0
    where they cannot be distinguished from noise. `gain` is the one that fits the policy's strategy, less `costs`. Per
    row `measure_next` names the column with the highest gain, None when nothing is missing or no gap is worth its cost;
    `measure_value` is that gain (NaN then).
    """

    expected_gain: np.ndarray
    worst_gain: np.ndarray
    gain: np.ndarray
    costs: np.ndarray
    measure_next: list[str | None]
    measure_value: np.ndarray

    def __len__(self) -> int:
        return len(self.measure_next)


@dataclass(frozen=True)
class TurningPoint:
    """If `attribute` turned out to lie here, the policy would choose `action` instead.

    "Here" is low < value < high in encoded units (an end may be infinite), or one of `levels` (level numbers) where
    the attribute is categorical or ordinal. `chance` is the posterior probability of it.
    """

    attribute: int
    low: float
    high: float
    levels: tuple[int, ...]
    action: int
    chance: float


class _Asked(eqx.Module):
    """What the program depends on besides the model."""

    caution: Caution
    strategy: Strategy
    plausible: PlausibleSet
    attributes: Attributes


class Valued(eqx.Module):
    """One record, or many with a leading axis: the gains and the draws they were read from."""

    gains: Gains
    values: Array
    weights: Array


@runtime_checkable
class Asks(Protocol):
    """A policy, as far as measuring is concerned."""

    @property
    def chooser(self) -> Chooser: ...


def value_of_measuring(
    policy: Asks,
    cases: Any,
    costs: Mapping[str, float] | None = None,
    *,
    scored: Scored | None = None,
    valued: Sequence[Valued] | None = None,
) -> Measuring:
    """For every gap of every row: how much better one would do, on average over what may be found, by filling it
    before deciding.

    `cases` is a frame of any common kind, or an encoded one. `costs` are what measuring costs, in reward units, by
    column name. The gain of a `Conservative` policy is in its worst case, that of a `TailAverse` one in the mean of
    its tail, that of any other in expected reward. Prices are what the policy chooses from: net of the costs of
    actions, and of doubt. Actions that are not open to the case (`prudent.decide.Support`) are left out; a floor and
    permissions do not enter. `scored` is what the policy makes of the cases, and `valued` the gains of
    all gaps (`valued_gaps`), where these are known already.
    """
    chooser = getattr(policy, "chooser", None)
    require(isinstance(chooser, Chooser), "value_of_measuring", "policy", "be a policy, see model.policy", policy)
    assert isinstance(chooser, Chooser)
    schema = chooser.fitted.schema
    cost_of_column = _costs(costs, schema)
    encoded = cases if isinstance(cases, Encoded) else schema.encode(cases)
    if not len(encoded.flags):
        raise InputProblem("The table of cases has no rows; give at least one case to value measurements for.")
    rows = len(encoded.flags)
    parts = [part.gains[:3] for part in valued or valued_gaps(chooser, encoded, scored)]
    expected, worst, by_strategy = (
        np.where(encoded.observed, np.nan, np.concatenate(kind)[:rows].astype(np.float64))
        for kind in zip(*parts, strict=True)
    )
    gain = by_strategy - cost_of_column[None, :]
    # a gap whose gain is lost in noise is not worth measuring even where that costs nothing
    worth = np.where(encoded.observed | (by_strategy <= 0), -np.inf, gain)
    first, value = worth.argmax(axis=1), worth.max(axis=1)
    names = [schema.names[index] if best > 0 else None for index, best in zip(first, value, strict=True)]
    return Measuring(expected, worst, gain, cost_of_column, names, np.where(value > 0, value, np.nan))


def turning_points(
    policy: Asks,
    values: np.ndarray,
    observed: np.ndarray,
    *,
    scored: Scored | None = None,
    valued: Sequence[Valued] | None = None,
) -> tuple[TurningPoint, ...]:
    """What would change the decision about one encoded record, gap by gap, most likely first.

    Only gaps that are worth filling are reported, and only findings with a chance of at least a few per cent. Once a
    gap is filled, a strategy chooses by what its gain is in, see `value_of_measuring`, as for `scored` and `valued`.
    """
    chooser, encoded = policy.chooser, Encoded(np.asarray(values)[None], np.asarray(observed)[None], [""])
    scored = scored or chooser.score(encoded)
    chosen = int(np.argmax(np.where(chooser.supported(encoded).open, scored.scores, -np.inf)[0]))
    one = next(iter(valued or valued_gaps(chooser, encoded, scored)))
    gains, drawn, weights = jax.tree.map(lambda leaf: np.asarray(leaf)[0], (one.gains, one.values, one.weights))
    points: list[TurningPoint] = []
    for attribute in np.flatnonzero(~np.asarray(observed) & (gains.strategy > 0)):
        points += _turning(chooser.fitted.schema, int(attribute), drawn[:, attribute], weights, gains.choice[attribute])
    other = [point for point in points if point.action != chosen and point.chance >= SMALLEST_CHANCE]
    return tuple(sorted(other, key=lambda point: -point.chance))


def _turning(
    schema: Schema, attribute: int, drawn: np.ndarray, weights: np.ndarray, choice: np.ndarray
) -> list[TurningPoint]:
    """Where each action is chosen along one attribute: by level, or in intervals of draws that follow each other."""
    column = schema.columns[attribute]
    if column.likelihood in ("categorical", "ordinal"):
        level = np.round(drawn * column.scale + column.location).astype(int)
        return _by_level(attribute, level, weights, choice)
    order = np.argsort(drawn, kind="stable")
    drawn, weights, choice = drawn[order], weights[order], choice[order]
    starts = np.flatnonzero(np.r_[True, choice[1:] != choice[:-1]])
    borders = np.r_[-np.inf, (drawn[starts[1:] - 1] + drawn[starts[1:]]) / 2, np.inf]
    chances = np.add.reduceat(weights, starts)
    return [
        TurningPoint(attribute, float(low), float(high), (), int(action), float(chance))
        for low, high, action, chance in zip(borders[:-1], borders[1:], choice[starts], chances, strict=True)
    ]


def _by_level(attribute: int, level: np.ndarray, weights: np.ndarray, choice: np.ndarray) -> list[TurningPoint]:
    """The action with most weight at each level; levels that lead to the same action are reported together."""
    actions = np.arange(choice.max() + 1)
    present = np.unique(level)
    mass = np.array([[weights[(level == one) & (choice == action)].sum() for action in actions] for one in present])
    leads = mass.argmax(axis=1)
    chances = {action: mass[leads == action].sum() for action in np.unique(leads).tolist()}
    return [
        TurningPoint(attribute, -np.inf, np.inf, tuple(present[leads == action].tolist()), action, float(chance))
        for action, chance in chances.items()
    ]


def valued_gaps(chooser: Chooser, encoded: Encoded, scored: Scored | None) -> Iterator[Valued]:
    """Gains, chunk by chunk; the last chunk is padded."""
    pricing, strategy, schema = chooser.pricing, chooser.strategy, chooser.fitted.schema
    members = pricing.model.members
    each = -(-max(COMPLETIONS, pricing.completions) // (members * STRATA)) * STRATA
    # candidates from the prior (paper_literal) say nothing about what a gap may hold, so they are never used here
    wider = pricing.variant(completions=each * members)
    asked = _Asked(chooser.caution, strategy, chooser.plausible_set, _attributes(schema))
    searched, is_open = np.full(len(encoded.flags), np.nan, np.float32), chooser.supported(encoded).open
    if pricing.searched and strategy.needs_worst_case:
        scores = (scored or chooser.score(encoded)).scores
        searched = np.where(is_open, scores, -np.inf).max(axis=1).astype(np.float32)
    done = 0
    for values, observed in wider.chunks(encoded, "value of measuring"):
        at = np.minimum(done + np.arange(len(values)), len(searched) - 1)
        costs = chooser.costs_of(at)
        costs = jnp.zeros(is_open[at].shape) if costs is None else costs  # so that there is one program for both
        now = jnp.asarray(searched[at]), jnp.asarray(is_open[at]), costs
        yield _program(pricing.model, asked, values, observed, *now, wider.uniforms)
        done += len(values)


@compiled
def _program(
    model: Model,
    asked: _Asked,
    values: Array,
    observed: Array,
    searched: Array,
    is_open: Array,
    costs: Array,
    uniforms: Array,
) -> Valued:
    def one(values: Array, observed: Array, searched: Array, is_open: Array, costs: Array) -> Valued:
        completions, table = price_draws(model, values, observed, uniforms, False)
        net = asked.caution.net(replace(table, costs=costs))
        # an action that is not open never pays, whatever is found
        prices = jnp.where(is_open[None, :], net.prices, jnp.min(net.prices))
        draws = Draws(completions.values[1:], PriceTable(prices[1:], net.log_weights[1:], net.log_density[1:]))
        gains = record_gains(draws, asked.attributes, asked.strategy, asked.plausible, searched)
        return Valued(gains, draws.values, draws.weights)

    return jax.vmap(one)(values, observed, searched, is_open, costs)


def _attributes(schema: Schema) -> Attributes:
    named = [column.likelihood == "categorical" for column in schema.columns]
    levels = [column.levels for column, category in zip(schema.columns, named, strict=True) if category]
    every = range(len(schema))
    return Attributes(
        tuple(i for i in every if not named[i]), tuple(i for i in every if named[i]), max(levels, default=0)
    )


def _costs(costs: Mapping[str, float] | None, schema: Schema) -> np.ndarray:
    """One cost per attribute, 0 where none is named."""
    owner = "value_of_measuring"
    require(costs is None or isinstance(costs, Mapping), owner, "costs", "map column names to numbers", costs)
    by_column = np.zeros(len(schema))
    for name, cost in (costs or {}).items():
        if name not in schema.names:
            known = did_you_mean(str(name), schema.names)
            raise InputProblem(
                f"A cost of measuring is given for '{name}', which is not a column of the model. {known}"
            )
        require(is_number(cost) and cost >= 0, owner, "costs", f"be a number of at least 0 for '{name}'", cost)
        by_column[schema.names.index(name)] = cost
    return by_column
