"""How strong would unrecorded reasons, or shifted gaps, have to be to change the preferred policy?"""

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import visits

import prudent
from prudent.errors import InputProblem
from prudent.evaluation import Evaluation, SelfNormalisedDoublyRobust, cross_fitting, evaluate
from prudent.evaluation.prices import model_prices
from prudent.evaluation.sensitivity.confounding import confounding, confounding_bounds
from prudent.evaluation.sensitivity.missing_values import DIRECT, KNOWN, UNKNOWN, shifted_missingness
from prudent.evaluation.sensitivity.policy_contrast import contrast
from prudent.evaluation.sensitivity.recorded_strength import observed_strength
from prudent.evaluation.sensitivity.weight_bounds import Part
from prudent.propensity import Boosted, ImputedLogistic, Known
from prudent.worlds import DosingSample

pytestmark = pytest.mark.usefixtures("one_chunk")

GAMMAS = (1.0, 1.3, 2.0, 7.0)


def small(rows=60, seed=0, minimize=False, actions=3, **policies) -> Evaluation:
    """A log with known propensities, and prices that are off: any are valid."""
    random = np.random.default_rng(seed)
    known = random.dirichlet(np.ones(actions) * 3, rows)
    done = np.array([random.choice(actions, p=one) for one in known])
    case = random.normal(size=rows)
    table = {
        "case": case,
        "dose": done,
        "outcome": np.round(case * (done - 1) + random.normal(size=rows), 3),
        "chance": known[np.arange(rows), done],
    }
    log = prudent.Log.from_frame(
        table, action="dose", reward="outcome", propensity="chance", kinds={"case": "real"}, minimize=minimize
    )
    prices = random.normal(size=(rows, actions))
    named = policies or {"by case": lambda frame: np.where(np.asarray(frame["case"]) > 0, 2, 0)}
    return evaluate(named, log, prices=prices)


def mixed(frame):
    shares = 1 / (1 + np.exp(-np.asarray(frame["case"])))
    return np.stack([0.7 * (1 - shares), np.full(len(shares), 0.3), 0.7 * shares], axis=1)


def unsure(frame):
    """Refers the cases in the middle."""
    case = np.asarray(frame["case"])
    return [None if abs(one) < 0.5 else 2 if one > 0 else 0 for one in case]


def box(part: Part, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    return part.base + part.loose / gamma, part.base + part.loose * gamma


def lowest(part: Part, gamma: float) -> float:
    return part.over(np.ones((1, len(part.outcomes)))).lowest(np.array([gamma])).item()


def random_part(rows=40, seed=0) -> Part:
    random = np.random.default_rng(seed)
    base = random.random(rows) * (random.random(rows) < 0.7)
    # rows with no weight, rows with a known one, and equal outcomes
    loose = base * random.exponential(2, rows) * (random.random(rows) < 0.8)
    return Part(np.round(random.normal(size=rows), 1), base, loose)


# --- bounds over a box of weights ---


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("seed", range(5))
def test_bound_is_the_best_of_all_thresholds_and_of_the_linear_programme(gamma, seed):
    from scipy.optimize import linprog

    part = random_part(seed=seed)
    low, high = box(part, gamma)
    found = lowest(part, gamma)
    means = []
    for cut in [-np.inf, *np.unique(part.outcomes)]:
        weights = np.where(part.outcomes <= cut, high, low)
        means.append(np.sum(weights * part.outcomes) / weights.sum())
    assert found == pytest.approx(min(means), abs=1e-9)
    # Charnes and Cooper: a fractional programme as a linear one in the normalised weights v and their scale t
    rows = len(low)
    above = np.concatenate([np.eye(rows), -high[:, None]], axis=1)
    below = np.concatenate([-np.eye(rows), low[:, None]], axis=1)
    solved = linprog(
        np.append(part.outcomes, 0.0),
        A_ub=np.concatenate([above, below]),
        b_ub=np.zeros(2 * rows),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
    )
    assert found == pytest.approx(solved.fun, abs=1e-9)


def test_no_weights_in_the_box_beat_the_bound():
    part, random = random_part(), np.random.default_rng(1)
    low, high = box(part, 2.0)
    weights = low + (high - low) * random.random((5000, 1)) ** random.exponential(1, (5000, len(low)))
    means = weights @ part.outcomes / weights.sum(axis=1)
    assert lowest(part, 2.0) < means.min()
    assert -lowest(part.negated(), 2.0) > means.max()


def test_resampled_logs_are_bounded_as_if_their_rows_were_repeated():
    part = random_part()
    counts = np.random.default_rng(2).integers(0, 3, (7, 40)).astype(float)
    gammas = np.linspace(1, 4, 7)
    found = part.over(counts).lowest(gammas)
    for times, gamma, own in zip(counts, gammas, found, strict=True):
        rows = np.repeat(np.arange(40), times.astype(int))
        again = Part(part.outcomes[rows], part.base[rows], part.loose[rows])
        assert own == pytest.approx(lowest(again, gamma), abs=1e-9)


# --- values and differences of policies ---


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("policy", [mixed, unsure, lambda frame: np.where(np.asarray(frame["case"]) > 0, 2, 0)])
def test_without_confounding_the_bounds_are_the_self_normalised_estimate(policy, minimize):
    found = small(policy=policy, minimize=minimize)
    for name in found.names:
        value = found.estimate(name, SelfNormalisedDoublyRobust()).value
        assert confounding_bounds(found, name, gamma=1.0) == pytest.approx((value, value), abs=1e-9)
    if policy is unsure:
        return
    # against the decisions as logged: only what goes beyond them, each side a weighted mean of its own
    own, log = found.evidence("policy"), found.log
    errors, odds = own.rewards - own.logged_prices, 1 / found.propensity.taken - 1
    taken = found.probabilities["policy"][np.arange(len(log)), log.actions]
    more, less = taken * odds, 1 - taken
    gain = np.mean(own.policy_prices - own.logged_prices) + less.mean() * (
        more @ errors / more.sum() - less @ errors / less.sum()
    )
    gain = -gain if minimize else gain
    assert confounding_bounds(found, "policy", "as logged", gamma=1.0) == pytest.approx((gain, gain), abs=1e-9)


@pytest.mark.parametrize("other", [None, "as logged", "always 1", "sure"])
@pytest.mark.parametrize("minimize", [False, True])
def test_bounds_widen_with_gamma_and_mirror(other, minimize):
    found = small(minimize=minimize, policy=mixed, sure=unsure)
    bounds = [confounding_bounds(found, "policy", other, gamma=gamma) for gamma in GAMMAS]
    assert bounds[0][0] == pytest.approx(bounds[0][1], abs=1e-9)
    assert all(wide[0] < narrow[0] and wide[1] > narrow[1] for narrow, wide in pairwise(bounds))
    if other is not None:
        low, high = confounding_bounds(found, other, "policy", gamma=2.0)
        assert (-high, -low) == pytest.approx(bounds[2], abs=1e-9)


def test_decisions_as_logged_have_a_known_value():
    found = small()
    mean = found.log.rewards.mean()
    assert confounding_bounds(found, "as logged", gamma=50.0) == pytest.approx((mean, mean), abs=1e-9)


def test_referred_rows_keep_the_weight_one():
    found = small(unsure=unsure)
    referred = np.isnan(found.probabilities["unsure"][:, 0])
    (part,) = contrast(found, "unsure").parts
    assert 0 < referred.sum() < len(referred)
    assert (part.base[referred] == 1).all()
    assert (part.loose[referred] == 0).all()
    low, high = box(part, 3.0)
    taken = found.propensity.taken[~referred]
    agrees = found.probabilities["unsure"][~referred, found.log.actions[~referred]]
    assert low[~referred] == pytest.approx(agrees * (1 + (1 / taken - 1) / 3))
    assert high[~referred] == pytest.approx(agrees * (1 + (1 / taken - 1) * 3))


def test_policies_that_differ_in_few_rows_are_told_apart_better_than_one_by_one():
    def nearly(frame):
        case = np.asarray(frame["case"])
        return np.where(case > 1.2, 1, np.where(case > 0, 2, 0))

    found = small(400, policy=lambda frame: np.where(np.asarray(frame["case"]) > 0, 2, 0), nearly=nearly)
    own, theirs = (confounding_bounds(found, name, gamma=2.0) for name in ("policy", "nearly"))
    low, high = confounding_bounds(found, "policy", "nearly", gamma=2.0)
    assert high - low < 0.5 * (own[1] - theirs[0] - (own[0] - theirs[1]))
    # by hand: on the rows where they differ, each bounded on the rows that did as it says
    case, actions = np.asarray(found.log.cases()["case"]), found.log.actions
    differ = case > 1.2
    errors = found.log.rewards - found.prices.rewards[np.arange(400), actions]
    weights = 1 / found.propensity.taken - 1

    def side(action: int, sign: float) -> float:
        rows = differ & (actions == action)
        return lowest(Part(sign * errors[rows], np.ones(rows.sum()), weights[rows]), 2.0)

    prices = np.mean((found.prices.rewards[:, 2] - found.prices.rewards[:, 1]) * differ)
    assert low == pytest.approx(prices + differ.mean() * (side(2, 1.0) + side(1, -1.0)), abs=1e-9)


def test_chances_of_two_policies_are_compared_by_what_they_do_not_share():
    found = small(policy=mixed, other=lambda frame: 0.5 * mixed(frame) + 0.5 * np.array([0.0, 1.0, 0.0]))
    own, theirs = found.probabilities["policy"], found.probabilities["other"]
    parts = contrast(found, "policy", "other")
    assert parts.share == pytest.approx(np.abs(own - theirs).sum(axis=1) / 2)
    assert not ((parts.parts[0].base > 0) & (parts.parts[1].base > 0)).any()
    rows = np.arange(len(found.log))
    gap = (own - theirs)[rows, found.log.actions]
    assert parts.parts[0].base - parts.parts[1].base == pytest.approx(gap)


def test_hidden_reasons_of_known_strength():
    """A patient's frailty, unrecorded, moves the decision by a known factor of odds, and the outcome."""
    rows, strength = 40_000, 3.0
    random = np.random.default_rng(3)
    frail = random.random(rows) < 0.5
    high, low = strength / (1 + strength), 1 / (1 + strength)
    treated = random.random(rows) < np.where(frail, low, high)
    outcome = treated * 0.5 - 2.0 * frail + random.normal(size=rows)
    table = {"age": random.normal(size=rows), "treated": treated * 1, "outcome": outcome, "chance": np.full(rows, 0.5)}
    log = prudent.Log.from_frame(table, action="treated", reward="outcome", propensity="chance")
    found = evaluate(lambda frame: np.ones(rows, int), log, prices=np.zeros((rows, 2)), propensity=Known())
    truth = 0.5 - 2.0 * 0.5
    naive, _ = confounding_bounds(found, "policy", gamma=1.0)
    assert naive - truth > 0.3
    within = confounding_bounds(found, "policy", gamma=strength)
    assert within[0] < truth < within[1]
    effect = confounding_bounds(found, "policy", "always 0", gamma=strength)
    assert effect[0] < 0.5 < effect[1]
    narrow = confounding_bounds(found, "policy", "always 0", gamma=1.1)
    assert narrow[0] > 0.5


# --- the weakest reason that would do ---


def by_hand(minimize=False, untreated=1.5) -> Evaluation:
    """All propensities 1/2, no prices: outcomes 3 and 1 where treated, `untreated` and 0 where not."""
    sign = -1 if minimize else 1
    table = {
        "case": [0.0, 1.0] * 2,
        "dose": ["yes", "yes", "no", "no"],
        "outcome": [sign * 3.0, sign * 1.0, sign * untreated, sign * 0.0],
        "chance": [0.5] * 4,
    }
    log = prudent.Log.from_frame(table, action="dose", reward="outcome", propensity="chance", minimize=minimize)
    return evaluate({"treat": lambda frame: ["yes"] * 4}, log, prices=np.zeros((4, 2)))


@pytest.mark.parametrize("minimize", [False, True])
def test_least_gamma_by_hand(minimize):
    # the worst for treatment: weights 1 + 1/Γ on 3 and 1 + Γ on 1, so the ratio of weights is Γ and the mean is
    # (3 + Γ)/(1 + Γ); the best for none: 1.5 Γ/(1 + Γ). They meet at 3 + Γ = 1.5 Γ, Γ = 6
    result = confounding(by_hand(minimize), other="always no", draws=20)
    assert result.least_gamma == pytest.approx(6.0, abs=1e-6)
    assert result.preferred == "treat"
    assert result.least.gain == pytest.approx(-1.25 if minimize else 1.25)
    # against the decisions as logged only the untreated half differs. Treated, it would earn (3/Γ + Γ)/(1/Γ + Γ) at
    # worst, untreated it earned its mean, here 1.25: they meet at 3 + Γ² = 1.25 + 1.25 Γ²
    logged = confounding(by_hand(minimize, untreated=2.5), other="as logged", draws=20)
    assert logged.least_gamma == pytest.approx(math.sqrt(7), abs=1e-6)
    # a mean of 0.75 is below all that was seen of the treatment
    assert confounding(by_hand(minimize), other="as logged", draws=20).least_gamma == math.inf


def test_least_gamma_is_where_the_bound_and_the_interval_reach_zero():
    found = small(800, policy=lambda frame: np.where(np.asarray(frame["case"]) > 0, 2, 0))
    result = confounding(found, gammas=(1.0,), draws=50)
    assert 1 < result.least.with_error < result.least_gamma < math.inf
    again = confounding(found, gammas=(result.least_gamma, result.least.with_error), other=result.least.other, draws=50)
    bounds = {one.gamma: one for one in again.bounds if one.other is not None}
    assert bounds[result.least_gamma].low == pytest.approx(0, abs=1e-6)
    assert bounds[result.least.with_error].interval_low == pytest.approx(0, abs=1e-6)
    assert result.least_gamma == min(one.least_gamma for one in result.tippings)
    assert f"{result.least_gamma:.3g}" in result.sentence
    assert f"{result.least.with_error:.3g}" in str(result)


def test_no_gain_is_said_so():
    found = small(100, policy=lambda frame: np.where(np.asarray(frame["case"]) > 0, 0, 2))
    result = confounding(found, draws=20)
    assert result.least_gamma == result.least.with_error == 1.0
    assert f"'{result.least.other}'" in result.sentence
    same = small(policy=mixed, again=mixed)
    twins = confounding(same, "policy", "again", draws=20)
    assert (twins.least.gain, twins.least_gamma) == (0.0, 1.0)
    assert all(one.low == one.high == 0 for one in twins.bounds if one.other == "again")


def test_a_policy_that_decides_alike_is_not_held_against_the_preferred_one():
    result = confounding(by_hand(), draws=20)
    assert {one.other for one in result.tippings} == {"as logged", "always no"}
    assert result.least.other == "always no"


def test_no_reason_would_do():
    found = by_hand()
    prices = replace(found.prices, rewards=np.array([[0.0, 10.0]] * 4))
    log = replace(found.log, rewards=np.array([10.0, 10.0, 0.0, 0.0]))
    sure = replace(found, log=log, prices=prices)
    result = confounding(sure, draws=20, other="always no")
    assert result.least_gamma == math.inf
    assert "100" in result.sentence
    assert result.to_dict()["least"]["least_gamma"] is None


def test_result_is_plain_and_repeatable():
    found = small(policy=mixed, sure=unsure)
    result = confounding(found, gammas=(1.0, 2.0), draws=30, seed=4)
    assert result == confounding(found, gammas=(1.0, 2.0), draws=30, seed=4)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["preferred"] == result.preferred
    frame = result.to_frame()
    others = len(found.names) - 1
    assert frame.height == 2 * (1 + others + others)
    assert frame["other"].null_count() == 2 * (1 + others)
    assert {one.other for one in result.tippings} == set(found.names) - {result.preferred}
    for one in result.bounds:
        ends = one.interval_low, one.low, one.high, one.interval_high
        assert all(above - below > -1e-9 for below, above in pairwise(ends))


def test_minimised_rewards_mirror():
    usual, minimised = small(policy=mixed), small(policy=mixed)
    flipped = replace(minimised, log=replace(minimised.log, minimize=True))
    one, two = (confounding(found, gammas=(2.0,), draws=20) for found in (usual, flipped))
    assert one.least_gamma == two.least_gamma
    assert one.least.with_error == two.least.with_error
    for own, theirs in zip(one.bounds, two.bounds, strict=True):
        assert (own.low, own.high) == pytest.approx((-theirs.high, -theirs.low))
        assert (own.interval_low, own.interval_high) == pytest.approx((-theirs.interval_high, -theirs.interval_low))


def test_bad_arguments_name_the_way_out():
    found = small()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"gammas": (0.5,)}, "gammas"),
        ({"gammas": ()}, "gammas"),
        ({"draws": 0}, "draws"),
        ({"preferred": "by cas"}, "Did you mean 'by case'"),
        ({"other": "as loged"}, "Did you mean 'as logged'"),
        ({"preferred": "by case", "other": "by case"}, "differ"),
        ({"yardstick": Known()}, "estimated"),
    ]
    for settings, words in wrong:
        with pytest.raises(InputProblem, match=words):
            confounding(found, **settings)


def test_recorded_reasons_are_a_yardstick():
    propensity = ImputedLogistic(imputations=1, folds=2)
    random = np.random.default_rng(0)
    rows = 600
    pressure, colour = random.normal(size=rows), random.normal(size=rows)
    dose = random.random(rows) < 1 / (1 + np.exp(-1.5 * pressure))
    table = {"colour": colour, "pressure": pressure, "dose": dose * 1, "outcome": random.normal(size=rows)}
    log = prudent.Log.from_frame(table, action="dose", reward="outcome", kinds={"colour": "real", "pressure": "real"})
    found = observed_strength(log, propensity)
    assert list(found) == ["pressure", "colour"]
    assert found["pressure"] > 4
    assert 1 <= found["colour"] < 1.5
    assert list(observed_strength(log, Boosted(folds=2))) == ["pressure", "colour"]
    result = confounding(evaluate(lambda frame: np.ones(rows, int), log), draws=20, yardstick=propensity)
    assert result.observed_strength == found
    assert "'pressure'" in result.sentence


# --- gaps that depend on what they hide ---

WORLD = prudent.worlds.DosingWorld(attributes=3, doses=5, loss="absolute", gaps=0.4, seed=1)


@pytest.fixture(scope="module")
def model():
    return WORLD.exact_model()


@pytest.fixture(scope="module")
def dosing(model) -> Evaluation:
    log = model.read(WORLD.sample(300, seed=1).frame())
    own = model.policy(completions=256)

    def bolder(frame):
        """One dose more where something is missing."""
        gaps = np.isnan(frame.to_numpy().astype(float)).any(axis=1)
        return np.array(WORLD.dose_labels)[np.minimum(WORLD.index(own.recommend(frame).actions) + gaps, 4)]

    propensity = ImputedLogistic(imputations=2, folds=2)
    return evaluate({"model": own, "bolder": bolder}, log, propensity=propensity, prices=model)


@pytest.fixture(scope="module")
def upwards() -> np.ndarray:
    """The columns that ask for more the higher they are."""
    return np.array([column.name for column in WORLD.columns])[np.asarray(WORLD.contexts.slopes) > 0]


def values(result, estimator):
    frame = result.to_frame()
    own = frame.filter(frame["estimator"] == estimator)
    return {(row["delta"], row["policy"]): row["value"] for row in own.to_dicts()}


def test_no_shift_gives_the_evaluation_itself(model, dosing):
    result = shifted_missingness(dosing, model, deltas=(0.0,), completions=256, imputations=2)
    found = {estimator: values(result, estimator) for estimator in (DIRECT, UNKNOWN)}
    for name in dosing.names:
        assert found[DIRECT][0.0, name] == pytest.approx(dosing.estimate(name, "direct").value, abs=1e-4)
        expected = dosing.estimate(name, SelfNormalisedDoublyRobust()).value
        assert found[UNKNOWN][0.0, name] == pytest.approx(expected, abs=1e-4)
    assert result.advice_changed == {0.0: 0.0}
    assert result.least_delta[DIRECT] == (None, None)
    assert "stays the best" in result.sentence


def test_a_shift_changes_the_preferred_policy(model, dosing, upwards):
    result = shifted_missingness(dosing, model, deltas=(-1, 1, 2), columns=upwards, imputations=1)
    assert result.preferred == "model"
    assert result.columns == tuple(upwards)
    _, up = result.least_delta[DIRECT]
    assert up is not None
    assert 0 < up < 2
    change = next(one for one in result.changes if one.estimator == DIRECT)
    assert change.up_to == "bolder"
    found = values(result, DIRECT)
    assert found[2.0, "bolder"] > found[2.0, "model"]
    assert result.advice_changed[2.0] > result.advice_changed[1.0] > result.advice_changed[0.0] == 0
    assert f"{up:.2g} standard deviations higher" in result.sentence
    differences = {(one.estimator, one.delta, one.policy): one.difference for one in result.values}
    assert differences[DIRECT, 1.0, "model"] == pytest.approx(found[1.0, "model"] - found[1.0, "as logged"])
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["columns"] == list(upwards)


def test_shifted_prices_are_exact_in_a_linear_world(model, dosing, upwards):
    """Shifting one column moves the needed dose of rows that lack it by its slope, no more, no less."""
    column = str(upwards[0])
    index = model.schema.names.index(column)
    result = shifted_missingness(dosing, model, deltas=(0.7,), columns=[column], completions=256, imputations=1)
    lacks = ~dosing.log.observed[:, index]
    shifted = prices_with_intercept(0.7 * float(WORLD.contexts.slopes[index]), dosing.log)
    plain = model_prices(model, dosing.log, None).rewards
    expected = np.where(lacks[:, None], shifted, plain).mean(axis=0)
    found = values(result, DIRECT)
    for dose, own in zip(WORLD.dose_labels, expected, strict=True):
        assert found[0.7, f"always {dose}"] == pytest.approx(own, rel=1e-4)


def prices_with_intercept(more: float, log) -> np.ndarray:
    moved = WORLD.exact_model()
    raised = replace(moved, model=_raised(moved.model, more))
    return model_prices(raised, log, None).rewards


def _raised(model, more):
    import equinox as eqx

    return eqx.tree_at(lambda own: own.offsets, model, model.offsets + more)


def test_cross_fitted_models_price_the_rows_they_have_not_seen(model, dosing):
    crossed = cross_fitting.CrossFitted((model, model))
    settings = {"deltas": (0.5,), "completions": 64, "imputations": 1}
    one, two = shifted_missingness(dosing, model, **settings), shifted_missingness(dosing, crossed, **settings)
    assert values(one, DIRECT) == values(two, DIRECT)


def known_to_the_clinician(rows=1500) -> tuple[DosingSample, float]:
    """High values tend not to be recorded, but those who decided knew them; and how much higher they are."""
    random = np.random.default_rng(5)
    full = WORLD.contexts.draw(rows, random)
    observed = random.random(full.shape) >= 1 / (1 + np.exp(0.5 - 1.5 * full))
    chances = WORLD.propensity(full)
    actions = (random.random((rows, 1)) >= np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    theta = WORLD.theta(full)
    rewards = theta[np.arange(rows), actions] + WORLD.noise * random.normal(size=rows)
    values = np.where(observed, full, np.nan)
    sample = DosingSample(WORLD, full, values, observed, theta, actions, rewards, chances)
    filled = WORLD.completions(values, count=20).mean(axis=1)
    return sample, float((full - filled)[~observed].mean())


def test_values_that_were_known_but_not_recorded_are_confounders(model):
    sample, delta = known_to_the_clinician()
    assert delta > 0.3
    log, own = model.read(sample.frame()), model.policy()
    truth = WORLD.value(WORLD.index(own.recommend(sample.cases()).actions), sample)
    found = evaluate({"model": own}, log, propensity=ImputedLogistic(imputations=2, folds=2))
    result = shifted_missingness(found, model, deltas=(delta,))
    plain, known = (values(result, estimator)[delta, "model"] for estimator in (UNKNOWN, KNOWN))
    assert abs(plain - truth) > 0.15
    assert abs(known - truth) < 0.5 * abs(plain - truth)
    # decisions as logged have no weights to be wrong
    assert values(result, KNOWN)[delta, "as logged"] == pytest.approx(log.rewards.mean())


def test_minimised_outcomes_are_reported_in_their_own_sign(model, dosing):
    flipped = replace(dosing, log=replace(dosing.log, minimize=True))
    harmful = replace(model, minimize=True)
    settings = {"deltas": (2.0,), "imputations": 1}
    one, two = shifted_missingness(dosing, model, **settings), shifted_missingness(flipped, harmful, **settings)
    assert one.least_delta == two.least_delta
    for own, theirs in zip(one.values, two.values, strict=True):
        assert own.value == pytest.approx(-theirs.value)


def test_categories_cannot_be_shifted():
    world = prudent.worlds.DosingWorld(attributes=3, doses=3, categorical=1)
    fitted = world.exact_model()
    found = evaluate(lambda frame: [5] * 60, fitted.read(world.sample(60, seed=2).frame()), prices=np.zeros((60, 3)))
    with pytest.raises(InputProblem, match="'genotype' cannot be shifted"):
        shifted_missingness(found, fitted, columns=["genotype"])
    with pytest.raises(InputProblem, match="deltas"):
        shifted_missingness(found, fitted, deltas=())
    with pytest.raises(InputProblem, match="fitted"):
        shifted_missingness(found, fitted.policy())  # pyright: ignore[reportArgumentType]


def test_every_model_and_kind_of_column_can_be_shifted(fitted):
    cases = visits(60, seed=7)
    found = evaluate(
        {"mildest": lambda frame: ["none"] * 60}, fitted.read(cases), propensity=ImputedLogistic(imputations=1, folds=2)
    )
    result = shifted_missingness(found, fitted, deltas=(1.0,), imputations=2)
    assert result.columns == ("pressure", "marker", "visits", "grade")
    frame = result.to_frame()
    assert frame.height == 2 * 3 * len(found.names)
    assert frame["value"].is_finite().all()
    moved = values(result, DIRECT)
    assert abs(moved[1.0, "always high"] - moved[0.0, "always high"]) > 1e-6
    assert found.log.rewards.mean() == pytest.approx(values(result, KNOWN)[1.0, "as logged"])
