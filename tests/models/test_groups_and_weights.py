"""Fitting with groups and with censored outcomes: who is held out, what is weighted, and what a model remembers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest import read, small_settings, visits

from prudent import InputProblem, load
from prudent.models import fit_many, require_fittable
from prudent.models.averaging.fitting import Rows, _shares, neighbours_alike
from prudent.models.averaging.linear import Moments
from prudent.models.averaging.trees import Boosting, Table
from prudent.networks import layout_of
from prudent.propensity import Censoring

TIMES = 3


@pytest.fixture(scope="module")
def grouped() -> Any:
    """The shared log with a patient for each four rows or so, and one in six outcomes censored."""
    random = np.random.default_rng(5)
    frame = visits()
    frame["patient"] = random.integers(0, 50, len(frame))
    frame["lost"] = random.random(len(frame)) < 1 / 6
    return read(frame, group="patient", censored="lost")


@pytest.fixture(scope="module")
def fitted(grouped: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    model = small_settings("causal").fit(grouped, seed=0, progress=False)
    folder = tmp_path_factory.mktemp("grouped") / "model"
    model.save(folder)
    return model, load(folder)


def test_a_model_remembers_its_groups_and_roles(grouped, fitted):
    for model in fitted:
        assert (model.roles.group, model.roles.censored) == ("patient", "lost")
        np.testing.assert_array_equal(model.groups, np.unique(grouped.groups))
        assert not {"patient", "lost"} & set(model.schema.names)
    model = fitted[1]
    again = model.read(visits(20, seed=3).assign(patient=range(20), lost=[0, 1] * 10))
    assert again.censored is not None
    assert again.censored.sum() == 10
    assert np.isin(again.groups, model.groups).all()
    without = model.read(visits(20, seed=3), group=None, censored=None)
    assert without.groups is None
    with pytest.raises(InputProblem, match="'patient'"):
        model.read(visits(20, seed=3))
    with pytest.raises(InputProblem, match="columns"):
        model.read(visits(20, seed=3), reward=None)
    assert any("censored" in note for note in model.report.notes)


@pytest.mark.parametrize("name", ["causal", "similarity", "conditional"])
def test_rewards_are_weighted_by_how_unlikely_they_were_to_be_seen(grouped, name):
    settings = small_settings(name)
    prepared, plain = (settings.prepare(log, 0) for log in (grouped, replace(grouped, censored=None)))
    assert prepared.censoring is not None
    assert plain.censoring is None
    known = grouped.rewarded
    if name != "similarity":  # whose features count equally
        assert (prepared.columns["weight"][~known] == 0).all()
        assert prepared.columns["weight"][known].mean() == pytest.approx(1, abs=1e-4)
        ratio = prepared.columns["weight"][known] / plain.columns["weight"][known]
        np.testing.assert_allclose(ratio / ratio.mean(), prepared.censoring.clipped[known], rtol=0.2)


def test_groups_are_held_out_whole(grouped, monkeypatch):
    import prudent.networks.training as training

    seen: dict[str, Any] = {}

    class Caught(Exception):
        pass

    def of(program: Any, arrays: Any, settings: Any, rows: Any, seed: int) -> None:
        seen["fitted"], seen["held"] = rows[0], rows[1][0][rows[1][1] > 0]
        raise Caught

    monkeypatch.setattr(training.Run, "of", of)
    with pytest.raises(Caught):
        small_settings("causal", ordered=False).fit(grouped, seed=0, progress=False)
    held, learnt = (set(np.asarray(grouped.groups)[seen[name]].tolist()) for name in ("held", "fitted"))
    assert held
    assert not held & learnt
    assert grouped.rewarded[seen["held"]].all()
    rewarded = grouped.rewarded.sum()
    assert 0.5 * rewarded / 7 < len(seen["held"]) < 2 * rewarded / 7


def test_one_group_cannot_be_fitted_to(grouped):
    with pytest.raises(InputProblem, match="'patient'"):
        require_fittable(replace(grouped, groups=np.zeros(len(grouped), int)))
    other = replace(grouped, groups=np.asarray(grouped.groups) + 1)
    with pytest.raises(InputProblem, match="groups of log 2"):
        fit_many(small_settings("causal"), [grouped, other])


# --- the average: a weight is so many rows ---


def some_rows(seed: int = 0, rows: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    features, actions = random.normal(size=(rows, 3)), random.integers(0, 2, rows)
    return features, actions, features[:, 0] * actions + random.normal(size=rows), random.integers(1, 4, rows)


def test_regression_with_weights_is_regression_with_repeated_rows():
    features, actions, rewards, weights = some_rows()
    weighted = Moments(features, actions, rewards, 2, weights.astype(float)).fit(3.0, 2.0)
    index = np.repeat(np.arange(60), weights)
    repeated = Moments(features[index], actions[index], rewards[index], 2).fit(3.0, 2.0)
    np.testing.assert_allclose(weighted.slopes, repeated.slopes, rtol=1e-4)
    np.testing.assert_allclose(weighted.constants, repeated.constants, rtol=1e-4)


@pytest.mark.parametrize("mixing", [None, np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]]))])
def test_trees_with_weights_are_trees_with_repeated_rows(mixing, monkeypatch):
    monkeypatch.setattr("prudent.models.averaging.trees.ROWS_ASKED", 1.0)
    monkeypatch.setattr("prudent.models.averaging.trees.QUESTIONS_ASKED", 1.0)
    features, actions, rewards, weights = some_rows()
    table = Table.of(features, actions, rewards, 2)
    index = np.repeat(np.arange(60), weights)
    both = (table._replace(weights=weights.astype(float)), table.take(index))
    weighted, repeated = (Boosting(one, 0, mixing, judged=one).grown_to(6) for one in both)
    np.testing.assert_allclose(weighted.predicted[-1][index], repeated.predicted[-1], rtol=1e-6)
    assert weighted.squared_error == pytest.approx(repeated.squared_error)


def test_shares_with_weights_prefer_what_is_right_where_it_counts():
    random = np.random.default_rng(0)
    rewards = random.normal(size=400)
    first = np.where(np.arange(400) < 200, rewards, 0.0)
    second = np.where(np.arange(400) < 200, 0.0, rewards)
    predictions = np.stack([first, second])
    equal = _shares(predictions, rewards)
    np.testing.assert_allclose(_shares(predictions, rewards, np.ones(400)), equal)
    tilted = _shares(predictions, rewards, np.where(np.arange(400) < 200, 1.9, 0.1))
    assert tilted[0] > equal[0] + 0.2


def test_folds_of_the_average_never_divide_a_group():
    features, actions, rewards, _ = some_rows()
    groups = np.random.default_rng(1).integers(0, 15, 60)
    rows = Rows(features, features, features, actions, rewards, 2, 0, None, groups)
    fold = rows.folds(np.random.default_rng(0))
    for group in np.unique(groups):
        assert len(set(fold[groups == group])) == 1
    taken = rows.take(fold == 0).followed_by(rows.take(fold == 1))
    np.testing.assert_array_equal(np.asarray(taken.groups), np.concatenate([groups[fold == 0], groups[fold == 1]]))
    assert taken.weights is None


def test_whether_actions_are_alike_is_judged_by_other_groups(grouped):
    columns = small_settings("causal").prepare(grouped, 0).columns
    rows = np.flatnonzero(grouped.rewarded)
    layout = layout_of(grouped.schema)
    assert neighbours_alike(layout, columns, rows, 3, 0, np.asarray(grouped.groups)) in (True, False)


def test_without_groups_and_weights_nothing_changes(grouped):
    plain = replace(grouped, groups=None, censored=None)
    assert Censoring.of(plain) is None
    features, actions, rewards, _ = some_rows()
    ones = Table.of(features, actions, rewards, 2, np.ones(60)), Table.of(features, actions, rewards, 2)
    weighted, unweighted = (Boosting(one, 0, judged=one).grown_to(4).predicted[-1] for one in ones)
    np.testing.assert_allclose(weighted, unweighted, rtol=1e-9)
