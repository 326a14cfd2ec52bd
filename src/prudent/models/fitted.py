"""A fitted model: what it learnt, and the words of the table it learnt from."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.log import ActionLabel, Log, Roles
from prudent.models.fitting import FitReport
from prudent.models.model import Model
from prudent.schema import Schema
from prudent.strategies import MaximumExpectedReward, Strategy

if TYPE_CHECKING:
    from prudent.frontier import Frontier
    from prudent.policy import Policy


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the schema and actions of its log. Only a fitted model has a policy.

    Wrap a model of your own the same way: anything with `complete` and `price` (see `prudent.models.model.Model`).
    """

    model: Model
    settings: Any
    schema: Schema
    action_labels: tuple[ActionLabel, ...]
    minimize: bool
    report: FitReport
    roles: Roles = Roles()
    fingerprints: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Of the rows it was fitted on, sorted: so that an evaluation on the same rows is noticed."""

    @classmethod
    def of(cls, settings: Any, log: Log, model: Model, report: FitReport) -> Fitted:
        seen = np.sort(log.fingerprints())
        return cls(model, settings, log.schema, log.action_labels, log.minimize, report, log.roles, seen)

    def read(self, frame: Any) -> Log:
        """Another table of decisions, e.g. held-out ones, read as the model's own log was."""
        own = self.roles
        return Log.from_frame(
            frame,
            action=own.action,
            reward=own.reward,
            propensity=own.propensity,
            minimize=self.minimize,
            schema=self.schema,
            action_labels=self.action_labels,
        )

    def policy(self, strategy: Strategy | None = None, **options: Any) -> Policy:
        """Choose by `strategy` (default: the highest expected reward); options as in `prudent.Policy`."""
        from prudent.policy import Policy

        return Policy(self, MaximumExpectedReward() if strategy is None else strategy, **options)

    def frontier(self, judged_on: Any, **options: Any) -> Frontier:
        """Mean reward against tail as strategies grow careful, on held-out decisions; see `prudent.frontier`."""
        from prudent.frontier import frontier

        return frontier(self, judged_on, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a folder; a crash in the middle leaves the old one, or none."""
        from prudent.storage import save

        save(self, path)

    def __repr__(self) -> str:
        return (
            f"<fitted {type(self.settings).__name__}: {len(self.schema)} attributes, "
            f"{len(self.action_labels)} actions, "
            f"{self.report.rewarded} decisions with outcome>"
        )
