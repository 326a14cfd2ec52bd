"""Work that several parts of an evaluation need is done once, and gives the numbers that each would get alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
import polars as pl
import pytest

import prudent
from prudent.decide import Completions, Model
from prudent.evaluation import cross_fit, evaluate
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


class Counted(Model):
    """A model that reports every record it completes."""

    inner: Any
    report: Callable[[Any], None] = eqx.field(static=True)

    @property
    def members(self) -> int:
        return self.inner.members

    @property
    def draw_size(self) -> int:
        return self.inner.draw_size

    def complete(self, values: jax.Array, observed: jax.Array, uniforms: jax.Array, literal: bool) -> Completions:
        jax.debug.callback(self.report, values)
        return self.inner.complete(values, observed, uniforms, literal)

    def price(self, values: jax.Array) -> jax.Array:
        return self.inner.price(values)

    def log_density(self, values: jax.Array, evidence: jax.Array) -> jax.Array:
        return self.inner.log_density(values, evidence)

    def own_doubt(self, values: jax.Array) -> jax.Array:
        return self.inner.own_doubt(values)

    def noise(self, values: jax.Array) -> jax.Array:
        return self.inner.noise(values)


@pytest.fixture(scope="module")
def completed() -> list[np.ndarray]:
    """Every record that the model has completed."""
    return []


@pytest.fixture(scope="module")
def fitted(completed) -> Fitted:
    exact = replace(WORLD.exact_model(), roles=replace(WORLD.exact_model().roles, propensity="likely"))
    return replace(exact, model=Counted(exact.model, completed.append))


@pytest.fixture(scope="module")
def later(fitted) -> Log:
    return fitted.read(WORLD.sample(ROWS, seed=5).frame().with_columns(likely=pl.lit(0.4)))


def rows_completed(completed: list[np.ndarray]) -> int:
    jax.effects_barrier()
    count = sum(1 if record.ndim == 1 else len(record) for record in completed)
    completed.clear()
    return count


def policies_of(fitted: Fitted, **options: Any) -> dict[str, prudent.Policy]:
    return {name: fitted.policy(strategy, **options) for name, strategy in STRATEGIES.items()}


def test_every_row_is_completed_once_for_all_strategies_and_the_prices(fitted, later, completed):
    rows_completed(completed)
    policies = policies_of(fitted)
    assert policies["conservative"].searched
    together = evaluate(policies, later, below=-1.0)
    assert rows_completed(completed) == ROWS
    assert together.prices.source == "from the model"
    assert str(together), "bottom line, diagnoses and tables"
    assert rows_completed(completed) == 0

    for name, policy in policies.items():
        alone = evaluate({name: policy}, later, below=-1.0)
        np.testing.assert_array_equal(together.probabilities[name], alone.probabilities[name])
        assert together.estimate(name) == alone.estimate(name)
    prices = model_prices(fitted, later, -1.0)
    np.testing.assert_array_equal(together.prices.rewards, prices.rewards)
    np.testing.assert_array_equal(together.prices.tail, prices.tail)
    assert rows_completed(completed) == (len(policies) + 1) * ROWS


def test_prices_have_the_draws_of_the_policies(fitted, later, completed):
    """Whatever their seed; a model that no policy is of is completed for its prices alone."""
    rows_completed(completed)
    evaluate(fitted.policy(seed=3), later)
    assert rows_completed(completed) == ROWS
    evaluate(fitted.policy(seed=3), later, prices=fitted)
    assert rows_completed(completed) == ROWS
    evaluate({"first": lambda cases: [fitted.action_labels[0]] * len(cases)}, later, prices=fitted)
    assert rows_completed(completed) == ROWS


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
    rows_completed(completed)
    together = evaluate(policies, later, below=-1.0)
    assert rows_completed(completed) == padded
    assert together.prices.source == "from the cross-fitted models"
    plain = evaluate(policies_of(fitted), later, below=-1.0)
    for name in policies:
        np.testing.assert_allclose(together.probabilities[name], plain.probabilities[name], atol=1e-6)
    np.testing.assert_allclose(together.prices.rewards, plain.prices.rewards, atol=1e-5)
    assert together.prices.tail is not None
    np.testing.assert_allclose(together.prices.tail, plain.prices.tail, atol=1e-5)


def test_worst_cases_are_searched_once_where_the_search_is_the_same(fitted, later):
    """With a floor every strategy searches, and those with the same plausible set need not do it again."""
    policies = policies_of(fitted, floor=-4.0)
    expected, tail, conservative = (policies[name].pricing for name in ("expected", "tail", "conservative"))
    assert expected.searched
    assert expected.shared_with(tail)
    assert not expected.shared_with(conservative), "another risk is another plausible set"
    assert not expected.shared_with(replace(tail, seed=1))
    assert not expected.shared_with(replace(tail, search=prudent.decide.Search(steps=2)))
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
    lottery = supported.policy(prudent.decide.BestFrequencyLottery())
    evaluate({**policies_of(supported), "lottery": lottery}, later)
    assert asked == [ROWS]
    evaluate({"usual": lottery, "strict": supported.policy(support=prudent.decide.Support(0.2))}, later)
    assert asked == [ROWS] * 3, "another rule of support is asked for on its own"
