"""Which attributes a decision rests on: each known cell is hidden once, and each gap has what knowing it is worth."""

from collections.abc import Sequence

import numpy as np

from prudent.decide.explanation.explanation import Change, Influence, Measurement
from prudent.decide.explanation.subject import Subject
from prudent.table import Encoded


def influences(
    subject: Subject, about: int, rival: int | None, measured: Sequence[Measurement], changes: Sequence[Change]
) -> tuple[float | None, tuple[Influence, ...]]:
    """By how much the action in question is ahead of its rival, and every attribute, the most influential first: those
    that may turn the decision, then by how much they move the lead or what knowing them is worth."""
    lead, known = _hidden(subject, about, rival)
    turned = {change.attribute: change.action for change in reversed(changes)}  # the likeliest is the first
    gaps = [
        Influence(
            gap.attribute,
            known=False,
            decides=gap.attribute in turned or gap.gain > 0,
            action=turned.get(gap.attribute),
            gain=gap.gain,
        )
        for gap in measured
    ]
    sized = [*known, *((gap, gap.gain or 0.0) for gap in gaps), *((gap, 0.0) for gap in _unvalued(subject, measured))]
    order = sorted(sized, key=lambda one: (not one[0].decides, -one[1]))
    return lead, tuple(influence for influence, _ in order)


def _unvalued(subject: Subject, measured: Sequence[Measurement]) -> list[Influence]:
    """Gaps of which nobody asked what knowing them is worth."""
    valued = {gap.attribute for gap in measured}
    names = subject.chooser.fitted.schema.names
    missing = [name for name, seen in zip(names, subject.observed, strict=True) if not seen]
    return [Influence(name, known=False) for name in missing if name not in valued]


def _hidden(subject: Subject, about: int, rival: int | None) -> tuple[float | None, list[tuple[Influence, float]]]:
    """The record as it is and once without each known cell, all as rows of one table: the lead, and every known
    attribute with how far the lead moves without it."""
    chooser, known = subject.chooser, np.flatnonzero(subject.observed)
    observed = np.tile(subject.observed, (len(known) + 1, 1))
    observed[np.arange(1, len(observed)), known] = False
    values = np.where(observed, subject.values[None, :], 0).astype(subject.values.dtype)
    encoded = Encoded(values, observed, [""] * len(observed))
    scored = chooser.score(encoded)
    claims = scored.scores if chooser.strategy.in_reward_units else scored.expected
    leads = claims[:, about] - (0.0 if rival is None else claims[:, rival])
    choice = chooser.choose(scored, encoded, np.tile(subject.permitted, (len(observed), 1)))
    given = chooser.labels(choice)
    names = chooser.fitted.schema.names
    hidden = [
        Influence(
            names[attribute],
            known=True,
            # a draw depends on the record's own bytes, so that another one says nothing about the attribute
            decides=not chooser.strategy.stochastic and given[row] != given[0],
            action=given[row],
            lead=None if rival is None else float(leads[row]),
        )
        for row, attribute in enumerate(known, 1)
    ]
    moved = np.abs(leads[1:] - leads[0]).tolist()
    return None if rival is None else float(leads[0]), list(zip(hidden, moved, strict=True))
