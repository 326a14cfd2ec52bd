"""The hazards of `make hostile`, a few of each."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import in_process, processes
from tests.hostile.counting import DONE, REFUSED, Counts

SEED = 20_000
"""Other tables than those of the long run."""


def require_sound(counts: Counts) -> None:
    assert set(counts.ends) <= {DONE, REFUSED}, counts.examples


@pytest.fixture(scope="module")
def saved(fitted_models, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    fitted_models["conditional"].save(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
def test_odd_tables_are_read_or_refused(tmp_path):
    require_sound(in_process.tables_are_read(range(SEED, SEED + 150), tmp_path))


@pytest.mark.filterwarnings("ignore")
def test_odd_tables_are_inspected_or_refused(tmp_path):
    require_sound(in_process.tables_are_inspected(range(SEED, SEED + 15), tmp_path))


@pytest.mark.parametrize("forged", [False, True])
def test_damaged_folders_are_refused(saved, tmp_path, forged):
    require_sound(in_process.damaged_folders(saved, tmp_path / "copy", range(80), forged))


@pytest.mark.filterwarnings("ignore")  # forking beside JAX's threads: the child calls nothing of JAX
@pytest.mark.parametrize("writer", processes.WRITERS)
def test_killed_writers_lose_nothing(tmp_path, writer):
    assert set(processes.writers_are_killed(writer, 4, tmp_path).ends) == {"whole"}


@pytest.mark.filterwarnings("ignore")
def test_readers_among_writers_always_read_a_whole_model(tmp_path):
    assert set(processes.writers_and_readers(1.0, tmp_path).ends) == {"read whole"}


STOPPED = """
import sys, time
from prudent.command_line.stopping import stopping_at_once
from prudent.writing import whole_file
from pathlib import Path
with stopping_at_once(), whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    print("writing", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:  # as native code does that calls back into Python
            pass
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_process_wherever_it_is(tmp_path, number, code):
    (tmp_path / "out").write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.send_signal(number)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == code
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"
