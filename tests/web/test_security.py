"""Who may ask, from where, and what a browser may do with the answer."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from prudent.errors import InputProblem
from prudent.web import Access, Serving
from tests.web.conftest import Opened

TOKEN = "correct-horse-battery-staple"
ASKED = {"case": {"pressure": 120}}


@pytest.mark.parametrize("path", ["/", "/table", "/model", "/api/model", "/openapi.json", "/static/prudent.js", "/no"])
def test_every_answer_has_the_headers(client: TestClient, path: str):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin"


def test_there_are_no_pages_with_scripts_of_others(client: TestClient):
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404
    for path in ("/", "/table", "/model"):
        page = client.get(path).text
        assert "<script>" not in page
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page
        assert " style=" not in page
        assert "<style" not in page


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "a b"])
def test_a_name_that_leads_here_is_not_answered_to(client: TestClient, host: str):
    response = client.post("/api/recommend", json=ASKED, headers={"host": host})
    assert response.status_code == 421
    assert "--allow-host" in response.json()["problem"]


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:80", "192.168.1.7", "LOCALHOST"])
def test_own_names_and_numbers_are_answered_to(client: TestClient, host: str):
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_a_name_may_be_allowed():
    assert Access.of(None, ["Advice.Hospital.example"]).answers_to("advice.hospital.example:8000")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8001"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_cannot_ask(client: TestClient, headers: dict[str, str]):
    assert client.post("/api/recommend", json=ASKED, headers=headers).status_code == 403
    assert client.post("/answer", data={"x0": "1"}, headers=headers).status_code == 403


def test_own_pages_can(client: TestClient):
    own = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    assert client.post("/api/recommend", json=ASKED, headers=own).status_code == 200


def test_without_the_token_nothing_is_answered(opened: Opened):
    client = opened(token=TOKEN)
    for path in ("/api/model", "/openapi.json"):
        assert client.get(path).status_code == 401
    for given in ("Bearer wrong", "Bearer ", TOKEN, f"Basic {TOKEN}", "Bearer wröng"):
        headers = {"authorization": given.encode("latin-1")}
        response = client.post("/api/recommend", json=ASKED, headers=headers)  # type: ignore[arg-type]
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
    assert client.post("/answer", data={"x0": "1"}).status_code == 401
    assert client.post("/table").status_code == 401
    assert client.get("/healthz").status_code == 200


def test_with_the_token_everything_is(opened: Opened):
    client = opened(token=TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert client.post("/api/recommend", json=ASKED, headers=headers).status_code == 200


def test_a_browser_shows_the_token_once(opened: Opened):
    client = opened(token=TOKEN)
    first = client.get("/", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "login")
    assert client.post("/login", data={"token": "wrong"}).status_code == 401
    assert client.get("/api/model").status_code == 401
    entered = client.post("/login", data={"token": TOKEN}, follow_redirects=False)
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get("/").status_code == 200
    assert client.get("/api/model").status_code == 200
    client.post("/logout")
    assert client.get("/api/model").status_code == 401


def test_tokens_that_could_be_guessed_or_not_be_sent_are_refused():
    for token in ("short", "ä" * 20, "a b" * 9):
        with pytest.raises(InputProblem):
            Access(token)


def test_a_server_that_others_reach_needs_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PRUDENT_TOKEN", raising=False)
    folder = tmp_path / "model"
    assert Serving(folder).access().token is None
    with pytest.raises(InputProblem, match="--token-file"):
        Serving(folder, host="0.0.0.0").access()
    assert Serving(folder, host="0.0.0.0", without_token=True).access().token is None
    file = tmp_path / "token"
    for content, named in (("", "empty"), ("short\n", "16")):
        file.write_text(content)
        with pytest.raises(InputProblem, match=named):
            Serving(folder, host="0.0.0.0", token_file=file).access()
    file.write_text(f"{TOKEN}\n")
    assert Serving(folder, host="0.0.0.0", token_file=file).access().token == TOKEN
    monkeypatch.setenv("PRUDENT_TOKEN", f"{TOKEN}2")
    assert Serving(folder).access().token == f"{TOKEN}2"
    with pytest.raises(InputProblem, match="cannot be read"):
        Serving(folder, token_file=tmp_path / "none").access()


def test_a_router_of_another_door_is_behind_the_same_guard(opened: Opened):
    from fastapi import APIRouter

    router = APIRouter()

    @router.get("/cds-services")
    async def services() -> dict[str, Any]:
        return {"services": []}

    client = opened(token=TOKEN, extra_routers=[router])
    assert client.get("/cds-services").status_code == 401
    assert client.get("/cds-services", headers={"authorization": f"Bearer {TOKEN}"}).json() == {"services": []}
