"""Every method of the field: ours as it comes, and what people use today, with settings that it chooses on the log."""

from typing import Any

import numpy as np
import polars as pl

import prudent
from benchmarks.field.scoring import Choose
from experiments.rivals.actions import (
    ActionAsFeature,
    Boosting,
    ChainedImputation,
    ChainedPolicyForest,
    Forest,
    Linear,
    LoggedDecisions,
    PerAction,
    PerpetualPolicy,
    Rival,
)

RIVALS: dict[str, Rival] = {  # "per action": a regression for each; otherwise the action is one of its features
    "boosting per action": Boosting(PerAction(), stages=(25, 50, 100, 200)),
    "boosting": Boosting(ActionAsFeature(), stages=(50, 100, 200, 400, 800)),
    "forests per action": Forest(PerAction()),
    "forest": Forest(ActionAsFeature()),
    "MICE forests per action": Forest(PerAction(), ChainedImputation()),
    "MICE forest": Forest(ActionAsFeature(), ChainedImputation()),
    "ridge per action": Linear(PerAction()),
    "MICE policy forest": ChainedPolicyForest(),
    "perpetual": PerpetualPolicy(),
    "perpetual, doubly robust": PerpetualPolicy("aipw"),
}
TWO_ACTIONS = ("perpetual", "perpetual, doubly robust")
"""Rivals for logs of two actions only."""
OURS = "prudent"
"""Variants of ours have names that begin with it."""


def ours(log: prudent.Log, cases: pl.DataFrame) -> Any:
    """prudent with no options at all."""
    return prudent.CausalPVAE().fit(log, seed=0, progress=False).policy().recommend(cases).actions


def by(rival: Rival) -> Choose:
    """A rival as a method of the field: it sees numbers, codes of categories and NaN in the gaps."""

    def choose(log: prudent.Log, cases: pl.DataFrame) -> Any:
        asked = log.schema.encode(cases)
        values, new = (np.where(part.observed, part.values, np.nan) for part in (log, asked))
        labelled = np.array([column.likelihood == "categorical" for column in log.schema.columns])
        logged = LoggedDecisions.of(values, labelled, log.actions, log.rewards, len(log.action_labels))
        return [log.action_labels[at] for at in rival.fit(logged, seed=0).predict(new)]

    return choose


METHODS: dict[str, Choose] = {OURS: ours} | {name: by(rival) for name, rival in RIVALS.items()}


def methods_for(actions: int) -> list[str]:
    """The methods that can choose among so many actions."""
    return [name for name in METHODS if actions == 2 or name not in TWO_ACTIONS]
