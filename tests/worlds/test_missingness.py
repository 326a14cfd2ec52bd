"""Masks have the requested share of gaps, and depend on what their name says."""

import numpy as np
import pytest

from prudent.errors import InputProblem
from prudent.worlds import mar, mcar, mnar

VALUES = np.random.default_rng(1).normal([0, 5, -2, 100, 0, 1], [1, 2, 0.1, 30, 1e-3, 1e3], (8000, 6))
MASKS = {
    "mcar": lambda share, seed: mcar(VALUES.shape, share, seed),
    "mar": lambda share, seed: mar(VALUES, share, seed),
    "mnar": lambda share, seed: mnar(VALUES, share, seed),
}


@pytest.fixture(params=MASKS.values(), ids=list(MASKS))
def mask(request):
    return request.param


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.6])
def test_masks_have_the_requested_share(mask, share):
    observed = mask(share, 0)
    assert observed.dtype == bool
    assert observed.shape == VALUES.shape
    assert 1 - observed.mean() == pytest.approx(share, abs=0.01)


def test_masks_depend_on_the_seed_only_and_change_nothing(mask):
    before = VALUES.copy()
    np.testing.assert_array_equal(mask(0.3, 5), mask(0.3, 5))
    assert not np.array_equal(mask(0.3, 5), mask(0.3, 6))
    np.testing.assert_array_equal(VALUES, before)


def difference(observed: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Mean of the standardised `by` where a cell is missing less where it is present, per attribute."""
    standard = (by - by.mean()) / by.std()
    return np.array([standard[~column].mean() - standard[column].mean() for column in observed.T if not column.all()])


def test_completely_at_random_depends_on_nothing():
    observed = mcar(VALUES.shape, 0.3)
    assert all(np.abs(difference(observed, column)).max() < 0.1 for column in VALUES.T)


def test_at_random_depends_on_always_observed_attributes_only():
    observed = mar(VALUES, 0.3, seed=2)
    complete = observed.all(axis=0)
    assert complete.sum() == 2
    driven = [np.abs(difference(observed, column)).max() for column in VALUES[:, complete].T]
    undriven = [np.abs(difference(observed, column)).max() for column in VALUES[:, ~complete].T]
    assert min(driven) > 0.3
    assert max(undriven) < 0.1


def test_not_at_random_hides_large_values_of_every_attribute():
    observed = mnar(VALUES, 0.3)
    for column, present in zip(VALUES.T, observed.T, strict=True):
        assert difference(present[:, None], column)[0] > 0.8
    np.testing.assert_allclose(1 - observed.mean(axis=0), 0.3, atol=0.03)


def test_constant_attributes_do_no_harm():
    assert 1 - mnar(np.ones((5000, 2)), 0.25).mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: mcar((3, 3), 1.0), "'share' parameter of mcar"),
        (lambda: mnar(VALUES, -0.1), "'share' parameter of mnar"),
        (lambda: mar(VALUES, 0.9), r"0\.67"),
        (lambda: mar(VALUES[:, :1], 0.1), "'values' parameter of mar"),
        (lambda: mar(VALUES[0], 0.1), "'values'"),
        (lambda: mnar(np.array([[np.nan, 1.0]]), 0.1), "'values' parameter of mnar"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(InputProblem, match=named):
        call()
