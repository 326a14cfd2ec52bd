"""A journal as a new log: cases, actions and outcomes, with the probabilities that are known.

What is known is the probability with which an action was *advised*. It is the propensity of the action taken only where
advice is followed by protocol. Where clinicians deviate, P(taken) mixes advice and their own judgement, and no journal
knows it: these cells stay empty. What was advised has a known propensity whatever was done afterwards, so a log of the
advice itself (as in an analysis by intention to treat) is always exact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import polars as pl

from prudent.errors import InputProblem
from prudent.journal.entry import Recorded
from prudent.show import counted
from prudent.table import did_you_mean, label_text

KEPT = ("id", "at", "model", "source", "advised", "followed", "took_at", "reward_at")
"""Facts that can be copied along; none of them is known when the next decision is made."""


@dataclass(frozen=True)
class ExportOptions:
    """Which entries, and what counts as the action.

    as_advised: the action is the advice, whatever was done. assume_followed: where no action and no refusal was
    recorded, the advice was followed. with_censored: also decisions whose outcome is not known, marked in a column.
    keep: of `KEPT`. action, reward: the names of these columns.
    """

    as_advised: bool = False
    assume_followed: bool = False
    with_censored: bool = False
    keep: tuple[str, ...] = ()
    action: str = "action"
    reward: str = "reward"

    def __post_init__(self) -> None:
        for name in self.keep:
            if name not in KEPT:
                raise InputProblem(f"A journal has no '{name}' to keep. {did_you_mean(name, KEPT)}")


@dataclass(frozen=True)
class Exported:
    """The log and how it is to be read. propensity: its column, where all of it is known and it says something.

    ignore: columns that are no attributes of the case. notes: what to know before learning from it.
    """

    frame: pl.DataFrame
    action: str
    reward: str
    propensity: str | None
    censored: str | None
    ignore: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Decision:
    recorded: Recorded
    action: Any
    followed: bool | None
    propensity: float | None

    @property
    def facts(self) -> dict[str, Any]:
        entry, later = self.recorded.entry, self.recorded
        given = {"id": entry.id, "at": _utc(entry.at), "model": entry.model, "source": entry.source}
        moments = {"took_at": _utc(later.took_at), "reward_at": _utc(later.reward_at)}
        return {**given, "advised": entry.advice["action"], "followed": self.followed, **moments}


def as_log(recorded: Sequence[Recorded], options: ExportOptions | None = None) -> Exported:
    """The new log; an InputProblem where no decision can be written."""
    options = ExportOptions() if options is None else options
    labels = _labels(recorded)
    decisions = [_decision(one, options, labels) for one in recorded]
    acted = [one for one in decisions if one.action is not None]
    written = [one for one in acted if options.with_censored or one.recorded.reward_at is not None]
    if not written:
        raise InputProblem(_nothing(len(recorded), len(acted), options))
    columns, names = _case_columns(written), _Names({name for one in written for name in one.recorded.entry.case})
    action, reward = names.free(options.action), names.free(options.reward)
    propensity, kept = names.free("propensity"), {names.free(name): name for name in dict.fromkeys(options.keep)}
    columns += [_column(name, [one.facts[fact] for one in written]) for name, fact in kept.items()]
    columns += [
        _column(action, [one.action for one in written]),
        pl.Series(reward, [one.recorded.reward for one in written], dtype=pl.Float64),
        pl.Series(propensity, [one.propensity for one in written], dtype=pl.Float64),
    ]
    censored = names.free("censored") if options.with_censored else None
    if censored is not None:
        columns.append(pl.Series(censored, [int(one.recorded.reward_at is None) for one in written]))
    says_something = all(one.propensity is not None for one in written) and any(one.propensity != 1 for one in written)
    ignore = (*kept, *([] if says_something else [propensity]))
    notes = tuple(_notes(len(recorded), acted, written, options))
    known = propensity if says_something else None
    return Exported(pl.DataFrame(columns), action, reward, known, censored, ignore, notes)


def _decision(recorded: Recorded, options: ExportOptions, labels: dict[str, Any]) -> _Decision:
    advised, chance = recorded.entry.advice["action"], recorded.entry.probability
    took = recorded.action_taken
    if took is None and options.assume_followed and not recorded.declined:
        took = advised
    followed = False if recorded.declined else None
    if took is not None and advised is not None:
        followed = label_text(took) == label_text(advised)
    if options.as_advised:
        return _Decision(recorded, advised, followed, None if advised is None else chance)
    action = None if took is None else labels.get(label_text(took), took)
    return _Decision(recorded, action, followed, chance if followed else None)


def _labels(recorded: Iterable[Recorded]) -> dict[str, Any]:
    """How an action is written, by its text: as it was advised, so that "1" of a form is the 1 of the model."""
    advised = (one.entry.advice["action"] for one in recorded)
    return {label_text(action): action for action in advised if action is not None}


def _nothing(entries: int, acted: int, options: ExportOptions) -> str:
    if entries == 0:
        return "The journal holds no advice of that model and time; name another model or none, or other days."
    if acted == 0 and not options.as_advised:
        return (
            f"No action is recorded for any of {counted(entries, 'entry', 'entries')}; record them by id, or say with "
            f"--assume-followed that the advice was followed, or with --as-advised that it counts as the action."
        )
    return (
        f"No outcome is recorded for any of {counted(acted, 'decision')}; record them by id, or write the decisions "
        f"without them with --with-censored."
    )


def _notes(entries: int, acted: Sequence[_Decision], written: Sequence[_Decision], options: ExportOptions) -> list[str]:
    notes = [f"{counted(len(written), 'decision')} of {counted(entries, 'entry', 'entries')}."]
    if len(acted) < entries:
        what = "recommended action" if options.as_advised else "recorded action"
        notes.append(f"{counted(entries - len(acted), 'entry', 'entries')} without a {what}: left out.")
    if len(written) < len(acted):
        notes.append(
            f"{counted(len(acted) - len(written), 'decision')} without an outcome: left out. If outcomes are missing "
            f"more often where they are bad or late, what is left flatters; --with-censored keeps these rows, to be "
            f"read with --censored."
        )
    models = len({one.recorded.entry.model for one in written})
    if models > 1:
        notes.append(f"The advice is of {models} models; --model MODEL takes that of one.")
    return [*notes, *_propensity_notes(written, options)]


def _propensity_notes(written: Sequence[_Decision], options: ExportOptions) -> list[str]:
    unknown = sum(one.propensity is None for one in written)
    overridden = sum(one.followed is False for one in written)
    notes = []
    if options.as_advised and overridden:
        notes.append(
            f"The action is what was advised; in {counted(overridden, 'row')} something else was done. Rewards are "
            f"those of giving this advice, to people who may decline it."
        )
    if unknown:
        notes.append(
            f"The propensity of the action is not known in {counted(unknown, 'row')}, where it was not as advised, and "
            f"in the others it is only right if nobody could deviate. Learn without it, which estimates propensities "
            f"from the cases, or export with --as-advised, where it is known."
        )
    if all(one.propensity in (1, None) for one in written):
        notes.append(
            "All advice was certain (probability 1), so its propensities say nothing about what another action would "
            "have done. A strategy that draws by chance, such as lottery, makes logs that can be learnt from."
        )
    return notes


class _Names:
    """Names of columns that no cell of a case has."""

    def __init__(self, taken: set[str]):
        self._taken = set(taken)

    def free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _case_columns(decisions: Sequence[_Decision]) -> list[pl.Series]:
    cases = [one.recorded.entry.case for one in decisions]
    names = dict.fromkeys(name for case in cases for name in case)
    return [_column(name, [case.get(name) for case in cases]) for name in names]


def _column(name: str, cells: list[Any]) -> pl.Series:
    """A column that keeps what its cells are; of several types it is text."""
    types = {type(cell) for cell in cells if cell is not None}
    if types == {int, float}:
        return pl.Series(name, cells, dtype=pl.Float64, strict=False)
    if types == {date, datetime}:
        return pl.Series(name, [None if cell is None else _moment(cell) for cell in cells])
    whole_too_large = types == {int} and any(cell is not None and abs(cell) >= 2**63 for cell in cells)
    if len(types) <= 1 and not types & {list, dict} and not whole_too_large:
        return pl.Series(name, cells, dtype=None if types else pl.String)
    return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def _moment(cell: Any) -> datetime:
    return cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=None)
