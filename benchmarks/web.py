"""How long the web server takes for an answer: one at a time, and for hundreds at once, every advice in its journal.

    python -m benchmarks.web

The server is `prudent serve` in a process of its own, warmed up, with a journal in SQLite; whoever asks runs on the
same processor cores. Cases have gaps at random, so that patterns of gaps are new to the server.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.reporting import Benchmark, Stored, Table
from benchmarks.tables import COHORT, NARROW
from benchmarks.tables import Table as Shape
from prudent import CausalPVAE
from prudent.journal import Journal

LOGS: dict[str, tuple[Shape, int]] = {
    "14 columns × 4000 rows, 4 actions": (NARROW, 4000),
    "66 columns, mostly categories, × 4400 rows, 4 actions": (COHORT, 4400),
}
TOGETHER = (50, 300)
CAREFUL = {"strategy": "tail", "risk": 0.2}
SEARCHED = {"strategy": "conservative", "risk": 0.05}


@contextmanager
def served(model: Path, journal: Path) -> Iterator[tuple[int, float]]:
    """The port, and the seconds until the server was warm."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    command = [sys.executable, "-m", "prudent.command_line", "serve", str(model), "--port", str(port)]
    start = time.perf_counter()
    with subprocess.Popen([*command, "--journal", str(journal)], stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=600):
                        break
                except OSError:
                    assert process.poll() is None, "the server has ended"
                    time.sleep(0.1)
            yield port, time.perf_counter() - start
        finally:
            process.kill()


Ask = Callable[[http.client.HTTPConnection, dict[str, Any]], Any]


def as_json(path: str, how: dict[str, Any]) -> Ask:
    def ask(connection: http.client.HTTPConnection, case: dict[str, Any]) -> Any:
        content = json.dumps({"case": case, **how})
        return json.loads(answer_of(connection, path, content, "application/json"))

    return ask


def as_page(step: int) -> Ask:
    def ask(connection: http.client.HTTPConnection, case: dict[str, Any]) -> Any:
        fields = {f"x{at}": cell for at, cell in enumerate(case.values()) if cell is not None}
        before = urlencode({**fields, "x0": "20"})
        content = urlencode({**fields, "caution": step, "before": before})
        return answer_of(connection, "/answer", content, "application/x-www-form-urlencoded")

    return ask


def answer_of(connection: http.client.HTTPConnection, path: str, content: str, media: str) -> bytes:
    connection.request("POST", path, content, {"content-type": media})
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer
    return answer


WAYS: dict[str, Ask] = {
    "/api/recommend, expected": as_json("/api/recommend", {}),
    "/api/recommend, tail": as_json("/api/recommend", CAREFUL),
    "/api/recommend, conservative": as_json("/api/recommend", SEARCHED),
    "/api/explain, tail": as_json("/api/explain", CAREFUL),
    "the page, with what an edit changed, tail": as_page(2),
    "the page, with what an edit changed, conservative": as_page(5),
}


def one_by_one(port: int, ask: Ask, cases: list[dict[str, Any]]) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    times = []
    for case in cases:
        start = time.perf_counter()
        ask(connection, case)
        times.append(time.perf_counter() - start)
    connection.close()
    return {"requests": len(times), "seconds": float(sum(times)), **quantiles(times)}


def at_once(port: int, journal: Path, cases: list[dict[str, Any]], together: int) -> dict[str, float]:
    """All ask at the same moment, each over a connection of its own."""
    barrier, ask = threading.Barrier(together), as_json("/api/recommend", {})

    def one(case: dict[str, Any]) -> tuple[float, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        barrier.wait()
        start = time.perf_counter()
        answer = ask(connection, case)
        taken = time.perf_counter() - start
        connection.close()
        return taken, answer["advice"][0]["id"]

    with ThreadPoolExecutor(together) as askers:
        start = time.perf_counter()
        answers = list(askers.map(one, (cases[at % len(cases)] for at in range(together))))
        seconds = time.perf_counter() - start
    with Journal.open(journal) as kept:
        recorded = {one.entry.id for one in kept.recorded()}
    lost = sum(id not in recorded for _, id in answers)
    return {"requests": together, "seconds": seconds, "lost": lost, **quantiles([taken for taken, _ in answers])}


def quantiles(times: list[float]) -> dict[str, float]:
    return {"median": float(np.median(times)), "p95": float(np.quantile(times, 0.95)), "longest": max(times)}


def of_log(shape: Shape, rows: int, requests: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        model, journal = Path(folder) / "model", Path(folder) / "journal.sqlite"
        CausalPVAE().fit(shape.sample(rows, seed=1).log(), seed=0).save(model)
        cases = shape.sample(requests, seed=2).cases().to_dicts()
        with served(model, journal) as (port, warm):
            ways = {name: one_by_one(port, ask, cases) for name, ask in WAYS.items()}
            together = [at_once(port, journal, cases, count) for count in TOGETHER]
    return {"warm": warm, "one_by_one": ways, "at_once": together}


def web_table(stored: Stored) -> Table:
    lines = [
        (log, name, *(f"{1000 * way[key]:.0f} ms" for key in ("median", "p95", "longest")))
        for log, found in stored["logs"].items()
        for name, way in found["one_by_one"].items()
    ]
    return Table(("log", "asked, one after the other", "median", "95%", "longest"), lines, "Time of one answer")


def load_table(stored: Stored) -> Table:
    lines = [
        (
            log,
            f"{one['requests']}",
            *(f"{1000 * one[key]:.0f} ms" for key in ("median", "p95")),
            f"{one['requests'] / one['seconds']:.0f}",
            f"{one['lost']}",
        )
        for log, found in stored["logs"].items()
        for one in found["at_once"]
    ]
    headings = ("log", "at once", "median", "95%", "answers per second", "not in the journal")
    return Table(headings, lines, "Many at once, /api/recommend")


BENCHMARK = Benchmark("web", {"web": web_table, "web load": load_table})


def main() -> None:
    parser = BENCHMARK.parser(__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=LOGS, default=[*LOGS], metavar="LOG")
    options = parser.parse_args()
    logs = {name: of_log(shape, rows, options.requests) for name, (shape, rows) in LOGS.items() if name in options.only}
    machine = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[1]}
    BENCHMARK.store({**machine, "logs": logs}, options.out)


if __name__ == "__main__":
    main()
