"""CDS Hooks 2.0 over HTTP: discovery, cards, feedback."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from prudent.errors import InputProblem
from prudent.journal import Entry, Journal
from prudent.show import one_line
from prudent.web.hooks import reading
from prudent.web.hooks.cards import card_of
from prudent.web.hooks.feedback import add_feedback
from prudent.web.hooks.fhir import ID
from prudent.web.hooks.mapping import HookMapping

LARGEST_BODY = 8 * 2**20
SOURCE = "cds-hooks"
LONGEST = 1000
"""Characters of a sentence in an answer."""

Advise = Callable[[Mapping[str, object]], Mapping[str, object]]
"""From the cells of one case to its advice: the columns of `recommend`, and 'probability', with which the action was
chosen (1 where it is not there)."""


class Refusal(Exception):
    """A request that gets no card: the status of the answer, and the sentence in it."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


def router(
    advise: Advise,
    mapping: HookMapping,
    journal: Journal | None,
    model_id: str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> APIRouter:
    """The three addresses of one service.

    journal: every advice is in it before it is answered; without one, feedback is refused. model_id: the hash of the
    model's folder. now: the clock.
    """
    made = APIRouter(prefix="/cds-services", tags=["CDS Hooks"])

    @made.get("", operation_id="cds_services")
    async def discovery() -> Response:
        """The service, and which records it asks for (CDS Hooks 2.0)."""
        return _json({"services": [_described(mapping)]})

    @made.post("/{service}", operation_id="cds_service")
    async def call(service: str, request: Request) -> Response:
        """The card for one patient; what was not sent is a gap (CDS Hooks 2.0)."""

        def work(body: Any) -> dict[str, Any]:
            return {"cards": [_card(advise, mapping, journal, model_id, body, now())]}

        return await _answered(service, mapping, request, work)

    @made.post("/{service}/feedback", operation_id="cds_feedback")
    async def feedback(service: str, request: Request) -> Response:
        """What became of cards: accepted or overridden (CDS Hooks 2.0)."""

        def work(body: Any) -> None:
            if journal is None:
                raise Refusal(404, "This server keeps no journal, so there is nothing to add feedback to.")
            add_feedback(mapping, journal, body)

        return await _answered(service, mapping, request, work)

    return made


def _described(mapping: HookMapping) -> dict[str, Any]:
    words = {"hook": mapping.hook, "title": mapping.title, "description": mapping.description, "id": mapping.id}
    return {**words, "prefetch": mapping.prefetch}


def _card(
    advise: Advise, mapping: HookMapping, journal: Journal | None, model: str, body: Any, now: datetime
) -> dict[str, Any]:
    context, prefetch = _checked(mapping, body)
    case = reading.read_case(mapping, reading.Request(context["patientId"], prefetch, now))
    if not case.delivered:
        raise Refusal(412, f"No prefetch was sent; this service needs some of {', '.join(mapping.prefetch)}.")
    advice = dict(advise(case.cells))
    probability = advice.pop("probability", 1.0)
    kept = {column: field for column, name in mapping.keep.items() if isinstance(field := context.get(name), str)}
    entry = Entry.new(model, {**case.cells, **kept}, advice, float(probability), SOURCE, now)  # type: ignore[arg-type]
    if journal is not None:
        journal.record([entry])
    return card_of(mapping, entry.id, advice, case.remarks, context)


def _checked(mapping: HookMapping, body: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The context and the prefetched records."""
    if not isinstance(body, Mapping):
        raise InputProblem("The request must be a JSON object, as CDS Hooks describes it.")
    if body.get("hook") != mapping.hook:
        raise InputProblem(f"This service is for the hook '{mapping.hook}'. Got {body.get('hook')!r:.80} instead.")
    if not isinstance(body.get("hookInstance"), str) or not body["hookInstance"]:
        raise InputProblem("The request lacks 'hookInstance', a UUID of this call.")
    context, prefetch = body.get("context"), body.get("prefetch")
    if not isinstance(context, Mapping) or not isinstance(context.get("patientId"), str):
        raise InputProblem("The request lacks 'context' with a 'patientId'.")
    if not ID.fullmatch(context["patientId"]):
        raise InputProblem("The 'patientId' of the context is no id of FHIR: up to 64 letters, digits, '-' and '.'.")
    if prefetch is not None and not isinstance(prefetch, Mapping):
        raise InputProblem("The 'prefetch' of the request must be an object of records by key.")
    return context, prefetch or {}


async def _answered(service: str, mapping: HookMapping, request: Request, work: Callable[[Any], Any]) -> Response:
    """What the work makes of the request's JSON. Whatever goes wrong, no cell of a patient gets into a log."""
    try:
        if service != mapping.id:
            raise Refusal(404, f"There is no service of that name; the one here is '{mapping.id}'.")
        found = await run_in_threadpool(work, _parsed(await _body(request)))
        return Response(status_code=200) if found is None else _json(found)
    except Refusal as refusal:
        return _problem(refusal.status, str(refusal))
    except InputProblem as problem:
        return _problem(400, str(problem))
    except RecursionError:
        return _problem(400, "The request is nested too deeply.")
    except Exception as fault:
        kind = type(fault).__name__
    raise RuntimeError(f"a CDS Hooks request failed with {kind}; its message may name a patient and is left out")


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            raise Refusal(413, f"The request has more than {LARGEST_BODY // 2**20} MiB; send fewer records.")
        parts.append(part)
    return b"".join(parts)


def _parsed(body: bytes) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        return json.loads(body, parse_constant=refuse)
    except ValueError:
        raise InputProblem("The request is no JSON; send it as CDS Hooks describes.") from None


def _json(content: Any) -> JSONResponse:
    return JSONResponse(content, headers={"cache-control": "no-store"})


def _problem(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"problem": one_line(sentence)[:LONGEST]}, status, {"cache-control": "no-store"})
