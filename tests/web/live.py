"""Real servers: one in a thread of this process, one in a process of its own that may be killed."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

PATIENCE = 120.0


@contextmanager
def in_a_thread(app: Any) -> Iterator[str]:
    """The address of the application."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=2))
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{bound.getsockname()[1]}"
    try:
        wait_for(address)
        yield address
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        bound.close()


@contextmanager
def in_a_process(model: Path, journal: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`prudent serve` as a user starts it, on a free port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    command = [sys.executable, "-m", "prudent.command_line", "serve", str(model), "--port", str(port)]
    options = ["--no-warm-up", "--journal", str(journal)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(address, process)
            yield address, process
        finally:
            process.kill()


def wait_for(address: str, process: "subprocess.Popen[bytes] | None" = None) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process is None or process.poll() is None, process.stderr and process.stderr.read().decode()
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


def asked(address: str, path: str, request: Any) -> Any:
    """The answer to a JSON request; an OSError where there is none."""
    content = json.dumps(request).encode()
    sent = urllib.request.Request(f"{address}{path}", content, {"content-type": "application/json"})
    with urllib.request.urlopen(sent, timeout=PATIENCE) as response:
        return json.load(response)
