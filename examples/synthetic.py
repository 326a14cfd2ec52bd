"""A simulated clinic for diabetes, written as OMOP, FHIR or MEDS, to try the recipes on.

python -m examples.synthetic omop cdm --patients 2000
"""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from examples import fhir, meds, omop

MEASURED = ("hba1c", "creatinine", "bmi")
DRUGS = ("metformin", "glimepiride", "empagliflozin")
FIRST_DAY = datetime(2021, 1, 1, 8)


@dataclass(frozen=True)
class Clinic:
    """people: subject, sex, born. events: subject, time, what, value, where `what` is a word of MEASURED or DRUGS or
    kidney_disease. All times are exact to the second."""

    people: pl.DataFrame
    events: pl.DataFrame


def clinic(patients: int = 500, seed: int = 0) -> Clinic:
    """Which drug lowers HbA1c most depends on the kidneys and the weight; doctors guess it now and then."""
    chance = np.random.default_rng(seed)
    people, events = [], []
    for subject in range(1, patients + 1):
        kidneys, weight = chance.normal(), chance.normal()
        severity = 8 + chance.normal()
        decided = FIRST_DAY + timedelta(seconds=int(chance.integers(400 * 86400, 1000 * 86400)))
        values = {"hba1c": severity, "creatinine": 1.1 + 0.25 * kidneys, "bmi": 29 + 4 * weight}
        best = 0 if kidneys < 0.3 else 2 if weight > 0 else 1
        drug = best if chance.random() < 0.4 else int(chance.integers(3))
        outcome = severity - 1.5 + 0.8 * (drug != best) + 0.3 * chance.normal()
        born = datetime(1940, 1, 1) + timedelta(days=int(chance.integers(0, 15000)))
        people.append((subject, str(chance.choice(["male", "female"])), born))
        for name, value in values.items():
            for _ in range(chance.poisson(1.3)):  # none at all for a quarter of them: a gap
                days = float(chance.uniform(-600, -0.5))
                events.append((subject, decided + timedelta(days=days), name, round(value + 0.1 * chance.normal(), 2)))
        if kidneys > 1:
            events.append((subject, decided + timedelta(days=float(chance.uniform(-900, 300))), "kidney_disease", None))
        events.append((subject, decided, DRUGS[drug], None))
        if chance.random() < 0.9:
            later = decided + timedelta(days=float(chance.uniform(70, 200)))
            events.append((subject, later, "hba1c", round(outcome, 2)))
    schema = {"subject": pl.Int64, "time": pl.Datetime("us"), "what": pl.String, "value": pl.Float64}
    found = pl.DataFrame(events, schema, orient="row").with_columns(pl.col("time").dt.truncate("1s"))
    known = pl.DataFrame(people, {"subject": pl.Int64, "sex": pl.String, "born": pl.Datetime("us")}, orient="row")
    return Clinic(known, found.sort("time", "subject", "what"))


def write_omop(clinic: Clinic, folder: Path) -> None:
    """Parquet files with the columns that the recipe reads."""
    concepts = {**omop.STUDY.last, **omop.STUDY.ever, **{name: code for code, name in omop.DRUGS.items()}}
    sexes = {name: code for code, name in omop.SEX.items()}
    clinic.people.select(
        pl.col("subject").alias("person_id"),
        pl.col("sex").replace_strict(sexes, return_dtype=pl.Int64).alias("gender_concept_id"),
        *(
            getattr(pl.col("born").dt, part)().cast(pl.Int64).alias(f"{part}_of_birth")
            for part in ("year", "month", "day")
        ),
    ).write_parquet(folder / "person.parquet")
    for name, kind, when, words in (
        ("measurement", "measurement", "measurement", MEASURED),
        ("condition_occurrence", "condition", "condition_start", ("kidney_disease",)),
        ("drug_exposure", "drug", "drug_exposure_start", DRUGS),
    ):
        clinic.events.filter(pl.col("what").is_in(words)).select(
            pl.col("subject").alias("person_id"),
            pl.col("what").replace_strict(concepts, return_dtype=pl.String).cast(pl.Int64).alias(f"{kind}_concept_id"),
            pl.col("time").dt.date().alias(f"{when}_date"),
            pl.col("time").alias(f"{when}_datetime"),
            pl.col("value").alias("value_as_number"),
        ).write_parquet(folder / f"{name}.parquet")


def write_fhir(clinic: Clinic, folder: Path) -> None:
    """One .ndjson file per kind of resource."""
    concepts = {**fhir.STUDY.last, **fhir.STUDY.ever, **{name: code for code, name in fhir.DRUGS.items()}}
    people = [
        {"resourceType": "Patient", "id": str(subject), "gender": sex, "birthDate": f"{born:%Y-%m-%d}"}
        for subject, sex, born in clinic.people.iter_rows()
    ]
    _write_lines(folder / "Patient.ndjson", people)
    resources: dict[str, list[Any]] = {"Observation": [], "Condition": [], "MedicationRequest": []}
    for subject, time, what, value in clinic.events.iter_rows():
        when, concept = f"{time:%Y-%m-%dT%H:%M:%S}Z", {"coding": [{"code": concepts[what]}]}
        start = {"subject": {"reference": f"Patient/{subject}"}}
        if what in MEASURED:
            facts = {"status": "final", "code": concept, "effectiveDateTime": when, "valueQuantity": {"value": value}}
            kind = "Observation"
        elif what in DRUGS:
            facts = {"status": "active", "medicationCodeableConcept": concept, "authoredOn": when}
            kind = "MedicationRequest"
        else:
            facts, kind = {"code": concept, "recordedDate": when}, "Condition"
        resources[kind].append({"resourceType": kind, "id": str(len(resources[kind])), **start, **facts})
    for kind, rows in resources.items():
        _write_lines(folder / f"{kind}.ndjson", rows)


def _write_lines(file: Path, rows: Iterable[Any]) -> None:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_meds(clinic: Clinic, folder: Path) -> None:
    """Two shards, as MEDS keeps them; sex has no time."""
    drugs = {name: code for code, name in meds.DRUGS.items()}
    codes = {**meds.STUDY.last, **meds.STUDY.ever, **drugs, **{name: code for code, name in meds.SEX.items()}}
    code = pl.col("what").replace_strict(codes, default=pl.col("what"), return_dtype=pl.String)
    facts = [
        clinic.people.select("subject", pl.col("sex").alias("what")),
        clinic.people.select("subject", pl.col("born").alias("time"), pl.lit(meds.BIRTH).alias("what")),
    ]
    rows = pl.concat([clinic.events, *facts], how="diagonal").select(
        pl.col("subject").alias("subject_id"), "time", code.alias("code"), pl.col("value").alias("numeric_value")
    )
    (folder / "train").mkdir(exist_ok=True)
    for shard in range(2):
        rows.filter(pl.col("subject_id") % 2 == shard).write_parquet(folder / "train" / f"{shard}.parquet")


WRITERS: dict[str, Callable[[Clinic, Path], None]] = {"omop": write_omop, "fhir": write_fhir, "meds": write_meds}

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("standard", choices=WRITERS)
    options.add_argument("folder", type=Path, help="made if it is not there")
    options.add_argument("--patients", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    WRITERS[given.standard](clinic(given.patients, given.seed), given.folder)
