"""The mixtures that price doses between the logged ones."""

import numpy as np
import pytest

from prudent import InputProblem
from prudent.decide.doses import STEPS, Around, numbers_around
from prudent.networks import neighbour_mixing


@pytest.mark.parametrize("actions", [2, 3, 9])
def test_a_price_in_between_by_hand(actions):
    """Least squares with an unknown level: the prior says how alike doses are, a part of each is its own."""
    around, numbers = Around.of(actions), numbers_around(actions)
    own = neighbour_mixing(actions).astype(float)
    covariance = own @ own.T
    for action, dose in [(0, 2 * STEPS - 2), (actions - 1, 3)]:
        place = numbers[action, dose] / (actions - 1)
        alike = 0.95 * np.exp(-0.5 * ((place - np.linspace(0, 1, actions)) / 0.3) ** 2)
        # the smallest variance of all mixtures that keep the level
        system = np.block([[covariance, np.ones((actions, 1))], [np.ones((1, actions)), np.zeros((1, 1))]])
        best = np.linalg.solve(system, np.append(alike, 1.0))[:-1]
        np.testing.assert_allclose(around.mixture[action, dose], best, atol=1e-4)
        variance = 1 - 2 * best @ alike + best @ covariance @ best
        assert around.variance[action, dose] == pytest.approx(variance, abs=1e-4)


def test_logged_doses_keep_their_price_and_a_level_stays():
    around = Around.of(5)
    np.testing.assert_array_equal(around.mixture[:, 0], np.eye(5))
    np.testing.assert_array_equal(around.variance[:, 0], 0)
    np.testing.assert_allclose(np.sum(around.mixture, axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(np.sum(around.nearest, axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(around.surprises @ np.full(5, 7.0), 0, atol=1e-4)
    assert np.all(np.asarray(around.variance)[2, 1:] > 0.05)


def test_uncertainty_grows_towards_the_middle():
    upwards = np.asarray(Around.of(4).variance)[1, STEPS:]
    assert np.argmax(upwards) == len(upwards) // 2
    assert np.asarray(Around.of(4).variance).min() >= 0


def test_the_size_of_a_record_is_read_where_its_dose_is():
    """Steep rewards at the other end of the doses do not make a flat part uncertain."""
    prices = np.array([0, 0, 0, 0, 0, 0, 0, 0, 10.0])
    size = np.sqrt(np.mean((np.asarray(Around.of(9).surprises) @ prices) ** 2, axis=1))
    assert size[1] < 0.2 * size[7]


def test_actions_without_an_order_have_nothing_between_them(fitted, cases):
    with pytest.raises(InputProblem, match="--ordered"):
        fitted.policy().recommend(cases).doses_between()
