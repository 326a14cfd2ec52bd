"""The scikit-learn face: scikit-learn's own checks with a model that fits at once, and one of prudent's end to end."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import prudent
from prudent.sklearn import PolicyClassifier
from tests.conftest import KINDS, small_settings
from tests.conventions.lines import LinesOf

SKIPPED = {"check_array_api_input"}
"""By scikit-learn itself, which runs it only where SciPy's array API is switched on."""


def test_scikit_learn_finds_what_it_expects_of_a_classifier():
    results = check_estimator(PolicyClassifier(LinesOf(), completions=4), on_skip=None, on_fail=None)
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] in ("failed", "xfail")}
    assert not failed
    assert {each["check_name"] for each in results if each["status"] == "skipped"} <= SKIPPED
    assert len(results) > 40


def decisions(rows: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sicker half needs the drug; a quarter of the cells are missing."""
    random = np.random.default_rng(seed)
    known = random.normal(size=(rows, 2))
    dose = random.choice(["drug", "none"], rows)
    rewards = np.where((known[:, 0] > 0) == (dose == "drug"), 1.0, 0.0) + 0.1 * random.normal(size=rows)
    return np.where(random.random(known.shape) < 0.25, np.nan, known), dose, rewards


@pytest.fixture
def routed() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_rewards_are_routed_through_a_pipeline_and_a_search_over_caution(routed: None):
    X, y, rewards = decisions()
    face: Any = PolicyClassifier(LinesOf(), completions=8)  # scikit-learn adds its requests when the class is made
    face.set_fit_request(rewards=True).set_score_request(rewards=True)
    cautions = [prudent.MaximumExpectedReward(), prudent.TailAverse(risk=0.2)]
    pipeline = make_pipeline(StandardScaler(), face)
    search = GridSearchCV(pipeline, {"policyclassifier__strategy": cautions}, cv=2)
    search.fit(X, y, rewards=rewards)
    assert search.best_score_ > rewards.mean() + 0.2
    values = cross_val_score(clone(face), X, y, params={"rewards": rewards}, cv=2)
    assert (values > rewards.mean() + 0.2).all()


def test_a_score_without_rewards_is_refused_where_rewards_were_learnt_from():
    X, y, rewards = decisions()
    face = PolicyClassifier(LinesOf(), completions=8).fit(X, y, rewards=rewards)
    with pytest.raises(prudent.InputProblem, match="rewards"):
        face.score(X, y)
    imitating = PolicyClassifier(LinesOf(), completions=8).fit(X, y)
    assert 0 <= imitating.score(X, y) <= 1
    with pytest.raises(prudent.InputProblem, match="rewards"):
        imitating.score(X, y, rewards=rewards)


def test_fewer_is_better_where_rewards_are_minimised():
    X, y, rewards = decisions()
    later = decisions(seed=1)
    gain = PolicyClassifier(LinesOf(), completions=8).fit(X, y, rewards=rewards)
    loss = PolicyClassifier(LinesOf(), completions=8, minimize=True).fit(X, y, rewards=-rewards)
    assert loss.predict(X).tolist() == gain.predict(X).tolist()
    assert loss.score(*later[:2], rewards=-later[2]) == pytest.approx(gain.score(*later[:2], rewards=later[2]))


def test_a_referred_row_has_no_label_or_the_one_that_is_asked_for():
    X, y, rewards = decisions()
    face = PolicyClassifier(LinesOf(), completions=8, floor=0.5).fit(X, y, rewards=rewards)
    given = face.predict(np.full((3, 2), np.nan))
    assert given.tolist() == [None] * 3
    assert face.recommend(np.full((1, 2), np.nan)).status[0].refers
    named = PolicyClassifier(LinesOf(), completions=8, floor=0.5, referred="ask").fit(X, y, rewards=rewards)
    assert named.predict(np.full((3, 2), np.nan)).tolist() == ["ask"] * 3


@pytest.mark.parametrize("labels", [[2, 10], [0.5, 1.5], [False, True], ["10", "9"]])
def test_labels_keep_their_type_and_spelling(labels: list[Any]):
    X, y, rewards = decisions()
    y = np.array(labels)[(y == "drug").astype(int)]
    face = PolicyClassifier(LinesOf(), completions=8).fit(X, y, rewards=rewards)
    assert face.classes_.tolist() == sorted(labels)
    assert face.predict(X).dtype == y.dtype
    assert set(face.predict(X).tolist()) == set(labels)


def test_frames_with_text_days_and_gaps_are_learnt_from_by_one_of_our_models(frame: Any, cases: Any):
    known = frame.drop(columns=["dose", "outcome"])
    face: Any = PolicyClassifier(small_settings("causal", prices="network"), kinds=KINDS, completions=64)
    face.fit(known, frame["dose"], rewards=frame["outcome"])
    assert face.feature_names_in_.tolist() == list(known.columns)
    given = face.predict(cases)
    assert len(given) == len(cases)
    assert set(given.tolist()) <= {*face.classes_, None}
    polars = face.predict(pl.from_pandas(cases.reset_index(drop=True)))
    assert polars.tolist() == given.tolist()
    assert pickle.loads(pickle.dumps(face)).predict(cases).tolist() == given.tolist()
    with pytest.raises(ValueError, match="feature names"):
        face.predict(cases.rename(columns={"pressure": "weight"}))
