"""Columns that would not be known when deciding: the action or the outcome in disguise, or made after the decision."""

import re
from itertools import combinations

import numpy as np

from prudent.table.column_notes import option
from prudent.table.columns import LABELLED, Column
from prudent.table.finding import Finding
from prudent.table.log import Log
from prudent.table.one_column import (
    Windows,
    area_under_curve,
    auc_fit,
    average_ranks,
    class_accuracy,
    matched_share,
    rank_fit,
)
from prudent.table.repeated_rows import repetitions

AFTER = "made after the decision"
MOST_ROWS = 4000
FEWEST_ROWS = 30
FEWEST_OTHERS = 10
"""Rows outside the most frequent action or outcome that are needed before anything is said about it."""
MOST_LEVELS = 20
DECIDES = 0.97
SAME = 0.995
PREDICTS = 0.95
PART, MOST_PARTS = 0.3, 6  # R² of a column that may be a part of the outcome, and how many are tried in pairs
EXPECTED_IF_UNRELATED = 12.0
"""Cells that must be expected under an action before their absence means something: a chance of 1 in 160,000."""

_AFTERWARDS = re.compile(
    r"(?i)discharge|death|deceased|\bdied\b|readmi|mortality|follow.?up|length.of.stay|\blos\b|outcome|complication"
)
_PROPENSITY = re.compile(r"(?i)propensity|\bp ?score\b|\bps\b|logging prob|action prob|prob(ability)? of (the )?action")
_BEFORE = re.compile(r"(?i)prior|previous|before|history|family|father|mother|last|baseline|risk")
_DECISION_DATE = re.compile(
    r"(?i)admi|visit|decision|treat|enrol|baseline|index|inclusion|prescri|seen|aufnahme|encounter"
)


def leaks(log: Log) -> list[Finding]:
    """At most one finding per column; rows beyond a few thousand are sampled."""
    rows = np.flatnonzero(log.actions >= 0)
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    if len(rows) < FEWEST_ROWS:
        return []
    sample = log.take(rows)
    sample = sample.take(~repetitions(sample))  # in which any column would tell the action
    found = []
    for position, column in enumerate(log.schema.columns):
        values, observed = sample.values[:, position], sample.observed[:, position]
        finding = (
            _action_leak(column, values, observed, sample)
            or _outcome_leak(column, values, observed, sample)
            or _later_date(log, position)
            or _named_afterwards(column.name)
            or _propensity(column, values[observed], log)
        )
        found += [] if finding is None else [finding]
    return found + _parts_of_the_outcome(sample, {finding.column for finding in found})


# --- the action ---


def _action_leak(column: Column, values: np.ndarray, observed: np.ndarray, log: Log) -> Finding | None:
    actions, count = log.actions, len(log.action_labels)
    if len(actions) - np.bincount(actions, minlength=count).max() < FEWEST_OTHERS:
        return None
    action, name = log.roles.action, column.name
    if _is_relabelled(values, observed, actions):
        return Finding.to_ignore(name, "copy of the action", f"is the action '{action}' under another name")
    levels = _levels(values, observed)
    if levels is not None and _told_by(actions[observed], levels):
        seen = f"follows from the action '{action}': each action goes with one value of it"
        return Finding.to_ignore(name, "follows from the action", seen)
    only = _only_under_some_actions(observed, log)
    if only is not None:
        return Finding.to_ignore(name, AFTER, f"{only}, so it may be made after the decision", certain=False)
    accuracy = class_accuracy(Windows.of(values, observed), actions, count)
    if accuracy.skill >= DECIDES:
        seen = (
            f"decides the action '{action}': it alone tells the action in {_percent(accuracy.right)} of the rows "
            f"({_percent(accuracy.guessed)} by guessing), so it is made after the decision, or similar cases never got "
            "different actions"
        )
        return Finding.to_ignore(name, "decides the action", seen)
    return None


def _is_relabelled(values: np.ndarray, observed: np.ndarray, actions: np.ndarray) -> bool:
    if observed.sum() < max(FEWEST_ROWS, 0.5 * len(observed)):
        return False
    codes = np.unique(values[observed], return_inverse=True)[1]
    few = len(np.unique(codes)) <= 2 * len(np.unique(actions))
    return few and matched_share(codes, actions[observed]) >= SAME


def _levels(values: np.ndarray, observed: np.ndarray) -> np.ndarray | None:
    """Codes of a column that has few different values, and enough rows with another than the most frequent one."""
    present = values[observed]
    codes, counts = np.unique(present, return_inverse=True, return_counts=True)[1:] if len(present) else (present, [0])
    enough = len(present) >= max(FEWEST_ROWS, 0.5 * len(values)) and len(present) - max(counts) >= FEWEST_OTHERS
    return codes.reshape(-1) if enough and len(counts) <= MOST_LEVELS else None


def _told_by(groups: np.ndarray, levels: np.ndarray) -> bool:
    """Whether each group has one level only."""
    table = np.zeros((int(groups.max()) + 1, int(levels.max()) + 1))
    np.add.at(table, (groups, levels), 1)
    return float(table.max(axis=1).sum() / len(levels)) >= SAME


def _only_under_some_actions(observed: np.ndarray, log: Log) -> str | None:
    """Where a column is filled in under some actions, and never under others although many cells were expected."""
    rows = np.bincount(log.actions, minlength=len(log.action_labels))
    filled = np.bincount(log.actions[observed], minlength=len(rows))
    expected = rows * observed.mean()
    never = (filled <= 0.01 * rows) & (expected >= EXPECTED_IF_UNRELATED)
    if not never.any() or filled.sum() < FEWEST_OTHERS:
        return None
    names = ", ".join(f"'{log.action_labels[code]}'" for code in np.flatnonzero(never)[:3])
    return (
        f"is filled in for {filled[~never].sum()} of {rows[~never].sum()} rows with other actions, but for "
        f"{filled[never].sum()} of {rows[never].sum()} with {names}"
    )


# --- the outcome ---


def _outcome_leak(column: Column, values: np.ndarray, observed: np.ndarray, log: Log) -> Finding | None:
    known = log.rewarded
    if known.sum() < FEWEST_ROWS:
        return None
    rewards, values, observed = log.rewards[known], values[known], observed[known]
    outcomes, codes = np.unique(rewards, return_inverse=True)
    if len(outcomes) < 2 or len(rewards) - np.bincount(codes).max() < FEWEST_OTHERS:
        return None
    reward, name = log.roles.reward, column.name
    filled = _only_with_some_outcomes(observed, rewards)
    if filled is not None:
        seen = f"is filled in depending on '{reward}' (AUC {filled:.3f}), so it may be made after the decision"
        return Finding.to_ignore(name, AFTER, seen, certain=False)
    windows = Windows.of(values, observed)
    if len(outcomes) == 2:
        fit, measure = auc_fit(windows, codes.astype(float)), "AUC"
    else:
        fit, measure = rank_fit(windows, average_ranks(rewards)), "R²"
    if fit < PREDICTS:
        return _follows_from_outcome(name, reward, values, observed, rewards)
    seen = (
        f"predicts the outcome '{reward}' almost perfectly by itself ({measure} {fit:.3f}), as only the outcome could"
    )
    return Finding.to_ignore(name, "predicts the outcome", seen)


def _follows_from_outcome(
    name: str, reward: str, values: np.ndarray, observed: np.ndarray, rewards: np.ndarray
) -> Finding | None:
    """A column of a few levels, each of which goes with a range of the outcome: "improved", a grade of severity."""
    levels = _levels(values, observed)
    if levels is None:
        return None
    known = np.ones(int(observed.sum()), bool)
    accuracy = class_accuracy(Windows.of(rewards[observed], known), levels, int(levels.max()) + 1)
    if accuracy.skill < DECIDES:
        return None
    seen = f"follows from the outcome '{reward}', which alone tells it in {_percent(accuracy.right)} of the rows"
    return Finding.to_ignore(name, "follows from the outcome", seen)


def _parts_of_the_outcome(log: Log, known: set[str]) -> list[Finding]:
    """Two numbers that the outcome is made of, such as the two scores behind a total."""
    numbers = [
        at for at, column in enumerate(log.schema.columns) if column.kind not in LABELLED and column.name not in known
    ]
    rewards = np.where(log.rewarded, log.rewards, np.nan)
    fits = {at: _linear_fit(log, [at], rewards) for at in numbers}
    likely = sorted((at for at in numbers if fits[at] >= PART), key=lambda at: -fits[at])[:MOST_PARTS]
    for first, second in combinations(likely, 2):
        if _linear_fit(log, [first, second], rewards) >= SAME:
            names = [log.schema.names[at] for at in (first, second)]
            return [
                Finding.to_ignore(
                    name, "part of the outcome", f"and '{other}' together are the outcome '{log.roles.reward}'"
                )
                for name, other in (names, names[::-1])
            ]
    return []


def _linear_fit(log: Log, positions: list[int], rewards: np.ndarray) -> float:
    """R² of the outcome on a few columns, in the units of the table."""
    columns = [log.schema.columns[at] for at in positions]
    rows = log.observed[:, positions].all(axis=1) & ~np.isnan(rewards)
    if rows.sum() < max(FEWEST_ROWS, 0.5 * len(rows)) or any(column.kind == "date" for column in columns):
        return 0.0
    cells = [column.decode(log.values[rows, at]) for at, column in zip(positions, columns, strict=True)]
    table = np.column_stack([np.ones(int(rows.sum())), *(np.asarray(column, float) for column in cells)])
    rest = rewards[rows] - table @ np.linalg.lstsq(table, rewards[rows], rcond=None)[0]
    spread = float(np.var(rewards[rows]))
    return 1 - float(np.mean(rest**2)) / spread if spread > 0 else 0.0


def _only_with_some_outcomes(observed: np.ndarray, rewards: np.ndarray) -> float | None:
    few = min(int(observed.sum()), int((~observed).sum()))
    if few < FEWEST_OTHERS:
        return None
    area = area_under_curve(rewards, observed)
    return max(area, 1 - area) if max(area, 1 - area) >= PREDICTS else None


# --- time ---


def _later_date(log: Log, position: int) -> Finding | None:
    """A date that nearly always follows another column's that is named as the date of the decision."""
    columns = log.schema.columns
    if columns[position].kind != "date" or _DECISION_DATE.search(columns[position].name):
        return None
    for at, other in enumerate(columns):
        if other.kind != "date" or not _DECISION_DATE.search(other.name):
            continue
        both = log.observed[:, position] & log.observed[:, at]
        if both.sum() < FEWEST_ROWS:
            continue
        later = _days(columns[position], log.values[both, position]) > _days(other, log.values[both, at]) + 0.5
        if later.mean() >= PREDICTS:
            seen = f"is later than '{other.name}' in {_percent(float(later.mean()))} of the rows"
            seen += ", so it may be made after the decision"
            return Finding.to_ignore(columns[position].name, AFTER, seen, certain=False)
    return None


def _days(column: Column, values: np.ndarray) -> np.ndarray:
    # encoded in single precision: right to about a tenth of a day
    return values.astype(np.float64) * column.scale + column.location


def _named_afterwards(name: str) -> Finding | None:
    words = re.sub(r"[\W_]+", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", name))
    found = _AFTERWARDS.search(words)
    if found is None or _BEFORE.search(words):
        return None
    seen = f"may be made after the decision, by its name ('{found[0]}')"
    return Finding.to_ignore(name, AFTER, seen, certain=False)


def _propensity(column: Column, values: np.ndarray, log: Log) -> Finding | None:
    """Numbers in (0, 1] under such a name, where no column was named as the propensity."""
    words = re.sub(r"[\W_]+", " ", column.name)
    if log.roles.propensity is not None or column.kind in LABELLED or not _PROPENSITY.search(words):
        return None
    numbers = np.asarray(column.decode(values), float)
    if column.kind == "date" or len(numbers) == 0 or not ((numbers > 0) & (numbers <= 1)).all():
        return None
    seen = f"looks like the probability of the logged action: name it with {option('--propensity', column.name)}"
    sentence = f"Column '{column.name}' {seen}, or leave it out with {option('--ignore', column.name)}."
    return Finding(column.name, "propensity", sentence, ("--ignore", column.name))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 %", " %")
