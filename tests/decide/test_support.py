"""The support rule: advice keeps to actions that cases like the one in question got often enough."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import fit_once, small_settings

import prudent
from prudent.decide import Status, Support
from prudent.models import load
from prudent.propensity import LoggingPolicy
from prudent.table import Encoded

ARMS = ("aspirin", "both", "control", "heparin high", "heparin low", "pilot high", "pilot low", "warfarin")
RARE = ("pilot high", "pilot low")


def trial(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    """A randomised trial of eight arms, two of them rare (37 and 47 of 3000 rows), whose few outcomes were lucky."""
    random = np.random.default_rng(seed)
    shares = np.array([0.2, 0.15, 0.2, 0.15, 0.15, 0.012, 0.015, 0.123])
    arm = random.choice(len(ARMS), rows, p=shares)
    severity, age = random.normal(size=rows), random.normal(70, 10, rows)
    outcome = -0.5 * severity + 0.1 * (arm == 0) + 0.5 * random.normal(size=rows)
    outcome += np.where(np.isin(np.array(ARMS)[arm], RARE), 0.8, 0.0)
    return pd.DataFrame(
        {
            "age": np.where(random.random(rows) < 0.2, np.nan, np.round(age, 1)),
            "severity": np.where(random.random(rows) < 0.3, np.nan, severity),
            "centre": np.array([f"centre {number}" for number in random.integers(0, 12, rows)]),
            "sex": np.array(["f", "m"])[random.integers(0, 2, rows)],
            "arm": np.array(ARMS)[arm],
            "outcome": outcome,
        }
    )


@pytest.fixture(scope="module")
def log():
    return prudent.Log.from_frame(trial(), action="arm", reward="outcome")


@pytest.fixture(scope="module")
def fitted(log, shared_folder):
    return fit_once(shared_folder / "trial", lambda: small_settings("causal").fit(log, seed=0))


@pytest.fixture(scope="module")
def cases():
    return trial(60, seed=1).drop(columns=["arm", "outcome"])


def test_a_rare_arm_is_not_recommended_and_the_row_says_so(fitted, cases):
    free = fitted.policy(support=None).recommend(cases)
    tempted = np.isin(free.actions, RARE)
    assert tempted.mean() > 0.5
    advice = fitted.policy().recommend(cases)
    assert not np.isin(advice.actions, RARE).any()
    for row in np.flatnonzero(tempted).tolist():
        assert advice.status[row] is Status.NEXT_BEST
        assert free.actions[row] in advice[row].flags
    untouched = np.flatnonzero(~tempted)
    assert [advice.actions[row] for row in untouched] == [free.actions[row] for row in untouched]
    assert advice.expected_reward[tempted].mean() < free.expected_reward[tempted].mean()


def test_the_explanation_names_the_closed_arm_with_its_share(fitted, cases):
    advice = fitted.policy().recommend(cases)
    row = next(row for row, status in enumerate(advice.status) if status is Status.NEXT_BEST)
    explanation = advice[row].explain()
    prices = {price.action: price for price in explanation.prices}
    closed = [name for name, price in prices.items() if not price.open]
    assert closed == list(RARE)
    assert any(name in explanation.reason for name in closed)
    assert [prices[name].chance_best for name in closed] == [0, 0]
    assert prices[explanation.action].chance_best > 0
    assert sum(price.chance_best for price in prices.values()) == pytest.approx(1)
    assert all(prices[name].propensity < 0.02 for name in closed)
    assert abs(sum(price.propensity for price in prices.values()) - 1) < 1e-6


def test_a_case_that_may_get_only_a_rare_arm_is_referred(fitted, cases):
    advice = fitted.policy().recommend(cases.head(3), allowed=[["pilot low"], ["pilot low", "control"], None])
    assert advice.actions[0] is None
    assert advice.status[0] is Status.NOT_SUPPORTED
    assert advice.status[0].refers
    assert advice.actions[1] == "control"
    assert "pilot low" in advice[0].explain().reason


def test_the_limits_can_be_set(fitted, cases):
    free = fitted.policy(support=None).recommend(cases).actions
    assert fitted.policy(support=Support(propensity=0.0, rows=0)).recommend(cases).actions == free
    by_rows = fitted.policy(support=Support(propensity=0.0, rows=50)).recommend(cases)
    assert not np.isin(by_rows.actions, RARE).any()
    strict = fitted.policy(support=Support(propensity=0.19)).recommend(cases)
    assert set(strict.actions) <= {"aspirin", "control"}
    with pytest.raises(prudent.InputProblem, match="propensity"):
        Support(propensity=1.5)


def test_evaluation_sees_no_unsupported_decisions(fitted):
    later = fitted.read(trial(800, seed=2))
    evaluation = prudent.evaluate(
        {"free": fitted.policy(support=None), "open": fitted.policy()}, later, propensity=prudent.Boosted(folds=2)
    )
    outside = {name: evaluation.diagnose(name).support.outside for name in ("free", "open")}
    assert outside["free"] > 0.5
    assert outside["open"] < 0.05


def test_the_fit_repeats_the_verdicts_on_overlap(fitted):
    for arm in RARE:
        assert any(arm in note for note in fitted.report.notes)
    assert not any("warfarin" in note for note in fitted.report.notes)


def test_measuring_leaves_closed_arms_out(fitted, cases):
    """What a gap is worth does not count choices that are not open: with one arm open, nothing is worth measuring."""
    alone = fitted.policy(support=Support(propensity=0.2))
    measuring = prudent.value_of_measuring(alone, cases.head(8))
    several = alone.chooser.supported(fitted.schema.encode(cases.head(8))).open.sum(axis=1)
    assert (several == 1).any()
    assert np.nan_to_num(measuring.expected_gain[several == 1]).max() == 0


def test_it_is_saved_with_the_model_and_checked_when_read(fitted, cases, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.policy().recommend(cases).columns() == fitted.policy().recommend(cases).columns()
    arrays = fitted.logging_policy.to_arrays()
    with pytest.raises(ValueError, match="logging policy"):
        LoggingPolicy.from_arrays(arrays | {"weights": arrays["weights"][:-1]}, fitted.schema, len(ARMS))
    with pytest.raises(ValueError, match="logging policy"):
        LoggingPolicy.from_arrays(arrays | {"rows": -arrays["rows"]}, fitted.schema, len(ARMS))


def test_a_model_that_does_not_know_how_its_log_was_decided_opens_everything(fitted, cases):
    older = replace(fitted, logging_policy=None)
    assert older.policy().recommend(cases).actions == fitted.policy(support=None).recommend(cases).actions
    assert older.policy().recommend(cases)[0].explain().prices[0].propensity is None


def test_steps_in_who_gets_what_are_seen():
    """One drug only for the middle of the age range, one only above a threshold: closed where it was never given."""
    random = np.random.default_rng(0)
    age, pressure = random.normal(60, 15, 4000), random.normal(size=4000)
    chances = np.stack(
        [np.full(4000, 0.5), np.where(np.abs(age - 60) < 10, 0.45, 0), np.where(pressure > 0.5, 0.6, 0)], axis=1
    )
    chances /= chances.sum(axis=1, keepdims=True)
    action = (random.random((4000, 1)) > np.cumsum(chances, axis=1)).sum(axis=1)
    frame = pd.DataFrame({"age": age, "pressure": pressure, "drug": action, "outcome": random.normal(size=4000)})
    log = prudent.Log.from_frame(frame, action="drug", reward="outcome")
    estimated = LoggingPolicy.fit(log).probabilities(log.schema, log.values, log.observed)
    is_open = Support().of(LoggingPolicy.fit(log), log.schema, Encoded(log.values, log.observed, [""] * 4000)).open
    np.testing.assert_allclose(estimated.sum(axis=1), 1, atol=1e-9)
    wrongly_open, wrongly_closed = is_open & (chances == 0), ~is_open & (chances > 0.1)
    assert wrongly_open.mean(axis=0).max() < 0.1
    assert wrongly_closed.mean(axis=0).max() < 0.01


def test_one_lucky_reward_opens_no_action_however_small_the_log():
    chance = np.random.default_rng(0)
    arms = [f"arm {place}" for place in (*range(20), *range(3)) for _ in range(1 if place > 2 else 7)]
    table = pd.DataFrame({"age": chance.normal(size=len(arms)), "arm": arms, "y": chance.normal(size=len(arms))})
    table.loc[table["arm"] == "arm 7", "y"] = 9.0
    log = prudent.Log.from_frame(table, action="arm", reward="y")
    logged = LoggingPolicy.fit(log)
    assert logged is not None
    opened = np.flatnonzero(Support().of(logged, log.schema, log.encoded).open.any(axis=0))
    assert [log.action_labels[action] for action in opened] == ["arm 0", "arm 1", "arm 2"]
    verdicts = logged.overlap(log).verdicts
    (few,) = [verdict for verdict in verdicts if "20 of 20 actions" in verdict]
    assert "17 with fewer than 5 rows" in few
