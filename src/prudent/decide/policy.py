"""Policy: a fitted model and a strategy, ready to be asked about new cases."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import jax

from prudent.decide.advice import Advice, LowerBounds
from prudent.decide.caution import Caution, action_costs
from prudent.decide.choice import Chooser
from prudent.decide.measure.value import value_of_measuring
from prudent.decide.model import FittedModel, HasDensity
from prudent.decide.permission import Allowed, allowed_actions
from prudent.decide.plausible_set import PlausibleSet
from prudent.decide.pricing import Pricing
from prudent.decide.row_costs import row_costs
from prudent.decide.search import Search
from prudent.decide.strategies import MaximumExpectedReward, Strategy
from prudent.decide.support import Support
from prudent.errors import InputProblem, Rule, check, instance, is_number, number, optional, require, whole
from prudent.networks import MANY_ATTRIBUTES
from prudent.show import policy_fragment
from prudent.table import ActionLabel

MOST_COMPLETIONS = 100_000
"""More take gigabytes for a single case, and change nothing: the error falls with their number."""

MOST_DEVIATIONS = 1e6
"""With more of them, nothing is left of the rewards themselves."""

_RULES: dict[str, Rule] = {
    "fitted": instance(FittedModel, "a fitted model, see CausalPVAE.fit"),
    "strategy": instance(Strategy, "a Strategy, e.g. Conservative()"),
    "completions": whole(2, MOST_COMPLETIONS),
    "floor": optional(number()),
    "fallback": optional(instance(str | int | float | bool, "the label of an action")),
    "doubt": number(0, MOST_DEVIATIONS),
    "noise": number(0, MOST_DEVIATIONS),
    "costs": optional(Rule("map action labels to numbers", lambda value: isinstance(value, Mapping))),
    "support": optional(instance(Support, "a Support, e.g. Support(propensity=0.05)")),
    "search": optional(instance(Search, "a Search, e.g. Search()")),
    "seed": whole(),
}


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Recommends an action for every row of a table. To change an option, use `dataclasses.replace`.

    strategy: how to choose from the prices.
    completions: how many plausible records each case is completed into.
    floor: refuse actions whose worst plausible mean is below this (with a minimised reward: above it); when none is
        left the row is referred (no action) or gets `fallback`.
    doubt: take this many standard deviations of every price's own uncertainty off it before choosing (0: none). It
        also lowers the reported worst mean.
    noise: the same for the scatter of single outcomes around their price.
    costs: what taking an action costs, in reward units, by label. They weigh in the choice; rewards are reported
        without them.
    support: an action is open to a case only if cases like it got it often enough, see `prudent.decide.Support`. None
        opens every action of the log to every case.
    search: how hard to look for the worst plausible case. By default it is searched for where it decides (with a
        `Conservative` strategy, or a floor) and the table has at most 64 attributes: hundreds of cells that move freely
        add up to a record that no case resembles. `Search(steps=0)` only looks among the completions drawn.
    seed: of the shared quasi-random draws. The same for all rows, so a row's advice does not depend on its neighbours.
    """

    fitted: FittedModel
    strategy: Strategy = MaximumExpectedReward()
    completions: int = 256
    floor: float | None = None
    fallback: ActionLabel | None = None
    doubt: float = 0.0
    noise: float = 0.0
    costs: Mapping[ActionLabel, float] | None = None
    support: Support | None = Support()
    search: Search | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check("Policy", _RULES, vars(self))
        without_floor = self.fallback is not None and self.floor is None
        require(not without_floor, "Policy", "fallback", "come with a 'floor'", self.fallback)
        if self.search is not None and self.search.steps and not self._searchable:
            raise InputProblem(
                "This model, or the paper's literal candidates, cannot be searched for a worst case; "
                "leave 'search' out, or give Search(steps=0)."
            )
        # costs are checked against the labels, and the strategy against the model, at once
        self.strategy.bound_to(self.fitted, self.caution.costs)

    def __repr__(self) -> str:
        return f"<policy {self.strategy} of {self.fitted!r}>"

    def summary(self) -> dict[str, Any]:
        """The strategy, the model and every option, in plain values."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        costs = "; ".join(f"{label}: {cost:g}" for label, cost in (self.costs or {}).items()) or None
        shown = {**options, "costs": costs, "search": str(self._search_or_default)}
        described = {name: value if is_number(value) else value and str(value) for name, value in shown.items()}
        named = [name for name in described if name not in ("fitted", "strategy")]
        return {
            "strategy": repr(self.strategy),
            "model": repr(self.fitted).strip("<>"),
            "options": {name: described[name] for name in named},
        }

    def _repr_html_(self) -> str:
        return policy_fragment(self.summary())

    @property
    def _searchable(self) -> bool:
        return isinstance(self.fitted.model, HasDensity) and not self.strategy.literal

    @property
    def plausible_set(self) -> PlausibleSet:
        """The completions behind the reported worst reward."""
        return self.strategy.plausible_set

    @property
    def searched(self) -> bool:
        """Whether the worst case is searched for, or only looked up among the draws."""
        return self.pricing.searched

    @cached_property
    def caution(self) -> Caution:
        costs = jax.device_put(action_costs(self.costs, self.fitted.action_labels))
        return Caution(self.doubt, self.noise, costs)

    @cached_property
    def pricing(self) -> Pricing:
        """Completes the records and prices every action on them."""
        return Pricing(
            model=self.fitted.model,
            schema=self.fitted.schema,
            completions=self.completions,
            seed=self.seed,
            literal=self.strategy.literal,
            search=self._search_or_default,
            plausible_set=self.plausible_set,
            doubt=self.doubt,
            every_density=self.strategy.needs_density or self.floor is not None,
        )

    @property
    def _search_or_default(self) -> Search:
        if self.search is not None:
            return self.search
        decides = self.strategy.needs_worst_case or self.floor is not None
        narrow = len(self.fitted.schema) <= MANY_ATTRIBUTES
        return Search() if self._searchable and decides and narrow else Search(steps=0)

    @property
    def chooser(self) -> Chooser:
        """Chooses for records that are already encoded."""
        floor = None if self.floor is None else self.fitted.internal(self.floor)
        strategy = self.strategy.bound_to(self.fitted, self.caution.costs)
        return Chooser(self.fitted, strategy, self.caution, self.pricing, floor, self.fallback, self.support, self.seed)

    def recommend(
        self,
        frame: Any,
        allowed: Allowed = None,
        costs: Mapping[ActionLabel, str] | None = None,
        guarantee: LowerBounds | None = None,
        measure: bool | Mapping[str, float] = False,
    ) -> Advice:
        """Advice for every row of a frame of any common kind, in order.

        allowed: restricts the actions per row: the name of a column that lists labels separated by ';' (empty: any),
            one collection of labels per row, or a function from a row (column names to cells) to such a collection.
        costs: what an action costs where that differs between cases: the name of a column of the frame by label, in
            reward units, and in addition to the policy's own costs.
        guarantee: adds a lower bound on the reward of each recommended action, see `prudent.guarantee`.
        measure: adds which gap is most worth filling before deciding, and its value in reward units; a mapping gives
            what measuring a column costs.
        """
        encoded = self.fitted.schema.encode(frame)
        if not len(encoded.flags):
            raise InputProblem("The table of cases has no rows; give at least one case to recommend for.")
        permitted = allowed_actions(frame, allowed, self.fitted.action_labels, len(encoded.flags))
        own = row_costs(frame, costs, self.fitted.action_labels)
        advice = Advice.of(replace(self.chooser, row_costs=own), frame, encoded, permitted)
        if guarantee is not None:
            made_for_this = getattr(guarantee, "policy", None) is self
            must = "be made for this policy: prudent.guarantee(policy, log)"
            require(made_for_this, "recommend", "guarantee", must, guarantee)
            if costs is not None:
                raise InputProblem(
                    "A guarantee holds for the policy without costs that differ between cases; leave 'costs' or "
                    "'guarantee' out."
                )
            advice = advice.with_guarantee(guarantee)
        if measure is not False:
            prices = measure if isinstance(measure, Mapping) else None
            advice = advice.with_measurements(value_of_measuring(advice, encoded, prices, scored=advice.scored))
        return advice
