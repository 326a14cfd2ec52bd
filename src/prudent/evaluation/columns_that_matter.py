"""Which columns matter: for the decision, and for what the decisions are worth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.decide import Policy
from prudent.errors import Rule, check, instance, is_whole, number, whole
from prudent.evaluation.decisions import MaskedPolicy, differing_rows
from prudent.evaluation.evaluating import evaluate
from prudent.evaluation.intervals import Estimate, Interval, Student
from prudent.evaluation.row_terms import Terms
from prudent.evaluation.tails import as_share
from prudent.models import align_log
from prudent.propensity import Propensity
from prudent.show import Picture, columns_picture, columns_text, plain_types
from prudent.table import Log, count_groups

WHOLE = "every column"
MOST_ROWS = 2_000

_RULES = {
    "policy": instance(Policy, "a policy of a fitted model"),
    "log": instance(Log, "a Log, read with fitted.read(frame)"),
    "interval": instance(Interval, "an interval, e.g. Bootstrap()"),
    "confidence": number(0, 1, "()"),
    "most_rows": Rule("be a whole number of at least 2", lambda rows: is_whole(rows, 2)),
    "seed": whole(),
}


@dataclass(frozen=True)
class HiddenColumn:
    """What becomes of the decisions when a column is hidden from the policy.

    known: the share of the rows in which the column has a value. changed: the share of all rows that get another
    action. loss: how much worse the outcomes become, on average over all rows; positive where the column helps, whether
    the reward is to be high or low.
    """

    column: str
    known: float
    changed: Estimate
    loss: Estimate


@dataclass(frozen=True)
class ColumnsThatMatter:
    """Every column of a policy's model, hidden by itself; those that change most decisions come first.

    A column that others can stand in for changes little when it alone is hidden: the model completes it from them.
    """

    columns: tuple[HiddenColumn, ...]
    rows: int
    confidence: float
    policy: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return plain_types(vars(self))

    def picture(self) -> Picture:
        """Both shares and losses, with their intervals."""
        return columns_picture(self.to_dict())

    def _repr_svg_(self) -> str:
        return self.picture().svg()

    def __str__(self) -> str:
        return columns_text(self.to_dict())


def columns_that_matter(
    policy: Policy,
    log: Log,
    *,
    propensity: Propensity | None = None,
    interval: Interval = Student(),
    confidence: float = 0.95,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
) -> ColumnsThatMatter:
    """Hide every column by itself, and see which decisions change and what that costs on later decisions.

    log: decisions that the model was not fitted on, as for `evaluate`. most_rows: with more rows, that many of them at
        random are used, since every column is decided anew.
    """
    check("columns_that_matter", _RULES, locals())
    log = align_log(log, policy.fitted)
    log = log.take(np.flatnonzero(log.followed))
    if len(log) > most_rows:
        log = log.take(np.sort(np.random.default_rng(seed).permutation(len(log))[:most_rows]))
    known = log.observed.mean(axis=0)
    names = [name for name, share in zip(log.schema.names, known, strict=True) if share > 0]
    hidden = {name: _without(policy, log, name) for name in names}
    evaluation = evaluate(
        {WHOLE: policy, **{_label(name): masked for name, masked in hidden.items()}},
        log,
        propensity=propensity,
        interval=interval,
        confidence=confidence,
        seed=seed,
    )
    found = []
    for name in names:
        whole, without = evaluation.probabilities[WHOLE], evaluation.probabilities[_label(name)]
        changed = differing_rows(whole, without, log.actions).astype(float)
        (share,) = interval.estimates([Terms.mean(changed).by_group(log.groups)], confidence=confidence)
        alone = count_groups(log.groups) if share.error == 0 else None
        share = as_share(share, len(log) if alone is None else alone, confidence)
        gain = evaluation.difference(WHOLE, _label(name))
        share_known = float(known[log.schema.names.index(name)])
        found.append(HiddenColumn(name, share_known, share, gain.negated() if log.minimize else gain))
    found.sort(key=lambda one: (-one.changed.value, -one.loss.value))
    return ColumnsThatMatter(tuple(found), len(log), confidence, str(policy.strategy), evaluation.notes)


def _label(column: str) -> str:
    return f"without '{column}'"


def _without(policy: Policy, log: Log, column: str) -> MaskedPolicy:
    shown = np.ones_like(log.observed)
    shown[:, log.schema.names.index(column)] = False
    return MaskedPolicy(policy, shown)
