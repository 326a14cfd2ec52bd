"""Leaks, copies, costly columns: named where they are, and never in noise."""

from typing import Any

import numpy as np
import pytest

from prudent.table import Finding, Log, log_findings


def of(table: dict[str, Any]) -> Log:
    return Log.from_frame(table, action="dose", reward="outcome")


def named(table: dict[str, Any]) -> dict[str, Finding]:
    found = log_findings(of(table))
    assert len({finding.column for finding in found}) == len(found)
    return {finding.column: finding for finding in found}


def gapped(cells: Any, present: np.ndarray) -> list[Any]:
    return [cell if there else None for cell, there in zip(np.asarray(cells).tolist(), present, strict=True)]


def clinic(rows: int = 500, seed: int = 0) -> dict[str, Any]:
    """A guideline that is followed in 70 % of the rows, and no leak."""
    random = np.random.default_rng(seed)
    severity = random.normal(size=rows)
    guideline = np.clip(np.round(severity + 1), 0, 2).astype(int)
    action = np.where(random.random(rows) < 0.7, guideline, random.integers(0, 3, rows))
    days = np.datetime64("2023-01-01") + random.integers(0, 300, rows).astype("timedelta64[D]")
    return {
        "age": random.integers(20, 90, rows).tolist(),
        "severity": severity.round(2).tolist(),
        "guideline": guideline.tolist(),
        "site": random.choice(["north", "south", "west"], rows).tolist(),
        "creatinine": gapped(np.exp(random.normal(size=rows)).round(2), random.random(rows) < 0.6),
        "admission": days.astype(str).tolist(),
        "dose": action.tolist(),
        "outcome": (-np.abs(action - guideline) + 0.3 * severity + 0.3 * random.normal(size=rows)).round(3).tolist(),
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_strong_confounder_is_no_leak(seed):
    assert named(clinic(seed=seed)) == {}


@pytest.mark.parametrize("rows", [50, 120, 500, 2000])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_named_in_noise(rows, seed):
    random = np.random.default_rng(seed)
    columns = [
        lambda: random.normal(size=rows).round(3),
        lambda: np.exp(random.normal(size=rows)).round(3),
        lambda: random.integers(0, 5, rows),
        lambda: random.choice(list("abcdef"), rows),
        lambda: random.choice(["no", "yes"], rows, p=[0.97, 0.03]),
        lambda: random.poisson(30, rows),
    ]
    table = {f"c{at}": gapped(columns[at % 6](), random.random(rows) > 0.3 * (at % 3)) for at in range(30)}
    shares = [0.9, 0.08, 0.02] if seed % 2 else [0.3, 0.3, 0.4]
    table["dose"] = random.choice(list("xyz"), rows, p=shares).tolist()
    table["outcome"] = (random.normal(size=rows) if seed < 2 else random.random(rows) < 0.15).tolist()
    assert [finding.sentence for finding in log_findings(of(table))] == []


def test_the_action_in_disguise_is_named():
    table = clinic()
    action = np.array(table["dose"])
    table["drug given"] = np.array(["A", "B", "C"])[action].tolist()
    table["mg"] = (100 * action + 100 + np.random.default_rng(1).normal(0, 5, len(action))).round(1).tolist()
    table["finer"] = (2 * action + np.random.default_rng(1).integers(0, 2, len(action))).tolist()
    found = named(table)
    assert set(found) == {"drug given", "mg", "finer"}
    assert found["drug given"].what == "copy of the action"
    assert "--ignore 'drug given'" in found["drug given"].sentence
    assert found["drug given"].option == ("--ignore", "drug given")
    assert found["mg"].what == found["finer"].what == "decides the action"
    assert "99." in found["mg"].sentence


def test_a_rare_action_in_disguise_is_named():
    table = clinic(1000)
    table["dose"] = np.where(np.random.default_rng(3).random(1000) < 0.03, "surgery", "none").tolist()
    table["theatre"] = [f"OR {row % 2}" if dose == "surgery" else "-" for row, dose in enumerate(table["dose"])]
    assert named(table)["theatre"].what == "made after the decision"


@pytest.mark.parametrize(
    "leak",
    [
        lambda outcome: outcome,
        lambda outcome: np.exp(-2 * outcome),
        lambda outcome: 100 * outcome + 3,
        lambda outcome: np.abs(outcome - 0.3) ** 2 * np.sign(outcome - 0.3) + 0.01,
    ],
)
def test_the_outcome_in_disguise_is_named(leak):
    table = clinic()
    table["score"] = leak(np.array(table["outcome"])).round(4).tolist()
    found = named(table)
    assert set(found) == {"score"}
    assert found["score"].what == "predicts the outcome"
    assert "--ignore score" in found["score"].sentence


def test_a_yes_or_no_outcome_in_disguise_is_named():
    table = clinic()
    died = np.array(table["outcome"]) < -1.3
    table["outcome"] = died.astype(int).tolist()
    table["status"] = np.where(died, "gone", "well").tolist()
    table["last ward"] = np.where(died, "ICU", np.random.default_rng(0).choice(["a", "b"], len(died))).tolist()
    assert {column: finding.what for column, finding in named(table).items()} == {
        "status": "predicts the outcome",
        "last ward": "predicts the outcome",
    }


def test_columns_made_after_the_decision_are_named():
    table = clinic(800)
    random, rows = np.random.default_rng(5), 800
    action, outcome = np.array(table["dose"]), np.array(table["outcome"])
    days = np.array(table["admission"], dtype="datetime64[D]")
    table["infusion rate"] = gapped(random.random(rows).round(3), (action == 2) & (random.random(rows) < 0.6))
    table["autopsy"] = gapped(random.choice(["x", "y"], rows), outcome < -1.3)
    table["control"] = (days + random.integers(1, 20, rows).astype("timedelta64[D]")).astype(str).tolist()
    table["discharge_weight"] = random.normal(70, 10, rows).round(1).tolist()
    table["prior discharge"] = random.choice(["no", "yes"], rows).tolist()
    found = named(table)
    assert set(found) == {"infusion rate", "autopsy", "control", "discharge_weight"}
    assert {finding.what for finding in found.values()} == {"made after the decision"}
    assert "'admission'" in found["control"].sentence
    assert "'0', '1'" in found["infusion rate"].sentence


def test_copies_are_named_and_the_fuller_column_is_kept():
    table = clinic()
    random, rows = np.random.default_rng(2), 500
    pounds = 2.2046 * np.array(table["age"], dtype=float)
    pounds[0] = 7
    table["age in halves"] = gapped(pounds, random.random(rows) < 0.8)
    table["clinic code"] = [{"north": 4, "south": 7, "west": 9}[site] for site in table["site"]]
    table["rare one"] = np.where(random.random(rows) < 0.01, "yes", "no").tolist()
    table["rare other"] = np.where(random.random(rows) < 0.01, "yes", "no").tolist()
    found = named(table)
    assert set(found) == {"age in halves", "clinic code"}
    assert "'age'" in found["age in halves"].sentence
    assert "'site'" in found["clinic code"].sentence
    assert found["clinic code"].option == ("--ignore", "clinic code")


def test_columns_with_very_many_labels_are_proposed_to_be_left_out():
    table = clinic()
    table["free words"] = [f"word {row}" for row in np.random.default_rng(4).integers(0, 90, 500).tolist()]
    found = named(table)
    assert set(found) == {"free words"}
    assert "--ignore 'free words'" in found["free words"].sentence


def test_codes_for_gaps_are_findings_too():
    table = clinic()
    table["age"] = [999 if row % 50 == 0 else age for row, age in enumerate(table["age"])]
    assert named(table)["age"].option == ("--missing", "age=999")


def test_logs_without_a_source_and_wide_or_short_ones_are_searched_too():
    log = of(clinic(40))
    assert log_findings(Log(log.schema, log.values, log.observed, log.actions, log.rewards, log.action_labels)) == []
    assert log_findings(log.take(np.arange(5))) == []


def test_what_follows_from_the_action_or_the_outcome_is_named():
    """As in a trial's table: 'treated' says which arms got a drug, 'improved' which outcomes were good."""
    table = clinic()
    table["treated"] = [int(dose != 0) for dose in table["dose"]]
    table["improved"] = ["yes" if outcome > 0 else "no" for outcome in table["outcome"]]
    found = named(table)
    assert set(found) == {"treated", "improved"}
    assert "dose" in found["treated"].sentence
    assert "outcome" in found["improved"].sentence


def test_the_parts_of_the_outcome_are_named():
    random, table = np.random.default_rng(0), clinic()
    reading = random.normal(500, 40, 500).round()
    table["reading"], table["arithmetic"] = (
        reading.tolist(),
        (0.5 * reading + random.normal(250, 35, 500)).round().tolist(),
    )
    table["outcome"] = (np.array(table["reading"]) + np.array(table["arithmetic"])).tolist()
    assert set(named(table)) == {"reading", "arithmetic"}
