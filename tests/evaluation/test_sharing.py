"""Work that several parts of an evaluation need is done once, and gives the numbers that each would get alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from counted_model import Counter

import prudent
from prudent.decide import BestFrequencyLottery, Search, Support
from prudent.evaluation import Bootstrap, cross_fit, evaluate
from prudent.evaluation.prices import model_prices
from prudent.models import Fitted
from prudent.propensity import LoggingPolicy
from prudent.table import Log
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")

ROWS = 32  # whole chunks, so that no row is padded
WORLD = DosingWorld(attributes=3, doses=3, gaps=0.4, loss="cliff")
STRATEGIES = {
    "expected": prudent.MaximumExpectedReward(),
    "conservative": prudent.Conservative(risk=0.1),
    "tail": prudent.TailAverse(),
    "imputation": prudent.Imputation(),
}


@pytest.fixture(scope="module")
def completed() -> Counter:
    return Counter()


@pytest.fixture(scope="module")
def fitted(completed) -> Fitted:
    exact = WORLD.exact_model()
    return completed.model(replace(exact, roles=replace(exact.roles, propensity="likely")))


@pytest.fixture(scope="module")
def later(fitted) -> Log:
    return fitted.read(WORLD.sample(ROWS, seed=5).frame().with_columns(likely=pl.lit(0.4)))


def policies_of(fitted: Fitted, **options: Any) -> dict[str, prudent.Policy]:
    return {name: fitted.policy(strategy, **options) for name, strategy in STRATEGIES.items()}


def test_every_row_is_completed_once_for_all_strategies_and_the_prices(fitted, later, completed):
    completed.rows()
    policies = policies_of(fitted)
    assert policies["conservative"].searched
    together = evaluate(policies, later, below=-1.0)
    assert completed.rows() == ROWS
    assert together.prices.source == "from the model"
    assert str(together), "bottom line, diagnoses and tables"
    assert completed.rows() == 0

    for name, policy in policies.items():
        alone = evaluate({name: policy}, later, below=-1.0)
        np.testing.assert_array_equal(together.probabilities[name], alone.probabilities[name])
        assert together.estimate(name) == alone.estimate(name)
    prices = model_prices(fitted, later, -1.0)
    np.testing.assert_array_equal(together.prices.rewards, prices.rewards)
    assert together.prices.tail is not None
    np.testing.assert_array_equal(together.prices.tail, np.asarray(prices.tail))
    assert completed.rows() == (len(policies) + 1) * ROWS


def test_prices_have_the_draws_of_the_policies(fitted, later, completed):
    """Whatever their seed; a model that no policy is of is completed for its prices alone."""
    completed.rows()
    evaluate(fitted.policy(seed=3), later)
    assert completed.rows() == ROWS
    evaluate(fitted.policy(seed=3), later, prices=fitted)
    assert completed.rows() == ROWS
    evaluate({"first": lambda cases: [fitted.action_labels[0]] * len(cases)}, later, prices=fitted)
    assert completed.rows() == ROWS


class Forgetful:
    """Settings whose fit keeps which rows a model has seen, and nothing else."""

    def __init__(self, fitted: Fitted):
        self.fitted = fitted

    def fit(self, log: Log, seed: int = 0) -> Fitted:
        return replace(self.fitted, fingerprints=np.sort(log.fingerprints()))


def test_cross_fitted_models_complete_every_row_once(fitted, later, completed):
    crossed = cross_fit(Forgetful(fitted), later, folds=2)
    policies = {name: crossed.policy(strategy) for name, strategy in STRATEGIES.items()}
    padded = sum(-(-int(count) // 8) * 8 for count in np.bincount(crossed.unseen(later)))
    completed.rows()
    together = evaluate(policies, later, below=-1.0)
    assert completed.rows() == padded
    assert together.prices.source == "from the cross-fitted models"
    plain = evaluate(policies_of(fitted), later, below=-1.0)
    for name in policies:
        np.testing.assert_allclose(together.probabilities[name], plain.probabilities[name], atol=1e-6)
    np.testing.assert_allclose(together.prices.rewards, plain.prices.rewards, atol=1e-5)
    assert together.prices.tail is not None
    np.testing.assert_allclose(together.prices.tail, np.asarray(plain.prices.tail), atol=1e-5)


def test_worst_cases_are_searched_once_where_the_search_is_the_same(fitted, later):
    """With a floor every strategy searches, and those with the same plausible set need not do it again."""
    policies = policies_of(fitted, floor=-4.0)
    expected, tail, conservative = (policies[name].pricing for name in ("expected", "tail", "conservative"))
    assert expected.searched
    assert expected.shared_with(tail)
    assert not expected.shared_with(conservative), "another risk is another plausible set"
    assert not expected.shared_with(replace(tail, seed=1))
    assert not expected.shared_with(replace(tail, search=Search(steps=2)))
    together = evaluate(policies, later)
    for name, policy in policies.items():
        alone = evaluate({name: policy}, later).probabilities[name]
        np.testing.assert_array_equal(together.probabilities[name], alone)


def test_the_support_of_a_row_is_computed_once_for_all_policies(fitted, later, monkeypatch):
    asked = []
    computed = LoggingPolicy.probabilities

    def counting(self: LoggingPolicy, *record: Any) -> np.ndarray:
        asked.append(len(record[1]))
        return computed(self, *record)

    monkeypatch.setattr(LoggingPolicy, "probabilities", counting)
    supported = replace(fitted, logging_policy=LoggingPolicy.fit(later))
    lottery = supported.policy(BestFrequencyLottery())
    evaluate({**policies_of(supported), "lottery": lottery}, later)
    assert asked == [ROWS]
    evaluate({"usual": lottery, "strict": supported.policy(support=Support(0.2))}, later)
    assert asked == [ROWS] * 3, "another rule of support is asked for on its own"


def test_logs_are_resampled_once_for_each_policy(fitted, later, monkeypatch):
    """Its estimators, quantities and differences from other policies at any confidence follow from the same draws."""
    made = []
    resampled = Bootstrap.resampled

    def counting(self: Bootstrap, several: Any) -> np.ndarray:
        made.append(len(several))
        return resampled(self, several)

    monkeypatch.setattr(Bootstrap, "resampled", counting)
    policies = {"expected": fitted.policy(), "careful": fitted.policy(prudent.Conservative(risk=0.1))}
    interval = Bootstrap(draws=50, seed=2)
    found = evaluate(policies, later, interval=interval, below=-1.0)
    assert found.differently("expected", "careful") > 0
    assert str(found)
    assert len(made) == len({found.alike(name) for name in found.names})
    found.estimate("expected", interval=Bootstrap(draws=60))
    assert made[-1] == 1, "another bootstrap draws for itself"

    expected, careful = (found._undrawn(name, found.headline, "value") for name in policies)
    for confidence in (0.5, 0.95):
        apart = interval.with_imputations([expected - careful], confidence)[0]
        together = found.difference("expected", "careful", confidence=confidence)
        assert together.value == pytest.approx(apart.value, abs=1e-9)
        assert (together.low, together.high) == pytest.approx((apart.low, apart.high), abs=1e-9)
    (worst,) = interval.with_imputations([found._undrawn("careful", found.headline, "worst_mean")], 0.95)
    assert found.worst_mean("careful").low == pytest.approx(worst.low, abs=1e-9)
