"""Identifiers are recognised whatever the order of the rows, and measurements are kept."""

import numpy as np
import pytest

from prudent.table import Schema

random = np.random.default_rng(0)
KEYS = {
    "row number": np.arange(1, 301),
    "numbers with gaps": 1000 + np.cumsum(random.integers(1, 6, 300)),
    "record numbers": random.choice(900_000, 300, replace=False) + 100_000,
    "nearly all different": np.concatenate((np.arange(5000, 5298), [5003, 5100])),
    "floats": np.arange(1, 301).astype(float),
    "texts": np.array([f"P-{row:05d}" for row in range(300)]),
    "uuids": np.array([f"{row * 7919:08x}-aa" for row in range(300)]),
}
MEASUREMENTS = {
    "age in days": random.normal(20_000, 6000, 300).round(),
    "age in days of few": random.integers(6000, 36_000, 40),
    "weight": random.normal(72, 12, 300).round(1),
    "platelets": random.normal(250, 60, 300).round(),
    "cost": np.exp(random.normal(8, 1, 300)).round(),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_dropped_in_any_order(name):
    cells = KEYS[name]
    for order in (np.arange(len(cells)), random.permutation(len(cells)), np.arange(len(cells))[::-1]):
        schema, notes = Schema.infer({"x": cells[order].tolist(), "age": [30, 40, 50] * 100})
        assert schema.names == ("age",)
        assert any("'x'" in note and "identifier" in note and "--kind x=" in note for note in notes)


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_measurements_are_kept_in_any_order(name):
    cells = MEASUREMENTS[name]
    for order in (np.arange(len(cells)), np.argsort(cells)):
        assert Schema.infer({"x": cells[order].tolist()})[0].names == ("x",)


@pytest.mark.parametrize("name", ["pidnum", "patient_no", "SubjectNumber", "case nr", "rownames", "visit_id", ""])
def test_numbers_named_as_identifiers_are_dropped(name):
    cells = random.integers(10_000, 990_000, 300)
    assert Schema.infer({name: cells.tolist(), "age": [30, 40, 50] * 100})[0].names == ("age",)


def test_a_key_may_be_kept():
    assert Schema.infer({"x": KEYS["row number"].tolist()}, {"x": "real"})[0].columns[0].kind == "real"
