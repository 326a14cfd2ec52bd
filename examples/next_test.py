"""Which test to order before deciding: what each gap is worth to each patient, and what ordering the best one gains.

python -m examples.next_test
"""

import polars as pl

import prudent

PRICE = 0.05
"""Of one test, in units of the outcome."""


def ordered(rows: int = 4000, patients: int = 200) -> pl.DataFrame:
    """For each column: for how many patients it is the test to order, and the mean gain after its price."""
    clinic = prudent.worlds.DosingWorld(loss="quadratic", doses=5)
    log = prudent.Log.from_frame(clinic.sample(rows, seed=1).frame(), action="dose", reward="outcome")
    model = prudent.CausalPVAE().fit(log, seed=0)
    cases = clinic.sample(patients, seed=2).cases()
    value = prudent.value_of_measuring(model.policy(), cases, costs=dict.fromkeys(cases.columns, PRICE))
    advised = pl.DataFrame({"order": value.measure_next, "gain": value.measure_value})
    return (
        advised.drop_nulls("order")
        .group_by("order")
        .agg(pl.len().alias("patients"), pl.col("gain").mean().alias("mean gain"))
        .sort("patients", descending=True)
    )


if __name__ == "__main__":
    print(ordered())
