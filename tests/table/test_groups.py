"""Rows that belong together: read as numbers that any table shares, and never on two sides of a split."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from prudent import InputProblem, Log
from prudent.table import count_groups, deal_groups, every_fourth, first_groups, log_findings, one_of_each


def visits(patients: list[Any], group: str = "patient", **reading: Any) -> Log:
    rows = np.arange(len(patients))
    frame = pd.DataFrame({"age": rows * 1.5, "patient": patients, "dose": rows % 2, "outcome": rows % 5 * 1.0})
    return Log.from_frame(frame, action="dose", reward="outcome", group=group, **reading)


def test_a_group_has_the_same_number_in_every_table():
    first, second = visits([7, 8, 7, 9] * 5), visits(["9", "7.0", "10", "7"] * 5)
    assert first.groups is not None
    assert second.groups is not None
    assert first.groups[0] == first.groups[2] == second.groups[1] == second.groups[3]
    assert first.groups[3] == second.groups[0]
    assert second.groups[2] not in first.groups
    assert first.schema.names == second.schema.names == ("age",)
    assert list(first.cases().columns) == ["age"]
    assert any("3 groups" in note for note in first.notes)


def test_a_row_without_a_group_is_alone():
    log = visits(["a", None, "a", None, "NA", "b"])
    assert count_groups(log.groups) == 5
    assert any("3 rows" in note for note in log.notes)
    declared = visits(["a", "?1", "a", "?1", "b", "b"], missing={"patient": ["?1"]})
    assert count_groups(declared.groups) == 4
    assert declared.roles.missing_values()["patient"] == ["?1"]


def test_what_a_group_cannot_be():
    with pytest.raises(InputProblem, match=r"'patient'.*'only'"):
        visits(["only"] * 6)
    with pytest.raises(InputProblem, match=r"'patent'.*group.*'patient'"):
        visits(list("aabbcc"), group="patent")
    with pytest.raises(InputProblem, match="'dose'"):
        visits(list("aabbcc"), group="dose")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8, 0.97])
def test_a_split_keeps_groups_whole(share):
    random = np.random.default_rng(0)
    log = visits([f"p{number}" for number in random.integers(0, 40, 300)])
    parts = log.split(share, seed=3)
    assert sum(map(len, parts)) == 300
    groups = [set(np.asarray(part.groups).tolist()) for part in parts]
    assert groups[0]
    assert groups[1]
    assert not groups[0] & groups[1]
    assert abs(len(parts[0]) / 300 - share) < 0.05
    assert all((np.diff(np.asarray(part.positions)) > 0).all() for part in parts)


def test_a_huge_group_is_not_all_that_is_drawn():
    groups = np.array([1] * 90 + list(range(2, 12)))
    for seed in range(20):
        drawn = first_groups(groups, 10, np.random.default_rng(seed))
        assert 0 < drawn.sum() <= 10
    both = np.array([1] * 5 + [2] * 95)
    assert {int(first_groups(both, rows, np.random.default_rng(0)).sum()) for rows in (1, 50, 99)} <= {5, 95}


def test_folds_and_samples_by_group():
    groups = np.random.default_rng(0).integers(0, 30, 200)
    fold = deal_groups(groups, 5, np.random.default_rng(1))
    aside = every_fourth(200, groups)
    for group in np.unique(groups):
        assert len(set(fold[groups == group])) == len(set(aside[groups == group])) == 1
    assert set(fold) == set(range(5))
    assert 0.1 < aside.mean() < 0.4
    np.testing.assert_array_equal(np.flatnonzero(every_fourth(9)), [0, 4, 8])
    some = one_of_each(groups, np.random.default_rng(2))
    np.testing.assert_array_equal(np.sort(groups[some]), np.unique(groups))


# --- a column that should be named as the group ---


def table_of(patients: int, each: int, name: str = "patient_id") -> pd.DataFrame:
    random = np.random.default_rng(0)
    rows = patients * each
    return pd.DataFrame(
        {
            name: [f"P{number:04d}" for number in np.repeat(np.arange(patients), each)],
            "visit_id": [f"V{number:05d}" for number in range(rows)],
            "age": random.normal(50, 10, rows),
            "ward": np.array(["north", "south", "east"])[random.integers(0, 3, rows)],
            "dose": random.integers(0, 2, rows),
            "outcome": random.normal(size=rows),
        }
    )


def proposed(frame: pd.DataFrame, **reading: Any) -> list[tuple[str, str]]:
    log = Log.from_frame(frame, action="dose", reward="outcome", **reading)
    return [finding.option for finding in log_findings(log) if finding.option[0] == "--group"]


def test_a_repeated_identifier_is_proposed_as_the_group():
    assert proposed(table_of(60, 4)) == [("--group", "patient_id")]
    assert proposed(table_of(60, 4).assign(patient_id=np.repeat(np.arange(60), 4))) == [("--group", "patient_id")]
    assert proposed(table_of(60, 4, name="subject")) == [("--group", "subject")]


def test_other_columns_are_not():
    assert proposed(table_of(200, 1)) == []
    assert proposed(table_of(60, 4), group="patient_id") == []
    assert proposed(table_of(60, 4, name="postcode")) == []
    assert proposed(table_of(5, 40)) == []
