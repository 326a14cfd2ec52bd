"""Censored outcomes: weights by how unlikely it was to see them, against a known truth."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from benchmarks.groups import CENSORED_TRUTH, POLICY, censored_log, treat_the_severe
from prudent import InputProblem, Log
from prudent.evaluation import GaussianPrices, LearntPrices, evaluate
from prudent.evaluation.effects import effects
from prudent.propensity import Censoring, Known
from prudent.worlds import DosingWorld

ROWS, LOGS = 1000, 8
ROLES = {"action": "treated", "reward": "outcome", "propensity": "likely", "ignore": ["lost"]}


def read(seed: int, censored: str | None = "lost", rows: int = ROWS) -> Log:
    return Log.from_frame(censored_log(seed, rows).frame, **ROLES, censored=censored)


def evaluated(seed: int, censored: str | None = "lost") -> Any:
    return evaluate({POLICY: treat_the_severe}, read(seed, censored), prices=censored_log(seed).prices)


@pytest.fixture(scope="module")
def several() -> list[tuple[Any, Any]]:
    """Evaluations of the same logs by those that were seen alone, and weighted."""
    return [(evaluated(seed, None), evaluated(seed)) for seed in range(LOGS)]


# --- the weights ---


def test_the_probability_of_being_seen_is_learnt_from_record_and_action():
    log, frame = read(0, rows=3000), censored_log(0, 3000).frame
    found = Censoring.of(log)
    assert found is not None
    severity, treated = frame["severity"].to_numpy(), frame["treated"].to_numpy()
    true = 1 - expit(-1.2 + 1.2 * severity * (2 * treated - 1))
    assert np.corrcoef(found.seen, true)[0, 1] > 0.95
    assert np.abs(found.seen - true).mean() < 0.04
    assert found.weights.mean() == pytest.approx(1, abs=0.05)
    assert (found.weights[np.asarray(log.censored)] == 0).all()
    assert found.clipped[found.known].mean() == pytest.approx(1)
    assert found.censored == int(frame["lost"].sum())
    assert found.effective_sample_size < found.known.sum()
    assert f"{found.censored} of 3000" in found.notes[0]


def test_extreme_weights_are_said():
    seen = np.array([0.9] * 50 + [0.02] * 2 + [0.5] * 8)
    found = Censoring(seen, np.arange(60) < 52, 8)
    assert found.largest == pytest.approx(50)
    assert any("2 rows" in note for note in found.notes)


def test_nothing_is_learnt_where_nobody_is_censored():
    assert Censoring.of(read(0, None)) is None
    plain = read(1, None)
    plain = plain.take(plain.rewarded)
    marked = replace(plain, censored=np.zeros(len(plain), bool))
    prices = np.zeros((len(plain), 2))
    one, other = (evaluate({POLICY: treat_the_severe}, log, prices=prices) for log in (plain, marked))
    for by in one.settings.estimators:
        assert one.estimate(POLICY, by) == other.estimate(POLICY, by)


# --- values against the truth ---


def covers(found: list[Any], estimator: str) -> float:
    ends = [one.estimate(POLICY, estimator) for one in found]
    return float(np.mean([one.low <= CENSORED_TRUTH["value"] <= one.high for one in ends]))


@pytest.mark.parametrize("estimator", ["ips", "self-normalised ips", "dr", "self-normalised dr"])
def test_weighted_values_cover_the_truth(several, estimator):
    weighted = [one for _, one in several]
    values = np.array([one.estimate(POLICY, estimator).value for one in weighted])
    assert covers(weighted, estimator) >= 0.75
    assert abs(values.mean() - CENSORED_TRUTH["value"]) < 3 * values.std(ddof=1) / np.sqrt(LOGS) + 0.02


@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_values_of_those_seen_alone_do_not(several, estimator):
    alone = [one for one, _ in several]
    values = np.array([one.estimate(POLICY, estimator).value for one in alone])
    assert abs(values.mean() - CENSORED_TRUTH["value"]) > 4 * values.std(ddof=1) / np.sqrt(LOGS)


def test_an_average_effect_covers_the_truth_and_that_of_those_seen_alone_does_not():
    ends: dict[str | None, list[Any]] = {None: [], "lost": []}
    for seed in range(4):
        prices = censored_log(seed).prices
        for column, found in ends.items():
            found.append(effects(read(seed, column), treated=1, propensity=Known(), prices=prices))
    truth = CENSORED_TRUTH["effect"]
    for name in ("ate", "ipw"):
        weighted, alone = ([getattr(one, name) for one in ends[column]] for column in ("lost", None))
        assert sum(one.low <= truth <= one.high for one in weighted) >= 3
        assert not any(one.low <= truth <= one.high for one in alone)
    (first, *_), (plain, *_) = ends["lost"], ends[None]
    assert len(first.log) == ROWS > len(plain.log)
    assert any("censored" in note for note in first.notes)
    for estimate in (first.att, first.atc, first.outcome_model, first.difference_in_means):
        assert np.isfinite([estimate.value, estimate.low]).all()
    assert first.difference_in_means.value == pytest.approx(plain.difference_in_means.value)


# --- what else uses outcomes ---


def test_every_row_counts_and_facts_say_how_many_were_censored(several):
    alone, weighted = several[0]
    assert len(weighted.log) == ROWS > len(alone.log)
    facts = weighted.to_dict()
    lost = int(np.asarray(weighted.log.censored).sum())
    assert facts["censoring"]["censored"] == lost == ROWS - len(alone.log)
    assert facts["rows"] == ROWS
    assert facts["censoring"]["largest_weight"] > 1
    assert alone.to_dict()["censoring"] is None
    assert any(f"{lost} of {ROWS}" in note for note in facts["notes"])
    for numbers in facts["policies"]:
        assert numbers["value"]["low"] is not None
        assert numbers["worst_mean"]["value"] is not None
    diagnosis = weighted.diagnose(POLICY)
    assert diagnosis.matched < ROWS / 2
    assert abs(diagnosis.mean_weight - 1) < 0.2
    assert np.isfinite(weighted.at_worst(POLICY))


def test_prices_are_learnt_from_those_seen_for_all():
    log = read(2)
    prices = LearntPrices(3).fit(log, below=0.0)
    assert prices.rewards.shape == (ROWS, 2)
    assert np.isfinite(prices.rewards).all()
    assert prices.tail is not None
    severity = censored_log(2).frame["severity"].to_numpy()
    lost = np.asarray(log.censored)
    assert np.abs(prices.rewards[lost, 1] - (1.5 + 2 * severity[lost])).mean() < 0.5
    lacking = replace(log, rewards=np.where(np.arange(ROWS) == np.argmin(lost), np.nan, log.rewards))
    with pytest.raises(InputProblem, match="censored"):
        LearntPrices(3).fit(lacking)
    with pytest.raises(InputProblem, match="reward in every row"):
        GaussianPrices().fit(log)


def test_bounds_under_unrecorded_reasons_begin_at_the_weighted_value(several):
    _, weighted = several[0]
    found = weighted.confounding(POLICY, "always 1", gammas=[1.0, 2.0], draws=10)
    value = next(
        bound for bound in found.bounds if bound.gamma == 1.0 and bound.other is None and bound.policy == POLICY
    )
    assert value.low == pytest.approx(weighted.estimate(POLICY, "self-normalised dr").value)
    with pytest.raises(InputProblem, match="censored"):
        weighted.missingness(DosingWorld(attributes=3, doses=3).exact_model())
