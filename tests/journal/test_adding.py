"""`prudent journal add`: what became known later, from a table, all or nothing."""

from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest

from prudent.command_line import main
from prudent.journal import Entry, Journal


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    with Journal.open("journal.sqlite") as journal:
        entries = [Entry.new("m", {"code": "007"}, {"action": label}, 0.5) for label in ("01", "02", "01")]
        journal.record(entries)
    return [one.id for one in entries]


def add(*options: str) -> int:
    return main(["journal", "add", "journal.sqlite", "later.csv", *options])


def known() -> dict[str, tuple[Any, Any]]:
    with Journal.open("journal.sqlite") as journal:
        return {one.entry.id: (one.took, one.reward) for one in journal.recorded()}


def test_actions_and_outcomes_are_added_by_id(ids: list[str], capfd: Any):
    cards = [str(UUID(id)) for id in ids]
    pl.DataFrame({"id": cards, "dose": ["01", "03", None], "score": [1.5, None, -2.0]}).write_csv("later.csv")
    assert add("--action", "dose", "--reward", "score") == 0
    assert "2 actions and 2 outcomes of 3 rows" in capfd.readouterr().err
    assert [known()[id] for id in ids] == [("01", 1.5), ("03", None), (None, -2.0)]
    assert add("--reward", "score") == 0  # the same again
    assert main(["journal", "export", "journal.sqlite", "--out", "log.csv"]) == 0
    assert (Path("log.csv").read_text().splitlines()) == ["code,action,reward,propensity", "007,01,1.5,0.5"]


def test_it_is_all_or_nothing_and_corrections_must_be_meant(ids: list[str], capfd: Any):
    pl.DataFrame({"id": ids, "score": [1.0, 2.0, 3.0]}).write_csv("later.csv")
    assert add("--reward", "score") == 0
    before = known()
    pl.DataFrame({"id": ids, "score": [1.0, 2.5, 3.0]}).write_csv("later.csv")
    assert add("--reward", "score") == 2
    assert "--correct" in capfd.readouterr().err
    for wrong in ("0" * 32, "P17"):
        pl.DataFrame({"id": [ids[0], wrong], "dose": ["01", "01"]}).write_csv("later.csv")
        assert add("--action", "dose") == 2
    assert known() == before
    pl.DataFrame({"id": ids, "score": [1.0, 2.5, 3.0]}).write_csv("later.csv")
    assert add("--reward", "score", "--correct") == 0
    assert known()[ids[1]] == (None, 2.5)
    for options in ((), ("--reward", "scor"), ("--reward", "score", "--id", "card")):
        assert add(*options) == 2
