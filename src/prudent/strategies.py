"""Strategies: pure rules that choose from the prices of actions on completions. No network inside.

Every strategy gives one score per action for one record; the recommended action has the highest. To add one, write a
class with `scores`; `prudent.checks` holds the laws it must keep.
"""

import abc
import math
from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from prudent.completions import PriceTable
from prudent.errors import is_number, require


class Strategy(eqx.Module):
    """A rule from a table of prices to a score per action.

    A stochastic strategy's scores are probabilities, and the action is drawn from them.
    """

    stochastic: ClassVar[bool] = False

    @abc.abstractmethod
    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        """Higher is better; in reward units where the rule has them."""


class Imputation(Strategy):
    """The best action for the most likely completion x̂ (eq 5)."""

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.prices[0]


class MaximumExpectedReward(Strategy):
    """The action with the highest expected reward over the completions (eq 6)."""

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.expected


class Conservative(Strategy):
    """The action whose reward is best in the worst case that is still plausible (eq 7).

    Plausible is, with `risk`, the highest-density set of completions that holds posterior mass 1 − risk; with `c`, the
    paper's set {x : p(x|x̃) > c·p(x̂|x̃)}, which shrinks as gaps grow. x̂ always belongs, so the set is never empty.
    `paper_literal=True` asks the model for candidates as the paper draws them: from the prior, with no cell held fixed.

    >>> Conservative(risk=0.05)
    Conservative(risk=0.05)
    >>> Conservative(c=1.5)
    Traceback (most recent call last):
        ...
    prudent.errors.InputProblem: The 'c' parameter of Conservative must be in [0, 1). Got 1.5 instead.
    """

    risk: float | None = None
    c: float | None = None
    paper_literal: bool = False

    def __init__(self, risk: float | None = None, c: float | None = None, paper_literal: bool = False):
        if risk is None and c is None:
            risk = 0.05
        require(risk is None or c is None, "Conservative", "risk", "not be given together with 'c'", risk)
        require(risk is None or (is_number(risk) and 0 <= risk < 1), "Conservative", "risk", "be in [0, 1)", risk)
        require(c is None or (is_number(c) and 0 <= c < 1), "Conservative", "c", "be in [0, 1)", c)
        require(isinstance(paper_literal, bool), "Conservative", "paper_literal", "be True or False", paper_literal)
        require(not paper_literal or c is not None, "Conservative", "paper_literal", "come with 'c'", paper_literal)
        self.risk, self.c, self.paper_literal = risk, c, paper_literal

    def __repr__(self) -> str:
        literal = ", paper_literal=True" if self.paper_literal else ""
        return f"Conservative(c={self.c}{literal})" if self.c is not None else f"Conservative(risk={self.risk})"

    def plausible(self, table: PriceTable) -> Bool[Array, " completion"]:
        if self.c is not None:
            # in double precision: a very small c is not 0
            inside = table.log_density - table.log_density[0] > (math.log(self.c) if self.c else -math.inf)
        else:
            # a sum of weights may end a hair beside 1 − risk, on either side; with no risk everything is plausible
            inside = (_denser_mass(table) < 1.0 - (self.risk or 0.0) - 1e-6) | (not self.risk)
        return inside.at[0].set(True)

    def edge(self, table: PriceTable) -> Float[Array, ""]:
        """The log-density down to which a completion that was not drawn is plausible."""
        lowest = jnp.min(jnp.where(self.plausible(table), table.log_density, jnp.inf))
        # with c = 0 or no risk everything is plausible; then no farther than the draws themselves went
        return table.log_density[0] + math.log(self.c) + 1e-4 if self.c else lowest

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return worst_over(table, self.plausible(table))


def worst_over(table: PriceTable, plausible: Bool[Array, " completion"]) -> Float[Array, " action"]:
    """Each action's lowest price over a set of completions."""
    return jnp.min(jnp.where(plausible[:, None], table.prices, jnp.inf), axis=0)


def _denser_mass(table: PriceTable) -> Float[Array, " completion"]:
    """The posterior mass of all completions strictly denser than each one: the set grows in this order."""
    order = jnp.argsort(-table.log_density)
    before = jnp.cumsum(table.weights[order]) - table.weights[order]
    density = table.log_density[order]
    # equally dense completions enter together: each gets the mass before the first of its peers
    first = jnp.concatenate([jnp.array([True]), density[1:] < density[:-1]])
    start = jnp.maximum.accumulate(jnp.where(first, before, 0.0))
    return jnp.zeros_like(start).at[order].set(start)


class TailAverse(Strategy):
    """The action with the best mean over the worst `risk` share of the completions' weight (CVaR).

    Unlike max-min it does not depend on the number of gaps, and it gives up less of the mean for the same tail.
    `measure="quantile"` looks at the quantile itself instead of the mean beyond it.
    """

    risk: float
    measure: Literal["cvar", "quantile"]

    def __init__(self, risk: float = 0.2, measure: Literal["cvar", "quantile"] = "cvar"):
        require(is_number(risk) and 0 < risk <= 1, "TailAverse", "risk", "be in (0, 1]", risk)
        require(measure in ("cvar", "quantile"), "TailAverse", "measure", "be 'cvar' or 'quantile'", measure)
        self.risk, self.measure = risk, measure

    def __repr__(self) -> str:
        return f"TailAverse(risk={self.risk})" if self.measure == "cvar" else f"TailAverse(risk={self.risk}, quantile)"

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        order = jnp.argsort(table.prices, axis=0)
        prices = jnp.take_along_axis(table.prices, order, axis=0)
        weights = table.weights[order]
        before = jnp.cumsum(weights, axis=0) - weights
        if self.measure == "quantile":
            # the first price at which the mass reaches `risk`; float sums may end a hair below 1
            reached = (before + weights >= self.risk - 1e-6) & (weights > 0)
            return jnp.take_along_axis(prices, jnp.argmax(reached, axis=0)[None], axis=0)[0]
        taken = jnp.clip(self.risk - before, 0.0, weights)
        return jnp.sum(taken * prices, axis=0) / jnp.sum(taken, axis=0)


class MostOftenBest(Strategy):
    """The action that is best in most of the completions' weight (the mode rule of the paper's introduction)."""

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.best_frequency


class BestFrequencyLottery(Strategy):
    """A stochastic policy: each action with the probability that it is the best (paper's introduction).

    The draw depends on the record and the policy's seed alone, so a record asked about twice gets the same answer.
    """

    stochastic: ClassVar[bool] = True

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.best_frequency
