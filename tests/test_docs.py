"""The code in the README and the docs is run, page by page, with small models in place of the default ones."""

import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer

import prudent
from docs import build
from experiments.tables import Table, filled
from prudent.command_line import commands
from prudent.errors import InputProblem

pytestmark = pytest.mark.usefixtures("one_chunk")

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"  # has a test of its own
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("page", [page for page in PAGES if page != TUTORIAL], ids=lambda page: page.name)
def test_code_on_the_page_runs(page, tmp_path, monkeypatch):
    snippets = SNIPPET.findall(page.read_text())
    small = {
        "samples": 4,
        "sizes": prudent.Sizes(latent=4, width=8, embedding=4, summary=8),
        "training": prudent.Training(rounds=1, steps_per_round=10, batch=32),
    }
    monkeypatch.setattr(prudent, "CausalPVAE", partial(prudent.CausalPVAE, **small), raising=False)
    monkeypatch.chdir(tmp_path)
    world = prudent.worlds.DosingWorld()
    world.sample(300, seed=1).frame().write_parquet("visits.parquet")
    world.sample(20, seed=2).cases().write_csv("new_cases.csv")
    namespace: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(page), "exec"), namespace)


COMMANDS = [
    (page.name, line)
    for page in PAGES
    for block in re.findall(r"^```(?:sh|bash|)\n(.*?)^```", page.read_text(), re.M | re.S)
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("prudent ")
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_on_the_pages_have_the_arguments_and_options_of_the_command_line(page, line):
    parse(line)


@pytest.mark.parametrize(
    "line", ["prudent fit log.csv --aktion dose", "prudent recommend", "prudent journal eksport j"]
)
def test_a_command_that_does_not_exist_would_be_noticed(line):
    with pytest.raises(Exception, match=r"(?i)no such|missing|eksport"):
        parse(line)


def parse(line: str) -> None:
    """As the command line does, which refuses what it does not know; nothing is run."""
    command: Any = typer.main.get_command(commands.app)
    words = shlex.split(line, comments=True)[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)


def test_pages_link_to_pages_that_exist():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_public_names_exist():
    for name in prudent.__all__:
        assert getattr(prudent, name) is not None


def test_generated_tables_and_pictures_are_up_to_date():
    assert build.outdated() == []


def test_an_unknown_marker_is_refused():
    with pytest.raises(InputProblem, match="'nonsense'"):
        filled("<!-- table: nonsense -->\n<!-- end -->", {"known": lambda: Table(("a",), [])})
