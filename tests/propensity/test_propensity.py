"""Propensities: laws, cross-fitting, recovery of a known logging policy, and the sentences of the overlap report."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_log

from prudent.errors import InputProblem
from prudent.propensity import (
    BestGuess,
    Boosted,
    FittedPropensity,
    ImputedLogistic,
    Known,
    LoggingPolicy,
    RobustLogistic,
    Stacked,
    across_folds,
    deal_folds,
)
from prudent.propensity.stacked import best_shares
from prudent.table import Log

ESTIMATED = [ImputedLogistic(imputations=2, folds=3), Boosted(folds=3), BestGuess(folds=3), Stacked(folds=3)]


def gapped(rng, rows, columns, share=0.3):
    values = rng.normal(size=(rows, columns))
    values[:, 1:] += values[:, :1]
    values[rng.random((rows, columns)) < share] = np.nan
    return values


def softmax_policy(rng, scores):
    """Draw actions from softmax(scores); also the probabilities."""
    true = np.exp(scores - scores.max(axis=1, keepdims=True))
    true /= true.sum(axis=1, keepdims=True)
    return (true.cumsum(axis=1) < rng.random((len(true), 1))).sum(axis=1), true


@pytest.fixture(scope="module")
def logged():
    """A clinician who reads x̃ with gaps as zero, three actions, and 40 rows with no action recorded."""
    rng = np.random.default_rng(5)
    values = gapped(rng, 1500, 4)
    values[7] = np.nan
    actions, true = softmax_policy(rng, np.nan_to_num(values) @ rng.normal(size=(4, 3)))
    actions[:40] = -1
    return make_log(values, actions), true


@pytest.mark.parametrize("setting", ESTIMATED)
def test_laws(setting, logged):
    log, _ = logged
    fitted = setting.fit(log, seed=1)
    acted = log.actions >= 0
    assert fitted.probabilities.shape == (1500, 3)
    assert np.isfinite(fitted.probabilities).all()
    assert np.abs(fitted.probabilities.sum(axis=1) - 1).max() < 1e-9
    assert np.array_equal(np.isnan(fitted.taken), ~acted)
    assert fitted.taken[acted].min() >= 1e-6
    of_action = fitted.probabilities[np.flatnonzero(acted), log.actions[acted]]
    np.testing.assert_allclose(fitted.taken[acted], of_action, atol=2e-6)
    np.testing.assert_array_equal(setting.fit(log, seed=1).taken, fitted.taken)


@pytest.mark.parametrize("setting", ESTIMATED)
def test_recovers_a_known_logging_policy(setting, logged):
    log, true = logged
    fitted = setting.fit(log)
    marginal = np.bincount(log.actions[log.actions >= 0]) / (log.actions >= 0).sum()
    error = np.abs(fitted.probabilities - true).mean()
    assert error < 0.7 * np.abs(marginal - true).mean()
    assert np.abs(fitted.probabilities.mean(axis=0) - marginal).max() < 0.02


@pytest.mark.parametrize("setting", ESTIMATED)
def test_no_row_is_predicted_by_a_model_that_saw_its_action(setting, monkeypatch):
    """Coin-flip actions: a model that saw a row's action would give it more than its share; cross-fitting cannot."""
    monkeypatch.setattr("prudent.propensity.imputed_logistic.INVERSE_PENALTIES", (1.0,))  # weak enough to memorise
    monkeypatch.setattr("prudent.propensity.best_guess.PENALTIES", (0.03,))
    rng = np.random.default_rng(0)
    log = make_log(rng.normal(size=(120, 30)), rng.integers(0, 2, 120))
    assert setting.fit(log).taken.mean() < 0.55


def test_every_fold_is_predicted_from_the_other_folds():
    log = make_log(np.zeros((90, 1)), np.r_[np.full(5, -1), np.arange(85) % 2])
    seen = []

    def predict(train, rows):
        seen.append((set(train), set(rows)))
        return np.full((len(rows), 2), len(seen))

    predicted = across_folds(deal_folds(log, 3, seed=0), predict)
    assert all(not train & rows for train, rows in seen)
    assert set.union(*(rows for _, rows in seen)) == set(range(90))
    np.testing.assert_allclose(predicted[:5], 2)  # no action: the mean over the three models


@pytest.mark.parametrize("setting", ESTIMATED)
def test_rare_actions(setting):
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 2, 80)
    actions[0], actions[1:3] = 2, 3
    fitted = setting.fit(make_log(gapped(rng, 80, 3), actions, labels=("a", "b", "once", "twice")))
    assert np.abs(fitted.probabilities.sum(axis=1) - 1).max() < 1e-9
    assert 1e-4 < fitted.taken[0] < 0.1
    verdicts = fitted.overlap().verdicts
    assert any("'once'" in sentence and "1 row only" in sentence for sentence in verdicts)
    assert any("'twice'" in sentence and "2 rows only" in sentence for sentence in verdicts)


@pytest.mark.parametrize("setting", ESTIMATED)
def test_categories_and_gaps_in_them(setting):
    rng = np.random.default_rng(4)
    site = rng.integers(0, 4, 600).astype(float)
    actions = np.where(rng.random(600) < 0.9, site % 2, 1 - site % 2).astype(int)
    site[rng.random(600) < 0.2] = np.nan
    log = make_log(np.stack([site, rng.normal(size=600)], axis=1), actions, categories={0: 4})
    taken = setting.fit(log).taken
    assert taken[~np.isnan(site)].mean() > 0.75
    assert 0.4 < taken[np.isnan(site)].mean() < 0.6


@pytest.mark.parametrize("setting", ESTIMATED)
@pytest.mark.parametrize(
    ("values", "actions"),
    [
        (np.full((12, 2), np.nan), np.arange(12) % 3),
        (np.ones((12, 2)), np.arange(12) % 3),
        (np.empty((12, 0)), np.arange(12) % 3),
        (np.arange(24.0).reshape(12, 2), np.zeros(12, int)),
        (np.array([[0.0], [1.0]]), np.array([0, 1])),
        (
            np.column_stack([np.full(40, np.nan), np.arange(40.0) / 40, np.r_[1.0, np.full(39, np.nan)]]),
            np.arange(40) % 2,
        ),
    ],
    ids=["all gaps", "constant", "no columns", "one action", "two rows", "an empty column and a lone cell"],
)
def test_degenerate_tables(setting, values, actions):
    fitted = setting.fit(make_log(values, actions))
    assert np.abs(fitted.probabilities.sum(axis=1) - 1).max() < 1e-9
    assert np.isfinite(fitted.taken).all()


def test_wide_tables_are_bounded(monkeypatch):
    rng = np.random.default_rng(6)
    values = gapped(rng, 200, 60)
    log = make_log(values, rng.integers(0, 2, 200))
    assert np.isfinite(ImputedLogistic(imputations=1, folds=2).fit(log).taken).all()
    monkeypatch.setattr("prudent.propensity.design_matrices.CHAINED_COLUMNS", 50)
    assert np.isfinite(ImputedLogistic(imputations=1, folds=2).fit(log).taken).all()


def test_many_levels_share_one():
    rng = np.random.default_rng(7)
    code = np.r_[np.arange(300), rng.integers(0, 300, 300)].astype(float)[:, None]
    log = make_log(code, rng.integers(0, 2, 600), categories={0: 300})
    for setting in ESTIMATED:
        assert np.isfinite(setting.fit(log).taken).all()


def test_weights_have_mean_one_and_are_cut():
    taken = np.array([0.5, 0.5, 0.001, np.nan])
    fitted = FittedPropensity(taken, None, np.array([0, 1, 0, -1]), ("a", "b"))
    free = fitted.weights(clip=math.inf)
    assert free[3] == 0
    np.testing.assert_allclose(free[:3].mean(), 1)
    np.testing.assert_allclose(free[2] / free[0], 500)
    cut = fitted.weights(clip=1.5)
    np.testing.assert_allclose(cut[:3].mean(), 1)
    np.testing.assert_allclose(cut[2] / cut[0], 1.5 * (1004 / 3) / 2)
    with pytest.raises(InputProblem, match="'clip' parameter of weights"):
        fitted.weights(clip=0.5)


def test_overlap_is_computed_as_documented():
    probabilities = np.array([[0.995, 0.005], [0.5, 0.5], [0.8, 0.2], [0.2, 0.8]])
    fitted = FittedPropensity(np.array([0.995, 0.5, 0.2, np.nan]), probabilities, np.array([0, 0, 1, -1]), ("x", "y"))
    overlap = fitted.overlap()
    first, second = overlap.actions
    assert (first.action, first.count, first.smallest, first.rows_outside) == ("x", 2, 0.2, 0)
    assert (second.count, second.smallest, second.rows_outside) == (1, 0.005, 1)
    assert overlap.rows == 3
    assert overlap.rows_outside == 1
    weights = 1 / np.array([0.995, 0.5])
    np.testing.assert_allclose(first.effective_sample_size, weights.sum() ** 2 / (weights**2).sum())
    assert any("1 of 4 rows action 'y'" in sentence for sentence in overlap.verdicts)


def test_overlap_is_json_and_has_one_verdict_when_all_is_well():
    fitted = FittedPropensity(np.full(100, 0.5), None, np.arange(100) % 2, (1, 2))
    overlap = fitted.overlap()
    assert overlap.effective_sample_size == pytest.approx(100)
    assert len(overlap.verdicts) == 1
    assert json.loads(json.dumps(overlap.to_dict(), allow_nan=False))["actions"][0]["count"] == 50
    empty = FittedPropensity(np.full(2, 0.5), None, np.zeros(2, int), ("seen", "unseen")).overlap()
    assert json.loads(json.dumps(empty.to_dict(), allow_nan=False))["actions"][1]["smallest"] is None
    assert "'unseen'" in empty.verdicts[1]
    assert "0 rows" in empty.verdicts[1]


def test_overlap_warns_of_a_small_effective_sample_size():
    taken = np.full(200, 0.9)
    taken[0] = 0.001
    overlap = FittedPropensity(taken, None, np.zeros(200, int), ("a",)).overlap()
    assert len(overlap.verdicts) == 2
    assert all("effective sample size" in sentence for sentence in overlap.verdicts)
    assert f"{overlap.effective_sample_size:.0f}" in overlap.verdicts[-1]


def test_known_reads_the_column_and_says_what_is_wrong():
    log = make_log(np.zeros((4, 1)), [0, 1, 1, -1])
    with pytest.raises(InputProblem, match=r"propensity=.*ImputedLogistic\(\)"):
        Known().fit(log)
    with pytest.raises(InputProblem, match="2 of the 3 rows"):
        Known().fit(replace(log, propensities=np.array([0.5, np.nan, np.nan, np.nan])))
    with pytest.raises(InputProblem, match=r"\(0, 1\].* 1.5"):
        Known().fit(replace(log, propensities=np.array([0.5, 1.5, 0.2, np.nan])))
    fitted = Known().fit(replace(log, propensities=np.array([0.5, 1e-9, 0.2, 0.7])))
    np.testing.assert_array_equal(fitted.taken, [0.5, 1e-6, 0.2, np.nan])
    assert fitted.probabilities is None
    assert fitted.overlap().rows_outside == 1


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: ImputedLogistic(imputations=0), "'imputations' parameter of ImputedLogistic"),
        (lambda: Boosted(folds=True), "'folds' parameter of Boosted"),
        (lambda: BestGuess(folds=1), "'folds' parameter of BestGuess"),
        (lambda: Stacked(folds=1), "'folds' parameter of Stacked"),
    ],
)
def test_bad_settings_are_refused(make, parameter):
    with pytest.raises(InputProblem, match=parameter):
        make()


def test_one_row_with_an_action_is_too_few():
    with pytest.raises(InputProblem, match=r"the log has 1\..*Known\(\)"):
        Boosted().fit(make_log(np.zeros((3, 1)), [0, -1, -1]))


# --- actions taken regardless of the record ---


def ruled(rows=1500, regardless=0.2, seed=3, columns=3):
    """Actions by a sharp rule, and a share of them at random, all equally likely; also the true probabilities."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, columns))
    _, rule = softmax_policy(rng, 3 * features @ rng.normal(size=(columns, 3)))
    true = (1 - regardless) * rule + regardless / 3
    return features, (true.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1), true


def chances(setting, log, seed=0) -> np.ndarray:
    """The probability of every action, [row, action]."""
    probabilities = setting.fit(log, seed).probabilities
    assert probabilities is not None
    return probabilities


def test_the_gradient_of_the_robust_loss(monkeypatch):
    """Against finite differences, and the loss against its formula row by row."""
    import scipy.optimize

    features, actions, _ = ruled(40)
    losses = []

    def keep_loss(loss, start, **settings):
        losses.append(loss)
        return scipy.optimize.OptimizeResult(x=start)

    monkeypatch.setattr(scipy.optimize, "minimize", keep_loss)
    RobustLogistic.fit(features, actions, 3, penalty=0.7)
    (loss,) = losses
    rng = np.random.default_rng(1)
    counts = [float((actions == action).sum()) + 0.5 for action in range(3)]
    for _ in range(3):
        point = rng.normal(size=3 * 3 + 3 + 3)
        value, slope = loss(point)
        weights, intercept = point[:9].reshape(3, 3), point[9:12]
        shares = [math.exp(number) / sum(map(math.exp, point[12:])) for number in point[12:]]
        by_hand = 0.7 / 2 * sum(number**2 for number in point[:9])
        for row, action in zip(features, actions, strict=True):
            scores = [math.exp(float(row @ weights[:, a] + intercept[a])) for a in range(3)]
            chance = shares[0] * scores[action] / sum(scores)
            chance += shares[1] * counts[action] / sum(counts) + shares[2] / 3
            by_hand -= math.log(chance)
        assert value == pytest.approx(by_hand / 40, abs=1e-9)
        steps = 1e-5 * np.eye(len(point))
        numeric = [(loss(point + step)[0] - loss(point - step)[0]) / 2e-5 for step in steps]
        np.testing.assert_allclose(slope, numeric, rtol=0, atol=1e-8)


def test_the_share_taken_regardless_is_recovered():
    features, actions, true = ruled()
    rule = RobustLogistic.fit(features, actions, 3, penalty=0.03)
    assert rule.shares.sum() == pytest.approx(1)
    assert rule.shares[0] == pytest.approx(0.8, abs=0.06)
    probabilities = rule.probabilities(features)
    assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-9
    assert np.abs(probabilities - true).mean() < 0.02
    never = RobustLogistic.fit(*ruled(regardless=0.0)[:2], 3, penalty=0.03)
    assert never.shares[0] > 0.97


def test_robust_logistic_beats_logistic_regression_where_some_actions_ignore_the_record():
    features, actions, true = ruled()
    log = make_log(features, actions)
    robust, ordinary, both = (
        np.abs(chances(setting, log) - true).mean()
        for setting in (BestGuess(folds=3), ImputedLogistic(imputations=1, folds=3), Stacked(folds=3))
    )
    assert robust < 0.5 * ordinary
    assert both < 0.7 * ordinary


def test_best_guess_reads_gaps_where_the_clinician_did():
    """The action depends on whether the test was made, not on its result."""
    rng = np.random.default_rng(2)
    values = gapped(rng, 600, 2, share=0.5)
    made = ~np.isnan(values[:, 0])
    actions = np.where(rng.random(600) < 0.9, made, ~made).astype(int)
    taken = BestGuess(folds=3).fit(make_log(values, actions)).taken
    assert np.median(taken) == pytest.approx(0.9, abs=0.05)


def test_best_shares():
    rng = np.random.default_rng(4)
    first = rng.random(1000) < 0.7
    likelihoods = np.where(np.stack([first, ~first]), 0.9, 0.2)
    shares = best_shares(likelihoods)
    grid = np.linspace(0, 1, 1001)[:, None]
    best = np.log(grid * likelihoods[0] + (1 - grid) * likelihoods[1]).sum(axis=1).argmax() / 1000
    assert shares.tolist() == pytest.approx([best, 1 - best], abs=1e-3)
    assert best_shares(np.ones((3, 5))).tolist() == pytest.approx([1 / 3] * 3)
    assert best_shares(np.array([[0.2, 0.7]])).tolist() == [1.0]


def test_stacked_is_between_its_learners_and_no_worse_than_the_better_one():
    """A rule that is not monotone: boosting sees it, a logistic rule cannot."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(900, 2))
    actions = np.where(rng.random(900) < 0.9, np.abs(values[:, 0]) > 0.7, np.abs(values[:, 0]) <= 0.7).astype(int)
    log = make_log(values, actions)
    guess, boosted, both = (chances(setting, log, 1) for setting in (BestGuess(3), Boosted(3), Stacked(3)))
    assert (both >= np.minimum(guess, boosted) - 1e-9).all()
    assert (both <= np.maximum(guess, boosted) + 1e-9).all()
    fold = deal_folds(log, 3, seed=1)
    for held in range(3):  # in the shares of the other folds
        others = np.flatnonzero(fold != held)
        share = best_shares(np.stack([each[others, actions[others]] for each in (guess, boosted)]))
        expected = share[0] * guess[fold == held] + share[1] * boosted[fold == held]
        np.testing.assert_allclose(both[fold == held], expected, rtol=0, atol=1e-9)
    losses = [-np.log(each[np.arange(900), actions]).mean() for each in (guess, boosted, both)]
    assert losses[1] < losses[0] - 0.1
    assert losses[2] < losses[1] + 0.005


def test_a_log_of_labels_alone_has_a_logging_policy():
    table = {"ward": ["n", "s", "n", "w"] * 10, "act": ["a", "b"] * 20, "y": [0.0, 1.0, 2.0, 3.0] * 10}
    log = Log.from_frame(table, action="act", reward="y")
    policy = LoggingPolicy.fit(log)
    assert np.allclose(policy.probabilities(log.schema, log.values, log.observed).sum(axis=1), 1)
