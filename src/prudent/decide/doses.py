"""Doses between the logged ones: what the prices of the logged doses say about a dose that nobody was given.

A model that learnt from ordered actions began with a belief about how alike the rewards of neighbours are. Given the
prices of the logged doses, that belief is a Gaussian process over the doses, so the price of a dose in between is a
fixed mixture of theirs, with a variance of its own.
"""

from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from prudent.decide.caution import Caution
from prudent.decide.choice import Chooser, Scored
from prudent.decide.completions import Completions, PriceTable
from prudent.decide.model import Model
from prudent.decide.outcomes import typical_doubt
from prudent.decide.plausible_set import PlausibleSet, worst_over
from prudent.decide.strategies import Strategy
from prudent.errors import InputProblem
from prudent.networks import compiled, neighbour_correlation, neighbour_mixing
from prudent.table import Encoded

STEPS = 10
"""The way from one logged dose to the next is cut into so many parts."""
LEAST_GAIN = 1e-3
"""Of the spread of a record's prices: a smaller gain may be a rounding error."""
GIVEN_TO_NOBODY = (
    "Column 'dose' holds doses between those of the log, which nobody was given: their rewards are interpolated. "
    "Evaluations and guarantees are about 'action', not about them."
)


@runtime_checkable
class HasOrder(Protocol):
    """A model that knows whether neighbouring actions were taken to be alike."""

    @property
    def ordered(self) -> bool: ...


class Doses(NamedTuple):
    """Per row the best dose, its expected reward and one standard deviation of that; NaN where no action was chosen.

    The names are those of the columns of the advice.
    """

    dose: np.ndarray
    dose_reward: np.ndarray
    dose_uncertainty: np.ndarray


class Around(eqx.Module):
    """The doses around every logged one: itself first, then those towards its lower and its upper neighbour.

    mixture: from the prices of the logged doses to those of the doses around one, [action, dose, action]. nearest: the
    same for what is not a price, from the two nearest logged doses. variance: of a price beside its mixture, where the
    rewards of a record have variance 1. surprises: how far the prices of a dose and its neighbours are from what all
    other prices say, in standard deviations if that variance were 1. So their size is that of the record's rewards
    around this dose, which may differ much from that of extreme doses.
    """

    mixture: Float[Array, "action dose action"]
    nearest: Float[Array, "action dose action"]
    variance: Float[Array, "action dose"]
    surprises: Float[Array, "action near action"]

    @staticmethod
    def of(actions: int) -> "Around":
        numbers = numbers_around(actions).ravel()
        root = neighbour_mixing(actions).astype(np.float64)
        inverse = np.linalg.inv(root @ root.T)
        level = inverse.sum(axis=0) / inverse.sum()  # the level of a record's rewards is not known beforehand
        alike = neighbour_correlation(numbers / (actions - 1), np.linspace(0, 1, actions))
        known = alike @ inverse
        unexplained = 1 - known.sum(axis=1)
        mixture = known + unexplained[:, None] * level
        variance = 1 - np.sum(known * alike, axis=1) + unexplained**2 / inverse.sum()
        nearest = np.maximum(1 - np.abs(numbers[:, None] - np.arange(actions)), 0.0)
        shape = (actions, -1, actions)
        mixture, nearest, variance = mixture.reshape(shape), nearest.reshape(shape), variance.reshape(actions, -1)
        mixture[:, 0], variance[:, 0] = np.eye(actions), 0.0
        left_out = inverse @ (np.eye(actions) - level) / np.sqrt(np.diag(inverse))[:, None]
        near = np.clip(np.arange(actions)[:, None] + np.array([-1, 0, 1]), 0, actions - 1)
        return Around(*(jax.device_put(np.float32(each)) for each in (mixture, nearest, variance, left_out[near])))


class Rule(eqx.Module):
    """What decides between the doses around a logged one."""

    strategy: Strategy
    plausible_set: PlausibleSet
    caution: Caution
    floor: float


def numbers_around(actions: int) -> np.ndarray:
    """The doses around every logged one, counted in logged doses from the lowest, [action, dose].

    >>> numbers_around(3)[1, :3].round(2).tolist()
    [1.0, 0.9, 0.8]
    """
    parts = np.arange(1, STEPS) / STEPS
    return np.clip(np.arange(actions)[:, None] + np.concatenate([[0.0], -parts, parts]), 0, actions - 1)


def require_doses_between(chooser: Chooser) -> None:
    """Refuse models and strategies that have nothing to say about doses between the logged ones."""
    model = chooser.pricing.model
    if not (isinstance(model, HasOrder) and model.ordered):
        raise InputProblem(
            "Doses between the logged ones need a model whose actions are numbers and were taken to be ordered, and "
            "this one's were not; fit it with --ordered (CausalPVAE(ordered=True)) if neighbouring doses are alike."
        )
    if not chooser.strategy.in_reward_units:
        raise InputProblem(
            f"Strategy {chooser.strategy!r} does not compare rewards, so it cannot choose doses between the logged "
            "ones; use MaximumExpectedReward, TailAverse, Conservative or Imputation (--strategy expected, tail, "
            "conservative or imputation)."
        )


def best_doses(chooser: Chooser, encoded: Encoded, scored: Scored, chosen: np.ndarray, permitted: np.ndarray) -> Doses:
    """The best dose between every row's chosen action (-1: none) and its neighbours, where these are open to it.

    scored, chosen: what the chooser made of the rows.
    """
    require_doses_between(chooser)
    labels, rows = np.array(chooser.fitted.action_labels, float), len(chosen)
    actions, eligible = np.maximum(chosen, 0), chooser.wanted(scored, permitted) & chooser.supported(encoded).open
    ways = _open_ways(actions, eligible)
    floor = -np.inf if chooser.floor is None else chooser.floor
    rule = Rule(chooser.strategy, chooser.plausible_set, chooser.caution, floor)
    around, parts, start = Around.of(len(labels)), [], 0
    for completions, tables in chooser.pricing.completed(encoded):
        own = np.minimum(start + np.arange(len(tables.prices)), rows - 1)
        asked = jax.device_put((actions[own].astype(np.int32), ways[own]))
        tables = chooser.with_costs(tables, start)
        parts.append(_best(chooser.pricing.model, rule, around, completions, tables, *asked))
        start += len(own)
    best, reward, uncertainty = (np.concatenate(column)[:rows] for column in zip(*parts, strict=True))
    numbers = np.interp(numbers_around(len(labels))[actions, best], np.arange(len(labels)), labels)
    doses = np.array([float(f"{number:.10g}") for number in numbers])
    found = doses, chooser.fitted.reported(reward), uncertainty.astype(np.float64)
    return Doses(*(np.where(chosen < 0, np.nan, column) for column in found))


def _open_ways(actions: np.ndarray, eligible: np.ndarray) -> np.ndarray:
    """[row, dose]: the logged dose itself, and those towards a neighbour that is open to the row."""
    bounded, rows = np.pad(eligible, ((0, 0), (1, 1))), np.arange(len(actions))
    ways = np.stack([np.ones(len(rows), bool), bounded[rows, actions], bounded[rows, actions + 2]], axis=1)
    return np.repeat(ways, [1, STEPS - 1, STEPS - 1], axis=1)


@compiled
def _best(
    model: Model,
    rule: Rule,
    around: Around,
    completions: Completions,
    tables: PriceTable,
    actions: Int[Array, " row"],
    ways: Bool[Array, "row dose"],
) -> tuple[Array, ...]:
    """For many rows the best of the doses around the chosen one, by number, its expected reward and uncertainty."""

    def one(completions: Completions, table: PriceTable, action: Array, open_ways: Array) -> tuple[Array, ...]:
        mixture, nearest = around.mixture[action], around.nearest[action]
        spread = jnp.sqrt(jnp.mean((around.surprises[action] @ table.expected) ** 2))
        own = spread * jnp.sqrt(around.variance[action])

        def uncertain(doubt: Array) -> Array:  # as if the model were wrong about all logged doses together
            return jnp.sqrt((doubt @ jnp.abs(mixture).T) ** 2 + own**2)

        def mixed(table: PriceTable) -> PriceTable:
            return replace(
                table,
                prices=table.prices @ mixture.T,
                doubt=None if table.doubt is None else uncertain(table.doubt),
                noise=None if table.noise is None else table.noise @ nearest.T,
                costs=nearest @ rule.caution.total_costs(table),
                shift=None,
                examined=None if table.examined is None else mixed(table.examined),
            )

        doses = mixed(table)
        caution = Caution(rule.caution.doubt, rule.caution.noise, jnp.zeros(len(mixture)))
        known = doses.with_density
        worst = worst_over(caution.outcome(known), rule.plausible_set.inside(known))
        scores = rule.strategy.scores(caution.net(doses))
        enough = scores > scores[0] + LEAST_GAIN * spread + 1e-6 * jnp.abs(scores[0])
        possible = (enough & open_ways & (worst >= rule.floor)).at[0].set(True)
        best = jnp.argmax(jnp.where(possible, scores, -jnp.inf))
        doubt = typical_doubt(model, completions, table)
        doubt = jnp.zeros(table.prices.shape[1]) if doubt is None else doubt[0]
        return best, doses.expected[best], uncertain(doubt)[best]

    return jax.vmap(one)(completions, tables, actions, ways)
