"""An application of the small model, asked in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from prudent.journal import Journal
from prudent.web import Access, Limits, Service, create_app

HERE = "http://127.0.0.1:8000"


@pytest.fixture(scope="session")
def service(fitted_models: Any) -> Service:
    return Service(fitted_models["causal"], model="5e0f")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


Opened = Callable[..., TestClient]


@pytest.fixture
def opened(service: Service) -> Iterator[Opened]:
    """Makes a client of an application with these options."""
    clients: list[TestClient] = []

    def make(
        place: Path | None = None, token: str | None = None, limits: Limits = Limits(), **options: Any
    ) -> TestClient:
        journal = None if place is None else Journal.open(place)
        app = create_app(service, journal=journal, access=Access.of(token, ()), limits=limits, **options)
        client = TestClient(app, base_url=HERE, raise_server_exceptions=False)
        clients.append(client.__enter__())
        return client

    yield make
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(opened: Opened) -> TestClient:
    return opened()
