"""How many rows are completed at once: what a chunk holds is bounded, whatever the columns are."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from conftest import make_log

import prudent
from prudent.decide import MostOftenBest, pricing
from prudent.decide.choice import score_together
from prudent.decide.completions import resampled
from prudent.models import FitReport, Fitted
from prudent.progress import reporting
from prudent.table import Encoded


def policy_of(levels: int, columns: int, strategy: prudent.Strategy, actions: int = 2) -> prudent.Policy:
    """Of a network that was never trained: only its shapes matter."""
    values = np.zeros((40, columns)) + np.arange(40)[:, None] % 2
    log = make_log(values, np.arange(40) % actions, categories=dict.fromkeys(range(columns), levels))
    settings = prudent.CausalPVAE(members=1)
    report = FitReport(40, 40, 1, (0.0,), ())
    model = settings.blank(log.schema, actions)
    return Fitted(model, settings, log.schema, log.action_labels, False, report).policy(strategy, support=None)


def rows_together(policy: prudent.Policy, rows: int) -> list[int]:
    """The sizes of the chunks, which are also the steps that are reported."""
    attributes = len(policy.fitted.schema)
    encoded = Encoded(np.zeros((rows, attributes), np.float32), np.zeros((rows, attributes), bool), [""] * rows)
    heard = []
    with reporting(lambda done, total: heard.append(total)):
        sizes = [len(values) for values, _ in policy.pricing.chunks(encoded)]
    assert heard == [len(sizes)] * len(sizes)
    return sizes


@pytest.mark.parametrize("levels", [2, 40, 900])
def test_a_chunk_counts_every_level_of_every_column(levels):
    policy = policy_of(levels, 6, prudent.MaximumExpectedReward())
    sizes = rows_together(policy, 300)
    held = sizes[0] * policy.completions * 6 * levels
    assert held <= pricing.CHUNK_CELLS
    assert 4 * held > pricing.CHUNK_CELLS or sizes[0] == pricing.MANY_ROWS
    assert sum(sizes) >= 300


def test_a_search_that_looks_at_many_levels_takes_fewer_rows_at_once():
    drawn = rows_together(policy_of(40, 6, prudent.MaximumExpectedReward()), 300)
    searched = rows_together(policy_of(40, 6, prudent.Conservative(risk=0.05), actions=20), 300)
    assert searched[0] < drawn[0]


def test_few_rows_are_taken_one_by_one():
    policy = policy_of(2, 6, prudent.MaximumExpectedReward())
    assert rows_together(policy, 3) == [1, 1, 1]
    assert rows_together(policy, pricing.FEW_ROWS + 1) == [pricing.MANY_ROWS]


# --- densities of some completions ---


def test_a_strategy_that_needs_no_densities_decides_the_same_without_them(fitted_models, cases):
    fitted = fitted_models["causal"]
    encoded = fitted.schema.encode(cases)
    for strategy in (prudent.MaximumExpectedReward(), prudent.TailAverse(risk=0.2), MostOftenBest()):
        chooser = fitted.policy(strategy, completions=64).chooser
        assert chooser.pricing.examined
        some, every = chooser, replace(chooser, pricing=replace(chooser.pricing, every_density=True))
        by_some, by_every = some.score(encoded), every.score(encoded)
        np.testing.assert_allclose(by_some.scores, by_every.scores, atol=1e-5)
        np.testing.assert_allclose(by_some.expected, by_every.expected, atol=1e-5)
        # the worst case comes from fewer completions, among them the lowest-priced ones
        spread = by_every.expected.std()
        assert np.mean(np.abs(by_some.worst - by_every.worst)) < 0.1 * spread
        assert (by_some.worst <= by_some.expected + 1e-5).all()


def test_who_asks_for_a_worst_case_gets_every_density(fitted_models):
    fitted = fitted_models["causal"]
    assert not fitted.policy(prudent.Imputation()).pricing.examined
    assert not fitted.policy(prudent.Conservative(), search=prudent.Search(steps=0)).pricing.examined
    assert not fitted.policy(floor=0.0).pricing.examined
    assert not fitted_models["conditional"].policy().pricing.examined


def test_of_policies_together_one_that_needs_densities_has_them(fitted_models, cases):
    fitted = fitted_models["causal"]
    encoded = fitted.schema.encode(cases)
    careful = fitted.policy(prudent.Conservative(risk=0.2), search=prudent.Search(steps=0), completions=64).chooser
    together = score_together([fitted.policy(completions=64).chooser, careful], encoded)
    np.testing.assert_allclose(together[1].scores, careful.score(encoded).scores, atol=1e-5)


def test_systematic_resampling_takes_every_draw_as_often_as_its_weight_says():
    weights = np.random.default_rng(0).dirichlet(np.ones(40))
    counts = np.bincount(np.asarray(resampled(jnp.asarray(weights, jnp.float32), 1000)), minlength=40)
    assert np.abs(counts - 1000 * weights).max() <= 1.01
