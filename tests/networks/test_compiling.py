"""Compiled programs are kept where nobody else can put one."""

import os
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jax
import pytest

from prudent.networks import compiling, use_compilation_cache
from prudent.networks.program_folder import tidy


@pytest.fixture
def chosen(monkeypatch, tmp_path) -> dict[str, object]:
    """What is set in JAX's configuration, while the user's cache is in a folder of the test's own."""
    chosen: dict[str, object] = {"jax_compilation_cache_dir": None}
    config = SimpleNamespace(values=chosen, update=chosen.__setitem__)
    monkeypatch.setattr(compiling, "jax", SimpleNamespace(config=config))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return chosen


@pytest.mark.parametrize("exists", [False, True])
def test_the_folder_of_programs_is_the_users_alone(chosen, tmp_path: Path, exists: bool):
    folder = tmp_path / "prudent" / "xla"
    if exists:
        folder.mkdir(parents=True)
        folder.chmod(0o777)
    use_compilation_cache()
    assert chosen["jax_compilation_cache_dir"] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_somebody_else_is_not_used(chosen, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12_345)
    use_compilation_cache()
    assert chosen["jax_compilation_cache_dir"] is None


def test_a_folder_that_others_could_exchange_is_not_used(chosen, tmp_path: Path):
    (tmp_path / "prudent").mkdir()
    (tmp_path / "prudent").chmod(0o777)
    use_compilation_cache()
    assert chosen["jax_compilation_cache_dir"] is None


def test_a_user_without_a_home_keeps_no_programs(chosen, monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", unknown)
    use_compilation_cache()
    assert chosen["jax_compilation_cache_dir"] is None


def test_programs_that_cannot_be_read_are_removed_and_others_stay(tmp_path: Path):
    program = zlib.compress(b"native code" * 100)
    entries = {"whole-cache": program, "half-cache": program[:20], "empty-cache": b"", "flipped-cache": b"x" + program}
    for name, content in entries.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1e9, 1e9))
    (tmp_path / "now-cache").write_bytes(program[:20])
    tidy(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"whole-cache", "now-cache", "checked"}


def test_the_programs_used_longest_ago_go_where_there_are_too_many(tmp_path: Path):
    program = zlib.compress(os.urandom(1000))
    for age in range(10):
        (tmp_path / f"{age}-cache").write_bytes(program)
        os.utime(tmp_path / f"{age}-cache", (1e9 - age, 1e9 - age))
    tidy(tmp_path, largest=8 * len(program))
    assert sorted(path.name for path in tmp_path.glob("*-cache")) == [f"{age}-cache" for age in range(6)]


def test_where_no_folder_can_be_made_programs_are_not_kept(chosen, tmp_path: Path):
    (tmp_path / "prudent").write_text("not a folder")
    use_compilation_cache()
    assert chosen["jax_compilation_cache_dir"] is None


def test_the_users_own_choice_stands(chosen):
    chosen["jax_compilation_cache_dir"] = "/elsewhere"
    use_compilation_cache()
    assert chosen["jax_compilation_cache_dir"] == "/elsewhere"


@pytest.mark.parametrize(("maps", "kept"), [(30_000, True), (30_001, False)])
def test_programs_are_forgotten_before_the_system_has_no_room_for_more(monkeypatch, tmp_path: Path, maps, kept):
    compilations = []

    @jax.jit
    def program(number):
        compilations.append(number)
        return number + 1

    program(1.0)
    (tmp_path / "maps").write_text("a line per map\n" * maps)
    monkeypatch.setattr(compiling, "MEMORY_MAPS", tmp_path / "maps")
    monkeypatch.setattr(
        jax, "clear_caches", cast("Any", program).clear_cache
    )  # the other tests' programs are still of use
    compiling.release_programs()
    program(1.0)
    assert len(compilations) == (1 if kept else 2)
