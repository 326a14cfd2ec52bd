"""The API asked at random from its own description: never a fault, never an answer that it does not describe."""

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from prudent.journal import Journal
from prudent.web import Service, create_app
from tests.web.conftest import HERE

TAKING = ("recommend", "explain", "table", "took", "turned_out")
VALID, INVALID = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
ASKED = [
    *((operation, VALID) for operation in (*TAKING, "model", "health")),
    *((operation, INVALID) for operation in TAKING),
]
# what is valid by its description may still be refused: a risk, say, that does not go with the strategy
CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
REFUSING = (*CHECKED, "negative_data_rejection")
EXAMPLES = 20


@pytest.mark.parametrize(("operation", "mode"), ASKED, ids=[f"{operation}-{mode.value}" for operation, mode in ASKED])
def test_random_requests_get_described_answers(service: Service, journal: Path, operation: str, mode: GenerationMode):
    service.explain({})  # compiled before somebody waits for it
    app = create_app(service, journal=Journal.open(journal))
    schema: Any = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "127.0.0.1"})
    (found,) = [one.ok() for one in schema.include(operation_id=operation).get_all_operations()]
    load_all_checks()
    checks = CHECKS.get_by_names(CHECKED if mode is VALID else REFUSING)

    @seed(0)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=found.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        response = case.call(base_url=HERE, headers={"host": "127.0.0.1"}, timeout=120)
        case.validate_response(response, checks=checks)
        statuses.append(response.status_code)

    statuses: list[int] = []
    ask()
    assert mode is INVALID or operation in ("table", "took", "turned_out") or 200 in statuses
