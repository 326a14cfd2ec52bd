"""The JSON API: the same advice as in Python, the same sentences as on the command line, and limits that hold."""

import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient

from prudent import Conservative, TailAverse
from prudent.decide import advice_table
from prudent.errors import InputProblem
from prudent.journal import Journal
from prudent.web import Limits, Service
from tests.web.conftest import Opened

CASE = {"pressure": 131.5, "ward": "north", "grade": None}


def problem_of(response: Any, status: int = 400) -> str:
    assert response.status_code == status, response.text
    return response.json()["problem"]


@pytest.mark.parametrize(
    ("how", "strategy"),
    [({}, None), ({"strategy": "tail", "risk": 0.2}, TailAverse(0.2)), ({"strategy": "conservative"}, Conservative())],
)
def test_one_case_gets_the_advice_of_the_policy(client: TestClient, service: Service, how: Any, strategy: Any):
    answer = client.post("/api/recommend", json={"case": CASE, **how}).json()
    expected = service.fitted.policy(strategy).recommend([CASE]).columns()
    (advice,) = answer["advice"]
    assert advice.pop("id") is None
    assert advice == {name: pytest.approx(values[0]) for name, values in expected.items()}


def test_several_cases_keep_their_order(client: TestClient):
    cases = [{"pressure": pressure} for pressure in (90, 120, 150)]
    together = client.post("/api/recommend", json={"cases": cases, "measure": True}).json()["advice"]
    alone = [client.post("/api/recommend", json={"case": case, "measure": True}).json()["advice"][0] for case in cases]
    assert [one["expected_reward"] for one in together] == pytest.approx([one["expected_reward"] for one in alone])
    assert [one["measure_next"] for one in together] == [one["measure_next"] for one in alone]


def test_only_allowed_actions_are_recommended(client: TestClient):
    asked = {"cases": [CASE, CASE, CASE], "allowed": [["low"], None, []]}
    actions = [one["action"] for one in client.post("/api/recommend", json=asked).json()["advice"]]
    assert actions[0] == "low"
    assert actions[1] is not None
    assert actions[2] is None
    everywhere = {"cases": [CASE, {}], "allowed": ["none"]}
    assert {one["action"] for one in client.post("/api/recommend", json=everywhere).json()["advice"]} == {"none"}


def test_a_floor_refers_or_falls_back(client: TestClient):
    asked = {"case": CASE, "floor": 1e6}
    assert client.post("/api/recommend", json=asked).json()["advice"][0]["action"] is None
    assert client.post("/api/recommend", json={**asked, "fallback": "low"}).json()["advice"][0]["action"] == "low"


def test_a_name_that_no_column_has_is_said(client: TestClient):
    notes = client.post("/api/recommend", json={"case": {"presure": 130}}).json()["notes"]
    assert any("'presure'" in note and "'pressure'" in note for note in notes)


def test_an_explanation_is_that_of_python(client: TestClient, service: Service):
    answer = client.post("/api/explain", json={"case": CASE}).json()
    expected = json.loads(json.dumps(service.fitted.policy().recommend([CASE])[0].explain().to_dict()))
    assert answer.pop("id") is None
    assert (answer.pop("model"), answer.pop("notes")) == ("5e0f", [])
    assert answer.keys() == expected.keys()
    assert (answer["action"], answer["reason"]) == (expected["action"], expected["reason"])
    assert [price["expected_reward"] for price in answer["prices"]] == pytest.approx(
        [price["expected_reward"] for price in expected["prices"]]
    )


def test_the_model_is_described(client: TestClient):
    facts = client.get("/api/model").json()
    columns = {column["name"]: column for column in facts["columns"]}
    assert facts["model_hash"] == "5e0f"
    assert facts["actions"] == ["high", "low", "none"]
    assert columns["grade"]["levels"] == ["mild", "moderate", "severe"]
    assert columns["pressure"]["low"] < columns["pressure"]["high"]
    assert columns["admitted"]["low"].startswith("2023-")
    assert [step["strategy"] for step in facts["caution"]][:: len(facts["caution"]) - 1] == ["expected", "conservative"]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"case": {"pressure": "high"}}, ["'pressure'", "'high'", "number"]),
        ({"case": CASE, "strategy": "tial"}, ["'tial'", "'tail'"]),
        ({"case": CASE, "risk": 0.1}, ["risk", "expected", "tail"]),
        ({"case": CASE, "strategy": "conservative", "risk": 0.1, "c": 0.1}, ["risk", "c"]),
        ({"case": CASE, "strategy": "tail", "risk": 3}, ["'risk'", "3"]),
        ({"case": CASE, "strategy": "at-most"}, ["below"]),
        ({"case": CASE, "fallback": "low"}, ["fallback", "floor"]),
        ({"case": CASE, "allowed": 5}, ["'allowed"]),
        ({"cases": [CASE, CASE], "allowed": [["low"]]}, ["'allowed'", "2"]),
        ({"case": CASE, "cases": [CASE]}, ["'case'", "'cases'"]),
        ({"cases": []}, ["at least one"]),
        ({}, ["'case'", "'cases'"]),
        ({"case": {"pressure": [1]}}, ["pressure", "[1]"]),
        ({"case": CASE, "stratgy": "tail"}, ["'stratgy'"]),
    ],
)
def test_bad_input_is_a_sentence(client: TestClient, asked: Any, named: list[str]):
    sentence = problem_of(client.post("/api/recommend", json=asked))
    assert sentence.endswith((".", "?"))
    assert all(name in sentence for name in named), sentence


def test_a_bad_cell_gets_the_sentence_of_python(client: TestClient, service: Service):
    with pytest.raises(InputProblem) as problem:
        service.fitted.policy().recommend([{"pressure": "high"}])
    assert problem_of(client.post("/api/recommend", json={"case": {"pressure": "high"}})) == str(problem.value)


@pytest.mark.parametrize("cell", [10**400, -(10**30), 1e308, "\u0000", "x" * 10_000, True, "NaN"])
def test_odd_cells_are_no_fault_of_ours(client: TestClient, cell: Any):
    for column in ("pressure", "visits", "ward", "smoker", "admitted"):
        response = client.post("/api/recommend", json={"case": {column: cell}})
        assert response.status_code in (200, 400), response.text


REFUSED = ["", "{", "[]", '"case"', '{"case": {"ward": "\\ud800"}}', '{"case": {"\\ud800": 1}}', "[" * 100_000]


@pytest.mark.parametrize("content", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_request_is_refused(client: TestClient, content: str):
    problem_of(client.post("/api/recommend", content=content, headers={"content-type": "application/json"}))


# --- tables ---


def upload(client: TestClient, name: str, content: bytes, path: str = "/api/table", **form: Any) -> Any:
    return client.post(path, files={"file": (name, content)}, data=form)


def written(frame: pl.DataFrame, ending: str) -> bytes:
    output = io.BytesIO()
    if ending == "csv":
        frame.write_csv(output)
    elif ending == "parquet":
        frame.write_parquet(output)
    else:
        frame.write_excel(output)
    return output.getvalue()


@pytest.fixture(scope="session")
def table(cases: Any) -> pl.DataFrame:
    rows = [f"0{row}" for row in range(len(cases))]
    return pl.from_pandas(cases).with_columns(patient=pl.Series(rows, dtype=pl.String))


READERS: dict[str, Any] = {
    "csv": lambda content: pl.read_csv(content, schema_overrides={"patient": pl.String}),
    "parquet": pl.read_parquet,
    "xlsx": lambda content: pl.read_excel(content, schema_overrides={"patient": pl.String}),
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_table_is_answered_as_the_command_line_answers_it(
    client: TestClient, service: Service, table: pl.DataFrame, ending: str
):
    response = upload(client, f"cases.{ending}", written(table, ending), strategy="tail", risk="0.2", keep="patient")
    assert response.status_code == 200, response.text
    assert f'filename="advice.{ending}"' in response.headers["content-disposition"]
    found = READERS[ending](io.BytesIO(response.content))
    advice = service.fitted.policy(TailAverse(0.2)).recommend(table)
    expected = advice_table(advice, table.select("patient"), as_text=ending == "csv")
    assert found.columns == expected.columns
    assert found["patient"].to_list() == table["patient"].to_list()
    assert found["action"].to_list() == expected["action"].to_list()
    assert found["expected_reward"].to_list() == pytest.approx(expected["expected_reward"].to_list(), abs=1e-5)


def test_a_table_may_come_back_in_another_format(client: TestClient, table: pl.DataFrame):
    response = upload(client, "cases.csv", written(table, "csv"), format="parquet")
    assert pl.read_parquet(io.BytesIO(response.content)).height == table.height


@pytest.mark.parametrize(
    ("name", "content", "form", "named"),
    [
        ("cases.pdf", b"%PDF", {}, ["'cases.pdf'", ".csv"]),
        ("../../etc/passwd", b"x", {}, ["'passwd'"]),
        ("cases.csv", b"", {}, ["'cases.csv'", "empty"]),
        ("cases.csv", b"pressure\nhigh\nlow\n", {}, ["'pressure'", "'high'"]),
        ("cases.csv", b"pressure,ward\n1,2,3\n", {}, ["'cases.csv'"]),
        ("cases.parquet", b"PAR1 no, it is not", {}, ["'cases.parquet'"]),
        ("cases.xlsx", b"PK\x03\x04 no", {}, ["'cases.xlsx'"]),
        ("cases.csv", b"pressure\n120\n", {"keep": "patient"}, ["'patient'"]),
        ("cases.csv", b"pressure\n120\n", {"allowed": "may"}, ["'may'"]),
        ("cases.csv", b"pressure\n120\n", {"risk": "much"}, ["risk", "'much'"]),
    ],
)
def test_a_bad_table_is_a_sentence(client: TestClient, name: str, content: bytes, form: Any, named: list[str]):
    sentence = problem_of(upload(client, name, content, **form))
    assert all(word in sentence for word in named), sentence
    assert "/tmp" not in sentence


def test_texts_that_a_spreadsheet_would_run_are_marked(client: TestClient):
    response = upload(client, "cases.csv", b"pressure,patient\n120,=1+1\n", keep="patient")
    assert response.content.splitlines()[1].startswith(b"'=1+1,")


# --- limits ---


def test_a_large_request_is_refused(opened: Opened, table: pl.DataFrame):
    client = opened(limits=Limits(body=2000, table=3000, rows=10, cases=2))
    big = {"case": {"ward": "x" * 3000}}
    assert "2,000 bytes" in problem_of(client.post("/api/recommend", json=big), 413)

    def in_parts() -> Any:
        yield from [b'{"case": {"ward": "', b"x" * 3000, b'"}}']

    assert "2,000 bytes" in problem_of(client.post("/api/recommend", content=in_parts()), 413)
    assert "2" in problem_of(client.post("/api/recommend", json={"cases": [{}] * 3}), 413)
    assert "10" in problem_of(upload(client, "cases.csv", b"pressure\n" + b"1\n" * 11), 413)
    problem_of(upload(client, "cases.csv", written(table, "csv")), 413)
    many = pl.DataFrame({"pressure": [120.0]}).select(pl.col("pressure").repeat_by(100_000).explode())
    assert len(content := written(many, "parquet")) < 3000
    assert "100,000" in problem_of(upload(client, "cases.parquet", content), 413)


def test_an_answer_that_takes_too_long_is_given_up(opened: Opened, service: Service, monkeypatch: pytest.MonkeyPatch):
    client = opened(limits=Limits(seconds=0.2))
    monkeypatch.setattr(service, "recommend", lambda *_, **__: time.sleep(0.6))
    assert "0.2 seconds" in problem_of(client.post("/api/recommend", json={"case": CASE}), 504)


def test_a_table_that_nobody_waits_for_is_given_up_between_two_of_its_parts(
    opened: Opened, service: Service, monkeypatch: pytest.MonkeyPatch
):
    done, answer = threading.Event(), service.recommend_table

    def followed(*arguments: Any, **options: Any) -> Any:
        try:
            return answer(*arguments, **options)
        finally:
            done.set()

    client = opened(limits=Limits(seconds=0.3))
    monkeypatch.setattr(service, "recommend_table", followed)
    rows = b"pressure\n" + b"120\n" * 100_000
    problem_of(upload(client, "cases.csv", rows), 504)
    assert done.wait(20)  # long before the table would be finished


def test_a_busy_server_says_so(opened: Opened, service: Service, monkeypatch: pytest.MonkeyPatch):
    client = opened(limits=Limits(waiting=1))
    entered, free = threading.Event(), threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        entered.set()
        free.wait(20)
        raise InputProblem("Done.")

    monkeypatch.setattr(service, "recommend", slow)
    first = threading.Thread(target=client.post, args=("/api/recommend",), kwargs={"json": {"case": CASE}})
    first.start()
    assert entered.wait(20)
    response = client.post("/api/recommend", json={"case": CASE})
    free.set()
    first.join()
    assert "busy" in problem_of(response, 503)
    assert response.headers["retry-after"]


# --- the journal ---


def test_what_is_advised_done_and_seen_is_in_the_journal(opened: Opened, journal: Path):
    client = opened(journal)
    asked = {"cases": [{**CASE, "patient": "0017"}, {}]}
    first, second = client.post("/api/recommend", json=asked).json()["advice"]
    why = client.post("/api/explain", json={"case": CASE}).json()
    assert client.post(f"/api/advice/{first['id']}/action", json={"action": "low"}).json() == {"recorded": True}
    later = {"reward": -0.5, "at": "2026-03-01T10:00:00Z"}
    assert client.post(f"/api/advice/{first['id']}/outcome", json=later).status_code == 200
    assert "already" in problem_of(client.post(f"/api/advice/{first['id']}/action", json={"action": "high"}))
    corrected = client.post(f"/api/advice/{first['id']}/action", json={"action": "high", "correct": True})
    assert corrected.status_code == 200
    with Journal.open(journal) as kept:
        recorded = {one.entry.id: one for one in kept.recorded()}
    assert recorded.keys() == {first["id"], second["id"], why["id"]}
    entry = recorded[first["id"]].entry
    assert entry.case == {**CASE, "patient": "0017"}
    assert (entry.model, entry.source, entry.probability) == ("5e0f", "api", 1.0)
    assert entry.advice["action"] == first["action"]
    assert (recorded[first["id"]].took, recorded[first["id"]].reward) == ("high", -0.5)
    assert recorded[second["id"]].took is None


def test_an_id_that_is_none_is_said(opened: Opened, journal: Path):
    assert "'id'" in problem_of(opened(journal).post("/api/advice/17/action", json={"action": "low"}))


def test_the_description_has_the_columns_of_the_model(client: TestClient):
    case = client.get("/openapi.json").json()["components"]["schemas"]["Case"]["properties"]
    assert case["grade"]["anyOf"][0] == {"enum": ["mild", "moderate", "severe"]}
    assert case["pressure"]["anyOf"][0]["type"] == "number"


def test_an_unknown_advice_is_said(opened: Opened, journal: Path, client: TestClient):
    with_journal, path = opened(journal), f"/api/advice/{'0' * 32}/action"
    assert "0" * 32 in problem_of(with_journal.post(path, json={"action": "low"}))
    assert "--journal" in problem_of(client.post(path, json={"action": "low"}), 404)


def test_rows_of_a_table_are_in_the_journal(opened: Opened, journal: Path, table: pl.DataFrame):
    response = upload(opened(journal), "cases.parquet", written(table, "parquet"))
    ids = pl.read_parquet(io.BytesIO(response.content))["advice_id"].to_list()
    with Journal.open(journal) as kept:
        recorded = {one.entry.id: one.entry for one in kept.recorded()}
    assert [recorded[id].case["patient"] for id in ids] == table["patient"].to_list()


def test_a_drawn_action_has_its_probability(opened: Opened, journal: Path, service: Service):
    asked = {"cases": [{"pressure": 100 + 3 * row} for row in range(12)], "strategy": "lottery"}
    advised = opened(journal).post("/api/recommend", json={**asked, "allowed": ["high", "low"]}).json()["advice"]
    with Journal.open(journal) as kept:
        chances = {one.entry.id: one.entry.probability for one in kept.recorded()}
    assert all(0 < chances[one["id"]] <= 1 for one in advised)
    assert any(chances[one["id"]] < 1 for one in advised)


def test_no_advice_is_given_that_cannot_be_recorded(opened: Opened, journal: Path, monkeypatch: pytest.MonkeyPatch):
    client = opened(journal)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "record", full)
    response = client.post("/api/recommend", json={"case": CASE})
    assert "No space left" in problem_of(response, 503)
    assert "advice" not in response.json()
