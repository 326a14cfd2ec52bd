"""Which two actions are compared, which of them is the treatment, and whether the log can compare them."""

from dataclasses import dataclass, replace

import numpy as np

from prudent.errors import InputProblem, require
from prudent.propensity import OUTSIDE_SUPPORT, Known, Propensity, propensity_or_default
from prudent.table import ActionLabel, Log, did_you_mean, label_text

READS_AS_TREATED = ("true", "yes", "y", "t", "treated", "treatment")


@dataclass(frozen=True)
class Pair:
    """Indices of two of the log's actions."""

    control: int
    treated: int

    @classmethod
    def of(
        cls, log: Log, treated: ActionLabel | None, between: tuple[ActionLabel, ActionLabel] | None
    ) -> tuple["Pair", list[str]]:
        """The pair that was named, or the one that the labels suggest, with a note that says which."""
        if between is not None:
            return cls._named(log, treated, between), []
        labels = [label_text(label) for label in log.action_labels]
        if len(labels) != 2:
            raise InputProblem(
                f"Effects compare two actions, and the log has {len(labels)} ({', '.join(labels[:12])}); name two with "
                f"between=(control, treated), e.g. between=({log.action_labels[0]!r}, {log.action_labels[1]!r})."
            )
        if treated is not None:
            chosen = _index(log, treated, "treated")
            return cls(1 - chosen, chosen), []
        reads = [index for index, label in enumerate(labels) if label.casefold() in READS_AS_TREATED]
        numbers = [_number(label) for label in labels]
        chosen = reads[0] if len(reads) == 1 else int(numbers[0] <= numbers[1])  # the larger dose, else the second
        note = f"'{labels[chosen]}' is taken as the treatment and '{labels[1 - chosen]}' as the control; if it is the "
        return cls(1 - chosen, chosen), [f"{note}other way round, say treated={log.action_labels[1 - chosen]!r}."]

    @classmethod
    def _named(cls, log: Log, treated: ActionLabel | None, between: tuple[ActionLabel, ActionLabel]) -> "Pair":
        two = isinstance(between, tuple | list) and len(between) == 2
        require(two, "effects", "between", "be two actions, (control, treated)", between)
        control, chosen = (_index(log, label, "between") for label in between)
        require(control != chosen, "effects", "between", "be two different actions, (control, treated)", between)
        agrees = treated is None or _index(log, treated, "treated") == chosen
        require(agrees, "effects", "treated", f"be the second of between={between!r}, or be left out", treated)
        return cls(control, chosen)

    @property
    def codes(self) -> tuple[int, int]:
        """In the log's order, so that results do not depend on which of the two is the treatment."""
        return min(self.control, self.treated), max(self.control, self.treated)

    def require_rows(self, log: Log) -> None:
        """Both actions must have been taken in these rows."""
        for code in self.codes:
            if not (log.actions == code).any():
                label = label_text(log.action_labels[code])
                raise InputProblem(
                    f"No row has action '{label}' and a reward, so it cannot be compared; name actions that were taken."
                )

    def relabelled(self, log: Log) -> Log:
        """The same rows as a log of these two actions only."""
        codes = (log.actions == self.codes[1]).astype(np.int32)
        return replace(log, actions=codes, action_labels=tuple(log.action_labels[code] for code in self.codes))


def propensity_among_two(propensity: Propensity | None, log: Log) -> tuple[Propensity, list[str]]:
    """With several actions only the probability of the taken one is logged, so that of the other one is estimated."""
    if len(log.action_labels) == 2 or log.propensities is None:
        return propensity_or_default(propensity, log, "effects"), []
    if isinstance(propensity, Known):
        raise InputProblem(
            f"The log has the probability of the action that was taken, and with {len(log.action_labels)} actions that "
            "does not say how likely the other of the two was; give propensity=ImputedLogistic() or Boosted() instead "
            "of Known()."
        )
    note = "Logged probabilities do not say how likely the other of the two actions was, so they are estimated instead."
    chosen = propensity_or_default(propensity, replace(log, propensities=None), "effects")
    return chosen, [note] if propensity is None else []


def other_actions(count: int) -> list[str]:
    """A note on rows that took neither."""
    return [f"{count} rows took another action, and are left out."] if count else []


def overlap_notes(propensity: np.ndarray) -> list[str]:
    """A note on rows where the probability of treatment is close to 0 or 1."""
    outside = np.minimum(propensity, 1 - propensity) < OUTSIDE_SUPPORT
    if not outside.any():
        return []
    return [
        f"In {outside.mean():.1%} of the rows the probability of treatment is below {OUTSIDE_SUPPORT} or above "
        f"{1 - OUTSIDE_SUPPORT}: nearly all cases like them got the same action, so the effect there is "
        "extrapolated, and a few rows may dominate the averages."
    ]


def _index(log: Log, label: ActionLabel, parameter: str) -> int:
    labels = [label_text(one) for one in log.action_labels]
    if label_text(label) not in labels:
        raise InputProblem(
            f"The log has no action '{label}' ({parameter} of effects). {did_you_mean(label_text(label), labels)}"
        )
    return labels.index(label_text(label))


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return 0.0
