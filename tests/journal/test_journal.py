"""What is recorded lasts, once, whole and in its types, on SQLite and on PostgreSQL."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest

from prudent import InputProblem
from prudent.journal import TABLES, Entry, Journal
from prudent.journal.migrations import STEPS

MODEL = "5e" * 32


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "journal.sqlite")
        return
    url = request.getfixturevalue("postgres")
    yield url
    with psycopg.connect(url) as connection:
        for table in TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {table}")


def entry(**changes: Any) -> Entry:
    given: dict[str, Any] = {"case": {"age": 54, "ward": "007"}, "advice": {"action": "high", "expected_reward": 0.25}}
    return Entry.new(MODEL, **(given | changes))


def test_what_is_recorded_comes_back_in_its_types(place: str):
    case = {
        **{"code": "007", "whole": 7, "number": 7.0, "truth": True, "text": "é'\"?%s\n", "large": 2**60},
        **{"none": None, "day": date(2024, 3, 1), "moment": datetime(2024, 3, 1, 12, 30), "far": float("-inf")},
    }
    gaps = {"nan": float("nan"), "nat": pd.NaT, "na": pd.NA, "numpy_nan": np.float32("nan")}
    foreign = {"int64": np.int64(3), "float64": np.float64(3), "decimal": Decimal("1.5"), "bool": np.True_}
    advice = {"action": "high", "flags": "", "prices": [{"action": "high", "reward": 1.5}, None]}
    at = datetime(2024, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    with Journal.open(place) as journal:
        journal.record([Entry.new(MODEL, {**case, **gaps, **foreign}, advice, 0.25, "page", at)])
    with Journal.open(place) as journal:
        (found,) = journal.recorded()
    expected = {**case, **dict.fromkeys(gaps), "int64": 3, "float64": 3.0, "decimal": 1.5, "bool": True}
    assert found.entry.case == expected
    assert [type(found.entry.case[name]) for name in expected] == [type(cell) for cell in expected.values()]
    assert list(found.entry.case) == [*case, *gaps, *foreign]
    assert found.entry.advice == advice
    assert (found.entry.probability, found.entry.source, found.entry.at) == (0.25, "page", at)
    assert found.took_at is None
    assert found.reward_at is None


def test_action_and_outcome_come_later_once(place: str):
    with Journal.open(place) as journal:
        one, other = entry(), entry()
        journal.record([one, other])
        seen = datetime(2024, 4, 1, tzinfo=UTC)
        journal.took(one.id, "low", seen)
        journal.took(one.id, "low")
        journal.turned_out(one.id, -1.5)
        journal.turned_out(one.id, -1.5)
        with pytest.raises(InputProblem, match="low"):
            journal.took(one.id, "high")
        with pytest.raises(InputProblem, match=r"-1\.5"):
            journal.turned_out(one.id, 2.0)
        for wrong in ("0" * 32, "'; DROP TABLE prudent_journal; --"):
            with pytest.raises(InputProblem, match="id"):
                journal.took(wrong, "low")
        for bad in (float("nan"), "good", None):
            with pytest.raises(InputProblem):
                journal.turned_out(one.id, bad)  # pyright: ignore[reportArgumentType]
        found, corrections = {each.entry.id: each for each in journal.recorded()}, journal.corrections()
    assert corrections == []
    assert (found[one.id].took, found[one.id].took_at, found[one.id].reward) == ("low", seen, -1.5)
    assert (found[other.id].took_at, found[other.id].reward_at) == (None, None)


def test_a_correction_replaces_and_keeps_what_was(place: str):
    with Journal.open(place) as journal:
        one = entry()
        journal.record([one])
        journal.took(one.id, 1, datetime(2024, 4, 1, tzinfo=UTC))
        journal.took(one.id, "1.0")  # the same action
        journal.took(one.id, 2, correct=True)
        journal.turned_out(one.id, 0.5, correct=True)
        journal.turned_out(one.id, 0.75, correct=True)
        (found,), replaced = journal.recorded(), journal.corrections()
    assert (found.took, found.reward) == (2, 0.75)
    assert [(each.id, each.what, each.value) for each in replaced] == [(one.id, "took", 1), (one.id, "reward", 0.5)]
    assert replaced[0].value_at == datetime(2024, 4, 1, tzinfo=UTC)


def test_declined_advice_is_known_not_to_be_followed(place: str):
    with Journal.open(place) as journal:
        one, seen = entry(), datetime(2024, 4, 1, tzinfo=UTC)
        journal.record([one])
        for _ in range(2):
            journal.declined(one.id, seen)
        (found,) = journal.recorded()
        journal.took(one.id, "low")
        with pytest.raises(InputProblem, match="id"):
            journal.declined("0" * 32)
    assert (found.declined_at, found.took_at) == (seen, None)


def _make_version_1(place: str) -> None:
    row = ("a" * 32, "2024-03-01T12:00:00.000000+00:00", MODEL, '{"age": 54}', '{"action": "high"}', 0.5, "api")
    cells = ", ".join(map(repr, (*row, '"low"', row[1])))
    insert = f"INSERT INTO prudent_journal_entries VALUES ({cells}, NULL, NULL)"
    if place.startswith("postgresql"):
        with psycopg.connect(place) as server:
            for statement in (*STEPS[0], insert, "UPDATE prudent_journal SET version = 1"):
                server.execute(statement)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return
    with closing(sqlite3.connect(place)) as file:
        file.executescript(";".join((*STEPS[0], insert, "UPDATE prudent_journal SET version = 1")))


def test_a_journal_of_version_1_is_read_and_continued(place: str):
    _make_version_1(place)
    with Journal.open(place) as journal:
        journal.took("a" * 32, "high", correct=True)
        journal.record([entry()])
        found, replaced = journal.recorded(), journal.corrections()
    assert (found[0].entry.id, found[0].entry.case, found[0].took) == ("a" * 32, {"age": 54}, "high")
    assert [each.value for each in replaced] == ["low"]
    with Journal.open(place) as journal:
        assert len(journal.recorded()) == 2


def test_the_same_entry_twice_is_one_and_another_of_the_same_id_is_refused(place: str):
    with Journal.open(place) as journal:
        one = entry()
        journal.record([one])
        journal.record([one, entry()])
        assert len(journal.recorded()) == 2
        other = Entry(one.id, one.at, MODEL, {"age": 1}, one.advice, 1.0, "api")
        with pytest.raises(InputProblem, match=one.id):
            journal.record([entry(), other])
        assert len(journal.recorded()) == 2  # all or none


def test_bad_entries_are_refused():
    for changes in ({"probability": 0.0}, {"probability": 1.5}, {"advice": {"status": "ok"}}, {"source": ""}):
        with pytest.raises(InputProblem):
            entry(**changes)
    with pytest.raises(InputProblem, match="UTC"):
        entry(at=datetime(2024, 3, 1))


_WRITE_MANY = """
import sys
from prudent.journal import Entry, Journal
with Journal.open(sys.argv[1]) as journal:
    for _ in range(25):
        one = Entry.new("m", {}, {"action": "high"})
        journal.record([one])
        journal.took(one.id, "low")
"""


def test_processes_and_threads_write_at_once(place: str):
    # both make the tables
    process = subprocess.Popen([sys.executable, "-c", _WRITE_MANY, place])
    with Journal.open(place) as journal:
        threads = [threading.Thread(target=lambda: [journal.record([entry()]) for _ in range(25)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert process.wait() == 0
        found = journal.recorded()
    assert len(found) == 100
    assert sum(one.took == "low" for one in found) == 25


_WRITER = """
import sys
from prudent.journal import Entry, Journal
journal = Journal.open(sys.argv[1])
while True:
    pair = [Entry.new("m", {"case": "x" * 2000}, {"action": "high"}) for _ in range(2)]
    journal.record(pair)
    print(pair[0].id, pair[1].id, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_was_acknowledged(place: str):
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, place], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(0.2)
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged = (first + writer.stdout.read()).split()
    writer.stdout.close()
    writer.wait()
    with Journal.open(place) as journal:
        found = [one.entry.id for one in journal.recorded()]
        journal.record([entry()])  # and it goes on
    whole = [id for id in acknowledged if len(id) == 32]
    assert len(whole) >= 2
    assert set(whole) <= set(found)
    assert len(found) % 2 == 0  # no half of a pair


def test_a_later_version_is_refused_and_other_files_are_left_alone(tmp_path: Path, postgres: str):
    path = tmp_path / "journal.sqlite"
    Journal.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE prudent_journal SET version = 99")
    connection.close()
    with pytest.raises(InputProblem, match="99"):
        Journal.open(path)
    clinic = tmp_path / "clinic.sqlite"
    with sqlite3.connect(clinic) as connection:
        connection.execute("CREATE TABLE visits (age)")
    connection.close()
    (tmp_path / "visits.csv").write_text("age,ward\n54,north\n" * 5)
    for other in (clinic, tmp_path / "visits.csv", tmp_path, tmp_path / "nowhere" / "journal.sqlite"):
        with pytest.raises(InputProblem, match=r"name|folder"):
            Journal.open(other)
    for missing in (tmp_path / "missing.sqlite", postgres):
        with pytest.raises(InputProblem, match="journal"):
            Journal.open(missing, must_exist=True)
    assert not (tmp_path / "missing.sqlite").exists()


def test_passwords_are_not_shown(postgres: str):
    wrong = postgres.replace("s3cret", "wr0ng")
    with pytest.raises(InputProblem) as problem:
        Journal.open(wrong)
    assert "wr0ng" not in str(problem.value)
    with Journal.open(postgres) as journal:
        assert "s3cret" not in repr(journal)
