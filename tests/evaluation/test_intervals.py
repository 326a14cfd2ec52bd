"""Intervals and tails: by hand, against slow references, and over many simulated logs whose answer is known."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from prudent.errors import InputProblem
from prudent.evaluation import (
    EVERY_ESTIMATOR,
    Bootstrap,
    EmpiricalBernstein,
    Estimate,
    LogarithmicSmoothing,
    SelfNormalised,
    Student,
    Terms,
    intervals,
    upper_bound,
    worst_mean,
)
from prudent.evaluation.intervals import Imputed, resampled_rows
from prudent.evaluation.row_terms import Evidence, between_imputations
from prudent.evaluation.tails import as_share


def some_evidence(rows: int = 40, seed: int = 0) -> Evidence:
    random = np.random.default_rng(seed)
    weights = np.where(random.random(rows) < 0.3, 0.0, np.exp(random.normal(size=rows)))
    prices = random.normal(size=rows)
    return Evidence(weights, prices + random.normal(size=rows), prices, random.normal(size=rows))


def influence_by_hand(terms: Terms) -> list[float]:
    """Each row's part in every ratio, from the formula of a ratio's first derivative."""
    result = [0.0] * len(terms)
    for numerator, denominator in zip(terms.numerators.tolist(), terms.denominators.tolist(), strict=True):
        top, bottom = sum(numerator) / len(numerator), sum(denominator) / len(denominator)
        for row, (n, d) in enumerate(zip(numerator, denominator, strict=True)):
            result[row] += top / bottom + (n - top / bottom * d) / bottom
    return result


def variance(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


# --- Student ---


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_student_by_hand(confidence):
    several = [one.terms(some_evidence()) for one in EVERY_ESTIMATOR]
    several.append(several[3] - several[5])
    for terms, found in zip(several, Student().estimates(several, confidence=confidence), strict=True):
        error = math.sqrt(variance(influence_by_hand(terms)) / 40)
        half = stats.t(39).ppf(1 - (1 - confidence) / 2) * error
        expected = (terms.value, error, terms.value - half, terms.value + half)
        assert (found.value, found.error, found.low, found.high) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("between", "count"), [(0.001, 5), (0.5, 5), (0.5, 2), (1e-9, 3)])
def test_student_pools_imputations_as_rubin_does(between, count):
    terms = SelfNormalised().terms(some_evidence())
    within = variance(influence_by_hand(terms)) / 40
    freedom = (count - 1) * (1 + within / between) ** 2
    found = Student().estimates([terms], [Imputed(between, count)])[0]
    assert found.error == pytest.approx(math.sqrt(within + between), abs=1e-9)
    half = stats.t.ppf(0.975, min(freedom, 39.0)) * math.sqrt(within + between)
    assert (found.low, found.high) == pytest.approx((terms.value - half, terms.value + half), abs=1e-9)


def test_rubins_variance_between_imputations():
    values = [1.0, 2.0, 4.0, 4.5]
    assert between_imputations(values) == pytest.approx(1.25 * variance(values), abs=1e-12)
    assert between_imputations([]) == between_imputations([3.0]) == 0.0


def test_one_row_has_a_value_and_no_error():
    for interval in (Student(), EmpiricalBernstein()):
        found = interval.estimates([Terms.mean(np.array([2.0]))])[0]
        assert found.value == 2.0
        assert math.isnan(found.error)
        assert not found.low > -math.inf


def within_chance(held: int, trials: int, share: float) -> bool:
    low, high = stats.binom(trials, share).interval(0.999)
    return low <= held <= high


def simulated(random: np.random.Generator, rows: int) -> tuple[Evidence, float]:
    """Ill or not, treated or not by known chances; the policy treats the ill alone. Also its value."""
    ill = random.random(rows) < 0.5
    chance = np.where(ill, 0.3, 0.6)
    treated = random.random(rows) < chance
    good = random.random(rows) < np.where(ill, np.where(treated, 0.7, 0.2), 0.3)
    weights = (treated == ill) / np.where(treated, chance, 1 - chance)
    blank = np.zeros(rows)
    return Evidence(weights, good * 1.0, blank, blank), 0.5 * 0.7 + 0.5 * 0.3


def test_student_covers_a_ratio_as_often_as_it_says():
    random, held = np.random.default_rng(1), 0
    for _ in range(400):
        evidence, truth = simulated(random, 200)
        found = Student().estimates([SelfNormalised().terms(evidence)], confidence=0.9)[0]
        held += found.low <= truth <= found.high
    assert within_chance(held, 400, 0.9)


def test_bootstrap_covers_too():
    random, held = np.random.default_rng(2), 0
    for seed in range(200):
        evidence, truth = simulated(random, 150)
        found = Bootstrap(200, seed).estimates([SelfNormalised().terms(evidence)], confidence=0.9)[0]
        held += found.low <= truth <= found.high
    assert within_chance(held, 200, 0.9)


# --- bootstrap ---


def slow_bootstrap(terms: Terms, draws: int, seed: int) -> list[float]:
    """Draw rows with replacement and read the value off them, draw by draw."""
    random, values = np.random.default_rng(seed), []
    for _ in range(draws):
        drawn = random.integers(0, len(terms), size=len(terms), dtype=np.int64).tolist()
        value = 0.0
        for numerator, denominator in zip(terms.numerators, terms.denominators, strict=True):
            top, bottom = sum(numerator[row] for row in drawn), sum(denominator[row] for row in drawn)
            value += top / bottom if bottom else math.nan
        values.append(value)
    return values


@pytest.mark.parametrize("cells", [4_000_000, 100, 1])
def test_bootstrap_by_a_slow_reference(cells, monkeypatch):
    """However small the blocks, the resampled logs are the same, and the same for all terms."""
    monkeypatch.setattr(intervals, "BLOCK_CELLS", cells)
    several = [one.terms(some_evidence(15)) for one in EVERY_ESTIMATOR]
    several.append(several[3] - several[5])
    together = Bootstrap(30, seed=4).resampled(several)
    for terms, drawn in zip(several, together, strict=True):
        np.testing.assert_allclose(drawn, slow_bootstrap(terms, 30, 4), rtol=0, atol=1e-9)
        np.testing.assert_allclose(Bootstrap(30, seed=4).resampled([terms])[0], drawn, rtol=0, atol=1e-12)
    np.testing.assert_allclose(together[8], together[3] - together[5], rtol=0, atol=1e-9)


def test_bootstrap_ends_are_quantiles():
    terms = SelfNormalised().terms(some_evidence())
    drawn = sorted(slow_bootstrap(terms, 41, 2))
    found = Bootstrap(41, seed=2).estimates([terms], confidence=0.9)[0]
    assert (found.low, found.high) == pytest.approx((drawn[2], drawn[38]), abs=1e-9)  # 5 % and 95 % of 40 steps
    assert found.error == pytest.approx(math.sqrt(variance(drawn)), abs=1e-9)
    assert found.value == terms.value


def test_bootstrap_adds_what_imputations_add():
    several = [one.terms(some_evidence()) for one in EVERY_ESTIMATOR[:2]]
    noise = np.random.default_rng([6, 1]).standard_normal(400)
    found = Bootstrap(400, seed=6).estimates(several, [Imputed(0.25, 5), Imputed()], confidence=0.8)
    drawn = np.array(slow_bootstrap(several[0], 400, 6)) + 0.5 * noise
    assert (found[0].low, found[0].high) == pytest.approx(tuple(np.quantile(drawn, [0.1, 0.9])), abs=1e-9)
    plain = Bootstrap(400, seed=6).estimates(several, confidence=0.8)
    assert found[1] == plain[1]
    assert found[0].error ** 2 - plain[0].error ** 2 == pytest.approx(0.25, abs=0.08)


def test_bootstrap_repeats_itself_and_listens_to_the_seed():
    terms = [SelfNormalised().terms(some_evidence())]
    first = Bootstrap(50, seed=1).estimates(terms)
    assert Bootstrap(50, seed=1).estimates(terms) == first
    assert Bootstrap(50, seed=2).estimates(terms) != first
    assert Bootstrap(50).estimates([]) == []


def test_resampled_logs_without_a_matching_row_are_left_out():
    """One row in eight agrees with the policy: about a third of the resampled logs hold none such."""
    terms = Terms.ratio(np.eye(8)[0] * 3, np.eye(8)[0])
    drawn = Bootstrap(200).resampled([terms])[0]
    assert 40 < np.isnan(drawn).sum() < 100
    found = Bootstrap(200).estimates([terms])[0]
    assert (found.value, found.error, found.low, found.high) == (3.0, 0.0, 3.0, 3.0)


def test_memory_does_not_grow_with_draws():
    rows = 50_000
    terms = [Terms.mean(np.arange(rows) * 1.0)]
    peaks = []
    for draws in (200, 1000):
        tracemalloc.start()
        Bootstrap(draws).resampled(terms)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0]
    assert peaks[1] < 5 * 8 * intervals.BLOCK_CELLS


def test_resampled_rows_are_counts():
    blocks = list(resampled_rows(7, 25, seed=3))
    counts = np.concatenate(blocks)
    assert counts.shape == (25, 7)
    assert set(counts.sum(axis=1)) == {7.0}
    assert counts.mean(axis=0) == pytest.approx(np.ones(7), abs=0.6)


@pytest.mark.parametrize(
    "settings", [{"draws": 19}, {"draws": 100.0}, {"draws": True}, {"seed": -1}, {"seed": 0.5}, {"seed": None}]
)
def test_bad_bootstraps(settings):
    name = next(iter(settings))
    with pytest.raises(InputProblem, match=f"'{name}' parameter of Bootstrap"):
        Bootstrap(**settings)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, math.nan, "high"])
@pytest.mark.parametrize("interval", [Student(), Bootstrap(20), EmpiricalBernstein()], ids=str)
def test_bad_levels(interval, confidence):
    with pytest.raises(InputProblem, match="'confidence' parameter of estimates"):
        interval.estimates([Terms.mean(np.arange(3.0))], confidence=confidence)


# --- bounds for any number of rows ---


def test_empirical_bernstein_by_hand():
    several = [one.terms(some_evidence()) for one in EVERY_ESTIMATOR]
    between = [0.0, 0.3, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0]
    for terms, own, found in zip(
        several, between, EmpiricalBernstein().estimates(several, [Imputed(b, 5) for b in between], 0.9), strict=True
    ):
        rows = influence_by_hand(terms)
        spread = variance(rows) / 40 + own
        tail = math.log(2 / 0.05)
        half = math.sqrt(2 * spread * tail) + 7 * (max(rows) - min(rows)) * tail / (3 * 39)
        assert found.error == pytest.approx(math.sqrt(spread), abs=1e-9)
        assert (found.low, found.high) == pytest.approx((terms.value - half, terms.value + half), abs=1e-9)


def smoothed_by_hand(evidence: Evidence, low: float, high: float, confidence: float) -> float:
    rows, delta, found = len(evidence), 1 - confidence, []
    for halvings in range(4):
        step = math.sqrt(2 * math.log(4 / delta) / rows) / 2**halvings
        total = 0.0
        for weight, reward in zip(evidence.weights.tolist(), evidence.rewards.tolist(), strict=True):
            total += math.log(1 + step * weight * min(max((reward - low) / (high - low), 0.0), 1.0))
        found.append((math.exp(total / rows - math.log(4 / delta) / rows) - 1) / step)
    return low + (high - low) * min(max(*found, 0.0), 1.0)


@pytest.mark.parametrize("rows", [5, 40, 3000])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_logarithmic_smoothing_by_hand(rows, confidence):
    evidence = some_evidence(rows, seed=3)
    low, high = float(evidence.rewards.min()), float(evidence.rewards.max())
    bound = LogarithmicSmoothing().lower_bound(evidence, confidence)
    assert bound == pytest.approx(smoothed_by_hand(evidence, low, high, confidence), abs=1e-9)
    narrow = LogarithmicSmoothing((-0.5, 1.0)).lower_bound(evidence, confidence)
    assert narrow == pytest.approx(smoothed_by_hand(evidence, -0.5, 1.0, confidence), abs=1e-9)
    assert -0.5 <= narrow <= 1.0


def test_logarithmic_smoothing_takes_the_best_of_four_steps():
    """Each step wins somewhere, so that all four are needed."""
    random, winners = np.random.default_rng(5), set()
    for scale in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0):
        weights = np.where(random.random(100) < 1 / scale, scale, 0.0) if scale > 1 else np.full(100, scale)
        evidence = Evidence(weights, np.r_[0.0, np.ones(99)], np.zeros(100), np.zeros(100))
        found = []
        for halvings in range(4):
            step = math.sqrt(2 * math.log(80) / 100) / 2**halvings
            found.append(
                (math.exp(np.log(1 + step * weights * evidence.rewards).mean() - math.log(80) / 100) - 1) / step
            )
        winners.add(int(np.argmax(found)))
        bound = LogarithmicSmoothing((0.0, 1.0)).lower_bound(evidence)
        assert bound == pytest.approx(min(max(*found, 0.0), 1.0), abs=1e-9)
    assert len(winners) > 1


def test_logarithmic_smoothing_stays_within_the_range():
    high = Evidence(np.full(5000, 4.0), np.ones(5000), np.zeros(5000), np.zeros(5000))
    assert LogarithmicSmoothing((-1.0, 1.0)).lower_bound(high) == 1.0
    none = Evidence(np.zeros(50), np.ones(50), np.zeros(50), np.zeros(50))
    assert LogarithmicSmoothing((-1.0, 1.0)).lower_bound(none) == -1.0
    assert LogarithmicSmoothing().lower_bound(none) == 1.0  # all rewards are the same


def test_logarithmic_smoothing_holds():
    random, held, bounds = np.random.default_rng(7), 0, []
    for _ in range(300):
        evidence, truth = simulated(random, 120)
        bounds.append(LogarithmicSmoothing((0.0, 1.0)).lower_bound(evidence))
        held += bounds[-1] <= truth
    assert held >= 0.95 * 300
    assert np.mean(bounds) > 0.2  # and says something: the truth is 0.5


@pytest.mark.parametrize("given", [(1.0, 1.0), (2.0, 0.0), (0.0,), (0.0, math.inf), (0.0, "one")])
def test_bad_reward_ranges(given):
    with pytest.raises(InputProblem, match="'reward_range' parameter of LogarithmicSmoothing"):
        LogarithmicSmoothing(given)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, math.nan, "high"])
def test_bad_levels_of_the_lower_bound(confidence):
    with pytest.raises(InputProblem, match="'confidence' parameter of lower_bound"):
        LogarithmicSmoothing().lower_bound(some_evidence(), confidence)


def test_estimates_for_people():
    found = Estimate(1.0, 0.25, 0.5, 1.75)
    assert str(found) == "1.000 [0.500, 1.750]"
    assert found.negated() == Estimate(-1.0, 0.25, -1.75, -0.5)
    assert found.negated().negated() == found


# --- tails ---


def worst_by_sorting(weights: list[float], rewards: list[float], share: float) -> float:
    """Take rows from the worst on until their mass is the share; the last one only as far as it is needed."""
    left = mass = share * sum(weights)
    total = 0.0
    for reward, weight in sorted(zip(rewards, weights, strict=True)):
        part = min(weight, left)
        total, left = total + part * reward, left - part
    return total / mass


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3, 0.999])
@pytest.mark.parametrize("seed", range(4))
def test_worst_mean_by_sorting(seed, share):
    random = np.random.default_rng(seed)
    weights = np.where(random.random(50) < 0.2, 0.0, np.exp(random.normal(size=50)))
    rewards = np.round(random.normal(size=50), 1)  # with ties
    terms = worst_mean(weights, rewards, share)
    assert terms.value == pytest.approx(worst_by_sorting(weights.tolist(), rewards.tolist(), share), abs=1e-9)
    assert terms.influence.mean() == pytest.approx(terms.value, abs=1e-9)


def test_worst_mean_where_the_share_ends_between_and_within_rows():
    weights, rewards = np.array([1.0, 3.0, 4.0]), np.array([-10.0, 2.0, 5.0])
    assert worst_mean(weights, rewards, 0.5).value == pytest.approx((-10 + 3 * 2) / 4, abs=1e-12)
    assert worst_mean(weights, rewards, 0.25).value == pytest.approx((-10 + 2) / 2, abs=1e-12)
    assert worst_mean(weights, rewards, 0.01).value == pytest.approx(-10, abs=1e-12)
    assert worst_mean(weights[::-1], rewards[::-1], 0.75).value == pytest.approx((-10 + 6 + 2 * 5) / 6, abs=1e-12)


def test_worst_mean_is_blind_to_rows_without_weight():
    """The worst outcome of all was of an action the policy would not have taken."""
    weights, rewards = np.array([0.0, 1.0, 1.0]), np.array([-100.0, 1.0, 2.0])
    assert worst_mean(weights, rewards, 0.5).value == pytest.approx(1.0, abs=1e-12)
    assert math.isnan(worst_mean(np.zeros(3), rewards, 0.5).value)


def test_the_error_of_the_worst_mean_is_what_it_scatters_by():
    random = np.random.default_rng(9)
    found = [Student().estimates([worst_mean(np.ones(400), random.normal(size=400), 0.2)])[0] for _ in range(200)]
    quantile = stats.norm.ppf(0.2)
    truth = -stats.norm.pdf(quantile) / 0.2
    assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=0.03)
    assert np.mean([one.error for one in found]) == pytest.approx(np.std([one.value for one in found]), rel=0.15)


@pytest.mark.parametrize(("bad", "rows"), [(0, 100), (3, 100), (50, 60), (1, 2)])
def test_upper_bound_is_clopper_and_pearsons(bad, rows):
    bound = upper_bound(bad / rows, rows, 0.05)
    assert stats.binom.cdf(bad, rows, bound) == pytest.approx(0.05, abs=1e-9)


def test_upper_bound_where_nothing_can_be_said():
    assert upper_bound(1.0, 10, 0.05) == upper_bound(0.0, 0.0, 0.05) == upper_bound(0.3, math.nan, 0.05) == 1.0
    bounds = [upper_bound(share, 20.5, 0.05) for share in (0.0, 0.1, 0.5, 0.9)]
    assert bounds == sorted(bounds)


def test_as_share_by_hand():
    found = as_share(Estimate(0.1, 0.03, -1.0, 2.0), rows=1000, confidence=0.9)
    rows = 0.1 * 0.9 / 0.03**2  # 100 equal rows know a share of 0.1 as well
    assert (found.value, found.error) == (0.1, 0.03)
    assert found.low == pytest.approx(stats.beta.ppf(0.05, 0.1 * rows, 0.9 * rows + 1), abs=1e-9)
    assert found.high == pytest.approx(stats.beta.ppf(0.95, 0.1 * rows + 1, 0.9 * rows), abs=1e-9)
    few = as_share(Estimate(0.1, 0.03, -1.0, 2.0), rows=30, confidence=0.9)  # never more rows than there are
    assert few.high == pytest.approx(stats.beta.ppf(0.95, 4, 27), abs=1e-9)


def test_as_share_at_the_ends_of_what_can_be():
    none, every = (as_share(Estimate(share, 0.0, share, share), rows=50, confidence=0.95) for share in (0.0, 1.0))
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 50), abs=1e-9)
    assert (every.value, every.high) == (1.0, 1.0)
    assert every.low == pytest.approx(0.025 ** (1 / 50), abs=1e-9)
    below = as_share(Estimate(-0.02, 0.01, -0.04, 0.0), rows=50, confidence=0.95)  # doubly robust shares may be below 0
    assert (below.value, below.low, below.high) == (0.0, 0.0, none.high)
    unknown = as_share(Estimate(math.nan, math.nan, math.nan, math.nan), rows=0, confidence=0.95)
    assert math.isnan(unknown.value)
    assert math.isnan(unknown.high)


def test_a_share_estimated_below_zero_is_not_known_to_be_nothing():
    beyond, just_inside = (as_share(Estimate(value, 0.03, 0.0, 0.0), 500, 0.95) for value in (-0.01, 1e-4))
    assert (beyond.value, beyond.low) == (0.0, 0.0)
    assert beyond.high == pytest.approx(upper_bound(0.0, 0.03 * 0.97 / 0.03**2, 0.025))
    assert beyond.high == pytest.approx(just_inside.high, rel=0.05)
