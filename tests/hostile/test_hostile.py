"""The hazards of `make hostile`, a few of each."""

from pathlib import Path

import pytest

from tests.hostile import in_process
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
