"""The erasure world, and proposition 1 by enumeration: the appendix's numbers, and its identity in random worlds."""

import numpy as np
import pytest

from prudent.errors import InputProblem
from prudent.worlds import ErasureWorld, information, joint_of
from prudent.worlds.best_action_information import entropy, mutual_information


def test_numbers_of_the_appendix_and_the_correction():
    world = ErasureWorld()
    result = information(joint_of(world.posterior(world.degraded), world.degraded_probability), world.theta_of_records)
    assert round(result.best_action_entropy, 3) == 0.896
    assert round(result.remaining_entropy, 3) == 0.571
    assert round(result.information, 3) == 2.0
    # the paper says that the best algorithm finds a(X) with probability 2 ** −H; enumeration says otherwise
    assert round(result.best_guess, 3) == 0.785
    assert round(result.guess_bound, 3) == 0.673
    assert result == world.informed
    assert world.degraded_probability.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("erasure", [0.0, 0.3, 0.5, 1.0])
def test_proposition_one_in_the_erasure_world(erasure):
    world = ErasureWorld(erasure=erasure)
    right = world.best_action_entropy - (world.information - world.irrelevant_information)
    assert world.remaining_entropy == pytest.approx(right, abs=1e-12)
    assert world.guess_bound <= world.best_guess + 1e-12


def random_world(seed: int, records: int, degraded: int, actions: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    joint = random.dirichlet(np.full(records * degraded, 0.3)).reshape(records, degraded)
    joint = np.where(random.random(joint.shape) < 0.3, 0.0, joint)  # a degraded record excludes some full ones
    return joint / joint.sum(), random.normal(size=(records, actions))


def brute_force(joint: np.ndarray, theta: np.ndarray) -> tuple[float, ...]:
    """The same five numbers by sums over single cells, with other formulas: conditional entropies, one x̃ at a time."""
    best, terms = theta.argmax(axis=1), np.zeros(4)
    prior = joint.sum(axis=1)
    share = np.array([prior[best == a].sum() for a in range(theta.shape[1])])
    first = -sum(p * np.log2(p) for p in share if p > 0)
    for column, mass in zip(joint.T, joint.sum(axis=0), strict=True):
        chances = np.array([column[best == a].sum() for a in range(theta.shape[1])]) / mass if mass else np.zeros(1)
        terms[0] -= mass * sum(p * np.log2(p) for p in chances if p > 0)
        terms[3] += mass * chances.max()
        for x, p in enumerate(column):
            if p > 0:
                terms[1] += p * np.log2(p / (prior[x] * mass))
                of_action = column[best == best[x]].sum()
                terms[2] += p * np.log2(p * share[best[x]] / (prior[x] * of_action))
    return (first, *terms)


@pytest.mark.parametrize("seed", range(6))
def test_proposition_one_in_random_worlds(seed):
    joint, theta = random_world(seed, records=4 + 3 * seed, degraded=3 + 2 * seed, actions=2 + seed % 3)
    result = information(joint, theta)
    listed = (
        *(result.best_action_entropy, result.remaining_entropy, result.information),
        *(result.irrelevant_information, result.best_guess),
    )
    np.testing.assert_allclose(listed, brute_force(joint, theta), atol=1e-12)
    right = result.best_action_entropy - (result.information - result.irrelevant_information)
    assert result.remaining_entropy == pytest.approx(right, abs=1e-12)
    assert result.guess_bound < result.best_guess <= 1


def test_bound_is_met_when_possible_actions_are_equally_likely():
    # every record with gaps leaves the same two actions, each with probability one half
    result = information(np.full((2, 3), 1 / 6), np.eye(2))
    assert result.guess_bound == pytest.approx(result.best_guess)
    assert result.information == 0.0
    certain = information(np.eye(3) / 3, np.array([[1.0, 0], [2, 0], [3, 0]]))
    assert (certain.best_action_entropy, certain.remaining_entropy, certain.best_guess) == (0.0, 0.0, 1.0)
    assert certain.information == pytest.approx(certain.irrelevant_information)


def test_entropy_and_mutual_information_by_hand():
    assert entropy(np.array([0.25] * 4)) == 2.0
    assert mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])) == 1.0
    assert mutual_information(np.outer([0.2, 0.8], [0.3, 0.7])) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("joint", "theta", "named"),
    [
        (np.full(4, 0.25), np.eye(2), "joint"),
        (np.full((2, 2), 0.3), np.eye(2), "joint"),
        (np.array([[1.5, -0.5]]), np.ones((1, 2)), "joint"),
        (np.full((2, 2), 0.25), np.ones((3, 2)), "theta"),
        (np.full((2, 2), 0.25), np.full((2, 2), np.nan), "theta"),
    ],
)
def test_bad_worlds_are_refused(joint, theta, named):
    with pytest.raises(InputProblem, match=f"'{named}'"):
        information(joint, theta)
    with pytest.raises(InputProblem, match="probability"):
        joint_of(np.ones((2, 2)), np.ones(3))


def test_erasure_strategies_by_hand():
    world = ErasureWorld()
    values = np.array([[1.0, np.nan, 0.0, np.nan], [np.nan] * 4, [1.0, 1.0, 1.0, 0.0]])
    assert np.count_nonzero(world.posterior(values), axis=1).tolist() == [4, 16, 1]
    np.testing.assert_allclose(
        world.scores("expected", values), [[0.5, 1 / 6 + 0.1], [1 / 3, 1 / 3 + 0.1], [2 / 3, 1 / 3 + 0.1]]
    )
    np.testing.assert_allclose(world.scores("conservative", values), [[1 / 3, 0.1], [0.0, 0.1], [2 / 3, 1 / 3 + 0.1]])
    np.testing.assert_allclose(world.scores("imputation", values)[:2], [[1 / 3, 0.1], [0.0, 0.1]])
    np.testing.assert_allclose(world.scores("most often best", values), [[0.75, 0.25], [5 / 16, 11 / 16], [1.0, 0.0]])
    observed = np.array([[True, False, True, True]])
    np.testing.assert_allclose(
        world.posterior(np.array([[1.0, 0.0, 0.0, 1.0]]), observed),
        world.posterior(np.array([[1.0, np.nan, 0.0, 1.0]])),
    )
    with pytest.raises(InputProblem):
        world.posterior(np.array([[2.0, 0, 0, 0]]))


def test_erasure_log_matches_the_world():
    world = ErasureWorld()
    sample = world.sample(60_000, seed=1)
    assert 1 - sample.observed.mean() == pytest.approx(0.5, abs=0.005)
    result = world.act("most often best", sample.values) == sample.theta.argmax(axis=1)
    assert result.mean() == pytest.approx(world.best_guess, abs=0.006)
    assert sample.propensity.min() == pytest.approx(0.2)
    taken = sample.propensity[np.arange(60_000), sample.actions]
    assert np.mean(1 / taken) == pytest.approx(2.0, abs=0.03)
    mean = sample.theta[np.arange(60_000), sample.actions]
    assert (sample.rewards - mean).mean() == pytest.approx(0.0, abs=0.007)
    assert set(np.unique(sample.rewards)) == {0.0, 1.0}
