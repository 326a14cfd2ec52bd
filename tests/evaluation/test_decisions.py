"""What may be given to `evaluate` as a policy, what it would do on every row, and which rows it may be judged on."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prudent
from prudent import InputProblem, Log
from prudent.decide import BestFrequencyLottery
from prudent.evaluation import LOGGED, CrossFitted, cross_fit, evaluate
from prudent.models import Fitted
from prudent.worlds import DosingWorld

LABELS = ["b", "a", None, "c", "c", "a"]
CHANCES = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.5, 0.5], [0.1, 0.1, 0.8], [1, 0, 0], [0.6, 0.4, 0]])
TABLE = {
    "age": [31.0, 54.0, None, 47.0, 60.0, 22.0],
    "ward": ["north", None, "south", "north", "south", "north"],
    "patient": ["p1", "p2", "p3", "p4", "p5", "p6"],
    "dose": ["a", "b", "c", "a", "b", "c"],
    "outcome": [1.0, 0.0, 2.0, 1.5, 3.0, 0.5],
    "likely": [0.5, 0.25, 0.4, 0.5, 0.2, 0.4],
}


def small(frame: Any = None, **reading: Any) -> Log:
    """Six decisions whose propensities are known, so that nothing has to be learnt."""
    given = pd.DataFrame(TABLE) if frame is None else frame
    return Log.from_frame(given, action="dose", reward="outcome", propensity="likely", ignore=["patient"], **reading)


def chances(answer: Any, log: Log | None = None) -> np.ndarray:
    """What evaluate makes of the answer of a user's function."""
    log = small() if log is None else log
    prices = np.zeros((len(log), len(log.action_labels)))
    return evaluate({"mine": lambda _: answer}, log, prices=prices).probabilities["mine"]


def one_hot(labels: list[str | None], known: str = "abc") -> np.ndarray:
    return np.array([[np.nan] * len(known) if x is None else [float(x == own) for own in known] for x in labels])


# --- answers of a user's function ---


@pytest.mark.parametrize(
    "answer",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS, dtype=object),
        pd.Series(LABELS),
        pd.Series(LABELS, dtype="string"),
        pd.Series(LABELS, dtype="category"),
        pl.Series(LABELS),
        pl.Series(LABELS, dtype=pl.Categorical),
        pa.array(LABELS),
        pa.chunked_array([LABELS]),
        [float("nan") if label is None else label for label in LABELS],
        [pd.NA if label is None else label for label in LABELS],
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_labels_in_any_container_and_gaps_refer(answer):
    np.testing.assert_array_equal(chances(answer), one_hot(LABELS))


def test_labels_are_known_by_their_text():
    frame = pd.DataFrame(TABLE).assign(dose=[10, 20, 10, 20, 10, 20])
    wanted = [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1], [0, 1]]
    for answer in (
        [10, 20, 10, 10, 20, 20],
        np.array([10.0, 20, 10, 10, 20, 20]),
        ["10", "20", "10", "10", "20", "20.0"],
    ):
        np.testing.assert_array_equal(chances(answer, small(frame)), wanted)
    as_nullable = pd.Series([10, None, 10, 10, 20, 20], dtype="Int64")
    assert np.isnan(chances(as_nullable, small(frame))[1]).all()


@pytest.mark.parametrize(
    "answer",
    [
        CHANCES,
        CHANCES.tolist(),
        CHANCES.astype(np.float32),
        pd.DataFrame(CHANCES[:, ::-1], columns=list("cba")),
        pd.DataFrame(CHANCES, columns=list("abc"), index=list("uvwxyz")),
        pl.DataFrame({"b": CHANCES[:, 1], "c": CHANCES[:, 2], "a": CHANCES[:, 0]}),
        pa.table({"b": CHANCES[:, 1], "c": CHANCES[:, 2], "a": CHANCES[:, 0]}),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_probabilities_as_arrays_and_as_frames_in_any_order(answer):
    np.testing.assert_allclose(chances(answer), CHANCES, atol=1e-7)


def test_columns_of_probabilities_may_be_named_by_numbers():
    frame = pd.DataFrame(TABLE).assign(dose=[10, 20, 10, 20, 10, 20])
    both = np.array([[0.25, 0.75]] * 6)
    for names in ([20, 10], [20.0, 10.0], ["20", "10"]):
        np.testing.assert_array_equal(chances(pd.DataFrame(both[:, ::-1], columns=names), small(frame)), both)


def test_empty_probabilities_refer_the_row():
    referred = np.where(np.arange(6)[:, None] == 3, np.nan, CHANCES)
    np.testing.assert_array_equal(chances(referred), referred)
    empty = pl.DataFrame({name: [None if i == 3 else 1 / 3 for i in range(6)] for name in "abc"})
    assert np.isnan(chances(empty)).all(axis=1).tolist() == [False, False, False, True, False, False]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (LABELS[:4], ["4 labels", "6 rows"]),
        (["a", "b", "a", "aa", "b", "c"], ["'aa' in row 4", "Did you mean 'a'?"]),
        (None, ["None"]),
        ("a", ["one str"]),
        ({"a": [1.0] * 6}, ["one dict"]),
        (np.zeros((6, 3, 1)), ["(6, 3, 1)"]),
        ([[1, 0, 0]] * 5 + [[1, 0]], ["of one length"]),
        (np.array([["a", "b", "c"]] * 6), ["not all numbers"]),
        (CHANCES[:, :2], ["(6, 2)", "(a, b, c)"]),
        (CHANCES[:5], ["(5, 3)", "6 rows"]),
        (pd.DataFrame(CHANCES[:, :2], columns=list("ab")), ["action 'c'"]),
        (pd.DataFrame({"a": ["often"] * 6, "b": [0.0] * 6, "c": [0.0] * 6}), ["column 'a'", "row 1", "'often'"]),
        *(
            (np.concatenate([CHANCES[:2], [row], CHANCES[3:]]), [f"{row} in row 3"])
            for row in ([0.5, 0.6, 0.0], [1.2, -0.2, 0.0], [0.5, np.nan, 0.5], [np.inf, 0.0, 0.0])
        ),
    ],
)
def test_wrong_answers_name_the_policy_the_row_and_the_value(answer, named):
    with pytest.raises(InputProblem) as problem:
        chances(answer)
    assert all(text in str(problem.value) for text in named)
    assert "'mine'" in str(problem.value) or "'often'" in named


def test_rows_without_reward_are_not_asked_about():
    frame = pd.DataFrame(TABLE).assign(outcome=[1.0, None, 2.0, 1.5, 3.0, 0.5])
    seen: list[Any] = []

    def policy(cases: Any) -> list[str]:
        seen.append(cases)
        return ["a"] * len(cases)

    found = evaluate(policy, small(frame), prices=np.zeros((6, 3)))
    assert seen[0]["patient"].to_list() == ["p1", "p3", "p4", "p5", "p6"]
    (note,) = found.notes
    assert "1 of 6 rows" in note
    assert found.asked == ("policy",)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_functions_get_the_kind_of_frame_the_log_was_read_from(kind):
    """All that was known at the time, identifiers too, and nothing that was not."""
    seen: list[Any] = []

    def policy(cases: Any) -> list[str]:
        seen.append(cases)
        return ["a"] * 3

    log = small(kind(TABLE)).take([4, 0, 2])
    evaluate({"mine": policy}, log, prices=np.zeros((3, 3)))
    assert type(seen[0]) is type(kind(TABLE))
    names = seen[0].column_names if kind is pa.table else list(seen[0].columns)
    assert names == ["age", "ward", "patient"]
    patients = seen[0]["patient"]
    assert (patients.to_pylist() if kind is pa.table else patients.to_list()) == ["p5", "p1", "p3"]


def test_a_log_of_columns_or_records_gives_functions_a_polars_frame():
    records = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
    for source in (TABLE, records):
        assert isinstance(small(source).cases(), pl.DataFrame)
        found = evaluate(lambda cases: ["a" if ward == "north" else "b" for ward in cases["ward"]], small(source))
        np.testing.assert_array_equal(found.probabilities["policy"], one_hot(list("abbaba")))


def test_wrong_policies_and_names():
    log, prices = small(), np.zeros((6, 3))
    for policies, words in (
        ({"mine": 3}, "Got 3 instead"),
        ({LOGGED: lambda _: LABELS}, "must not be named 'as logged'"),
        ({" ": lambda _: LABELS}, "named by texts. Got ' '"),
        ({7: lambda _: LABELS}, "named by texts. Got 7"),
    ):
        with pytest.raises(InputProblem, match=words):
            evaluate(policies, log, prices=prices)  # pyright: ignore[reportArgumentType]


def test_a_policy_may_not_be_named_like_a_constant():
    with pytest.raises(InputProblem, match="constant action"):
        evaluate({"always a": lambda _: LABELS}, small(), prices=np.zeros((6, 3)))
    found = evaluate({"mine": lambda _: LABELS}, small(), prices=np.zeros((6, 3)))
    assert found.names == ("mine", LOGGED, "always a", "always b", "always c")
    np.testing.assert_array_equal(found.probabilities["always b"], one_hot(["b"] * 6))
    assert np.isnan(found.probabilities[LOGGED]).all()


def test_referred_rows_count_as_decided_as_logged():
    """By hand: the first row agrees and was taken with probability 1/2, the next two are referred."""
    found = evaluate({"mine": lambda _: ["a", None, None, "b", "a", "a"]}, small(), prices=np.zeros((6, 3)))
    np.testing.assert_allclose(found.evidence("mine").weights, [2, 1, 1, 0, 0, 0])
    assert found.estimate("mine", "self-normalised ips").value == pytest.approx((2 * 1.0 + 0.0 + 2.0) / 4)
    assert found.estimate(LOGGED, "self-normalised ips").value == pytest.approx(np.mean(TABLE["outcome"]))


# --- policies of models ---

WORLD = DosingWorld(attributes=3, doses=3, gaps=0.3, loss="cliff")
OPTIONS: dict[str, Any] = {"completions": 64}


@pytest.fixture(scope="module")
def exact() -> Fitted:
    return WORLD.exact_model()


@pytest.fixture(scope="module")
def later() -> pl.DataFrame:
    return WORLD.sample(60, seed=5).frame().with_columns(likely=pl.lit(0.4))


def known(fitted: Fitted) -> Fitted:
    """The same model, of a log that had a column of probabilities."""
    return replace(fitted, roles=replace(fitted.roles, propensity="likely"))


def test_a_policy_does_what_it_recommends(exact, later):
    policy = exact.policy(prudent.TailAverse(), **OPTIONS)
    log = known(exact).read(later)
    found = evaluate({"tail": policy, "asked": lambda cases: policy.recommend(cases)}, log)
    np.testing.assert_array_equal(found.probabilities["tail"], found.probabilities["asked"])
    recommended = policy.recommend(log.cases()).actions
    np.testing.assert_array_equal(found.probabilities["tail"], np.equal.outer(recommended, log.action_labels))
    assert found.prices.source == "from the model"


def test_advice_may_be_restricted(exact, later):
    policy = exact.policy(**OPTIONS)

    def at_most_ten(cases: Any) -> Any:
        return policy.recommend(cases, allowed=[[0] if i == 0 else [] if i == 1 else [0, 5] for i in range(len(cases))])

    found = evaluate({"restricted": at_most_ten}, known(exact).read(later), prices=np.zeros((60, 3)))
    assert found.probabilities["restricted"][0].tolist() == [1, 0, 0]
    assert (found.probabilities["restricted"][2:, 2] == 0).all()


def test_floor_fallback_and_lottery(exact, later):
    log, floor = known(exact).read(later), -1.0
    policies = {
        "plain": exact.policy(**OPTIONS),
        "refers": exact.policy(floor=floor, **OPTIONS),
        "falls back": exact.policy(floor=floor, fallback=0, **OPTIONS),
        "falls elsewhere": exact.policy(floor=floor, fallback="ask a colleague", **OPTIONS),
        "lottery": exact.policy(BestFrequencyLottery(), **OPTIONS),
    }
    found = evaluate(policies, log).probabilities
    referred = np.isnan(found["refers"]).all(axis=1)
    assert 0 < referred.sum() < len(log)
    assert (found["falls back"][referred] == [1, 0, 0]).all()
    np.testing.assert_array_equal(found["falls back"][~referred], found["refers"][~referred])
    np.testing.assert_array_equal(found["falls elsewhere"], found["refers"])
    np.testing.assert_allclose(found["lottery"].sum(axis=1), 1)
    assert ((found["lottery"] > 0) & (found["lottery"] < 1)).any()
    assert set(np.unique(found["plain"])) == {0.0, 1.0}
    advice = policies["refers"].recommend(log.cases())
    assert [action is None for action in advice.actions] == referred.tolist()


def test_models_side_by_side_each_read_the_log_their_own_way(exact, later):
    """The second has other scales, so the same cells are other numbers to it."""
    absolute = DosingWorld(attributes=3, doses=3, gaps=0.3, loss="absolute").exact_model()
    wider = tuple(replace(column, scale=2 * column.scale) for column in absolute.schema.columns)
    other = replace(absolute, schema=replace(absolute.schema, columns=wider))
    log = known(exact).read(later)
    policies = {"one": exact.policy(**OPTIONS), "other": other.policy(**OPTIONS)}
    found = evaluate(policies, log)
    for name, policy in policies.items():
        wanted = np.equal.outer(policy.recommend(log.cases()).actions, log.action_labels)
        np.testing.assert_array_equal(found.probabilities[name], wanted)
    assert (found.probabilities["one"] != found.probabilities["other"]).any()
    assert found.prices.source.startswith("learnt from these rows")


def test_a_log_read_on_its_own_is_decided_the_same(exact, later):
    """Its schema has scales of its own, its actions another order, and one column the model does not know."""
    policy = exact.policy(**OPTIONS)
    as_text = later.with_columns(note=pl.lit("x") + pl.int_range(60).cast(pl.String))
    alone = Log.from_frame(
        as_text, action="dose", reward="outcome", propensity="likely", kinds=WORLD.kinds, ignore=["note"]
    )
    own = known(exact).read(later)
    assert alone.schema != own.schema
    assert not np.allclose(alone.values, own.values)
    by_model, by_itself = (evaluate({"p": policy}, log) for log in (own, alone))
    np.testing.assert_array_equal(by_model.probabilities["p"], by_itself.probabilities["p"])
    assert by_model.estimate("p") == by_itself.estimate("p")


def test_logs_that_a_model_cannot_read(exact, later):
    policy = exact.policy(**OPTIONS)
    reading: dict[str, Any] = {"action": "dose", "reward": "outcome", "propensity": "likely", "kinds": WORLD.kinds}
    with pytest.raises(InputProblem, match="minimize"):
        evaluate(policy, Log.from_frame(later, minimize=True, **reading))
    alone = Log.from_frame(later, **reading)
    with pytest.raises(InputProblem, match=r"fitted\.read"):
        evaluate(policy, replace(alone, source=None, positions=None))
    with pytest.raises(InputProblem, match=r"'log' parameter.*fitted\.read"):
        evaluate(policy, later)  # pyright: ignore[reportArgumentType]
    renamed = replace(exact, action_labels=(0, 5, 15))
    with pytest.raises(InputProblem, match=r"0, 5, 15.*0, 5, 10"):
        evaluate({"one": policy, "other": renamed.policy(**OPTIONS)}, known(exact).read(later))


def test_a_minimised_reward_turns_all_signs(exact, later):
    costs = later.with_columns(outcome=-pl.col("outcome"))
    turned = replace(exact, minimize=True)
    up = evaluate({"p": exact.policy(floor=-3.0, **OPTIONS)}, known(exact).read(later), below=-2.0)
    down = evaluate({"p": turned.policy(floor=3.0, **OPTIONS)}, known(turned).read(costs), below=2.0)
    np.testing.assert_array_equal(up.probabilities["p"], down.probabilities["p"])
    assert np.isnan(up.probabilities["p"]).any()
    for ask in ("estimate", "difference", "worst_mean"):
        better, cost = getattr(up, ask)("p"), getattr(down, ask)("p")
        assert (cost.value, cost.low, cost.high) == pytest.approx((-better.value, -better.high, -better.low))
    assert down.tail_share("p") == up.tail_share("p")
    assert down.at_worst("p") == pytest.approx(-up.at_worst("p"))


def test_evaluating_changes_no_frame_and_repeats_itself(exact):
    frame = WORLD.sample(80, seed=6).frame().to_pandas()
    before = frame.copy(deep=True)

    def careless(cases: Any) -> Any:
        cases.loc[:, cases.columns[0]] = 0.0
        return [5] * len(cases)

    def ask() -> Any:
        policies = {"p": exact.policy(**OPTIONS), "careless": careless}
        return evaluate(policies, exact.read(frame), below=-2.0, seed=3)

    first, second = ask(), ask()
    pd.testing.assert_frame_equal(frame, before)
    assert first.to_frame().equals(second.to_frame())
    assert first.to_dict() == second.to_dict()


# --- rows that a model has seen ---


def fitted_on(model: Fitted, log: Log) -> Fitted:
    """As if it had been fitted on these rows."""
    return replace(model, fingerprints=np.sort(log.fingerprints()))


def test_rows_that_the_model_was_fitted_on_are_refused(exact, later):
    log = known(exact).read(later)
    seen = fitted_on(exact, log)
    for policy, prices in ((seen.policy(**OPTIONS), None), (lambda _: [0] * 60, seen)):
        with pytest.raises(InputProblem, match=r"100% of the 60.*Log\.split, or --hold-out.*cross_fit"):
            evaluate(policy, log, prices=prices)
    half = fitted_on(exact, log.take(np.arange(30)))
    assert evaluate(half.policy(**OPTIONS), log.take(np.arange(30, 60))).notes == ()


def test_rows_seen_are_noticed_in_a_log_read_on_its_own(exact, later):
    seen = fitted_on(exact, exact.read(later))
    alone = Log.from_frame(later, action="dose", reward="outcome", propensity="likely", kinds=WORLD.kinds)
    with pytest.raises(InputProblem, match="fitted on these rows"):
        evaluate(seen.policy(**OPTIONS), alone)


def test_some_rows_seen_are_a_warning_and_prices_are_learnt_elsewhere(exact, later):
    log = known(exact).read(later)
    seen = fitted_on(exact, log.take(np.arange(30)))
    found = evaluate(seen.policy(**OPTIONS), log)
    (note,) = found.notes
    assert "50% of the rows" in note
    assert "cross-fitted" in found.prices.source


def test_people_who_look_alike_are_not_the_same_people():
    """A table of a few whole numbers: every row of a later log has a twin among those the model was fitted on."""
    world = DosingWorld(attributes=1, doses=2, gaps=0.0)
    fitted = world.exact_model()
    name = next(iter(world.kinds))

    def people(seed: int) -> pl.DataFrame:
        random = np.random.default_rng(seed)
        sick, dose = random.integers(0, 2, 200), random.integers(0, 2, 200)
        return pl.DataFrame({name: sick, "dose": 5 * dose, "outcome": (sick == dose) * 1, "likely": 0.5})

    seen = fitted_on(fitted, fitted.read(people(1)))
    found = evaluate(seen.policy(**OPTIONS), known(seen).read(people(2)))
    assert found.notes == ()
    assert found.prices.source.startswith("from the model")


class Remembering:
    """Settings whose fit only remembers the rows: a model that has nothing to learn."""

    def __init__(self, model: Fitted):
        self.model, self.logs = model, []

    def fit(self, log: Log, seed: int = 0) -> Fitted:
        self.logs.append(log)
        # each fold's model answers something of its own, so that it shows who answered
        own: Any = self.model.model
        shifted = replace(own, doses=own.doses + 10.0 * (len(self.logs) - 1))
        return replace(fitted_on(self.model, log), model=shifted)


def test_cross_fitted_rows_are_judged_by_models_that_did_not_see_them(exact, later):
    log = known(exact).read(later)
    settings = Remembering(exact)
    crossed = cross_fit(settings, log, folds=3, seed=1)
    assert sum(60 - len(own) for own in settings.logs) == 60
    which = crossed.unseen(log)
    for index, model in enumerate(crossed.models):
        assert not np.isin(log.take(which == index).fingerprints(), model.fingerprints).any()
        assert (which == index).sum() > 5

    # read on its own, with other scales, the log still finds the models that have not seen its rows
    alone = Log.from_frame(later, action="dose", reward="outcome", propensity="likely", kinds=WORLD.kinds)
    np.testing.assert_array_equal(crossed.unseen(alone), which)

    found = evaluate({"crossed": crossed.policy(**OPTIONS)}, log)
    assert found.prices.source == "from the cross-fitted models"
    assert found.notes == ()
    parts = [model.policy(**OPTIONS).recommend(log.cases()).actions for model in crossed.models]
    wanted = [parts[index][row] for row, index in enumerate(which)]
    np.testing.assert_array_equal(found.probabilities["crossed"], np.equal.outer(wanted, log.action_labels))
    assert len({tuple(part) for part in parts}) > 1


def test_cross_fitting_keeps_twins_together_and_takes_rows_without_reward(exact, later):
    doubled = pl.concat([later, later, later.with_columns(outcome=pl.lit(None, pl.Float64)).head(10)])
    log = known(exact).read(doubled)
    crossed = cross_fit(Remembering(exact), log, folds=3)
    which = crossed.unseen(log.take(log.rewarded))
    np.testing.assert_array_equal(which[:60], which[60:])
    found = evaluate({"crossed": crossed.policy(**OPTIONS)}, log)
    assert len(found.log) == 120


def test_rows_that_every_fold_has_seen_are_refused(exact, later):
    log = known(exact).read(later)
    crossed = CrossFitted((fitted_on(exact, log), fitted_on(exact, log)))
    with pytest.raises(InputProblem, match="seen"):
        evaluate({"crossed": crossed.policy(**OPTIONS)}, log)
    fresh = known(exact).read(WORLD.sample(40, seed=9).frame().with_columns(likely=pl.lit(0.4)))
    assert (crossed.unseen(fresh) == 0).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"settings": 3}, "'settings' parameter"),
        ({"folds": 1}, "'folds' parameter"),
        ({"log": None}, "'log' parameter"),
    ],
)
def test_wrong_cross_fitting(exact, later, arguments, words):
    right = {"settings": Remembering(exact), "log": known(exact).read(later), "folds": 2}
    with pytest.raises(InputProblem, match=words):
        cross_fit(**(right | arguments))
