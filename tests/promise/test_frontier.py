"""The frontier: the numbers of evaluation, and a promise that is kept over many held-out logs."""

import json
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from conftest import COMPLETIONS, read, visits
from scipy import stats

from benchmarks import frontier as benchmark
from prudent import Log
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
from prudent.evaluation import Estimate, evaluate, upper_bound
from prudent.evaluation.prices import Prices
from prudent.promise import DEFAULT_SETTINGS, Frontier, KnownTruth, ObservedShare, Point, certified, families, frontier
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")

FEW: tuple[Strategy, ...] = (Imputation(), MaximumExpectedReward(), TailAverse(risk=0.2), Conservative(risk=0.2))


# ---- one truth


@pytest.mark.parametrize("search", [0, 1])
def test_frontier_and_evaluation_say_the_same_of_the_same_policies_and_log(fitted_models, search):
    fitted = fitted_models["causal"]
    later = fitted.read(visits(120, seed=5))
    options: dict[str, Any] = {"completions": COMPLETIONS, "search": Search(steps=search, starts=1)}
    points = frontier(fitted, later, below=-1.5, settings=FEW, **options).points
    evaluation = evaluate({str(i): fitted.policy(s, **options) for i, s in enumerate(FEW)}, later, below=-1.5)
    for i, point in enumerate(points):
        assert point.mean_reward == evaluation.estimate(str(i))
        assert point.tail_share == evaluation.tail_share(str(i))
        assert point.worst_mean == evaluation.worst_mean(str(i))
        # the certificate rests on the rows that the interval rests on
        assert upper_bound(*point.observed_share, 0.025) == pytest.approx(point.tail_share.high)
        assert point.tail_sample_size <= point.effective_sample_size


# ---- families and the promise


def test_rows_needed_brings_the_bound_to_the_limit():
    needed = ObservedShare(0.01, 100).rows_needed(0.03, 0.05)
    assert upper_bound(0.01, needed, 0.05) == pytest.approx(0.03, abs=1e-6)
    assert ObservedShare(0.03, 100).rows_needed(0.03, 0.05) == math.inf


def test_families_run_from_most_to_least_careful():
    settings = [*DEFAULT_SETTINGS, MostOftenBest(), TailAverse(risk=0.1, measure="quantile"), Conservative(c=0.0)]
    named = [[repr(settings[i]) for i in family] for family in families(settings)]
    assert sorted(i for family in families(settings) for i in family) == list(range(len(settings)))
    by_c, tail, by_risk = named[0], named[1], named[2]
    assert by_c == [*(f"Conservative(c={c})" for c in (0.0, 0.001, 0.01, 0.1, 0.7)), "Imputation()"]
    assert tail[-1] == "MaximumExpectedReward()"
    assert [settings[i].risk for i in families(settings)[1][:-1]] == [0.02, 0.05, 0.1, 0.2, 0.3, 0.5]  # type: ignore
    assert by_risk[0] == "Conservative(risk=0.01)"
    assert len(named) == 5


def test_a_setting_that_passes_hands_its_level_on():
    """Four settings share 0.1; n rows without a bad outcome show a share of 2 % at the level 0.98 ** n."""
    alone, second, third = (math.ceil(math.log(times * 0.1 / 4) / math.log(0.98)) for times in (1, 2, 3))
    assert alone > second > third
    shares = [ObservedShare(0.0, rows) for rows in (alone, second, third, second)]
    assert certified([[0, 1, 2], [3]], shares, 0.02, 0.9) == [0, 1, 2]
    # a failure hands nothing on, but what comes behind it may still pass by itself
    shares = [ObservedShare(0.0, rows) for rows in (alone - 1, alone, third, alone)]
    assert certified([[0, 1, 2], [3]], shares, 0.02, 0.9) == [1, 3]
    assert certified([[0, 1, 2], [3]], shares, 0.0201, 0.8) == [0, 1, 2, 3]


SETTINGS: list[Strategy] = [*(TailAverse(risk=r) for r in (0.05, 0.2, 0.5)), MaximumExpectedReward()]
SETTINGS += [*(Conservative(c=c) for c in (0.1, 0.4, 0.7)), Imputation()]


class Clinic:
    """Exact settings in the cliff world, and logs of the same patients with other decisions and other noise."""

    def __init__(self, rows: int):
        self.world, self.random = DosingWorld(seed=1), np.random.default_rng(5)
        self.sample = self.world.sample(rows, seed=3)
        self.acts = [self.world.act(rule, self.sample, **knobs) for rule, knobs in map(benchmark.exact_rule, SETTINGS)]
        frame = self.sample.frame()
        self.log = Log.from_frame(frame, action="dose", reward="outcome", kinds=self.world.kinds)
        assert list(self.world.index(self.log.action_labels)) == list(range(self.sample.theta.shape[1]))
        self.bad = stats.norm.cdf((-5 - self.sample.theta) / self.world.noise)
        self.shares = np.array([self.bad[np.arange(rows), act].mean() for act in self.acts])
        self.means = np.array([self.sample.theta[np.arange(rows), act].mean() for act in self.acts])

    def points(self, rows: int) -> tuple[list[ObservedShare], np.ndarray]:
        """The tail shares and mean rewards that evaluation finds in one held-out log, with prices that see only half
        of the bad outcomes."""
        drawn = self.random.integers(len(self.log), size=rows)
        theta, chances = self.sample.theta[drawn], self.sample.propensity[drawn]
        actions = (self.random.random(rows)[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
        taken = np.arange(rows), actions
        rewards = theta[taken] + self.world.noise * self.random.normal(size=rows)
        log = replace(
            self.log.take(drawn), actions=actions.astype(np.int32), rewards=rewards, propensities=chances[taken]
        )
        choices = {
            repr(setting): lambda _, act=act: np.eye(theta.shape[1])[act[drawn]]
            for setting, act in zip(SETTINGS, self.acts, strict=True)
        }
        evaluation = evaluate(choices, log, below=-5.0, prices=Prices(theta, self.bad[drawn] / 2, "the world's"))
        shares = [ObservedShare(evaluation.tail_share(name).value, evaluation.tail_rows(name)) for name in choices]
        return shares, np.array([evaluation.estimate(name).value for name in choices])


@pytest.fixture(scope="module")
def clinic() -> Clinic:
    return Clinic(8000)


@pytest.mark.parametrize("rows", [400, 1500])
@pytest.mark.parametrize("times", [0.95, 2.0])
def test_chosen_setting_keeps_its_promise_over_many_held_out_logs(clinic, times, rows):
    """The limit is a little less, or twice, what the setting with the best mean reward truly reaches."""
    limit, repeats = times * clinic.shares[int(np.argmax(clinic.means))], 100
    violated = chosen = naive = 0
    for _ in range(repeats):
        shares, means = clinic.points(rows)
        passed = certified(families(SETTINGS), shares, limit, 0.9)
        if passed:
            chosen += 1
            violated += clinic.shares[passed[int(np.argmax(means[passed]))]] > limit
        seen = [i for i, share in enumerate(shares) if share.value <= limit]
        naive += bool(seen) and clinic.shares[seen[int(np.argmax(means[seen]))]] > limit
    most = stats.binom.ppf(0.999, repeats, 0.1)
    assert violated <= most
    if times < 1:
        assert naive > most  # taking estimates at their word would break the promise
    elif rows > 1000:
        assert chosen > 0.5 * repeats  # and the promise is not kept by never choosing


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
    known = frontier(fitted, KnownTruth(fresh, rewards), below=-1.0, settings=FEW[2:], **options)
    for setting, point in zip(FEW[2:], known.points, strict=True):
        actions = fitted.policy(setting, search=Search(steps=0), **options).recommend(fresh).actions
        earned = rewards[np.arange(60), [fitted.action_labels.index(action) for action in actions]]
        assert point.mean_reward.value == pytest.approx(earned.mean())
        assert point.mean_reward.error == pytest.approx(earned.std(ddof=1) / math.sqrt(60))
        bad = int((earned < -1.0).sum())
        assert point.tail_share.value == pytest.approx(bad / 60)
        exact = stats.binomtest(bad, 60).proportion_ci(0.95)
        assert (point.tail_share.low, point.tail_share.high) == pytest.approx((exact.low, exact.high))
        assert point.worst_mean.value == pytest.approx(np.sort(earned)[:3].mean())
        assert point.effective_sample_size == point.tail_sample_size == 60


def test_frontier_of_a_held_out_log(judged):
    assert isinstance(judged.to_frame(), pl.DataFrame)
    assert judged.to_frame()["strategy"].to_list() == [repr(setting) for setting in FEW]
    for row in judged.to_dict()["points"]:
        assert row["mean_reward_low"] < row["mean_reward"] < row["mean_reward_high"]
        assert row["tail_share_low"] <= row["tail_share"] < row["tail_share_high"]
        assert row["worst_mean"] <= row["mean_reward"]
        assert 1 < row["effective_sample_size"] <= 120
    assert all(words in str(judged) for words in ("below -1.5", *(type(setting).__name__ for setting in FEW)))
    json.dumps(judged.to_dict(), allow_nan=False)
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
    assert repr(best.strategy) in str(generous)
    with pytest.raises(InputProblem, match=r"below -1\.5 within 0\.1%"):
        judged.choose(0.001)
    assert judged.certify(0.001).best is None
    assert all(len(judged.certify(0.9, sure).strategies) <= len(generous.strategies) for sure in (0.95, 0.999))


@pytest.mark.parametrize(("share", "helps"), [(0.0, True), (0.1, False)])
def test_more_decisions_are_proposed_only_where_they_would_help(judged, share, helps):
    nothing = Estimate(0.0, 0.0, 0.0, 0.0)
    point = Point(FEW[0], nothing, replace(nothing, value=share), nothing, 20, 20)
    sentence = Frontier(judged.policies[:1], (point,), -1.5).certify(0.02).sentence
    assert "raise the limit" in sentence
    assert ("hold out" in sentence) == helps


def test_minimised_rewards_give_the_same_frontier_in_the_users_sign(fitted_models):
    fitted = fitted_models["causal"]
    fresh, rewards = visits(30, seed=8), np.random.default_rng(1).normal(size=(30, 3))
    higher = frontier(fitted, KnownTruth(fresh, rewards), below=-1.0, settings=FEW, completions=COMPLETIONS)
    lowered = replace(fitted, minimize=True)
    lower = frontier(lowered, KnownTruth(fresh, -rewards), below=1.0, settings=FEW, completions=COMPLETIONS)
    assert lower.tail_name == "above 1"
    for high, low in zip(higher.points, lower.points, strict=True):
        assert low.mean_reward == high.mean_reward.negated()
        assert low.worst_mean == high.worst_mean.negated()
        assert low.tail_share == high.tail_share
    assert lower.choose(0.9) is higher.choose(0.9)


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
    with pytest.raises(InputProblem, match="'log'"):
        frontier(fitted, cases, below=-1.0)  # type: ignore
    with pytest.raises(InputProblem, match=r"\.read"):
        frontier(fitted, read(visits(30), minimize=True), below=-1.0)
    with pytest.raises(InputProblem, match="'rewards'"):
        frontier(fitted, KnownTruth(cases, np.zeros((6, 2))), below=-1.0)
    with pytest.raises(InputProblem, match="no row"):
        frontier(fitted, replace(log, rewards=np.full(len(log), np.nan)), below=-1.0)
    for limit, confidence in ((0.0, 0.9), (1.5, 0.9), (0.1, 1.0)):
        with pytest.raises(InputProblem, match=r"'limit'|'confidence'"):
            judged.choose(limit, confidence)
