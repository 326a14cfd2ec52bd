"""No advice that somebody has seen is missing from the journal: under load, and when the server is killed."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from prudent.journal import Journal
from prudent.web import Service, create_app
from tests.web.live import asked, in_a_process, in_a_thread

TOGETHER = 300
ASKERS = 24


def case(number: int) -> dict[str, Any]:
    return {"pressure": 90 + number % 60, "ward": ("north", "south", None)[number % 3], "patient": f"{number:04d}"}


def test_hundreds_at_once_all_get_their_own_answer_and_all_are_kept(service: Service, journal: Path):
    service.recommend([case(0)])
    barrier = threading.Barrier(TOGETHER)
    with in_a_thread(create_app(service, journal=Journal.open(journal))) as address:

        def ask(number: int) -> str:
            barrier.wait()
            (advice,) = asked(address, "/api/recommend", {"case": case(number)})["advice"]
            return advice["id"]

        with ThreadPoolExecutor(TOGETHER) as askers:
            ids = list(askers.map(ask, range(TOGETHER)))
    with Journal.open(journal) as kept:
        patients = {one.entry.id: one.entry.case["patient"] for one in kept.recorded()}
    assert [patients[id] for id in ids] == [f"{number:04d}" for number in range(TOGETHER)]
    assert len(patients) == TOGETHER


def test_a_server_killed_in_the_middle_of_writing_loses_nothing_that_was_answered(
    service: Service, journal: Path, tmp_path: Path
):
    service.fitted.save(tmp_path / "model")
    answered: list[str] = []
    enough, lock = threading.Event(), threading.Lock()

    def ask(first: int) -> None:
        number = first
        while True:
            try:
                (advice,) = asked(address, "/api/recommend", {"case": case(number)})["advice"]
            except (OSError, ValueError):
                return  # killed
            with lock:
                answered.append(advice["id"])
                if len(answered) >= 150:
                    enough.set()
            number += ASKERS

    with in_a_process(tmp_path / "model", journal) as (address, process):
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(ASKERS)]
        for thread in threads:
            thread.start()
        assert enough.wait(120)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join()
    with Journal.open(journal) as kept:
        recorded = {one.entry.id for one in kept.recorded()}
    assert len(answered) >= 150
    assert set(answered) <= recorded
    assert len(recorded) <= len(answered) + ASKERS  # beside those that were being answered


def test_a_server_that_is_stopped_ends_well(service: Service, journal: Path, tmp_path: Path):
    service.fitted.save(tmp_path / "model")
    with in_a_process(tmp_path / "model", journal) as (address, process):
        (advice,) = asked(address, "/api/recommend", {"case": case(1)})["advice"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130, -signal.SIGINT)
    with Journal.open(journal) as kept:
        assert [one.entry.id for one in kept.recorded()] == [advice["id"]]
