"""Cases that are unlike the held-out decisions are named; like ones are not, however many columns there are."""

import numpy as np
import pytest

from prudent.promise.exchangeability import drift, likeness
from prudent.table import Column, Encoded, Log, Schema

SCHEMA = Schema(
    (*(Column(f"x{at}", "real") for at in range(12)), Column("site", "categorical", ("north", "south", "west")))
)


def records(rows, seed, shift=0.0, scale=1.0, gaps=0.2, west=1 / 3):
    """Twelve numbers, of which the first may be shifted, spread or missing more often, and a site."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, 13))
    values[:, 0] = shift + scale * values[:, 0]
    values[:, 12] = random.choice(3, size=rows, p=[2 / 3 - west / 2, 1 / 3 - west / 2, west])
    observed = random.random(values.shape) >= np.array([gaps, *[0.2] * 12])
    return np.where(observed, values, 0).astype(np.float32), observed


def log_of(values, observed):
    return Log(SCHEMA, values, observed, np.zeros(len(values), int), np.zeros(len(values)), ("a",), None)


def compare(cases, **changes):
    return likeness(log_of(*records(400, 1)), Encoded(*records(cases, 2, **changes), [""] * cases), seed=0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shift": 0.8}, "'x0' is higher"),
        ({"shift": -0.8}, "'x0' is lower"),
        ({"scale": 3.0}, "'x0' is more often extreme"),
        ({"gaps": 0.5}, "'x0' is missing more often"),
        ({"west": 0.6}, "'site' is more often 'west'"),
    ],
)
def test_what_differs_is_named_first(changes, words):
    (sentence,) = compare(200, **changes)
    assert "200 cases are not like the 400 held-out decisions" in sentence
    assert f"): {words}" in sentence
    assert "may not hold" in sentence


def test_like_cases_are_said_to_look_alike_and_a_few_are_not_spoken_of():
    (sentence,) = compare(200)
    assert "The 200 cases look like the 400 held-out decisions" in sentence
    assert compare(5) == []


def test_false_alarms_are_as_rare_as_they_are_meant_to_be():
    alarms = 0
    for seed in range(100):
        log, cases = log_of(*records(60, 2 * seed)), records(40, 2 * seed + 1)
        alarms += "not like" in " ".join(likeness(log, Encoded(*cases, [""] * 40), seed))
    assert alarms <= 4  # one in a hundred is expected of as many comparisons as there are here


def test_a_column_that_cases_never_have_or_always_have_alike_is_no_difficulty():
    values, observed = records(100, 3)
    observed[:, 3], values[:, 3] = False, 0
    blank = Encoded(values[:0], observed[:0], [])
    assert likeness(log_of(values, observed), blank, seed=0) == []
    assert "look like" in likeness(log_of(values, observed), Encoded(values, observed, [""] * 100), seed=0)[0]


def test_drift_of_outcomes_and_of_records_along_the_log():
    scores = np.random.default_rng(4).normal(size=300)
    scores[::3] = np.nan
    values, observed = records(300, 5)
    assert drift(log_of(values, observed), scores, seed=0) == []
    (worse,) = drift(log_of(values, observed), scores + np.repeat([0, 1.5], 150), seed=0)
    assert "outcomes fall further below their prediction" in worse
    values[:, 0] += np.linspace(0, 2, 300, dtype=np.float32) * observed[:, 0]
    (older,) = drift(log_of(values, observed), scores, seed=0)
    assert "'x0' is higher" in older
