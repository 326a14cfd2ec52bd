"""Whether what a journal holds is still like what the model has learnt from: all comparisons, and what stands out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from prudent.errors import InputProblem, check, number
from prudent.journal.drift.cases import compare_cases, different
from prudent.journal.drift.comparison import Comparison
from prudent.journal.drift.outcomes import compare_advice, compare_outcomes
from prudent.journal.drift.two_samples import adjusted
from prudent.journal.entry import Recorded
from prudent.models import Fitted
from prudent.show import counted, drift_text, plain_types

FEW = 30
"""Cases below which only large changes can be seen."""


@dataclass(frozen=True)
class WatchOptions:
    """risk: of any false alarm, over all comparisons together. since: what was advised from then on is compared;
    advice and errors of prediction with those before. Default: all, and the later half with the earlier."""

    risk: float = 0.05
    since: datetime | None = None

    def __post_init__(self) -> None:
        check("WatchOptions", {"risk": number(0, 1, "()")}, vars(self))


@dataclass(frozen=True)
class Drift:
    """comparisons: the least likely first. entries, cases, outcomes: how many were compared, cases without repeats."""

    comparisons: tuple[Comparison, ...]
    risk: float
    rows: int
    entries: int
    cases: int
    outcomes: int
    first: datetime
    last: datetime
    notes: tuple[str, ...]

    @property
    def found(self) -> tuple[Comparison, ...]:
        """Changes that are beyond chance."""
        return tuple(one for one in self.comparisons if one.adjusted <= self.risk)

    def to_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("risk", "rows", "entries", "cases", "outcomes", "notes")}
        times = {"first": self.first.isoformat(), "last": self.last.isoformat()}
        each = [asdict(one) | {"drifted": one.adjusted <= self.risk} for one in self.comparisons]
        return plain_types({**facts, **times, "drifted": bool(self.found), "comparisons": each})

    def __str__(self) -> str:
        return drift_text(self.to_dict())


def watch(recorded: Sequence[Recorded], fitted: Fitted, options: WatchOptions | None = None) -> Drift:
    """Compare what was recorded of this model's advice, in the order of time, with what the model has learnt from."""
    options = WatchOptions() if options is None else options
    if fitted.reference is None:
        raise InputProblem(
            "The model was saved without counts of its cases, by an earlier prudent; fit it again with this one to "
            "watch for drift."
        )
    earlier, later, looked_at = _split(recorded, options.since)
    if not looked_at:
        raise InputProblem(
            "The journal has no advice of this model and time; name the folder of the model that is served, or an "
            "earlier day."
        )
    cases = different([one.entry.case for one in looked_at])
    comparisons = [
        *compare_cases(fitted, fitted.reference, cases),
        *compare_advice(earlier, later),
        *compare_outcomes(looked_at, earlier, later),
    ]
    raised = adjusted([one.p for one in comparisons])
    judged = [replace(one, adjusted=p) for one, p in zip(comparisons, raised, strict=True)]
    judged.sort(key=lambda one: (one.adjusted, one.p))
    outcomes = sum(one.reward_at is not None for one in looked_at)
    times = looked_at[0].entry.at, looked_at[-1].entry.at
    facts = options.risk, fitted.reference.rows, len(looked_at), len(cases), outcomes
    return Drift(tuple(judged), *facts, *times, tuple(_notes(cases, outcomes, fitted)))


def _split(
    recorded: Sequence[Recorded], since: datetime | None
) -> tuple[Sequence[Recorded], Sequence[Recorded], Sequence[Recorded]]:
    """Earlier and later ones, and those whose cases are looked at."""
    if since is not None:
        later = [one for one in recorded if one.entry.at >= since]
        return [one for one in recorded if one.entry.at < since], later, later
    middle = len(recorded) // 2
    return recorded[:middle], recorded[middle:], recorded


def _notes(cases: Sequence[Any], outcomes: int, fitted: Fitted) -> list[str]:
    notes = []
    if len(cases) < FEW:
        notes.append(f"With {counted(len(cases), 'case')} only large changes can be seen.")
    if outcomes == 0:
        notes.append("No outcome is recorded, so predictions cannot be compared with what was seen.")
    if fitted.roles.group is not None:
        notes.append(
            f"Rows of one '{fitted.roles.group}' count as independent here; where few have many, alarms come too "
            f"easily."
        )
    return notes
