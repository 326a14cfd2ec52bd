"""MEDS: parquet files with subject_id, time, code and numeric_value, one row per event.

    python -m examples.meds data --out decisions.parquet
    prudent inspect decisions.parquet --action action --reward outcome --minimize --ignore subject --ignore time

The decision is the first of three drugs for diabetes that somebody was given; the outcome is HbA1c some months later.
Codes of MEDS are those of the hospital: change `STUDY`, `DRUGS` and `SEX` to yours.
"""

import argparse
from pathlib import Path

import polars as pl

import prudent
from examples.decisions import Study, age_at, decision_table, first_decisions

DRUGS = {f"MEDICATION//START//{name}": name for name in ("metformin", "glimepiride", "empagliflozin")}
STUDY = Study(
    last={"hba1c": "LAB//HBA1C", "creatinine": "LAB//CREATININE", "bmi": "VITAL//BMI"},
    ever={"kidney_disease": "DIAGNOSIS//CKD"},
    outcome="LAB//HBA1C",
)
SEX = {"GENDER//M": "male", "GENDER//F": "female"}
BIRTH = "MEDS_BIRTH"


def table(data: Path) -> pl.DataFrame:
    """data: the folder of the shards, in any depth; splits such as train/ and tuning/ are read together."""
    shards = prudent.read_table(data)
    events = shards.select(
        pl.col("subject_id").alias("subject"),
        pl.col("time").cast(pl.Datetime("us")),
        "code",
        pl.col("numeric_value").cast(pl.Float64).alias("value"),
    )
    starts = events.filter(pl.col("code").is_in(list(DRUGS))).select(
        "subject", "time", pl.col("code").replace_strict(DRUGS, return_dtype=pl.String).alias("action")
    )
    rows = decision_table(first_decisions(starts.drop_nulls("time")), events, STUDY)
    # sex has no time of its own in MEDS, and birth is before everything
    for name, facts in {"sex": _sex(events), "born": _births(events)}.items():
        rows = rows.join(facts.select("subject", name), on="subject", how="left", maintain_order="left")
    return rows.with_columns(age_at(pl.col("time"), pl.col("born")).alias("age")).drop("born")


def _sex(events: pl.DataFrame) -> pl.DataFrame:
    known = events.filter(pl.col("code").is_in(list(SEX))).unique("subject", keep="first", maintain_order=True)
    return known.with_columns(pl.col("code").replace_strict(SEX, return_dtype=pl.String).alias("sex"))


def _births(events: pl.DataFrame) -> pl.DataFrame:
    return events.filter(pl.col("code") == BIRTH).group_by("subject").agg(pl.col("time").min().alias("born"))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("data", type=Path, help="the folder with the parquet files")
    options.add_argument("--out", default="decisions.parquet")
    given = options.parse_args()
    table(given.data).write_parquet(given.out)
