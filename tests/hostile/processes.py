"""Hazards that take other processes: kills, Ctrl-C, several writers and readers, disks that are full or read-only."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from prudent.command_line.files import write_table, write_text
from prudent.errors import InputProblem
from prudent.models.folder import read_files, write_files
from prudent.writing import is_unfinished
from tests.hostile.counting import Counts

BYTES = 300_000
"""Of each file: so many that a kill finds it half-written."""


def _table(number: int) -> pl.DataFrame:
    return pl.DataFrame({"number": [number] * (BYTES // 10), "row": range(BYTES // 10)})


def _write_model(place: Path, number: int) -> None:
    write_files(place, {"number": number}, bytes([number % 256]) * BYTES)


WRITERS: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "model folder": ("model", _write_model),
    "csv table": ("table.csv", lambda place, number: write_table(_table(number), str(place))),
    "parquet table": ("table.parquet", lambda place, number: write_table(_table(number), str(place))),
    "text": ("page.html", lambda place, number: write_text(json.dumps([number] * (BYTES // 4)), place)),
}


def require_whole(place: Path) -> int:
    """The number that was written; an error where the file is not all of it."""
    if place.is_dir():
        saved = read_files(place)
        number = saved.description["number"]
        assert saved.arrays == bytes([number % 256]) * BYTES
        return number
    if place.suffix == ".html":
        numbers = json.loads(place.read_text())
        assert len(numbers) == BYTES // 4
    else:
        frame = pl.read_csv(place) if place.suffix == ".csv" else pl.read_parquet(place)
        assert len(frame) == BYTES // 10
        numbers = frame["number"].to_list()
    assert len(set(numbers)) == 1
    return numbers[0]


def in_child(work: Callable[[], object]) -> int:
    """A process that does it and ends without tidying up; its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def writers_are_killed(writer: str, kills: int, folder: Path) -> Counts:
    """A writer that writes without end is killed at any time: the file is whole, and the next write tidies up."""
    counts, chance = Counts(f"kills: {writer}"), random.Random(0)
    name, write = WRITERS[writer]
    place = folder / name
    write(place, 1)
    begun = time.monotonic()
    for _ in range(3):
        write(place, 1)
    once = (time.monotonic() - begun) / 3

    def endlessly() -> None:
        for number in range(2, 10_000):
            write(place, number)

    for _ in range(kills):
        child = in_child(endlessly)
        time.sleep(chance.uniform(0, 4 * once))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            require_whole(place)
            write(place, 1)
            left = [path for path in (place if place.is_dir() else folder).iterdir() if is_unfinished(path)]
            counts.add("whole" if not left else "whole, with leftovers", str(left), wrong=bool(left))
        except BaseException as problem:
            counts.add("lost", repr(problem), wrong=True)
            write(place, 1)
    return counts


def writers_and_readers(seconds: float, folder: Path) -> Counts:
    """Two processes replace a model while three read it."""
    counts, place = Counts("two writers, three readers"), folder / "shared"
    _write_model(place, 1)
    until = time.monotonic() + seconds

    def write() -> None:
        while time.monotonic() < until:
            _write_model(place, random.randrange(250))

    def read(report: Path) -> None:
        ends = {"read whole": 0, "told that it is damaged": 0, "mixture": 0}
        while time.monotonic() < until:
            try:
                require_whole(place)
                ends["read whole"] += 1
            except InputProblem:
                ends["told that it is damaged"] += 1
            except AssertionError:
                ends["mixture"] += 1
        report.write_text(json.dumps(ends))

    reports = [folder / f"reader{number}.json" for number in range(3)]
    children = [in_child(write) for _ in range(2)] + [in_child(lambda r=report: read(r)) for report in reports]
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    for report in reports:
        for end, times in json.loads(report.read_text()).items():
            counts.ends[end] += times
    if failed:
        counts.add("a process failed", str(failed), wrong=True)
    require_whole(place)
    counts.ends = +counts.ends
    return counts


# --- commands ---


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "prudent.command_line", *map(str, words)]


def interrupted(words: list[str], times: int, longest: float, outputs: list[Path], chance: random.Random) -> Counts:
    """Ctrl-C at any time of a command: it says so in a line, with 130, and leaves files as they were, or whole."""
    counts = Counts(f"Ctrl-C: {words[3]}")
    for _ in range(times):
        before = {path: path.read_bytes() for path in outputs if path.is_file()}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(chance.uniform(0.4, longest))
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        error = process.communicate(timeout=120)[1]
        waited = time.monotonic() - began
        changed = [path for path in before if not path.is_file()]
        left = [
            path for folder in {path.parent for path in outputs} for path in folder.iterdir() if is_unfinished(path)
        ]
        last = error.strip().splitlines()[-1:] or [""]
        if changed or left:
            counts.add("a file lost or half-written", f"{changed} {left}", wrong=True)
        elif process.returncode == 0:
            counts.add("was done before")
        elif process.returncode == 130 and "Interrupted" in last[0] and waited < 5:
            counts.add("130, a line")
        elif "site-packages" in error or "frozen" in error or not error or "KeyboardInterrupt" in error:
            counts.add("while Python itself was starting", error[-200:])
        else:
            counts.add(f"ended with {process.returncode}", error[-200:], wrong=True)
    return counts


def no_room(words: list[str], out: Path) -> Counts:
    """Files may have 10 kB: the command is refused in a sentence with 2, and the old file stays."""
    counts = Counts("no room for the file")
    before = out.read_bytes()

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    # the folder of compiled programs must not be the one that has no room
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    done = subprocess.run(words, preexec_fn=limit, env=environment, capture_output=True, text=True, check=False)
    sound = done.returncode == 2 and out.read_bytes() == before and "Traceback" not in done.stderr
    left = [path for path in out.parent.iterdir() if is_unfinished(path)]
    end = "refused with 2, the old file whole" if sound and not left else f"ended with {done.returncode}"
    counts.add(end, f"{done.stderr[-300:]} {left}", wrong=not sound or bool(left))
    return counts
