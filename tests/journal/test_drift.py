"""`watch`: silent while nothing changes, and it names what has changed."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import visits
from scipy import stats

from prudent import InputProblem, load
from prudent.command_line import main
from prudent.journal import Drift, Entry, Journal, Recorded, WatchOptions, hash_of, watch
from prudent.journal.drift.two_samples import adjusted, farther_than, mixes_differ, share_above
from prudent.models import ColumnCounts, Reference
from prudent.table import Column

START = datetime(2026, 1, 1, tzinfo=UTC)
HALF = 150
ROWS = 2 * HALF


@pytest.fixture(scope="module")
def fitted(fitted_models: Any) -> Any:
    """With counts of more rows than the small model has learnt from."""
    fitted = fitted_models["causal"]
    return replace(fitted, reference=Reference.of(fitted.read(visits(1500, seed=100))))


def served(
    frame: pd.DataFrame, seed: int = 0, off: Any = 0.0, spread: float = 1.0, mix: Sequence[float] = (0.5, 0.3, 0.2)
) -> list[Recorded]:
    """Advice that was followed; outcomes are `off` by so many standard deviations."""
    random = np.random.default_rng(seed)
    expected, actions = random.normal(size=len(frame)), random.choice(["high", "low", "none"], len(frame), p=mix)
    rewards = expected + off + spread * random.normal(size=len(frame))
    recorded = []
    for row, case in enumerate(frame.drop(columns=["dose", "outcome"]).to_dict("records")):
        at, price = START + timedelta(hours=row), float(expected[row])
        ranges = {"outcome_low": price - 1.645, "outcome_high": price + 1.645}
        advice = {"action": str(actions[row]), "expected_reward": price, **ranges}
        entry = Entry.new("m", {str(name): cell for name, cell in case.items()}, advice, at=at)
        recorded.append(Recorded(entry, advice["action"], at, float(rewards[row]), at))
    return recorded


def changed(change: Callable[[pd.DataFrame], object], seed: int = 7) -> pd.DataFrame:
    frame = visits(ROWS, seed=seed)
    change(frame)
    return frame


def found(drift: Drift) -> set[tuple[str, str]]:
    return {(str(one.subject), one.column) for one in drift.found}


def test_nothing_is_found_where_nothing_changed(fitted: Any):
    alarms = [bool(watch(served(visits(ROWS, seed=seed), seed), fitted).found) for seed in range(20, 32)]
    assert sum(alarms) <= 2


def emptied(frame: pd.DataFrame) -> None:
    frame.loc[::3, "marker"] = np.nan


def renamed(frame: pd.DataFrame) -> None:
    frame.loc[::15, "ward"] = "east"


def postponed(frame: pd.DataFrame) -> None:
    frame["admitted"] = pd.to_datetime(frame["admitted"]) + pd.Timedelta(days=200)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda frame: frame.update(frame["pressure"] + 8), ("values", "pressure")),
        (lambda frame: frame.update(120 + (frame["pressure"] - 120) * 2), ("values", "pressure")),
        (lambda frame: frame.update(frame["marker"] * 10), ("values", "marker")),
        (lambda frame: frame.update(frame["ward"].replace("north", "south")), ("values", "ward")),
        (lambda frame: frame.update(frame["grade"].replace("mild", "severe")), ("values", "grade")),
        (postponed, ("values", "admitted")),
        (emptied, ("gaps", "marker")),
        (renamed, ("not readable", "ward")),
        (lambda frame: frame.update(-frame["marker"]), ("not readable", "marker")),
        (lambda frame: frame.pop("visits"), ("gaps", "visits")),
    ],
)
def test_what_changed_in_the_cases_is_named(change: Any, expected: tuple[str, str], fitted: Any):
    names = {name for name, column in found(watch(served(changed(change)), fitted)) if column == expected[1]}
    assert expected[0] in names
    assert {column for _, column in found(watch(served(changed(change)), fitted))} == {expected[1]}


LATE = (np.arange(ROWS) >= HALF).astype(float)


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        ({"off": 0.7}, "outcomes against predictions"),
        ({"spread": 1.8}, "outcomes outside their ranges"),
        ({"off": 0.8 * LATE}, "prediction errors"),
    ],
)
def test_outcomes_that_are_not_as_predicted_are_found(options: Any, subject: str, fitted: Any):
    frame = visits(ROWS, seed=7)
    assert subject in {name for name, _ in found(watch(served(frame, **options), fitted))}
    assert not found(watch(served(frame, off=0.1), fitted))  # no model is exact


def test_other_advice_than_before_is_found(fitted: Any):
    before, after = visits(HALF, seed=7), visits(HALF, seed=8)
    other = [
        replace(one, entry=replace(one.entry, at=one.entry.at + timedelta(days=30)), took_at=None, reward_at=None)
        for one in served(after, mix=(0.1, 0.3, 0.6))
    ]
    recorded = [*served(before), *other]
    assert ("advice", "") in found(watch(recorded, fitted))
    since = watch(recorded, fitted, WatchOptions(since=START + timedelta(days=30)))
    assert ("advice", "") in found(since)
    assert since.entries == HALF


def test_one_case_asked_about_often_is_one_case(fitted: Any):
    once = served(visits(40, seed=7))
    again = [Recorded(replace(once[0].entry, id=f"{row:032x}")) for row in range(300)]
    drift = watch([*once, *again], fitted)
    assert drift.cases == 40
    assert not drift.found


def test_the_tests_hold_what_they_promise():
    random = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    for ordered in (True, False):
        samples = [(random.multinomial(400, shares), random.multinomial(50, shares)) for _ in range(300)]
        p = [mixes_differ(one.tolist(), other.tolist(), ordered) for one, other in samples]
        assert stats.kstest(p, "uniform", alternative="greater").pvalue > 1e-3  # not too many small ones
        assert np.mean(np.array(p) < 0.05) < 0.09
    assert mixes_differ([100, 0], [0, 100], False) < 1e-4
    assert mixes_differ([5, 0], [3, 0], True) == 1
    assert farther_than(random.normal(0.1, 1, 500), 0.2) > 0.05
    assert share_above(0, 10, 0.15) == 1
    assert adjusted([0.01, 0.5, 0.02]) == pytest.approx([0.03, 0.5, 0.04])


def test_counts_are_saved_and_a_model_without_them_still_loads(fitted: Any, tmp_path: Path):
    fitted.save(tmp_path / "model")
    assert load(tmp_path / "model").reference == fitted.reference
    counts = fitted.reference.columns[0]
    assert min(counts.bins) >= 20
    assert counts.gaps + counts.observed == fitted.reference.rows == 1500
    replace(fitted, reference=None).save(tmp_path / "old")
    with pytest.raises(InputProblem, match="fit it again"):
        watch(served(visits(40, seed=7)), load(tmp_path / "old"))
    numbers = np.concatenate([np.zeros(990), np.arange(1, 11)])
    for values in (numbers, numbers % 4, random_numbers := np.random.default_rng(0).normal(size=1000)):
        assert min(ColumnCounts.of(Column("x", "real"), values, np.ones(1000, bool)).bins) >= 20
    assert len(ColumnCounts.of(Column("x", "real"), random_numbers, np.ones(1000, bool)).bins) == 20
    for damage in ({"rows": 3}, {"columns": ()}):
        broken = Reference(**{**vars(fitted.reference), **damage})
        replace(fitted, reference=broken).save(tmp_path / "broken")
        with pytest.raises(InputProblem, match="damaged"):
            load(tmp_path / "broken")


def test_the_command_says_it_and_fails_if_asked(
    fitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
):
    monkeypatch.chdir(tmp_path)
    fitted.save("model")
    model = hash_of("model")
    with Journal.open("journal.sqlite") as journal:
        late = [replace(one, entry=replace(one.entry, model=model)) for one in served(changed(emptied))]
        journal.record([one.entry for one in late])
        for one in late[:100]:
            journal.took(one.entry.id, one.took)
            journal.turned_out(one.entry.id, one.reward or 0.0)
    assert main(["journal", "watch", "journal.sqlite", "model"]) == 0
    assert "marker" in capfd.readouterr().out
    assert main(["journal", "watch", "journal.sqlite", "model", "--fail-on-drift", "--json", "-"]) == 3
    facts = json.loads(capfd.readouterr().out)
    assert facts["drifted"]
    assert [one["column"] for one in facts["comparisons"] if one["drifted"]] == ["marker"]
    assert main(["journal", "watch", "journal.sqlite", "model", "--fail-on-drift", "--risk", "1e-30"]) == 0
    for wrong in (("--risk", "2"), ("--since", "then"), ("--since", "2030-01-01"), ("--json", "journal.sqlite")):
        assert main(["journal", "watch", "journal.sqlite", "model", *wrong]) == 2
