"""Diagnosis: every number by hand on a log of eight rows, every verdict, and balance in a world with known answers."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from prudent import Log
from prudent.errors import InputProblem
from prudent.evaluation import Bootstrap, Diagnosis, Direct, EmpiricalBernstein, Estimate, evaluate
from prudent.evaluation.diagnosis.balance import AttributeBalance, balance
from prudent.evaluation.diagnosis.calibration import Calibration, calibration
from prudent.evaluation.diagnosis.support import Support, heaviest_share, support, weight_histogram
from prudent.propensity import FittedPropensity
from prudent.worlds import DosingWorld

KINDS: Any = {"age": "real", "ward": "categorical", "smoker": "boolean", "flat": "real", "grade": ["low", "high"]}
ACTIONS = np.array([0, 1, 1, 0, 1, 0, 1, 0])
LIKELY = np.array([0.5, 0.25, 0.8, 0.5, 0.005, 0.4, 0.5, 0.2])  # of the action that was taken
FRAME = pl.DataFrame(
    {
        "age": [31.0, 47.0, None, 60.0, 52.0, 75.0, 40.0, None],
        "ward": ["north", "south", "north", "west", None, "south", "north", "west"],
        "smoker": ["no", "no", "yes", None, "yes", "no", "no", "yes"],
        "flat": [3.3] * 8,
        "grade": ["low", "high", None, "low", "high", "high", "low", "low"],
        "dose": np.array(["a", "b"])[ACTIONS],
        "outcome": [1.0, 0.0, 2.0, 1.5, 3.0, 0.5, 1.0, 2.5],
        "likely": LIKELY,
    }
)
WANTED = np.array([0, 1, 0, 0, 1, 1, 1, 0])  # agrees with the log in rows 0, 1, 3, 4, 6, 7
MIXED = np.array([[0.7, 0.3], [0.4, 0.6], [0, 1], [1, 0], [0.9, 0.1], [np.nan, np.nan], [0.2, 0.8], [1, 0]])


def eight(**settings: Any) -> Log:
    return Log.from_frame(FRAME, action="dose", reward="outcome", propensity="likely", kinds=KINDS, **settings)


def judged(policies: dict[str, Any], log: Log | None = None, **settings: Any) -> Any:
    """With prices of zero; answers are fixed, whatever the cases."""
    log = eight() if log is None else log
    prices = np.zeros((len(log), len(log.action_labels)))
    fixed = {name: (lambda _, given=given: given) for name, given in policies.items()}
    return evaluate(fixed, log, prices=prices, **settings)


def with_probabilities(found: Any, probabilities: np.ndarray) -> Any:
    """The same evaluation as if these probabilities of every action had been fitted."""
    actions = found.log.actions
    taken = probabilities[np.arange(len(actions)), actions]
    known = FittedPropensity(taken, probabilities, actions, found.log.action_labels)
    return replace(found, propensity=known)


def both(likely: np.ndarray = LIKELY) -> np.ndarray:
    return np.where(ACTIONS[:, None] == np.arange(2), likely[:, None], 1 - likely[:, None])


# --- numbers, by hand ---


def test_counts_and_weights_of_a_deterministic_policy() -> None:
    found = judged({"p": np.array(["a", "b"])[WANTED]}).diagnose("p")
    assert (found.policy, found.rows, found.decided, found.matched, found.referred) == ("p", 8, 8, 6, 0.0)
    assert found.match_rate == 6 / 8
    weights = np.array([2.0, 4.0, 0.0, 2.0, 200.0, 0.0, 2.0, 5.0])
    assert found.effective_sample_size == pytest.approx(215**2 / (4 + 16 + 4 + 40_000 + 4 + 25), abs=1e-9)
    assert found.decided_effective_sample_size == found.effective_sample_size
    assert found.mean_weight == pytest.approx(215 / 8, abs=1e-9)
    error = math.sqrt(sum((w - 215 / 8) ** 2 for w in weights) / 7 / 8)
    assert found.mean_weight_error == pytest.approx(error, abs=1e-9)
    assert found.heaviest_share == pytest.approx(200 / 215, abs=1e-9)
    assert found.reward_spread == pytest.approx(float(FRAME["outcome"].std(ddof=0)), abs=1e-9)  # pyright: ignore[reportArgumentType]
    assert found.prices == "given"


def test_referred_rows_count_as_done_as_logged() -> None:
    found = judged({"p": MIXED}).diagnose("p")
    own = np.array([0.7, 0.6, 1.0, 1.0, 0.1, 1.0, 0.8, 1.0])
    assert (found.decided, found.matched, found.referred) == (7, 7, 1 / 8)
    assert found.match_rate == pytest.approx(own.mean(), abs=1e-12)
    weights = own / LIKELY
    weights[5] = 1.0
    assert found.effective_sample_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), abs=1e-9)
    rest = np.delete(weights, 5)
    assert found.decided_effective_sample_size == pytest.approx(rest.sum() ** 2 / (rest**2).sum(), abs=1e-9)


def test_the_histogram_counts_rows_and_weight() -> None:
    found = judged({"p": np.array(["a", "b"])[WANTED]}).diagnose("p").weights
    assert found.edges == (0.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
    assert found.counts == (3, 2, 0, 0, 0, 0, 1)
    assert found.shares == pytest.approx([6 / 215, 9 / 215, 0, 0, 0, 0, 200 / 215], abs=1e-12)
    assert found.unmatched == 2


@pytest.mark.parametrize(
    ("weights", "edges", "counts"),
    [
        ([0.0, 0.0], (0.0, 1.0), (0,)),
        ([1.0, 1.0], (0.0, 1.0), (2,)),
        ([0.001, 0.3], (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), (1, 0, 0, 0, 0, 1)),
        ([1e-5], (0.0, 0.01), (1,)),
        ([7.0, 1e6], (0.0, 10.0, *(d * 10.0**p for p in range(1, 6) for d in (2, 5, 10))), (1, *[0] * 14, 1)),
    ],
)
def test_edges_are_readable(weights: list[float], edges: tuple[float, ...], counts: tuple[int, ...]) -> None:
    found = weight_histogram(np.array(weights))
    assert found.edges == edges
    assert found.counts == counts
    assert sum(found.counts) + found.unmatched == len(weights)


def test_the_heaviest_hundredth_is_counted_up() -> None:
    assert heaviest_share(np.arange(150.0)) == pytest.approx((149 + 148) / np.arange(150).sum(), abs=1e-12)
    assert math.isnan(heaviest_share(np.zeros(3)))


def test_support_with_all_probabilities_is_over_all_rows() -> None:
    log_ = judged({"p": np.array(["a", "b"])[WANTED]})
    found = with_probabilities(log_, both()).diagnose("p").support
    # of the wanted action: .5, .25, .2 (the other one), .5, .005, .6 (the other one), .5, .2
    assert found == Support(0.005, 0.005, 0.005, 1 / 8, "b", 0.02)
    quantiles = support(
        FittedPropensity(
            np.full(100, 0.5), np.linspace(0.01, 1, 100)[:, None] * [1, 0], np.zeros(100, int), ("a", "b")
        ),
        np.tile([1.0, 0.0], (100, 1)),
        np.ones(100),
    )
    assert quantiles.smallest == pytest.approx(0.01, abs=1e-12)
    assert quantiles.first_percentile == pytest.approx(0.01, abs=1e-12)
    assert quantiles.fifth_percentile == pytest.approx(0.05, abs=1e-12)
    assert (quantiles.outside, quantiles.action) == (0.01, "a")  # at 0.01; 0.02 itself is inside


def test_support_counts_each_action_of_a_mixture_by_its_probability() -> None:
    likely = np.array([0.5, 0.25, 0.8, 0.5, 0.005, 0.4, 0.995, 0.2])
    found = with_probabilities(judged({"p": MIXED}), both(likely)).diagnose("p").support
    # row 4 wants 'b' (.005) by .1, row 6 wants 'a' (.005) by .2; row 5 is referred and counts among the rows only
    assert found.outside == pytest.approx((0.1 + 0.2) / 8, abs=1e-12)
    assert found.action == "a"
    assert found.smallest == pytest.approx(0.005, abs=1e-12)


def test_support_with_the_taken_probabilities_alone_weighs_the_rows_that_agree() -> None:
    found = judged({"p": np.array(["a", "b"])[WANTED]}).diagnose("p").support
    assert found.outside == pytest.approx(200 / 215, abs=1e-12)
    assert (found.smallest, found.fifth_percentile, found.action) == (0.005, 0.005, "b")
    found = judged({"p": np.where(np.arange(8) == 4, "a", np.array(["a", "b"])[WANTED])}).diagnose("p").support
    # weights 5, 4, 2, 2, 2 at .2, .25, .5, .5, .5
    assert (found.smallest, found.first_percentile, found.outside, found.action) == (0.2, 0.2, 0.0, None)


def test_calibration_by_hand() -> None:
    probabilities = np.array([[0.15, 0.85], [0.2, 0.8], [0.12, 0.88], [0.5, 0.5]])
    found = calibration(FittedPropensity(np.full(4, 0.5), probabilities, np.array([1, 0, 1, 1]), ("a", "b")))
    assert found is not None
    rows = [tuple(asdict(one).values()) for one in found.bins]
    expected = [
        (0.1, 0.2, (0.15 + 0.2 + 0.12) / 3, 1 / 3, 3),
        (0.4, 0.5, 0.5, 0.5, 2),
        (0.7, 0.8, 0.8, 0.0, 1),
        (0.8, 0.9, (0.85 + 0.88) / 2, 1.0, 2),
    ]
    assert np.array(rows) == pytest.approx(np.array(expected), abs=1e-12)
    error = (abs(0.47 - 1) + 0 + 0.8 + abs(1.73 - 2)) / 8
    assert found.error == pytest.approx(error, abs=1e-12)
    assert found.misplaced == pytest.approx(error, abs=1e-12)  # two actions: error · 2 / 2
    spread = [0.15 * 0.85 + 0.2 * 0.8 + 0.12 * 0.88, 0.5, 0.8 * 0.2, 0.85 * 0.15 + 0.88 * 0.12]
    assert found.chance == pytest.approx(sum(math.sqrt(2 / math.pi * one) for one in spread) / 8, abs=1e-12)


def test_calibration_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    probabilities = random.dirichlet(np.ones(3), 50)
    fitted = FittedPropensity(np.full(50, 0.3), probabilities, random.integers(0, 3, 50), ("a", "b", "c"))
    whole = calibration(fitted)
    monkeypatch.setattr("prudent.evaluation.diagnosis.calibration.BLOCK_CELLS", 21)
    parts = calibration(fitted)
    assert whole is not None
    assert parts is not None
    assert parts.error == pytest.approx(whole.error, abs=1e-12)
    assert [one.count for one in parts.bins] == [one.count for one in whole.bins]


def test_right_probabilities_are_about_as_far_off_as_chance_and_wrong_ones_farther() -> None:
    random = np.random.default_rng(1)
    probabilities = random.dirichlet([1.0, 2.0, 3.0], 4000)
    actions = (random.random((4000, 1)) > np.cumsum(probabilities, axis=1)[:, :2]).sum(axis=1)
    right = calibration(FittedPropensity(np.full(4000, 0.3), probabilities, actions, ("a", "b", "c")))
    wrong = calibration(FittedPropensity(np.full(4000, 0.3), probabilities[:, ::-1], actions, ("a", "b", "c")))
    assert right is not None
    assert wrong is not None
    assert 0.3 < right.error / right.chance < 1.7
    assert wrong.error > 5 * wrong.chance


def test_only_logged_probabilities_leave_calibration_unknown() -> None:
    assert judged({"p": MIXED}).diagnose("p").calibration is None
    assert with_probabilities(judged({"p": MIXED}), both()).diagnose("p").calibration is not None


# --- balance ---


def by_hand(values: Sequence[float | None], before: np.ndarray, after: np.ndarray) -> tuple[float, float, float]:
    """One numeric attribute: differences before and after weighting and the chance error of the latter."""
    known = {row: value for row, value in enumerate(values) if value is not None}
    rows, cells = list(known), list(known.values())
    mean = sum(cells) / len(cells)
    centred = [cell - mean for cell in cells]
    spread = math.sqrt(sum(c**2 for c in centred) / len(cells))

    def difference(weights: np.ndarray) -> float:
        own = [weights[row] for row in rows]
        return sum(w * c for w, c in zip(own, centred, strict=True)) / sum(own) / spread

    own = [after[row] for row in rows]
    level = sum(own) / len(own)
    moved = sum((w / level - 1) ** 2 * c**2 for w, c in zip(own, centred, strict=True))
    return difference(before), difference(after), math.sqrt(moved) / len(cells) / spread


def numbers_of(one: AttributeBalance) -> tuple[float, float, float]:
    return one.before, one.after, one.chance


def gaps_of(one: AttributeBalance) -> tuple[float, float, float]:
    return one.gaps_before, one.gaps_after, one.gaps_chance


@pytest.mark.parametrize("cells", [4_000_000, 8])  # all columns at once, and one by one
def test_balance_of_numbers_gaps_and_categories_by_hand(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prudent.evaluation.diagnosis.balance.BLOCK_CELLS", cells)
    found = {one.attribute: one for one in judged({"p": MIXED}).diagnose("p").balance}
    before = np.array([0.7, 0.6, 1.0, 1.0, 0.1, 1.0, 0.8, 1.0])
    after = np.where(np.arange(8) == 5, 1.0, before / LIKELY)
    encoded = eight()
    ages = [float(v) if o else None for v, o in zip(encoded.values[:, 0], encoded.observed[:, 0], strict=True)]
    assert numbers_of(found["age"]) == pytest.approx(by_hand(ages, before, after), abs=1e-9)
    # an ordinal attribute is a number: its level
    grades = [None if v is None else float(v == "high") for v in FRAME["grade"]]
    assert numbers_of(found["grade"]) == pytest.approx(by_hand(grades, before, after), abs=1e-6)
    for name in ("age", "ward", "smoker"):
        gaps = [float(v is None) for v in FRAME[name]]
        assert gaps_of(found[name]) == pytest.approx(by_hand(gaps, before, after), abs=1e-9), name
    for name, levels in {"ward": ("north", "south", "west"), "smoker": ("no", "yes")}.items():
        each = [
            by_hand([None if v is None else float(v == level) for v in FRAME[name]], before, after) for level in levels
        ]
        most = max(each, key=lambda one: abs(one[1]))
        expected = max(abs(one[0]) for one in each), abs(most[1]), most[2]
        assert numbers_of(found[name]) == pytest.approx(expected, abs=1e-9), name
    assert {one.attribute for one in judged({"p": MIXED}).diagnose("p").balance} == set(KINDS)


def test_a_constant_column_has_no_difference_and_no_gaps_none_in_their_share() -> None:
    found = judged({"p": MIXED}).diagnose("p")
    flat = next(one for one in found.balance if one.attribute == "flat")
    assert numbers_of(flat) == (0.0, 0.0, 0.0)
    assert gaps_of(flat) == (0.0, 0.0, 0.0)


def test_a_column_that_is_nothing_but_gaps_has_no_difference_to_name() -> None:
    first = eight()
    empty = FRAME.with_columns(pl.lit(None, pl.Float64).alias("age"), pl.lit(None, pl.String).alias("ward"))
    roles: Any = {"action": "dose", "reward": "outcome", "propensity": "likely"}
    log = Log.from_frame(empty, **roles, schema=first.schema, action_labels=first.action_labels)
    found = judged({"p": MIXED}, log).diagnose("p")
    for one in found.balance[:2]:
        assert all(map(math.isnan, numbers_of(one)))
        assert gaps_of(one) == (0.0, 0.0, 0.0)
    assert found.to_dict()["balance"][0]["after"] is None
    assert "age" in str(found)


def test_weighting_balances_what_the_clinician_looked_at() -> None:
    world = DosingWorld(attributes=5, doses=3, categorical=1, seed=3)
    sample = world.sample(20_000, seed=0)
    taken = sample.propensity[np.arange(len(sample)), sample.actions]
    frame = sample.frame().with_columns(pl.Series("likely", taken))
    log = Log.from_frame(frame, action="dose", reward="outcome", propensity="likely", kinds=world.kinds)
    found = evaluate({}, log, prices=np.zeros((len(log), 3))).diagnose("always 0")
    before, after = (
        np.array([[abs(getattr(one, prefix + when)) for prefix in ("", "gaps_")] for one in found.balance])
        for when in ("before", "after")
    )
    assert before.max() > 0.5
    assert after.max() < before.max() / 4
    assert abs(found.mean_weight - 1) < 4 * found.mean_weight_error < 0.2
    assert found.warnings == ()
    # with all actions equally likely, as someone might wrongly claim, the same rows stay as they were
    agreement = (np.asarray(log.actions) == 0) * 1.0
    unweighted = balance(log, agreement, agreement)
    assert max(abs(one.after) for one in unweighted) == pytest.approx(before[:, 0].max(), abs=1e-9)


def test_wrong_propensities_are_noticed_in_the_balance_and_the_mean_weight() -> None:
    world = DosingWorld(attributes=5, doses=3, categorical=1, seed=3)
    sample = world.sample(2_000, seed=0)
    frame = sample.frame().with_columns(pl.lit(0.9).alias("likely"))
    log = Log.from_frame(frame, action="dose", reward="outcome", propensity="likely", kinds=world.kinds)
    found = evaluate({}, log, prices=np.zeros((len(log), 3))).diagnose("always 0")
    assert {"mean weight", "balance"} <= set(found.concerns)
    assert found.answer == "roughly"
    assert "propensities" in found.verdict


def test_the_chance_error_of_a_difference_is_what_it_scatters_by() -> None:
    random = np.random.default_rng(0)
    rows = 400
    log = Log.from_frame({"x": random.normal(size=rows), "a": [0, 1] * 200, "r": [0.0] * rows}, action="a", reward="r")
    found = []
    for _ in range(300):
        likely = random.uniform(0.1, 0.9, rows)
        agreement = (random.random(rows) < likely) * 1.0
        found.append(numbers_of(balance(log, agreement, agreement / likely)[0]))
    _, after, chance = np.array(found).T
    assert after.std() == pytest.approx(chance.mean(), rel=0.15)


# --- verdicts ---


def many(rows: int = 600, *, minimize: bool = False, seed: int = 0) -> tuple[Log, np.ndarray]:
    """Two actions at even odds; the reward is better by 1 when the action is that of the sick column."""
    random = np.random.default_rng(seed)
    sick, given = random.integers(0, 2, rows), random.integers(0, 2, rows)
    reward = (sick == given) + 0.3 * random.normal(size=rows)
    frame = {"sick": sick, "age": random.normal(50, 9, rows), "dose": given, "outcome": -reward if minimize else reward}
    frame["likely"] = np.full(rows, 0.5)
    log = Log.from_frame(frame, action="dose", reward="outcome", propensity="likely", minimize=minimize)
    return log, sick


def test_the_log_can_answer_and_says_who_is_better() -> None:
    log, sick = many()
    found = judged({"right": sick, "wrong": 1 - sick}, log)
    right, wrong, always = (found.diagnose(name) for name in ("right", "wrong", "always 1"))
    assert right.answer == wrong.answer == "clearly"
    assert f"{right.matched} of the 600" in right.verdict
    assert all(text in right.verdict for text in ("better", f"{found.difference('right').value:.3f}"))
    assert all(text in wrong.verdict for text in ("worse", f"{-found.difference('wrong').value:.3f}"))
    assert "no clear difference" in always.verdict
    assert right.warnings == ()


def test_with_a_minimised_reward_lower_is_better() -> None:
    plain, sick = many()
    flipped, _ = many(minimize=True)
    up = judged({"right": sick, "wrong": 1 - sick}, plain)
    down = judged({"right": sick, "wrong": 1 - sick}, flipped)
    for name in ("right", "wrong"):
        one, other = up.diagnose(name), down.diagnose(name)
        assert other.minimize
        assert other.gain.value == pytest.approx(-one.gain.value, abs=1e-12)
        assert other.verdict.split(";")[1] == one.verdict.split(";")[1]
        assert other.value.value == pytest.approx(-one.value.value, abs=1e-12)
    assert "better than" in down.diagnose("right").verdict


def test_decided_as_logged_is_simply_known() -> None:
    log, _ = many()
    found = judged({"refer all": [None] * 600}, log)
    for name in ("as logged", "refer all"):
        own = found.diagnose(name)
        assert (own.answer, own.referred, own.match_rate, own.mean_weight) == ("as logged", 1.0, 1.0, 1.0)
        assert f"{own.value.value:.2f}" in own.verdict
        assert own.warnings == ()
        assert (own.support.outside, math.isnan(own.support.smallest)) == (0.0, True)
        assert all(abs(one.after) < 1e-12 for one in own.balance)


@pytest.mark.parametrize("interval", [Bootstrap(draws=20), EmpiricalBernstein()])
def test_a_policy_that_never_matches_cannot_be_judged(interval: Any) -> None:
    never = np.array(["a", "b"])[1 - ACTIONS]
    found = judged({"never": never}, interval=interval).diagnose("never")
    assert (found.answer, found.matched, found.match_rate, found.effective_sample_size) == ("nothing", 0, 0.0, 0.0)
    assert "the 8 cases." in found.verdict
    assert "(given)" in found.verdict
    assert math.isnan(found.heaviest_share)
    assert all(math.isnan(one.after) for one in found.balance)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["heaviest_share"] is None
    assert str(found).startswith(f"never: {found.verdict}")
    partly = judged({"never": [None, None, *never[2:]]}).diagnose("never")
    assert "the 6 cases" in partly.verdict
    assert partly.answer == "nothing"
    assert partly.effective_sample_size == pytest.approx(2.0)


def test_a_small_effective_sample_size_says_hardly_anything() -> None:
    log, sick = many(40)
    found = judged({"right": sick}, log).diagnose("right")
    assert found.answer == "hardly"
    assert f"effective sample size of {found.effective_sample_size:.0f}" in found.verdict
    assert found.concerns == ("few rows",)
    # rows that are left to a person do not make up for the few it decides itself
    log, sick = many(600)
    referring = [int(s) if row < 40 else None for row, s in enumerate(sick)]
    mostly = judged({"right": referring}, log).diagnose("right")
    assert mostly.effective_sample_size > 300
    assert mostly.answer == "hardly"


def test_wide_intervals_or_not_quite_enough_rows_answer_roughly() -> None:
    log, sick = many(150)
    found = judged({"right": sick}, log).diagnose("right")
    assert 30 < found.effective_sample_size < 100
    assert found.answer == "roughly"
    enough = replace(found, decided_effective_sample_size=200.0)
    assert enough.answer == "clearly"
    wide = Estimate(0.0, 1.0, -2.0, 2.0)
    assert replace(enough, value=wide).answer == "roughly"
    assert replace(enough, value=Estimate(math.nan, math.nan, math.nan, math.nan)).answer == "roughly"


def test_actions_almost_never_taken_in_such_cases_are_extrapolated() -> None:
    rows = 4000
    random = np.random.default_rng(0)
    sick = random.integers(0, 2, rows)
    odds = np.where(sick == 1, 0.004, 0.5)  # of dose 1
    given = (random.random(rows) < odds).astype(int)
    frame = {"sick": sick, "dose": given, "outcome": random.normal(size=rows)}
    log = Log.from_frame(frame, action="dose", reward="outcome")
    # some of the healthy are given dose 1 as well, so that there are effective rows at all
    wanted = np.where((sick == 1) | (np.arange(rows) % 2 == 0), 1, 0)
    fixed = {"bold": lambda _: wanted}
    found = evaluate(fixed, log, prices=np.zeros((rows, 2)))
    found = with_probabilities(found, np.stack([1 - odds, odds], axis=1)).diagnose("bold")
    assert found.support.outside == pytest.approx((sick == 1).mean(), abs=1e-12)
    assert found.support.action == "1"
    outside = replace(found, decided_effective_sample_size=500.0, support=replace(found.support, outside=0.73))
    assert outside.answer == "extrapolated"
    assert "73% of the cases" in outside.verdict
    assert "(given)" in outside.verdict
    assert {"support", "heavy rows"} <= set(found.concerns)
    assert "'1'" in found.warnings[0]
    assert "support" not in replace(found, support=replace(found.support, outside=0.04)).concerns


def test_calibration_warns_beyond_chance_only() -> None:
    log, sick = many()
    found = judged({"right": sick}, log).diagnose("right")

    def warned(error: float, chance: float, misplaced: float) -> bool:
        changed = replace(found, calibration=Calibration((), error, chance, misplaced))
        return "calibration" in changed.concerns

    assert warned(0.06, 0.02, 0.06)
    assert not warned(0.06, 0.04, 0.06)
    assert not warned(0.04, 0.001, 0.04)


def test_imbalance_names_the_worst_and_forgives_chance() -> None:
    log, sick = many()
    found = judged({"right": sick}, log).diagnose("right")

    def warned(*balances: AttributeBalance) -> tuple[str, ...]:
        return replace(found, balance=balances).warnings

    def entry(name: str, after: float, gaps_after: float = 0.0, chance: float = 0.01) -> AttributeBalance:
        return AttributeBalance(name, 0.5, after, chance, 0.0, gaps_after, chance)

    assert warned(entry("age", 0.09)) == ()
    assert warned(entry("age", -0.4, chance=0.2)) == ()
    assert "age (0.40 sd):" in warned(entry("age", -0.4))[0]
    several = warned(entry("a", 0.2, 0.6), entry("b", -0.3), entry("c", math.nan, 0.15))
    assert "gaps of a (0.60 sd), b (0.30 sd), a (0.20 sd) and 1 more:" in several[0]


def test_the_comparison_has_the_right_sign() -> None:
    log, sick = many()
    found = judged({"right": sick}, log).diagnose("right")

    def compared(gain: Estimate, minimize: bool) -> str:
        verdict = replace(found, gain=gain, minimize=minimize, constant=None, over_constant=None).verdict
        both = replace(found, gain=gain, minimize=minimize, constant="always a", over_constant=gain).verdict
        words = verdict.partition("; ")[2].rstrip(".")
        # the same in the same words, of the best constant action
        assert both.endswith(words.replace("the decisions as logged", "'always a' for everybody") + ".")
        return words

    better, worse, unclear = Estimate(0.31, 0.1, 0.12, 0.5), Estimate(-2.0, 0.2, -2.4, -1.6), Estimate(1, 9, -20, 22)
    for gain, minimize, word, numbers in (
        (better, False, "better than", "0.31 (0.12 to 0.50)"),
        (better, True, "worse than", "0.31 (0.12 to 0.50)"),
        (worse, False, "worse than", "2.00 (1.60 to 2.40)"),
        (worse, True, "better than", "2.00 (1.60 to 2.40)"),
        (unclear, False, "no clear", "20 worse to 22 better"),
        (unclear, True, "no clear", "22 worse to 20 better"),
        (Estimate(-2e-15, 0.0, -2e-15, -2e-15), False, "no difference", ""),
        (Estimate(math.nan, math.nan, math.nan, math.nan), False, "cannot", ""),
    ):
        words = compared(gain, minimize)
        assert word in words
        assert numbers in words


# --- the whole ---


def test_an_unknown_policy_is_refused_with_a_hint() -> None:
    with pytest.raises(InputProblem, match="no policy 'carefull'"):
        judged({"careful": MIXED}).diagnose("carefull")


def test_the_dictionary_is_plain_json_and_the_text_readable() -> None:
    found = with_probabilities(judged({"p": MIXED}), both()).diagnose("p")
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert set(plain) == {*Diagnosis.__dataclass_fields__, "answer", "concerns", "imbalance", "verdict", "warnings"}
    assert plain["verdict"] == found.verdict
    assert plain["weights"]["counts"] == list(found.weights.counts)
    text = str(found)
    assert text.startswith(f"p: {found.verdict}")
    assert all(warning in text for warning in found.warnings)
    assert all(column in text for column in ("age", "ward", "smoker", "flat", "grade"))
    assert "nan" not in text
    assert max(map(len, text.splitlines()[-6:])) < 80


def test_one_row_and_estimators_without_weights_do_not_stumble() -> None:
    log = eight().take([0])
    found = judged({"p": ["a"]}, log).diagnose("p")
    assert found.rows == 1
    assert math.isnan(found.mean_weight_error)
    assert found.answer == "as logged"
    assert judged({"p": [["0.5", "0.5"]]}, log).diagnose("p").answer == "hardly"
    direct = judged({"p": MIXED}, estimators=[Direct()]).diagnose("p")
    assert direct.value.value == 0.0


def test_prices_alone_are_never_called_an_answer_of_the_log() -> None:
    log, sick = many()
    found = evaluate({"right": lambda _: sick}, log, prices=np.zeros((600, 2)), estimators=[Direct()], below=0.5)
    own = found.diagnose("right")
    assert own.answer == "prices alone"
    assert np.isnan(found.tail_share("right").value)  # given prices say nothing of the tail


def test_a_policy_that_draws_lots_agrees_on_average() -> None:
    log, _ = many()
    own = judged({"coin": np.full((600, 2), 0.5)}, log).diagnose("coin")
    assert own.mixed
    assert "50% of the 600 cases" in own.verdict
