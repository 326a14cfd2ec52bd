"""Cross-fitting: fit several times, each time without a part of the log, and evaluate on the whole log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.decide import Policy, Strategy
from prudent.errors import InputProblem, Rule, check, instance, require, whole
from prudent.evaluation.usable_rows import groups_seen, rows_seen
from prudent.models import Fitted, align_log
from prudent.progress import tracked
from prudent.table import Log, count_groups, deal_groups

_RULES = {
    "settings": Rule("be a model to fit, e.g. CausalPVAE()", lambda settings: hasattr(settings, "fit")),
    "log": instance(Log, "a Log with a row per fold"),
    "folds": whole(2),
    "seed": whole(),
}


def cross_fit(settings: Any, log: Log, *, folds: int = 5, seed: int = 0) -> "CrossFitted":
    """Fit a model `folds` times, each without one fold of the log's rows.

    The rows of a group are in one fold. Its policies can be evaluated on the whole log: every row is decided and priced
    by the model that has not seen it. This evaluates the learning method, on a little less data than there is; to act,
    fit on all of it.
    """
    check("cross_fit", _RULES, locals())
    require(len(log) >= folds, "cross_fit", "log", "have a row per fold", log)
    fold = _folds(log, folds, seed)
    parts = tracked(folds, "fitting without one part")
    return CrossFitted(tuple(settings.fit(log.take(fold != held), seed=seed) for held in parts))


def _folds(log: Log, folds: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if log.groups is not None:
        count = count_groups(log.groups)
        require(count is not None and count >= folds, "cross_fit", "log", "have a group per fold", count)
        return deal_groups(log.groups, folds, random)
    # identical rows stay in one fold, so that none is evaluated by a model that saw its copy
    marks = np.zeros(len(log), np.uint64)
    marks[log.rewarded] = log.fingerprints()
    marks[~log.rewarded] = np.arange(int((~log.rewarded).sum()), dtype=np.uint64)
    _, group = np.unique(marks, return_inverse=True)
    return (random.permutation(int(group.max()) + 1) % folds)[group]


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Models fitted without one fold each; see `cross_fit`."""

    models: tuple[Fitted, ...]

    def policy(self, strategy: Strategy | None = None, **options: Any) -> "CrossFittedPolicy":
        """The policy of each model by the same strategy; options as in `prudent.Policy`."""
        return CrossFittedPolicy(self, tuple(model.policy(strategy, **options) for model in self.models))

    def unseen(self, log: Log) -> np.ndarray:
        """For each row, the index of the first model that has not seen it."""
        seen = np.stack([self._seen(model, align_log(log, model)) for model in self.models])
        if seen.all(axis=0).any():
            raise InputProblem(
                "Every fold's model has seen some of these rows; evaluate on the log that was cross-fitted, or on "
                "decisions that none of them saw."
            )
        return np.argmin(seen, axis=0)

    @staticmethod
    def _seen(model: Fitted, log: Log) -> np.ndarray:
        known = rows_seen(model, log)
        if log.groups is None or not len(model.groups):
            return known
        return np.where(log.groups >= 0, groups_seen(model, log), known)  # without a group, a row speaks for itself


@dataclass(frozen=True, eq=False)
class CrossFittedPolicy:
    """A strategy on cross-fitted models, for evaluation: every row is decided by the model that has not seen it."""

    cross_fitted: CrossFitted
    policies: Sequence[Policy]
