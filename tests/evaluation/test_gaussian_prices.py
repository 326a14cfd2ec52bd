"""Gaussian-process prices: exact on small problems by dense formulas, and right where the answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import make_log

import prudent
from prudent.evaluation import GaussianPrices
from prudent.evaluation import gaussian_process as process
from prudent.evaluation.gaussian_prices import _members, surfaces
from prudent.evaluation.gaussian_process import Kernel, Known, known_of
from prudent.networks import Training

ROWS, ACTIONS = 9, 3
TINY = GaussianPrices(
    members=2, completions=8, landmarks=10, samples=4, sizes=prudent.Sizes(latent=4, width=8, embedding=4, summary=8),
    training=Training(rounds=4, steps_per_round=25, batch=64),
)  # fmt: skip


@pytest.fixture(scope="module")
def small() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        "linear": random.normal(size=(ROWS, 2)),
        "smooth": random.normal(size=(ROWS, 4)) / 2,
        "linear_open": np.r_[0.0, random.random(ROWS - 1)],
        "smooth_open": np.r_[0.0, random.random(ROWS - 1) / 3],
        "actions": np.arange(ROWS) % ACTIONS,
        "outcomes": random.normal(size=ROWS),
    }


@pytest.fixture(scope="module")
def strengths() -> process._Strengths:
    return process._Strengths(
        jnp.array([-0.5, -1.0, 0.2]),
        jnp.array([-0.3, 0.1, -0.7]),
        jnp.array([-0.5, -0.2, -1.0]),
        jnp.array([1.0, -0.5]),
    )


class Dense:
    """The same process written out as one covariance of all rows' and actions' surfaces, in double precision."""

    def __init__(self, small: dict[str, np.ndarray], strengths: process._Strengths):
        linear, smooth = (np.asarray(strengths.covariance(part), np.float64) for part in (0, 1))
        features = [np.ones((ROWS, 1)), small["linear"], small["smooth"]]
        parts = [process.CONSTANT_VARIANCE * np.eye(ACTIONS), linear, smooth]
        covariance = sum(np.einsum("ij,ab->iajb", f @ f.T, part) for f, part in zip(features, parts, strict=True))
        row, own = np.arange(ROWS), np.zeros((ROWS, ACTIONS, ROWS, ACTIONS))
        opened = small["linear_open"][:, None, None] * linear + small["smooth_open"][:, None, None] * smooth
        own[row, :, row, :] = opened
        self.surfaces = covariance + own
        self.actions, self.outcomes = small["actions"], small["outcomes"]
        seen = self.surfaces[row, self.actions][:, row, self.actions]
        self.noise = np.exp(2 * np.asarray(strengths.noise, np.float64))
        self.seen = seen + np.diag(self.noise[self.actions])

    def evidence(self) -> float:
        _, determinant = np.linalg.slogdet(self.seen)
        return float(-0.5 * (self.outcomes @ np.linalg.solve(self.seen, self.outcomes) + determinant))

    def deviation(self, of: np.ndarray, row: int) -> np.ndarray:
        """Of a single outcome of one row under each action, given the outcomes of others."""
        across = self.surfaces[row][:, of, self.actions[of]]
        known = across @ np.linalg.solve(self.seen[np.ix_(of, of)], across.T)
        return np.sqrt(np.diag(self.surfaces[row][:, row] - known) + self.noise)

    def expected(self, of: np.ndarray) -> np.ndarray:
        """E[θ | outcomes of these rows], [row, action]."""
        across = self.surfaces[:, :, of, self.actions[of]]
        return across @ np.linalg.solve(self.seen[np.ix_(of, of)], self.outcomes[of])


def test_evidence_and_surfaces_agree_with_the_dense_formulas(small, strengths) -> None:
    dense = Dense(small, strengths)
    arrays = {name: jnp.asarray(part, jnp.float32) for name, part in small.items()}
    known = Known(*(arrays[name] for name in Known._fields))
    took = jax.nn.one_hot(small["actions"], ACTIONS)
    features = jnp.concatenate([jnp.ones((ROWS, 1)), known.linear, known.smooth], axis=1)
    posterior = process._posterior(strengths, known, features, took, arrays["outcomes"])
    assert float(posterior.evidence) == pytest.approx(dense.evidence(), abs=1e-3)
    predicted = process._predicted(strengths, posterior, features, took, arrays["outcomes"])
    everyone = np.arange(ROWS)
    np.testing.assert_allclose(predicted.expected, dense.expected(everyone), atol=2e-3)
    without = np.stack([dense.expected(np.delete(everyone, row))[row] for row in everyone])
    np.testing.assert_allclose(predicted.left_out, without, atol=2e-3)
    spread = np.stack([dense.deviation(np.delete(everyone, row), int(row)) for row in everyone])
    np.testing.assert_allclose(predicted.deviation, spread, atol=5e-3)

    groups = np.array([0, 1, 1, 2, 0, 1, 3, 2, 1])
    members = jnp.asarray(_members(groups))
    by_group = process._predicted(strengths, posterior, features, took, arrays["outcomes"], members)
    np.testing.assert_allclose(by_group.expected, predicted.expected, atol=1e-6)
    others = [np.flatnonzero(groups != group) for group in groups]
    without = np.stack([dense.expected(left)[row] for row, left in enumerate(others)])
    np.testing.assert_allclose(by_group.left_out, without, atol=2e-3)
    spread = np.stack([dense.deviation(left, row) for row, left in enumerate(others)])
    np.testing.assert_allclose(by_group.deviation, spread, rtol=2e-3)


def test_what_is_known_is_the_weighted_mean_and_spread() -> None:
    records = np.random.default_rng(1).normal(size=(30, 2))
    kernel = Kernel.of(records, landmarks=6, seed=0)
    completions, weights = jnp.asarray(records[:3], jnp.float32), jnp.array([0.5, 0.25, 0.25])
    linear, smooth, linear_open, smooth_open = known_of(kernel, completions, weights)
    standard = (records[:3] - records.mean(axis=0)) / records.std(axis=0)
    np.testing.assert_allclose(linear, np.asarray(weights) @ standard, atol=1e-5)
    spread = np.asarray(weights) @ ((standard - np.asarray(weights) @ standard) ** 2).sum(axis=1)
    assert float(linear_open) == pytest.approx(spread, rel=1e-4)
    alone = known_of(kernel, completions[:1], jnp.ones(1))
    assert smooth.shape == (6,)
    assert float(smooth_open) > 0.01
    assert float(alone[2]) == float(alone[3]) == 0.0


def confounded(rows: int, gaps: float) -> tuple[prudent.Log, float]:
    """The sicker are treated more often and do worse; the treatment adds 2 to everyone's outcome, gaps or not."""
    random = np.random.default_rng(5)
    values = random.normal(size=(rows, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    treated = (random.random(rows) < 1 / (1 + np.exp(-1.5 * values[:, 0]))).astype(int)
    outcomes = 2.0 * treated - 1.5 * values[:, 0] + 0.3 * random.normal(size=rows)
    values[random.random(values.shape) < gaps] = np.nan
    return make_log(values, treated, rewards=outcomes), 2.0


def test_effect_on_a_complete_log_needs_no_completing() -> None:
    log, truth = confounded(160, gaps=0.0)
    found = prudent.effects(log, prices=GaussianPrices(landmarks=10))
    assert abs(found.difference_in_means.value - truth) > 1.0
    assert abs(found.outcome_model.value - truth) < 0.15
    assert abs(found.ate.value - truth) < 0.3
    assert found.arms.informed is not None
    assert found.pehe(np.full(len(log), truth), "prices") < 0.3


def test_effect_on_a_log_with_gaps() -> None:
    log, truth = confounded(160, gaps=0.25)
    priced = TINY.fit(log, below=0.0)
    assert priced.informed is not None
    assert priced.tail is not None
    effect = float((priced.informed[:, 1] - priced.informed[:, 0]).mean())
    crude = float(log.rewards[log.actions == 1].mean() - log.rewards[log.actions == 0].mean())
    assert abs(effect - truth) < 0.5 * abs(crude - truth)
    # the probability of an outcome below 0 falls as the price rises
    order = np.argsort(priced.rewards[:, 0])
    assert np.corrcoef(priced.rewards[order, 0], priced.tail[order, 0])[0, 1] < -0.8
    # everyone's effect is the same: predicted differences must not look real because they know the row's own outcome
    found = prudent.effects(log, prices=priced)
    assert found.slope("prices").low < 0
    assert not np.allclose(found.per_row, priced.rewards[:, 1] - priced.rewards[:, 0])
    again = TINY.fit(log)
    np.testing.assert_array_equal(again.rewards, priced.rewards)
    assert again.tail is None


def test_small_effects_on_large_outcomes_survive() -> None:
    log, _ = confounded(160, gaps=0.0)
    far = make_log(np.asarray(log.values), log.actions, rewards=np.asarray(log.rewards) + 1e8)
    near, moved = (GaussianPrices(landmarks=10).fit(own).informed for own in (log, far))
    assert near is not None
    assert moved is not None
    np.testing.assert_allclose(moved - 1e8, near, atol=1e-4)


def test_many_replications_are_learnt_as_each_alone() -> None:
    random = np.random.default_rng(2)
    known = Known(*(jnp.asarray(part, jnp.float32)[None] for part in (
        random.normal(size=(40, 2)), random.normal(size=(40, 3)) / 2, random.random(40), random.random(40)
    )))  # fmt: skip
    actions, outcomes = np.arange(40) % 2, random.normal(size=(3, 40))
    together, alone = surfaces(known, actions, outcomes, 2), surfaces(known, actions, outcomes[1:2], 2)
    np.testing.assert_allclose(together.expected[1], alone.expected[0], atol=1e-3)
    twice = Known(*(jnp.concatenate([part] * 3) for part in known))
    np.testing.assert_allclose(surfaces(twice, actions, outcomes, 2).left_out, together.left_out, atol=1e-3)


def test_settings_and_rows_are_checked() -> None:
    with pytest.raises(prudent.InputProblem, match="members"):
        GaussianPrices(members=0)
    log = make_log(np.zeros((30, 1)), np.arange(30) % 2, rewards=np.r_[np.nan, np.arange(29.0)])
    with pytest.raises(prudent.InputProblem, match="1 without"):
        GaussianPrices().fit(log)
    many = make_log(np.zeros((20_001, 1)), np.arange(20_001) % 2)
    with pytest.raises(prudent.InputProblem, match="at most 20000 rows"):
        GaussianPrices().fit(many)
