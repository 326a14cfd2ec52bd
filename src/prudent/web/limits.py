"""What one request may take: bytes, rows and seconds; beyond them the answer is 408, 413, 503 or 504."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prudent.errors import Rule, check, number, whole
from prudent.progress import reporting

Result = TypeVar("Result")

_RULES: dict[str, Rule] = {
    "body": whole(1),
    "table": whole(1),
    "rows": whole(1),
    "cases": whole(1),
    "seconds": number(0, ends="(]"),
    "waiting": whole(1),
    "threads": whole(1),
}


@dataclass(frozen=True)
class Limits:
    """body, table: bytes of a request, and of one with a table. cases, rows: of a JSON request, and of a table.
    seconds: to send a request, and again to answer it. waiting: requests that may wait for their turn. threads: cases
    that are worked on at once."""

    body: int = 2**20
    table: int = 64 * 2**20
    cases: int = 1000
    rows: int = 100_000
    seconds: float = 30.0
    waiting: int = 1000
    threads: int = 2

    def __post_init__(self) -> None:
        check("Limits", _RULES, vars(self))


class BodyLimit:
    """Refuses what is too large, or comes too slowly, before it is read; ASGI middleware.

    large: the paths to which a table may be sent.
    """

    def __init__(self, app: ASGIApp, limits: Limits, large: frozenset[str]):
        self._app, self._limits, self._large = app, limits, large

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        most = self._limits.table if scope["path"] in self._large else self._limits.body
        until, received = time.monotonic() + self._limits.seconds, 0

        async def limited() -> Message:
            nonlocal received
            try:
                message = await asyncio.wait_for(receive(), max(until - time.monotonic(), 0.001))
            except TimeoutError:
                raise HTTPException(
                    408, f"The request was not complete after {self._limits.seconds:g} seconds; send it again."
                ) from None
            received += len(message.get("body", b""))
            if received > most:
                raise _too_large(most)
            return message

        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and int(declared) > most:
            refusal = _too_large(most)
            return await JSONResponse({"problem": refusal.detail}, refusal.status_code)(scope, receive, send)
        return await self._app(scope, limited, send)


def _too_large(most: int) -> HTTPException:
    size = f"{most / 2**20:g} MB" if most >= 2**20 else f"{most:,} bytes"
    return HTTPException(413, f"The request is larger than the {size} that this server takes; send fewer cases.")


class Overdue(Exception):
    """Work that nobody waits for any more."""


class Workers:
    """Threads that work on cases, and one for tables, so that a large table keeps no case waiting."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._cases = ThreadPoolExecutor(limits.threads, "prudent-case")
        self._tables = ThreadPoolExecutor(1, "prudent-table")
        self._waiting = 0

    async def case(self, work: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
        return await self._run(self._cases, partial(work, *arguments, **options))

    async def table(self, work: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
        return await self._run(self._tables, partial(work, *arguments, **options))

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        if self._waiting >= self._limits.waiting:
            raise HTTPException(503, "The server is busy; try again in a moment.", {"Retry-After": "1"})
        seconds = self._limits.seconds
        self._waiting += 1
        try:
            future = asyncio.get_running_loop().run_in_executor(threads, _before, time.monotonic() + seconds, work)
            return await asyncio.wait_for(future, seconds)
        except (TimeoutError, Overdue):
            raise HTTPException(
                504, f"No answer after {seconds:g} seconds; send fewer rows, or try again in a moment."
            ) from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._cases.shutdown(cancel_futures=True)
        self._tables.shutdown(cancel_futures=True)


def _before(until: float, work: Callable[[], Result]) -> Result:
    """Do the work, and stop between two of its parts once nobody waits for it any more."""

    def on_time(*_: int) -> None:
        if time.monotonic() > until:
            raise Overdue

    on_time()
    with reporting(on_time):
        return work()


def require_few(count: int, most: int, what: str) -> None:
    if count > most:
        raise HTTPException(
            413, f"The request has {count:,} {what}, and this server takes {most:,} at once; send them in parts."
        )
