"""The decision journal: every piece of advice as it was given, the action taken and the outcome."""

import os
from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from typing import Any, NamedTuple, Self, final

from prudent.errors import InputProblem, is_number
from prudent.journal.cells import from_json, moment_text, to_json, value_from_json, value_to_json
from prudent.journal.entry import Correction, Entry, Recorded
from prudent.journal.migrations import prepare
from prudent.journal.postgresql_store import PostgresqlStore
from prudent.journal.sqlite_store import SqliteStore
from prudent.journal.store import Session, Store
from prudent.table import Place, label_text

_GIVEN = "id, at, model, cells, advice, probability, source"
_LATER = "took, took_at, reward, reward_at, declined_at"


class Known(NamedTuple):
    """What became known of one advice: the action taken, the outcome, or both."""

    id: str
    action: object = None
    reward: float | None = None
    at: datetime | None = None

    def each(self) -> list["_Later"]:
        action = [] if self.action is None else [_Later.action(self.action, self.at)]
        return action + ([] if self.reward is None else [_Later.reward(self.reward, self.at)])


@final
class Journal:
    """An open journal. Threads may share it, and several processes may write to one place at once.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal.open(f"{folder.name}/journal.sqlite") as journal:
    ...     entry = Entry.new("5e0f", {"age": 54, "lactate": None}, {"action": "high"})
    ...     journal.record([entry])
    ...     journal.took(entry.id, "low")
    ...     journal.turned_out(entry.id, 0.7)
    ...     [(one.entry.case, one.took, one.reward) for one in journal.recorded()]
    [({'age': 54, 'lactate': None}, 'low', 0.7)]
    >>> folder.cleanup()
    """

    def __init__(self, place: Place, store: Store):
        self._place, self._store = place, store

    @classmethod
    def open(cls, place: "str | PathLike[str] | Place", must_exist: bool = False) -> "Journal":
        """The journal in a SQLite file, or in a database as postgresql://user@host/database; a new one is made.

        must_exist: refuse to make one.
        """
        place = place if isinstance(place, Place) else Place(os.fsdecode(place))
        store = PostgresqlStore(place) if place.is_url else SqliteStore(place, must_exist)
        try:
            prepare(store, str(place), must_exist)
        except BaseException:
            store.close()
            raise
        return cls(place, store)

    def record(self, entries: Sequence[Entry]) -> None:
        """Write entries, all or none: once this returns they outlive a killed process and a power cut.

        The same entry again changes nothing, so that a writer who is unsure may repeat itself.
        """
        rows = [_row(entry) for entry in entries]
        places = ", ".join("?" * len(_GIVEN.split(", ")))
        with self._store.transaction() as session:
            known = self._known(session, [row[0] for row in rows])
            for row in rows:
                if known.get(row[0], row) != row:
                    raise InputProblem(f"The journal has another entry with the id {row[0]}; make ids by Entry.new.")
            new = [row for row in rows if row[0] not in known]
            if new:
                session.change(
                    f"INSERT INTO prudent_journal_entries ({_GIVEN}) VALUES ({places}) ON CONFLICT DO NOTHING", *new
                )

    def took(self, id: str, action: object, at: datetime | None = None, correct: bool = False) -> None:
        """Add the action that was taken. at: when; default: now.

        The same action again changes nothing. Another one is refused, since a mistaken id looks just like that, unless
        correct=True: then it replaces the first, which is kept among the `corrections`.
        """
        with self._store.transaction() as session:
            self._add(session, id, _Later.action(action, at), correct)

    def turned_out(self, id: str, reward: float, at: datetime | None = None, correct: bool = False) -> None:
        """Add the outcome, in the units of the log's reward. at: when it was seen; default: now. The same as in `took`
        holds for a second one."""
        with self._store.transaction() as session:
            self._add(session, id, _Later.reward(reward, at), correct)

    def add(self, known: Sequence[Known], correct: bool = False) -> None:
        """`took` and `turned_out` for many at once: all of it, or nothing where any of it is wrong."""
        later = [(one.id, each) for one in known for each in one.each()]
        with self._store.transaction() as session:
            for id, each in later:
                self._add(session, id, each, correct)

    def declined(self, id: str, at: datetime | None = None) -> None:
        """Add that the advice was not followed, where it is not known what was done instead. at: when; default: now.

        `took` may follow, when that becomes known. A refusal after it withdraws it.
        """
        moment = moment_text(at)
        with self._store.transaction() as session:
            sql = f"SELECT declined_at FROM prudent_journal_entries WHERE id = ?{self._store.for_update}"
            found = session.rows(sql, (id,))
            if not found:
                raise self._unknown(id)
            if found[0][0] is None or found[0][0] < moment:
                session.change("UPDATE prudent_journal_entries SET declined_at = ? WHERE id = ?", (moment, id))

    def _unknown(self, id: str) -> InputProblem:
        return InputProblem(f"The journal '{self._place}' has no advice with the id {id!r:.80}; check the id.")

    def _add(self, session: Session, id: str, later: "_Later", correct: bool) -> None:
        what = later.what
        sql = f"SELECT {what}, {what}_at FROM prudent_journal_entries WHERE id = ?{self._store.for_update}"
        found = session.rows(sql, (id,))
        if not found:
            raise self._unknown(id)
        before = _Later(what, *found[0])
        if before.value is not None and before.same(later):
            return
        if before.value is not None and not correct:
            raise InputProblem(
                f"The {before.words} of advice {id} is {before.shown} already, and not {later.shown}; check the id, or "
                f"correct what was recorded with correct=True (--correct)."
            )
        if before.value is not None:
            sql = "INSERT INTO prudent_journal_corrections VALUES (?, ?, ?, ?, ?)"
            session.change(sql, (id, what, before.stored, before.at, moment_text(None)))
        sql = f"UPDATE prudent_journal_entries SET {what} = ?, {what}_at = ? WHERE id = ?"
        session.change(sql, (later.value, later.at, id))

    def corrections(self) -> list[Correction]:
        """What was replaced, in the order in which that was done."""
        sql = "SELECT id, what, value, value_at, replaced_at FROM prudent_journal_corrections ORDER BY replaced_at"
        with self._store.transaction(write=False) as session:
            rows = session.rows(sql)
        return [
            Correction(id, what, value_from_json(value), datetime.fromisoformat(at), datetime.fromisoformat(replaced))
            for id, what, value, at, replaced in rows
        ]

    def recorded(
        self, model: str | None = None, since: datetime | None = None, before: datetime | None = None
    ) -> list[Recorded]:
        """Entries in the order of time, with what became known of them. model: only those of one model."""
        limits = {"model =": model, "at >=": since and moment_text(since), "at <": before and moment_text(before)}
        given = {test: value for test, value in limits.items() if value is not None}
        where = " AND ".join(f"{test} ?" for test in given) or "1 = 1"
        sql = f"SELECT {_GIVEN}, {_LATER} FROM prudent_journal_entries WHERE {where} ORDER BY at, id"
        with self._store.transaction(write=False) as session:
            rows = session.rows(sql, tuple(given.values()))
        return [_recorded(row) for row in rows]

    def find(self, id: str) -> Recorded:
        """One entry with what became known of it; an InputProblem where there is none."""
        with self._store.transaction(write=False) as session:
            rows = session.rows(f"SELECT {_GIVEN}, {_LATER} FROM prudent_journal_entries WHERE id = ?", (id,))
        if not rows:
            raise self._unknown(id)
        return _recorded(rows[0])

    def _known(self, session: Session, ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        sql = f"SELECT {_GIVEN} FROM prudent_journal_entries WHERE id = ?"
        return {row[0]: tuple(row) for id in ids for row in session.rows(sql, (id,))}

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<journal '{self._place}'>"


def _row(entry: Entry) -> tuple[Any, ...]:
    case, advice = to_json(entry.case), to_json(entry.advice)
    return entry.id, moment_text(entry.at), entry.model, case, advice, float(entry.probability), entry.source


def _recorded(row: tuple[Any, ...]) -> Recorded:
    id, at, model, case, advice, probability, source, took, took_at, reward, reward_at, declined_at = row
    entry = Entry(id, datetime.fromisoformat(at), model, from_json(case), from_json(advice), probability, source)
    moments = [None if text is None else datetime.fromisoformat(text) for text in (took_at, reward_at, declined_at)]
    return Recorded(entry, None if took is None else value_from_json(took), moments[0], reward, *moments[1:])


class _Later(NamedTuple):
    """What became known later, as it stands in the table: an action as JSON, a reward as a number."""

    what: str
    value: Any
    at: str | None

    @staticmethod
    def action(action: object, at: datetime | None) -> "_Later":
        if action is None:
            raise InputProblem("The action that was taken must be a label or a number. Got None instead.")
        return _Later("took", value_to_json("action", action), moment_text(at))

    @staticmethod
    def reward(reward: object, at: datetime | None) -> "_Later":
        number: Any = float(reward) if isinstance(reward, bool) else reward
        if not is_number(number):
            raise InputProblem(f"An outcome must be a finite number. Got {reward!r:.80} instead.")
        return _Later("reward", float(number), moment_text(at))

    @property
    def words(self) -> str:
        return {"took": "action taken", "reward": "outcome"}[self.what]

    @property
    def stored(self) -> str:
        return self.value if self.what == "took" else value_to_json(self.what, self.value)

    @property
    def shown(self) -> str:
        return repr(value_from_json(self.stored))

    def same(self, other: "_Later") -> bool:
        """1, 1.0 and "1" are one action."""
        if self.what == "took":
            return label_text(value_from_json(self.value)) == label_text(value_from_json(other.value))
        return self.value == other.value
