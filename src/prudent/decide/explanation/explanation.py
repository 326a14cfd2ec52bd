"""Explanation: what there is to say about one case, as plain values."""

from dataclasses import dataclass
from typing import Any

from prudent.decide.status import Status
from prudent.show import (
    Picture,
    explanation_fragment,
    explanation_picture,
    explanation_text,
    explanations_page,
    plain_types,
)
from prudent.table import ActionLabel


@dataclass(frozen=True)
class ActionPrice:
    """One action, in the units and sign of the log's reward.

    low_reward, high_reward: between them lies the price, a mean outcome, in 90 % of the plausible cases (5 % to 95 %),
        by weight: what the gaps alone leave open.
    rank: 1 for the action that the strategy scores highest, allowed or not.
    worst_reward: the worst plausible mean: the lowest price over the plausible set, lowered where the policy takes off
        doubt or noise. Single outcomes fall below it.
    chance_best: the probability, over the gaps and the doubt of the prices, that this action is the best one the
        case can get, after costs; 0 for actions that are not allowed or not open.
    outcome_low, outcome_high: between them lie nine of ten single outcomes, over gaps, doubt and noise together; None
        where the model does not know the noise.
    doubt, noise: one standard deviation of the price itself, and of single outcomes around it; None where the model
        has none.
    allowed, open: whether the case may get the action, and whether cases like it got it often enough.
    propensity: the share of similar logged cases that got it; None where that is not known.
    guaranteed_reward: a bound that holds whatever the model believes; for the recommended action, if one was requested.
    """

    action: ActionLabel
    expected_reward: float
    low_reward: float
    high_reward: float
    worst_reward: float
    chance_best: float
    rank: int
    doubt: float | None = None
    noise: float | None = None
    cost: float = 0.0
    allowed: bool = True
    open: bool = True
    propensity: float | None = None
    guaranteed_reward: float | None = None
    outcome_low: float | None = None
    outcome_high: float | None = None


@dataclass(frozen=True)
class Change:
    """If `attribute` turned out to be `values` ("below 62", "north or west"), `action` would be recommended."""

    attribute: str
    values: str
    chance: float
    action: ActionLabel


@dataclass(frozen=True)
class Measurement:
    """What filling one gap before deciding is worth, in reward units; positive where the outcome improves, whether the
    reward is to be high or low. `gain` is in what the policy's strategy looks at, and after the `cost` of measuring."""

    attribute: str
    gain: float
    expected_gain: float
    worst_gain: float
    cost: float = 0.0


@dataclass(frozen=True)
class Influence:
    """What the decision owes to one attribute.

    decides: whether the advice would be another one if the attribute were missing, or may be once a gap is filled.
    action: what would then be recommended (for a gap, most likely); None for nothing, or where a gap would not decide.
    lead: of `about` over `runner_up` if the attribute were missing; None for a gap.
    gain: of a gap, as in `Measurement`; None for a known attribute.
    """

    attribute: str
    known: bool
    decides: bool = False
    action: ActionLabel | None = None
    lead: float | None = None
    gain: float | None = None


@dataclass(frozen=True)
class Explanation:
    """Why this action, for the case in `row` of the table (counting from 0).

    label: whose case it is, as the caller names it.
    about: the recommended action, or the best candidate when the case is referred.
    reason: the comparison that decided, in one or two sentences.
    runner_up: the action that `about` was compared with; None where there is no other to compare.
    most_likely, worst_case: values for the gaps only; `worst_case` is the plausible completion in which `about` does
        worst.
    plausible_share: the posterior probability that the plausible set holds.
    lead: by how much `about` is ahead of `runner_up`, in what the strategy looks at (`gain_measure`), in reward units;
        positive is better, whether the reward is to be high or low.
    influences: every attribute, with what the decision owes to it; what matters most first.
    changes: single cells that would turn the decision; the likeliest first.
    measurements: every gap with what knowing it is worth; the most valuable first.
    gain_measure: in which reward the lead and the gains are, e.g. "on average".
    measure_next: the gap most worth measuring before deciding; None where none is worth its cost.
    origin: what the model measures rewards from; not zero where they lie far from it.
    """

    row: int
    label: str | None
    action: ActionLabel | None
    about: ActionLabel
    status: Status
    flags: str
    action_entropy: float
    strategy: str
    reason: str
    runner_up: ActionLabel | None
    prices: tuple[ActionPrice, ...]
    observed: dict[str, Any]
    most_likely: dict[str, Any]
    worst_case: dict[str, Any]
    plausible_share: float
    lead: float | None
    influences: tuple[Influence, ...]
    changes: tuple[Change, ...]
    measurements: tuple[Measurement, ...]
    measure_next: str | None
    gain_measure: str
    action_name: str
    reward_name: str
    minimize: bool
    floor: float | None
    origin: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values that `json.dumps` writes; a number that does not exist is None."""
        return {**plain_types(self), "status_code": self.status.name.lower()}

    def __str__(self) -> str:
        return self.text()

    def text(self, every: bool = False) -> str:
        """What `print` shows; with `every` all attributes, also those that change nothing."""
        return explanation_text(self.to_dict(), every)

    def html(self) -> str:
        """A page of its own: nothing from outside, no scripts, fit for print."""
        return explanations_page([self.to_dict()])

    def picture(self) -> Picture:
        """A row per action: expected and worst plausible mean, range of single outcomes, guarantee. At most a dozen."""
        return explanation_picture(self.to_dict())

    def _repr_html_(self) -> str:
        return explanation_fragment(self.to_dict())

    @property
    def price(self) -> ActionPrice:
        """The prices of `about`."""
        return next(price for price in self.prices if price.action == self.about)
