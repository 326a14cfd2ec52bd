"""The tutorial on a real trial, command by command, with a small model in place of the default."""

import io
import re
import shlex
import shutil
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import prudent
from prudent.command_line import main

pytestmark = pytest.mark.usefixtures("one_chunk")

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```([a-z]+)[ ]?([^\n]*)\n(.*?)^```", re.M | re.S)
RARE = 2


class Printed(NamedTuple):
    """What one command of the page printed, and the folder as it was afterwards."""

    command: str
    code: int
    text: str


class Journey(NamedTuple):
    folder: Path
    printed: list[Printed]
    quoted: list[str]

    def of(self, *words: str) -> str:
        """What the commands with these words printed."""
        return "\n".join(one.text for one in self.printed if all(word in one.command for word in words))


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    """The whole page, once; its text blocks are quotations that must be in what was printed before."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copy(DOCS / "data" / "actg175.csv", folder)
    small = {
        **{"members": 1, "samples": 4, "sizes": prudent.Sizes(latent=4, width=8, embedding=4, summary=8)},
        "training": prudent.Training(rounds=2, steps_per_round=40, batch=32, learning_rate=0.02),
    }
    printed: list[Printed] = []
    quoted: list[str] = []
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch, pytest.MonkeyPatch.context() as streams:
        patch.chdir(folder)
        patch.setattr("prudent.command_line.fitting.CausalPVAE", partial(prudent.CausalPVAE, **small))
        # searched worst cases have tests of their own, and their programs take long to compile
        patch.setattr("prudent.decide.policy.MANY_ATTRIBUTES", 0)
        for kind, about, content in BLOCK.findall((DOCS / "tutorial.md").read_text()):
            if kind == "csv":
                Path(about).write_text(content)
            elif kind == "python":
                exec(compile(content, "tutorial.md", "exec"), names)
            elif kind == "sh":
                printed += [_run(line, streams, about) for line in content.splitlines()]
            elif kind == "text":
                quoted += content.splitlines()
    return Journey(folder, printed, quoted)


def _run(line: str, streams: pytest.MonkeyPatch, about: str) -> Printed:
    shown = io.StringIO()
    streams.setattr("sys.stdout", shown)
    streams.setattr("sys.stderr", shown)
    try:
        code = main(shlex.split(line)[1:])
    finally:
        streams.undo()
    assert code == int(about.removeprefix("exit") or 0), f"{line}\n{shown.getvalue()}"
    return Printed(line, code, shown.getvalue())


def test_every_quotation_is_what_a_command_printed(journey):
    everything = " ".join("\n".join(one.text for one in journey.printed).split())
    assert len(journey.quoted) > 4
    for line in journey.quoted:
        assert " ".join(line.split()) in everything


def test_nothing_that_is_left_out_is_a_feature(journey):
    model = prudent.load(journey.folder / "model")
    assert not {"treat", "cd820", "cd496", "r", "offtrt", "cens", "days", "pidnum"} & set(model.schema.names)
    assert {"age", "cd40", "strat"} <= set(model.schema.names)


def test_an_evaluation_has_a_bottom_line_and_the_best_constant(journey):
    text = journey.of("evaluate model later.csv")
    assert "Bottom line" in text
    assert "always" in text


def test_absent_columns_are_gaps_with_a_note(journey):
    assert "'hemo'" in journey.of("recommend model")


def test_the_page_of_cases_has_the_patients_of_the_table(journey):
    page = (journey.folder / "cases.html").read_text()
    assert all(patient in page for patient in ("007", "008", "009"))


def test_a_rare_arm_tempts_only_without_the_rule(journey):
    advice, tempted = (pl.read_csv(journey.folder / name) for name in ("supported.csv", "tempted.csv"))
    assert set(tempted["action"]) == {RARE}
    assert RARE not in set(advice["action"])
    assert all(f"'{RARE}'" in flags for flags in advice["flags"])


def test_effects_come_by_group(journey):
    text = journey.of("effects")
    assert "strat" in text
    assert "ATE" in text


def test_what_is_refused_names_the_way_out(journey):
    assert "--force" in journey.of("--ignore age")
