"""The code in the README and the docs is run, page by page, with small models in place of the default ones."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

import prudent
from benchmarks import coverage, dosing, doubt, evaluation, frontier, measuring, search

pytestmark = pytest.mark.usefixtures("one_chunk")

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


def test_pages_link_to_pages_that_exist():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_public_names_exist():
    for name in prudent.__all__:
        assert getattr(prudent, name) is not None


TABLES = {
    "quadratic": ("docs/results.md", "dosing", lambda stored: dosing.quadratic_table(stored["results"])),
    "cliff": ("docs/results.md", "dosing", lambda stored: dosing.cliff_table(stored["results"])),
    "frontier": ("docs/results.md", "frontier", lambda stored: frontier.frontier_table(stored["results"])),
    "choices": ("docs/results.md", "frontier", lambda stored: frontier.choices_table(stored["results"])),
    "measured values": ("docs/results.md", "measuring", lambda stored: measuring.value_table(stored["results"])),
    "measuring": ("docs/results.md", "measuring", lambda stored: measuring.following_table(stored["results"])),
    "coverage": ("docs/results.md", "coverage", lambda stored: coverage.coverage_table(stored["results"])),
    "search": ("docs/results.md", "search", search.search_table),
    "estimators": ("docs/results.md", "evaluation", evaluation.estimators_table),
    "constant": ("docs/results.md", "evaluation", evaluation.constants_table),
    "intervals": ("docs/results.md", "evaluation", evaluation.intervals_table),
    "tail shares": ("docs/results.md", "evaluation", evaluation.tails_table),
    "tail intervals": ("docs/results.md", "evaluation", evaluation.tail_intervals_table),
    "doubt": ("docs/careful.md", "doubt", doubt.doubt_table),
    "calibration": ("docs/careful.md", "doubt", doubt.calibration_table),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_on_the_pages_are_the_stored_results(name):
    page, results, table = TABLES[name]
    stored = json.loads((ROOT / "benchmarks" / "results" / f"{results}.json").read_text())
    shown = re.search(rf"<!-- table: {name} -->\n(.*?)\n<!-- end -->", (ROOT / page).read_text(), re.S)
    assert shown is not None
    assert shown[1] == table(stored).markdown()
