"""OMOP CDM: person, drug_exposure, measurement and condition_occurrence, in a database or in parquet files.

    python -m examples.omop cdm.duckdb --out decisions.parquet
    prudent inspect decisions.parquet --action action --reward outcome --minimize --ignore subject --ignore time

The decision is the first of three drugs for diabetes that somebody was given; the outcome is HbA1c some months later.
Change the concepts of `STUDY` and `DRUGS` to ask another question.
"""

import argparse
from pathlib import Path

import polars as pl

import prudent
from examples.decisions import Study, age_at, decision_table, first_decisions

DRUGS = {"1503297": "metformin", "1597756": "glimepiride", "45774751": "empagliflozin"}
"""Ingredients. A real exposure names a product: map it to its ingredient by concept_ancestor first."""
STUDY = Study(
    last={"hba1c": "3004410", "creatinine": "3016723", "bmi": "3038553"},
    ever={"kidney_disease": "46271022"},
    outcome="3004410",
)
SEX = {8507: "male", 8532: "female"}


def read(cdm: str, name: str, *columns: str) -> pl.DataFrame:
    """A table of the CDM: of a database (a file or a URL), or a parquet file or folder of that name in a folder."""
    folder = Path(cdm)
    if not folder.is_dir():
        return prudent.read_table(cdm, query=f"SELECT {', '.join(columns)} FROM {name}")
    place = folder / name if (folder / name).is_dir() else folder / f"{name}.parquet"
    return prudent.read_table(place).select(columns)


def records(cdm: str, name: str, kind: str, when: str, *more: str) -> pl.DataFrame:
    """subject, time and code of a table of events, and further columns; the day where no exact time is recorded."""
    found = read(cdm, name, "person_id", f"{kind}_concept_id", f"{when}_date", f"{when}_datetime", *more)
    times = [found[f"{when}_{exactness}"] for exactness in ("datetime", "date")]
    # SQLite keeps times as text
    times = [cells.str.to_datetime(strict=False) if cells.dtype == pl.String else cells for cells in times]
    return found.select(
        pl.col("person_id").alias("subject"),
        pl.coalesce(cells.cast(pl.Datetime("us")) for cells in times).alias("time"),
        pl.col(f"{kind}_concept_id").cast(pl.String).alias("code"),
        *more,
    )


def events(cdm: str) -> pl.DataFrame:
    measured = records(cdm, "measurement", "measurement", "measurement", "value_as_number")
    diagnosed = records(cdm, "condition_occurrence", "condition", "condition_start")
    value = pl.col("value_as_number").cast(pl.Float64).alias("value")
    return pl.concat([measured.select("subject", "time", "code", value), diagnosed], how="diagonal")


def decisions(cdm: str) -> pl.DataFrame:
    given = records(cdm, "drug_exposure", "drug", "drug_exposure_start").filter(pl.col("code").is_in(list(DRUGS)))
    action = pl.col("code").replace_strict(DRUGS, return_dtype=pl.String).alias("action")
    return first_decisions(given.select("subject", "time", action))


def table(cdm: str) -> pl.DataFrame:
    born = pl.datetime("year_of_birth", pl.col("month_of_birth").fill_null(7), pl.col("day_of_birth").fill_null(1))
    people = read(
        cdm, "person", "person_id", "gender_concept_id", "year_of_birth", "month_of_birth", "day_of_birth"
    ).select(
        pl.col("person_id").alias("subject"),
        pl.col("gender_concept_id").replace_strict(SEX, default=None, return_dtype=pl.String).alias("sex"),
        born.alias("born"),
    )
    rows = decision_table(decisions(cdm), events(cdm), STUDY)
    rows = rows.join(people, on="subject", how="left", maintain_order="left")
    return rows.with_columns(age_at(pl.col("time"), pl.col("born")).alias("age")).drop("born")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("cdm", help="a folder of parquet files, a DuckDB or SQLite file, or a postgresql:// URL")
    options.add_argument("--out", default="decisions.parquet")
    given = options.parse_args()
    table(given.cdm).write_parquet(given.out)
