"""Strategies: pure rules that choose from the prices of actions on completions. No network inside.

Every strategy gives one score per action for one record; the recommended action has the highest. To add one, write a
class with `scores`. Everything else about it (how it explains itself, where it stands among its relatives) has a
default in `Strategy`. `prudent.checks` holds the laws it must keep.
"""

import abc
from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from prudent.decide.completions import PriceTable
from prudent.decide.model import FittedModel
from prudent.decide.outcome_calibration import Circumstances, HasCalibration, OutcomeCalibration, normal_score
from prudent.decide.plausible_set import PlausibleSet
from prudent.errors import TRUTH, InputProblem, check, number, one_of, require
from prudent.show import percent


class Comparison(NamedTuple):
    """The recommended action beside the next best, in words: their names, and the strategy's score of each."""

    action: str
    other: str
    score: str
    other_score: str


class Strategy(eqx.Module):
    """A rule from a table of prices to a score per action.

    stochastic: the scores are probabilities, and the action is drawn from them.
    in_reward_units: the scores are rewards, and can be reported as such.
    in_shares: the scores are shares of what is plausible.
    needs_worst_case: the worst plausible case decides, so it is worth searching for.
    needs_density: the scores depend on how dense completions are; without, the densities of a few of them, for the
        reported worst case, are enough, which takes less than half of the time.
    """

    stochastic: ClassVar[bool] = False
    in_reward_units: ClassVar[bool] = False
    in_shares: ClassVar[bool] = False
    needs_worst_case: ClassVar[bool] = False
    needs_density: ClassVar[bool] = True

    @abc.abstractmethod
    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        """Higher is better; in reward units where the rule has them."""

    # --- what a policy asks of its strategy ---

    def bound_to(self, fitted: FittedModel, costs: Float[Array, " action"]) -> "Strategy":
        """The strategy with what it must know of a model, and what actions cost, which the prices that it sees are
        already less of."""
        return self

    @property
    def plausible_set(self) -> PlausibleSet:
        """The set of completions behind the reported worst reward."""
        return PlausibleSet()

    @property
    def literal(self) -> bool:
        """Whether the model draws candidates as the paper prints it: from the prior, with no cell held fixed."""
        return False

    @property
    def tail(self) -> float:
        """The share of worst cases whose mean reward the strategy looks at: 1 is the expected reward."""
        return 1.0

    # --- where it stands among its relatives, see `prudent.frontier` ---

    @property
    def family(self) -> str:
        """What the strategies that differ from this one in a single number are called."""
        return repr(self)

    @property
    def boldness(self) -> float:
        """The place in the family: 0 is the most careful, 1 the least."""
        return 1.0

    @property
    def setting(self) -> str:
        """What tells this strategy from the others of its family."""
        return ""

    # --- how it explains itself ---

    def reason(self, compared: Comparison) -> str:
        """Why this action and not the other, for a record with gaps."""
        return f"{compared.action} has the highest score, {compared.score}; {compared.other} has {compared.other_score}"

    @property
    def gain_words(self) -> str:
        """In which reward the value of a measurement is expressed."""
        return "on average"


class Imputation(Strategy):
    """The best action for the most likely completion x̂ (eq 5)."""

    in_reward_units: ClassVar[bool] = True

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.prices[0]

    @property
    def family(self) -> str:
        return BY_C  # its limit c → 1

    @property
    def setting(self) -> str:
        return "imputation"

    def reason(self, compared: Comparison) -> str:
        return (
            f"for the most likely values of what is missing, {compared.action} brings {compared.score}; "
            f"{compared.other} brings {compared.other_score}"
        )


class MaximumExpectedReward(Strategy):
    """The action with the highest expected reward over the completions (eq 6)."""

    in_reward_units: ClassVar[bool] = True
    needs_density: ClassVar[bool] = False

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.expected

    @property
    def family(self) -> str:
        return BY_TAIL  # its risk 1

    @property
    def setting(self) -> str:
        return "expected"

    def reason(self, compared: Comparison) -> str:
        return (
            f"{compared.action} has the best expected reward, {compared.score}; {compared.other} follows with "
            f"{compared.other_score}"
        )


class Conservative(Strategy):
    """The action whose reward is best in the worst case that is still plausible (eq 7).

    risk, c: how the plausible set is bounded, see `prudent.decide.PlausibleSet`; by default risk=0.05.
    paper_literal: ask the model for candidates as the paper draws them: from the prior, with no cell held fixed.
    per_attribute: c is compared with the geometric mean of the density ratio over the gaps, not with the ratio itself.

    >>> Conservative(risk=0.05)
    Conservative(risk=0.05)
    >>> Conservative(c=1.5)
    Traceback (most recent call last):
        ...
    prudent.errors.InputProblem: The 'c' parameter of Conservative must be in [0, 1). Got 1.5 instead.
    """

    in_reward_units: ClassVar[bool] = True
    needs_worst_case: ClassVar[bool] = True
    plausible: PlausibleSet
    paper_literal: bool = False

    def __init__(
        self,
        risk: float | None = None,
        c: float | None = None,
        paper_literal: bool = False,
        per_attribute: bool = False,
    ):
        self.plausible = PlausibleSet(risk, c, owner="Conservative", per_attribute=per_attribute)
        check("Conservative", {"paper_literal": TRUTH}, {"paper_literal": paper_literal})
        require(not paper_literal or c is not None, "Conservative", "paper_literal", "come with 'c'", paper_literal)
        self.paper_literal = paper_literal

    @property
    def risk(self) -> float | None:
        return self.plausible.risk

    @property
    def c(self) -> float | None:
        return self.plausible.c

    def __repr__(self) -> str:
        literal = ", paper_literal=True" if self.paper_literal else ""
        literal += ", per_attribute=True" if self.plausible.per_attribute else ""
        return f"Conservative(c={self.c}{literal})" if self.c is not None else f"Conservative(risk={self.risk})"

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return self.plausible.worst(table)

    @property
    def plausible_set(self) -> PlausibleSet:
        return self.plausible

    @property
    def literal(self) -> bool:
        return self.paper_literal

    @property
    def family(self) -> str:
        return BY_RISK if self.c is None else BY_C

    @property
    def boldness(self) -> float:
        return float(self.risk or 0.0) if self.c is None else self.c

    @property
    def setting(self) -> str:
        return f"{self.boldness:g}"

    def reason(self, compared: Comparison) -> str:
        return (
            f"the mean of {compared.action} is no worse than {compared.score} in any plausible case; that of "
            f"{compared.other} could be as bad as {compared.other_score}"
        )

    @property
    def gain_words(self) -> str:
        return "in the worst plausible case"


class TailAverse(Strategy):
    """The action with the best mean over the worst `risk` share of the completions' weight (CVaR).

    Unlike max-min it does not depend on the number of gaps, and it gives up less of the mean for the same tail.
    `measure="quantile"` looks at the quantile itself instead of the mean beyond it.
    """

    in_reward_units: ClassVar[bool] = True
    needs_density: ClassVar[bool] = False
    risk: float
    measure: Literal["cvar", "quantile"]

    def __init__(self, risk: float = 0.2, measure: Literal["cvar", "quantile"] = "cvar"):
        check("TailAverse", {"risk": number(0, 1, "(]"), "measure": one_of("cvar", "quantile")}, locals())
        self.risk, self.measure = risk, measure

    def __repr__(self) -> str:
        return f"TailAverse(risk={self.risk})" if self.measure == "cvar" else f"TailAverse(risk={self.risk}, quantile)"

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        order = jnp.argsort(table.prices, axis=0)
        prices = jnp.take_along_axis(table.prices, order, axis=0)
        weights = table.weights[order]
        before = jnp.cumsum(weights, axis=0) - weights
        if self.measure == "quantile":
            # the first price at which the mass reaches `risk`; float sums may end just below 1
            reached = (before + weights >= self.risk - 1e-6) & (weights > 0)
            return jnp.take_along_axis(prices, jnp.argmax(reached, axis=0)[None], axis=0)[0]
        taken = jnp.clip(self.risk - before, 0.0, weights)
        return jnp.sum(taken * prices, axis=0) / jnp.sum(taken, axis=0)

    @property
    def tail(self) -> float:
        return self.risk

    @property
    def family(self) -> str:
        return BY_TAIL if self.measure == "cvar" else BY_QUANTILE

    @property
    def boldness(self) -> float:
        return self.risk

    @property
    def setting(self) -> str:
        return f"{self.risk:g}"

    def reason(self, compared: Comparison) -> str:
        if self.measure == "quantile":
            return (
                f"leaving out the worst {percent(self.risk)} of cases, the mean of {compared.action} is no worse than "
                f"{compared.score}; that of {compared.other} could be as bad as {compared.other_score}"
            )
        return (
            f"over the worst {percent(self.risk)} of cases, {compared.action} averages {compared.score}; "
            f"{compared.other} averages {compared.other_score}"
        )

    @property
    def gain_words(self) -> str:
        return "on average over the worst cases"


class AtMost(Strategy):
    """The best expected reward among the actions whose outcome is a disaster with probability `chance` at most.

    below: a single outcome worse than this is a disaster; with a minimised reward, one above it. The probability is
        over the gaps and over how single outcomes scatter, corrected by the outcomes of rows that were held out of the
        fit. Where no action is safe enough, the one with the least likely disaster is chosen.

    >>> AtMost(0.02, below=-2)
    AtMost(0.02, below=-2)
    """

    needs_density: ClassVar[bool] = False
    chance: float
    below: float
    threshold: float
    sign: float
    costs: Float[Array, " action"] | None
    calibration: OutcomeCalibration | None

    def __init__(
        self,
        chance: float,
        below: float,
        *,
        sign: float = 1.0,
        origin: float = 0.0,
        costs: Float[Array, " action"] | None = None,
        calibration: OutcomeCalibration | None = None,
    ):
        check("AtMost", {"chance": number(0, 1, "()"), "below": number()}, {"chance": chance, "below": below})
        self.chance, self.below = chance, below
        self.threshold, self.sign = sign * below - origin, sign
        self.costs, self.calibration = costs, calibration

    def __repr__(self) -> str:
        return f"AtMost({self.chance}, below={self.below})"

    def bound_to(self, fitted: FittedModel, costs: Float[Array, " action"]) -> "AtMost":
        if not isinstance(fitted.model, HasCalibration):
            raise InputProblem(
                "AtMost needs a model that knows how single outcomes scatter: a CausalPVAE without types."
            )
        known = {"sign": fitted.sign, "origin": fitted.origin, "calibration": fitted.model.calibration}
        return AtMost(self.chance, self.below, costs=costs, **known)

    def disaster(self, table: PriceTable) -> Float[Array, " action"]:
        """The probability of a disaster, of every action."""
        prices = table.prices if self.costs is None else table.prices + self.costs[None, :]
        prices = prices if table.costs is None else prices + table.costs[None, :]
        scale = jnp.zeros_like(prices) if table.noise is None else table.noise
        scale = jnp.maximum(scale, 1e-6)
        score = normal_score(jnp.float32(self.threshold), prices, scale, table.log_weights)
        if self.calibration is None:
            return ndtr(score)
        return ndtr(self.calibration(score, Circumstances.of(prices, scale, table.weights)))

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        expected, disaster = table.expected, self.disaster(table)
        lowest = jnp.min(expected)
        spread = jnp.maximum(jnp.max(expected) - lowest, 1e-3)
        # behind all that are safe enough: by how likely a disaster is; by the reward where that is equal
        unsafe = lowest - spread * (1 + disaster) + 1e-4 * (expected - lowest)
        return jnp.where(disaster <= self.chance, expected, unsafe)

    @property
    def family(self) -> str:
        return f"at most, below {self.below:.12g}"

    @property
    def boldness(self) -> float:
        return self.chance

    @property
    def setting(self) -> str:
        return f"{self.chance:g}"

    def reason(self, compared: Comparison) -> str:
        beyond = "below" if self.sign > 0 else "above"
        return (
            f"{compared.action} comes before {compared.other}: of the actions with an outcome {beyond} "
            f"{self.below:.12g} in at most {percent(self.chance)} of cases the best expected reward decides; where "
            "there is none, such outcomes are to be as rare as possible"
        )


class MostOftenBest(Strategy):
    """The action that is best in most of the completions' weight (the mode rule of the paper's introduction)."""

    in_shares: ClassVar[bool] = True
    needs_density: ClassVar[bool] = False

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.best_frequency

    def reason(self, compared: Comparison) -> str:
        return (
            f"{compared.action} is the best action in {compared.score} of what the gaps may hold, {compared.other} in "
            f"{compared.other_score}"
        )


class BestFrequencyLottery(Strategy):
    """A stochastic policy: each action with the probability that it is the best (paper's introduction).

    The draw depends on the record and the policy's seed alone, so a record asked about twice gets the same answer.
    """

    stochastic: ClassVar[bool] = True
    in_shares: ClassVar[bool] = True
    needs_density: ClassVar[bool] = False

    def scores(self, table: PriceTable) -> Float[Array, " action"]:
        return table.best_frequency

    def reason(self, compared: Comparison) -> str:
        return (
            f"each action is drawn with the probability that it is the best one, and the draw fell on "
            f"{compared.action} ({compared.score}); {compared.other} had {compared.other_score}"
        )


BY_TAIL, BY_QUANTILE, BY_RISK, BY_C = "tail", "tail, quantile", "conservative, by risk", "conservative, by c"
