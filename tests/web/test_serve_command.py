"""`prudent serve`: options that cannot work are refused before anything is loaded."""

import socket
from pathlib import Path

import pytest

from prudent.command_line import main

TOKEN = "correct-horse-battery-staple"


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PRUDENT_TOKEN", raising=False)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ([], ["model", "prudent fit"]),
        (["--host", "0.0.0.0"], ["0.0.0.0", "--token-file", "--without-token"]),
        (["--token-file", "none"], ["'none'"]),
        (["--certificate", "c.pem"], ["--certificate", "--key"]),
        (["--unit", "age"], ["--unit", "'age'"]),
        (["--host", "nowhere.invalid", "--without-token"], ["nowhere.invalid", "--host"]),
    ],
)
def test_what_cannot_be_served_is_a_sentence(
    options: list[str], named: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    assert main(["serve", str(tmp_path / "model"), "--port", str(port), *options]) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in named), said


def test_a_port_that_is_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", str(tmp_path / "model"), "--port", port]) == 2
    said = capsys.readouterr().err
    assert port in said
    assert "--port" in said


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def missing(name: str) -> None:
        raise ModuleNotFoundError("no", name="fastapi")

    monkeypatch.setattr("prudent.command_line.serving.import_module", missing)
    assert main(["serve", str(tmp_path)]) == 2
    assert "prudent[web]" in capsys.readouterr().err
