"""Shell completion as bash asks for it, and the versions: both answer without anything heavy."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import prudent
from prudent.command_line import main


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """An environment in which the command `prudent` is the one under test, and importing JAX would fail."""
    command, blocked = tmp_path / "prudent", tmp_path / "blocked" / "jax"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m prudent.command_line "$@"\n')
    command.chmod(0o755)
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise SystemExit('JAX was imported')\n")
    source = str(Path(prudent.__file__).parents[1])
    search = os.pathsep.join([str(blocked.parent), source])
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": search}


def completed(path: dict[str, str], *words: str) -> list[str]:
    """What bash proposes for the last of the words, with the script that `prudent` shows."""
    bash = shutil.which("bash")
    assert bash is not None
    script = (
        'eval "$(prudent --show-completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_prudent_completion prudent; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    shell = [bash, "-c", script, "bash", *words]
    done = subprocess.run(shell, env=path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_strategies(path: dict[str, str]):
    assert completed(path, "prudent", "ev") == ["evaluate"]
    assert completed(path, "prudent", "recommend", "model", "cases.csv", "--strategy", "c") == ["conservative"]
    assert completed(path, "prudent", "fit", "visits.csv", "--mini") == ["--minimize"]


def test_file_names_are_left_to_the_shell(path: dict[str, str]):
    assert completed(path, "prudent", "evaluate", "mod") == []


def test_the_version_names_what_matters_and_its_own_first(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"prudent {prudent.__version__}"
    assert {f"{name} {version(name)}" for name in ("jax", "jaxlib", "equinox", "polars")} <= set(lines)
