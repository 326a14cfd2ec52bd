"""Terms and the eight estimators, against textbook formulas written out row by row and a world counted to the end."""

import math
from fractions import Fraction

import numpy as np
import pytest

from prudent.errors import InputProblem
from prudent.evaluation import (
    EVERY_ESTIMATOR,
    Bootstrap,
    ClippedInversePropensity,
    Direct,
    DoublyRobust,
    EmpiricalBernstein,
    Estimator,
    InversePropensity,
    SelfNormalised,
    SelfNormalisedDoublyRobust,
    ShrunkDoublyRobust,
    Student,
    SwitchDoublyRobust,
    Terms,
)
from prudent.evaluation.row_terms import Evidence, between_imputations, ratios

LIMITED = [ClippedInversePropensity, SwitchDoublyRobust, ShrunkDoublyRobust]
BY_NAME = {estimator.name: estimator for estimator in EVERY_ESTIMATOR}


def some_evidence(rows: int = 60, seed: int = 0, spread: float = 1.0) -> Evidence:
    """Weights with a long right end, some of them 0; prices that say something about the rewards."""
    random = np.random.default_rng(seed)
    weights = np.where(random.random(rows) < 0.3, 0.0, np.exp(spread * random.normal(size=rows)))
    prices = random.normal(size=rows)
    return Evidence(weights, prices + random.normal(size=rows), prices, random.normal(size=rows))


def each_row(evidence: Evidence) -> list[tuple[float, float, float, float]]:
    columns = (evidence.weights, evidence.rewards, evidence.logged_prices, evidence.policy_prices)
    return [(float(w), float(r), float(q), float(v)) for w, r, q, v in zip(*columns, strict=True)]


# --- textbook formulas, row by row ---


def reference(name: str, evidence: Evidence, limit: float = math.inf) -> float:
    """The value by each estimator's own formula."""
    rows = each_row(evidence)
    count, total = len(rows), sum(w for w, _, _, _ in rows)
    if name == "direct":
        return sum(v for _, _, _, v in rows) / count
    if name == "ips":
        return sum(w * r for w, r, _, _ in rows) / count
    if name == "clipped ips":
        return sum(min(w, limit) * r for w, r, _, _ in rows) / count
    if name == "self-normalised ips":
        return sum(w * r for w, r, _, _ in rows) / total
    if name == "dr":
        return sum(v + w * (r - q) for w, r, q, v in rows) / count
    if name == "self-normalised dr":
        return sum(v for _, _, _, v in rows) / count + sum(w * (r - q) for w, r, q, _ in rows) / total
    if name == "switch dr":
        return sum(v + (w * (r - q) if w <= limit else 0.0) for w, r, q, v in rows) / count
    shrinkage = limit**2
    return sum(v + shrinkage * w / (w**2 + shrinkage) * (r - q) for w, r, q, v in rows) / count


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "estimator", [one for one in EVERY_ESTIMATOR if type(one) not in LIMITED], ids=lambda e: e.name
)
def test_unlimited_estimators_are_the_textbook_ones(estimator, seed):
    evidence = some_evidence(seed=seed)
    assert estimator.terms(evidence).value == pytest.approx(reference(estimator.name, evidence), abs=1e-9)


@pytest.mark.parametrize("limit", [0.2, 1.0, 3.7, 100.0])
@pytest.mark.parametrize("kind", LIMITED)
def test_limited_estimators_are_the_textbook_ones(kind, limit):
    evidence = some_evidence(spread=1.5)
    estimator = kind(limit)
    assert estimator.terms(evidence).value == pytest.approx(reference(kind.name, evidence, limit), abs=1e-9)
    own = estimator.tail_weights(evidence)
    assert np.all(own <= evidence.weights)
    assert own.max() <= {"shrunk dr": limit / 2}.get(kind.name, limit) + 1e-12


def test_a_weight_at_the_limit_is_within_it():
    evidence = Evidence(np.array([1.0, 2.0, 3.0]), np.ones(3), np.zeros(3), np.zeros(3))
    assert SwitchDoublyRobust(2.0).tail_weights(evidence).tolist() == [1.0, 2.0, 0.0]
    assert ClippedInversePropensity(2.0).tail_weights(evidence).tolist() == [1.0, 2.0, 2.0]
    assert ShrunkDoublyRobust(2.0).tail_weights(evidence).tolist() == pytest.approx([4 / 5, 8 / 8, 12 / 13])


@pytest.mark.parametrize(
    ("kind", "without"),
    [
        (ClippedInversePropensity, InversePropensity()),
        (SwitchDoublyRobust, DoublyRobust()),
        (ShrunkDoublyRobust, DoublyRobust()),
    ],
)
def test_an_infinite_limit_is_none(kind, without):
    evidence = some_evidence(spread=2.0)
    np.testing.assert_array_equal(kind(math.inf).terms(evidence).numerators, without.terms(evidence).numerators)


@pytest.mark.parametrize("limit", [0, -1.0, math.nan, -math.inf, "many", True])
@pytest.mark.parametrize("kind", LIMITED)
def test_bad_limits_get_the_one_sentence(kind, limit):
    with pytest.raises(InputProblem, match=f"'limit' parameter of {kind.__name__}"):
        kind(limit)


def test_each_estimator_says_what_it_uses():
    """Changing what it does not use changes nothing; the tail has no weights where the value has none."""
    evidence = some_evidence()
    other = some_evidence(seed=9)
    for estimator in EVERY_ESTIMATOR:
        value = estimator.terms(evidence).value
        weighed = Evidence(other.weights, evidence.rewards, evidence.logged_prices, evidence.policy_prices)
        priced = Evidence(evidence.weights, evidence.rewards, other.logged_prices, other.policy_prices)
        assert (estimator.terms(weighed).value != value) == estimator.uses_weights
        assert (estimator.terms(priced).value != value) == estimator.uses_prices
        assert estimator.tail_weights(evidence).any() == estimator.uses_weights
    assert len(BY_NAME) == len(EVERY_ESTIMATOR) == 8


# --- the limit that is chosen from the data ---


def quantile(sorted_values: list[float], share: float) -> float:
    place = share * (len(sorted_values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(sorted_values) - 1)
    return sorted_values[below] + (place - below) * (sorted_values[above] - sorted_values[below])


def limited(name: str, weight: float, limit: float) -> float:
    if name == "clipped ips":
        return min(weight, limit)
    if name == "switch dr":
        return weight if weight <= limit else 0.0
    return weight if limit == math.inf else limit**2 * weight / (weight**2 + limit**2)


def mean_and_variance(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def chosen_limit(name: str, evidence: Evidence) -> float:
    """Least variance of the value plus squared (|mean| + two standard errors) of what the limit takes off."""
    rows = each_row(evidence)
    positive = sorted(w for w, _, _, _ in rows if w > 0)
    found: list[tuple[float, float]] = []
    for limit in [math.inf, *(quantile(positive, share) for share in (0.995, 0.99, 0.98, 0.95, 0.9, 0.75, 0.5))]:
        kept, lost = [], []
        for w, r, q, v in rows:
            base, residual = (0.0, r) if name == "clipped ips" else (v, r - q)
            own = limited(name, w, limit)
            kept.append(base + own * residual)
            lost.append((w - own) * residual)
        mean, variance = mean_and_variance(lost)
        bias = abs(mean) + 2 * math.sqrt(variance) / math.sqrt(len(rows))
        found.append((mean_and_variance(kept)[1] / len(rows) + bias**2, limit))
    return min(found)[1]


@pytest.mark.parametrize("kind", LIMITED)
def test_the_limit_is_chosen_as_documented(kind):
    chosen = []
    for seed, spread in [(0, 0.3), (1, 1.0), (2, 1.5), (3, 2.0), (4, 2.5), (5, 3.0)]:
        evidence = some_evidence(200, seed, spread)
        limit = chosen_limit(kind.name, evidence)
        chosen.append(limit)
        expected = [limited(kind.name, float(w), limit) for w in evidence.weights]
        np.testing.assert_allclose(kind().tail_weights(evidence), expected, rtol=0, atol=1e-9)
        assert kind().terms(evidence).value == pytest.approx(
            reference(kind.name, evidence, min(limit, 1e12)), rel=1e-9, abs=1e-9
        )
    assert math.inf in chosen  # a limit is not always worth its bias


def test_a_limit_is_used_where_it_helps():
    """The model's prices swing along with the largest terms, so that the value is steadier without these."""
    base = some_evidence(200, seed=8, spread=1.5)
    terms = base.weights * (base.rewards - base.logged_prices)
    swinging = Evidence(base.weights, base.rewards, base.logged_prices, 20 * terms)
    for kind in (SwitchDoublyRobust, ShrunkDoublyRobust):
        limit = chosen_limit(kind.name, swinging)
        assert limit < base.weights.max()
        expected = [limited(kind.name, float(w), limit) for w in base.weights]
        np.testing.assert_allclose(kind().tail_weights(swinging), expected, rtol=0, atol=1e-9)
    assert any(chosen_limit("clipped ips", some_evidence(300, seed, 0.6)) < math.inf for seed in range(5))


def test_of_equal_limits_the_one_that_changes_least():
    """Perfect prices make every limit equally good, so that nothing is cut."""
    exact = some_evidence()
    exact = Evidence(exact.weights, exact.logged_prices, exact.logged_prices, exact.policy_prices)
    for estimator in (SwitchDoublyRobust(), ShrunkDoublyRobust()):
        np.testing.assert_array_equal(estimator.tail_weights(exact), exact.weights)


# --- what must hold whatever the numbers are ---


def test_right_prices_leave_nothing_to_correct():
    evidence = some_evidence(spread=3.0)
    exact = Evidence(evidence.weights, evidence.logged_prices, evidence.logged_prices, evidence.policy_prices)
    for name in ("dr", "self-normalised dr", "switch dr", "shrunk dr"):
        np.testing.assert_allclose(BY_NAME[name].terms(exact).influence, exact.policy_prices, rtol=0, atol=1e-12)


def test_the_logging_policy_earned_what_it_earned():
    random = np.random.default_rng(4)
    prices = random.normal(size=30)
    evidence = Evidence(np.ones(30), random.normal(size=30), prices, prices)
    for name in ("ips", "clipped ips", "self-normalised ips", "dr", "self-normalised dr", "switch dr"):
        np.testing.assert_allclose(BY_NAME[name].terms(evidence).influence, evidence.rewards, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["direct", "self-normalised ips", "dr", "self-normalised dr", "switch dr", "shrunk dr"]
)
def test_shifting_all_rewards_and_prices_shifts_the_value(name):
    evidence = some_evidence()
    columns = (evidence.rewards, evidence.logged_prices, evidence.policy_prices)
    moved = Evidence(evidence.weights, *(column + 7 for column in columns))
    value = BY_NAME[name].terms(evidence).value
    assert BY_NAME[name].terms(moved).value == pytest.approx(value + 7, abs=1e-9)


def test_self_normalised_dr_needs_no_prices_to_shift():
    """Rewards move, the prices stay: the correction carries the whole shift. Plain IPS and DR carry mean(w) of it."""
    evidence = some_evidence()
    moved = Evidence(evidence.weights, evidence.rewards + 7, evidence.logged_prices, evidence.policy_prices)
    shift = {name: BY_NAME[name].terms(moved).value - BY_NAME[name].terms(evidence).value for name in BY_NAME}
    assert shift["self-normalised ips"] == pytest.approx(7, abs=1e-9)
    assert shift["self-normalised dr"] == pytest.approx(7, abs=1e-9)
    assert shift["ips"] == pytest.approx(7 * evidence.weights.mean(), abs=1e-9)
    assert shift["dr"] == pytest.approx(7 * evidence.weights.mean(), abs=1e-9)


def test_self_normalised_stays_within_the_rewards():
    for seed in range(20):
        evidence = some_evidence(8, seed, spread=4.0)
        assert evidence.rewards.min() <= SelfNormalised().terms(evidence).value <= evidence.rewards.max()


@pytest.mark.parametrize("interval", [Student(), Bootstrap(draws=20), EmpiricalBernstein()], ids=str)
def test_no_row_that_the_policy_agrees_with(interval):
    evidence = some_evidence()
    evidence = Evidence(np.zeros(60), evidence.rewards, evidence.logged_prices, evidence.policy_prices)
    values = {one.name: one.terms(evidence).value for one in EVERY_ESTIMATOR}
    assert math.isnan(values["self-normalised ips"])
    assert math.isnan(values["self-normalised dr"])
    assert values["ips"] == values["clipped ips"] == 0
    for name in ("dr", "switch dr", "shrunk dr"):
        assert values[name] == pytest.approx(values["direct"], abs=1e-12)
    found = interval.estimates([SelfNormalised().terms(evidence), SelfNormalisedDoublyRobust().terms(evidence)])
    assert all(math.isnan(number) for one in found for number in (one.value, one.error, one.low, one.high))


# --- a world counted to the end: every (x, a, r) as often as it is likely ---

CONTEXTS = {"well": Fraction(1, 2), "ill": Fraction(3, 10), "dying": Fraction(1, 5)}
LOGGING = {
    "well": (Fraction(4, 5), Fraction(1, 5)),
    "ill": (Fraction(1, 2), Fraction(1, 2)),
    "dying": (Fraction(1, 10), Fraction(9, 10)),
}
POLICY = {
    "well": (Fraction(1, 10), Fraction(9, 10)),
    "ill": (Fraction(1), Fraction(0)),
    "dying": (Fraction(3, 4), Fraction(1, 4)),
}
REWARDS = (Fraction(-2), Fraction(3))
GOOD = {
    "well": (Fraction(9, 10), Fraction(1, 2)),
    "ill": (Fraction(1, 5), Fraction(7, 10)),
    "dying": (Fraction(1, 10), Fraction(2, 5)),
}
PRICES = {x: tuple(good * REWARDS[1] + (1 - good) * REWARDS[0] for good in GOOD[x]) for x in CONTEXTS}
TRUTH = float(sum(CONTEXTS[x] * POLICY[x][a] * PRICES[x][a] for x in CONTEXTS for a in (0, 1)))
WRONG_PRICES = {"well": (1.0, -4.0), "ill": (0.3, 2.0), "dying": (2.0, 0.1)}
WRONG_CHANCES = {"well": (0.3, 0.7), "ill": (0.9, 0.1), "dying": (0.5, 0.5)}


def counted(prices, logging) -> Evidence:
    """All cells of the world, each in as many rows as its probability times 1000; means over rows are expectations."""
    weights, rewards, logged, expected = [], [], [], []
    for x, share in CONTEXTS.items():
        for a in (0, 1):
            for bad, reward in zip((1 - GOOD[x][a], GOOD[x][a]), REWARDS, strict=True):
                times = share * LOGGING[x][a] * bad * 1000
                assert times.denominator == 1
                weights += [float(POLICY[x][a]) / float(logging[x][a])] * int(times)
                rewards += [float(reward)] * int(times)
                logged += [float(prices[x][a])] * int(times)
                expected += [float(sum(float(POLICY[x][b]) * float(prices[x][b]) for b in (0, 1)))] * int(times)
    return Evidence(*map(np.array, (weights, rewards, logged, expected)))


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR, ids=lambda e: e.name)
def test_who_is_right_when(estimator: Estimator):
    right = {
        ("prices", "weights"): {"direct", "ips", "self-normalised ips", "dr", "self-normalised dr"},
        ("prices",): {"direct", "dr", "self-normalised dr"},
        ("weights",): {"ips", "self-normalised ips", "dr", "self-normalised dr"},
        (): set(),
    }
    limits = (0.5, 2.0) if isinstance(estimator, LIMITED[1] | LIMITED[2]) else ()
    for known, names in right.items():
        prices = PRICES if "prices" in known else WRONG_PRICES
        logging = LOGGING if "weights" in known else WRONG_CHANCES
        evidence = counted(prices, logging)
        assert len(evidence) == 1000
        if type(estimator) not in LIMITED:
            off = abs(estimator.terms(evidence).value - TRUTH)
            assert off < 1e-12 if estimator.name in names else off > 0.1
        for limit in limits:  # with right prices no limit does harm, without them each brings bias
            off = abs(type(estimator)(limit).terms(evidence).value - TRUTH)  # pyright: ignore[reportCallIssue]
            assert off < 1e-12 if "prices" in known else off > 0.01
    if isinstance(estimator, ClippedInversePropensity):
        evidence = counted(PRICES, LOGGING)
        assert ClippedInversePropensity(10.0).terms(evidence).value == pytest.approx(TRUTH, abs=1e-12)
        assert abs(ClippedInversePropensity(1.0).terms(evidence).value - TRUTH) > 0.1


# --- terms ---


def several_terms() -> list[Terms]:
    evidence = some_evidence(25, seed=6)
    return [one.terms(evidence) for one in (Direct(), DoublyRobust(), SelfNormalised(), SelfNormalisedDoublyRobust())]


def weighted_value(terms: Terms, shares: np.ndarray) -> float:
    """The value when rows have these shares instead of equal ones."""
    value = 0.0
    for numerator, denominator in zip(terms.numerators, terms.denominators, strict=True):
        value += sum(shares * numerator) / sum(shares * denominator)
    return value


@pytest.mark.parametrize("index", range(5))
def test_influence_is_the_derivative_of_the_value(index):
    several = several_terms()
    terms = [*several, several[3] - several[2]][index]
    rows, step = len(terms), 1e-5
    assert terms.influence.mean() == pytest.approx(terms.value, abs=1e-12)
    assert weighted_value(terms, np.full(rows, 1 / rows)) == pytest.approx(terms.value, abs=1e-12)
    for row in range(rows):
        towards = np.eye(rows)[row] - 1 / rows
        up, down = (weighted_value(terms, 1 / rows + sign * step * towards) for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(terms.influence[row] - terms.value, abs=1e-6)


def test_influence_of_a_mean_is_the_jackknife():
    terms = several_terms()[1]
    rows = len(terms)
    for row in range(rows):
        without = np.delete(np.ones(rows), row)
        left = weighted_value(
            Terms(np.delete(terms.numerators, row, 1), np.delete(terms.denominators, row, 1)), without
        )
        assert rows * terms.value - (rows - 1) * left == pytest.approx(terms.influence[row], abs=1e-9)


def test_terms_add_up_and_subtract():
    first, second = several_terms()[1], several_terms()[3]
    assert (first - second).value == pytest.approx(first.value - second.value, abs=1e-12)
    assert (first + second).value == pytest.approx(first.value + second.value, abs=1e-12)
    assert (-second).value == -second.value
    np.testing.assert_allclose((first - second).influence, first.influence - second.influence, rtol=0, atol=1e-12)
    assert len(first - second) == len(first) == 25
    assert Student().estimates([first - first])[0].error == pytest.approx(0, abs=1e-12)


def test_ratios_say_nothing_where_there_is_nothing_to_divide_by():
    np.testing.assert_array_equal(ratios(np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.0, 2.0])), [np.nan, np.nan, 1.5])
    empty = Terms.ratio(np.zeros(3), np.zeros(3))
    assert math.isnan(empty.value)
    assert np.isnan(empty.influence).all()
    assert math.isnan((Terms.mean(np.ones(3)) + empty).value)


def test_evidence_once_per_imputation():
    base = some_evidence(4)
    assert base.imputations() == []
    each = np.array([[1.0, 2, 3, 4], [4.0, 3, 2, 1], [0.0, 0, 0, 1]])
    several = Evidence(base.weights, base.rewards, base.logged_prices, base.policy_prices, each)
    for own, weights in zip(several.imputations(), each, strict=True):
        np.testing.assert_array_equal(own.weights, weights)
        np.testing.assert_array_equal(own.rewards, base.rewards)
        assert own.imputed_weights is None
    values = [SelfNormalised().terms(own).value for own in several.imputations()]
    centre = sum(values) / 3
    by_hand = (1 + 1 / 3) * sum((value - centre) ** 2 for value in values) / 2
    assert between_imputations(values) == pytest.approx(by_hand, abs=1e-12)
    assert between_imputations(values[:1]) == 0.0
