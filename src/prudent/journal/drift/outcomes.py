"""Comparing what was predicted with what was seen, and earlier advice with later."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from prudent.errors import is_number
from prudent.journal.cells import to_json
from prudent.journal.drift.comparison import Comparison, Subject
from prudent.journal.drift.two_samples import farther_than, mixes_differ, share_above
from prudent.journal.entry import Recorded
from prudent.show import percent, significant
from prudent.table import label_text

MARGIN = 0.35
"""Standard deviations by which predictions may be off on average without being called so: no model is exact, and the
action that looks best looks better than it is, by 0.3 in a clinic of nine doses with 2000 rows."""
OUTSIDE, MOST_OUTSIDE = 0.10, 0.15
"""The share of outcomes that are meant to lie outside their range, and what is still called so."""
REFERRED = "(referred)"
_BINS = 10


def compare_advice(earlier: Sequence[Recorded], later: Sequence[Recorded]) -> list[Comparison]:
    """Whether other actions are advised than before, referrals among them; each case counts once."""
    earlier, later = (list({to_json(one.entry.case): one for one in each}.values()) for each in (earlier, later))
    then, now = (Counter(_advised(one) for one in each) for each in (earlier, later))
    labels = sorted({*then, *now})
    if len(labels) < 2 or not earlier or not later:
        return []
    p = mixes_differ([then[label] for label in labels], [now[label] for label in labels], ordered=False)
    most = max(labels, key=lambda label: abs(now[label] / len(later) - then[label] / len(earlier)))
    words = [f"{most}: {percent(counts[most] / counts.total())}" for counts in (then, now)]
    return [Comparison(Subject.ADVICE, "", f"{words[0]} before", words[1], p)]


def _advised(one: Recorded) -> str:
    action = one.entry.advice["action"]
    return REFERRED if action is None else label_text(action)


def compare_outcomes(
    looked_at: Sequence[Recorded], earlier: Sequence[Recorded], later: Sequence[Recorded]
) -> list[Comparison]:
    """Of advice that was followed: outcomes against what was predicted, and whether errors have changed."""
    errors, before, now = (_errors(each) for each in (looked_at, earlier, later))
    if not len(errors):
        return []
    outside = [_is_outside(one) for one in looked_at if _followed(one)]
    found = [_level(errors), *_range([one for one in outside if one is not None])]
    if len(before) and len(now) and len(before) + len(now) >= 2 * _BINS:
        found.append(_change(before, now))
    return found


def _followed(one: Recorded) -> bool:
    advised = one.entry.advice["action"]
    known = one.reward_at is not None and one.action_taken is not None and advised is not None
    return known and label_text(one.action_taken) == label_text(advised)


def _number(one: Recorded, name: str) -> float:
    """A number of the advice; NaN where it has none."""
    number: Any = one.entry.advice.get(name)
    return float(number) if is_number(number) else math.nan


def _errors(recorded: Sequence[Recorded]) -> np.ndarray:
    followed = [one for one in recorded if _followed(one)]
    errors = np.array([one.reward for one in followed], float) - [_number(one, "expected_reward") for one in followed]
    return errors[np.isfinite(errors)]


def _level(errors: np.ndarray) -> Comparison:
    spread = float(errors.std())
    p = farther_than(errors, MARGIN * spread)
    off = f"on average {significant(float(errors.mean()))} off ({len(errors)} outcomes)"
    return Comparison(Subject.OUTCOME_LEVEL, "", f"at most {significant(MARGIN * spread)} off", off, p)


def _is_outside(one: Recorded) -> bool | None:
    low, high = _number(one, "outcome_low"), _number(one, "outcome_high")
    if one.reward is None or math.isnan(low) or math.isnan(high):
        return None
    return not low <= one.reward <= high


def _range(outside: Sequence[bool]) -> list[Comparison]:
    if not outside:
        return []
    share = sum(outside) / len(outside)
    p = share_above(sum(outside), len(outside), MOST_OUTSIDE)
    now = f"{percent(share)} of {len(outside)} outcomes"
    return [Comparison(Subject.OUTCOME_RANGE, "", f"about {percent(OUTSIDE)}", now, p)]


def _change(before: np.ndarray, now: np.ndarray) -> Comparison:
    edges = np.unique(np.quantile(np.concatenate([before, now]), np.arange(1, _BINS) / _BINS))
    counts = [np.bincount(np.searchsorted(edges, each), minlength=len(edges) + 1).tolist() for each in (before, now)]
    words = [f"{significant(float(each.mean()))} ± {significant(float(each.std()))}" for each in (before, now)]
    return Comparison(Subject.OUTCOME_CHANGE, "", f"{words[0]} before", words[1], mixes_differ(*counts, ordered=True))
