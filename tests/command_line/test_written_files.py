"""What a command writes never costs a file that it reads, and appears whole or not at all."""

import os
import stat
from pathlib import Path

import polars as pl
import pytest

from prudent.command_line.files import FilesOfACommand, require_file_destination, write_table, write_text
from prudent.errors import InputProblem
from prudent.writing import is_unfinished, whole_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/model.json").write_text("{}")
    return tmp_path


def checked(folder: Path, **outputs: Path) -> None:
    FilesOfACommand(outputs, (folder / "log.csv", None), (folder / "model",)).check()


@pytest.mark.parametrize("link", ["itself", "symlink", "hard link", "link to its folder", "roundabout"])
def test_an_output_is_never_an_input(folder, link):
    out = folder / "other.csv"
    match link:
        case "itself":
            out = folder / "log.csv"
        case "symlink":
            out.symlink_to("log.csv")
        case "hard link":
            os.link(folder / "log.csv", out)
        case "link to its folder":
            (folder / "again").symlink_to(folder)
            out = folder / "again" / "log.csv"
        case "roundabout":
            out = folder / "model" / ".." / "log.csv"
    with pytest.raises(InputProblem, match=r"log\.csv"):
        checked(folder, out=out)
    assert (folder / "log.csv").read_text() == "a,b\n1,2\n"


def test_an_output_is_no_part_of_a_model_nor_another_output(folder):
    os.link(folder / "model/model.json", folder / "linked.json")
    for out in ("model/model.json", "model/new.json", "linked.json"):
        with pytest.raises(InputProblem, match="model"):
            checked(folder, json=folder / out)
    (folder / "second").symlink_to(folder / "first")
    with pytest.raises(InputProblem, match="same file"):
        checked(folder, json=folder / "first", page=folder / "second")
    checked(folder, json=folder / "first", page=folder / "third")
    checked(folder, json=Path("-"), page=Path("-"))


def test_the_model_of_somebody_else_is_not_replaced_by_a_file(folder):
    with pytest.raises(InputProblem, match="part of the model"):
        FilesOfACommand({"json": folder / "model/model.json"}, ()).check()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(folder):
    def interrupted_write(kind):
        with whole_file(folder / "log.csv") as file:
            file.write(b"half")
            raise kind

    for kind in (OSError("full"), KeyboardInterrupt()):
        with pytest.raises(type(kind)):
            interrupted_write(kind)
    assert sorted(path.name for path in folder.iterdir()) == ["log.csv", "model"]
    assert (folder / "log.csv").read_text() == "a,b\n1,2\n"


def test_what_a_killed_process_left_goes_with_the_next_write_and_what_is_being_written_stays(folder):
    with whole_file(folder / "log.csv") as file:
        (live,) = filter(is_unfinished, folder.iterdir())
        dead = live.with_name(f"{live.name[:14]}00000000.part")
        dead.write_text("left behind")
        write_text("new", folder / "log.csv")
        assert live.exists()
        assert not dead.exists()
        file.write(b"newer")
    assert (folder / "log.csv").read_text() == "newer"
    assert not any(map(is_unfinished, folder.iterdir()))


def test_a_file_keeps_its_mode_and_a_link_its_target(folder):
    (folder / "log.csv").chmod(0o600)
    (folder / "link.csv").symlink_to("log.csv")
    write_text("new", folder / "link.csv")
    assert (folder / "link.csv").is_symlink()
    assert (folder / "log.csv").read_text() == "new"
    assert stat.S_IMODE((folder / "log.csv").stat().st_mode) == 0o600


def test_a_pipe_stays_a_pipe(folder):
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text("through", folder / "pipe")
    assert os.read(reader, 100) == b"through"
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)
    os.close(reader)


@pytest.mark.parametrize("name", ["x" * 300, "no/folder", "log.csv/x"])
def test_an_impossible_place_is_named(folder, name):
    with pytest.raises(InputProblem, match=Path(name).parts[0][:200]):
        require_file_destination(folder / name)


def test_cells_that_a_spreadsheet_would_run_are_marked_and_numbers_are_not(folder):
    cells = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "-1.5", "+5", "-", "low", None]
    frame = pl.DataFrame({"action": cells, "reward": [-1.5] * len(cells)})
    write_table(frame, str(folder / "advice.csv"))
    written = pl.read_csv(folder / "advice.csv")
    assert written["action"].to_list() == [f"'{cell}" for cell in cells[:5]] + cells[5:]
    assert written["reward"].dtype == pl.Float64
    for out, verbatim in ((folder / "advice.parquet", False), (folder / "log.csv", True)):
        write_table(frame, str(out), verbatim=verbatim)
        again = pl.read_parquet(out) if out.suffix == ".parquet" else pl.read_csv(out)
        assert again["action"].to_list() == cells
