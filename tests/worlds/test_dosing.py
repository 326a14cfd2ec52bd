"""The dosing world's closed forms against brute force, and the numbers the design quotes."""

from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from prudent.errors import InputProblem
from prudent.worlds import DosingWorld, Loss, mar, squared_radii

LOSSES = ["quadratic", "absolute", "cliff", Loss(power=2, overdose=0.5, jump=2.0, margin=0.4)]
STRATEGIES: list[tuple[str, dict[str, Any]]] = [
    ("imputation", {}),
    ("expected", {}),
    ("conservative", {"c": 0.1}),
    ("conservative", {"risk": 0.05}),
    ("tail", {"risk": 0.2}),
    ("tail", {"risk": 0.05, "measure": "quantile"}),
    ("most often best", {}),
]


# ---- the posterior


def test_posterior_matches_textbook_conditioning_row_by_row():
    world = DosingWorld(attributes=5, intercept=0.7, seed=3)
    sample = world.sample(40, seed=1)
    posterior = world.posterior(sample.values)
    sigma, slopes = world.contexts.covariance, world.contexts.slopes
    np.testing.assert_allclose(np.diag(sigma), 1.0)
    assert slopes @ sigma @ slopes == pytest.approx(world.target_sd**2)
    for row in range(40):
        o, m = sample.observed[row], ~sample.observed[row]
        gain = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
        filled = sample.full[row].copy()
        filled[m] = gain @ filled[o]
        left = sigma[np.ix_(m, m)] - gain @ sigma[np.ix_(o, m)]
        assert posterior.means[row, 0] == pytest.approx(0.7 + slopes @ filled, abs=1e-10)
        assert posterior.sd[row] == pytest.approx(np.sqrt(slopes[m] @ left @ slopes[m]), abs=1e-7)
        np.testing.assert_allclose(world.mode(sample.values[row : row + 1])[0], filled, atol=1e-10)


def test_mixture_posterior_matches_a_grid_over_configurations_and_gaps():
    world = DosingWorld(attributes=5, categorical=2, loss="quadratic", seed=2)
    contexts = world.contexts
    axis = np.linspace(-7, 7, 181)
    for row in ([0.4, np.nan, -1.1, np.nan, np.nan], [np.nan, 1.2, np.nan, 2.0, np.nan], [1.5, -0.2, 0.3, 1.0, np.nan]):
        values, covariance = np.array([row]), cast(Any, contexts.covariance)
        missing = np.flatnonzero(np.isnan(values[0, :3]))
        grid = np.array(list(product(axis, repeat=len(missing))))
        mass, full = [], []
        for number, levels in enumerate(contexts.levels):
            record = np.concatenate(
                [np.broadcast_to(values[0, :3], (len(grid), 3)), np.tile(levels, (len(grid), 1))], axis=1
            )
            record[:, missing] = grid
            possible = np.all(np.isnan(values[0, 3:]) | (values[0, 3:] == levels))
            density = stats.multivariate_normal.pdf(record[:, :3], contexts.centres[number], covariance)
            mass.append(possible * contexts.prior[number] * np.atleast_1d(density))
            full.append(record)
        weight = np.array(mass) / np.sum(mass)
        posterior = world.posterior(values)
        np.testing.assert_allclose(posterior.weights[0], weight.sum(axis=1), atol=1e-9)
        target = np.array([world.target(record) for record in full])
        assert posterior.mean[0] == pytest.approx(np.sum(weight * target), abs=1e-9)
        theta = np.array([world.theta(record) for record in full])
        np.testing.assert_allclose(world.expected(values)[0], np.einsum("sg,sgd->d", weight, theta), atol=2e-5)
        best = np.argmax(weight.max(axis=1))
        assert contexts.configuration(world.mode(values))[0] == best


def test_categories_keep_means_zero_and_variances_one():
    world = DosingWorld(attributes=6, categorical=2, intercept=-0.5)
    full = world.sample(200_000).full
    np.testing.assert_allclose(full[:, :4].mean(axis=0), 0.0, atol=0.015)
    np.testing.assert_allclose(full[:, :4].std(axis=0), 1.0, atol=0.015)
    assert world.target(full).std() == pytest.approx(world.target_sd, abs=0.02)
    assert world.target(full).mean() == pytest.approx(-0.5, abs=0.02)
    between = [full[full[:, 4] == level, :4].mean(axis=0) for level in range(3)]
    assert np.ptp(between, axis=0).max() > 0.3


@pytest.mark.parametrize("categorical", [0, 2])
def test_completions_hold_observed_cells_and_have_the_posterior(categorical):
    world = DosingWorld(attributes=5, categorical=categorical, seed=4)
    sample = world.sample(4, seed=2)
    draws = world.completions(sample.values, count=60_000, seed=5)
    held = np.broadcast_to(sample.observed[:, None, :], draws.shape)
    full = np.broadcast_to(sample.full[:, None, :], draws.shape)
    np.testing.assert_array_equal(draws[held], full[held])
    theta = np.stack([world.theta(row) for row in draws])
    np.testing.assert_allclose(theta.mean(axis=1), world.expected(sample.values), atol=0.05)
    most = np.stack([np.bincount(row.argmax(axis=1), minlength=world.doses) for row in theta]) / 60_000
    np.testing.assert_allclose(most, world.scores("most often best", sample), atol=0.01)
    for risk in (0.05, 0.3):
        worst = np.sort(theta, axis=1)[:, : int(risk * 60_000)]
        np.testing.assert_allclose(worst.mean(axis=1), world.scores("tail", sample, risk=risk), atol=0.06)
        quantile = world.scores("tail", sample, risk=risk, measure="quantile")
        assert np.all(np.mean(theta < quantile[:, None, :] - 1e-9, axis=1) <= risk + 0.006)
        assert np.all(np.mean(theta <= quantile[:, None, :] + 1e-9, axis=1) >= risk - 0.006)


def test_row_alone_equals_row_in_batch():
    world = DosingWorld(categorical=2)
    sample = world.sample(60, seed=9)
    for strategy, settings in STRATEGIES:
        together = world.scores(strategy, sample, **settings)
        alone = world.scores(strategy, sample.values[7:8], **settings)
        np.testing.assert_allclose(alone[0], together[7], atol=1e-9)


# ---- the strategies


@pytest.mark.parametrize("loss", LOSSES)
def test_tail_matches_dense_quantiles(loss):
    world = DosingWorld(loss=loss, attributes=4, doses=6, seed=1)
    values = world.sample(30, seed=4).values
    posterior = world.posterior(values)
    grid = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    for row in np.flatnonzero(posterior.sd > 0)[:4]:
        target = posterior.means[row, 0] + posterior.sd[row] * grid
        reward = np.sort(-world.loss_function.of(world.levels[:, None] - target), axis=1)
        np.testing.assert_allclose(world.expected(values)[row], reward.mean(axis=1), atol=3e-4)
        for risk in (0.02, 0.2):
            tail = world.scores("tail", values, risk=risk)[row]
            np.testing.assert_allclose(tail, reward[:, : int(risk * 200_000)].mean(axis=1), atol=3e-3)
    np.testing.assert_allclose(world.scores("tail", values, risk=1.0), world.expected(values), atol=1e-9)


@pytest.mark.parametrize("categorical", [0, 2])
def test_plausible_set_holds_the_mass_and_its_worst_case_is_attained(categorical):
    world = DosingWorld(attributes=5, categorical=categorical, seed=6, gaps=0.6)
    sample = world.sample(12, seed=3)
    posterior = world.posterior(sample.values)
    draws = world.completions(sample.values, count=40_000, seed=1)
    mode = world.log_density(world.mode(sample.values))
    density = np.stack([world.log_density(row) for row in draws]) - mode[:, None]
    theta = np.stack([world.theta(row) for row in draws])
    assert np.all(density <= 1e-9)
    sets: list[dict[str, Any]] = [{"c": 0.1}, {"risk": 0.05}, {"risk": 0.4}]
    for settings in sets:
        scores = world.scores("conservative", sample, **settings)
        depth = squared_radii(posterior, c=settings.get("c"), risk=settings.get("risk")).max(axis=1) / 2
        inside = density >= -depth[:, None] - 1e-9
        if "risk" in settings:
            numeric = posterior.gaps > 0
            np.testing.assert_allclose(inside[numeric].mean(axis=1), 1 - settings["risk"], atol=0.008)
        sampled = np.where(inside[:, :, None], theta, np.inf).min(axis=1)
        # Draws cannot beat the exact minimum, and where the gaps are few they come close to it.
        assert np.all(scores <= sampled + 1e-9)
        few = posterior.gaps == 1
        below = sampled[few] - scores[few]
        assert few.any()
        assert np.median(below) < 0.02


def test_sets_over_categories_alone_take_the_likeliest_first():
    world = DosingWorld(attributes=4, categorical=2, seed=1)
    values = np.array([[0.1, -0.3, np.nan, np.nan]])
    posterior = world.posterior(values)
    order = np.argsort(-posterior.weights[0])
    needed = int(np.searchsorted(np.cumsum(posterior.weights[0][order]), 0.7)) + 1
    kept = squared_radii(posterior, c=None, risk=0.3)[0] >= 0
    assert set(np.flatnonzero(kept)) == set(order[:needed])
    full = np.concatenate([np.repeat(values[:, :2], len(order), axis=0), world.contexts.levels], axis=1)
    worst = world.theta(full)[kept].min(axis=0)
    np.testing.assert_allclose(world.scores("conservative", values, risk=0.3)[0], worst, atol=1e-9)


def test_risk_and_c_agree_through_chi_squared():
    world = DosingWorld()
    values = world.sample(400).values
    posterior = world.posterior(values)
    for gaps in (1, 4):
        rows = values[posterior.gaps == gaps]
        risk = float(stats.chi2.sf(-2 * np.log(0.1), gaps))
        by_c = world.scores("conservative", rows, c=0.1)
        np.testing.assert_allclose(world.scores("conservative", rows, risk=risk), by_c, atol=1e-6)


@pytest.mark.parametrize("categorical", [0, 2])
@pytest.mark.parametrize("loss", ["quadratic", "absolute", "cliff"])
def test_c_near_one_is_imputation_and_worst_cases_fall_with_c(categorical, loss):
    world = DosingWorld(categorical=categorical, loss=loss)
    sample = world.sample(300, seed=2)
    imputed = world.scores("imputation", sample)
    np.testing.assert_allclose(imputed, world.theta(world.mode(sample.values)), atol=1e-9)
    near = world.scores("conservative", sample, c=1 - 1e-13)
    jumped = np.abs(near - imputed) > 1e-4
    assert jumped.mean() < 0.002  # a mode within 1e-6 of the cliff's edge may fall over it
    ladder = [world.scores("conservative", sample, c=c) for c in (0.9, 0.1, 1e-3)]
    assert np.all(ladder[0] >= ladder[1])
    assert np.all(ladder[1] >= ladder[2])
    risks = [world.scores("conservative", sample, risk=risk) for risk in (0.5, 0.1, 0.01)]
    assert np.all(risks[0] >= risks[1] - 1e-9)
    assert np.all(risks[1] >= risks[2] - 1e-9)


@pytest.mark.parametrize("categorical", [0, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_without_gaps_all_strategies_agree(categorical, loss):
    world = DosingWorld(gaps=0.0, categorical=categorical, loss=loss, seed=5)
    sample = world.sample(120, seed=3)
    for strategy, settings in STRATEGIES:
        scores = world.scores(strategy, sample, **settings)
        np.testing.assert_array_equal(scores.argmax(axis=1), sample.theta.argmax(axis=1))
        if strategy != "most often best":
            np.testing.assert_allclose(scores, sample.theta, atol=1e-8)


def test_symmetric_loss_makes_all_strategies_agree():
    world = DosingWorld(loss="absolute")
    sample = world.sample(500, seed=1)
    best = world.act("expected", sample)
    for strategy, settings in STRATEGIES:
        assert np.mean(world.act(strategy, sample, **settings) == best) > 0.98


def test_cliff_world_has_the_numbers_of_the_design():
    world = DosingWorld()
    sample = world.sample(20_000, seed=1)
    stated = {
        "imputation": ("imputation", {}, -1.22, 0.112),
        "expected": ("expected", {}, -0.96, 0.038),
        "c=.1": ("conservative", {"c": 0.1}, -1.25, None),
        "c=.001": ("conservative", {"c": 0.001}, -1.92, None),
        "risk=.05": ("conservative", {"risk": 0.05}, -1.57, None),
        "quantile": ("tail", {"risk": 0.05, "measure": "quantile"}, -1.03, 0.023),
        "cvar": ("tail", {"risk": 0.2}, -1.04, 0.019),
    }
    value, harmed = {}, {}
    for name, (strategy, settings, mean, share) in stated.items():
        actions = world.act(strategy, sample, **settings)
        value[name], harmed[name] = world.value(actions, sample), world.catastrophes(actions, sample)
        assert value[name] == pytest.approx(mean, abs=0.06)
        if share is not None:
            assert harmed[name] == pytest.approx(share, abs=0.006)
    by_value = ["expected", "quantile", "cvar", "c=.1", "risk=.05", "c=.001"]
    assert sorted(by_value, key=lambda name: -value[name]) == by_value
    assert value["cvar"] > value["imputation"] > value["risk=.05"]
    assert harmed["cvar"] < harmed["quantile"] < harmed["expected"] < harmed["imputation"]


# ---- gaps, the log, frames


@pytest.mark.parametrize("categorical", [0, 2])
@pytest.mark.parametrize("mechanism", ["mcar", "mar"])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.7])
def test_share_of_gaps(mechanism, share, categorical):
    world = DosingWorld(gaps=share, mechanism=mechanism, categorical=categorical)
    assert 1 - world.sample(20_000).observed.mean() == pytest.approx(share, abs=0.006)


def test_mar_gaps_depend_only_on_what_is_always_observed():
    world = DosingWorld(mechanism="mar")
    sample = world.sample(60_000, seed=1)
    kept = sample.observed.all(axis=0)
    assert kept.tolist() == [True, True] + [False] * 6
    score = sample.full[:, :2].mean(axis=1)
    bins = np.digitize(score, np.quantile(score, [0.02, 0.2, 0.4, 0.6, 0.8, 0.98]))
    for column in range(2, 8):
        gone = ~sample.observed[:, column]
        rates = [gone[bins == b].mean() for b in range(7)]
        assert np.ptp(rates) > 0.3
        # Among patients alike in the score, the missing and the present do not differ in the value itself.
        narrow = np.abs(score - np.median(score)) < 0.05
        here, there = sample.full[narrow & gone, column], sample.full[narrow & ~gone, column]
        error = np.sqrt(here.var() / len(here) + there.var() / len(there))
        assert abs(here.mean() - there.mean()) < 4 * error


def test_propensities_sum_to_one_and_match_the_log():
    world = DosingWorld(doses=5, uniform=0.1, temperature=0.5)
    sample = world.sample(40_000, seed=2)
    np.testing.assert_allclose(sample.propensity.sum(axis=1), 1.0)
    assert sample.propensity.min() >= 0.02 - 1e-12
    taken = np.eye(5)[sample.actions]
    for dose in range(5):
        bins = np.argsort(sample.propensity[:, dose]).reshape(10, -1)
        np.testing.assert_allclose(
            taken[:, dose][bins].mean(axis=1), sample.propensity[:, dose][bins].mean(axis=1), atol=0.03
        )
    np.testing.assert_array_equal(world.propensity(sample.values), sample.propensity)
    # The clinician is biased: the doses given follow the need.
    assert np.corrcoef(sample.actions, world.target(sample.full))[0, 1] > 0.5
    noise = sample.rewards - sample.theta[np.arange(40_000), sample.actions]
    assert noise.std() == pytest.approx(world.noise, abs=0.01)


def test_same_seed_same_rows_and_another_seed_others():
    world = DosingWorld(categorical=1, mechanism="mar")
    one, two, other = (
        world.sample(50, seed=1),
        DosingWorld(categorical=1, mechanism="mar").sample(50, 1),
        world.sample(50, 2),
    )
    assert one.frame().equals(two.frame())
    np.testing.assert_array_equal(one.propensity, two.propensity)
    assert not np.allclose(one.full, other.full)
    assert not np.allclose(world.contexts.slopes, DosingWorld(categorical=1, seed=1).contexts.slopes)


def test_share_of_the_way_runs_from_constant_to_bayes():
    world = DosingWorld(loss="quadratic", doses=5)
    sample = world.sample(4000, seed=3)
    constant = np.full(4000, world.best_constant(sample))
    assert world.share_of_the_way(constant, sample) == pytest.approx(0.0, abs=1e-12)
    assert world.share_of_the_way(world.act("expected", sample), sample) == pytest.approx(1.0)
    assert world.share_of_the_way(sample.theta.argmax(axis=1), sample) > 1.0
    assert 0.2 < world.share_of_the_way(world.act("imputation", sample), sample) < 1.0


def test_frame_is_readable_and_maps_back():
    world = DosingWorld(attributes=24, categorical=3)
    sample = world.sample(300, seed=1)
    frame = sample.frame()
    assert frame.columns[:3] == ["weight", "age", "kidney_function"]
    assert frame.columns[-5:] == ["genotype", "clinic", "smoking", "dose", "outcome"]
    assert len(set(frame.columns)) == 26
    assert frame.drop("dose", "outcome").equals(sample.cases())
    assert list(world.kinds) == sample.cases().columns
    for position, column in enumerate(world.columns):
        cells = frame[column.name]
        np.testing.assert_array_equal(cells.is_null().to_numpy(), ~sample.observed[:, position])
        present = sample.full[sample.observed[:, position], position]
        if column.labels:
            assert cells.drop_nulls().to_list() == [column.labels[int(level)] for level in present]
        else:
            shown = (cells.drop_nulls().to_numpy() - column.location) / column.scale
            np.testing.assert_allclose(shown, present, atol=0.006)
            assert cells.is_nan().sum() == 0
            assert column.location - 4.5 * column.scale > 0
    np.testing.assert_array_equal(world.index(frame["dose"]), sample.actions)
    np.testing.assert_array_equal(world.index(["0", 5, 10.0]), [0, 1, 2])


@pytest.mark.parametrize(
    "settings",
    [
        {"attributes": 0},
        {"doses": 1},
        {"categorical": 4},
        {"gaps": 1.0},
        {"mechanism": "mnar"},
        {"loss": "cubic"},
        {"uniform": 0.0},
        {"attributes": 3, "gaps": 0.7, "mechanism": "mar"},
        {"seed": -1},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InputProblem):
        DosingWorld(**settings)


def test_bad_questions_are_refused():
    world = DosingWorld(categorical=1)
    sample = world.sample(10)
    for strategy, settings in [("best", {}), ("conservative", {}), ("conservative", {"c": 0.1, "risk": 0.1})]:
        with pytest.raises(InputProblem):
            world.scores(strategy, sample, **settings)
    with pytest.raises(InputProblem, match="risk"):
        world.scores("tail", sample, risk=0.0)
    with pytest.raises(InputProblem, match="dose numbers"):
        world.value(np.full(10, -1), sample)
    with pytest.raises(InputProblem, match="shape"):
        world.expected(np.zeros((2, 3)))
    with pytest.raises(InputProblem, match=r"0\.\.2"):
        world.expected(np.full((1, 8), 7.0))
    with pytest.raises(InputProblem, match="None"):
        world.index([None])


def test_a_world_can_record_gaps_made_elsewhere():
    world = DosingWorld(attributes=4, doses=5)
    full = world.sample(200, seed=1).full
    observed = mar(full, 0.3, seed=2)
    sample = world.record(full, observed, seed=3)
    np.testing.assert_array_equal(np.isnan(sample.values), ~observed)
    np.testing.assert_allclose(sample.propensity, world.propensity(np.where(observed, full, np.nan)))
    np.testing.assert_array_equal(sample.rewards, world.record(full, observed, seed=3).rewards)
    assert not np.array_equal(sample.actions, world.record(full, observed, seed=4).actions)
    off = sample.rewards - sample.theta[np.arange(200), sample.actions]
    assert 0.4 < off.std() < 0.6
    with pytest.raises(InputProblem, match="gaps"):
        world.record(sample.values, observed)
    with pytest.raises(InputProblem, match="shape"):
        world.record(full, observed[:5])


@pytest.mark.parametrize("mechanism", ["mcar", "mar"])
def test_only_gaps_can_be_measured(mechanism):
    """Under "mar" some columns have no gaps at all."""
    sample = DosingWorld(attributes=4, doses=5, mechanism=mechanism).sample(10, seed=1)
    value = sample.world.value_of_measuring(sample)
    np.testing.assert_array_equal(np.isnan(value), sample.observed)
    assert value[~sample.observed].min() > -1e-9
