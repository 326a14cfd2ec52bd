"""Rows that belong together: intervals are those of groups, folds keep them whole, a model knows whom it has seen."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest import make_log

from benchmarks.groups import POLICY, WORLDS, coverage, treat_the_severe
from prudent import InputProblem, Log
from prudent.evaluation import (
    EVERY_ESTIMATOR,
    Bootstrap,
    ClippedInversePropensity,
    EmpiricalBernstein,
    LearntPrices,
    LogarithmicSmoothing,
    ShrunkDoublyRobust,
    Student,
    SwitchDoublyRobust,
    Terms,
    as_share,
    cross_fit,
    evaluate,
)
from prudent.evaluation.diagnosis.balance import balance
from prudent.evaluation.diagnosis.calibration import calibration
from prudent.evaluation.effects import BoostedEffects, effects
from prudent.evaluation.intervals import resampled_rows
from prudent.evaluation.kernel_ridge import KernelRidge, action_likeness
from prudent.evaluation.row_terms import Evidence
from prudent.evaluation.usable_rows import groups_seen
from prudent.propensity import (
    BestGuess,
    Boosted,
    FittedPropensity,
    ImputedLogistic,
    Known,
    deal_folds,
    effective_sample_size,
)
from prudent.worlds import DosingWorld

TIMES = 3
EVERY_INTERVAL = (Student(), EmpiricalBernstein(), Bootstrap(draws=200))


def single(rows: int = 80, seed: int = 0, **changes: Any) -> Log:
    """Independent decisions with known propensities: gaps, a category and two actions."""
    random = np.random.default_rng(seed)
    values = np.column_stack([random.normal(size=(rows, 2)), random.integers(0, 3, rows)])
    values[random.random(values.shape) < 0.2] = np.nan
    chance = random.uniform(0.3, 0.7, rows)
    actions = (random.random(rows) < chance).astype(int)
    log = make_log(values, actions, actions + random.normal(size=rows), categories={2: 3})
    return replace(log, propensities=np.where(actions == 1, chance, 1 - chance), **changes)


def repeated(log: Log, times: int = TIMES) -> Log:
    """Every row several times, as one group: it says no more than the row alone."""
    index = np.repeat(np.arange(len(log)), times)
    return replace(log.take(index), groups=index)


def evaluated(log: Log, interval: Any = Student(), **options: Any) -> Any:
    prices = np.column_stack([np.nan_to_num(log.values[:, 0]), 1 + np.nan_to_num(log.values[:, 1])])
    rule = np.eye(2)[(log.values[:, 0] > 0).astype(int)]
    return evaluate({"rule": lambda _: rule}, log, prices=prices, interval=interval, below=-0.5, **options)


# --- intervals ---


def test_the_variance_is_the_cluster_robust_one():
    random = np.random.default_rng(0)
    values, weights, groups = random.normal(size=60), random.random(60), random.integers(0, 12, 60)
    (estimate,) = Student().estimates([Terms.ratio(weights * values, weights).by_group(groups)])
    mean = weights @ values / weights.sum()
    totals = np.array([(weights * (values - mean))[groups == group].sum() for group in np.unique(groups)])
    count = len(totals)
    assert estimate.value == pytest.approx(mean)
    assert estimate.error**2 == pytest.approx(count / (count - 1) * (totals**2).sum() / weights.sum() ** 2)


@pytest.mark.parametrize("interval", EVERY_INTERVAL, ids=lambda interval: type(interval).__name__)
def test_repeating_every_row_in_its_group_changes_no_interval(interval):
    # a limit that is chosen lies between two weights of the rows, and so depends on how many there are
    limited = [ClippedInversePropensity(2.0), SwitchDoublyRobust(2.0), ShrunkDoublyRobust(2.0)]
    plain = [one for one in EVERY_ESTIMATOR if not hasattr(one, "limit")]
    options = {"interval": interval, "estimators": [*plain, *limited]}
    once, often = evaluated(single(), **options), evaluated(repeated(single()), **options)
    for policy in ("rule", "always 1"):
        for by in once.settings.estimators:
            for quantity in ("estimate", "difference", "worst_mean"):
                few, many = (getattr(found, quantity)(policy, estimator=by) for found in (once, often))
                for name in ("value", "error", "low", "high"):
                    assert getattr(many, name) == pytest.approx(getattr(few, name), abs=1e-9, nan_ok=True)
    assert often.at_worst("rule") == pytest.approx(once.at_worst("rule"))
    assert often.effective_groups("rule") == pytest.approx(once.effective_sample_size("rule"))


def test_repeating_every_row_in_its_group_changes_no_diagnosis():
    once, often = (evaluated(log, propensity=BestGuess(2)) for log in (single(200), repeated(single(200))))
    known = replace(once, propensity=_exact(once.log)), replace(often, propensity=_exact(often.log))
    few, many = (found.diagnose("rule") for found in known)
    assert many.mean_weight_error == pytest.approx(few.mean_weight_error)
    assert many.effective_groups == pytest.approx(few.decided_effective_sample_size)
    assert many.groups == 200
    assert many.answer == few.answer
    for one, other in zip(few.balance, many.balance, strict=True):
        for name in ("before", "after", "chance", "gaps_after", "gaps_chance"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-6, nan_ok=True)
    assert few.calibration is not None
    assert many.calibration is not None
    assert many.calibration.error == pytest.approx(few.calibration.error)
    assert many.calibration.chance == pytest.approx(few.calibration.chance, rel=0.5)


def _exact(log: Log) -> FittedPropensity:
    taken = np.asarray(log.propensities)
    both = np.where(np.eye(2)[log.actions] == 1, taken[:, None], 1 - taken[:, None])
    return FittedPropensity.of(log, both)


def test_repeated_rows_without_a_group_look_surer():
    alone, together = repeated(single(200)), repeated(single(200))
    alone = replace(alone, groups=None)
    assert evaluated(alone).estimate("rule").error < 0.65 * evaluated(together).estimate("rule").error
    weights = np.ones(len(alone))
    assert balance(alone, weights, weights)[0].chance == balance(together, weights, weights)[0].chance == 0
    by_row, by_group = calibration(_exact(alone)), calibration(_exact(together), together.groups)
    assert by_row is not None
    assert by_group is not None
    assert by_row.chance < by_group.chance


def test_every_row_its_own_group_is_as_without_groups():
    log = single()
    plain, own = evaluated(log), evaluated(replace(log, groups=np.arange(len(log))))
    for by in plain.settings.estimators:
        few, many = (found.estimate("rule", by) for found in (plain, own))
        assert many.low == pytest.approx(few.low)
        assert many.high == pytest.approx(few.high)
    assert own.at_worst("rule") == pytest.approx(plain.at_worst("rule"))


def test_the_bootstrap_draws_groups():
    groups = np.array([4, 4, 9, 2, 2, 2])
    counts = np.concatenate(list(resampled_rows(6, 300, 0, groups)))
    assert counts.shape == (300, 6)
    assert (counts[:, 0] == counts[:, 1]).all()
    assert (counts[:, 3] == counts[:, 5]).all()
    assert (counts[:, [0, 2, 3]].sum(axis=1) == 3).all()


def test_a_bound_by_group_totals_holds_for_groups_of_different_sizes():
    below = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        groups = np.repeat(np.arange(60), 1 + random.poisson(3, 60))
        rewards = np.clip(0.5 + 0.3 * random.normal(size=60)[groups] + 0.1 * random.normal(size=len(groups)), 0, 1)
        weights = 2.0 * (random.random(len(groups)) < 0.5)
        evidence = Evidence(weights, rewards, rewards, rewards, groups=groups)
        below += LogarithmicSmoothing((0.0, 1.0)).lower_bound(evidence) > 0.5
    assert below <= 5


def test_a_share_of_which_nothing_was_seen_counts_groups():
    found = evaluated(replace(repeated(single(60)), rewards=np.full(180, 2.0) + np.arange(180) % 2))
    share = found.tail_share("always 1", "self-normalised ips")
    assert (share.value, share.error) == (0, 0)
    groups = effective_sample_size(found.evidence("always 1").weights, found.log.groups)
    assert share.high == as_share(share, groups, 0.95).high > as_share(share, 3 * groups, 0.95).high


def test_bounds_under_unrecorded_reasons_draw_groups():
    once, often = evaluated(single()), evaluated(repeated(single()))
    few, many = (found.confounding("rule", "always 1", gammas=[2.0], draws=50) for found in (once, often))
    for one, other in zip(few.bounds, many.bounds, strict=True):
        assert other.interval_low == pytest.approx(one.interval_low)
        assert other.high == pytest.approx(one.high)


@pytest.mark.parametrize("world", list(WORLDS)[1:])
def test_intervals_of_groups_cover_where_those_of_rows_do_not(world):
    found = coverage(WORLDS[world], logs=40)
    for quantity in ("dr, Student", "self-normalised ips, Student"):
        assert found[quantity]["with"]["holds"] >= 0.85
        assert found[quantity]["without"]["holds"] <= 0.8


def test_sentences_and_facts_say_how_many_groups():
    sample = WORLDS["patients differ"].sample(0)
    log = Log.from_frame(sample.frame, action="treated", reward="outcome", propensity="likely", group="patient")
    facts = evaluate({POLICY: treat_the_severe}, log, prices=sample.prices).to_dict()
    assert facts["groups"] == {"column": "patient", "count": 100}
    diagnosis = facts["policies"][0]["diagnosis"]
    assert diagnosis["groups"] == 100
    assert f"{diagnosis['effective_groups']:.0f} groups" in diagnosis["verdict"]
    few = evaluate({POLICY: treat_the_severe}, log.take(np.arange(60)), prices=sample.prices[:60])
    assert any("groups" in note for note in few.notes)


# --- folds ---


def test_folds_never_divide_a_group_and_have_every_action():
    random = np.random.default_rng(0)
    groups = random.integers(0, 40, 300)
    actions = np.where(np.isin(groups, [3, 9, 17, 21, 30]), 2, random.integers(0, 2, 300))
    actions[:10] = -1
    log = replace(make_log(random.normal(size=(300, 2)), actions), groups=groups)
    fold = deal_folds(log, 5, 0)
    assert (fold[actions < 0] == -1).all()
    for group in np.unique(groups):
        assert len(set(fold[(groups == group) & (actions >= 0)])) == 1
    assert set(fold[actions == 2]) == set(range(5))
    with pytest.raises(InputProblem, match="group"):
        deal_folds(replace(log, groups=np.zeros(300, int)), 5, 0)


@pytest.mark.parametrize(
    "propensity", [Boosted(3), BestGuess(3), ImputedLogistic(1, 3)], ids=lambda one: type(one).__name__
)
def test_nothing_is_learnt_of_a_patients_habit(propensity):
    """A record that names the patient says nothing about patients that were left out."""
    random = np.random.default_rng(1)
    patient = np.repeat(np.arange(40), 8)
    habit = random.integers(0, 2, 40)[patient]
    values = np.column_stack([random.normal(size=40)[patient], random.normal(size=40)[patient]])
    log = make_log(values, np.where(random.random(320) < 0.9, habit, 1 - habit))
    blind, told = (propensity.fit(one).taken for one in (replace(log, groups=patient), log))
    assert np.log(blind).mean() > np.log(told).mean() - 1  # both are probabilities
    if isinstance(propensity, Boosted):
        assert np.log(told).mean() > np.log(blind).mean() + 0.1


def test_prices_are_learnt_without_the_group():
    random = np.random.default_rng(2)
    patient = np.repeat(np.arange(40), 8)
    own = random.normal(size=(40, 2))[patient]
    log = make_log(own, random.integers(0, 2, 320), random.normal(size=40)[patient] * 3 + 0.1 * random.normal(size=320))
    grouped = replace(log, groups=patient)
    told, blind = (LearntPrices(3).fit(one).rewards.std() for one in (log, grouped))
    assert blind < 0.5 * told


def test_penalty_and_width_are_chosen_without_the_group():
    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(6), [1, 2, 3, 4, 2, 8])
    table, actions = random.normal(size=(20, 2)), random.integers(0, 2, 20)
    outcomes, rows = table[:, 0] + random.normal(size=6)[groups], np.arange(20)
    likeness = action_likeness(["a", "b"])
    chosen = KernelRidge.chosen(table, likeness, actions, outcomes, rows, groups)
    centred, errors = outcomes - outcomes.mean(), {}
    for width in (0.1, 0.3, 1.0):
        for penalty in 10.0 ** np.arange(-2.0, 1.6, 0.5):
            ridge = KernelRidge(table, likeness, width, penalty)
            left_out = np.zeros(20)
            for group in range(6):
                own, others = rows[groups == group], rows[groups != group]
                kernel = ridge._kernel(actions, others, others) + penalty * np.eye(len(others))
                across = ridge._kernel(actions, own, others)
                left_out[own] = centred[own] - across @ np.linalg.solve(kernel, centred[others])
            errors[width, penalty] = (left_out**2).mean()
    assert (chosen.width, chosen.penalty) == pytest.approx(min(errors, key=lambda tried: errors[tried]))


def test_effects_by_group():
    log = single(120)
    prices = np.zeros((120, 2))
    study = {"propensity": Known(), "treated": 1}
    once = effects(log, prices=prices, **study)
    often = effects(repeated(log), prices=np.repeat(prices, TIMES, axis=0), **study)
    for one, other in zip(once.to_frame().to_dicts(), often.to_frame().to_dicts(), strict=True):
        assert [other[name] for name in ("effect", "low", "high")] == pytest.approx(
            [one[name] for name in ("effect", "low", "high")]
        )
    few, many = once.by("x2").to_dicts(), often.by("x2").to_dicts()
    assert [one["error"] for one in many] == pytest.approx([one["error"] for one in few])
    assert often.to_dict()["group_count"] == 120
    assert len(set(np.round(BoostedEffects(2).fit(often.log, often.arms), 9))) <= 120


# --- who was seen ---


WORLD = DosingWorld(attributes=3, doses=3, gaps=0.3)


@pytest.fixture(scope="module")
def fitted() -> Any:
    exact = WORLD.exact_model()
    return replace(exact, roles=replace(exact.roles, group="patient"))


def later(fitted: Any, patients: np.ndarray, seed: int = 3) -> Log:
    import polars as pl

    return fitted.read(WORLD.sample(len(patients), seed=seed).frame().with_columns(pl.Series("patient", patients)))


def test_other_rows_of_patients_that_were_seen_are_a_warning(fitted):
    past, new = later(fitted, np.arange(60), seed=1), later(fitted, np.arange(1000, 1060))
    knows = replace(fitted, groups=np.unique(np.asarray(past.groups)), fingerprints=np.sort(past.fingerprints()))
    again = later(fitted, np.arange(60))
    assert groups_seen(knows, again).all()
    assert not groups_seen(knows, new).any()
    found = evaluate({"policy": knows.policy()}, again)
    assert any("100%" in note and "'patient'" in note for note in found.notes)
    assert "model" not in found.prices.source
    assert not any("'patient'" in note and "%" in note for note in evaluate({"policy": knows.policy()}, new).notes)
    with pytest.raises(InputProblem, match="fitted on these rows"):
        evaluate({"policy": knows.policy()}, past)


def test_cross_fitting_leaves_whole_groups_out(fitted):
    class Remembers:
        """Settings whose fit takes no time."""

        def fit(self, log: Log, seed: int) -> Any:
            groups = np.unique(np.asarray(log.groups))
            return replace(fitted, groups=groups[groups >= 0], fingerprints=np.sort(log.fingerprints()))

    log = later(fitted, np.random.default_rng(0).integers(0, 25, 200))
    crossed = cross_fit(Remembers(), log, folds=4)
    which = crossed.unseen(log)
    for group in np.unique(np.asarray(log.groups)):
        assert len(set(which[log.groups == group])) == 1
    for index, model in enumerate(crossed.models):
        assert not groups_seen(model, log)[which == index].any()
    with pytest.raises(InputProblem, match="group"):
        cross_fit(Remembers(), later(fitted, np.arange(60) % 3), folds=4)
