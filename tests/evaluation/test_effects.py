"""Effects of one action against another: hand formulas, studies with a known answer, groups, heterogeneity."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from prudent import ImputedLogistic, InputProblem, Known, Log
from prudent.evaluation import BoostedEffects, Bootstrap
from prudent.evaluation.effects.effect_estimates import effects
from prudent.worlds import DosingWorld


def study(rows=300, seed=0, gaps=0.3, slope=1.0, confounding=1.5):
    """Treatment and outcome both follow the severity, as far as it is recorded; the effect is 1 + slope · severity."""
    random = np.random.default_rng(seed)
    severity, noise = random.normal(size=rows), random.normal(size=rows)
    seen = random.random(rows) >= gaps
    chance = 0.1 + 0.8 / (1 + np.exp(-confounding * np.where(seen, severity, 0.0)))
    treated = random.random(rows) < chance
    truth = 1 + slope * severity
    table = {
        "severity": np.where(seen, severity, np.nan),
        "noise": noise,
        "ward": np.array(["north", "south"])[(noise > 0).astype(int)],
        "drug": np.where(treated, "yes", "no"),
        "outcome": 2 * severity + truth * treated + random.normal(size=rows),
        "chance": np.where(treated, chance, 1 - chance),
    }
    return table, truth, chance


def read(table, **settings):
    known = "chance" if "chance" in table else None
    return Log.from_frame(table, action="drug", reward="outcome", propensity=known, **settings)


def linear_prices(table):
    """Straight lines in the severity, one per arm, gaps at a level of their own."""
    gap = np.isnan(table["severity"])
    inputs = np.stack([np.ones(len(gap)), np.where(gap, 0.0, table["severity"]), gap], axis=1)
    lines = []
    for drug in ("no", "yes"):
        own = table["drug"] == drug
        lines.append(inputs @ np.linalg.lstsq(inputs[own], table["outcome"][own], rcond=None)[0])
    return np.stack(lines, axis=1)


@pytest.fixture(scope="module")
def toy():
    """Forty rows with logged probabilities and prices at random; each row as plain numbers, for formulas by hand."""
    table, _, _ = study(40, seed=3)
    prices = np.random.default_rng(4).normal(size=(40, 2))
    rows = [
        (drug == "yes", outcome, chance, *priced)
        for drug, outcome, chance, priced in zip(
            table["drug"], table["outcome"], table["chance"], prices.tolist(), strict=True
        )
    ]
    return table, prices, rows


def by_hand(rows):
    """Scores, ATT and ATC from the formulas, with e the probability of treatment."""
    scores, on_treated, on_control = [], 0.0, 0.0
    for treated, outcome, chance, low, high in rows:
        e = chance if treated else 1 - chance
        scores.append(high - low + treated * (outcome - high) / e - (not treated) * (outcome - low) / (1 - e))
        on_treated += treated * (outcome - low) - (not treated) * e / (1 - e) * (outcome - low)
        on_control += (not treated) * (high - outcome) + treated * (1 - e) / e * (outcome - high)
    count = sum(treated for treated, *_ in rows)
    return np.array(scores), on_treated / count, on_control / (len(rows) - count)


def test_averages_are_those_of_the_formulas(toy):
    table, prices, rows = toy
    found = effects(read(table), prices=prices)
    scores, on_treated, on_control = by_hand(rows)
    assert found.ate.value == pytest.approx(scores.mean(), abs=1e-9)
    assert found.att.value == pytest.approx(on_treated, abs=1e-9)
    assert found.atc.value == pytest.approx(on_control, abs=1e-9)
    assert found.scores == pytest.approx(scores, abs=1e-9)
    assert found.per_row == pytest.approx(prices[:, 1] - prices[:, 0], abs=1e-9)
    error = scores.std(ddof=1) / math.sqrt(40)
    assert found.ate.error == pytest.approx(error, abs=1e-9)
    assert found.ate.high - found.ate.value == pytest.approx(error * student.ppf(0.975, 39), abs=1e-9)


def test_rivals_are_those_of_the_formulas(toy):
    table, prices, rows = toy
    found = effects(read(table), prices=prices)
    yes = np.array([row[0] for row in rows])
    outcome, chance = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    means = [np.average(outcome[arm], weights=1 / chance[arm]) for arm in (yes, ~yes)]
    assert found.ipw.value == pytest.approx(means[0] - means[1], abs=1e-9)
    plain = outcome[yes].mean() - outcome[~yes].mean()
    assert found.difference_in_means.value == pytest.approx(plain, abs=1e-9)
    assert found.outcome_model.value == pytest.approx((prices[:, 1] - prices[:, 0]).mean(), abs=1e-9)
    frame = found.to_frame()
    cells = {(one, by): effect for one, by, effect, *_ in frame.iter_rows()}
    assert len(cells) == frame.height == 10
    control_as_treated = np.average(outcome[~yes], weights=(1 - chance[~yes]) / chance[~yes])
    assert cells["ATT", "ipw"] == pytest.approx(outcome[yes].mean() - control_as_treated, abs=1e-9)
    assert cells["ATC", "outcome model"] == pytest.approx((prices[~yes, 1] - prices[~yes, 0]).mean(), abs=1e-9)
    assert cells["ATE", "aipw"] == found.ate.value


def test_minimised_rewards_keep_the_sign_of_the_table(toy):
    table, prices, _ = toy
    plain, minimised = (effects(read(table, minimize=minimize), prices=prices) for minimize in (False, True))
    assert minimised.to_frame().equals(plain.to_frame())
    assert minimised.scores == pytest.approx(plain.scores, abs=1e-12)
    assert minimised.by("ward").equals(plain.by("ward"))
    learnt = [effects(read(table, minimize=minimize)).ate.value for minimize in (False, True)]
    assert learnt[1] == pytest.approx(learnt[0], abs=1e-6)


def test_swapping_the_arms_turns_the_sign():
    table, _, _ = study(120, seed=1)
    del table["chance"]
    log = read(table)
    asked, swapped = (
        effects(log, propensity=ImputedLogistic()),
        effects(log, treated="no", propensity=ImputedLogistic()),
    )
    assert (asked.treated, swapped.treated) == ("yes", "no")
    assert swapped.ate.value == pytest.approx(-asked.ate.value, abs=1e-12)
    assert swapped.att.value == pytest.approx(-asked.atc.value, abs=1e-12)
    assert swapped.ate.low == pytest.approx(-asked.ate.high, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        *(((0, 1), "1"), ((False, True), "True"), (("yes", "zero"), "yes"), (("Control", "Treated"), "Treated")),
        *((("high", "low"), "low"), (("treated", "usual"), "treated"), (("f", "t"), "t")),
    ],
)
def test_the_treatment_is_told_by_its_label(labels, expected):
    drugs = [labels[0], labels[1]] * 6
    log = Log.from_frame({"age": range(12), "drug": drugs, "outcome": range(12)}, action="drug", reward="outcome")
    found = effects(log, prices=np.zeros((12, 2)), propensity=ImputedLogistic(imputations=1, folds=2))
    assert str(found.treated) == expected
    assert f"'{expected}'" in found.notes[0]
    assert found.difference_in_means.value == (1.0 if found.treated == drugs[1] else -1.0)


def test_average_effects_of_a_confounded_study():
    """With known propensities and crude prices: no bias, honest intervals, and better than the difference in means."""
    _, truth, chance = study(400_000, seed=10_000)
    true = {"ate": truth.mean(), "att": np.average(truth, weights=chance), "atc": np.average(truth, weights=1 - chance)}
    errors: dict[str, list[float]] = {name: [] for name in (*true, "difference_in_means")}
    covered = dict.fromkeys(true, 0)
    for seed in range(60):
        table, _, _ = study(300, seed)
        found = effects(read(table), prices=linear_prices(table))
        for name, value in true.items():
            estimate = getattr(found, name)
            errors[name].append(estimate.value - value)
            covered[name] += estimate.low <= value <= estimate.high
        errors["difference_in_means"].append(found.difference_in_means.value - true["ate"])
    assert true["att"] - true["ate"] > 0.2  # the three are different questions here
    for name in true:
        own = np.array(errors[name])
        assert abs(own.mean()) < 3 * own.std() / math.sqrt(60)
        assert 52 <= covered[name] <= 60  # 99.7 % of the time, were the level right
    rival = np.array(errors["difference_in_means"])
    assert np.mean(np.array(errors["ate"]) ** 2) < 0.2 * np.mean(rival**2)


def test_average_effects_with_everything_learnt():
    errors = []
    for seed in range(4):
        table, _, _ = study(400, seed, slope=0.0)
        del table["chance"]
        found = effects(read(table))
        errors.append((found.ate.value - 1, found.att.value - 1, found.difference_in_means.value - 1))
    mean = np.abs(np.mean(errors, axis=0))
    assert mean[2] > 0.8
    assert mean[0] < 0.4
    assert mean[1] < 0.4


def test_imputations_add_their_variance():
    table, _, _ = study(150, seed=2)
    found = effects(read(table), propensity=ImputedLogistic(imputations=3), prices=linear_prices(table))
    arms, each = found.arms, found.propensity.imputed
    assert each is not None
    averages = [replace(arms, taken=taken).scores.mean() for taken in each]
    between = (1 + 1 / 3) * np.var(averages, ddof=1)
    assert between > 0
    assert found.ate.error == pytest.approx(math.sqrt(arms.scores.var(ddof=1) / 150 + between), abs=1e-12)


def test_pehe_is_the_root_mean_squared_error():
    table, _, _ = study(6, seed=0, gaps=0.0)
    table["outcome"][2] = np.nan
    prices = np.stack([np.zeros(6), np.arange(6.0)], axis=1)
    found = effects(read(table), prices=prices)
    truth = np.array([1.0, 1.0, 1e9, 3.0, 4.0, 8.0])  # the third row has no outcome, so it takes no part
    assert found.used.tolist() == [True, True, False, True, True, True]
    assert found.pehe(truth, which="prices") == pytest.approx(math.sqrt((1 + 0 + 0 + 0 + 9) / 5), abs=1e-12)
    cate = found.cate()
    assert found.pehe(truth) == pytest.approx(math.sqrt(np.mean((cate - truth[found.used]) ** 2)), abs=1e-12)
    assert any("1 of 6 rows" in note for note in found.notes)


def three_actions():
    table, _, _ = study(240, seed=5)
    del table["chance"]
    table["drug"] = np.where(np.arange(240) % 4 == 0, "other", table["drug"])
    return table


def test_two_of_several_actions():
    table = three_actions()
    log = read(table)
    assert log.action_labels == ("no", "other", "yes")
    prices = np.random.default_rng(0).normal(size=(240, 3))
    logistic = ImputedLogistic(imputations=2)
    found = effects(log, between=("no", "yes"), prices=prices, propensity=logistic)
    kept = table["drug"] != "other"
    by_hand = Log.from_frame(
        {name: cells[kept] for name, cells in table.items()},
        action="drug",
        reward="outcome",
        schema=log.schema,
        action_labels=("no", "yes"),
    )
    alone = effects(by_hand, prices=prices[kept][:, [0, 2]], propensity=logistic)
    assert found.to_frame().equals(alone.to_frame())
    assert found.used.tolist() == kept.tolist()
    assert any("60 rows took another action" in note for note in found.notes)
    swapped = effects(log, between=("yes", "no"), treated="no", prices=prices, propensity=logistic)
    assert swapped.ate.value == pytest.approx(-found.ate.value, abs=1e-12)


def test_logged_probabilities_of_several_actions_cannot_be_shared_between_two():
    table = three_actions() | {"chance": np.full(240, 0.3)}
    log, prices = read(table), np.zeros((240, 3))
    with pytest.raises(InputProblem, match="ImputedLogistic"):
        effects(log, between=("no", "yes"), propensity=Known(), prices=prices)
    found = effects(log, between=("no", "yes"), prices=prices)
    assert any("estimated instead" in note for note in found.notes)
    assert len(np.unique(found.propensity.taken)) > 10


def test_groups_are_named_in_the_users_words(toy):
    table, prices, _ = toy
    grade = np.array(["mild", "severe"], dtype=object)[(table["noise"] > 0.5).astype(int)]
    grade[0] = None
    own = table | {
        "grade": grade,
        "visits": np.arange(40) % 3,
        "day": np.datetime64("2024-03-01") + np.arange(40).astype("timedelta64[D]"),
    }
    found = effects(read(own, kinds={"grade": ["mild", "severe"], "visits": "count"}), prices=prices)
    grades = found.by("grade")
    assert grades["group"].to_list() == ["mild", "severe", "(missing)"]
    assert grades.columns == ["group", "rows", "effect", "error", "low", "high"]
    for group, rows, effect, error in grades.select("group", "rows", "effect", "error").iter_rows():
        belongs = np.array([(cell or "(missing)") == group for cell in grade])
        assert rows == belongs.sum()
        assert effect == pytest.approx(found.scores[belongs].mean(), abs=1e-9)
        if rows > 1:
            assert error == pytest.approx(found.scores[belongs].std(ddof=1) / math.sqrt(rows), abs=1e-9)
    assert grades.row(2)[3:] == (None, None, None)  # a single row has no spread
    assert found.by("visits")["group"].to_list() == ["0", "1", "2"]
    assert found.by("day", bins=2)["group"].to_list() == ["up to 2024-03-20", "above 2024-03-20"]
    severity = found.by("severity", bins=3)
    assert severity["group"].to_list()[-1] == "(missing)"
    assert severity["rows"].sum() == 40
    cut = float(severity["group"][0].removeprefix("up to "))
    lowest = table["severity"] <= cut + 1e-4
    assert severity["effect"][0] == pytest.approx(found.scores[lowest].mean(), abs=1e-9)
    assert severity["group"][1].startswith(f"above {severity['group'][0].removeprefix('up to ')} to ")


def test_real_heterogeneity_is_found_and_confirmed():
    table, truth, _ = study(800, seed=7, gaps=0.0, slope=1.5, confounding=0.0)
    found = effects(read(table), prices=np.tile(2 * table["severity"][:, None], 2))  # prices that see no effect at all
    assert found.cate().mean() == pytest.approx(found.ate.value, abs=0.02)
    same = math.sqrt(np.mean((truth - found.ate.value) ** 2))
    assert found.pehe(truth) < 0.6 * same < 0.6 * found.pehe(truth, which="prices")
    groups = found.by_predicted(4)
    assert groups["rows"].sum() == 800
    assert (groups["effect"].diff().drop_nulls() > 0).all()
    assert (groups["predicted"].diff().drop_nulls() > 0).all()
    assert found.heterogeneity.low > 0.5
    assert found.heterogeneity.high > 1


def test_effects_on_new_cases_follow_the_log_and_do_not_depend_on_the_batch():
    (table, _, _), (new, truth, _) = (study(rows, 7, 0.0, 1.5, confounding=0.0) for rows in (800, 200))
    found = effects(read(table), prices=np.tile(2 * table["severity"][:, None], 2))
    unknown = pl.when(pl.col("noise") > 1).then(pl.lit("east")).otherwise("ward")  # the log has no ward 'east'
    cases = pl.DataFrame(new).drop("drug", "outcome", "chance").with_columns(ward=unknown)
    predicted = found.effect(cases)
    same = math.sqrt(np.mean((truth - found.ate.value) ** 2))
    assert math.sqrt(np.mean((truth - predicted) ** 2)) < 0.6 * same
    assert found.effect(cases[5:6]) == pytest.approx(predicted[5:6], abs=1e-12)
    assert found.effect(cases[::-1]) == pytest.approx(predicted[::-1], abs=1e-12)
    assert found.effect(pl.DataFrame(table)).mean() == pytest.approx(found.ate.value, abs=1e-9)


def test_a_constant_effect_shows_no_heterogeneity():
    apart = []
    for seed in range(4):
        table, _, _ = study(400, seed=20 + seed, gaps=0.2, slope=0.0, confounding=0.0)
        found = effects(read(table), prices=np.zeros((400, 2)))
        cate, slope = found.cate(), found.heterogeneity
        if np.ptp(cate) == 0:
            assert math.isnan(slope.value)
            assert found.by_predicted()["rows"].to_list() == [400]
            assert cate[0] == pytest.approx(found.ate.value, abs=1e-12)
        else:
            assert slope.low <= 0 <= slope.high
        apart.append(cate.std() / found.ate.error)
    assert np.mean(apart) < 1.0  # what is left of it is smaller than the doubt about the average


def test_slope_is_that_of_least_squares(toy):
    table, prices, _ = toy
    found = effects(read(table), prices=prices)
    slope = np.polyfit(found.per_row, found.scores, 1)[0]
    assert found.slope("prices").value == pytest.approx(slope, abs=1e-9)


def test_a_model_prices_and_its_own_rows_are_refused():
    world = DosingWorld(doses=2)
    model, sample = world.exact_model(), world.sample(400, seed=0)
    log = model.read(sample.frame())
    found = effects(log, prices=model, propensity=ImputedLogistic(imputations=1))
    expected = world.expected(sample.values, sample.observed)
    assert found.per_row == pytest.approx(expected[:, 1] - expected[:, 0], abs=0.3)
    truth = np.diff(world.theta(sample.full), axis=1)[:, 0]
    assert found.ate.low < truth.mean() < found.ate.high
    with pytest.raises(InputProblem, match="fitted on these rows"):
        effects(log, prices=replace(model, fingerprints=np.sort(log.fingerprints())))
    half = replace(model, fingerprints=np.sort(log.take(np.arange(200)).fingerprints()))
    assert any("50% of the rows" in note for note in effects(log, prices=half, propensity=ImputedLogistic()).notes)
    backwards = replace(log, action_labels=log.action_labels[::-1])
    with pytest.raises(InputProblem, match="The model knows the actions"):
        effects(backwards, prices=model)


def test_little_overlap_is_said():
    table, _, _ = study(100, seed=0)
    prices = linear_prices(table)
    assert not any("extrapolated" in note for note in effects(read(table), prices=prices).notes)
    table["chance"][:7] = 0.999
    note = effects(read(table), prices=prices).notes[-1]
    assert note.startswith("In 7.0% of the rows")


def test_where_treatment_was_certain_nothing_breaks():
    table, _, _ = study(100, seed=0)
    table["chance"][:] = 1.0
    found = effects(read(table), prices=linear_prices(table))
    assert np.isfinite(found.ate.value)
    assert np.ptp(found.cate()) == 0


def test_told_to_people_and_programs(toy):
    table, prices, _ = toy
    found = effects(read(table), prices=prices, interval=Bootstrap(draws=200), confidence=0.9)
    text = str(found)
    assert "Effect of 'yes' against 'no' on 'outcome': 40 rows" in text
    assert str(found.att) in text
    assert "0.9" in text
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["treated"] == "yes"
    assert stored["effects"][0]["effect"] == found.ate.value
    student_error = effects(read(table), prices=prices).ate.error
    assert found.ate.error == pytest.approx(student_error, rel=0.25)
    assert isinstance(found.by("ward"), pl.DataFrame)


def test_same_seed_same_answer_and_the_table_is_left_alone():
    table, _, _ = study(150, seed=9)
    frame = pl.DataFrame(table)
    before = frame.clone()
    first, second = (effects(read(frame.to_pandas()), seed=1) for _ in range(2))
    assert first.ate == second.ate
    assert np.array_equal(first.cate(), second.cate())
    assert frame.equals(before)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"treated": "yess"}, "'yess' .* Did you mean 'yes'?"),
        ({"between": ("no", "maybe")}, "'maybe'"),
        ({"between": "no"}, "'between' parameter of effects"),
        ({"between": ("no", "no")}, "two different actions"),
        ({"between": ("no", "yes"), "treated": "no"}, "'treated' parameter of effects"),
        ({"prices": np.zeros((40, 3))}, r"finite numbers of shape \(40, 2\)"),
        ({"prices": "boosted"}, "'prices' parameter of effects"),
        ({"propensity": 0.5}, "'propensity' parameter of effects"),
        ({"interval": 0.95}, "'interval' parameter of effects"),
        ({"confidence": 95}, "'confidence' parameter of effects must be in .*95"),
        ({"seed": -1}, "'seed' parameter of effects"),
    ],
)
def test_bad_settings_are_one_sentence(toy, settings, sentence):
    with pytest.raises(InputProblem, match=sentence):
        effects(read(toy[0]), **settings)


def test_bad_questions_are_one_sentence(toy):
    table, prices, _ = toy
    found = effects(read(table), prices=prices)
    for question, sentence in [
        (lambda: found.by("wards"), "'wards' .*Did you mean 'ward'?"),
        (lambda: found.by("ward", bins=0), "'bins' parameter of by"),
        (lambda: found.by_predicted(1), "'groups' parameter of by_predicted"),
        (lambda: found.pehe(np.zeros(39)), "'true_effects' parameter of pehe"),
        (lambda: found.pehe(np.zeros(40), which="truth"), "'which' parameter"),  # pyright: ignore[reportArgumentType]
        (lambda: BoostedEffects(folds=1), "'folds' parameter of BoostedEffects"),
        (lambda: effects(table), "'log' parameter of effects"),
        (lambda: effects(read(three_actions())), r"\(no, other, yes\).*between="),
    ]:
        with pytest.raises(InputProblem, match=sentence):
            question()


def test_an_action_without_rows_cannot_be_compared(toy):
    log = read(toy[0])
    with pytest.raises(InputProblem, match="'yes'"):
        effects(log.take(log.actions == 0), prices=np.zeros((int((log.actions == 0).sum()), 2)))


@pytest.mark.parametrize(("labels", "treated"), [((1, 2), "2"), ((0, 1), "1"), ((10, 5), "10"), (("yes", "no"), "yes")])
def test_the_larger_dose_is_the_treatment(labels, treated):
    table = {"age": [1.0, 2.0] * 10, "dose": [*labels] * 10, "outcome": [0.0, 1.0] * 10, "chance": [0.5] * 20}
    log = Log.from_frame(table, action="dose", reward="outcome", propensity="chance")
    found = effects(log, prices=np.zeros((20, 2)))
    assert str(found.treated) == treated
