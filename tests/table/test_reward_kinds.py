"""Rewards as they come: yes and no, counts, several outcomes in one weighted sum."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from prudent import InputProblem, Log, load
from prudent.command_line import main
from prudent.table import Roles, weighted_sum
from prudent.table.weighted_reward import as_text


def table(rows: int = 40, /, **changed: Any) -> dict[str, list[Any]]:
    random = np.random.default_rng(0)
    columns = {
        "age": random.normal(60, 9, rows).round(1).tolist(),
        "dose": random.choice(["high", "low"], rows).tolist(),
        "survival": random.integers(0, 2, rows).astype(float).tolist(),
        "days in ward": random.poisson(6, rows).astype(float).tolist(),
    }
    return columns | changed


def read(frame: Any, reward: Any, **options: Any) -> Log:
    return Log.from_frame(frame, action="dose", reward=reward, **options)


# --- yes and no ---


@pytest.mark.parametrize("words", [("yes", "no"), ("True", "FALSE"), ("Y", "n"), (True, False)])
def test_yes_is_1_and_no_is_0_and_a_note_says_which(words: tuple[Any, Any]):
    survived = [words[0], words[1], None, words[0]] * 10
    log = read(table(survival=survived), "survival")
    assert log.rewards[[0, 1, 3]].tolist() == [1, 0, 1]
    assert np.isnan(log.rewards[2])
    assert any("read as 1" in note and "survival" in note for note in log.notes)
    died = read(table(survival=survived), "survival", minimize=True)
    assert died.rewards[[0, 1]].tolist() == [-1, 0]


def test_other_words_are_refused_with_both_of_them_and_the_way_out():
    with pytest.raises(InputProblem, match=r"'alive'.*'dead'.*1.*0"):
        read(table(survival=["alive", "dead"] * 20), "survival")


def test_a_log_of_one_answer_only_is_read_as_the_model_was():
    log = read(table(survival=["yes", "no"] * 20), "survival")
    later = read(table(survival=["no"] * 40), "survival", schema=log.schema, action_labels=log.action_labels)
    assert (later.rewards == 0).all()


# --- weighted sums ---

SUM = "survival - 0.1*`days in ward`"


@pytest.mark.parametrize(
    ("text", "weights", "offset"),
    [
        ("a - 0.1*b", {"a": 1, "b": -0.1}, 0),
        ("-a", {"a": -1}, 0),
        ("2 * a * -3 + b", {"a": -6, "b": 1}, 0),
        ("1 - 'has died' + \"b-c\"*1e-2", {"has died": -1, "b-c": 0.01}, 1),
        ("a+a", {"a": 2}, 0),
        ("größe_1 - x.y", {"größe_1": 1, "x.y": -1}, 0),
    ],
)
def test_a_sum_means_what_it_says(text: str, weights: dict[str, float], offset: float):
    found = weighted_sum(text)
    assert dict(found.weights) == pytest.approx(weights)
    assert found.offset == offset
    assert dict(weighted_sum(as_text(weights)).weights) == pytest.approx(weights)


@pytest.mark.parametrize(
    "text", ["a*b", "a /b", "a -", "*a", "a b", "2a", "a(b)", "__import__('os')", "a - a", "3 - 2", "a**b", "a*1e999"]
)
def test_what_is_no_sum_of_columns_is_refused(text: str):
    with pytest.raises(InputProblem, match="reward"):
        weighted_sum(text)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(table()), pl.DataFrame(table()), table()], ids=["pandas", "polars", "dict"]
)
@pytest.mark.parametrize("reward", [SUM, {"survival": 1, "days in ward": -0.1}])
def test_the_parts_make_the_reward_and_are_no_features(frame: Any, reward: Any):
    log, columns = read(frame, reward), table()
    expected = np.array(columns["survival"]) - 0.1 * np.array(columns["days in ward"])
    assert log.rewards == pytest.approx(expected)
    assert log.schema.names == ("age",)
    assert list(pl.DataFrame(log.take([0, 1]).cases()).columns) == ["age"]
    assert log.roles.reward == SUM


def test_a_gap_in_a_part_is_a_gap_of_the_reward_and_is_counted():
    days = table()["days in ward"]
    log = read(table(**{"days in ward": [None, None, *days[2:]]}), SUM)
    assert np.isnan(log.rewards[:2]).all()
    assert np.isfinite(log.rewards[2:]).all()
    assert any("'days in ward' in 2 rows" in note for note in log.notes)


def test_a_column_of_that_name_goes_first():
    log = read(table(**{SUM: [float(row) for row in range(40)]}), SUM)
    assert log.rewards.tolist() == list(range(40))
    assert set(log.schema.names) == {"age", "survival", "days in ward"}


@pytest.mark.parametrize(
    ("reward", "named"),
    [
        ("survival - 0.1*days", "days"),
        ("survival - dose", "dose"),
        ("surviva - 0.1*`days in war`", "'surviva'"),
        ("days-in-ward", "Did you mean 'days in ward'"),
        ("days-in-ward!", "Did you mean 'days in ward'"),
        ({"survival": 0}, "survival"),
        ({}, "reward"),
    ],
)
def test_a_part_that_does_not_fit_is_named(reward: Any, named: str):
    with pytest.raises(InputProblem, match=named):
        read(table(), reward)


def test_odd_cells_of_a_part_are_named_with_its_column():
    days: list[Any] = [str(day) for day in table()["days in ward"]]
    with pytest.raises(InputProblem, match=r"days in ward.*'long'"):
        read(table(**{"days in ward": [*days[:-1], "long"]}), SUM)


def test_declared_gaps_of_a_part_are_remembered():
    days = table()["days in ward"]
    log = read(table(**{"days in ward": [999, *days[1:]]}), SUM, missing={"days in ward": 999})
    assert np.isnan(log.rewards[0])
    assert log.roles.missing_values()["days in ward"] == ["999"]


def test_the_command_line_reads_sums(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "visits.csv"
    pl.DataFrame(table(200)).write_csv(path)
    assert main(["inspect", str(path), "--action", "dose", "--reward", SUM]) == 0
    printed = capsys.readouterr().out
    assert SUM in printed
    assert "prudent fit" in printed
    assert main(["inspect", str(path), "--action", "dose", "--reward", "survival - days"]) == 2
    assert "'days'" in capsys.readouterr().err


def test_a_saved_model_reads_later_logs_with_the_same_sum(fitted_models: Any, frame: pd.DataFrame, tmp_path: Path):
    roles = Roles("dose", "outcome - 0.1*visits", parts=("outcome", "visits"))
    replace(fitted_models["causal"], roles=roles).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.roles == roles
    log = again.read(frame)
    np.testing.assert_allclose(log.rewards, frame["outcome"] - 0.1 * frame["visits"].astype(float))
    replace(fitted_models["causal"], roles=replace(roles, parts=("outcome", "age"))).save(tmp_path / "wrong")
    with pytest.raises(InputProblem, match="columns"):
        load(tmp_path / "wrong")


# --- doses ---


@pytest.mark.parametrize(("doses", "said"), [((0, 5, 10), True), ((0, 5), False), (("none", "half", "full"), False)])
def test_inspect_says_that_actions_are_numbers(doses: tuple[Any, ...], said: bool, tmp_path: Path, capsys: Any):
    path = tmp_path / "doses.csv"
    pl.DataFrame(table(200, dose=[doses[row % len(doses)] for row in range(200)])).write_csv(path)
    assert main(["inspect", str(path), "--action", "dose", "--reward", "survival"]) == 0
    assert ("--not-ordered" in capsys.readouterr().out) == said
