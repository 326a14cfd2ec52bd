"""c and risk: the χ² map against the exact Gaussian posterior, and what a fitted model's plausible sets hold."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from prudent import Conservative, MaximumExpectedReward
from prudent.decide import PlausibleSet, PriceTable, Search, c_of_risk, plausible_mass, risk_of_c
from prudent.errors import InputProblem
from prudent.worlds import DosingWorld, squared_radii


def test_map_is_the_chi_squared_distribution_and_its_inverse():
    c, gaps = np.array([0.9, 0.7, 0.1, 0.001])[:, None], np.array([1, 2, 5, 40, 800])[None, :]
    risk = risk_of_c(c, gaps)
    np.testing.assert_allclose(risk, stats.chi2.sf(-2 * np.log(c), gaps), rtol=1e-9)
    np.testing.assert_allclose(
        c_of_risk(np.array([0.3, 0.05, 0.001]), 7), [*map(c_of_risk, (0.3, 0.05, 0.001), [7] * 3)]
    )
    for asked in (0.5, 0.05, 0.001):
        np.testing.assert_allclose(risk_of_c(c_of_risk(asked, gaps), gaps), asked, rtol=1e-9)
    assert np.all(np.diff(risk, axis=1) > -1e-15)  # a fixed c leaves out more as gaps grow
    assert risk[2, 4] > 1 - 1e-12


def test_edges():
    assert risk_of_c(0.0, 5) == 0.0
    assert c_of_risk(0.0, 5) == 0.0
    assert [risk_of_c(c, 0) for c in (0.0, 0.5, 0.999)] == [0.0, 0.0, 0.0]
    assert c_of_risk(0.05, 0) == 0.0
    assert isinstance(risk_of_c(0.1, 3), float)
    assert isinstance(c_of_risk(np.float64(0.1), np.int64(3)), float)
    assert risk_of_c(0.1, np.array([[1, 2]])).shape == (1, 2)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: risk_of_c(1.0, 2), "'c'"),
        (lambda: risk_of_c(-0.1, 2), "'c'"),
        (lambda: risk_of_c(np.array([0.1, np.nan]), 2), "'c'"),
        (lambda: risk_of_c("0.1", 2), "'c'"),
        (lambda: risk_of_c(0.1, 2.5), "'gaps'"),
        (lambda: risk_of_c(0.1, -1), "'gaps'"),
        (lambda: risk_of_c(0.1, True), "'gaps'"),
        (lambda: c_of_risk(1.0, 2), "'risk'"),
    ],
)
def test_bad_arguments_are_refused(call, named):
    with pytest.raises(InputProblem, match=named):
        call()


@pytest.mark.parametrize("c", [0.7, 0.1, 0.001])
def test_exact_set_of_the_dosing_world_holds_what_the_map_says(c):
    world = DosingWorld(attributes=6, gaps=0.6, seed=2)
    sample = world.sample(6, seed=1)
    gaps = world.posterior(sample.values).gaps
    assert len(set(gaps)) > 2
    count = 40_000
    draws = world.completions(sample.values, count=count, seed=3)
    depth = np.stack([world.log_density(own) for own in draws]) - world.log_density(world.mode(sample.values))[:, None]
    wanted = 1 - risk_of_c(c, gaps)
    error = np.sqrt(wanted * (1 - wanted) / count)
    # a complete record is its own mode: strictly denser than c times itself
    assert np.all(np.abs((depth > np.log(c)).mean(axis=1) - wanted) <= 4 * error + 1e-12)
    radius = squared_radii(world.posterior(sample.values), c=None, risk=0.05)[:, 0]
    np.testing.assert_allclose(radius[gaps > 0], -2 * np.log(c_of_risk(0.05, gaps[gaps > 0])), rtol=1e-6)


def test_mass_held_by_the_sets_of_a_fitted_model(fitted_models, cases):
    fitted = fitted_models["causal"]
    sets = {asked: plausible_mass(fitted.policy(Conservative(c=asked), completions=64), cases) for asked in (0.9, 0.1)}
    narrow, wide = sets[0.9], sets[0.1]
    assert narrow.gaps.tolist() == cases[["pressure", "marker", "visits", "admitted"]].isna().sum(axis=1).tolist()
    assert narrow.held[0] == pytest.approx(1.0, abs=1e-5)  # the complete record
    assert np.all(narrow.held <= wide.held + 1e-6)
    assert narrow.held.min() < 0.5 < wide.held.max()
    np.testing.assert_allclose(wide.gaussian, 1 - risk_of_c(0.1, wide.gaps))
    by_risk = plausible_mass(fitted.policy(Conservative(risk=0.2), completions=64), cases)
    assert np.all(by_risk.held >= 0.8 - 1e-4)
    assert np.all(by_risk.gaussian == 0.8)
    other = plausible_mass(fitted.policy(MaximumExpectedReward(), completions=64), cases)
    assert np.all(other.gaussian == 0.95)


def test_mass_is_the_sum_of_weights_inside_and_the_same_for_a_row_alone(fitted_models, cases):
    fitted = fitted_models["causal"]
    policy = fitted.policy(Conservative(c=0.3), completions=64, search=Search(steps=0))
    held = plausible_mass(policy, cases).held
    encoded = fitted.schema.encode(cases)
    for row in (3, 17):
        _, table = policy.pricing.detail(encoded.values[row], encoded.observed[row])
        depth = np.asarray(table.log_density - table.log_density[0])
        assert held[row] == pytest.approx(np.asarray(table.weights)[depth > np.log(0.3)].sum(), abs=1e-5)
        assert plausible_mass(policy, cases.iloc[[row]]).held[0] == pytest.approx(held[row], abs=1e-5)
    with pytest.raises(InputProblem, match="no rows"):
        plausible_mass(policy, cases.iloc[:0])


def test_c_by_attribute_bounds_the_geometric_mean_of_the_ratio():
    prices = jnp.array([[0.0, -1.0], [-3.0, -1.0], [-3.0, -9.0]])
    densities = jnp.array([0.0, -100.0, -700.0])
    table = PriceTable(prices, jnp.log(jnp.array([0.0, 0.5, 0.5])), densities, gaps=jnp.float32(49))

    def inside(c, **how):
        return PlausibleSet(c=c, **how).inside(table).tolist()

    assert inside(1e-12, per_attribute=True) == [True, True, True]
    assert inside(1 - 1e-9, per_attribute=True) == [True, False, False]
    assert inside(0.1, per_attribute=True) == [True, True, False]  # exp(-100 / 49) is 0.13
    np.testing.assert_array_equal(Conservative(c=0.1, per_attribute=True).scores(table), [-3.0, -1.0])
    assert inside(0.001) == [True, False, False]
    with pytest.raises(InputProblem, match="'per_attribute'"):
        Conservative(risk=0.1, per_attribute=True)
    with pytest.raises(InputProblem, match="number of gaps"):
        PlausibleSet(c=0.1, per_attribute=True).inside(replace(table, gaps=None))
