"""The pages as the server makes them: whatever a table holds is text, and no script is needed."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import prudent
from prudent.journal import Journal
from prudent.table import Schema
from prudent.web import Service, create_app
from tests.web.conftest import HERE, Opened

EVIL = "<script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(1)>&amp;"


@pytest.fixture(scope="module")
def hostile(service: Service) -> Service:
    """The small model, all of whose names and labels are markup."""
    fitted = service.fitted
    columns = [replace(column, name=f"{EVIL} {at}") for at, column in enumerate(fitted.schema.columns)]
    columns[3] = replace(columns[3], name=f"{QUOTED} 3", categories=(EVIL, QUOTED, "javascript:alert(1)"))
    roles = replace(fitted.roles, action=f"{EVIL} act", reward=f"{EVIL} out")
    labels = (f"{EVIL} 1", QUOTED, "javascript:alert(2)")
    named = replace(fitted, schema=Schema(tuple(columns)), action_labels=labels, roles=roles)
    return Service(named, EVIL, units={columns[0].name: EVIL})


def assert_harmless(page: str) -> None:
    tags = re.findall(r"<(/?[a-zA-Z]+)", page)
    assert tags.count("script") == page.count('<script src="static/prudent.js" defer></script>')
    assert "img" not in tags
    assert not re.search(r"<[^>]*\son[a-z]+\s*=", re.sub(r'"[^"]*"', '""', page))
    assert not re.search(r"""(href|src|action)=["']\s*javascript:""", page)


def test_units_stand_beside_their_fields(service: Service):
    units = {"pressure": "mmHg"}
    app = create_app(Service(service.fitted, units=units))
    with TestClient(app, base_url=HERE) as client:
        assert re.search(r"to \S+ mmHg in the log", client.get("/").text)
        assert "mmHg" in client.get("/model").text
        told = {column["name"]: column["unit"] for column in client.get("/api/model").json()["columns"]}
    assert told == dict.fromkeys(service.fitted.schema.names) | units
    with pytest.raises(prudent.InputProblem, match="'presure'"):
        Service(service.fitted, units={"presure": "mmHg"})


def test_a_guarantee_is_told_where_there_are_later_decisions(service: Service, frame: Any):
    later = service.fitted.read(frame.assign(pressure=frame["pressure"] + 0.01))  # rows that the fit has not seen
    app = create_app(Service(service.fitted, later=later, confidence=0.8))
    with TestClient(app, base_url=HERE) as client:
        advice = client.post("/api/recommend", json={"case": {"pressure": 1.0}}).json()["advice"][0]
        assert advice["guaranteed_reward"] < advice["expected_reward"]
        page = client.post("/answer", data={"x0": "1"}, headers={"Origin": HERE}).text
    assert "guaranteed, 80%" in page


@pytest.mark.parametrize("path", ["/", "/table", "/model"])
def test_names_and_labels_are_text_on_every_page(hostile: Service, path: str):
    with TestClient(create_app(hostile), base_url=HERE) as client:
        page = client.get(path).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert_harmless(page)


def test_names_labels_and_cells_are_text_in_answers(hostile: Service, journal: Path):
    with TestClient(create_app(hostile, journal=Journal.open(journal)), base_url=HERE) as client:
        answer = client.post("/answer", data={"x0": "131", "x3": f"{EVIL} never seen"}).text
        assert "&lt;script&gt;" in answer
        assert_harmless(answer)
        changed = client.post("/answer", data={"x3": QUOTED, "before": f"x3={EVIL}"}).text
        assert "before" in changed
        assert_harmless(changed)
        wrong = client.post("/answer", data={"x0": EVIL})
        assert wrong.status_code == 400
        assert_harmless(wrong.text)
        assert_harmless(client.post("/", data={"x0": QUOTED, "x3": EVIL, "floor": EVIL}).text)
        uploaded = client.post("/table", files={"file": (f"{EVIL}.csv", b"")}, headers={"accept": "text/html"})
        assert uploaded.status_code == 400
        assert_harmless(uploaded.text)


def test_the_form_asks_for_what_the_model_knows(client: TestClient):
    page = client.get("/").text
    for name in ("pressure", "marker", "visits", "ward", "grade", "smoker", "admitted"):
        assert re.search(rf"<label for=\"x\d\">{name}</label>", page)
    assert re.search(r'<option value="moderate">moderate</option>', page)
    assert page.count('type="date"') == 1
    assert 'type="range"' in page


def test_without_the_script_the_form_is_answered_too(client: TestClient):
    page = client.post("/", data={"x0": "131", "x3": "north", "caution": "2"}).text
    assert 'value="131"' in page
    assert re.search(r'<option value="north" selected>', page)
    assert "Recommended dose" in page
    assert "prudent-picture" in page
    assert 'value="2"' in page


def test_the_answer_is_that_of_the_policy(client: TestClient, service: Service):
    for step, strategy in ((0, None), (2, prudent.TailAverse(0.2))):
        answer = client.post("/answer", data={"x0": "131", "caution": str(step)}).text
        expected = service.fitted.policy(strategy).recommend([{"pressure": 131}]).actions[0]
        assert f'data-action="{expected}"' in answer


def test_at_most_eight_columns_are_shown_at_first(client: TestClient):
    answer = client.post("/answer", data={"x0": "131"}).text
    mattered = answer[answer.index("What mattered") :]
    first = mattered[: mattered.index("</table>")]
    assert first.count("<tr") - 1 <= 8


def test_actions_that_are_not_allowed_and_a_floor(client: TestClient):
    barred = client.post("/answer", data={"x0": "131", "barred": ["0", "1"]}).text
    assert 'data-action="none"' in barred
    referred = client.post("/answer", data={"x0": "131", "floor": "1000"}).text
    assert "A person has to decide" in referred
    fallback = client.post("/answer", data={"x0": "131", "floor": "1000", "fallback": "1"}).text
    assert 'data-action="low"' in fallback
    assert client.post("/answer", data={"floor": "much"}).status_code == 400


def test_an_edit_is_told_against_the_answer_before(client: TestClient):
    answer = client.post("/answer", data={"x0": "100", "caution": "2", "before": "x0=150&caution=0"}).text
    told = answer[answer.index('class="against') :]
    told = told[: told.index("</section>")]
    assert "150" in told
    assert "100" in told
    assert "Best on average" in told
    same = client.post("/answer", data={"x0": "100", "before": "x0=100"}).text
    assert 'class="against' not in same
    wrong = client.post("/answer", data={"x0": "100", "before": "x0=high"}).text
    assert 'class="against' not in wrong


def test_the_journal_is_added_to_from_the_page(opened: Opened, journal: Path):
    client = opened(journal)
    answer = client.post("/answer", data={"x0": "131"}).text
    id = re.search(r"later/([0-9a-f]{32})", answer)[1]  # type: ignore[index]
    said = client.post(f"/later/{id}", data={"action": "1", "reward": "−0,5"}).json()["said"]
    assert "action" in said
    assert client.post(f"/later/{id}", data={"action": "", "reward": ""}).status_code == 400
    assert client.post(f"/later/{id}", data={"reward": "good"}).status_code == 400
    with Journal.open(journal) as kept:
        (one,) = kept.recorded()
    assert (one.entry.source, one.took, one.reward) == ("page", "low", -0.5)


@pytest.mark.parametrize("fields", [{"x0": "1" * 400}, {"caution": "²"}, {"caution": "-1"}, {"barred": ["7", "x"]}])
def test_odd_forms_are_no_fault_of_ours(client: TestClient, fields: Any):
    assert client.post("/answer", data=fields).status_code in (200, 400)
