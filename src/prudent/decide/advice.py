"""Advice: one recommendation per row, with how sure it is and what to know about it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from prudent.decide.choice import Choice, Chooser, Outcome, Scored
from prudent.decide.doses import GIVEN_TO_NOBODY, Doses, best_doses
from prudent.decide.explanation import Explanation, Subject, explain
from prudent.decide.measure.value import Measuring
from prudent.decide.status import Status
from prudent.decide.support import Supported, closed_words
from prudent.show import advice_fragment, advice_text, case_text, counted, plain_number, plain_types
from prudent.table import ActionLabel, Encoded, frame_like

FEW_COMPLETIONS = 5.0


@runtime_checkable
class LowerBounds(Protocol):
    """What gives bounds on rewards, see `prudent.guarantee`."""

    def bounds(self, encoded: Encoded, chosen: np.ndarray) -> np.ndarray:
        """For each row's chosen action number (-1: none), as the model measures rewards; NaN: none."""
        ...

    def comparison(self, encoded: Encoded) -> list[str]:
        """What is to be said of whether the rows are like those that the bounds rest on."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """Advice for the rows of one table, in their order.

    Rewards are in the units and sign of the log's reward column. `action` is None where the row is referred.
    `expected_reward` and `worst_reward` are mean outcomes of the action, on average over the completions and in the
    worst plausible one; single outcomes scatter around them. Nine of ten single outcomes are meant to lie between
    `outcome_low` and `outcome_high` (gaps, doubt and noise together; NaN where the model does not know the noise).
    `action_entropy` is in bits: 0 when the same action is best in every plausible completion.
    """

    chooser: Chooser
    frame: Any
    encoded: Encoded
    scored: Scored
    actions: list[ActionLabel | None]
    chosen: np.ndarray
    expected_reward: np.ndarray
    worst_reward: np.ndarray
    outcome_low: np.ndarray
    outcome_high: np.ndarray
    status: list[Status]
    permitted: np.ndarray
    guaranteed_reward: np.ndarray | None = None
    measuring: Measuring | None = None
    doses: Doses | None = None

    @classmethod
    def of(cls, chooser: Chooser, frame: Any, encoded: Encoded, permitted: np.ndarray) -> "Advice":
        decided = chooser.decide(encoded, permitted)
        scored, choice, given = decided.scored, decided.choice, decided.given
        encoded = replace(encoded, flags=_with_closed_actions(chooser, encoded, choice))
        reported, actions = chooser.fitted.reported, chooser.labels(choice)
        rows = np.arange(len(actions))

        def of_given(prices: np.ndarray) -> np.ndarray:
            return np.where(given >= 0, reported(prices[rows, given]), np.nan)

        # with a minimised reward the internally lowest outcome is the user's highest
        low, high = np.sort([reported(decided.low), reported(decided.high)], axis=0)
        return cls(
            *(chooser, frame, encoded, scored, actions, choice.action),
            *(of_given(scored.expected), of_given(scored.worst), low, high),
            *(_statuses(chooser, encoded, scored, choice), permitted),
        )

    def with_guarantee(self, guarantee: LowerBounds) -> "Advice":
        """The same advice with a conformal lower bound on the reward of every recommended action."""
        bounds = self.chooser.fitted.reported(guarantee.bounds(self.encoded, self.chosen))
        without = np.isnan(bounds) & (self.chosen >= 0)
        status = [
            Status.NO_GUARANTEE if none and status is Status.OK else status
            for none, status in zip(without, self.status, strict=True)
        ]
        encoded = replace(self.encoded, notes=(*self.encoded.notes, *guarantee.comparison(self.encoded)))
        return replace(self, encoded=encoded, guaranteed_reward=bounds, status=status)

    def with_measurements(self, measuring: Measuring) -> "Advice":
        """The same advice with the gap that is most worth filling, see `prudent.value_of_measuring`."""
        return replace(self, measuring=measuring)

    def doses_between(self) -> "Advice":
        """The same advice with the best dose between the recommended one and its neighbours, which nobody was given.

        It adds the columns `dose`, `dose_reward` and `dose_uncertainty` (one standard deviation); `action` stays what
        it is. Actions must be numbers that were taken to be ordered.
        """
        doses = best_doses(self.chooser, self.encoded, self.scored, self.chosen, self.permitted)
        return replace(self, encoded=replace(self.encoded, notes=(*self.encoded.notes, GIVEN_TO_NOBODY)), doses=doses)

    @property
    def probabilities(self) -> np.ndarray:
        """How likely the recommended action was to be recommended, by row: 1 unless the strategy draws it."""
        if not self.chooser.strategy.stochastic:
            return np.ones(len(self))
        each = self.chooser.probabilities(self.scored, self.encoded, permitted=self.permitted)
        drawn = each[np.arange(len(self)), np.maximum(self.chosen, 0)]
        return np.where(self.chosen < 0, 1.0, drawn)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the table as a whole, e.g. columns of the model that it lacks."""
        return self.encoded.notes

    def __len__(self) -> int:
        return len(self.actions)

    def __iter__(self) -> Iterator["Case"]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> "Case":
        if not -len(self) <= row < len(self):
            raise IndexError(f"There is no row {row}: the advice has {len(self)} rows.")
        row %= len(self)
        return Case(
            self,
            row,
            self.actions[row],
            float(self.expected_reward[row]),
            float(self.worst_reward[row]),
            float(self.outcome_low[row]),
            float(self.outcome_high[row]),
            float(self.scored.entropy[row]),
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
            "outcome_low": _plain(self.outcome_low),
            "outcome_high": _plain(self.outcome_high),
            "action_entropy": _plain(self.scored.entropy),
            **({} if self.guaranteed_reward is None else {"guaranteed_reward": _plain(self.guaranteed_reward)}),
            **({} if self.measuring is None else self._to_measure(self.measuring)),
            **({} if self.doses is None else {name: _plain(column) for name, column in self.doses._asdict().items()}),
            "status": list(map(str, self.status)),
            "flags": list(self.encoded.flags),
        }

    @staticmethod
    def _to_measure(measuring: Measuring) -> dict[str, list[Any]]:
        return {"measure_next": list(measuring.measure_next), "measure_value": _plain(measuring.measure_value)}

    def to_frame(self) -> Any:
        """The same kind of frame that was asked with: pandas in, pandas out, with the index of the frame."""
        return frame_like(self.frame, self.columns())

    def summary(self) -> dict[str, Any]:
        """The whole table in counts and means, in plain values: how often each action is given, and what there is to
        know about it. It holds no row."""
        fitted, known = self.chooser.fitted, list(self.chooser.fitted.action_labels)
        given = Counter(self.actions)
        order = sorted(given, key=lambda action: known.index(action) if action in known else len(known))
        statuses = Counter(self.status).most_common()
        return {
            "rows": len(self),
            "strategy": repr(self.chooser.strategy),
            "action_name": fitted.roles.action,
            "reward_name": fitted.roles.reward,
            "origin": float(fitted.reported(0.0)) + 0.0,
            "actions": [
                {
                    "action": action,
                    "rows": given[action],
                    "expected_reward": self._mean(self.expected_reward, action),
                    "worst_reward": self._mean(self.worst_reward, action),
                }
                for action in order
            ],
            "statuses": [
                {"status": str(status), "status_code": status.name.lower(), "rows": count} for status, count in statuses
            ],
            "flagged": sum(flags != "" for flags in self.encoded.flags),
        }

    def _mean(self, rewards: np.ndarray, action: ActionLabel | None) -> float | None:
        """Of the rows that get the action."""
        return plain_number(
            float(np.mean([r for r, given in zip(rewards, self.actions, strict=True) if given == action]))
        )

    def __str__(self) -> str:
        return advice_text(self.summary())

    def _repr_html_(self) -> str:
        return advice_fragment(self.summary())

    def __repr__(self) -> str:
        return f"<advice for {counted(len(self), 'row')} by {self.chooser.strategy!r}>"


@dataclass(frozen=True, eq=False)
class Case:
    """The advice for one row."""

    advice: Advice
    row: int
    action: ActionLabel | None
    expected_reward: float
    worst_reward: float
    outcome_low: float
    outcome_high: float
    action_entropy: float
    status: Status
    flags: str
    guaranteed_reward: float | None = None
    measure_next: str | None = None

    def __str__(self) -> str:
        fields = ("row", "action", "expected_reward", "worst_reward", "outcome_low", "outcome_high", "status", "flags")
        facts = {name: getattr(self, name) for name in (*fields, "guaranteed_reward", "measure_next")}
        return case_text({**plain_types(facts), "origin": float(self.advice.chooser.fitted.reported(0.0))})

    @property
    def _encoded(self) -> Encoded:
        """This row alone."""
        one, encoded = slice(self.row, self.row + 1), self.advice.encoded
        return Encoded(encoded.values[one], encoded.observed[one], encoded.flags[one])

    @property
    def subject(self) -> Subject:
        """The encoded record with everything that was known when it was decided."""
        advice, row = self.advice, self.row
        return Subject(
            chooser=advice.chooser.for_row(row),
            row=row,
            values=advice.encoded.values[row],
            observed=advice.encoded.observed[row],
            scored=Scored(*(part[row] for part in advice.scored)),
            action=self.action,
            chosen=int(advice.chosen[row]),
            permitted=advice.permitted[row],
            supported=Supported(*(part[0] for part in advice.chooser.supported(self._encoded))),
            status=self.status,
            flags=self.flags,
            guaranteed_reward=self.guaranteed_reward,
            measuring=advice.measuring,
        )

    def explain(self, label: str | None = None) -> Explanation:
        """All prices, what the decision rests on, and the most likely and the worst plausible completion in the table's
        own words. `label` says whose case it is, e.g. "patient 0017"."""
        return explain(self.subject, label)


def _statuses(chooser: Chooser, encoded: Encoded, scored: Scored, choice: Choice) -> list[Status]:
    """The most serious of what there is to say about each row."""
    gaps = ~encoded.observed.all(axis=1)
    status = np.full(len(encoded.flags), Status.OK, dtype=object)
    status[choice.closed >= 0] = Status.NEXT_BEST
    status[gaps & (scored.effective < FEW_COMPLETIONS)] = Status.FEW_COMPLETIONS
    if chooser.strategy.needs_worst_case:
        status[gaps & (scored.plausible == 0)] = Status.ONLY_MOST_LIKELY
    status[~encoded.observed.any(axis=1)] = Status.NOTHING_OBSERVED
    status[choice.outcome == Outcome.NOT_ALLOWED] = Status.NOT_ALLOWED
    status[choice.outcome == Outcome.NOT_SUPPORTED] = Status.NOT_SUPPORTED
    status[choice.outcome == Outcome.BELOW_FLOOR] = Status.BELOW_FLOOR if chooser.fallback is None else Status.FALLBACK
    return status.tolist()


def _with_closed_actions(chooser: Chooser, encoded: Encoded, choice: Choice) -> list[str]:
    """The rows' flags, with the action that would have been chosen had cases like this one got it more often."""
    flags, propensity = list(encoded.flags), chooser.supported(encoded).propensity
    logged, support = chooser.fitted.logging_policy, chooser.support
    for row in np.flatnonzero(choice.closed >= 0):
        assert logged is not None  # otherwise nothing is closed
        assert support is not None
        remark = closed_words(logged, support, chooser.fitted.action_labels, choice.closed[row], propensity[row])
        flags[row] = "; ".join(filter(None, [flags[row], remark]))
    return flags


def _plain(numbers: np.ndarray) -> list[float | None]:
    return [plain_number(number) for number in numbers]
