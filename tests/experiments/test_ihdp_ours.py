"""Our methods of the IHDP experiment at toy size: one network for each replication, and the Gaussian process."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.ihdp.data import EFFECT, study
from experiments.ihdp.ours import Encoded, GaussianProcess
from experiments.ihdp.printed import EqualWeights, paper_sizes, paper_spvae
from experiments.ihdp.replicated import Replicated
from experiments.rivals.effects import DifferenceInMeans, Study
from prudent import CPVAE, SPVAE, CausalPVAE, GaussianPrices, ImputedLogistic, Sizes, Training

SMALL = {"samples": 2, "sizes": Sizes(latent=2, width=6, embedding=2, summary=6)}
BRIEF = Training(learning_rate=0.01, batch=32, rounds=2, steps_per_round=40)


def world(replications: int, own_tables: bool) -> Study:
    """Rows of one number and one attribute of two levels with gaps; the treatment adds 3, and replications differ."""
    random = np.random.default_rng(3)
    rows = 120
    values = np.stack([random.normal(size=rows), random.integers(0, 2, rows)], axis=1)
    treated = random.random(rows) < 1 / (1 + np.exp(-values[:, 0]))
    outcomes = values[:, 0] + 3 * treated + 0.2 * random.normal(size=(replications, rows))
    tables = np.where(random.random((replications, *values.shape)) < 0.1, np.nan, values)
    return Study.of(tables if own_tables else tables[0], treated, outcomes)


@pytest.mark.parametrize(
    ("model", "learnt_from", "own_tables"),
    [
        (CausalPVAE(training=BRIEF, **SMALL), 1.0, False),
        (CPVAE(propensity=ImputedLogistic(imputations=1), training=BRIEF, **SMALL), 1.0, True),
        (SPVAE(propensity=ImputedLogistic(imputations=1), training=BRIEF, **SMALL), 1.0, False),
        (SPVAE(propensity=ImputedLogistic(imputations=1), training=BRIEF, **SMALL), 0.5, False),
    ],
    ids=["causal", "conditional, a table each", "similarity, fitted once", "similarity, on half of the rows"],
)
def test_a_model_for_each_replication(model, learnt_from, own_tables):
    data = world(3, own_tables)
    answers = Replicated(model, completions=4, learnt_from=learnt_from, chunk=2).estimate(data, seed=1)
    assert set(answers) == ({""} if own_tables else {"", "doubly robust"})
    assert answers[""].prices.shape == (3, 120, 2)
    # brief as the training is, the effect is seen; the last chunk, which is padded, is as good as the others
    assert np.all(answers[""].effect > 0.5)
    np.testing.assert_allclose(
        answers[""].effect, (answers[""].prices[..., 1] - answers[""].prices[..., 0]).mean(axis=1)
    )
    if not own_tables:
        assert np.all(np.abs(answers["doubly robust"].effect - 3) < 0.6)


def test_the_gaussian_process_on_five_complete_replications():
    data, outcomes = study("shared", 0.0, 5, seed=7)
    answers = GaussianProcess(GaussianPrices(landmarks=20)).estimate(data)
    crude = np.abs(DifferenceInMeans().estimate(data)[""].effect - EFFECT).mean()
    assert np.abs(answers[""].effect - EFFECT).mean() < 0.5 * crude
    truth = outcomes.expected[..., 1] - outcomes.expected[..., 0]
    wrong = answers[""].prices[..., 1] - answers[""].prices[..., 0] - truth
    assert np.all(wrong.std(axis=1) < 0.7 * truth.std(axis=1))


def test_the_papers_settings():
    paper = paper_spvae(paper_sizes(latent=5, summary=20), batch=4)
    assert isinstance(paper.model, SPVAE)
    assert (paper.completions, paper.learnt_from, paper.model.form) == (5, 0.2, "inverse_propensity")
    training = paper.model.training
    assert training.steps_per_round * training.batch == 152  # a fifth of 747, in whole batches
    assert replace(training, batch=8, steps_per_round=19) == paper_spvae().model.training


def test_equal_weights_are_the_inverse_propensity_estimate():
    data, _ = study("shared", 0.3, 3, seed=7)
    propensity = ImputedLogistic(imputations=1, folds=2)
    answer = EqualWeights(propensity).estimate(data)[""]
    taken = propensity.fit(Encoded.of(data).tables()[0], seed=0).taken
    signed = np.where(data.treated, 1, -1) * data.outcomes / taken
    np.testing.assert_allclose(answer.effect, signed.mean(axis=1))
    assert answer.prices.shape == (3, 747, 2)


def test_equation_12_may_sum_over_more_rows_than_the_network_learns_from():
    data, _ = study("shared", 0.3, 2, seed=7)
    small = Sizes(latent=2, width=4, embedding=2, summary=4)
    model = SPVAE.as_printed(149, 1, small, noise=None, batch=64, propensity=ImputedLogistic(1, 2))
    both = [Replicated(model, 2, 0.2, compared_with_all=every).estimate(data)[""] for every in (False, True)]
    assert not np.allclose(both[0].prices, both[1].prices)
    # barely trained, all rows are about equally similar
    equal = EqualWeights(ImputedLogistic(1, 2)).estimate(data)[""]
    np.testing.assert_allclose(both[1].effect, equal.effect, atol=1.0)
