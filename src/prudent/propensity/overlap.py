"""Overlap: which actions, and for which rows, the log has evidence about."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from prudent.show import plain_types
from prudent.table import ActionLabel, group_codes

OUTSIDE_SUPPORT = 0.01  # below one in a hundred the log has next to no evidence about a treatment for such a row
ROWS_LIKE_IT = 50  # rewards of an action that tell it for one kind of case
FEW_ROWS = 30  # with fewer rows an action's mean reward is anecdotal
FEWEST_ROWS = 5  # with fewer, one lucky reward makes it
MOST_SEPARATE = 5  # actions that get a sentence each


def least_propensity(actions: int, rows: int) -> float:
    """The share of similar cases that must have got an action for a log to tell its reward for such a case.

    So many that fifty rows of a log of nothing but such cases would have it: one in fifty up to 2,500 rows, one in two
    hundred from 10,000 on. With many actions a fifth of an equal share, so that no case is left without any.

    >>> least_propensity(2, 1000), least_propensity(2, 5000), least_propensity(2, 10**6), least_propensity(100, 1000)
    (0.02, 0.01, 0.005, 0.002)
    """
    return min(0.02, max(ROWS_LIKE_IT / max(rows, 1), 0.005), 0.2 / actions)


def least_rows(rewarded: int, actions: int) -> int:
    """The rewards that the log must have of an action; in a small log half of an equal share, but always some.

    >>> least_rows(1000, 3), least_rows(60, 3), least_rows(120, 87)
    (30, 10, 5)
    """
    return min(FEW_ROWS, max(FEWEST_ROWS, int(rewarded / actions / 2)))


@dataclass(frozen=True)
class ActionOverlap:
    """How well the log covers one action.

    `smallest` and `first_percentile` are of the action's probability over every row (over the rows that took it when
    only logged probabilities are known). `effective_sample_size` is (Σw)²/Σw² over the rows that took it, w being the
    inverse of its probability. `rows_outside` counts the rows whose probability of this action is below
    `least_propensity` (again, only rows that took it when nothing else is known): there its reward is
    extrapolated, not learnt.
    """

    action: ActionLabel
    count: int
    smallest: float
    first_percentile: float
    effective_sample_size: float
    rows_outside: int


@dataclass(frozen=True)
class Overlap:
    """Which actions and rows the log has evidence about; `verdicts` says it in sentences.

    `rows_outside` counts rows outside common support: some action of the log has a probability below
    `least_propensity` there.
    """

    rows: int
    actions: tuple[ActionOverlap, ...]
    effective_sample_size: float
    rows_outside: int
    verdicts: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain types for JSON; a number that does not exist is None."""
        return plain_types(self)


def measure_overlap(
    taken: np.ndarray, probabilities: np.ndarray | None, actions: np.ndarray, labels: Sequence[ActionLabel]
) -> Overlap:
    """The overlap of a log, from the fields of a `FittedPropensity`."""
    per_action, least = [], least_propensity(len(labels), int((actions >= 0).sum()))
    for index, label in enumerate(labels):
        of_takers = taken[actions == index]
        known = of_takers if probabilities is None else probabilities[:, index]
        per_action.append(_action_overlap(label, of_takers, known, least))
    known = taken[:, None] if probabilities is None else probabilities
    rows, outside = int((actions >= 0).sum()), int((known < least).any(axis=1).sum())
    effective = effective_sample_size(1 / taken[actions >= 0])
    return Overlap(
        rows, tuple(per_action), effective, outside, _verdicts((rows, len(taken)), per_action, effective, least)
    )


def _action_overlap(label: ActionLabel, of_takers: np.ndarray, known: np.ndarray, least: float) -> ActionOverlap:
    """From an action's probability in the rows that took it, and in all rows where it is known."""
    return ActionOverlap(
        action=label,
        count=len(of_takers),
        smallest=float(known.min()) if len(known) else math.nan,
        first_percentile=float(np.quantile(known, 0.01)) if len(known) else math.nan,
        effective_sample_size=effective_sample_size(1 / of_takers),
        rows_outside=int((known < least).sum()),
    )


def effective_sample_size(weights: np.ndarray, groups: np.ndarray | None = None) -> float:
    """How many equally weighted rows would be as informative: (Σw)² / Σw²; 0 where all weights are 0.

    groups: count groups of rows rather than rows, as if the rows of a group said all the same.
    """
    if groups is not None:
        weights = np.bincount(group_codes(groups)[0], weights)
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _verdicts(
    counts: tuple[int, int], actions: Sequence[ActionOverlap], effective: float, least: float
) -> tuple[str, ...]:
    """counts: the rows with an action, and all."""
    rows, all_rows = counts
    needed, few = least_rows(rows, len(actions)), [overlap for overlap in actions if overlap.count < FEW_ROWS]
    together = len(few) > MOST_SEPARATE
    sentences = [_few_rows(few, len(actions), needed)] if together else []
    for overlap in actions:
        if not (together and overlap in few):
            sentences += _action_verdicts(overlap, all_rows, least, needed)
    if effective < rows / 2:
        sentences.append(
            f"Weighted by inverse propensity, the {rows} rows with an action have an effective sample size of about "
            f"{effective:.0f}: expect wide intervals."
        )
    return tuple(sentences) or (
        "Every action was taken often enough in all kinds of cases that the log distinguishes.",
    )


def _few_rows(few: Sequence[ActionOverlap], actions: int, needed: int) -> str:
    """In one sentence for many actions; none of those with fewer rows than are `needed` is recommended."""
    closed = [overlap for overlap in few if overlap.count < needed]
    shown = ", ".join(f"'{overlap.action}' ({overlap.count})" for overlap in few[:MOST_SEPARATE])
    consequence = f"; the {len(closed)} with fewer than {needed} rows are not recommended by default" if closed else ""
    return (
        f"{len(few)} of {actions} actions were taken in fewer than {FEW_ROWS} rows each, as {shown} and others: "
        f"estimates of their rewards rest on very little{consequence}."
    )


def _action_verdicts(overlap: ActionOverlap, all_rows: int, least: float, needed: int) -> Iterator[str]:
    if overlap.count < FEW_ROWS:
        times = "1 row" if overlap.count == 1 else f"{overlap.count} rows"
        consequence = f": with fewer than {needed} it is not recommended by default" if overlap.count < needed else ""
        yield (
            f"Action '{overlap.action}' was taken in {times} only, so estimates of its reward rest on very little"
            f"{consequence}."
        )
    elif overlap.effective_sample_size < max(FEW_ROWS, overlap.count / 4):
        yield (
            f"Action '{overlap.action}' was taken in {overlap.count} rows, but a few unusual ones carry most of the "
            f"weight: the effective sample size is about {overlap.effective_sample_size:.0f}."
        )
    if overlap.rows_outside > 0.05 * all_rows:
        yield (
            f"For {overlap.rows_outside} of {all_rows} rows action '{overlap.action}' was almost never taken in similar"
            f" cases (probability below {least:.3g}): its reward there is extrapolated, and it is "
            "not recommended to them."
        )
