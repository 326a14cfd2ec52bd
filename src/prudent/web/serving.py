"""`prudent serve`: the application of a model folder on a port of this machine."""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import uvicorn
from fastapi import APIRouter

from prudent.errors import InputProblem
from prudent.journal import Journal, hash_of
from prudent.models import Fitted, load
from prudent.progress import reporting
from prudent.show import PlainConsole, printable
from prudent.table import Faithful, Log, Place, TextFormat, read_with_notes
from prudent.web.app import create_app
from prudent.web.choices import CAUTION, Choice
from prudent.web.hooks import Advise, HookMapping, router
from prudent.web.limits import Limits
from prudent.web.security import LOCAL, Access
from prudent.web.service import Case, Service

TOKEN_VARIABLE = "PRUDENT_TOKEN"
BACKLOG = 2048
"""Connections that wait to be accepted."""


@dataclass(frozen=True)
class Serving:
    """The options of `prudent serve`."""

    model: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token_file: Path | None = None
    without_token: bool = False
    hosts: tuple[str, ...] = ()
    journal: str | None = None
    guarantee: Place | None = None
    confidence: float = 0.95
    certificate: Path | None = None
    key: Path | None = None
    warm_up: bool = True
    limits: Limits = field(default_factory=Limits)
    cds_hooks: Path | None = None
    units: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'' if self.certificate is None else 's'}://{name}:{self.port}/"

    def access(self) -> Access:
        """Who may ask; a server that others can reach needs a token, unless it is told that it needs none."""
        token = self._token()
        if token is None and self.host not in LOCAL and not self.without_token:
            raise InputProblem(
                f"Others can reach this server at '{self.host}', so it needs a token: put one into a file and name it "
                f"with --token-file FILE, or into the environment variable {TOKEN_VARIABLE}; --without-token serves "
                f"everybody who can reach it."
            )
        return Access.of(token, (*self.hosts, self.host))

    def _token(self) -> str | None:
        if self.token_file is None:
            return os.environ.get(TOKEN_VARIABLE) or None
        if self.without_token:
            raise InputProblem("--token-file and --without-token exclude each other; leave one of them out.")
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            why = getattr(problem, "strerror", None) or "it is no text"
            raise InputProblem(f"The token file '{self.token_file}' cannot be read ({why}); name another.") from problem
        if not token:
            raise InputProblem(f"The token file '{self.token_file}' is empty; write a token into it.")
        return token


def serve(serving: Serving, extra_routers: Sequence[APIRouter] = ()) -> None:
    """Load the model, warm it up, and answer until the process is told to stop."""
    console = PlainConsole(stderr=True)
    # before anything is loaded, so that a wrong option is reported at once
    access, units = serving.access(), _units(serving.units)
    if (serving.certificate is None) != (serving.key is None):
        raise InputProblem("--certificate and --key belong together; give both, or neither.")
    bound = _bound(serving)
    try:
        fitted = load(serving.model)
        later = None
        if serving.guarantee is not None:
            frame, _ = read_with_notes(serving.guarantee, TextFormat(), Faithful(fitted.text_columns))
            later: Log | None = fitted.read(frame)
        service = Service(fitted, hash_of(serving.model), later, serving.confidence, units)
        mapping = None if serving.cds_hooks is None else _mapping(serving.cds_hooks, fitted, console)
        choice = None if mapping is None else Choice(**mapping.strategy)
        if choice is not None:
            service.ready(choice)  # a strategy that does not fit is said now
        journal = None if serving.journal is None else Journal.open(serving.journal)
        if mapping is not None and choice is not None:
            extra_routers = (*extra_routers, router(_advise(service, choice), mapping, journal, service.model))
        app = create_app(
            service,
            journal=journal,
            access=access,
            limits=serving.limits,
            extra_routers=extra_routers,
            large_paths=frozenset() if mapping is None else frozenset({f"/cds-services/{mapping.id}"}),
        )
        if serving.warm_up:
            _warm_up(service, console)
        _say(console, f"Serving {printable(str(serving.model), kept='')} at {serving.address} (stop with Ctrl+C).")
        if access.token is None and serving.host not in LOCAL:
            _say(console, "Everybody who can reach this address can ask, and see what the journal answers.")
        _run(app, serving, bound)
    finally:
        bound.close()


def _units(given: Sequence[str]) -> dict[str, str]:
    units = {}
    for text in given:
        name, mark, unit = (part.strip() for part in text.partition("="))
        if not (name and mark and unit):
            raise InputProblem(f"--unit COL=UNIT is a column and its unit, such as age=years. Got '{text}' instead.")
        units[name] = unit
    return units


def _mapping(path: Path, fitted: Fitted, console: PlainConsole) -> HookMapping:
    mapping = HookMapping.read(path, fitted.schema, fitted.action_labels)
    if mapping.unmapped:
        names = ", ".join(f"'{name}'" for name in mapping.unmapped[:8]) + (" …" if len(mapping.unmapped) > 8 else "")
        _say(console, f"'{path}' maps {len(mapping.sources)} columns; always gaps are {printable(names, kept='')}.")
    return mapping


def _advise(service: Service, choice: Choice) -> Advise:
    """The advice for one case, with the probability that this action had."""

    def advise(case: Mapping[str, object]) -> Mapping[str, object]:
        advice = service.recommend([cast(Case, case)], choice)
        columns = {name: values[0] for name, values in advice.columns().items()}
        return {**columns, "probability": float(advice.probabilities[0])}

    return advise


def _bound(serving: Serving) -> socket.socket:
    """The port, taken before a minute is spent on loading."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    # of a socket without its protocol asyncio does not know that answers must not wait for more (Nagle): 40 ms each
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((serving.host, serving.port))
        bound.listen(BACKLOG)  # from now on no other process can take it; whoever asks waits
    except (OSError, OverflowError) as problem:
        bound.close()
        why = getattr(problem, "strerror", None) or str(problem)
        raise InputProblem(
            f"Nothing can be served at {serving.host}, port {serving.port} ({why}); name another --port or --host."
        ) from problem
    return bound


def _warm_up(service: Service, console: PlainConsole) -> None:
    start = time.monotonic()
    _say(console, "Warming up: the first time for a new model this takes a minute or two, later seconds.")
    with reporting(False):
        for done in service.warm_up():
            if console.is_terminal:
                _say(console, f"  {done} of {len(CAUTION)} steps of caution")
    _say(console, f"Warm after {time.monotonic() - start:.0f} seconds.")


def _say(console: PlainConsole, sentence: str) -> None:
    console.print(sentence, soft_wrap=True)


def _run(app: object, serving: Serving, bound: socket.socket) -> None:
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="warning",
        access_log=False,  # what is asked for names patients
        server_header=False,
        proxy_headers=False,
        ssl_certfile=serving.certificate,
        ssl_keyfile=serving.key,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(serving.limits.seconds) + 5,
        backlog=BACKLOG,
    )
    uvicorn.Server(config).run(sockets=[bound])
