"""AtMost, and the calibration of predicted outcomes behind it."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import visits
from scipy.special import ndtr
from scipy.stats import norm

from prudent import AtMost, InputProblem, MaximumExpectedReward
from prudent.checks import check_strategy
from prudent.decide import Circumstances, HeldOut, OutcomeCalibration, PriceTable

PRICES = np.array([[0.0, 3.0, 1.0], [0.0, -3.0, 1.5], [0.0, 3.0, -1.0]])


def _table(noise: float) -> PriceTable:
    weights = jnp.log(jnp.asarray([0.0, 0.25, 0.75]))
    return PriceTable(jnp.asarray(PRICES), weights, jnp.zeros(3), None, jnp.full(PRICES.shape, noise))


def test_it_keeps_the_laws_of_strategies() -> None:
    for chance, below in ((0.02, -1.0), (0.5, 0.0), (0.3, 100.0), (0.3, -100.0)):
        check_strategy(AtMost(chance, below=below))


def test_the_probability_is_that_of_the_mixture() -> None:
    exact = 0.25 * norm.cdf((-1.0 - PRICES[1]) / 0.7) + 0.75 * norm.cdf((-1.0 - PRICES[2]) / 0.7)
    np.testing.assert_allclose(AtMost(0.1, below=-1.0).disaster(_table(0.7)), exact, rtol=2e-4)
    # far out as well, where one minus a probability would be nothing
    far = AtMost(0.1, below=-7.0).disaster(_table(1.0))
    np.testing.assert_allclose(far[0], norm.cdf(-7.0), rtol=1e-2)
    certain = AtMost(0.1, below=12.0).disaster(_table(1.0))
    assert (np.asarray(certain) > 0.999).all()


def test_the_best_mean_of_the_safe_actions_and_the_safest_where_none_is() -> None:
    table = _table(0.3)  # disasters below -2: never, in a quarter of cases, never; the means are 0, 1.5, -0.375
    assert int(jnp.argmax(MaximumExpectedReward().scores(table))) == 1
    assert int(jnp.argmax(AtMost(0.3, below=-2.0).scores(table))) == 1
    assert int(jnp.argmax(AtMost(0.1, below=-2.0).scores(table))) == 0
    # below 0.9 nothing is safe: certain, a quarter of the cases, three quarters of them
    assert int(jnp.argmax(AtMost(0.01, below=0.9).scores(table))) == 1


def test_bolder_limits_never_score_a_choice_lower() -> None:
    table = _table(0.5)
    means = []
    for chance in (0.001, 0.01, 0.1, 0.3, 0.9):
        chosen = int(jnp.argmax(AtMost(chance, below=-1.0).scores(table)))
        means.append(float(table.expected[chosen]))
    assert means == sorted(means)


def test_a_minimised_reward_and_costs_mean_the_same_disaster() -> None:
    known = OutcomeCalibration.none(3)
    table = _table(0.3)
    plain = AtMost(0.1, below=-2.0, calibration=known)
    mirrored = AtMost(0.1, below=2.0, sign=-1.0, calibration=known)
    np.testing.assert_array_equal(plain.disaster(table), mirrored.disaster(table))
    costs = jnp.asarray([0.0, 0.5, 2.0])
    charged = replace(table, prices=table.prices - costs[None, :])
    dear = AtMost(0.1, below=-2.0, costs=costs, calibration=known)
    np.testing.assert_allclose(dear.disaster(charged), plain.disaster(table), atol=1e-6)
    assert "above 2" in mirrored.reason(_words())


def _words() -> Any:
    from prudent.decide.strategies import Comparison

    return Comparison("a", "b", "1", "0")


NOWHERE = Circumstances(jnp.zeros(1), jnp.zeros(1))


def _held_out(scores: np.ndarray, actions: Any = None, expected: Any = None, opened: Any = None) -> HeldOut:
    nothing = np.zeros(len(scores))
    each = Circumstances(*(nothing if one is None else one for one in (expected, opened)))
    return HeldOut(scores, np.zeros(len(scores), int) if actions is None else actions, each)


@pytest.mark.parametrize(("spread", "shift"), [(1.0, 0.0), (2.0, 0.0), (0.5, 0.4), (1.0, -1.5)])
def test_calibrated_probabilities_are_those_that_occur(spread: float, shift: float) -> None:
    random = np.random.default_rng(0)
    learnt, fresh = (shift + spread * random.normal(size=size) for size in (4000, 20_000))
    calibration = OutcomeCalibration.of(_held_out(learnt), 1)
    for predicted in (0.02, 0.05, 0.2, 0.5, 0.9):
        raw = float(norm.ppf(predicted))
        occurs = float((fresh < raw).mean())
        claimed = float(ndtr(float(calibration(jnp.full(1, raw), NOWHERE)[0])))
        assert claimed == pytest.approx(occurs, abs=0.02)
    assert (np.diff(np.asarray(calibration.scores)) >= 0).all()


def test_few_held_out_rows_hardly_move_the_model() -> None:
    few = OutcomeCalibration.of(_held_out(np.full(2, -3.0)), 1)
    np.testing.assert_allclose(ndtr(np.asarray(few(jnp.full(1, -1.645), NOWHERE))), 0.05, atol=0.09)
    none = OutcomeCalibration.of(_held_out(np.zeros(0)), 1)
    np.testing.assert_allclose(none(jnp.linspace(-7, 7, 1), NOWHERE), jnp.linspace(-7, 7, 1), atol=1e-5)


def test_it_is_corrected_by_action_by_expected_outcome_and_by_gaps() -> None:
    random = np.random.default_rng(0)

    def drawn(size: int) -> HeldOut:
        actions, expected, opened = random.integers(2, size=size), random.normal(size=size), random.random(size)
        spread = np.exp(0.4 * actions - 0.3 * expected + 0.8 * (opened - 0.5))
        return _held_out(-0.3 * actions + spread * random.normal(size=size), actions, expected, opened)

    calibration, fresh = OutcomeCalibration.of(drawn(2000), 2), drawn(8000)
    every = jax.vmap(
        lambda score, *each: calibration(jnp.full(2, score), Circumstances(*(jnp.full(2, e) for e in each)))
    )
    corrected = np.asarray(every(*map(jnp.asarray, (fresh.scores, *fresh.circumstances))))
    corrected = corrected[np.arange(8000), fresh.actions]
    expected, opened = map(np.asarray, fresh.circumstances)
    groups = [fresh.actions == 0, fresh.actions == 1, expected < -0.7, expected > 0.7, opened < 0.3, opened > 0.7]
    for group in groups:
        assert np.mean(corrected[group] < norm.ppf(0.05)) == pytest.approx(0.05, abs=0.02)
    raw = [abs(np.mean(fresh.scores[group] < norm.ppf(0.05)) - 0.05) for group in groups]
    assert max(raw) > 0.05  # without it: not so


def test_the_correction_can_be_undone() -> None:
    random = np.random.default_rng(0)
    calibration = OutcomeCalibration.of(_held_out(0.3 + 1.5 * random.normal(size=500), random.integers(2, size=500)), 2)
    at = Circumstances(jnp.array([0.2, -0.1]), jnp.array([0.3, 0.6]))
    for score in (-1.645, 0.0, 1.645):
        again = calibration(calibration.uncorrected(jnp.float32(score), at), at)
        np.testing.assert_allclose(again, score, atol=1e-3)


def test_a_policy_is_more_careful_the_less_may_happen(fitted_models: Any) -> None:
    model, cases = fitted_models["causal"], visits(60, seed=4)
    advice = {chance: model.policy(AtMost(chance, below=-1.0)).recommend(cases) for chance in (0.9, 0.01)}
    expected = model.policy().recommend(cases)
    assert np.mean(advice[0.9].expected_reward) >= np.mean(advice[0.01].expected_reward) - 1e-6
    assert (
        list(advice[0.9].actions) == list(expected.actions)
        or np.mean(np.asarray(advice[0.9].actions) == np.asarray(expected.actions)) > 0.8
    )
    assert "in at most 1% of cases" in str(advice[0.01][0].explain())


def test_a_model_that_does_not_know_how_outcomes_scatter_is_refused(fitted_models: Any) -> None:
    with pytest.raises(InputProblem, match="AtMost needs a model that knows how single outcomes scatter"):
        fitted_models["similarity"].policy(AtMost(0.1, below=-1.0))
