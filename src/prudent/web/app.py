"""The web application: the pages and the JSON API of one model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse

import prudent
from prudent.errors import InputProblem
from prudent.journal import Journal
from prudent.show import one_line
from prudent.web.answering import Answering
from prudent.web.api import api_router
from prudent.web.description import describe_model
from prudent.web.limits import BodyLimit, Limits, Workers
from prudent.web.recorder import Recorder
from prudent.web.security import Access, Guard
from prudent.web.service import Service
from prudent.web.site import LOGIN, PAGES, site_router
from prudent.web.tables import UPLOADS, table_router

HEALTH = "/healthz"
LONGEST = 4000
"""Characters of a sentence: a table may hold cells of any length."""


def create_app(
    service: Service,
    *,
    journal: Journal | None = None,
    access: Access = Access(),
    limits: Limits = Limits(),
    extra_routers: Sequence[APIRouter] = (),
    large_paths: frozenset[str] = frozenset(),
) -> FastAPI:
    """The application, to be served by uvicorn or any other ASGI server.

    journal: where every advice is recorded before it is answered; it is closed with the application. extra_routers:
    more doors to the same model, behind the same guard. large_paths: those of them that take as much as a table.
    """
    recorder = None if journal is None else Recorder(journal)
    workers = Workers(limits)
    answering = Answering(service, workers, limits, recorder)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()
        if recorder is not None:
            recorder.close()

    app = FastAPI(
        title="prudent",
        version=prudent.__version__,
        description="Which action to take for a case whose record has gaps, and how sure that is.",
        docs_url=None,  # both load scripts of third parties
        redoc_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(Guard, access=access, open_paths=frozenset({HEALTH, LOGIN}), pages=PAGES),
            Middleware(BodyLimit, limits=limits, large=UPLOADS | large_paths),
        ],
        exception_handlers={
            InputProblem: _bad_input,
            RequestValidationError: _bad_request,
            HTTPException: _refused,
            Exception: _fault,
        },
    )
    app.state.answering = answering
    app.include_router(api_router(answering))
    app.include_router(table_router(answering))
    describe_model(app, service)
    app.include_router(site_router(answering, access))
    for router in extra_routers:
        app.include_router(router)

    @app.get(HEALTH, operation_id="health")
    async def health() -> dict[str, str]:
        """Whether the server answers; needs no token."""
        return {"status": "ok"}

    return app


def problem_response(status: int, sentence: str, headers: Any = None) -> JSONResponse:
    words = one_line(sentence)
    return JSONResponse({"problem": words if len(words) <= LONGEST else f"{words[:LONGEST]} …"}, status, headers)


async def _bad_input(_: Request, problem: Exception) -> JSONResponse:
    return problem_response(400, str(problem))


async def _refused(_: Request, refusal: Exception) -> JSONResponse:
    assert isinstance(refusal, HTTPException)
    return problem_response(refusal.status_code, refusal.detail, refusal.headers)


async def _bad_request(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    return problem_response(400, request_sentence(problem.errors()))


async def _fault(_: Request, fault: Exception) -> JSONResponse:
    return problem_response(
        500, "This is a fault of prudent, not of your input; whoever runs this server finds it in its log."
    )


def request_sentence(errors: Sequence[Any]) -> str:
    """The first of the errors of a request, in the form of all our sentences."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return 'The request is no JSON; send an object such as {"case": {"age": 54}}.'
    if isinstance(cause := first.get("ctx", {}).get("error"), InputProblem):
        return str(cause)
    where = ".".join(str(part) for part in first["loc"][1:]) or "request"
    if first["type"] == "missing":
        return f"The request lacks '{where}'; the API is described at openapi.json."
    if first["type"] == "extra_forbidden":
        return f"The request has no parameter '{where}'; the API is described at openapi.json."
    shown = repr(first.get("input"))
    shown = shown if len(shown) <= 80 else f"{shown[:80]}…"
    words = first["msg"][:1].lower() + first["msg"][1:]
    return f"'{where}' of the request is wrong: {words}. Got {shown} instead."
