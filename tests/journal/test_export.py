"""A journal as a new log: which rows, which propensities, and that a model learns from it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from conftest import KINDS, small_settings, visits

import prudent
from prudent import InputProblem
from prudent.command_line import main
from prudent.evaluation import InversePropensity
from prudent.journal import TABLES, Entry, ExportOptions, Journal, Recorded, as_log, hash_of

SEEN = datetime(2026, 4, 1, tzinfo=UTC)


def decision(
    advised: Any, took: Any = None, reward: float | None = None, chance: float = 0.5, case: Any = None, model: str = "m"
) -> Recorded:
    entry = Entry.new(model, {"age": 50} if case is None else case, {"action": advised}, chance)
    return Recorded(entry, took, None if took is None else SEEN, reward, None if reward is None else SEEN)


MIXED = [
    decision("high", "high", 1.0),
    decision("low", "none", 2.0, 0.25),
    decision("low", None, 3.0),
    decision("high", "high"),
    decision(None, "low", 4.0),
    decision("high"),
]


def columns(recorded: Sequence[Recorded], **options: Any) -> dict[str, list[Any]]:
    return as_log(recorded, ExportOptions(**options)).frame.to_dict(as_series=False)


def test_only_what_was_done_and_seen_is_written_and_deviations_have_no_propensity():
    exported = as_log(MIXED, ExportOptions(keep=("followed", "advised")))
    found = exported.frame.to_dict(as_series=False)
    assert found["action"] == ["high", "none", "low"]
    assert found["reward"] == [1.0, 2.0, 4.0]
    assert found["propensity"] == [0.5, None, None]
    assert found["followed"] == [True, False, None]
    assert found["advised"] == ["high", "low", None]
    assert exported.propensity is None  # not to be read as one that is known
    assert set(exported.ignore) == {"followed", "advised", "propensity"}
    assert any("2 rows" in note for note in exported.notes)


def test_the_log_of_the_advice_has_every_propensity():
    exported = as_log(MIXED, ExportOptions(as_advised=True))
    assert exported.frame["action"].to_list() == ["high", "low", "low"]
    assert exported.frame["propensity"].to_list() == [0.5, 0.25, 0.5]
    assert exported.propensity == "propensity"


def test_advice_may_be_assumed_to_be_followed_and_outcomes_may_be_missing():
    assert columns(MIXED, assume_followed=True)["action"] == ["high", "none", "low", "low"]
    declined = Recorded(MIXED[2].entry, None, None, 3.0, SEEN, SEEN)
    assert columns([*MIXED[:2], declined], assume_followed=True)["action"] == ["high", "none"]
    assert columns([declined], as_advised=True, keep=("followed",))["followed"] == [False]
    open_too = columns(MIXED, with_censored=True)
    assert open_too["censored"] == [0, 0, 1, 0]
    assert open_too["reward"] == [1.0, 2.0, None, 4.0]


def test_certain_advice_is_no_propensity_to_learn_from():
    exported = as_log([decision("high", "high", 1.0, chance=1.0)] * 3)
    assert exported.frame["propensity"].to_list() == [1.0] * 3
    assert exported.propensity is None
    assert any("lottery" in note for note in exported.notes)


def test_columns_keep_their_types_and_names():
    cells = [
        {"code": "007", "dose": 7, "mixed": 1, "action": "x", "day": date(2024, 3, 1), "empty": None, "large": 2**70},
        {"code": "008", "dose": 7.5, "mixed": "n.k.", "later": True, "day": None, "empty": None, "large": 1},
    ]
    exported = as_log([decision(1, "1", 1.0, case=cells[0]), decision(2, 2.0, 1.0, case=cells[1])])
    frame = exported.frame
    assert frame["code"].to_list() == ["007", "008"]
    assert frame["dose"].to_list() == [7.0, 7.5]
    assert frame["mixed"].to_list() == ["1", "n.k."]
    assert frame["later"].to_list() == [None, True]
    assert frame["day"].dtype == pl.Date
    assert frame["large"].to_list() == [str(2**70), "1"]
    assert frame["action"].to_list() == ["x", None]  # the case's own
    assert frame[exported.action].to_list() == [1, 2]  # as advised, however it was spelled
    assert exported.propensity == "propensity"


@pytest.mark.parametrize("recorded", [[], [decision("high")], [decision("high", "high")]])
def test_nothing_to_write_is_one_sentence(recorded: list[Recorded]):
    with pytest.raises(InputProblem):
        as_log(recorded)
    with pytest.raises(InputProblem, match="followed"):
        ExportOptions(keep=("folowed",))


def test_the_loop_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, fitted_models: Any):
    """Advice drawn by chance, recorded, followed and seen: exported, it is a log to learn from and to evaluate on."""
    monkeypatch.chdir(tmp_path)
    fitted_models["causal"].save("model")
    model, start, served = hash_of("model"), datetime(2026, 3, 1, tzinfo=UTC), visits(320, seed=11)
    cases = served.drop(columns=["dose", "outcome"])
    advised = fitted_models["causal"].policy().recommend(cases).actions
    chance = np.where(served["dose"] == np.array(advised, dtype=object), 0.5, 0.25)  # by a coin, else any of the others
    with Journal.open("journal.sqlite") as journal:
        entries = [
            Entry.new(model, case, {"action": dose}, float(p), "api", start + timedelta(hours=row))
            for row, (case, dose, p) in enumerate(zip(cases.to_dict("records"), served["dose"], chance, strict=True))
        ]
        journal.record([*entries, Entry.new("another", {"age": 1}, {"action": "low"}, at=start)])
        for entry, dose, reward in zip(entries, served["dose"], served["outcome"], strict=True):
            journal.took(entry.id, dose)
            journal.turned_out(entry.id, float(reward))
    moment = (start + timedelta(hours=200)).isoformat()
    for out, option in (("past.parquet", "--before"), ("later.parquet", "--since")):
        assert main(["journal", "export", "journal.sqlite", "--out", out, "--model", "model", option, moment]) == 0
    said = capfd.readouterr().err
    assert "--propensity propensity" in said
    roles = {"action": "dose", "reward": "outcome", "propensity": "propensity"}
    past = prudent.read_log("past.parquet", **roles, kinds=KINDS)
    assert len(past) == 200
    again = small_settings("causal").fit(past, seed=0)
    later = again.read(prudent.read_table("later.parquet"))
    assert later.propensities is not None
    np.testing.assert_allclose(later.propensities, chance[200:])
    estimated = prudent.evaluate(again.policy(), later, estimators=[InversePropensity()])
    assert "as logged" in str(estimated)


@pytest.fixture
def server(postgres: str) -> Iterator[str]:
    yield postgres
    with psycopg.connect(postgres) as connection:
        for table in (*TABLES, "log"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_the_command_writes_tables_of_databases_and_keeps_the_journal(tmp_path: Path, server: str, capfd: Any):
    places = [str(tmp_path / "journal.sqlite"), server]
    for place in places:
        with Journal.open(place) as journal:
            one = Entry.new("m", {"age": 54}, {"action": "high"}, 0.5)
            journal.record([one])
            journal.took(one.id, "high")
            journal.turned_out(one.id, 1.0)
        assert main(["journal", "export", place, "--out", place, "--out-table", "log", "--replace"]) == 0
        assert main(["journal", "export", place, "--out", place, "--out-table", "prudent_journal", "--replace"]) == 2
        assert prudent.read_table(place, table="log")["reward"].to_list() == [1.0]
    assert "s3cret" not in "".join(capfd.readouterr())
    for wrong in ("--since=yesterday", "--keep=folowed", "--before=2020-01-01"):
        assert main(["journal", "export", places[0], "--out", "-", wrong]) == 2
    assert main(["journal", "export", str(tmp_path / "none.sqlite"), "--out", "-"]) == 2
    assert main(["journal", "export", places[0], "--out", places[0]]) == 2
