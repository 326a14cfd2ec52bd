"""Completions hold what can occur: numbers within the log's range, and columns that agree with what determines them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from conftest import fit_once, small_settings

import prudent
from prudent.models.possible import Possible


def clinic(rows: int = 600, seed: int = 0, gaps: float = 0.3) -> pd.DataFrame:
    """Insulin on board is never below zero; two spellings of a genotype; an age and its band; kilograms and pounds."""
    random = np.random.default_rng(seed)
    need = random.normal(size=rows)
    genotype = random.choice(3, rows, p=[0.5, 0.3, 0.2])
    age, weight = random.uniform(18, 90, rows), random.normal(80, 12, rows)
    columns = {
        "insulin": np.maximum(random.normal(0.3, 1.0, rows) + need, 0),
        "genotype": np.array(["AA", "AG", "GG"], object)[genotype],
        "genotype_copy": np.array(["wild", "one", "two"], object)[genotype],
        "age": np.round(age, 1),
        "band": np.array(["young", "middle", "old"], object)[(age >= 40).astype(int) + (age >= 65)],
        "kg": weight,
        "lb": 2.2046 * weight,
        "need": need,
    }
    for name, cells in columns.items():
        gap = random.random(rows) < gaps
        columns[name] = np.where(gap, np.nan if cells.dtype == float else None, cells)
    columns["dose"] = random.integers(0, 2, rows)
    columns["outcome"] = need * (2 * columns["dose"] - 1) + 0.3 * random.normal(size=rows)
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def log():
    kinds = {"insulin": "real", "kg": "real", "lb": "real"}
    return prudent.Log.from_frame(clinic(), action="dose", reward="outcome", kinds=kinds)


@pytest.fixture(scope="module")
def fitted(log, shared_folder):
    return fit_once(shared_folder / "possible", lambda: small_settings("causal").fit(log, seed=0))


def completed(fitted, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Every completion of every row in the user's units, [row * completion]."""
    encoded = fitted.schema.encode(frame)
    pricing = fitted.policy(completions=64).pricing
    complete = eqx.filter_jit(lambda *record: fitted.model.complete(*record, pricing.uniforms, False).values)
    parts = [
        np.asarray(complete(jnp.asarray(values), jnp.asarray(observed)))
        for values, observed in zip(encoded.values, encoded.observed, strict=True)
    ]
    return {name: np.array(cells) for name, cells in fitted.schema.decode(np.concatenate(parts)).items()}


@pytest.fixture(scope="module")
def drawn(fitted):
    return completed(fitted, clinic(12, seed=1, gaps=0.6).drop(columns=["dose", "outcome"]))


def test_numbers_stay_within_the_range_of_the_log(drawn):
    for name in ("insulin", "age", "kg", "need"):
        seen = clinic()[name]
        assert drawn[name].min() >= seen.min() - 1e-3, name
        assert drawn[name].max() <= seen.max() + 1e-3, name


def test_a_copy_agrees_with_its_original(drawn):
    pairs = {"AA": "wild", "AG": "one", "GG": "two"}
    assert [pairs[one] for one in drawn["genotype"]] == drawn["genotype_copy"].tolist()
    assert len(set(drawn["genotype"])) == 3


def test_a_number_lies_in_its_band(drawn):
    band = np.where(drawn["age"] < 40, "young", np.where(drawn["age"] < 65, "middle", "old"))
    assert (band == drawn["band"]).mean() > 0.99  # the edge is known to the nearest rows only


def test_a_number_in_other_units_agrees(drawn):
    np.testing.assert_allclose(drawn["lb"], 2.2046 * drawn["kg"], rtol=0.01)


def test_observed_cells_stay_even_where_they_contradict_each_other(fitted):
    frame = pd.DataFrame({name: [None] for name in fitted.schema.names}).astype(object)
    frame.loc[0, ["genotype", "genotype_copy", "insulin"]] = ["AA", "two", 99.0]
    cells = completed(fitted, frame)
    assert set(cells["genotype"]) == {"AA"}
    assert set(cells["genotype_copy"]) == {"two"}
    np.testing.assert_allclose(cells["insulin"], 99.0, rtol=1e-5)


def test_the_search_for_a_worst_case_keeps_to_what_can_occur(fitted):
    frame = clinic(8, seed=2, gaps=0.7).drop(columns=["dose", "outcome"])
    advice = fitted.policy(prudent.Conservative(risk=0.05), completions=64).recommend(frame)
    pairs = {"AA": "wild", "AG": "one", "GG": "two"}
    for row in range(len(frame)):
        explanation = advice[row].explain()
        record = explanation.observed | explanation.worst_case
        assert pairs[record["genotype"]] == record["genotype_copy"]
        assert record["insulin"] >= -1e-3


def test_unrelated_columns_determine_nothing():
    random = np.random.default_rng(0)
    for rows in (40, 300, 3000):
        frame = pd.DataFrame({f"x{at}": random.normal(size=rows) for at in range(6)})
        for at in range(6):
            frame[f"c{at}"] = random.choice(["a", "b", "c"], rows, p=[0.9, 0.07, 0.03])
        frame["dose"], frame["outcome"] = random.integers(0, 2, rows), random.normal(size=rows)
        found = Possible.of(prudent.Log.from_frame(frame, action="dose", reward="outcome"))
        assert found.relations.source.shape == (0,)


def test_a_few_contradictions_do_not_hide_a_relation_and_many_do():
    random = np.random.default_rng(0)
    original = random.choice(["a", "b", "c"], 2000)
    for wrong, related in ((0.002, True), (0.05, False)):
        copy = np.where(random.random(2000) < wrong, random.choice(["a", "b", "c"], 2000), original)
        frame = pd.DataFrame({"one": original, "other": copy, "x": random.normal(size=2000)})
        frame["dose"], frame["outcome"] = random.integers(0, 2, 2000), random.normal(size=2000)
        found = Possible.of(prudent.Log.from_frame(frame, action="dose", reward="outcome"))
        assert (found.relations.source.shape[0] > 0) is related


def test_held_records_are_left_alone(log):
    """What the log itself holds is possible: complete rows do not move."""
    possible = Possible.of(log)
    complete = np.flatnonzero(log.observed.all(axis=1))
    assert len(complete) > 10
    gaps = jnp.zeros(len(log.schema), bool)
    moved = jax.vmap(lambda values: possible.held(values, gaps))(jnp.asarray(log.values[complete]))
    np.testing.assert_allclose(moved, log.values[complete], atol=0.05)
