"""The search for the worst plausible case, against the closed forms of the dosing world."""

from itertools import pairwise

import numpy as np
import pytest

from prudent import Conservative, InputProblem, MaximumExpectedReward, Search
from prudent.checks import check_policy
from prudent.worlds import DosingWorld

SAMPLING = Search(steps=0)
WORLDS = {
    "numbers": DosingWorld(attributes=5, doses=4, loss="quadratic"),
    "mixed": DosingWorld(attributes=6, doses=4, loss="quadratic", categorical=2),
}


def judged(world, strategy, search, rows=60, **options):
    fitted, sample = world.exact_model(), world.sample(rows, seed=3)
    policy = fitted.policy(strategy, search=search, completions=128, **options)
    return policy.chooser.score(fitted.schema.encode(sample.cases())), sample


def test_exact_model_knows_the_world():
    world = WORLDS["mixed"]
    found, sample = judged(world, MaximumExpectedReward(), None, rows=200)
    exact = world.expected(sample.values)
    assert np.abs(found.expected - exact).mean() < 0.02 * exact.std()
    best = found.scores.argmax(axis=1)
    assert world.share_of_the_way(best, sample) > 0.98


def test_exact_model_completes_as_the_world_does():
    world = WORLDS["mixed"]
    fitted, sample = world.exact_model(), world.sample(20, seed=5)
    encoded = fitted.schema.encode(sample.cases())
    policy = fitted.policy(completions=2048)
    exact = world.completions(sample.values, count=4000, seed=1)
    for row in range(4):
        completions, _ = policy.pricing.detail(encoded.values[row], encoded.observed[row])
        drawn = np.asarray(completions.values[1:])
        assert np.abs(drawn.mean(axis=0) - exact[row].mean(axis=0)).max() < 0.12
        assert np.abs(drawn.std(axis=0) - exact[row].std(axis=0)).max() < 0.12
        difference = world.log_density(drawn.astype(float)) - np.asarray(completions.log_density[1:])
        assert np.ptp(difference) < 1e-2 * max(1.0, np.ptp(np.asarray(completions.log_density)))


@pytest.mark.parametrize("kind", WORLDS)
def test_search_comes_close_to_the_exact_minimum(kind):
    world, strategy = WORLDS[kind], Conservative(c=0.1)
    searched, sample = judged(world, strategy, Search())
    sampled, _ = judged(world, strategy, SAMPLING)
    exact = world.scores("conservative", sample, c=0.1)
    assert (searched.scores <= sampled.scores + 1e-4).all()
    short, before = (searched.scores - exact).mean(), (sampled.scores - exact).mean()
    assert before > 0.5
    assert short < 0.15 * before
    # never below what is plausible: beyond float32 and the rounding of the frame's cells there is nothing
    assert (searched.scores >= exact - 0.02 * np.abs(exact) - 0.02).all()


def test_means_and_entropy_do_not_change():
    world = WORLDS["mixed"]
    searched, _ = judged(world, Conservative(risk=0.1), Search())
    sampled, _ = judged(world, Conservative(risk=0.1), SAMPLING)
    for name in ("expected", "entropy", "effective"):
        assert np.allclose(getattr(searched, name), getattr(sampled, name), atol=1e-5)


def test_a_complete_record_has_nothing_to_search():
    world = DosingWorld(attributes=5, doses=4, loss="quadratic", gaps=0.0)
    found, sample = judged(world, Conservative(c=0.1), Search(), rows=10)
    assert np.allclose(found.worst, found.expected, rtol=1e-4, atol=1e-4)
    assert np.abs(found.worst - world.theta(sample.full)).max() < 0.01 * np.abs(found.worst).max()


def test_more_careful_never_claims_more():
    world = WORLDS["numbers"]
    claims = [judged(world, Conservative(c=c), Search())[0].worst for c in (0.5, 0.1, 0.01)]
    for bold, careful in pairwise(claims):
        # each set is searched anew; the smaller c may stop a hair earlier
        assert (careful <= bold + 1e-3 * np.abs(bold)).all()


def test_found_record_is_plausible_and_keeps_what_was_observed(fitted, cases):
    policy = fitted.policy(Conservative(c=0.05), completions=64)
    encoded = fitted.schema.encode(cases)
    assert policy.searched
    for row in (2, 3):
        completions, table = policy.pricing.detail(encoded.values[row], encoded.observed[row])
        found = np.asarray(completions.values[-len(fitted.action_labels) :])
        seen = encoded.observed[row]
        assert (found[:, seen] == encoded.values[row][seen]).all()
        assert np.isneginf(np.asarray(table.log_weights)[-len(found) :]).all()
        edge = float(policy.plausible_set.edge(table))
        assert (np.asarray(table.log_density)[-len(found) :] >= edge - 1e-3).all()
        for position, column in enumerate(fitted.schema.columns):
            if column.likelihood == "categorical":
                assert np.isin(found[:, position], np.arange(column.levels)).all()


def test_searching_policies_keep_the_laws():
    world = DosingWorld(attributes=4, doses=3)
    fitted = world.exact_model()
    check_policy(fitted.policy(Conservative(risk=0.1), completions=32), world.sample(12, seed=2).cases())


def test_when_it_searches(fitted):
    assert not fitted.policy().searched
    assert fitted.policy(Conservative()).searched
    assert fitted.policy(floor=0.0).searched
    assert not fitted.policy(Conservative(), search=SAMPLING).searched
    assert not fitted.policy(Conservative(c=0.1, paper_literal=True)).searched


def test_bad_searches(fitted_models):
    fitted = fitted_models["causal"]
    with pytest.raises(InputProblem, match="'steps' parameter of Search"):
        Search(steps=-1)
    with pytest.raises(InputProblem, match="cannot be searched"):
        fitted.policy(Conservative(c=0.1, paper_literal=True), search=Search())
