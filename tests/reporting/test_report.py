"""The report: every part against the functions it rests on, worlds with a known truth, logs that hardly say anything,
and the page: structure, nothing from outside, everything escaped."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ACTIONS, visits

from prudent import Conservative, MaximumExpectedReward, evaluate
from prudent.command_line import main
from prudent.decide import Status
from prudent.errors import InputProblem
from prudent.reporting import Report, ReportSettings, make_report
from prudent.reporting.answers import Unanswered
from prudent.reporting.chosen_cases import chosen_rows
from prudent.reporting.filled_gaps import HIDDEN, filled_gaps, hidden_cells
from prudent.reporting.limits import limits
from prudent.reporting.policy_values import judged
from prudent.reporting.report import _of_the_fit
from prudent.rivals import USUAL
from prudent.worlds import DosingWorld

pytestmark = pytest.mark.usefixtures("one_chunk")

SECTIONS = ["log", "gaps", "outcomes", "values", "caution", "changes", "cases", "measuring", "limits", "card"]
SETTINGS = ReportSettings(completed_rows=120, measured_rows=40, hidden_rows=60, cases=6)
VILE = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Every element with its attributes, and the texts of headings."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[str, str]] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside in ("h1", "h2", "h3", "h4"):
            self.headings.append((self._inside, data))
            self._inside = ""

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(autouse=True, scope="module")
def one_rival() -> Iterator[None]:
    """Forests and boosting take ten times as long as all the rest of a report on so few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prudent.reporting.policy_values.USUAL", {"ridge regression": USUAL["ridge regression"]})
        yield


@pytest.fixture(scope="module")
def model(fitted_models) -> Any:
    return fitted_models["causal"]


@pytest.fixture(scope="module")
def policies(model) -> Mapping[str, Any]:
    options = {"completions": 16}
    return {
        "expected": model.policy(MaximumExpectedReward(), **options),
        "conservative": model.policy(Conservative(), **options),
    }


@pytest.fixture(scope="module")
def later(model) -> Any:
    return model.read(visits(120, seed=7))


@pytest.fixture(scope="module")
def report(model, policies, later) -> Report:
    return make_report(model, later, policies, past=model.read(visits()), settings=SETTINGS)


@pytest.fixture(scope="module")
def facts(report) -> dict[str, Any]:
    return json.loads(json.dumps(report.to_dict()))


@pytest.fixture(scope="module")
def page(report) -> str:
    return report.html()


# --- the parts ---


def test_values_are_those_of_evaluate(policies, later, facts):
    found = facts["values"]["evaluation"]
    own = evaluate(policies, later, below=found["below"]).to_dict()
    assert found == json.loads(json.dumps(own))


def test_rivals_are_judged_on_the_same_rows(facts, report):
    rivals = facts["values"]["rivals"]
    assert [one["name"] for one in rivals] == ["ridge regression"]
    assert not facts["values"]["rivals_cross_fitted"]
    assert facts["values"]["rival_rows"] == 200
    ours = next(one for one in facts["values"]["evaluation"]["policies"] if one["name"] == "expected")
    for rival in rivals:
        assert rival["behind"]["value"] == pytest.approx(ours["value"]["value"] - rival["value"]["value"])


def test_without_the_log_of_the_fit_rivals_learn_from_the_other_folds(policies, later):
    _, values = judged(policies, later, None, recommended="expected", below=None, confidence=0.95, seed=0)
    assert values.rivals_cross_fitted
    assert values.rival_rows == 120
    assert isinstance(values.rivals, tuple)
    assert [one.name for one in values.rivals] == ["ridge regression"]
    few = later.take(np.arange(30))
    _, values = judged(policies, few, None, recommended="expected", below=None, confidence=0.95, seed=0)
    assert isinstance(values.rivals, Unanswered)
    assert "--learnt-from" in values.rivals.sentence


def test_the_counts_of_the_log(facts, later):
    log = facts["log"]
    assert (log["rows"], log["rewarded"]) == (120, 120)
    assert log["gap_share"] == pytest.approx(1 - later.observed.mean())
    assert {one["name"]: one["gap_share"] for one in log["columns"]} == pytest.approx(
        dict(zip(later.schema.names, 1 - later.observed.mean(axis=0), strict=True))
    )
    assert sum(one["rows"] for one in log["common"]) <= 120


def test_every_case_is_counted_once_in_the_changes(facts, policies, later):
    changed = facts["changed"]
    assert sum(route["rows"] for route in changed["routes"]) == 120
    advice = policies["expected"].recommend(later.cases())
    moved = sum(label != ACTIONS[taken] for label, taken in zip(advice.actions, later.actions, strict=True))
    assert changed["changed"] + changed["referred"] == moved


def test_predictions_are_those_of_the_action_that_was_taken(facts, policies, later, model):
    advice = policies["expected"].recommend(later.cases())
    predicted = model.reported(advice.scored.expected[np.arange(120), later.actions])
    for at, action in enumerate(facts["rewards"]["actions"]):
        rows = later.actions == at
        assert action["rows"] == rows.sum() == sum(part["rows"] for part in action["bins"])
        assert action["predicted"] == pytest.approx(predicted[rows].mean())
        assert action["observed"] == pytest.approx(later.rewards[rows].mean())
        mean = np.average([one["observed"] for one in action["bins"]], weights=[one["rows"] for one in action["bins"]])
        assert mean == pytest.approx(action["observed"])


def test_cases_are_chosen_by_rule_and_none_twice(policies, later, facts):
    advice = policies["expected"].recommend(later.cases())
    chosen = chosen_rows(advice, later, 12)
    rows = [row for row, _ in chosen]
    assert len(set(rows)) == len(rows) == 12
    by_reason = {why: row for row, why in reversed(chosen)}
    usual = [status is Status.OK for status in advice.status]
    assert advice.scored.entropy[by_reason["unsure"]] == advice.scored.entropy[usual].max()
    assert (~later.observed).sum(axis=1)[by_reason["most gaps"]] >= np.quantile((~later.observed).sum(axis=1), 0.9)
    assert all(not usual[row] for row, why in chosen if why == "not as usual")
    assert len(facts["cases"]) == SETTINGS.cases
    assert all(case["explanation"]["label"] is None for case in facts["cases"])


def test_what_to_measure_adds_up(facts):
    found = facts["measuring"]
    assert found["rows"] == 40
    assert sum(one["first"] for one in found["columns"]) == found["worth"] <= found["with_gaps"]
    assert all(one["mean_gain"] >= 0 for one in found["columns"])


# --- hidden cells ---


def test_a_share_of_the_known_cells_is_hidden_and_never_all():
    observed = np.random.default_rng(0).random((500, 10)) < 0.6
    observed[0], observed[1], observed[2] = False, False, True
    observed[1, 3] = True
    hidden = hidden_cells(observed, np.random.default_rng(1))
    assert not (hidden & ~observed).any()
    assert not hidden[:2].any()
    assert hidden[2].sum() == round(HIDDEN * 10)
    assert (hidden.sum(axis=1) < np.maximum(observed.sum(axis=1), 1)).all()


def test_errors_and_ranges_where_the_posterior_is_exact():
    """With the true distribution of the gaps, ranges hold what they claim and no other guess is closer."""
    world = DosingWorld(gaps=0.2, categorical=2)
    exact = world.exact_model()
    log = exact.read(world.sample(800, seed=1).frame())
    found = filled_gaps(exact.policy(completions=256), log, most_rows=800, seed=0)
    numbers = [one for one in found.columns if one.covered is not None]
    cells = sum(one.cells for one in numbers)
    covered = sum((one.covered or 0) * one.cells for one in numbers) / cells
    assert abs(covered - 0.9) < 4 * np.sqrt(0.09 / cells)
    assert all(one.error <= 1.05 * one.usual_error for one in found.columns)
    assert min(one.error / one.usual_error for one in numbers) < 0.9


# --- logs that say little ---


def degenerate(name: str) -> pd.DataFrame:
    table = visits(60, seed=8)
    match name:
        case "no gaps":
            return visits(60, seed=8, gaps=0.0)
        case "one action missing":
            return table.loc[table["dose"] != "low", :]
        case "one action":
            return table.loc[table["dose"] == "low", :]
        case "an empty column":
            return table.assign(marker=np.nan, ward=None)
        case "one known cell a row":
            known = np.arange(len(table)) % 7
            features = list(table.columns[:7])
            return table.assign(**{one: table[one].where(known == at) for at, one in enumerate(features)})
        case "tiny":
            return table.head(6)
        case _:
            return table.assign(outcome=1.0)


@pytest.mark.parametrize(
    "name",
    ["no gaps", "one action missing", "one action", "an empty column", "one known cell a row", "tiny", "one outcome"],
)
def test_a_log_that_says_little_gives_a_page_or_a_sentence(model, policies, name):
    log = model.read(degenerate(name))
    own = {"expected": policies["expected"]}
    settings = replace(SETTINGS, cases=1, hidden_rows=10, measured_rows=10, completed_rows=60)
    report = make_report(model, log, own, past=model.read(visits()), settings=settings)
    found, page = report.to_dict(), report.html()
    assert [f"#{anchor}" for anchor in SECTIONS] == re.findall('<li><a href="(#[a-z]+)"', page)
    assert "NaN" not in page
    assert " nan" not in page
    if name == "no gaps":
        assert "nothing left to measure" in found["measuring"]["sentence"]
    if name == "an empty column":
        assert set(found["limits"]["empty_columns"]) == {"marker", "ward"}
    if "action" in name:
        assert "low" in found["limits"]["never"] or set(found["limits"]["never"]) == {"high", "none"}
    if name == "one known cell a row":
        assert "two observed cells" in found["gaps"]["sentence"]


def test_rows_of_the_fit_are_refused_and_no_outcomes_are_a_sentence(model, policies):
    with pytest.raises(InputProblem, match="fitted on these rows"):
        make_report(model, model.read(visits()), policies, settings=SETTINGS)
    with pytest.raises(InputProblem, match="'hopeful'"):
        make_report(model, model.read(visits(20, seed=3)), policies, recommended="hopeful")


def test_rivals_learn_from_no_row_that_was_held_out(model, later):
    both = model.read(pd.concat([visits(), visits(120, seed=7)], ignore_index=True))
    assert len(_of_the_fit(model, both)) == 200
    with pytest.raises(InputProblem, match="--learnt-from"):
        _of_the_fit(model, later)


def test_some_rows_of_the_fit_and_another_ward_are_said(model, policies):
    past, own = model.read(visits()), {"expected": policies["expected"]}
    mixed = pd.concat([visits(120, seed=7), visits().head(20)], ignore_index=True)
    north = mixed.assign(ward="north", pressure=mixed["pressure"] + 40)
    evaluation = evaluate(own, model.read(mixed))
    found = limits(model, model.read(mixed), past, evaluation, "expected", seed=0)
    assert len(found.leaks) == 1
    assert found.unlike is not None
    assert found.unlike.features == ()
    moved = limits(model, model.read(north), past, evaluation, "expected", seed=0)
    assert moved.unlike is not None
    assert any("'pressure'" in one for one in moved.unlike.features)
    assert any("'ward'" in one for one in moved.unlike.features)


# --- the page ---


def test_headings_contents_and_pictures(page):
    parsed = Page(page)
    assert [level for level, _ in parsed.headings].count("h1") == 1
    assert [one["id"] for one in parsed.all("section") if "id" in one] == SECTIONS
    links = [one["href"] for one in parsed.all("a")]
    assert [link for link in links if link != "#limits"] == [f"#{one}" for one in SECTIONS if one != "limits"]
    pictures = parsed.all("svg")
    assert len(pictures) >= 6 + SETTINGS.cases
    assert all(one["role"] == "img" and one["aria-label"] for one in pictures)
    assert page.count("<desc>") == len(pictures)
    assert parsed.all("html")[0]["lang"] == "en"
    assert all(one.get("scope") for one in parsed.all("th"))


def test_nothing_comes_from_outside_and_nothing_runs(page):
    parsed = Page(page)
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not any(name.startswith("on") for _, attributes in parsed.elements for name in attributes)
    assert not re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]", page)
    assert "url(" not in page
    assert "@import" not in page


def test_the_answer_is_first_and_five_sentences(page):
    answer = page[page.index('class="answer"') : page.index("</ul>")]
    assert answer.count("<li>") == 5
    assert page.index('class="answer"') < page.index("<nav")


def test_print_dark_and_narrow_have_rules(page):
    for rule in ("@media print", "prefers-color-scheme:dark", "max-width:620px", "@page"):
        assert rule in page


def test_names_and_levels_are_escaped(facts):
    from prudent.show import model_card, report_page

    text = json.dumps(facts)
    for name in ("pressure", "ward", "north", "dose", "high", "outcome", "expected"):
        text = text.replace(f'"{name}"', json.dumps(f"{VILE} {name}"))
    # keys of the facts stay what they are
    vile = _with_keys_of(facts, json.loads(text))
    page = report_page({**vile, "title": VILE, "intended_use": VILE})
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    card = model_card({**vile, "title": VILE, "intended_use": VILE})
    assert "<script" not in card.partition("---\n\n")[2].replace("\\<", "")
    assert yaml.safe_load(card.split("---\n")[1])["model-index"][0]["name"] == VILE


def _with_keys_of(known: Any, changed: Any) -> Any:
    if isinstance(known, dict):
        own = ("observed", "most_likely", "worst_case")
        return {
            key: changed[new] if key in own else _with_keys_of(known[key], changed[new])
            for key, new in zip(known, changed, strict=True)
        }
    if isinstance(known, list):
        return [_with_keys_of(one, other) for one, other in zip(known, changed, strict=True)]
    return changed


def test_the_card_has_a_head_that_parses_and_says_what_matters(report, facts):
    card = report.card()
    head = yaml.safe_load(card.split("---\n")[1])
    assert head["library_name"] == "prudent"
    (result,) = head["model-index"][0]["results"]
    own = facts["values"]["evaluation"]["policies"][0]["value"]
    assert result["metrics"][0]["value"] == own["value"]
    titles = [line for line in card.splitlines() if line.startswith("#")]
    assert [title.lstrip("# ") for title in titles][1:3] == ["Intended use", "Limits"]


# --- the command ---


def test_the_command_writes_page_card_and_json(model, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    model.save("model")
    visits(80, seed=7).assign(patient=[f"P{at}" for at in range(80)]).to_csv("later.csv", index=False)
    visits().to_csv("past.csv", index=False)
    command = ["report", "model", "later.csv", "--out", "report.html", "--completions", "16", "--search", "0"]
    more = ["--learnt-from", "past.csv", "--card", "card.md", "--json", "report.json", "--cases", "2"]
    named = ["--label", "patient", "--strategy", "tail", "--risk", "0.3", "--title", "Doses", "--intended-use", "ward"]
    assert main([*command, *more, *named]) == 0
    found, page = json.loads((tmp_path / "report.json").read_text()), (tmp_path / "report.html").read_text()
    assert found["values"]["recommended"] == "tail"
    assert found["model"]["policy"]["strategy"] == "TailAverse(risk=0.3)"
    assert (found["title"], found["intended_use"]) == ("Doses", "ward")
    assert re.fullmatch("[0-9a-f]{64}", found["model"]["origin"]["model_hash"])
    assert re.search(r"patient P\d+", page)
    assert "Doses" in (tmp_path / "card.md").read_text()
    assert main([*command[:3], "--out", "report.txt"]) == 2
    assert main([*command[:3], "--out", "later.html", "--card", "later.html"]) == 2
    assert main(["report", "model", "past.csv", "--out", "seen.html"]) == 2
    assert "fitted on these rows" in capfd.readouterr().err
    assert not (tmp_path / "seen.html").exists()
