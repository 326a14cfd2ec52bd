"""A fitted model: what it learnt, with the columns and labels of the table it learnt from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from prudent.decide import MaximumExpectedReward, Model, Policy, Search, Strategy, Support
from prudent.errors import InputProblem, require
from prudent.models.fit_report import FitReport
from prudent.models.reference import Reference
from prudent.models.storage import settings_to_json, write_folder
from prudent.propensity import LoggingPolicy
from prudent.show import model_fragment, plain_types
from prudent.table import LABELLED, ActionLabel, Log, Roles, Schema

OPTIONAL_ROLES = ("propensity", "group", "censored")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the schema and actions of its log. Only a fitted model has a policy.

    A model that you wrote yourself is wrapped in the same way: anything with `complete` and `price`, see
    `prudent.decide.Model`.
    """

    model: Model
    settings: Any
    schema: Schema
    action_labels: tuple[ActionLabel, ...]
    minimize: bool
    report: FitReport
    roles: Roles = Roles()
    fingerprints: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Of the rows it was fitted on, sorted: so that an evaluation on the same rows can be refused."""
    logging_policy: LoggingPolicy | None = None
    """Which actions the log's cases got, for `prudent.decide.Support`; None opens every action to every case."""
    origin: float = 0.0
    """What the model measures rewards from, in the internal sign: not zero where they lie far from it, since numbers
    of seven digits, in which a model computes, could not tell actions apart there."""
    groups: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the rows it was fitted on, such as their patients, sorted; hashes, see `Log.groups`."""
    reference: Reference | None = None
    """What the cases looked like that it was fitted on, so that drift of later ones can be seen."""

    @classmethod
    def of(
        cls, settings: Any, log: Log, model: Model, report: FitReport, support: bool = True, origin: float = 0.0
    ) -> "Fitted":
        """support: whether to learn which actions like cases got."""
        logged = LoggingPolicy.fit(log) if support else None
        if logged is not None:
            report = replace(report, notes=(*report.notes, *logged.overlap(log).verdicts))
        facts = log.schema, log.action_labels, log.minimize, report, log.roles, np.sort(log.fingerprints())
        return cls(model, settings, *facts, logged, origin, _named_groups(log), Reference.of(log))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that hold labels: read from a csv file, they stay text, so that 007 is not 7."""
        labelled = tuple(column.name for column in self.schema.columns if column.kind in LABELLED)
        return (
            (*labelled, self.roles.action) if any(isinstance(label, str) for label in self.action_labels) else labelled
        )

    def read(self, frame: Any, **columns: str | None) -> Log:
        """Read another table of decisions, e.g. held-out ones, with the columns and actions of the model's log.

        columns: where the propensity, the group or whether the outcome is censored stands elsewhere in this table, or
            nowhere, as in `group=None`.
        """
        for name in columns:
            require(name in OPTIONAL_ROLES, "Fitted.read", "columns", f"be among {', '.join(OPTIONAL_ROLES)}", name)
        roles = replace(self.roles, **columns)
        return Log.from_frame(
            frame,
            action=roles.action,
            reward=roles.reward,
            propensity=roles.propensity,
            group=roles.group,
            censored=roles.censored,
            missing=roles.missing_values(),
            minimize=self.minimize,
            schema=self.schema,
            action_labels=self.action_labels,
        )

    @property
    def sign(self) -> float:
        """1 where a higher reward is better, -1 where a lower one is: internal rewards times this are the user's."""
        return -1.0 if self.minimize else 1.0

    def reported(self, rewards: Any) -> Any:
        """The model's rewards in the units and the sign of the log's reward column."""
        return self.sign * (np.asarray(rewards, np.float64) + self.origin)

    def internal(self, reward: float) -> float:
        """A reward of the user's as the model measures it."""
        return self.sign * reward - self.origin

    def policy(
        self,
        strategy: Strategy | None = None,
        *,
        completions: int = 256,
        floor: float | None = None,
        fallback: ActionLabel | None = None,
        doubt: float = 0.0,
        noise: float = 0.0,
        costs: Mapping[ActionLabel, float] | None = None,
        support: Support | None = Support(),
        search: Search | None = None,
        seed: int = 0,
    ) -> Policy:
        """Choose by `strategy` (default: the highest expected reward); the options are those of `prudent.Policy`."""
        return Policy(
            self,
            MaximumExpectedReward() if strategy is None else strategy,
            completions=completions,
            floor=floor,
            fallback=fallback,
            doubt=doubt,
            noise=noise,
            costs=costs,
            support=support,
            search=search,
            seed=seed,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a folder; a crash in the middle leaves the old one, or none."""
        stored_as = getattr(self.settings, "stored_as", None)
        if stored_as is None:
            kind = type(self.settings).__name__
            raise InputProblem(f"Only models of prudent can be saved; {kind} is not one. Keep it in Python.")
        description = {
            "model": stored_as,
            "settings": settings_to_json(self.settings),
            "schema": self.schema.to_json(),
            "action_labels": list(self.action_labels),
            "minimize": self.minimize,
            "origin": self.origin,
            "report": asdict(self.report),
            "roles": asdict(self.roles),
            "reference": None if self.reference is None else asdict(self.reference),
        }
        write_folder(path, description, self.model, self.fingerprints, self.logging_policy, self.groups)

    def summary(self) -> dict[str, Any]:
        """What it learnt from and what the log decided, in plain values. It holds no row."""
        columns = [{"name": one.name, "kind": one.kind, "shows": one.description} for one in self.schema.columns]
        return {
            "model": type(self.settings).__name__,
            "columns": columns,
            "actions": list(self.action_labels),
            "action_name": self.roles.action,
            "reward_name": self.roles.reward,
            "minimize": self.minimize,
            "report": plain_types(self.report),
        }

    def _repr_html_(self) -> str:
        return model_fragment(self.summary())

    def __repr__(self) -> str:
        return (
            f"<fitted {type(self.settings).__name__}: {len(self.schema)} attributes, "
            f"{len(self.action_labels)} actions, "
            f"{self.report.rewarded} decisions with outcome>"
        )


def _named_groups(log: Log) -> np.ndarray:
    """Those that other rows may belong to: a row with an empty cell is alone in its group."""
    groups = np.zeros(0, np.int64) if log.groups is None else np.unique(log.groups)
    return groups[groups >= 0]
