"""Discovery, cards and feedback as CDS Hooks 2.0 describes them, and a real server asked by a real client."""

import copy
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.medicationrequest import MedicationRequest

from prudent import InputProblem
from prudent.journal import Journal, hash_of
from prudent.web import Service
from prudent.web.hooks import HookMapping, router

EXAMPLE = Path(__file__).parents[3] / "examples" / "cds_hooks"
REQUEST = json.loads((EXAMPLE / "request.json").read_text(encoding="utf-8"))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SERVICE = "/cds-services/prudent-dose"
Opened = Callable[..., TestClient]


@pytest.fixture
def mapping(service: Service) -> HookMapping:
    return HookMapping.read(EXAMPLE / "mapping.toml", service.fitted.schema, service.fitted.action_labels)


@pytest.fixture
def asked() -> list[Mapping[str, object]]:
    """The cases that were decided."""
    return []


ADVICE = {
    **{"action": "high", "expected_reward": 0.5, "worst_reward": -0.25, "outcome_low": -1.0, "outcome_high": 2.0},
    **{"status": "ok", "flags": "", "probability": 0.75},
}


@pytest.fixture
def opened(mapping: HookMapping, asked: Any, tmp_path: Path) -> Iterator[Opened]:
    """A client of a bare application with fixed advice; without a journal if asked for."""
    with Journal.open(tmp_path / "journal.sqlite") as journal:

        def client(advice: Any = ADVICE, journal: Journal | None = journal, **changes: Any) -> TestClient:
            def advise(case: Mapping[str, object]) -> Mapping[str, object]:
                asked.append(case)
                if isinstance(advice, Exception):
                    raise advice
                return advice

            app = FastAPI()
            changed = HookMapping(**{**vars(mapping), **changes})
            app.include_router(router(advise, changed, journal, "5e0f", now=lambda: NOW))
            return TestClient(app, raise_server_exceptions=False)

        yield client


def request(**changes: Any) -> Any:
    return copy.deepcopy(REQUEST) | changes


def check_nothing_is_empty(value: Any) -> None:
    """Optional attributes are left out; none is null or empty."""
    assert value not in (None, "", [], {})
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_nothing_is_empty(inner)


def check_card(card: Any) -> None:
    check_nothing_is_empty(card)
    known = {"uuid", "summary", "detail", "indicator", "source", "suggestions", "selectionBehavior", "overrideReasons"}
    assert set(card) <= known | {"links"}
    UUID(card["uuid"])
    assert 0 < len(card["summary"]) < 140
    assert card["indicator"] in ("info", "warning", "critical")
    assert isinstance(card["source"]["label"], str)
    assert ("suggestions" in card) == ("selectionBehavior" in card)
    assert card.get("selectionBehavior", "any") in ("at-most-one", "any")
    for suggestion in card.get("suggestions", ()):
        assert set(suggestion) <= {"label", "uuid", "isRecommended", "actions"}
        UUID(suggestion["uuid"])
        for action in suggestion.get("actions", ()):
            assert set(action) == {"type", "description", "resource"}
            assert action["type"] == "create"
    assert all("code" in reason for reason in card.get("overrideReasons", ()))


def only_card(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    (card,) = answer.json()["cards"]
    check_card(card)
    return card


def test_discovery(opened: Opened):
    answer = opened().get("/cds-services")
    (found,) = answer.json()["services"]
    check_nothing_is_empty(found)
    assert set(found) == {"hook", "title", "description", "id", "prefetch"}
    assert f"/cds-services/{found['id']}" == SERVICE
    tokens = set(re.findall(r"\{\{(.*?)\}\}", json.dumps(found["prefetch"])))
    assert tokens == {"context.patientId"}


def test_the_example_is_fhir():
    for record in REQUEST["prefetch"].values():
        if record is not None and record["resourceType"] == "Bundle":
            Bundle.model_validate(record)


def test_a_card_says_what_is_advised_and_what_was_read(opened: Opened, asked: Any, tmp_path: Path):
    card = only_card(opened().post(SERVICE, json=request()))
    assert asked == [
        {"pressure": 141.0, "marker": pytest.approx(1.4)}
        | dict.fromkeys(["visits", "grade", "smoker", "ward", "admitted"])
    ]
    assert card["summary"] == "High dose (expected score 0.5)"
    assert card["indicator"] == "info"
    (suggestion,) = card["suggestions"]
    assert suggestion["isRecommended"] is True
    (order,) = suggestion["actions"]
    assert MedicationRequest.model_validate(order["resource"]).subject.reference == "Patient/1288992"
    assert [reason["code"] for reason in card["overrideReasons"]] == ["low", "none", "other"]
    with Journal.open(tmp_path / "journal.sqlite") as journal:
        (entry,) = [one.entry for one in journal.recorded()]
    assert (entry.model, entry.source, entry.probability, entry.at) == ("5e0f", "cds-hooks", 0.75, NOW)
    assert entry.id == UUID(card["uuid"]).hex
    assert entry.case == {**asked[0], "encounter": "89284"}
    assert entry.advice["action"] == "high"


def test_referrals_and_flags_are_warnings_without_markup(opened: Opened):
    referred = {
        "action": None,
        "expected_reward": None,
        "status": "refer: <b>ask</b>",
        "flags": "ward: '[x](y)' unseen",
    }
    card = only_card(opened(referred).post(SERVICE, json=request()))
    assert card["indicator"] == "warning"
    assert "suggestions" not in card
    assert "&lt;b&gt;" in card["detail"]
    assert r"\[x\]\(y\)" in card["detail"]
    assert "<" not in card["detail"]


def test_every_action_can_be_suggested_and_long_labels_are_cut(opened: Opened, mapping: HookMapping):
    card = only_card(opened(suggest_all=True).post(SERVICE, json=request()))
    assert [one["label"] for one in card["suggestions"]] == ["High dose", "Low dose", "No drug"]
    assert [one["isRecommended"] for one in card["suggestions"]] == [True, False, False]
    fallback = only_card(opened(ADVICE | {"action": "ask " * 60}).post(SERVICE, json=request()))
    assert len(fallback["summary"]) < 140
    assert only_card(opened(outcome="x" * 200).post(SERVICE, json=request()))["summary"] == "High dose"


def test_an_order_for_nobody_is_not_offered(opened: Opened):
    odd = request(context={"patientId": "p.1", "encounterId": ["x"]})
    card = only_card(opened().post(SERVICE, json=odd))
    assert "actions" in card["suggestions"][0]  # of another patient, all of them are gaps
    assert "another patient" in card["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (request(prefetch=None), 412),
        (request(prefetch={}), 412),
        (request(prefetch={"pressure": None, "grade": REQUEST["prefetch"]["grade"]}), 412),
        (request(prefetch={"pressure": {"resourceType": "Bundle", "type": "searchset"}}), 200),
        (request(hook="order-sign"), 400),
        (request(hookInstance=None), 400),
        (request(context={}), 400),
        (request(context={"patientId": "../Patient?x=1"}), 400),
        (request(prefetch=[1]), 400),
        ([], 400),
        ("text", 400),
    ],
)
def test_what_is_refused(body: Any, status: int, opened: Opened):
    answer = opened().post(SERVICE, json=body)
    assert answer.status_code == status
    assert status == 200 or answer.json()["problem"]


def test_what_is_no_json_or_too_much_is_refused(opened: Opened):
    client = opened()
    deep = b"[" * 200_000
    for content, status in ((b"{", 400), (b"\xff", 400), (b'{"hook": NaN}', 400), (deep, 400), (b" " * 9_000_000, 413)):
        assert client.post(SERVICE, content=content).status_code == status
    assert client.post("/cds-services/other", json=request()).status_code == 404
    assert opened(InputProblem("Age 'x' is wrong.")).post(SERVICE, json=request()).status_code == 400


def test_a_fault_names_no_patient(opened: Opened, caplog: pytest.LogCaptureFixture):
    client = opened(RuntimeError("lactate 141 of patient 1288992"))
    client._transport.raise_server_exceptions = True  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError) as fault:
        client.post(SERVICE, json=request())
    assert "1288992" not in str(fault.value)
    assert fault.value.__cause__ is None
    assert fault.value.__context__ is None
    assert "1288992" not in caplog.text


def feedback(card: Any, outcome: str = "accepted", **changes: Any) -> Any:
    accepted = {"acceptedSuggestions": [{"id": card["suggestions"][0]["uuid"]}]} if outcome == "accepted" else {}
    report = {"card": card["uuid"], "outcome": outcome, "outcomeTimestamp": "2026-03-01T12:05:00Z"}
    return {"feedback": [report | accepted | changes]}


def test_feedback_becomes_the_action_taken(opened: Opened, tmp_path: Path):
    client = opened()
    cards = [only_card(client.post(SERVICE, json=request())) for _ in range(4)]
    low = {"overrideReason": {"reason": {"code": "low"}}}
    comment = {"overrideReason": {"userComment": "patient refused"}}
    for body in (
        *(feedback(cards[0]), feedback(cards[0])),
        feedback(cards[1], "overridden", **low),
        feedback(cards[2], "overridden", **comment),
        *(feedback(cards[3]), feedback(cards[3], "overridden", outcomeTimestamp="2026-03-01T12:30:00Z", **low)),
    ):
        assert client.post(f"{SERVICE}/feedback", json=body).status_code == 200
    with Journal.open(tmp_path / "journal.sqlite") as journal:
        found = {one.entry.id: one for one in journal.recorded()}
    known = [found[UUID(card["uuid"]).hex] for card in cards]
    assert [one.took for one in known] == ["high", "low", None, "low"]
    assert [one.declined_at is not None for one in known] == [False, False, True, False]
    assert known[0].took_at == datetime(2026, 3, 1, 12, 5, tzinfo=UTC)


def test_the_latest_report_holds_whenever_it_comes(opened: Opened, tmp_path: Path):
    client = opened()
    card = only_card(client.post(SERVICE, json=request()))
    late = feedback(card, "overridden", outcomeTimestamp="2026-03-01T13:00:00Z")
    for body in (late, feedback(card)):
        assert client.post(f"{SERVICE}/feedback", json=body).status_code == 200
    with Journal.open(tmp_path / "journal.sqlite") as journal:
        (found,) = journal.recorded()
        assert found.action_taken is None  # accepted, and withdrawn later
    low = {"overrideReason": {"reason": {"code": "low"}}}
    for at, reason in (("2026-03-01T15:00:00Z", low), ("2026-03-01T14:00:00Z", {})):
        body = feedback(card, "overridden" if reason else "accepted", outcomeTimestamp=at, **reason)
        assert client.post(f"{SERVICE}/feedback", json=body).status_code == 200
    with Journal.open(tmp_path / "journal.sqlite") as journal:
        assert journal.recorded()[0].action_taken == "low"


def test_wrong_feedback_is_refused_and_changes_nothing(opened: Opened, tmp_path: Path):
    client = opened()
    card = only_card(client.post(SERVICE, json=request()))
    good = feedback(card)["feedback"][0]
    for wrong in (
        *({"card": "x"}, {"card": None}, {"outcome": "ignored"}, {"outcomeTimestamp": "then"}, {"outcomeTimestamp": 5}),
        *({"acceptedSuggestions": []}, {"acceptedSuggestions": [{"id": "x"}]}, {"card": str(UUID(int=5))}),
    ):
        body = (
            {"feedback": [good, good | wrong]} if wrong != {"card": str(UUID(int=5))} else {"feedback": [good | wrong]}
        )
        assert client.post(f"{SERVICE}/feedback", json=body).status_code == 400
    assert client.post(f"{SERVICE}/feedback", json={}).status_code == 400
    assert opened(journal=None).post(f"{SERVICE}/feedback", json=feedback(card)).status_code == 404
    with Journal.open(tmp_path / "journal.sqlite") as journal:
        assert journal.recorded()[0].took is None


@pytest.fixture
def server(service: Service, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """`prudent serve --cds-hooks` in a process of its own, and the file of what it says."""
    service.fitted.save(tmp_path / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--no-warm-up", "--journal", tmp_path / "served.sqlite"]
    command = [sys.executable, "-m", "prudent.command_line", "serve", tmp_path / "model", *options]
    with (tmp_path / "said").open("w") as said:
        hooks = ["--cds-hooks", EXAMPLE / "mapping.toml"]
        process = subprocess.Popen([*command, *hooks], stdout=said, stderr=said, env=os.environ)
        try:
            url, until = f"http://127.0.0.1:{port}", time.monotonic() + 120
            while not _answers(url):
                assert process.poll() is None, (tmp_path / "said").read_text()
                assert time.monotonic() < until
                time.sleep(0.1)
            yield url, tmp_path
        finally:
            process.terminate()
            process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def test_a_hospital_asks_a_real_server(server: tuple[str, Path]):
    url, folder = server
    today = json.loads(json.dumps(REQUEST).replace("2026-03-01T07:30:00+01:00", datetime.now(UTC).isoformat()))
    with httpx2.Client(base_url=url, timeout=60) as client:
        (described,) = client.get("/cds-services").json()["services"]
        assert set(REQUEST["prefetch"]) == set(described["prefetch"])
        card = only_card(client.post(f"/cds-services/{described['id']}", json=today))
        answer = client.post(f"/cds-services/{described['id']}/feedback", json=feedback(card))
        assert answer.status_code == 200
        assert client.post(f"/cds-services/{described['id']}", json={}).status_code == 400
        large = today | {"extension": "x" * 2_000_000}
        only_card(client.post(f"/cds-services/{described['id']}", json=large))
    with Journal.open(folder / "served.sqlite", must_exist=True) as journal:
        found, _ = journal.recorded(hash_of(folder / "model"))
    assert found.entry.case["pressure"] == 141.0
    assert found.took == found.entry.advice["action"]
    assert found.entry.probability == 1.0
    said = (folder / "said").read_text()
    assert "1288992" not in said
    assert "'ward'" in said  # a column that is always a gap
