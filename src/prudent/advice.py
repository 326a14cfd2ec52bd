"""Advice: one recommendation per row, with how sure it is and what to know about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.explanation import Explanation, explain
from prudent.log import ActionLabel
from prudent.reading import like
from prudent.strategies import Conservative

if TYPE_CHECKING:
    from prudent.guarantee import Guarantee
    from prudent.measuring import Measuring
    from prudent.policy import Judged, Policy
    from prudent.schema import Encoded

FEW_COMPLETIONS = 5.0

OK = "ok"
NOT_ALLOWED = "refer: no action is allowed for this row; ask someone who may decide"
BELOW_FLOOR = "refer: no action's worst plausible reward reaches the floor; measure what is missing or ask someone"
FELL_BACK = "fallback: no action's worst plausible reward reaches the floor"
NOTHING_OBSERVED = "nothing was observed: this is the advice for an average case"
ALONE = (
    "only the most likely completion is plausible, so nothing else was weighed; "
    "lower c, use risk instead, or ask for more completions"
)
NO_GUARANTEE = "no guarantee: too few comparable held-out decisions; the advice itself stands"
FEW = "few completions carry the weight: the gaps are hard to fill; ask for more completions"


@dataclass(frozen=True, eq=False)
class Advice:
    """Advice for the rows of one table, in their order.

    Rewards are in the units and sign of the log's reward column. `action` is None where the row is referred.
    `action_entropy` is in bits: 0 when the same action is best in every plausible completion.
    """

    policy: Policy
    frame: Any
    encoded: Encoded
    judged: Judged
    actions: list[ActionLabel | None]
    chosen: np.ndarray
    expected_reward: np.ndarray
    worst_reward: np.ndarray
    status: list[str]
    permitted: np.ndarray
    guaranteed_reward: np.ndarray | None = None
    measuring: Measuring | None = None

    @classmethod
    def of(
        cls,
        policy: Policy,
        frame: Any,
        encoded: Encoded,
        judged: Judged,
        permitted: np.ndarray,
        chosen: np.ndarray,
        reason: np.ndarray,
    ) -> Advice:
        sign = -1.0 if policy.fitted.minimize else 1.0
        labels = policy.fitted.action_labels
        actions: list[ActionLabel | None] = [None if index < 0 else labels[index] for index in chosen]
        for row in np.flatnonzero(reason == 2):
            actions[row] = policy.fallback
        # a fallback that is an action of the log is priced like any other
        priced = np.array([labels.index(a) if a is not None and a in labels else -1 for a in actions])
        rows = np.arange(len(chosen))

        def of_action(prices: np.ndarray) -> np.ndarray:
            return np.where(priced >= 0, sign * prices[rows, priced], np.nan)

        status = _statuses(policy, encoded, judged, reason)
        return cls(
            *(policy, frame, encoded, judged, actions, chosen),
            *(of_action(judged.expected), of_action(judged.worst), status, permitted),
        )

    def with_guarantee(self, guarantee: Guarantee) -> Advice:
        """The same advice with a conformal lower bound on the reward of every recommended action."""
        sign = -1.0 if self.policy.fitted.minimize else 1.0
        bounds = sign * guarantee.bounds(self.encoded, self.chosen)
        without = np.isnan(bounds) & (self.chosen >= 0)
        status = [
            NO_GUARANTEE if none and status == OK else status for none, status in zip(without, self.status, strict=True)
        ]
        return replace(self, guaranteed_reward=bounds, status=status)

    def __len__(self) -> int:
        return len(self.actions)

    def __iter__(self) -> Iterator[Case]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> Case:
        if not -len(self) <= row < len(self):
            raise IndexError(f"There is no row {row}: the advice has {len(self)} rows.")
        row %= len(self)
        return Case(
            self,
            row,
            self.actions[row],
            float(self.expected_reward[row]),
            float(self.worst_reward[row]),
            float(self.judged.entropy[row]),
            self.status[row],
            self.encoded.flags[row],
            None if self.guaranteed_reward is None else float(self.guaranteed_reward[row]),
            None if self.measuring is None else self.measuring.measure_next[row],
        )

    def columns(self) -> dict[str, list[Any]]:
        """The advice as plain columns; a reward that does not exist is None."""
        return {
            "action": list(self.actions),
            "expected_reward": _plain(self.expected_reward),
            "worst_reward": _plain(self.worst_reward),
            "action_entropy": _plain(self.judged.entropy),
            **({} if self.guaranteed_reward is None else {"guaranteed_reward": _plain(self.guaranteed_reward)}),
            **({} if self.measuring is None else self._to_measure(self.measuring)),
            "status": list(self.status),
            "flags": list(self.encoded.flags),
        }

    @staticmethod
    def _to_measure(measuring: Measuring) -> dict[str, list[Any]]:
        return {"measure_next": list(measuring.measure_next), "measure_value": _plain(measuring.measure_value)}

    def to_frame(self) -> Any:
        """The same kind of frame that was asked with: pandas in, pandas out."""
        return like(self.frame, self.columns())


@dataclass(frozen=True, eq=False)
class Case:
    """The advice for one row."""

    advice: Advice
    row: int
    action: ActionLabel | None
    expected_reward: float
    worst_reward: float
    action_entropy: float
    status: str
    flags: str
    guaranteed_reward: float | None = None
    measure_next: str | None = None

    def explain(self) -> Explanation:
        """All prices, and the most likely and the worst plausible completion in the table's own words."""
        return explain(self)


def _statuses(policy: Policy, encoded: Encoded, judged: Judged, reason: np.ndarray) -> list[str]:
    gaps = ~encoded.observed.all(axis=1)
    status = np.full(len(reason), OK, dtype=object)
    status[gaps & (judged.effective < FEW_COMPLETIONS)] = FEW
    if isinstance(policy.strategy, Conservative):
        status[gaps & (judged.plausible == 0)] = ALONE
    status[~encoded.observed.any(axis=1)] = NOTHING_OBSERVED
    status[reason == 1] = NOT_ALLOWED
    status[reason == 2] = BELOW_FLOOR if policy.fallback is None else FELL_BACK
    return status.tolist()


def _plain(numbers: np.ndarray) -> list[float | None]:
    return [None if np.isnan(number) else float(number) for number in numbers]
