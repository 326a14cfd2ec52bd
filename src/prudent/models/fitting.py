"""Fitting: from settings and a log to a fitted model, or from many logs to one model each in a single program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
import polars as pl
from jaxtyping import PRNGKeyArray

from prudent.errors import TRUTH, InputProblem, Rule, check, instance, whole
from prudent.models.fitted import Fitted
from prudent.models.training_data import FEWEST_ROWS, RewardScale, require_fittable
from prudent.networks import Loss, Members, Trained, Training, quasi_random, train
from prudent.progress import Progress, reporting, tracked, working
from prudent.propensity import Censoring, FittedPropensity
from prudent.table import Log, Schema


class Prepared(NamedTuple):
    """A log ready for training: columns by row, the scale of its rewards, and the propensity that weights them.

    choices: what the log has decided about the settings, in sentences. support: whether the fitted model also learns
    which actions like cases got, see `prudent.decide.Support`. origin: what rewards are measured from. censoring: how
    likely it was to see each outcome, where some are censored.
    """

    columns: dict[str, np.ndarray]
    scale: RewardScale
    propensity: FittedPropensity | None
    choices: tuple[str, ...] = ()
    support: bool = True
    origin: float = 0.0
    censoring: Censoring | None = None


@runtime_checkable
class Settings(Protocol):
    """What the settings of a model must provide so that it can be fitted."""

    @property
    def members(self) -> int: ...

    @property
    def samples(self) -> int: ...

    @property
    def training(self) -> Training: ...

    @property
    def loss(self) -> Loss: ...

    def network(self, schema: Schema, actions: int, key: PRNGKeyArray) -> Any: ...

    def draw_size(self, schema: Schema) -> int:
        """The number of uniforms that one sample of the bound needs."""
        ...

    def prepare(self, log: Log, seed: int) -> Prepared: ...

    def decided(self, log: Log, prepared: Prepared, seed: int) -> tuple[Any, tuple[str, ...]]:
        """The settings with what the log decides about them, and a sentence for each decision."""
        ...

    def start(self, logs: Sequence[Log], prepared: Sequence[Prepared], seed: int) -> Callable[[Members], Members]:
        """A function that gives new networks (`members` for each log) their starting values."""
        ...

    def finish(self, log: Log, prepared: Prepared, trained: Trained, seed: int) -> Fitted: ...


@dataclass(frozen=True)
class NetworkOf:
    """Makes untrained networks. Equal settings and schemas make equal ones, so that a program is compiled once."""

    settings: Settings
    schema: Schema
    actions: int

    def __call__(self, key: PRNGKeyArray) -> Any:
        return self.settings.network(self.schema, self.actions, key)


_FIT_RULES: dict[str, Rule] = {"seed": whole()}
_FIT_MANY_RULES: dict[str, Rule] = {
    "settings": instance(Settings, "a CausalPVAE, SPVAE or CPVAE, e.g. CausalPVAE(members=1)"),
    "seed": whole(),
    "support": TRUTH,
}


def fit_one(settings: Settings, log: Log, seed: int, progress: Progress) -> Fitted:
    check("fit", _FIT_RULES, {"seed": seed})
    require_fittable(log)
    began = monotonic()
    with reporting(progress):
        prepared = settings.prepare(log, seed)
        settings, choices = settings.decided(log, prepared, seed)
        prepared = prepared._replace(choices=choices)
        trained = _train(settings, [log], [prepared], seed, began, data=prepared.columns)
        with working("uncertainty of the prices"):
            return settings.finish(log, prepared, trained, seed)


def fit_many(
    settings: Any, logs: Sequence[Log], seed: int = 0, progress: Progress = None, support: bool = True
) -> list[Fitted]:
    """A model for each log, all trained side by side in one program: for simulation studies and their replications.

    settings: a `CausalPVAE`, `SPVAE` or `CPVAE`. The logs must have one schema, the same actions and the same number of
    rows. Much faster than fitting one after the other, above all on a GPU; takes the memory of all logs together,
    `members` times. support: learn for each log which actions like cases got; without, which is faster in wide tables,
    every action is open to every case.
    """
    check("fit_many", _FIT_MANY_RULES, {"settings": settings, "seed": seed, "support": support})
    logs, began = list(logs), monotonic()
    _require_alike(logs)
    with reporting(progress):
        return _fit_alike(settings, logs, seed, began, support)


def _fit_alike(settings: Settings, logs: Sequence[Log], seed: int, began: float, support: bool) -> list[Fitted]:
    prepared = [settings.prepare(log, seed) for log in logs]
    settings, choices = settings.decided(logs[0], prepared[0], seed)  # one program for all: the first decides
    prepared = [ready._replace(choices=choices, support=support) for ready in prepared]
    columns = [ready.columns for ready in prepared]
    members = settings.members
    per_member = {name: np.repeat(np.stack([each[name] for each in columns]), members, axis=0) for name in columns[0]}
    trained = _train(settings, logs, prepared, seed, began, per_member=per_member)
    parts = [_members(trained, slice(at * members, (at + 1) * members)) for at in range(len(logs))]
    return [
        settings.finish(logs[at], prepared[at], parts[at], seed)
        for at in tracked(len(logs), "uncertainty of the prices")
    ]


def _require_alike(logs: Sequence[Log]) -> None:
    """Refuse logs that one program cannot learn from side by side."""
    if not logs:
        raise InputProblem("fit_many needs at least one log. Got none.")
    for log in logs:
        require_fittable(log)
    first = logs[0]
    for number, log in enumerate(logs, start=1):
        alike = log.schema == first.schema and log.action_labels == first.action_labels and len(log) == len(first)
        if not alike:
            raise InputProblem(
                f"The logs of fit_many must have one schema, the same actions and the same number of rows, and log "
                f"{number} differs from log 1; read them all with the schema and action_labels of the first."
            )
        if not _same_groups(log, first):
            raise InputProblem(
                f"The logs of fit_many hold out the same rows, and the groups of log {number} are not those of log 1; "
                "fit the logs one by one."
            )
    shared = int(_rewarded_in_all(logs).sum())
    if shared < FEWEST_ROWS:
        raise InputProblem(
            f"The logs of fit_many hold out the same rows, and only {shared} rows have an action and a reward in all "
            f"of them; at least {FEWEST_ROWS} are needed. Fit the logs one by one."
        )


def _same_groups(log: Log, other: Log) -> bool:
    if log.groups is None or other.groups is None:
        return log.groups is other.groups
    return np.array_equal(log.groups, other.groups)


def _rewarded_in_all(logs: Sequence[Log]) -> np.ndarray:
    return np.all([log.rewarded for log in logs], axis=0)


def _train(
    settings: Settings,
    logs: Sequence[Log],
    prepared: Sequence[Prepared],
    seed: int,
    began: float,
    data: dict[str, np.ndarray] | None = None,
    per_member: dict[str, np.ndarray] | None = None,
) -> Trained:
    schema, actions, training = logs[0].schema, len(logs[0].action_labels), settings.training
    start = settings.start(logs, prepared, seed)
    if training.seconds is not None:  # what was done before counts too
        training = replace(training, seconds=max(training.seconds - (monotonic() - began), 1e-3))
    return train(
        NetworkOf(settings, schema, actions),
        settings.loss,
        data or {},
        points=quasi_random(settings.samples, settings.draw_size(schema), seed),
        training=training,
        members=settings.members * len(logs),
        seed=seed,
        may_hold_out=_rewarded_in_all(logs),  # all logs hold out the same rows
        records=record_hashes(logs[0]),
        groups=logs[0].groups,
        per_member=per_member,
        start=start,
    )


def _members(trained: Trained, members: slice) -> Trained:
    arrays = jax.tree.map(lambda leaf: leaf[members], trained.networks.arrays)
    networks = Members(arrays, trained.networks.shared)
    return Trained(networks, trained.history[:, members], trained.best_round[members], trained.held_out, trained.cut)


def record_hashes(log: Log) -> np.ndarray:
    """A number per row that equal records share: they are held out together, so that none is judged by its twin."""
    cells = pl.DataFrame(np.where(log.observed, log.values, np.float32(np.nan)))
    return cells.hash_rows().to_numpy()
