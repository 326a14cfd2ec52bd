"""Guarantees: equal to quantiles computed by hand, true in small worlds whatever the model says, and law-abiding."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COMPLETIONS, visits
from counted_model import Counter
from jax.scipy.special import ndtri
from scipy.optimize import brentq
from scipy.stats import norm

from prudent import (
    Boosted,
    ImputedLogistic,
    InputProblem,
    Known,
    Log,
    MaximumExpectedReward,
    Schema,
)
from prudent.decide import FEW_ROWS, BestFrequencyLottery, Completions, Model, assemble
from prudent.models import FitReport, Fitted
from prudent.promise import conformal_quantile, fewest_rows, guarantee
from prudent.propensity import effective_sample_size
from prudent.table import Column, Encoded

pytestmark = pytest.mark.usefixtures("one_chunk")

SCATTER = 0.5
SCHEMA = Schema((Column("age", "real"), Column("marker", "real")))


class Believer(Model):
    """Believes that cells are standard normal and that action 0 brings age + marker, action 1 their negative."""

    strength: float

    @property
    def members(self) -> int:
        return 1

    @property
    def draw_size(self) -> int:
        return 2

    def complete(self, values: jax.Array, observed: jax.Array, uniforms: jax.Array, literal: bool) -> Completions:
        drawn = jnp.where(observed[None, :], values[None, :], ndtri(uniforms[0]))
        return assemble(drawn, jnp.zeros(len(drawn)), -jnp.sum(drawn**2, axis=1), observed)

    def price(self, values: jax.Array) -> jax.Array:
        return self.strength * jnp.array([1.0, -1.0])[None, :] * jnp.sum(values)


class SureBeliever(Believer):
    """The same, and says how rewards scatter."""

    def own_doubt(self, values: jax.Array) -> jax.Array:
        return jnp.zeros((1, 2))

    def noise(self, values: jax.Array) -> jax.Array:
        return jnp.full(2, SCATTER)


def policy_of(model=None, minimize=False, **options):
    report = FitReport(0, 0, 0, (), ())
    fitted = Fitted(SureBeliever(1.0) if model is None else model, None, SCHEMA, ("a", "b"), minimize, report)
    return fitted.policy(MaximumExpectedReward(), completions=16, **options)


def log_of(values, observed, actions, rewards, chances, **changes):
    arrays = np.where(observed, values, 0).astype(np.float32), observed, actions, rewards
    return Log(SCHEMA, *arrays, ("a", "b"), np.asarray(chances, float), **changes)


def cases_of(values, observed=None):
    values = np.asarray(values, np.float32)
    observed = np.ones(values.shape, bool) if observed is None else np.asarray(observed, bool)
    return Encoded(np.where(observed, values, 0), observed, [""] * len(values))


def believed(values):
    return np.stack([values.sum(axis=1), -values.sum(axis=1)], axis=1)


def complete_log(rows, seed, chance):
    """Complete records; the believed best action is taken with probability `chance(values)`."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, 2)).astype(np.float32)
    best = np.argmax(believed(values), axis=1)
    taken = random.random(rows) < chance(values)
    actions = np.where(taken, best, 1 - best)
    rewards = believed(values)[np.arange(rows), actions] + random.standard_t(3, size=rows)
    chances = np.where(taken, chance(values), 1 - chance(values))
    return log_of(values, np.ones_like(values, bool), actions, rewards, chances)


def test_complete_unweighted_is_textbook_split_conformal():
    log = complete_log(rows=50, seed=0, chance=lambda values: np.ones(len(values)))
    cases = cases_of([[1.0, 0.5], [-2.0, 0.3]])
    bounds = guarantee(policy_of(), log, confidence=0.9).examine(cases, np.array([0, 1]))
    residuals = np.sort(believed(log.values).max(axis=1) - log.rewards)
    by_hand = believed(cases.values).max(axis=1) - residuals[math.ceil(51 * 0.9) - 1]
    np.testing.assert_allclose(bounds.reward, by_hand, atol=1e-4)
    assert bounds.effective.tolist() == [50, 50]
    assert bounds.extra_gaps.tolist() == [0, 0]


def test_complete_weighted_is_a_weighted_quantile_by_hand():
    log = complete_log(rows=300, seed=1, chance=lambda values: np.where(values[:, 0] > 0, 0.3, 0.8))
    bounded = guarantee(policy_of(), log, confidence=0.9)
    bounds = bounded.bounds(cases_of([[1.0, 0.5]]), np.array([0]))
    agreed = [i for i in range(300) if log.actions[i] == np.argmax(believed(log.values[i : i + 1]))]
    assert log.propensities is not None
    pairs = sorted((abs(float(log.values[i].sum())) - log.rewards[i], 1 / log.propensities[i]) for i in agreed)
    total = sum(weight for _, weight in pairs)
    (case_weight,) = bounded._case_weights(cases_of([[1.0, 0.5]]), np.array([0]), np.array([0]))
    assert case_weight == pytest.approx(1 / 0.3, rel=0.15), "estimated: the log says 0.3 of cases with this age"
    mass, residual = 0.0, math.inf
    for fell, weight in pairs:
        mass += weight / (total + case_weight)
        if mass >= 0.9:
            residual = fell
            break
    assert bounds[0] == pytest.approx(1.5 - residual, abs=1e-4)
    unweighted = np.quantile([fell for fell, _ in pairs], 0.9)
    assert abs(residual - unweighted) > 0.01, "the weights must matter here"


def test_rows_are_masked_down_to_the_gaps_of_the_case():
    """Exact form with a gap, by hand: mixtures over the same draws of the missing cell."""
    log = complete_log(rows=80, seed=2, chance=lambda values: np.full(len(values), 0.5))
    policy = policy_of()
    case = cases_of([[0.7, 9.0]], [[True, False]])
    bounds = guarantee(policy, log, confidence=0.9).examine(case, np.array([0]))
    drawn = norm.ppf(np.asarray(policy.pricing.uniforms[0])[:, 1])

    def predicted(age, action):
        prices = (age + drawn) * (1, -1)[action]
        low = brentq(lambda bound: norm.cdf((bound - prices) / SCATTER).mean() - 0.1, -20, 20)
        return low, math.sqrt(SCATTER**2 + prices.var())

    best = [int((age + drawn).mean() < 0) for age in log.values[:, 0]]
    agreed = [i for i in range(80) if log.actions[i] == best[i]]
    scores = []
    for i in agreed:
        low, spread = predicted(log.values[i, 0], best[i])
        scores.append((low - log.rewards[i]) / spread)
    low, spread = predicted(0.7, 0)
    quantile = sorted(scores)[math.ceil((len(agreed) + 1) * 0.9) - 1]
    assert bounds.reward[0] == pytest.approx(low - quantile * spread, abs=2e-3)
    assert bounds.extra_gaps[0] == 0


def test_rows_with_more_gaps_are_compared_with_the_case_masked_alike():
    """No decision has the marker, so a case that has it is held against them as if it had not."""
    log = complete_log(rows=100, seed=3, chance=lambda values: np.full(len(values), 0.5))
    observed = np.tile([True, False], (100, 1))
    poor = log_of(log.values, observed, log.actions, log.rewards, log.propensities)
    bounded = guarantee(policy_of(), poor, confidence=0.8)
    values = [[0.5, -3.0], [1.5, 2.0]]
    rich = bounded.examine(cases_of(values), np.array([0, 1]))
    masked = bounded.examine(cases_of(values, observed[:2]), np.array([0, 1]))
    assert np.isfinite(rich.reward).all()
    np.testing.assert_allclose(rich.reward, masked.reward, rtol=1e-5)
    assert rich.extra_gaps.tolist() == [1, 1]
    assert masked.extra_gaps.tolist() == [0, 0]


class Clinic:
    """Records with gaps at random; action 0 brings what age and marker say but fails old patients, and the log knew:
    it rarely gave it to them. The model that is judged here knows nothing of that."""

    def __init__(self, rows, seed):
        random = np.random.default_rng(seed)
        self.values = random.normal(size=(rows, 2)).astype(np.float32)
        self.observed = random.random((rows, 2)) >= np.array([0.0, 0.4])
        seen = np.where(self.observed, self.values, 0).sum(axis=1)
        first = np.where(self.values[:, 0] > 0.8, 0.15, 1 / (1 + np.exp(-2 * seen)) * 0.8 + 0.1)
        self.actions = np.where(random.random(rows) < first, 0, 1)
        self.chances = np.where(self.actions == 0, first, 1 - first)
        self.noise = SCATTER * random.normal(size=(rows, 2))

    def rewards(self, actions):
        rows = np.arange(len(self.values))
        failed = np.where((self.values[:, 0] > 0.8) & (actions == 0), 3.0, 0.0)
        return believed(self.values)[rows, actions] - failed + self.noise[rows, actions]

    def log(self):
        return log_of(self.values, self.observed, self.actions, self.rewards(self.actions), self.chances)


@pytest.mark.parametrize("model", [Believer(1.0), SureBeliever(0.2)], ids=["mute", "wrong"])
def test_coverage_holds_for_each_pattern_whatever_the_model(model):
    policy, covered, unweighted = policy_of(model), {0: [], 1: []}, []
    for seed in range(25):
        bounded = guarantee(policy, Clinic(500, seed).log(), confidence=0.9)
        fresh = Clinic(400, 1000 + seed)
        encoded = cases_of(fresh.values, fresh.observed)
        chosen = np.argmax(policy.chooser.score(encoded).scores, axis=1)
        met = fresh.rewards(chosen)
        gaps = (~fresh.observed).sum(axis=1)
        kept = met >= bounded.bounds(encoded, chosen)
        for count, parts in covered.items():
            parts.append(kept[gaps == count].mean())
        naive = replace(bounded, weights=np.ones_like(bounded.weights), _references={})
        unweighted.append((met >= naive.bounds(encoded, chosen)).mean())
    for count, parts in covered.items():
        # over many more repetitions the mean is 0.90 with 0, and with 1 gap; over these its standard error is 0.01
        assert 0.875 <= np.mean(parts) <= 0.925, f"{count} gaps"
    assert np.mean(unweighted) < 0.82, "the log avoided what fails, so without weights the bound is too high"


def test_one_row_or_many_and_the_same_again(fitted_models, cases):
    fitted, table = fitted_models["causal"], cases.head(6)
    policy = fitted.policy(BestFrequencyLottery(), completions=COMPLETIONS)
    later, propensity = fitted.read(visits(60, seed=5)), ImputedLogistic(imputations=1, folds=2)
    encoded, chosen = fitted.schema.encode(table), policy.recommend(table).chosen
    whole = guarantee(policy, later, confidence=0.6, propensity=propensity).bounds(encoded, chosen)
    assert np.isfinite(whole).sum() >= 3
    again = guarantee(policy, later, confidence=0.6, propensity=propensity)
    for rows in ([4], [3, 5, 3], [5, 4, 3, 2, 1, 0]):
        part = Encoded(encoded.values[rows], encoded.observed[rows], [""] * len(rows))
        np.testing.assert_allclose(again.bounds(part, chosen[rows]), whole[rows], rtol=1e-4)


def test_a_row_is_completed_once_to_be_decided_and_predicted_again():
    log = complete_log(rows=64, seed=9, chance=lambda values: np.full(len(values), 0.6))
    log = log_of(log.values, np.arange(128).reshape(64, 2) % 3 > 0, log.actions, log.rewards, log.propensities)
    counter, policy = Counter(), policy_of()
    policy = replace(policy, fitted=counter.model(policy.fitted))
    bounded = guarantee(policy, log, confidence=0.6)
    assert counter.rows() == 64, "every row, masked like another one"
    known, patterns = len(bounded.decisions.known_scores), [[True, True], [True, False], [False, True]]
    cases = cases_of(np.ones((30, 2)), np.tile(patterns, (10, 1)))
    bounded.bounds(cases, np.zeros(30, int))
    replayed = -(-(len(bounded.decisions.known_scores) - known) // FEW_ROWS) * FEW_ROWS
    masks = 10 * sum(len(bounded._references[np.array(pattern).tobytes()].masks) for pattern in patterns)
    assert counter.rows() == replayed + -(-masks // FEW_ROWS) * FEW_ROWS
    bounded.bounds(cases_of([[1.0, 2.0]]), np.zeros(1, int))
    assert counter.rows() == 1, "what a pattern is compared with is known by then; only the case is new"


def test_logged_decisions_are_decided_again_from_fewer_completions():
    log = complete_log(rows=100, seed=10, chance=lambda values: np.full(len(values), 0.6))
    case, chosen = cases_of([[0.7, 9.0]], [[True, False]]), np.array([0])
    few, many = policy_of(), replace(policy_of(), completions=128)
    few_bound = guarantee(few, log, confidence=0.8).bounds(case, chosen)
    np.testing.assert_array_equal(guarantee(many, log, confidence=0.8, completions=16).bounds(case, chosen), few_bound)
    bounded = guarantee(many, log, confidence=0.8)
    assert bounded.policy is many
    assert bounded.decisions.policy.completions == 64
    assert guarantee(few, log, confidence=0.8).decisions.policy.completions == 16, "never more than the policy's own"
    assert not np.allclose(bounded.bounds(case, chosen), few_bound, rtol=1e-9)
    with pytest.raises(InputProblem, match="'completions'"):
        guarantee(many, log, completions=1)


def test_coverage_holds_with_a_random_part_of_many_decisions(monkeypatch):
    monkeypatch.setattr("prudent.promise.conformal_guarantee.MOST_REPLAYS", 300)
    policy, kept = policy_of(), []
    for seed in range(25):
        bounded = guarantee(policy, Clinic(500, seed).log(), confidence=0.9)
        assert bounded.most_rows == 150
        fresh = Clinic(400, 1000 + seed)
        encoded = cases_of(fresh.values, fresh.observed)
        chosen = np.argmax(policy.chooser.score(encoded).scores, axis=1)
        examined = bounded.examine(encoded, chosen)
        assert examined.effective.max() <= 150
        kept.append((fresh.rewards(chosen) >= examined.reward).mean())
    assert 0.875 <= np.mean(kept) <= 0.93


def test_higher_is_better_inside_when_the_reward_is_minimised():
    log = complete_log(rows=60, seed=4, chance=lambda values: np.full(len(values), 0.7))
    frame = {"age": log.values[:, 0], "marker": log.values[:, 1], "did": np.array(["a", "b"])[log.actions]}
    frame |= {"harm": -log.rewards, "chance": log.propensities}
    roles = {"action": "did", "reward": "harm", "propensity": "chance", "schema": SCHEMA, "action_labels": ("a", "b")}
    harm = Log.from_frame(frame, minimize=True, **roles)
    cases, chosen = cases_of([[1.0, 0.5], [-2.0, 0.3]]), np.array([0, 1])
    higher = guarantee(policy_of(), log, confidence=0.8).bounds(cases, chosen)
    flipped = guarantee(policy_of(minimize=True), harm, confidence=0.8).bounds(cases, chosen)
    assert np.isfinite(higher).all()
    np.testing.assert_allclose(flipped, higher, rtol=1e-5)
    with pytest.raises(InputProblem, match="sign of the reward"):
        guarantee(policy_of(), harm)


def test_a_higher_level_promises_less():
    log = complete_log(rows=200, seed=5, chance=lambda values: np.full(len(values), 0.7))
    cases, chosen = cases_of([[1.0, 0.5]], [[True, False]]), np.array([0])
    bounds = [guarantee(policy_of(), log, confidence=level).bounds(cases, chosen)[0] for level in (0.6, 0.8, 0.95)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[2]


def test_no_bound_where_too_few_decisions_are_comparable():
    log = complete_log(rows=30, seed=6, chance=lambda values: np.full(len(values), 0.3))
    bounded = guarantee(policy_of(), log, confidence=0.95)
    bounds = bounded.examine(cases_of([[1.0, 0.5], [0.0, 1.0]]), np.array([0, -1]))
    assert np.isnan(bounds.reward).all()
    assert bounds.extra_gaps.tolist() == [-1, -1]
    assert bounds.effective[0] < fewest_rows(0.95)
    assert "no case" in bounded.verdict
    assert np.isfinite(guarantee(policy_of(), log, confidence=0.6).bounds(cases_of([[1.0, 0.5]]), np.array([0]))).all()


def test_bad_questions_are_refused(fitted_models):
    log = complete_log(rows=18, seed=7, chance=lambda values: np.full(len(values), 0.5))
    with pytest.raises(InputProblem, match=r"18 decisions.* at least 19"):
        guarantee(policy_of(), log)
    with pytest.raises(InputProblem, match=r"model\.read"):
        guarantee(fitted_models["causal"].policy(), log)
    for confidence in (0.5, 1.0, 95, "high", float("nan")):
        with pytest.raises(InputProblem, match="'confidence'"):
            guarantee(policy_of(), log, confidence=confidence)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputProblem, match="'log'"):
        guarantee(policy_of(), {"age": [1]})  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputProblem, match="'policy'"):
        guarantee(fitted_models["causal"], log)
    with pytest.raises(InputProblem, match="'propensity'"):
        guarantee(policy_of(), log, confidence=0.8, propensity="chance")  # pyright: ignore[reportArgumentType]


def test_logged_probabilities_are_used_where_there_are_any():
    log = complete_log(rows=100, seed=8, chance=lambda values: np.where(values[:, 0] > 0, 0.2, 0.9))
    by_default, known = guarantee(policy_of(), log), guarantee(policy_of(), log, propensity=Known())
    np.testing.assert_array_equal(by_default.weights, known.weights)
    np.testing.assert_allclose(1 / by_default.weights, np.asarray(log.propensities))
    estimated = by_default.weighted(Boosted(folds=2))
    assert not np.allclose(estimated.weights, by_default.weights)
    assert by_default.strict_confidence == pytest.approx(0.95)
    assert estimated.strict_confidence == pytest.approx(1 - 0.05 / 1.5), "estimates are held to more than is promised"


def test_the_case_joins_the_quantile_with_its_own_weight():
    scores = np.array([3.0, 1.0, 2.0])
    assert conformal_quantile(scores, np.array([1.0, 1.0, 2.0]), 1.0, 0.8) == 3.0
    assert conformal_quantile(scores, np.array([1.0, 1.0, 2.0]), 1.0, 0.6) == 2.0
    assert conformal_quantile(scores, np.array([1.0, 1.0, 2.0]), 2.0, 0.8) == math.inf
    assert conformal_quantile(np.empty(0), np.empty(0), 1.0, 0.6) == math.inf
    assert effective_sample_size(np.array([2.0, 2.0])) == 2
    assert effective_sample_size(np.empty(0)) == 0


def rarely_treated(rows, seed):
    """A tenth of the patients hardly ever got what the model believes best, and fares badly with it."""
    random = np.random.default_rng(seed)
    values = np.stack([random.choice([0.0, 3.0], size=rows, p=[0.9, 0.1]), random.normal(size=rows)], axis=1)
    best = np.argmax(believed(values), axis=1)
    frail = values[:, 0] > 1
    chance = np.where(frail, 0.01, 0.8)
    taken = random.random(rows) < chance
    rewards = believed(values).max(axis=1) - 4 * frail + random.normal(size=rows)
    log = log_of(
        values,
        np.ones_like(values, bool),
        np.where(taken, best, 1 - best),
        rewards,
        np.where(taken, chance, 1 - chance),
    )
    return log, best, rewards


def test_coverage_holds_where_an_action_is_rare_and_worse():
    covered, with_the_average_weight = [], []
    for seed in range(30):
        bounded = guarantee(policy_of(), rarely_treated(600, seed)[0], confidence=0.95)
        cases, best, rewards = rarely_treated(400, 1000 + seed)
        encoded = cases_of(cases.values)
        covered.append(np.mean(~(rewards < bounded.bounds(encoded, best))))
        reference = bounded._references[encoded.observed[0].tobytes()]
        average = np.sum(reference.weights**2) / np.sum(reference.weights)
        low = -conformal_quantile(reference.scores, reference.weights, average, 0.95)
        predicted = bounded.decisions.predict(encoded.values, encoded.observed, best)
        with_the_average_weight.append(np.mean(rewards >= predicted.low + low * predicted.spread))
    assert np.mean(covered) >= 0.945
    assert np.mean(with_the_average_weight) < 0.93, "what was done before, and is not enough"


def test_plausible_probabilities_of_actions():
    log = complete_log(rows=40, seed=1, chance=lambda values: np.full(len(values), 0.5))
    np.testing.assert_allclose(Known().fit(log).plausible, 0.5)
    actions, chances = np.array([0, 0, 1, 1]), [0.9, 0.6, 0.3, 0.8]
    few = log_of(np.zeros((4, 2)), np.ones((4, 2), bool), actions, np.zeros(4), chances)
    # the first was at most 1 - 0.8 likely where the second was taken, the second at most 1 - 0.9 where the first was
    np.testing.assert_allclose(Known().fit(few).plausible, [[0.2, 0.1], [0.9, 0.8]])
    only = log_of(np.zeros((4, 2)), np.ones((4, 2), bool), np.zeros(4, int), np.zeros(4), chances)
    np.testing.assert_allclose(Known().fit(only).plausible, [[0.3, 1e-6], [0.9, 1.0]])
    estimated = Boosted(folds=2).fit(log)
    assert estimated.probabilities is not None
    np.testing.assert_allclose(estimated.plausible[1], estimated.probabilities.max(axis=0))


def test_advice_says_whether_cases_are_like_the_decisions(fitted_models):
    fitted = fitted_models["causal"]
    policy = fitted.policy(completions=COMPLETIONS)
    bounded = guarantee(policy, fitted.read(visits(80, seed=5)), confidence=0.6, propensity=Boosted(folds=2))
    alike = policy.recommend(visits(80, seed=6), guarantee=bounded)
    assert any("look like the 80 held-out decisions" in note for note in alike.notes)
    unlike = policy.recommend(visits(80, seed=6).assign(pressure=None), guarantee=bounded)
    assert any("'pressure' is missing more often" in note for note in unlike.notes)


# --- decisions that belong together, and outcomes that were censored ---


def grouped_log(groups, per_group, seed, own=1.0):
    """Complete records whose believed best action is always taken; a group shares a part of its rewards."""
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), per_group(random, groups))
    values = random.normal(size=(len(group), 2)).astype(np.float32)
    actions = np.argmax(believed(values), axis=1)
    shared = own * random.normal(size=groups)[group]
    rewards = believed(values).max(axis=1) + shared + 0.3 * random.normal(size=len(group))
    return log_of(values, np.ones_like(values, bool), actions, rewards, np.ones(len(group)), groups=group)


def test_each_decision_of_a_group_counts_as_its_share_of_it():
    log = grouped_log(40, lambda random, groups: 1 + random.poisson(3, groups), seed=0)
    bounds = guarantee(policy_of(), log, confidence=0.8).examine(cases_of([[1.0, 0.5]]), np.array([0]))
    group = np.asarray(log.groups)
    residuals, sizes = believed(log.values).max(axis=1) - log.rewards, np.bincount(group)
    order = np.argsort(residuals)
    mass = np.cumsum(1 / sizes[group[order]]) / 41
    by_hand = 1.5 - residuals[order][np.argmax(mass >= 0.8 - 1e-12)]
    assert bounds.reward[0] == pytest.approx(by_hand, abs=1e-4)
    assert bounds.effective[0] == pytest.approx(40)


def test_repeating_every_decision_in_its_group_changes_no_bound():
    log = complete_log(rows=60, seed=4, chance=lambda values: np.full(len(values), 0.9))
    index = np.repeat(np.arange(60), 3)
    again = replace(log.take(index), groups=index)
    cases = cases_of([[1.0, 0.5], [-0.5, 0.1]])
    made = [guarantee(policy_of(), one, confidence=0.8) for one in (log, again)]
    # how likely the actions of new cases are is learnt from all rows, and more surely from more
    alike = replace(made[1], logging_policy=made[0].logging_policy, plausible=made[0].plausible)
    once, often = (one.examine(cases, np.array([0, 1])) for one in (made[0], alike))
    np.testing.assert_allclose(often.reward, once.reward, atol=1e-5)
    np.testing.assert_allclose(often.effective, once.effective, rtol=1e-6)


def test_bounds_hold_for_new_groups_where_decisions_of_one_are_alike():
    """Three groups of forty decisions beside 27 of one: by rows, the bound is that of three groups."""
    sizes = np.where(np.arange(30) < 3, 40, 1)
    group, held = np.repeat(np.arange(30), sizes), {"groups": [], "rows": []}
    for seed in range(400):
        random = np.random.default_rng(seed)
        scores = random.normal(size=30)[group] + 0.3 * random.normal(size=len(group))
        for name, weights in (("groups", 1 / sizes[group]), ("rows", np.ones(len(group)))):
            highest = conformal_quantile(scores, weights, 1.0, 0.9)
            held[name].append(norm.cdf(highest / np.hypot(1.0, 0.3)))
    assert np.mean(held["groups"]) >= 0.895
    assert np.mean(held["rows"]) < 0.85


def test_too_few_groups_are_refused():
    log = grouped_log(5, lambda random, groups: np.full(groups, 20), seed=0)
    with pytest.raises(InputProblem, match="5 groups"):
        guarantee(policy_of(), log, confidence=0.9)


def test_censored_decisions_are_not_compared_with_and_those_seen_count_for_them():
    log = complete_log(rows=400, seed=2, chance=lambda values: np.full(len(values), 0.9))
    lost = np.random.default_rng(0).random(400) < np.where(log.values[:, 0] > 0, 0.5, 0.05)
    censored = replace(log, rewards=np.where(lost, np.nan, log.rewards), censored=lost)
    made = guarantee(policy_of(), censored, confidence=0.8)
    assert len(made.rows) == 400 - lost.sum()
    assert made.weights[lost].max() == 0
    likely, unlikely = (made.weights[(log.values[:, 0] > 0) == positive][:] for positive in (False, True))
    assert unlikely[unlikely > 0].mean() > 1.5 * likely[likely > 0].mean()
    assert np.isfinite(made.bounds(cases_of([[1.0, 0.5]]), np.array([0]))).all()
    plain = guarantee(policy_of(), log, confidence=0.8)
    cases, chosen = cases_of([[1.0, 0.5]]), np.array([0])
    assert made._case_weights(cases, chosen, np.array([0])) > plain._case_weights(cases, chosen, np.array([0]))
