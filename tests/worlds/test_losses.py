"""Moments and inverses of the dosing losses against dense quadrature."""

import numpy as np
import pytest
from scipy import stats

from prudent.worlds import Loss

LOSSES = [*map(Loss.named, ("quadratic", "absolute", "cliff")), Loss(power=2, overdose=0.5, jump=2.0, margin=0.4)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.8), (-1.2, 0.4), (2.5, 1.5)])
def test_loss_moments_match_dense_quadrature(loss, mean, sd):

    def integrate(level):
        """P(loss > level) and E[loss; loss > level], summed over pieces on which the loss is smooth."""
        breaks = [
            0.0,
            loss.margin,
            float(loss.furthest_over(np.array(level))),
            -float(loss.furthest_under(np.array(level))),
        ]
        ends = np.unique(np.clip([mean - 12 * sd, mean, *breaks, mean + 12 * sd], mean - 12 * sd, mean + 12 * sd))
        nodes, weights = np.polynomial.legendre.leggauss(80)
        half = np.diff(ends)[:, None] / 2
        excess = (ends[:-1, None] + half) + half * nodes
        mass = half * weights * stats.norm.pdf(excess, mean, sd)
        above = loss.of(excess) > level
        return np.sum(mass * above), np.sum(mass * above * loss.of(excess))

    assert loss.mean(np.array(mean), np.array(sd)) == pytest.approx(integrate(0.0)[1], abs=1e-9)
    for level in (0.3, 1.7, 6.2):
        got = loss.tail(np.array(level), np.array(mean), np.array(sd))
        assert got == pytest.approx(integrate(level), abs=1e-9)
        assert got[0] == loss.tail_mass(np.array(level), np.array(mean), np.array(sd))


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_inverses_and_points(loss):
    level = np.array([0.01, 0.5, 0.999, 1.0, 3.0, 5.9, 6.5, 20.0])
    over, under = loss.furthest_over(level), loss.furthest_under(level)
    assert np.all(loss.of(over * (1 - 1e-9)) <= level)
    assert np.all(loss.of(over + 1e-6) > level)
    np.testing.assert_allclose(loss.of(-under), level)
    points = np.array([-2.0, 0.0, 0.7, 1.0, 1.3])
    np.testing.assert_allclose(loss.mean(points, np.zeros(())), loss.of(points), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("gap", [0.4, 1.5, 4.0, 9.0])
def test_switch_is_where_the_next_dose_becomes_better(loss, gap):
    above = np.linspace(0, gap, 4001)
    lower_better = loss.of(-above) <= loss.of(gap - above)
    assert above[lower_better].max() == pytest.approx(loss.switch(gap), abs=gap / 3000)
