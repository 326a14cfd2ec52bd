"""Who may ask, and what a browser may do with the answer."""

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prudent.errors import InputProblem

COOKIE = "prudent"
SHORTEST_TOKEN = 16
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without any, browsers hide where their own forms are sent from
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Access:
    """token: what a caller must know; None lets everybody in. hosts: the names that the server answers to, beside this
    machine's own and addresses that are numbers."""

    token: str | None = None
    hosts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputProblem(
                f"A token must have at least {SHORTEST_TOKEN} characters, so that it cannot be guessed. Got "
                f"{len(self.token)} instead; make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise InputProblem("A token may hold letters, digits and signs of ASCII only, and no space.")

    @staticmethod
    def of(token: str | None, hosts: Iterable[str]) -> "Access":
        return Access(token, frozenset(host.casefold() for host in hosts))

    def knows(self, given: str) -> bool:
        """Whether it is the token; in the same time whatever is wrong with it."""
        return self.token is None or hmac.compare_digest(given.encode(), self.token.encode())

    @property
    def session(self) -> str:
        """What the cookie of a browser holds that has shown the token: the token cannot be told from it."""
        return hmac.new((self.token or "").encode(), b"a session of prudent's web page", hashlib.sha256).hexdigest()

    def admits(self, headers: Headers) -> bool:
        if self.token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.casefold() == "bearer":
            return self.knows(given.strip())
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return hmac.compare_digest(cookie.encode(), self.session.encode())

    def answers_to(self, host: str) -> bool:
        """A page elsewhere may have its own name lead to this machine (DNS rebinding): such a name is not answered to.

        >>> Access().answers_to("127.0.0.1:8000"), Access().answers_to("evil.example")
        (True, False)
        """
        name = _name_of(host)
        if name in LOCAL or name in self.hosts or name == socket.gethostname().casefold():
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").casefold()
    except ValueError:
        return ""


def from_elsewhere(headers: Headers) -> bool:
    """Whether a page of another site sends this, which a browser lets it do even where it may not read the answer."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.casefold() != headers.get("host", "").casefold()


class Guard:
    """Checks the name, the site and the token of a request, and adds security headers to every answer; ASGI
    middleware. open_paths: what needs no token. pages: which paths send a browser to the page that asks for the token.
    """

    def __init__(self, app: ASGIApp, access: Access, open_paths: frozenset[str], pages: frozenset[str]):
        self._app, self._access, self._open, self._pages = app, access, open_paths, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                del headers["server"]
            await send(message)

        refusal = self._refusal(scope, Headers(scope=scope))
        return await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if not self._access.answers_to(headers.get("host", "")):
            return _problem(
                421, "This server does not answer to that name; use its address, or start it with --allow-host NAME."
            )
        if scope["method"] not in ("GET", "HEAD") and from_elsewhere(headers):
            return _problem(403, "This request comes from a page of another site, so it is refused.")
        path = scope["path"]
        if path in self._open or path.startswith("/static/") or self._access.admits(headers):
            return None
        if path in self._pages and scope["method"] in ("GET", "HEAD"):
            return RedirectResponse("login", 303)
        refusal = _problem(401, "This server needs a token; send it as 'Authorization: Bearer TOKEN'.")
        refusal.headers["www-authenticate"] = 'Bearer realm="prudent"'
        return refusal


def _problem(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"problem": sentence}, status)
