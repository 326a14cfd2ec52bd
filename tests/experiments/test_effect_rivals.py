"""The classical rivals are right where they should be: on worlds whose effect is known, and on tables without gaps."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from experiments.rivals.effects import (
    DifferenceInMeans,
    MatrixFactorisation,
    MeanImputed,
    Method,
    MissingInAttributes,
    MultipleImputation,
    Study,
    doubly_robust,
)
from experiments.rivals.effects.complete_table import logistic_propensity, per_arm, treatment_coefficient
from prudent.errors import InputProblem

EFFECT = 3.0
FOREST = MissingInAttributes(trees=60, outcome_trees=60, propensity_trees=60, cores=1)
IMPUTATION = MultipleImputation(imputations=6)
ALL = (DifferenceInMeans(), MeanImputed(), IMPUTATION, MatrixFactorisation(trials=1), FOREST)
FIVE = {"OLS", "OLS per arm", "ridge per arm", "AIPW", "residual on residual"}


def correlated(share: float = 0.3, rows: int = 600, replications: int = 3, seed: int = 0) -> Study:
    """Five views of one need, which decides the treatment; outcomes are linear in the views. Cells go at random."""
    random = np.random.default_rng(seed)
    need = random.normal(size=(rows, 1))
    table = need + 0.5 * random.normal(size=(rows, 5))
    treated = random.random(rows) < 1 / (1 + np.exp(-table.sum(axis=1) / 3))
    noise = 0.3 * random.normal(size=(replications, rows))
    outcomes = 1 + table.sum(axis=1) / 2 + EFFECT * treated + noise
    return Study.of(np.where(random.random(table.shape) < share, np.nan, table), treated, outcomes)


def latent(rows: int = 800, attributes: int = 20, seed: int = 1) -> Study:
    """Many noisy views of two needs, which alone decide treatment and outcome (the world of Kallus, Mao, Udell)."""
    random = np.random.default_rng(seed)
    needs = random.normal(size=(rows, 2))
    table = needs @ random.normal(size=(2, attributes)) + 0.3 * random.normal(size=(rows, attributes))
    treated = random.random(rows) < 1 / (1 + np.exp(-needs.sum(axis=1)))
    outcomes = 2 * needs.sum(axis=1) + EFFECT * treated + 0.3 * random.normal(size=rows)
    return Study.of(np.where(random.random(table.shape) < 0.3, np.nan, table), treated, outcomes)


def telling_gaps(rows: int = 600, seed: int = 2) -> Study:
    """That an attribute was not measured is itself the reason for the treatment and for the worse outcome."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, 3))
    gone = random.random(rows) < 0.5
    table[gone, 0] = np.nan
    treated = random.random(rows) < np.where(gone, 0.75, 0.25)
    outcomes = -4.0 * gone + EFFECT * treated + 0.3 * random.normal(size=rows)
    return Study.of(table, treated, outcomes)


@pytest.mark.parametrize("method", ALL)
def test_every_rival_is_a_method_that_repeats_itself_and_leaves_its_input_alone(method):
    study = correlated(rows=80, replications=2)
    before = study.values.copy()
    first, again = (method.estimate(study, seed=4) for _ in range(2))
    assert isinstance(method, Method)
    np.testing.assert_array_equal(study.values, before)
    for name, answer in first.items():
        assert answer.effect.shape == (2,)
        assert answer.prices.shape == (2, 80, 2)
        np.testing.assert_array_equal(answer.prices, again[name].prices)
        assert np.isfinite(answer.prices).all()


@pytest.mark.parametrize("method", ALL)
def test_every_rival_lives_with_a_column_and_a_row_of_gaps_and_a_table_for_each_replication(method):
    study = correlated(rows=80, replications=2)
    tables = np.concatenate([study.values, np.full_like(study.values[:, :, :1], np.nan)], axis=2).repeat(2, axis=0)
    tables[:, 0] = np.nan
    tables[1, :, 1] = 7.0
    for answer in method.estimate(Study.of(tables, study.treated, study.outcomes)).values():
        assert answer.prices.shape == (2, 80, 2)
        assert np.isfinite(answer.prices).all()
        assert np.isfinite(answer.effect).all()


def test_the_difference_in_means_is_just_that_and_confounded():
    study = correlated()
    answer = DifferenceInMeans().estimate(study)[""]
    treated = study.outcomes[:, study.treated].mean(axis=1)
    np.testing.assert_allclose(answer.effect, treated - study.outcomes[:, ~study.treated].mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(answer.prices[:, 5, 1], treated, atol=1e-12)
    assert (answer.effect > EFFECT + 1).all()


@pytest.mark.parametrize("method", [MeanImputed(), IMPUTATION])
def test_without_gaps_the_answers_are_the_plain_formulas(method):
    study = correlated(share=0.0)
    table, treated, outcomes = study.values[0], study.treated, study.outcomes
    answers = method.estimate(study)
    prices = per_arm(table, treated, outcomes)
    robust = doubly_robust(prices, logistic_propensity(table, treated), treated, outcomes)
    assert set(answers) == FIVE
    np.testing.assert_allclose(
        answers["OLS"].effect, treatment_coefficient(table, treated, outcomes).effect, atol=1e-9, rtol=0
    )
    np.testing.assert_allclose(answers["OLS per arm"].prices, prices, atol=1e-9, rtol=0)
    np.testing.assert_allclose(answers["ridge per arm"].prices, per_arm(table, treated, outcomes, 30.0), atol=1e-9)
    np.testing.assert_allclose(answers["AIPW"].effect, robust.effect, atol=1e-9, rtol=0)
    for name in FIVE - {"ridge per arm"}:
        np.testing.assert_allclose(answers[name].effect, EFFECT, atol=0.1)


def test_multiple_imputation_is_right_where_column_means_are_not():
    study = correlated()
    careless, careful = MeanImputed().estimate(study), MultipleImputation().estimate(study)
    for name in FIVE:
        assert (np.abs(careless[name].effect - EFFECT) > 0.2).all(), name
    for name in FIVE - {"ridge per arm"}:
        np.testing.assert_allclose(careful[name].effect, EFFECT, atol=0.15)


def test_completions_keep_what_was_observed_and_spread_as_the_missing_cells_do():
    study, complete = correlated(), correlated(share=0.0).values[0]
    table = study.values[0]
    gaps = np.isnan(table)
    completions = MultipleImputation(imputations=7, chains=3).completions(table, study.treated, seed=1)
    assert completions.shape == (7, *table.shape)
    np.testing.assert_array_equal(completions[:, ~gaps], np.broadcast_to(table[~gaps], (7, (~gaps).sum())))
    assert len(np.unique(completions[:, gaps][:, 0])) == 7
    assert completions[:, gaps].std() == pytest.approx(complete[gaps].std(), rel=0.05)  # draws, not predictions
    other = MultipleImputation(imputations=7, chains=3).completions(table, study.treated, seed=2)
    assert (completions[:, gaps] != other[:, gaps]).all()


def test_a_table_for_each_replication_is_asked_about_by_itself():
    study = correlated()
    alike = Study.of(study.values.repeat(3, axis=0), study.treated, study.outcomes)
    together, apart = MeanImputed().estimate(study), MeanImputed().estimate(alike)
    for name in FIVE:
        np.testing.assert_allclose(apart[name].prices, together[name].prices, atol=1e-9)
    counts = []
    MultipleImputation(imputations=2, rounds=1).estimate(
        alike, progress=lambda done, total: counts.append((done, total))
    )
    assert counts == [(1, 3), (2, 3), (3, 3)]


def test_factors_recover_the_latent_needs_and_with_them_the_effect():
    study = latent()
    method = MatrixFactorisation(ranks=(0.05, 0.1, 0.3, 1.0), thresholds=(0.2, 0.02))
    assert method.factors(study.values[0]).shape == (800, 2)
    answers = method.estimate(study)
    assert DifferenceInMeans().estimate(study)[""].effect[0] > EFFECT + 1
    careless = MeanImputed().estimate(study)
    for name in FIVE - {"ridge per arm"}:  # which shrinks, and two factors need no shrinking
        np.testing.assert_allclose(answers[name].effect, EFFECT, atol=0.06)
        assert abs(careless[name].effect[0] - EFFECT) > 0.12, name


def test_factors_of_a_low_rank_table_without_gaps_span_it():
    random = np.random.default_rng(3)
    table = random.normal(size=(200, 2)) @ random.normal(size=(2, 10))
    treated = random.random(200) < 0.4
    study = Study.of(table, treated, table[:, :1].T + EFFECT * treated + random.normal(size=(4, 200)))
    answers = MatrixFactorisation(ranks=(0.2, 0.5), thresholds=(0.01,)).estimate(study)
    plain = per_arm(table, treated, study.outcomes)
    np.testing.assert_allclose(answers["OLS per arm"].prices, plain, atol=1e-9, rtol=0)
    np.testing.assert_allclose(
        answers["OLS"].effect, treatment_coefficient(table, treated, study.outcomes).effect, atol=1e-9, rtol=0
    )


def test_forests_adjust_for_gaps_that_tell():
    study = telling_gaps()
    answer = FOREST.estimate(study)[""]
    assert DifferenceInMeans().estimate(study)[""].effect[0] < EFFECT - 1
    assert abs(MeanImputed().estimate(study)["AIPW"].effect[0] - EFFECT) > 1
    np.testing.assert_allclose(answer.effect, EFFECT, atol=0.2)
    np.testing.assert_allclose(answer.prices[0, :, 1] - answer.prices[0, :, 0], EFFECT, atol=1.0)


def test_forests_without_econml_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "econml.grf", None)
    with pytest.raises(InputProblem, match=r"prudent\[experiments\]"):
        FOREST.estimate(telling_gaps(rows=40))


@pytest.mark.parametrize(
    ("method", "setting", "value"),
    [
        (MeanImputed(), "penalty", -1.0),
        (MultipleImputation(), "imputations", 0),
        (MultipleImputation(), "chains", 1.5),
        (MultipleImputation(), "rounds", 0),
        (MatrixFactorisation(), "trials", 0),
        (MatrixFactorisation(), "ranks", ()),
        (MatrixFactorisation(), "thresholds", (0.2, 1.5)),
        (MissingInAttributes(), "trees", 10),
        (MissingInAttributes(), "outcome_leaf", 0),
        (MissingInAttributes(), "cores", 0),
    ],
)
def test_bad_settings_are_named(method, setting, value):
    with pytest.raises(InputProblem, match=f"The '{setting}' parameter of {type(method).__name__} must"):
        replace(method, **{setting: value})
