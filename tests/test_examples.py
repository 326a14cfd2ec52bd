"""The recipes: three standards give the same decisions, and nothing from after a decision is known at it."""

import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from examples import fhir, meds, omop, synthetic
from examples.decisions import Study, decision_table, first_decisions
from prudent.command_line.inspecting import inspection_facts
from prudent.command_line.log_options import LogOptions
from prudent.table import Place

STUDY = Study(last={"lab": "L"}, ever={"ill": "D"}, outcome="L")
NOON = datetime(2024, 3, 10, 12)
DAY = timedelta(days=1)
FEATURES = ["lab", "ill"]


def decided(time: datetime = NOON) -> pl.DataFrame:
    return pl.DataFrame({"subject": ["s"], "time": [time], "action": ["a"]})


def events(*rows: tuple[datetime | None, str, float | None]) -> pl.DataFrame:
    schema = {"subject": pl.String, "time": pl.Datetime("us"), "code": pl.String, "value": pl.Float64}
    return pl.DataFrame([("s", *row) for row in rows], schema, orient="row")


def row(*recorded: tuple[datetime | None, str, float | None], time: datetime = NOON) -> dict[str, Any]:
    return decision_table(decided(time), events(*recorded), STUDY).row(0, named=True)


@pytest.fixture(scope="module")
def clinic() -> synthetic.Clinic:
    return synthetic.clinic(150)


@pytest.fixture(scope="module")
def folder(clinic, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("standards")
    for name, write in synthetic.WRITERS.items():
        (folder / name).mkdir()
        write(clinic, folder / name)
    return folder


def test_three_standards_give_the_same_decisions(folder):
    tables = [omop.table(str(folder / "omop")), fhir.table(folder / "fhir"), meds.table(folder / "meds")]
    first = tables[0].with_columns(pl.col("subject").cast(pl.String))
    assert first.height > 140
    assert 0 < first["hba1c"].null_count() < first.height
    assert 0 < first["outcome"].null_count() < first.height
    for other in tables[1:]:
        assert_frame_equal(other.with_columns(pl.col("subject").cast(pl.String)).select(first.columns), first)


def test_omop_is_read_from_databases(folder, tmp_path):
    names = ("person", "measurement", "condition_occurrence", "drug_exposure")
    with duckdb.connect(tmp_path / "cdm.duckdb") as connection:
        for name in names:
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM '{folder}/omop/{name}.parquet'")
    connection = sqlite3.connect(tmp_path / "cdm.db")
    for name in names:
        frame = pl.read_parquet(folder / "omop" / f"{name}.parquet")
        frame = frame.with_columns(pl.col(pl.Date, pl.Datetime).dt.to_string("iso:strict"))
        connection.execute(f"CREATE TABLE {name} ({', '.join(frame.columns)})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * frame.width)})", frame.iter_rows())
    connection.commit()
    connection.close()
    expected = omop.table(str(folder / "omop"))
    for name in ("cdm.duckdb", "cdm.db"):
        assert_frame_equal(omop.table(str(tmp_path / name)), expected)


@pytest.mark.parametrize("name", synthetic.WRITERS)
def test_what_happens_from_the_decision_on_changes_no_feature(clinic, name, tmp_path):
    """Everything at or after a decision is replaced by nonsense; the features stay, and only the outcome does not."""
    recipes = {"omop": lambda folder: omop.table(str(folder)), "fhir": fhir.table, "meds": meds.table}
    decided = clinic.events.filter(pl.col("what").is_in(synthetic.DRUGS)).select("subject", pl.col("time").alias("at"))
    timed = clinic.events.join(decided, on="subject", maintain_order="left")
    past = timed.filter((pl.col("time") < pl.col("at")) | pl.col("what").is_in(synthetic.DRUGS)).drop("at")
    times = [pl.col("at") + after for after in (timedelta(0), timedelta(seconds=1), 90 * DAY)]
    nonsense = [
        decided.select("subject", time.alias("time"), pl.lit(what).alias("what"), pl.lit(-999.0).alias("value"))
        for time in times
        for what in (*synthetic.MEASURED, "kidney_disease")
    ]
    tables = []
    for at, found in enumerate((clinic.events, pl.concat([past, *nonsense]).sort("time"))):
        folder = tmp_path / str(at)
        folder.mkdir()
        synthetic.WRITERS[name](synthetic.Clinic(clinic.people, found), folder)
        tables.append(recipes[name](folder))
    assert_frame_equal(tables[0].drop("outcome"), tables[1].drop("outcome"))
    assert set(tables[1]["outcome"]) == {-999.0}


def test_the_last_value_before_the_decision_counts():
    moment = timedelta(microseconds=1)
    assert row((NOON - 3 * DAY, "L", 1), (NOON - DAY, "L", 2), (NOON - 2 * DAY, "L", 3))["lab"] == 2
    assert row((NOON - moment, "L", 1))["lab"] == 1
    assert row((NOON, "L", 1), (NOON + moment, "L", 2))["lab"] is None
    assert row((NOON - 365 * DAY, "L", 1))["lab"] == 1
    assert row((NOON - 365 * DAY - moment, "L", 1))["lab"] is None
    assert row((NOON - DAY, "L", 1), (NOON - moment, "L", None), (None, "L", 5))["lab"] == 1
    assert row((NOON - moment, "D", None))["ill"]
    assert not row((NOON, "D", None))["ill"]


def test_what_is_dated_to_the_day_of_the_decision_is_not_known_at_it():
    today = NOON.replace(hour=0)
    assert row((today, "L", 1), (today, "D", None))["lab"] is None
    assert not row((today, "D", None))["ill"]
    assert row((today - DAY, "L", 1))["lab"] == 1
    assert row((today - DAY, "L", 1), (today + timedelta(hours=8), "L", 2), time=today)["lab"] == 1


def test_the_outcome_is_the_first_value_of_the_follow_up():
    assert row((NOON + 59 * DAY, "L", 1), (NOON + 70 * DAY, "L", 2), (NOON + 80 * DAY, "L", 3))["outcome"] == 2
    assert row((NOON + 59 * DAY, "L", 1), (NOON + 241 * DAY, "L", 2))["outcome"] is None
    assert row((NOON - DAY, "L", 1))["outcome"] is None
    at_once = Study(last={}, ever={}, outcome="L", after=timedelta(0))
    assert decision_table(decided(), events((NOON, "L", 1)), at_once)["outcome"].item() is None


def test_only_the_first_of_one_action_is_a_decision():
    rows = [
        ("a", NOON, "x"),
        ("a", NOON + DAY, "y"),
        ("b", NOON, "x"),
        ("b", NOON, "y"),
        ("c", NOON, "x"),
        ("c", NOON, "x"),
    ]
    starts = pl.DataFrame(rows, ["subject", "time", "action"], orient="row")
    assert sorted(first_decisions(starts).rows()) == [("a", NOON, "x"), ("c", NOON, "x")]


def test_records_of_fhir_that_are_not_valid_or_not_dated_are_left_out(tmp_path):
    code = '"code": {"coding": [{"system": "x"}, {"code": "4548-4"}]}'
    start, time = f'{{"subject": {{"reference": "Patient/1"}}, {code}, ', "2024-03-01T10:00:00+02:00"
    lines = [
        f'{start}"status": "final", "effectiveDateTime": "{time}", "valueQuantity": {{"value": 7}}}}',
        f'{start}"status": "entered-in-error", "effectiveDateTime": "2024-03-01", "valueQuantity": {{"value": 8}}}}',
        f'{start}"status": "final", "effectiveDateTime": "2024-03", "valueQuantity": {{"value": 9}}}}',
        f'{start}"status": "final", "effectiveDateTime": "2024-03-02"}}',
        '{"status": "final"}',
        "",
    ]
    (tmp_path / "Observation.000.ndjson").write_text("\n".join(lines))
    found = fhir.events(tmp_path)
    assert found["time"].to_list() == [datetime(2024, 3, 1, 8), None, datetime(2024, 3, 2)]
    assert found["value"].to_list() == [7, 9, None]


def test_prudent_reads_what_a_recipe_makes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    meds.table(folder / "meds").write_parquet("decisions.parquet")
    options = LogOptions(Place("decisions.parquet"), "action", "outcome", None, True, ("subject", "time"), ())
    facts = inspection_facts(options)
    assert facts["problems"] == []
    kinds = {column["name"]: column["kind"] for column in facts["columns"]}
    assert set(kinds) == {"hba1c", "creatinine", "bmi", "kidney_disease", "sex", "age"}
    assert not facts["findings"]
