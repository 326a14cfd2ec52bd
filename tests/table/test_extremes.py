"""Slips such as 1e30 set neither the scale of a column nor that of the rewards, and are named."""

import numpy as np
import polars as pl
import pytest

import prudent
from prudent.models.training_data import reward_origin, reward_scale, training_arrays
from prudent.table import Schema, usual_range

RANDOM = np.random.default_rng(0)
AGES = RANDOM.normal(50, 12, 300).round(1)
AMOUNTS = np.where(RANDOM.random(400) < 0.8, 0.0, np.exp(2 * RANDOM.normal(size=400)))


@pytest.mark.parametrize(
    ("usual", "slips"),
    [
        (AGES, [-1e30]),
        (AGES / 1000, [-999.0] * 30),
        (AGES, [1e30, -1e30, 1e9]),
        (np.repeat([0.0, 1.0], [290, 10]), [1e6]),
        (np.repeat(np.arange(10.0), 30), [999.0] * 3),
        (AMOUNTS, [1e9]),
    ],
)
def test_slips_are_outside_the_usual_range(usual: np.ndarray, slips: list[float]) -> None:
    assert usual_range(np.array([*slips, *usual])) == (usual.min(), usual.max())


@pytest.mark.parametrize(
    "numbers",
    [
        np.exp(3 * RANDOM.normal(size=5000)),
        RANDOM.standard_cauchy(size=200),
        AMOUNTS,
        np.repeat([0.0, 1.0], [999, 1]),
        np.array([1.0, 2.0, 3.0, 99.0]),
        RANDOM.random(20),
    ],
)
def test_long_tails_and_short_columns_have_no_slips(numbers: np.ndarray) -> None:
    assert usual_range(numbers) == (numbers.min(), numbers.max())


@pytest.mark.parametrize(("slip", "read_as"), [(-1e30, "low"), (1e300, "high")])
def test_a_slip_leaves_the_scale_alone_and_is_named(slip: float, read_as: str) -> None:
    plain, none = Schema.infer({"age": AGES})
    schema, notes = Schema.infer({"age": [slip, *AGES]})
    column, width = schema.columns[0], float(np.ptp(AGES))
    assert column == plain.columns[0]
    assert not none
    assert len(notes) == 1
    assert "'age'" in notes[0]
    assert f"{slip:.6g}" in notes[0]
    assert "--missing" in notes[0]
    assert f"{slip:.12g}" in schema.encode({"age": [slip]}).flags[0]
    doses, outcomes = ["a", "b"] * 150 + ["a"], [*RANDOM.normal(size=301)]
    log = prudent.Log.from_frame({"age": [slip, *AGES], "dose": doses, "y": outcomes}, action="dose", reward="y")
    assert log.observed.all()
    end = AGES.min() - width if read_as == "low" else AGES.max() + width
    assert column.decode(log.values[:1, 0])[0] == pytest.approx(end)
    assert column.decode(log.values[1:, 0]) == pytest.approx(list(AGES))


def test_a_slip_among_rewards_changes_no_other_reward_and_is_named() -> None:
    table = pl.DataFrame({"age": AGES, "dose": ["a", "b"] * 150, "outcome": RANDOM.normal(size=300)})
    wrong = table.with_columns(pl.Series("outcome", [1e30, *table["outcome"][1:]]))
    clean, slipped = (prudent.Log.from_frame(each, action="dose", reward="outcome") for each in (table[1:], wrong))
    scale = reward_scale(slipped)
    assert float(scale.location) == float(reward_scale(clean).location)
    assert float(scale.scale) == float(reward_scale(clean).scale)
    rewards = training_arrays(slipped, scale, None)["reward"]
    np.testing.assert_array_equal(rewards[1:], training_arrays(clean, scale, None)["reward"])
    assert rewards[1:].max() < rewards[0] < 12
    assert any("'outcome'" in note and "1e+30" in note for note in slipped.notes)
    assert not any("far from all others" in note for note in clean.notes)


def test_rewards_too_far_from_zero_to_be_told_apart_are_refused() -> None:
    outcome = RANDOM.normal(size=300)
    near, far = (
        prudent.Log.from_frame(
            {"age": AGES, "dose": ["a", "b"] * 150, "y": outcome + offset}, action="dose", reward="y"
        )
        for offset in (1e7, 1e10)
    )
    assert reward_origin(near) == pytest.approx(1e7, abs=1)
    assert abs(float(reward_scale(near).location)) < 1
    with pytest.raises(prudent.InputProblem, match="1e\\+10 from the reward column"):
        reward_scale(far)
