"""The frontier: its estimates against sums worked out by hand, its promise against many held-out samples."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from conftest import COMPLETIONS, read, visits
from scipy import stats

from benchmarks import frontier as benchmark
from prudent.decide import (
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Search,
    Strategy,
    TailAverse,
)
from prudent.errors import InputProblem
from prudent.evaluation import Estimate, upper_bound
from prudent.promise import Frontier, KnownTruth, frontier
from prudent.promise.known_truth import log_weights
from prudent.promise.limits import Judgement, certified, judge, rows_needed, tail_rows
from prudent.promise.settings import DEFAULT_LADDER, families
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")

ROOT = Path(__file__).parents[2]
FEW: tuple[Strategy, ...] = (Imputation(), MaximumExpectedReward(), TailAverse(risk=0.2), Conservative(risk=0.2))


# ---- per-row weights and rewards in, value and tail out


def test_estimates_by_hand():
    weights = np.array([[1.0, 0.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    rewards = np.broadcast_to(np.array([-4.0, 9.0, 1.0, -1.0]), (2, 4))
    first, second = judge(weights, rewards, below=-2.0)
    assert first.mean_reward.value == pytest.approx((-4 + 2 - 1) / 4)
    assert first.tail_share.value == pytest.approx(1 / 4)
    assert first.worst_mean.value == pytest.approx(-4.0)  # 5 % of the weight is within the worst row
    assert first.effective_sample_size == pytest.approx(16 / 6)
    assert (second.mean_reward.value, second.tail_share.value) == (pytest.approx(1.25), pytest.approx(0.25))
    assert second.effective_sample_size == pytest.approx(4)
    nothing = judge(np.zeros((1, 4)), rewards[:1], below=-2.0)[0]
    assert np.isnan(nothing.mean_reward.value)
    assert (nothing.effective_sample_size, nothing.tail_share.high) == (0.0, 1.0)


def test_worst_mean_takes_part_of_a_row():
    rewards = np.arange(10.0)[None, :]
    weights = np.full((1, 10), 0.4)
    weights[0, 0] = 0.1  # the worst 5 % of 3.7 are the first row and 0.085 of the second
    assert judge(weights, rewards, below=0.0)[0].worst_mean.value == pytest.approx(0.085 / 0.185)


def test_bootstrap_errors_are_those_of_a_mean_and_a_share():
    random = np.random.default_rng(0)
    rewards = random.normal(size=(1, 900))
    found = judge(np.ones_like(rewards), rewards, below=-1.0, seed=1)[0]
    assert found.mean_reward.error == pytest.approx(rewards.std() / 30, rel=0.12)
    share = found.tail_share.value
    assert found.tail_share.error == pytest.approx(np.sqrt(share * (1 - share) / 900), rel=0.12)
    assert found.mean_reward.low < found.mean_reward.value < found.mean_reward.high
    assert found == judge(np.ones_like(rewards), rewards, below=-1.0, seed=1)[0]
    assert found.worst_mean.error > found.mean_reward.error


def test_bound_is_clopper_and_pearsons_on_effective_counts():
    for seen, rows in ((0, 20), (3, 50), (49, 50)):
        exact = stats.binomtest(seen, rows).proportion_ci(0.9).high
        assert upper_bound(seen / rows, rows, 0.05) == pytest.approx(exact)
    assert upper_bound(1.0, 50, 0.05) == 1.0
    tail = np.array([True, True, False, False, False, False, False, False])
    assert tail_rows(np.ones(8), tail) == pytest.approx(8)
    even = np.array([1.0, 1, 1, 1, 3, 3, 3, 3])
    assert tail_rows(even, np.zeros(8, bool)) == pytest.approx(16**2 / 40)
    # heavy rows in the tail leave fewer effective rows than heavy rows outside it
    assert tail_rows(even[::-1], tail) < tail_rows(even, tail) <= 16**2 / 40
    assert tail_rows(np.zeros(8), tail) == 0.0


def test_rows_needed_brings_the_bound_to_the_limit():
    needed = rows_needed(0.01, 100, 0.03, 0.05)
    assert upper_bound(0.01, needed, 0.05) == pytest.approx(0.03, abs=1e-6)
    assert rows_needed(0.03, 100, 0.03, 0.05) == float("inf")


def test_weights_are_inverse_propensities_where_the_policy_agrees(log):
    known = replace(log, propensities=np.full(len(log), 0.25))
    chosen = np.stack([np.asarray(log.actions), np.zeros(len(log), int)])
    weights = log_weights(known, chosen)
    assert np.all(weights[0] == 4.0)
    assert np.all(weights[1] == np.where(log.actions == 0, 4.0, 0.0))
    unrewarded = replace(known, rewards=np.where(np.arange(len(log)) < 5, np.nan, log.rewards))
    assert np.all(log_weights(unrewarded, chosen)[0, :5] == 0)


# ---- families and the promise


def test_families_run_from_most_to_least_careful():
    settings = [*DEFAULT_LADDER, MostOftenBest(), TailAverse(risk=0.1, measure="quantile"), Conservative(c=0.0)]
    named = [[repr(settings[i]) for i in family] for family in families(settings)]
    assert sorted(i for family in families(settings) for i in family) == list(range(len(settings)))
    by_c, tail, by_risk = named[0], named[1], named[2]
    assert by_c == [*(f"Conservative(c={c})" for c in (0.0, 0.001, 0.01, 0.1, 0.7)), "Imputation()"]
    assert tail[-1] == "MaximumExpectedReward()"
    assert [settings[i].risk for i in families(settings)[1][:-1]] == [0.02, 0.05, 0.1, 0.2, 0.3, 0.5]  # type: ignore
    assert by_risk[0] == "Conservative(risk=0.01)"
    assert len(named) == 5


def judged_as(share: float, rows: float, mean: float = 0.0) -> Judgement:
    nothing = Estimate(mean, 0.0, mean, mean)
    return Judgement(nothing, replace(nothing, value=share), nothing, rows, rows)


def test_a_setting_that_passes_hands_its_level_on():
    """Four settings share 0.1; n rows without a bad outcome show a share of 2 % at the level 0.98 ** n."""
    own = 0.1 / 4
    alone, second, third = (int(np.ceil(np.log(times * own) / np.log(0.98))) for times in (1, 2, 3))
    assert alone > second > third
    rows = [judged_as(0.0, n) for n in (alone, second, third, second)]
    assert certified([[0, 1, 2], [3]], rows, 0.02, 0.9) == [0, 1, 2]
    # a failure hands nothing on, but what comes behind it may still pass by itself
    rows = [judged_as(0.0, n) for n in (alone - 1, alone, third, alone)]
    assert certified([[0, 1, 2], [3]], rows, 0.02, 0.9) == [1, 3]
    assert certified([[0, 1, 2], [3]], rows, 0.0201, 0.8) == [0, 1, 2, 3]


LADDER: list[Strategy] = [*(TailAverse(risk=r) for r in (0.05, 0.2, 0.5)), MaximumExpectedReward()]
LADDER += [*(Conservative(c=c) for c in (0.1, 0.4, 0.7)), Imputation()]


@pytest.fixture(scope="module")
def pool() -> tuple[np.ndarray, np.ndarray]:
    """Weights and outcomes [setting, row] of exact settings in the cliff world, with the true propensities."""
    world = DosingWorld(seed=1)
    sample = world.sample(8000, seed=3)
    every, noise = np.arange(len(sample)), world.noise * np.random.default_rng(4).normal(size=len(sample))
    acts = np.stack([world.act(rule, sample, **knobs) for rule, knobs in map(benchmark.exact_rule, LADDER)])
    weights = np.where(acts == sample.actions, 1 / sample.propensity[every, acts], 0.0)
    return weights, sample.theta[every, acts] + noise


@pytest.mark.parametrize("rows", [400, 1500])
@pytest.mark.parametrize("times", [0.95, 2.0])
def test_chosen_setting_keeps_its_promise_over_many_held_out_logs(pool, times, rows):
    """The limit is a little less, or twice, what the setting with the best mean reward truly reaches."""
    weights, outcomes = pool
    truth, order, repeats = (outcomes < -5).mean(axis=1), families(LADDER), 200
    limit, random = times * truth[int(np.argmax(outcomes.mean(axis=1)))], np.random.default_rng(5)
    violated = chosen = naive = 0
    for _ in range(repeats):
        drawn = random.integers(weights.shape[1], size=rows)
        judged = [_judged(w[drawn], o[drawn]) for w, o in zip(weights, outcomes, strict=True)]
        means = np.array([one.mean_reward.value for one in judged])
        passed = certified(order, judged, limit, 0.9)
        if passed:
            chosen += 1
            violated += truth[passed[int(np.argmax(means[passed]))]] > limit
        seen = [i for i, one in enumerate(judged) if one.tail_share.value <= limit]
        naive += bool(seen) and truth[seen[int(np.argmax(means[seen]))]] > limit
    most = stats.binom.ppf(0.999, repeats, 0.1)
    assert violated <= most
    if times < 1:
        assert naive > most  # taking estimates at their word would break the promise
    elif rows > 1000:
        assert chosen > 0.5 * repeats  # and the promise is not kept by never choosing


def _judged(weights: np.ndarray, outcomes: np.ndarray) -> Judgement:
    """What choosing needs, without a bootstrap."""
    tail, total = outcomes < -5, weights.sum()
    return judged_as(float(weights @ tail / total), tail_rows(weights, tail), float(weights @ outcomes / total))


# ---- with a model


@pytest.fixture(scope="module")
def judged(fitted_models) -> Frontier:
    fitted = fitted_models["causal"]
    return frontier(fitted, fitted.read(visits(120, seed=5)), below=-1.5, settings=FEW, completions=COMPLETIONS)


def test_settings_choose_as_their_own_policies_do(fitted_models):
    """With the truth known, the mean reward of a setting is that of the actions its policy recommends."""
    fitted = fitted_models["causal"]
    fresh = visits(60, seed=8).drop(columns=["dose", "outcome"])
    rewards = np.random.default_rng(0).normal(size=(60, 3))
    options: dict[str, Any] = {"doubt": 1.0, "costs": {"high": 0.3}, "completions": COMPLETIONS}
    found = frontier(fitted, KnownTruth(fresh, rewards), below=-1.0, settings=FEW[2:], **options)
    for setting, point in zip(FEW[2:], found.points, strict=True):
        actions = fitted.policy(setting, search=Search(steps=0), **options).recommend(fresh).actions
        earned = rewards[np.arange(60), [fitted.action_labels.index(action) for action in actions]]
        assert point.mean_reward.value == pytest.approx(earned.mean())
        assert point.tail_share.value == pytest.approx((earned < -1.0).mean())
        assert point.worst_mean.value == pytest.approx(np.sort(earned)[:3].mean())
        assert point.effective_sample_size == pytest.approx(60)


def test_frontier_of_a_held_out_log(judged):
    assert isinstance(judged.to_frame(), pl.DataFrame)
    assert judged.to_frame()["strategy"].to_list() == [repr(setting) for setting in FEW]
    for row in judged.rows:
        assert row["mean_reward_low"] < row["mean_reward"] < row["mean_reward_high"]
        assert row["tail_share_low"] <= row["tail_share"] < row["tail_share_high"]
        assert row["worst_mean"] <= row["mean_reward"]
        assert 1 < row["effective_sample_size"] <= 120
    table = judged.table().splitlines()
    assert len(table) == 1 + len(FEW)
    assert "below -1.5" in table[0]
    assert str(judged) == judged.table()
    json.dumps(judged.rows, allow_nan=False)
    picture = judged.picture().svg()
    assert "expected" in picture
    assert "below -1.5" in picture


def test_choosing_or_saying_why_not(judged):
    generous = judged.certify(0.9)
    assert generous.strategies
    assert generous.best is judged.choose(0.9)
    best = max(judged.points, key=lambda p: p.mean_reward.value if p.strategy in generous.strategies else -np.inf)
    assert generous.best is best.strategy
    assert judged.policy(0.9).strategy is best.strategy
    assert not judged.policy(0.9).searched
    assert "90% confidence" in str(generous)
    with pytest.raises(InputProblem, match=r"cannot show .* below -1.5 within 0.1%: .* may reach \d"):
        judged.choose(0.001)
    assert judged.certify(0.001).best is None
    assert all(len(judged.certify(0.9, sure).strategies) <= len(generous.strategies) for sure in (0.95, 0.999))
    empty = Frontier(judged.policies[:1], (judged_as(0.0, 20),), -1.5)
    assert "hold out about" in empty.certify(0.02).sentence
    hopeless = Frontier(judged.policies[:1], (judged_as(0.1, 20),), -1.5)
    assert "raise the limit" in hopeless.certify(0.02).sentence
    assert "hold out" not in hopeless.certify(0.02).sentence


def test_minimised_rewards_give_the_same_frontier_in_the_users_sign(fitted_models):
    fitted = fitted_models["causal"]
    fresh, rewards = visits(30, seed=8), np.random.default_rng(1).normal(size=(30, 3))
    plain = frontier(fitted, KnownTruth(fresh, rewards), below=-1.0, settings=FEW, completions=COMPLETIONS)
    lowered = replace(fitted, minimize=True)
    other = frontier(lowered, KnownTruth(fresh, -rewards), below=1.0, settings=FEW, completions=COMPLETIONS)
    assert other.tail_name == "above 1"
    for one, two in zip(plain.points, other.points, strict=True):
        assert two.mean_reward.value == -one.mean_reward.value
        assert (two.mean_reward.low, two.mean_reward.high) == (-one.mean_reward.high, -one.mean_reward.low)
        assert two.worst_mean.value == -one.worst_mean.value
        assert two.tail_share == one.tail_share
    assert other.choose(0.9) is plain.choose(0.9)


def test_truth_of_a_dosing_world_follows_the_labels(fitted_models):
    sample = DosingWorld(doses=3).sample(20, seed=1)
    fitted = replace(fitted_models["causal"], action_labels=(10, 0, 5))
    np.testing.assert_array_equal(sample.known_truth(fitted).rewards, sample.theta[:, [2, 0, 1]])
    lowered = replace(fitted, minimize=True)
    np.testing.assert_array_equal(sample.known_truth(lowered).rewards, -sample.theta[:, [2, 0, 1]])


def test_bad_questions_are_refused(fitted_models, judged, log):
    fitted = fitted_models["causal"]
    cases = visits(6, seed=8)
    strange = cast(Any, ["expected"])
    for refused in ([], [BestFrequencyLottery()], [Conservative(c=0.1, paper_literal=True)], strange):
        with pytest.raises(InputProblem, match="'settings'"):
            frontier(fitted, log, below=-1.0, settings=refused)
    with pytest.raises(InputProblem, match="'floor'"):
        frontier(fitted, log, below=-1.0, floor=-3.0)
    with pytest.raises(InputProblem, match="'below'"):
        frontier(fitted, log, below=np.nan)
    with pytest.raises(InputProblem, match="'judged_on'"):
        frontier(fitted, cases, below=-1.0)  # type: ignore
    with pytest.raises(InputProblem, match=r"fitted\.read"):
        frontier(fitted, read(visits(30), minimize=True), below=-1.0)
    with pytest.raises(InputProblem, match="'rewards'"):
        frontier(fitted, KnownTruth(cases, np.zeros((6, 2))), below=-1.0)
    with pytest.raises(InputProblem, match="no row"):
        frontier(fitted, replace(log, rewards=np.full(len(log), np.nan)), below=-1.0)
    for limit, confidence in ((0.0, 0.9), (1.5, 0.9), (0.1, 1.0)):
        with pytest.raises(InputProblem, match="between 0 and 1"):
            judged.choose(limit, confidence)


# ---- the stored benchmark and its page


def test_pictures_on_the_page_are_those_of_the_benchmark():
    results = json.loads((ROOT / "benchmarks" / "results" / "frontier.json").read_text())["results"]
    for name, picture in (("frontier", benchmark.frontier_picture), ("fixed_c", benchmark.fixed_c_picture)):
        stored = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text()
        drawn = picture(results)
        assert drawn.title in stored
        assert drawn.description in stored  # names both axes and every line
