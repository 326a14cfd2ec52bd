"""What notebooks display: the sections that a command prints, as a part of a page. Every text is escaped."""

from collections.abc import Iterable, Iterator

import htpy

from prudent.show.advice import advice_section
from prudent.show.evaluation.comparison import evaluation_sections, source_sentence
from prudent.show.inspection import log_sections, size_sentence
from prudent.show.json_types import Facts
from prudent.show.numbers import counted
from prudent.show.pages import style_sheet_in_notebooks
from prudent.show.section_elements import WORDS_STYLE, section_elements
from prudent.show.sections import Section
from prudent.show.tables import TextTable
from prudent.show.text import one_line

NOTEBOOK_STYLE = (
    """
.prudent.display{margin:0;padding:14px 18px;font-size:14px;max-width:900px}
.prudent.display h1{font-size:17px;margin:0 0 6px}
.prudent.display h2{margin:16px 0 4px}
"""
    + WORDS_STYLE
)


def log_fragment(log: Facts) -> str:
    """A log without its rows, from the facts of its summary."""
    return _fragment("Log of decisions", [Section(introduction=(size_sentence(log),)), *log_sections(log)])


def evaluation_fragment(facts: Facts) -> str:
    """An evaluation, from the facts of `Evaluation.to_dict()`."""
    introduction = Section(introduction=(source_sentence(facts),))
    return _fragment("Evaluation on logged decisions", [introduction, *evaluation_sections(facts)])


def advice_fragment(advice: Facts) -> str:
    """Advice without its rows, from the facts of `Advice.summary`."""
    title = f"Advice for {counted(advice['rows'], 'row')} by {advice['strategy']}"
    where = Section(sentences=("The rows: advice.to_frame(); one of them explained: advice[0].explain().",))
    return _fragment(title, [advice_section(advice), where])


def model_fragment(model: Facts) -> str:
    """A fitted model, from the facts of `Fitted.summary`."""
    return _fragment(f"Fitted {model['model']}", _model_sections(model))


def policy_fragment(policy: Facts) -> str:
    """A policy and the model behind it, from the facts of `Policy.summary`."""
    options = TextTable(
        ("option", "value"),
        [(name, "–" if value is None else str(value)) for name, value in policy["options"].items()],
        words=("option", "value"),
    )
    model = Section(introduction=(f"Of {policy['model']}.",))
    return _fragment(f"Policy: {policy['strategy']}", [model, Section("Options", options)])


def _model_sections(model: Facts) -> Iterator[Section]:
    report, better = model["report"], "lower" if model["minimize"] else "higher"
    learnt = (
        f"Learnt from {counted(report['rows'], 'row')}, {report['rewarded']:,} of them with action and reward, in "
        f"{counted(report['rounds'], 'round')} of training."
    )
    actions = ", ".join(one_line(label) for label in model["actions"])
    aim = f"Actions ('{model['action_name']}'): {actions}. Reward: '{model['reward_name']}', {better} is better."
    yield Section(introduction=(learnt, aim))
    columns = [(column["name"], column["kind"], column["shows"]) for column in model["columns"]]
    yield Section("Columns", TextTable(("column", "kind", "values"), columns, words=("column", "kind", "values")))
    if report["choices"]:
        yield Section("What the log decided", points=tuple(report["choices"]))
    if report["notes"]:
        yield Section("Notes", points=tuple(report["notes"]))


def _fragment(title: str, sections: Iterable[Section]) -> str:
    body = [section_elements(section) for section in sections]
    whole = htpy.article(".prudent.display")[htpy.h1[one_line(title)], body]
    return str(htpy.fragment[style_sheet_in_notebooks(NOTEBOOK_STYLE), whole])
