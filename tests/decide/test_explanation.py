"""Explanations: every strategy and model, referred and fallback rows; text, page and JSON agree; hostile texts are
escaped."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import equinox as eqx
import numpy as np
import pandas as pd
import pytest
from conftest import COMPLETIONS
from scipy.stats import norm

from prudent.decide import (
    ActionPrice,
    Advice,
    BestFrequencyLottery,
    Case,
    Change,
    Conservative,
    Explanation,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    Strategy,
    TailAverse,
    TurningPoint,
    turning_points,
)
from prudent.decide.explanation import changes as change_module
from prudent.decide.explanation import explaining
from prudent.decide.explanation.changes import where
from prudent.decide.explanation.explaining import quantiles
from prudent.decide.explanation.explanation import Influence, Measurement
from prudent.decide.explanation.influences import influences
from prudent.show import Area, Box, Point, Text, explanations_page, percent
from prudent.show.explanation.figures import case_figures as figures
from prudent.show.explanation.text import chance, change_sentences, measuring_sentences, price_columns
from prudent.table import Column

pytestmark = pytest.mark.usefixtures("one_chunk")

STRATEGIES = (
    Imputation(),
    MaximumExpectedReward(),
    Conservative(risk=0.1),
    TailAverse(risk=0.2),
    TailAverse(risk=0.25, measure="quantile"),
    MostOftenBest(),
    BestFrequencyLottery(),
)


@pytest.fixture(scope="module", autouse=True)
def without_changes() -> Iterator[None]:
    """What would change a decision is tested separately below; elsewhere its programs need not be compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explaining, "changes", lambda case: ())
        patch.setattr(explaining, "measurements", lambda case: ((), None))
        yield


@pytest.fixture
def with_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "changes", change_module.changes)
    monkeypatch.setattr(explaining, "measurements", change_module.measurements)


def advise(fitted: Any, cases: pd.DataFrame, strategy: Strategy | None = None, **options: Any) -> Advice:
    allowed = options.pop("allowed", None)
    return fitted.policy(strategy, completions=COMPLETIONS, **options).recommend(cases, allowed)


@pytest.fixture(scope="module")
def causal(fitted_models: dict[str, Any]) -> Any:
    return fitted_models["causal"]


@pytest.fixture(scope="module")
def advice(causal: Any, cases: pd.DataFrame) -> Advice:
    return advise(causal, cases, Conservative(risk=0.1))


@pytest.fixture(scope="module")
def explained(advice: Advice) -> Explanation:
    return advice[gappy(advice)].explain()


def gappy(advice: Advice) -> int:
    """A row that has both gaps and cells."""
    observed = advice.encoded.observed
    return int(np.flatnonzero(observed.any(axis=1) & (observed.sum(axis=1) < 5))[0])


def with_fields(case: Case, **fields: Any) -> Case:
    """The same row of an advice that differs in some fields."""
    return replace(replace(case.advice, **fields)[case.row], action=case.action)


def many_actions(explained: Explanation, count: int, label: str = "action number") -> Explanation:
    price = explained.price
    prices = [
        replace(price, action=f"{label} {at}", rank=at + 1, expected_reward=price.expected_reward - at, allowed=at != 3)
        for at in range(count)
    ]
    return replace(explained, action=prices[-1].action, about=prices[-1].action, prices=tuple(prices))


class _Words(HTMLParser):
    """The words of a page, and the names of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words_of(page: str) -> tuple[str, set[str]]:
    parser = _Words()
    parser.feed(page)
    return " ".join(parser.words), set(parser.tags)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_every_strategy_gives_its_reason(causal: Any, cases: pd.DataFrame, strategy: Strategy):
    advice = advise(causal, cases, strategy)
    row = gappy(advice)
    explained = advice[row].explain()
    scores = advice.scored.scores[row]
    labels = list(causal.action_labels)
    chosen = labels.index(explained.action)
    other = int(np.argmax(np.where(np.arange(len(labels)) == chosen, -np.inf, scores)))
    write = percent if strategy.in_shares else figures(explained.to_dict())
    assert explained.reason.startswith(f"{strategy!r}: ")
    for named in (explained.action, write(scores[chosen])):
        assert str(named) in explained.reason.removeprefix(repr(strategy))
    if not isinstance(strategy, BestFrequencyLottery):
        for named in (labels[other], write(scores[other])):
            assert str(named) in explained.reason.removeprefix(repr(strategy))
    assert explained.runner_up == labels[other]
    assert explained.strategy == repr(strategy)
    assert explained.prices[other].rank <= 3


def test_a_new_strategy_is_explained_by_its_scores(causal: Any, cases: pd.DataFrame):
    class Modest(Strategy):
        def scores(self, table):
            return -table.prices[0]

    assert "has the highest score" in advise(causal, cases, Modest())[2].explain().reason


def test_prices_are_those_of_the_advice_and_of_the_completions(fitted: Any, cases: pd.DataFrame):
    advice = advise(fitted, cases)
    row = gappy(advice)
    explained = advice[row].explain()
    _, table = advice.chooser.pricing.detail(advice.encoded.values[row], advice.encoded.observed[row])
    weights, prices = np.asarray(table.weights, float), np.asarray(table.prices, float)
    for at, price in enumerate(explained.prices):
        assert price.expected_reward == advice.scored.expected[row, at]
        assert price.worst_reward == advice.scored.worst[row, at]
        assert price.low_reward <= price.expected_reward <= price.high_reward
        assert (
            weights[prices[:, at] < price.low_reward].sum() < 0.05 <= weights[prices[:, at] <= price.low_reward].sum()
        )
        assert weights[prices[:, at] > price.high_reward].sum() <= 0.05 + 1e-5
    assert sum(price.chance_best for price in explained.prices) == pytest.approx(1, abs=1e-5)
    assert 0.95 - 1e-5 <= explained.plausible_share <= 1
    assert explained.price.worst_reward == advice.worst_reward[row]


def test_the_worst_case_is_plausible_and_as_bad_as_said(causal: Any, advice: Advice):
    row = gappy(advice)
    explained = advice[row].explain()
    full = pd.DataFrame([explained.observed | explained.worst_case], columns=list(causal.schema.names))
    at = causal.action_labels.index(explained.about)
    # completions differ by what the network says of them
    network = replace(causal, model=eqx.tree_at(lambda model: model.average, causal.model, None))
    again, mean = (advise(network, frame, Conservative(risk=0.1)) for frame in (full, advice.frame))
    below = mean.scored.expected[row, at] - again.scored.expected[0, at]
    # cells are rounded to whole numbers and labels on the way, so the price of the decoded case is close, not equal
    assert explained.price.expected_reward - explained.price.worst_reward == pytest.approx(below, abs=0.1)
    assert set(explained.worst_case) == set(explained.most_likely)
    assert set(explained.observed) | set(explained.most_likely) == set(causal.schema.names)
    assert not set(explained.observed) & set(explained.most_likely)


def test_weighted_quantiles():
    prices = np.array([[9.0, 0.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    weights = np.array([0.0, 0.2, 0.3, 0.5])
    assert quantiles(prices, weights, 0.05).tolist() == [1.0, 1.0]
    assert quantiles(prices, weights, 0.4).tolist() == [2.0, 1.0]
    assert quantiles(prices, weights, 0.95).tolist() == [3.0, 3.0]


def test_complete_and_empty_records(advice: Advice):
    complete, empty = advice[0].explain(), advice[1].explain()
    assert "nothing is missing" in complete.reason
    assert complete.most_likely == {}
    assert complete.plausible_share == pytest.approx(1, abs=1e-5)
    assert empty.observed == {}
    assert "average case" in str(empty)
    for explained in (complete, empty):
        assert "<h2>What matters most for this advice</h2>" in explained.html()
        ElementTree.fromstring(explained.picture().svg())


def test_referred_rows_and_fallbacks(causal: Any, cases: pd.DataFrame):
    referred = advise(causal, cases, Conservative(risk=0.1), floor=99.0)[3].explain()
    assert referred.action is None
    assert str(referred.status) in str(referred).splitlines()[0]
    worst = figures(referred.to_dict())(referred.price.worst_reward)
    for named in (figures(referred.to_dict())(99.0), str(referred.about), worst):
        assert named in referred.reason
    assert not any(
        isinstance(element, Area) and element.colour.name == "wash" for element in referred.picture().elements
    )
    fallen = advise(causal, cases, Conservative(risk=0.1), floor=99.0, fallback="ask the ward")[3].explain()
    assert fallen.action == "ask the ward"
    assert str(fallen).startswith("Fallback: ask the ward ")
    assert "ask the ward" in fallen.reason
    known = advise(causal, cases, Conservative(risk=0.1), floor=99.0, fallback="none")[3].explain()
    assert known.about == "none"
    for explained in (referred, fallen, known):
        json.dumps(explained.to_dict(), allow_nan=False)
        assert any(text.text == "floor" for text in explained.picture().texts)


def test_a_floor_that_bars_better_scores_is_explained(causal: Any, cases: pd.DataFrame):
    free = advise(causal, cases, MaximumExpectedReward())
    worst, scores = free.scored.worst, free.scored.scores
    spared = [row for row in range(len(free)) if np.argmax(worst[row]) != np.argmax(scores[row])]
    row = spared[0]
    second, best = np.sort(worst[row])[-2:]
    explained = advise(causal, cases, MaximumExpectedReward(), floor=float((best + second) / 2))[row].explain()
    assert "only action" in explained.reason
    barred = causal.action_labels[int(np.argmax(scores[row]))]
    assert f"{barred} scores higher" in explained.reason
    assert explained.runner_up is None


def test_what_is_not_allowed_is_said_and_grey(advice: Advice):
    case = advice[gappy(advice)]
    index = advice.chooser.fitted.action_labels.index(case.action)
    permitted = np.ones((len(advice), 3), bool)
    permitted[case.row, (index + 1) % 3] = False
    explained = with_fields(case, permitted=permitted).explain()
    assert [price.allowed for price in explained.prices] == permitted[case.row].tolist()
    barred = explained.prices[(index + 1) % 3]
    assert f"{barred.action} (not allowed)" in str(explained)
    assert explained.runner_up == explained.prices[(index + 2) % 3].action
    label = next(text for text in explained.picture().texts if text.text == f"{barred.action} (not allowed)")
    assert label.colour.name == "faded"
    alone = np.zeros((len(advice), 3), bool)
    alone[case.row, index] = True
    explained = with_fields(case, permitted=alone).explain()
    assert "only action allowed" in explained.reason
    nobody = with_fields(replace(case, action=None), permitted=np.zeros((len(advice), 3), bool)).explain()
    assert nobody.reason.startswith("No action is allowed")


def test_what_is_too_rarely_given_is_said_and_grey(explained: Explanation):
    rare = explained.prices[-1 if explained.prices[-1].action != explained.action else 0]
    prices = tuple(replace(price, open=price != rare) for price in explained.prices)
    closed = replace(explained, prices=prices)
    assert f"{rare.action} (too rarely given)" in str(closed)
    assert '<tr class="barred">' in closed.html()
    label = next(text for text in closed.picture().texts if text.text == f"{rare.action} (too rarely given)")
    assert label.colour.name == "faded"


def test_the_guarantee_is_for_the_recommended_action_only(advice: Advice):
    case = advice[gappy(advice)]
    bounds = np.full(len(advice), case.worst_reward - 0.5)
    explained = with_fields(case, guaranteed_reward=bounds).explain()
    assert [price.guaranteed_reward for price in explained.prices if price.action == explained.action] == [bounds[0]]
    assert all(price.guaranteed_reward is None for price in explained.prices if price.action != explained.action)
    assert "guaranteed" in str(explained)
    diamonds = [mark for mark in explained.picture().elements if isinstance(mark, Point) and mark.shape == "diamond"]
    assert len(diamonds) == 2  # the mark, and its twin in the legend
    none = with_fields(case, guaranteed_reward=np.full(len(advice), np.nan)).explain()
    assert none.to_dict()["prices"] == json.loads(json.dumps(none.to_dict(), allow_nan=False))["prices"]


def test_costs_and_doubt_are_named_where_they_weigh(causal: Any, cases: pd.DataFrame):
    cost = advise(causal, cases, MaximumExpectedReward(), costs={"high": 0.25})[2].explain()
    assert [price.cost for price in cost.prices] == [0.25, 0.0, 0.0]
    assert "after the cost of each action" in cost.reason
    assert "cost" in price_columns(cost.to_dict())[0]
    free = advise(causal, cases, MaximumExpectedReward())[2].explain()
    assert "cost" not in price_columns(free.to_dict())[0]


def test_minimised_rewards_keep_the_users_sign(causal: Any, cases: pd.DataFrame, advice: Advice):
    row = gappy(advice)
    plain = advice[row].explain()
    flipped = advise(replace(causal, minimize=True), cases, Conservative(risk=0.1))[row].explain()
    assert flipped.action == plain.action
    for one, other in zip(plain.prices, flipped.prices, strict=True):
        assert other.expected_reward == -one.expected_reward
        assert other.worst_reward == -one.worst_reward
        assert (other.low_reward, other.high_reward) == (-one.high_reward, -one.low_reward)
        assert other.low_reward < other.high_reward
        assert other.rank == one.rank
    assert flipped.worst_case == plain.worst_case
    assert flipped.price.worst_reward >= flipped.price.expected_reward
    assert "lower is better" in flipped.picture().svg()
    assert "higher is better" in plain.picture().svg()
    assert f"no worse than {figures(flipped.to_dict())(flipped.price.worst_reward)}" in flipped.reason


def test_text_page_and_json_agree(explained: Explanation):
    text, page = str(explained), words_of(explained.html())[0]
    stored = json.loads(json.dumps(explained.to_dict(), allow_nan=False))
    figure = figures(explained.to_dict())
    assert stored == explained.to_dict()
    for price in stored["prices"]:
        for name in ("expected_reward", "worst_reward", "low_reward", "high_reward", "outcome_low", "outcome_high"):
            assert figure(price[name]) in text
            assert figure(price[name]) in page
        assert chance(price) in text
        assert chance(price) in page
    for part in (explained.reason, *change_sentences(explained.to_dict()), *measuring_sentences(explained.to_dict())):
        assert part in text
        assert part in page
    for name, value in (stored["observed"] | stored["most_likely"]).items():
        shown = f"{value:.4g}" if isinstance(value, float) and name in stored["most_likely"] else value
        shown = f"{value:.7g}" if isinstance(value, float) and name in stored["observed"] else shown
        known = f"{name}: {shown}" if name in stored["observed"] else f"{name}: missing, most likely {shown}"
        assert known in text
        assert known.removeprefix(f"{name}: ") in page


def test_json_has_plain_types_only(explained: Explanation):
    def check(value: Any) -> None:
        assert type(value) in (dict, list, str, int, float, bool, type(None))
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(item)

    check(explained.to_dict())


def test_hostile_words_stay_words(causal: Any, cases: pd.DataFrame):
    hostile = "<script>alert('x')</script>"
    columns = tuple(
        replace(column, name=f"{hostile}&{column.name}") if column.name in ("pressure", "ward") else column
        for column in causal.schema.columns
    )
    columns = tuple(
        replace(column, categories=(hostile, *column.categories[1:])) if "ward" in column.name else column
        for column in columns
    )
    labels = (hostile, '"><img src=x onerror=alert(1)>', "none")
    roles = replace(causal.roles, action=f"{hostile} dose", reward="</style><b>outcome")
    fitted = replace(causal, schema=type(causal.schema)(columns), action_labels=labels, roles=roles)
    table = cases.rename(columns={name: f"{hostile}&{name}" for name in ("pressure", "ward")})
    table = table.replace({"north": hostile})
    advice = advise(fitted, table, Conservative(risk=0.1), floor=99.0, fallback=hostile)
    explanations = [advice[row].explain() for row in range(8)]
    assert any(hostile in explained.observed.values() for explained in explanations)
    pages = [
        explanations_page([case.to_dict() for case in explanations]),
        *(explained.html() for explained in explanations),
        explanations[3]._repr_html_(),
    ]
    for page in pages:
        words, tags = words_of(page)
        assert hostile in words
        assert not tags & {"script", "img", "b", "iframe", "link"}
    for explained in explanations:
        ElementTree.fromstring(explained.picture().svg())


def test_pages_stand_alone_and_hold_every_case(advice: Advice):
    explanations = [advice[row].explain() for row in (0, 1, 2)]
    page = explanations_page([case.to_dict() for case in explanations])
    assert page.startswith("<!doctype html>")
    assert page.count("<article") == page.count("<svg") == 3
    assert not re.search(r"<script|<link|@import|url\(", page)
    for explained in explanations:
        assert f"Row {explained.row + 1} of the table" in page
    assert "decision support" in page
    assert "Advice for 3 cases" in page
    assert "<html" not in explanations[0]._repr_html_()


@pytest.mark.parametrize("count", [2, 12, 13, 30])
@pytest.mark.parametrize("label", ["action number", "a label that goes on about what is to be done and by whom"])
def test_pictures_of_few_and_many_actions(explained: Explanation, count: int, label: str):
    many = many_actions(explained, count, label)
    picture = many.picture()
    canvas = Box(0, 0, picture.width, picture.height)
    assert all(canvas.holds(text.box) for text in picture.texts)
    bands = [element for element in picture.elements if isinstance(element, Area) and element.colour.name == "wash"]
    assert len(bands) == 2  # the recommended row, though it ranks last, and its twin in the legend
    left_out = [text.text for text in picture.texts if "not shown" in text.text]
    assert [text.split()[0] for text in left_out] == ([] if count <= 12 else [str(count - 12)])
    assert len(str(many).splitlines()) >= count + 4


def test_what_would_change_it_and_what_to_measure_in_words(explained: Explanation):
    changes = (Change("kidney_function", "below 62", 0.24, "low"),)
    measured = (Measurement("heart_rate", 0.312, 0.312, 0.1, cost=0.05), Measurement("age", 0.0, 0.0, 0.0))
    advised = replace(explained, changes=changes, measurements=measured, measure_next="heart_rate")
    sentence = change_sentences(advised.to_dict())[0]
    assert sentence in str(advised)
    assert all(named in sentence for named in ("kidney_function", "below 62", "24%", "low"))
    gain = figures(explained.to_dict())(0.312)
    (sentence,) = measuring_sentences(advised.to_dict())
    assert sentence in str(advised)
    assert all(named in sentence for named in ("heart_rate", f"+{gain} outcome", "after its cost"))
    assert f"−{gain} outcome" in str(replace(advised, minimize=True))
    assert "heart_rate" in advised.html()
    (sentence,) = measuring_sentences(replace(advised, measure_next=None).to_dict())
    assert "heart_rate" not in sentence


def wide(explained: Explanation, count: int, idle: int = 0) -> Explanation:
    """The same case with many more known attributes, some of which change nothing."""
    assert explained.lead is not None
    weighty, unimportant = [f"lab {at}" for at in range(count)], [f"note {at}" for at in range(idle)]
    less = explained.lead / 2
    more = [Influence(name, known=True, action=explained.action, lead=less) for name in weighty]
    more += [Influence(name, known=True, action=explained.action, lead=explained.lead) for name in unimportant]
    known = dict.fromkeys([*weighty, *unimportant], 1.5)
    return replace(explained, observed=known, most_likely={}, worst_case={}, influences=tuple(more))


@pytest.mark.parametrize("count", [3, 8, 9, 60])
def test_eight_attributes_are_shown_and_the_rest_is_folded_away(explained: Explanation, count: int):
    many = wide(explained, count)
    page, folded = many.html(), max(count - 8, 0)
    before, _, inside = page.partition("<details>")
    assert before.count("lab ") == min(count, 8)
    assert inside.count("lab ") == folded
    assert page.count("<details>") == (folded > 0)
    assert str(many).count("lab ") == min(count, 8)
    assert (f"and {folded} more" in str(many)) == (folded > 0)
    assert many.text(every=True).count("lab ") == count
    assert "open" not in re.findall("<details([^>]*)>", page)


def test_what_changes_nothing_takes_no_row(explained: Explanation):
    case = wide(explained, 2, idle=58)
    before, _, inside = case.html().partition("<details>")
    assert (before.count("lab "), before.count("note ")) == (2, 0)
    assert inside.count("note ") == 58
    assert "<tr" not in inside.partition("</details>")[0]
    (line,) = [line for line in str(case).splitlines() if "note " in line]
    assert "58" in line
    assert line.count("note ") < 10
    assert len(case.text(every=True).splitlines()) == len(str(case).splitlines()) - 1 + 58


def test_influences_are_what_hiding_each_known_cell_does(causal: Any, cases: pd.DataFrame):
    advice = advise(causal, cases)
    row = gappy(advice)
    explained = advice[row].explain()
    about, rival = (causal.action_labels.index(label) for label in (explained.about, explained.runner_up))
    known = {one.attribute: one for one in explained.influences if one.known}
    assert set(known) == set(explained.observed)
    assert {one.attribute for one in explained.influences if not one.known} == set(explained.most_likely)
    for name, influence in known.items():
        without = advise(causal, cases.iloc[[row]].assign(**{name: None}))
        expected = without.scored.expected[0]
        assert influence.lead == pytest.approx(expected[about] - expected[rival], abs=1e-4)
        assert influence.decides == (without.actions[0] != explained.action)
        assert influence.action == without.actions[0]
    expected = advice.scored.expected[row]
    assert explained.lead is not None
    assert explained.lead == pytest.approx(expected[about] - expected[rival], abs=1e-4)
    steady = [abs(one.lead - explained.lead) for one in known.values() if one.lead and not one.decides]
    assert steady == sorted(steady, reverse=True)


def test_what_decides_comes_first_and_is_said(explained: Explanation, advice: Advice):
    gap = next(iter(explained.most_likely))
    measured = (Measurement(gap, 0.4, 0.4, 0.1),)
    subject = advice[explained.row].subject
    _, ordered = influences(subject, 0, 1, measured, (Change(gap, "below 62", 0.24, "low"),))
    assert ordered[0].decides
    found = next(one for one in ordered if one.attribute == gap)
    assert (found.decides, found.gain, found.action) == (True, 0.4, "low")
    assert [one.decides for one in ordered] == sorted((one.decides for one in ordered), reverse=True)
    shown = replace(explained, influences=(found, *explained.influences[:2]))
    for words in (str(shown), words_of(shown.html())[0]):
        assert figures(explained.to_dict())(0.4) in words


def test_a_label_says_whose_case_it_is(advice: Advice):
    explained = advice[gappy(advice)].explain("patient 0017")
    assert explained.to_dict()["label"] == "patient 0017"
    assert "patient 0017" in str(explained).splitlines()[0]
    page = explained.html()
    assert "patient 0017" in page.split("<h1>")[1].split("</h1>")[0]
    assert "patient 0017" in page.split("<title>")[1].split("</title>")[0]
    assert advice[0].explain().label is None


def test_the_range_of_single_outcomes_is_that_of_the_advice(advice: Advice):
    row = gappy(advice)
    explained = advice[row].explain()
    assert explained.price.outcome_low == pytest.approx(advice.outcome_low[row], abs=1e-3)
    assert explained.price.outcome_high == pytest.approx(advice.outcome_high[row], abs=1e-3)
    heads, _ = price_columns(explained.to_dict())
    assert any("single outcomes" in head for head in heads)
    silent = replace(
        explained, prices=tuple(replace(one, outcome_low=None, outcome_high=None) for one in explained.prices)
    )
    assert not any("single outcomes" in head for head in price_columns(silent.to_dict())[0])
    silent.picture()


def test_the_chance_to_be_best_includes_doubt(causal: Any, cases: pd.DataFrame):
    advice = advise(causal, cases)
    complete = advice[0].explain()  # no gaps: only doubt leaves open which action is best
    assert complete.action_entropy == 0
    assert 0.2 < complete.price.chance_best < 1
    first, second = sorted(complete.prices, key=lambda price: price.rank)[:2]
    doubts = [price.doubt or 0.0 for price in (first, second)]
    apart = (first.expected_reward - second.expected_reward) / np.sqrt(np.square(doubts).sum())
    assert first.chance_best <= norm.cdf(apart) + 0.01


def test_with_doubt_no_action_is_certainly_the_best(explained: Explanation):
    (price,) = (price for price in explained.to_dict()["prices"] if price["action"] == explained.about)
    assert chance(price | {"chance_best": 1.0, "doubt": 0.1}) == ">99%"
    assert chance(price | {"chance_best": 0.0, "doubt": 0.1}) == "<1%"
    assert [chance(price | {"chance_best": share, "doubt": None}) for share in (0.0, 1.0)] == ["0%", "100%"]


def test_unusual_cells_are_noted(causal: Any, cases: pd.DataFrame):
    table = cases.copy()
    table.loc[2, "ward"] = "<moon>"
    explained = advise(causal, table, Conservative(risk=0.1))[2].explain()
    assert "category '<moon>' never seen" in str(explained)
    assert "&lt;moon&gt;" in explained.html()


def test_the_price_in_question_is_at_hand(explained: Explanation):
    assert isinstance(explained.price, ActionPrice)
    assert explained.price.action == explained.about
    assert [
        text
        for text in explained.picture().texts
        if isinstance(text, Text) and text.text == str(explained.about) and text.bold
    ]


COLUMNS = {
    "real": Column("pressure", "real", location=120.0, scale=15.0),
    "whole": Column("age", "real", location=50.0, scale=10.0, integral=True),
    "positive": Column("marker", "positive", location=1.0, scale=0.5),
    "count": Column("visits", "count", location=1.0, scale=0.5, high=9.0),
    "date": Column("admitted", "date", location=19000.0, scale=100.0, integral=True),
    "grade": Column("grade", "ordinal", categories=("mild", "moderate", "severe"), location=1.0, scale=0.7),
}


@pytest.mark.parametrize(
    ("column", "low", "high", "levels", "words"),
    [
        ("real", -np.inf, 0.5, (), "below 128"),
        ("real", -0.5, np.inf, (), "above 112"),
        ("real", -1.0, 1.0, (), "between 105 and 135"),
        ("real", 0.001, 0.002, (), "about 120"),
        ("whole", -np.inf, 1.03, (), "at most 60"),
        ("whole", 1.03, np.inf, (), "at least 61"),
        ("whole", 0.97, 1.03, (), "60"),
        ("positive", -np.inf, 2.0, (), "below 7.39"),
        ("count", 0.0, np.inf, (), "at least 2"),
        ("date", 0.0, np.inf, (), "after 2022-01-08"),
        ("grade", -np.inf, np.inf, (0, 2), "mild or severe"),
    ],
)
def test_turning_points_are_in_the_users_units(column, low, high, levels, words):
    assert where(COLUMNS[column], TurningPoint(0, low, high, levels, 0, 0.5)) == words


@pytest.mark.usefixtures("with_changes")
def test_changes_and_measurements_come_from_the_policy(causal: Any, cases: pd.DataFrame):
    policy = causal.policy(completions=COMPLETIONS)
    advice = policy.recommend(cases, measure={"pressure": 0.01})
    named = [row for row, name in enumerate(advice.measuring.measure_next) if name is not None]
    assert named
    explained = advice[named[0]].explain()
    row = explained.row
    gaps = ~advice.encoded.observed[row]
    assert {gap.attribute for gap in explained.measurements} == {
        n for n, gap in zip(causal.schema.names, gaps, strict=True) if gap
    }
    assert [gap.gain for gap in explained.measurements] == sorted(
        (gap.gain for gap in explained.measurements), reverse=True
    )
    assert explained.measure_next == advice.measuring.measure_next[row] == explained.measurements[0].attribute
    assert explained.measurements[0].gain == advice.measuring.measure_value[row]
    turning = turning_points(policy, advice.encoded.values[row], advice.encoded.observed[row])
    assert [change.chance for change in explained.changes] == [point.chance for point in turning][:5]
    assert all(change.action != explained.action for change in explained.changes)
    free = policy.recommend(cases)[row].explain()
    for one in free.measurements:
        other = next(gap for gap in explained.measurements if gap.attribute == one.attribute)
        assert one.expected_gain == pytest.approx(other.expected_gain, abs=1e-5)
        assert one.gain == pytest.approx(other.gain + other.cost, abs=1e-5)
    assert free.changes == explained.changes
    complete = advice[0].explain()
    assert (complete.changes, complete.measurements, complete.measure_next) == ((), (), None)
    assert any(free.changes for free in (advice[row].explain() for row in named[:6]))


def test_what_would_turn_a_choice_not_followed_is_left_out(causal: Any, cases: pd.DataFrame):
    free = advise(causal, cases)
    row = next(row for row in range(2, len(free)) if change_module.changes(free[row].subject))
    change = change_module.changes(free[row].subject)[0]
    others = [label for label in causal.action_labels if label != free.actions[row]]
    assert change_module.changes(advise(causal, cases, allowed=[others] * len(cases))[row].subject) == ()
    without = [label for label in causal.action_labels if label != change.action]
    left = change_module.changes(advise(causal, cases, allowed=[without] * len(cases))[row].subject)
    assert left == tuple(point for point in change_module.changes(free[row].subject) if point.action != change.action)
    assert change_module.changes(advise(causal, cases, BestFrequencyLottery())[row].subject) == ()
