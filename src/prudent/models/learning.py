"""From settings and a log to a fitted model; from many logs to as many, in one program."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
import polars as pl
from jaxtyping import PRNGKeyArray

from prudent.errors import InputProblem, require
from prudent.models.fitted import Fitted
from prudent.models.fitting import Progress, RewardScale, check_log
from prudent.networks import Loss, Members, Trained, Training, quasi_random, train
from prudent.propensity import FittedPropensity
from prudent.table import Log, Schema

FEWEST_SHARED = 20


class Prepared(NamedTuple):
    """A log as the loss sees it: columns by row, the scale of its rewards, and the propensity that weights them."""

    columns: dict[str, np.ndarray]
    scale: RewardScale
    propensity: FittedPropensity | None


@runtime_checkable
class Settings(Protocol):
    """What a model's settings say about learning it."""

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
        """How many uniforms a sample of the bound needs."""
        ...

    def prepare(self, log: Log, seed: int) -> Prepared: ...

    def start(self, logs: Sequence[Log], prepared: Sequence[Prepared], seed: int) -> Callable[[Members], Members]:
        """What new networks begin from, `members` for each log."""
        ...

    def finish(self, log: Log, prepared: Prepared, trained: Trained, seed: int) -> Fitted: ...


def fit_one(settings: Settings, log: Log, seed: int, progress: Progress | bool | None) -> Fitted:
    check_log(log, seed)
    prepared = settings.prepare(log, seed)
    trained = _train(settings, [log], [prepared], seed, progress, data=prepared.columns)
    return settings.finish(log, prepared, trained, seed)


def fit_many(
    settings: Any, logs: Sequence[Log], seed: int = 0, progress: Progress | bool | None = None
) -> list[Fitted]:
    """A model for each log, all trained side by side in one program: for simulation studies and their replications.

    settings: a `CausalPVAE` or a `CPVAE`. The logs must have one schema, the same actions and the same number of rows.
    Much faster than one after the other, above all on a GPU, and as large in memory as all logs together, `members`
    times.
    """
    able = isinstance(settings, Settings)
    require(able, "fit_many", "settings", "be a CausalPVAE or a CPVAE, e.g. CausalPVAE(members=1)", settings)
    logs = list(logs)
    if not logs:
        raise InputProblem("fit_many needs at least one log. Got none.")
    for log in logs:
        check_log(log, seed)
    first = logs[0]
    for at, log in enumerate(logs):
        same = log.schema == first.schema and log.action_labels == first.action_labels and len(log) == len(first)
        if not same:
            raise InputProblem(
                f"The logs of fit_many must have one schema, the same actions and the same number of rows, and log "
                f"{at + 1} differs from log 1; read them all with the schema and action_labels of the first."
            )
    shared = int(np.all([log.rewarded for log in logs], axis=0).sum())
    if shared < FEWEST_SHARED:
        raise InputProblem(
            f"The logs of fit_many hold out the same rows, and only {shared} rows have an action and a reward in all "
            f"of them; at least {FEWEST_SHARED} are needed. Fit the logs one by one."
        )
    prepared = [settings.prepare(log, seed) for log in logs]
    columns = [own.columns for own in prepared]
    own = {name: np.repeat(np.stack([log[name] for log in columns]), settings.members, axis=0) for name in columns[0]}
    trained = _train(settings, logs, prepared, seed, progress, own=own)
    return [
        settings.finish(log, one, _part(trained, slice(at * settings.members, (at + 1) * settings.members)), seed)
        for at, (log, one) in enumerate(zip(logs, prepared, strict=True))
    ]


def _train(
    settings: Settings,
    logs: Sequence[Log],
    prepared: Sequence[Prepared],
    seed: int,
    progress: Progress | bool | None,
    data: dict[str, np.ndarray] | None = None,
    own: dict[str, np.ndarray] | None = None,
) -> Trained:
    schema, actions = logs[0].schema, len(logs[0].action_labels)
    return train(
        partial(settings.network, schema, actions),
        settings.loss,
        data or {},
        points=quasi_random(settings.samples, settings.draw_size(schema), seed),
        training=settings.training,
        members=settings.members * len(logs),
        seed=seed,
        # rows that are held out are so for all
        may_hold_out=np.all([log.rewarded for log in logs], axis=0),
        records=_records(logs[0]),
        per_member=own,
        start=settings.start(logs, prepared, seed),
        progress=progress,
    )


def _part(trained: Trained, members: slice) -> Trained:
    arrays = jax.tree.map(lambda leaf: leaf[members], trained.networks.arrays)
    networks = Members(arrays, trained.networks.shared)
    return Trained(networks, trained.history[:, members], trained.best_round[members], trained.held_out)


def _records(log: Log) -> np.ndarray:
    """A number per row that equal records share: what was learnt of one must not be judged by its twin."""
    cells = pl.DataFrame(np.where(log.observed, log.values, np.float32(np.nan)))
    return cells.hash_rows().to_numpy()
