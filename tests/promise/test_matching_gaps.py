"""Limits for cases with more gaps than the held-out decisions: what is masked, what is not, and the truth of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import COMPLETIONS, visits
from scipy import stats

from prudent.decide import Conservative, MaximumExpectedReward, Search, Strategy, Support, TailAverse
from prudent.errors import InputProblem
from prudent.evaluation import LearntPrices, MaskedPolicy, evaluate
from prudent.promise import DEFAULT_SETTINGS, KnownTruth, frontier, matching_gaps, mildest
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")

FEW: tuple[Strategy, ...] = (Conservative(c=0.001), TailAverse(risk=0.2), MaximumExpectedReward())


def random_gaps(rows: int, columns: int = 6, share: float = 0.3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, columns)) >= share


def counted(patterns: np.ndarray) -> dict[bytes, int]:
    unique, counts = np.unique(patterns, axis=0, return_counts=True)
    return {pattern.tobytes(): count for pattern, count in zip(unique, counts.tolist(), strict=True)}


# --- which cells are hidden ---


def test_rows_without_gaps_get_exactly_the_gaps_of_the_cases():
    cases = random_gaps(50)
    masked = matching_gaps(np.ones((200, 6), bool), cases, seed=0)
    assert counted(masked) == {pattern: 4 * count for pattern, count in counted(cases).items()}
    assert (masked != matching_gaps(np.ones((200, 6), bool), cases, seed=1)).any()
    # not a whole number of times: as evenly as possible; and of more cases than rows a random part
    uneven = counted(matching_gaps(np.ones((75, 6), bool), cases, seed=0))
    assert all(count <= uneven.get(pattern, 0) <= 2 * count for pattern, count in counted(cases).items())
    fewer = counted(matching_gaps(np.ones((20, 6), bool), cases, seed=0))
    assert all(count <= counted(cases)[pattern] for pattern, count in fewer.items())


def test_rows_with_the_gaps_of_the_cases_are_left_as_they_are():
    rows = random_gaps(120)
    order = np.random.default_rng(5).permutation(120)
    np.testing.assert_array_equal(matching_gaps(rows, rows[order], seed=3), rows)


@pytest.mark.parametrize(("own", "wanted"), [(0.1, 0.4), (0.3, 0.3), (0.5, 0.2)])
def test_a_gap_stays_a_gap_and_no_more_is_hidden_than_the_cases_ask_for(own, wanted):
    rows, cases = random_gaps(400, share=own, seed=1), random_gaps(300, share=wanted, seed=2)
    masked = matching_gaps(rows, cases, seed=0)
    assert not (masked & ~rows).any()
    reached, asked = 1 - masked.mean(axis=0), 1 - cases.mean(axis=0)
    assert (reached >= asked - 0.02).all()  # as many gaps as the cases, or more
    # hiding at random, on top of the gaps that are there, would end with this share of gaps
    assert reached.mean() < own + wanted - own * wanted - 0.02
    np.testing.assert_array_equal(masked, matching_gaps(rows, cases, seed=0))


def test_many_cases_are_sampled():
    rows = np.ones((300, 12), bool)
    masked = matching_gaps(rows, random_gaps(5000, columns=12, share=0.4), seed=0)
    assert masked.mean() == pytest.approx(0.6, abs=0.03)


# --- policies that see less ---


def test_a_masked_policy_decides_as_if_cells_were_missing_and_the_rest_stays(fitted_models):
    fitted = fitted_models["causal"]
    frame = visits(150, seed=5)
    frame.loc[[3, 70], "outcome"] = np.nan
    later = fitted.read(frame)
    policy = fitted.policy(completions=COMPLETIONS)
    shown = random_gaps(150, columns=len(fitted.schema), share=0.5, seed=4)
    shown[10:20] = False
    options: dict[str, Any] = {"prices": LearntPrices()}
    plain = evaluate({"p": policy}, later, **options)
    masked = evaluate({"p": MaskedPolicy(policy, shown), "whole": policy}, later, **options)
    hidden = frame[list(fitted.schema.names)].where(shown)
    advised = [label for row, label in enumerate(policy.recommend(hidden).actions) if row not in (3, 70)]
    assert [fitted.action_labels[at] for at in masked.probabilities["p"].argmax(axis=1)] == advised
    assert len({*advised[9:19]}) == 1  # where nothing is known, all are treated alike
    np.testing.assert_array_equal(masked.probabilities["whole"], plain.probabilities["p"])
    np.testing.assert_array_equal(masked.propensity.taken, plain.propensity.taken)
    np.testing.assert_array_equal(masked.prices.rewards, plain.prices.rewards)
    assert 0 < masked.differently("p", "whole") < 1


def test_a_masked_policy_of_a_model_that_saw_the_rows_is_refused(fitted_models, frame):
    fitted = fitted_models["causal"]
    seen = fitted.read(frame)
    with pytest.raises(InputProblem, match="fitted on these rows"):
        frontier(fitted, seen, below=-1.5, settings=FEW, completions=COMPLETIONS, cases=frame)


# --- the truth ---


@pytest.fixture(scope="module")
def clinic():
    """A world with a cliff, known exactly: complete held-out decisions, and cases with 40 % of their cells missing."""
    complete = DosingWorld(gaps=0.0, seed=1, doses=5, attributes=4)
    model = complete.exact_model()
    model = replace(model, roles=replace(model.roles, propensity="likely"))
    later, cases = complete.sample(1000, seed=2), replace(complete, gaps=0.4).sample(1000, seed=3)
    likely = later.propensity[np.arange(1000), later.actions]
    log = model.read(later.frame().with_columns(pl.Series("likely", likely)))
    options: dict[str, Any] = {"completions": COMPLETIONS, "search": Search(steps=0)}
    shares = {}
    for setting in FEW:
        dose = complete.index(model.policy(setting, **options).recommend(cases.cases()).actions)
        theta = cases.theta[np.arange(1000), dose]
        shares[repr(setting)] = float(stats.norm.cdf((-5 - theta) / complete.noise).mean())
    return model, log, cases, shares


def test_a_limit_shown_without_gaps_breaks_with_gaps_and_one_shown_with_such_gaps_holds(clinic):
    model, log, cases, truth = clinic
    options: dict[str, Any] = {"below": -5, "settings": FEW, "completions": COMPLETIONS}
    as_it_was = frontier(model, log, **options)
    masked = frontier(model, log, cases=cases.cases(), **options)
    limits = (0.015, 0.03, 0.045, 0.07, 0.15)
    # without gaps all settings decide alike, and the tie goes to the mildest, which is the worst for these cases
    assert all(as_it_was.choose(limit) == MaximumExpectedReward() for limit in limits)
    assert [truth[repr(as_it_was.choose(limit))] > limit for limit in limits] == [True, True, True, False, False]
    chosen = {limit: masked.certify(limit).best for limit in limits}
    assert chosen[0.015] is None
    assert chosen[0.15] == MaximumExpectedReward()
    assert isinstance(chosen[0.07], TailAverse | Conservative)  # caution is worth something to them
    assert all(best is None or truth[repr(best)] <= limit for limit, best in chosen.items())
    for point in masked.points:  # each share is that of the cases, up to sampling error
        assert abs(point.tail_share.value - truth[repr(point.strategy)]) < 4 * point.tail_share.error
    assert "the cases" in masked.certify(0.15).sentence
    assert "the held-out decisions" in as_it_was.certify(0.15).sentence
    hidden = f"{1 - cases.observed.mean():.0%} of the recorded cells"
    assert any(hidden in note and "1,000 cases" in note for note in masked.notes)


def test_settings_that_decide_alike_share_a_line_and_the_mildest_is_chosen(clinic):
    model, log, _, _ = clinic
    for ordered in (FEW, FEW[::-1]):
        found = frontier(model, log.take(np.arange(300)), below=-5, settings=ordered, completions=COMPLETIONS)
        assert all(point.alike == tuple(map(repr, ordered)) for point in found.points)
        certificate = found.certify(0.5)
        assert certificate.best == MaximumExpectedReward()
        assert f"All {len(ordered)} settings" in certificate.sentence
        assert "alike" in certificate.sentence
        assert str(found).count("±") == 3  # one line


def test_the_truth_of_known_cases_knows_who_decides_alike(clinic):
    model, _, cases, _ = clinic
    complete = KnownTruth(replace(cases, values=cases.full, observed=np.ones_like(cases.observed)).cases(), cases.theta)
    found = frontier(model, complete, below=-5, settings=FEW, completions=COMPLETIONS)
    assert found.points[0].alike == tuple(map(repr, FEW))
    assert found.choose(0.5) == MaximumExpectedReward()
    with_gaps = frontier(model, cases.known_truth(model), below=-5, settings=FEW, completions=COMPLETIONS)
    assert [point.alike for point in with_gaps.points] == [(repr(setting),) for setting in FEW]
    with pytest.raises(InputProblem, match="'cases'"):
        frontier(model, complete, below=-5, settings=FEW, cases=cases.cases())


def test_the_mildest_is_nearest_to_the_expected_reward():
    settings = [Conservative(c=0.001), TailAverse(risk=0.05), Conservative(risk=0.2), TailAverse(risk=0.5)]
    assert mildest(settings, range(4)) == 3
    assert mildest(settings, [0, 1, 2]) == 2
    assert mildest([*settings, MaximumExpectedReward()], range(5)) == 4
    assert DEFAULT_SETTINGS[mildest(DEFAULT_SETTINGS, range(len(DEFAULT_SETTINGS)))] == MaximumExpectedReward()


# --- what cannot be matched ---


def test_held_out_rows_with_more_gaps_than_the_cases_are_said(fitted_models):
    fitted = fitted_models["causal"]
    later = fitted.read(visits(120, seed=5, gaps=0.5))
    found = frontier(
        *(fitted, later), below=-1.5, settings=FEW[2:], completions=COMPLETIONS, cases=visits(60, seed=8, gaps=0.1)
    )
    note = next(note for note in found.notes if "more gaps than the cases" in note)
    assert sum(f"'{name}'" in note for name in fitted.schema.names) == 3
    assert "and 4 more" in note
    alike = frontier(
        *(fitted, later), below=-1.5, settings=FEW[2:], completions=COMPLETIONS, cases=visits(60, seed=8, gaps=0.7)
    )
    assert not any("more gaps" in note for note in alike.notes)


def test_a_column_that_was_never_tested_is_refused(fitted_models):
    fitted = fitted_models["causal"]
    frame = visits(60, seed=5).assign(marker=np.nan)
    options: dict[str, Any] = {"below": -1.5, "settings": FEW[2:], "completions": COMPLETIONS}
    with pytest.raises(InputProblem, match="'marker' is empty"):
        frontier(fitted, fitted.read(frame), cases=visits(30, seed=8), **options)
    without = visits(30, seed=8).assign(marker=np.nan)
    assert frontier(fitted, fitted.read(frame), cases=without, **options).points


def test_referred_rows_are_said_and_have_no_known_truth(fitted_models):
    fitted = fitted_models["causal"]
    options: dict[str, Any] = {"below": -1.5, "settings": FEW[2:], "completions": COMPLETIONS}
    nothing_open = Support(rows=10**6)
    later = fitted.read(visits(60, seed=5))
    found = frontier(fitted, later, support=nothing_open, **options)
    assert any("60 of 60 rows" in note for note in found.notes)
    assert not any("refer" in note for note in frontier(fitted, later, **options).notes)
    cases = visits(20, seed=8).drop(columns=["dose", "outcome"])
    with pytest.raises(InputProblem, match=r"20 of the 20 cases.*support=None"):
        frontier(fitted, KnownTruth(cases, np.zeros((20, 3))), support=nothing_open, **options)


def test_no_cases_mask_nothing(fitted_models):
    fitted = fitted_models["causal"]
    later = fitted.read(visits(60, seed=5))
    options: dict[str, Any] = {"below": -1.5, "settings": FEW[2:], "completions": COMPLETIONS}
    plain = frontier(fitted, later, **options)
    for cases in (visits(60, seed=5), visits(0)):
        found = frontier(fitted, later, cases=cases, **options)
        assert found.points == plain.points
