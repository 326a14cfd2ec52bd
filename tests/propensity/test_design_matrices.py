"""Filling gaps by their expectation under a joint normal, and the matrices that learners take."""

import numpy as np
import pytest
from conftest import make_log

from prudent.propensity import BestGuess, Stacked, expected_table, standardised
from prudent.propensity.joint_normal import RIDGE, JointNormal


def gapped(rng, rows, columns, share=0.3):
    values = rng.normal(size=(rows, columns))
    values[:, 1:] += values[:, :1]
    values[rng.random((rows, columns)) < share] = np.nan
    return values


def known_normal():
    mean = np.array([1.0, -2.0, 0.5])
    covariance = np.array([[2.0, 0.9, -0.4], [0.9, 1.5, 0.3], [-0.4, 0.3, 1.0]])
    return JointNormal(mean, covariance)


@pytest.mark.parametrize("cells", [8_000_000, 1])
def test_expected_cells_are_conditional_expectations(cells, monkeypatch):
    """Every pattern of gaps: E[gaps | rest] = mean + Σ(gaps, rest) Σ(rest, rest)⁻¹ (rest − mean)."""
    monkeypatch.setattr("prudent.propensity.joint_normal.BLOCK_CELLS", cells)
    normal = known_normal()
    patterns = np.array([[(code >> j) & 1 for j in range(3)] for code in range(8)] * 2, dtype=bool)
    full = np.random.default_rng(6).normal(size=(16, 3))
    table = np.where(patterns, full, np.nan)
    filled = normal.expected(table)
    for row, seen, cells_of_row in zip(filled, patterns, full, strict=True):
        expected = cells_of_row.copy()
        gaps, rest = np.flatnonzero(~seen), np.flatnonzero(seen)
        inverse = np.linalg.inv(normal.covariance[np.ix_(rest, rest)])
        between = normal.covariance[np.ix_(gaps, rest)]
        expected[gaps] = normal.mean[gaps] + between @ inverse @ (cells_of_row[rest] - normal.mean[rest])
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-9)


def test_a_table_without_gaps_has_its_sample_mean_and_covariance():
    normal = known_normal()
    table = np.random.default_rng(7).multivariate_normal(normal.mean, normal.covariance, 200)
    fitted = JointNormal.fit(table, rounds=3, tolerance=0.0)
    covariance = np.cov(table.T, bias=True)
    np.testing.assert_allclose(fitted.mean, table.mean(axis=0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.covariance, covariance + RIDGE * np.diag(np.diag(covariance)), rtol=0, atol=1e-9)
    assert expected_table(table, seed=0) is table


def test_a_joint_normal_is_recovered_where_gaps_depend_on_what_is_seen():
    """The second cell is missing where the first is large: the sample mean is off, the likelihood's is not."""
    normal = known_normal()
    full = np.random.default_rng(8).multivariate_normal(normal.mean, normal.covariance, 4000)
    table = full.copy()
    table[full[:, 0] > 1.5, 1] = np.nan
    fitted = JointNormal.fit(table, rounds=500, tolerance=1e-6)
    assert abs(np.nanmean(table[:, 1]) - normal.mean[1]) > 0.2
    np.testing.assert_allclose(fitted.mean, full.mean(axis=0), rtol=0, atol=0.06)
    np.testing.assert_allclose(fitted.covariance, np.cov(full.T), rtol=0, atol=0.12)


def test_wide_tables_get_the_mean(monkeypatch):
    table = gapped(np.random.default_rng(9), 50, 6)
    monkeypatch.setattr("prudent.propensity.design_matrices.JOINT_COLUMNS", 5)
    filled = expected_table(table, seed=0)
    np.testing.assert_allclose(filled, np.where(np.isnan(table), np.nanmean(table, axis=0), table), rtol=0, atol=1e-12)
    log = make_log(table, np.arange(50) % 2)
    for setting in (BestGuess(folds=2), Stacked(folds=2)):
        assert np.isfinite(setting.fit(log).taken).all()


@pytest.mark.parametrize("cells", [0, 1, 2])
def test_a_column_that_the_learning_rows_hardly_hold(cells, monkeypatch):
    """Of a long log some rows are learnt from; a rare test, or a rare level, may be absent from all of them."""
    monkeypatch.setattr("prudent.propensity.design_matrices.IMPUTER_ROWS", 20)
    learnt = np.random.default_rng(0).permutation(60)[:20]
    others = np.setdiff1d(np.arange(60), learnt)
    rare = np.full(60, np.nan)
    rare[others[:5]], rare[learnt[:cells]] = np.arange(5.0), np.arange(float(cells))
    table = np.column_stack([rare, gapped(np.random.default_rng(1), 60, 2)])
    filled = expected_table(table, seed=0)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(table)], table[~np.isnan(table)])


def test_standardised_leaves_out_what_never_varies():
    table = np.column_stack([np.arange(4.0), np.full(4, 3.0), [0.0, 0.0, 0.0, 8.0]])
    scaled = standardised(table)
    assert scaled.shape == (4, 2)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-12)
    assert standardised(np.full((4, 1), 0.1)).shape == (4, 0)
