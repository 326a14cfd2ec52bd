"""FHIR bulk export: Patient, Observation, Condition and MedicationRequest as .ndjson files in one folder.

    python -m examples.fhir export --out decisions.parquet
    prudent inspect decisions.parquet --action action --reward outcome --minimize --ignore subject --ignore time

The decision is the first of three drugs for diabetes that somebody was prescribed; the outcome is HbA1c some months
later. Change the codes of `STUDY` (LOINC, SNOMED CT) and `DRUGS` (RxNorm) to ask another question.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from examples.decisions import Study, age_at, decision_table, first_decisions

DRUGS = {"6809": "metformin", "25789": "glimepiride", "1545653": "empagliflozin"}
STUDY = Study(
    last={"hba1c": "4548-4", "creatinine": "2160-0", "bmi": "39156-5"},
    ever={"kidney_disease": "709044004"},
    outcome="4548-4",
)
VALID = ("final", "amended", "corrected")
EVENT = {"subject": pl.String, "when": pl.String, "code": pl.String, "value": pl.Float64}


def resources(export: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Every resource of a kind; a large export comes in several files, such as Observation.000.ndjson."""
    for file in sorted(export.glob(f"{kind}*.ndjson")):
        with file.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


def codes(concept: dict[str, Any]) -> list[str]:
    return [coding["code"] for coding in concept.get("coding", ()) if "code" in coding]


def subject(resource: dict[str, Any]) -> str:
    return resource.get("subject", {}).get("reference", "").rpartition("/")[2]


def moment(name: str) -> pl.Expr:
    """A FHIR time in UTC, or a day as its midnight; what is dated to the month or the year is left out."""
    text = pl.col(name)
    exact = text.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False).dt.replace_time_zone(None)
    return pl.coalesce(exact, text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")))


def observations(export: Path) -> Iterator[tuple[str, str | None, str, float | None]]:
    for found in resources(export, "Observation"):
        if found.get("status") in VALID:
            for code in codes(found.get("code", {})):
                yield subject(found), found.get("effectiveDateTime"), code, found.get("valueQuantity", {}).get("value")


def conditions(export: Path) -> Iterator[tuple[str, str | None, str, float | None]]:
    """Dated by when they were recorded: the onset may have become known only later."""
    for found in resources(export, "Condition"):
        for code in codes(found.get("code", {})):
            yield subject(found), found.get("recordedDate"), code, None


def events(export: Path) -> pl.DataFrame:
    found = pl.DataFrame([*observations(export), *conditions(export)], EVENT, orient="row")
    return found.select("subject", moment("when").alias("time"), "code", "value")


def decisions(export: Path) -> pl.DataFrame:
    rows = [
        (subject(found), found.get("authoredOn"), DRUGS[code])
        for found in resources(export, "MedicationRequest")
        if found.get("status") in ("active", "completed", "stopped")
        for code in codes(found.get("medicationCodeableConcept", {}))
        if code in DRUGS
    ]
    starts = pl.DataFrame(rows, {"subject": pl.String, "when": pl.String, "action": pl.String}, orient="row")
    timed = starts.select("subject", moment("when").alias("time"), "action")
    return first_decisions(timed.drop_nulls("time"))


def table(export: Path) -> pl.DataFrame:
    rows = [(one["id"], one.get("gender"), one.get("birthDate")) for one in resources(export, "Patient")]
    people = pl.DataFrame(rows, {"subject": pl.String, "sex": pl.String, "birth": pl.String}, orient="row")
    found = decision_table(decisions(export), events(export), STUDY)
    found = found.join(people, on="subject", how="left", maintain_order="left")
    return found.with_columns(age_at(pl.col("time"), moment("birth")).alias("age")).drop("birth")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("export", type=Path, help="the folder with the .ndjson files")
    options.add_argument("--out", default="decisions.parquet")
    given = options.parse_args()
    table(given.export).write_parquet(given.out)
