"""What policies would have earned: every strategy, the decisions as logged, the best constant, and simple rivals."""

from collections.abc import Callable
from typing import NamedTuple

import htpy
from htpy import Node

from prudent.show.evaluation.comparison import LOGGED, evaluation_sections, source_sentence
from prudent.show.evaluation.diagnosis import comparison
from prudent.show.evaluation.estimates import Interval, figures_for, percent_written
from prudent.show.evaluation.rivals import rivals_sentence
from prudent.show.json_types import Facts
from prudent.show.numbers import counted, percent
from prudent.show.pictures.intervals import IntervalRow, interval_rows
from prudent.show.pictures.palette import CHOSEN, GUARANTEE, OTHERS, WARNING, Colour
from prudent.show.pictures.picture import Shape
from prudent.show.report.parts import Part, figure, folded, own, said, unanswered, words_and_numbers
from prudent.show.section_elements import section_elements
from prudent.show.sections import Section
from prudent.show.text import one_line


def values_part(report: Facts) -> Part:
    values = report["values"]
    evaluation = values["evaluation"]
    conclusion = evaluation["bottom_line"]
    return Part(
        "values",
        "What policies would have earned",
        [
            said(source_sentence(evaluation)),
            said(None if conclusion is None else conclusion["sentence"]),
            figure(_picture(values)),
            _table(values),
            _rivals(values),
            folded(
                "How far the log can answer, and every estimator",
                [section_elements(one, htpy.h3) for one in _details(evaluation)],
            ),
        ],
    )


def _details(evaluation: Facts) -> list[Section]:
    """What `prudent evaluate --details` prints, without the answer, which stands above."""
    sections = list(evaluation_sections(evaluation, every_estimator=True))
    return sections[1:] if evaluation["bottom_line"] is not None else sections


class Shown(NamedTuple):
    """A policy with its kind, and how it is drawn."""

    policy: Facts
    kind: str
    colour: Colour
    shape: Shape


def _kinds(values: Facts) -> list[Shown]:
    """Every policy that is shown: strategies, the decisions as logged, the best constant, rivals."""
    evaluation = values["evaluation"]
    shown = [Shown(one, "strategy", CHOSEN, "circle") for one in evaluation["policies"] if one["kind"] == "asked"]
    shown.append(Shown(own(evaluation, LOGGED), "as done", OTHERS, "square"))
    if evaluation["best_constant"] is not None:
        constant = own(evaluation, evaluation["best_constant"])
        shown.append(Shown(constant, "one action for all", GUARANTEE, "diamond"))
    if isinstance(values["rivals"], list):
        shown += [Shown(one, "rival", WARNING, "triangle") for one in values["rivals"]]
    return shown


def _name(values: Facts, policy: Facts) -> str:
    recommended = " (this report)" if policy["name"] == values["recommended"] else ""
    return one_line(policy["name"]) + recommended


def _figures(values: Facts) -> Callable[[float], str]:
    return figures_for([Interval.of(policy["value"]) for policy, *_ in _kinds(values)])


def _picture(values: Facts):
    evaluation, write = values["evaluation"], _figures(values)
    rows = []
    for policy, _, colour, shape in _kinds(values):
        value = Interval.of(policy["value"])
        rows.append(
            IntervalRow(_name(values, policy), value.value, value.low, value.high, value.written(write), colour, shape)
        )
    logged = Interval.of(own(evaluation, LOGGED)["value"]).value
    better = "lower" if evaluation["minimize"] else "higher"
    reward = one_line(evaluation["reward"])
    title = f"Mean {reward} had each decided, with {percent_written(evaluation['confidence'])} intervals"
    return interval_rows(rows, title, f"mean {reward} ({better} is better)", logged, "Dashed: the decisions as logged.")


def _table(values: Facts) -> Node:
    evaluation, write = values["evaluation"], _figures(values)
    rows = [
        (
            _name(values, policy),
            kind,
            Interval.of(policy["value"]).written(write),
            "" if kind == "as done" else Interval.of(policy["gain"]).written(write),
        )
        for policy, kind, *_ in _kinds(values)
    ]
    interval = percent_written(evaluation["confidence"])
    return [
        words_and_numbers(
            ("policy", "kind", f"value, {interval} interval", "more than as logged"), rows, ("policy", "kind")
        ),
        said(
            f"By {evaluation['headline']}; the numbers of the strategies are those of 'prudent evaluate'. A difference "
            "on the same rows is known better than either value, so intervals that overlap do not mean that there is "
            "none. The best constant action was chosen on these rows, which flatters it.",
            css="soft",
        ),
    ]


def _rivals(values: Facts) -> Node:
    rivals, evaluation = values["rivals"], values["evaluation"]
    if not isinstance(rivals, list):
        return said(f"Simple rivals are left out: {rivals['sentence']}" if unanswered(rivals) else None)
    learnt = (
        f"The rivals learnt from {counted(values['rival_rows'], 'row')} of this same log, each row decided by rivals "
        "that had not seen it. That is less than the model had, where its own log was larger: the comparison favours "
        "the model. --learnt-from with the log of the fit makes it even."
        if values["rivals_cross_fitted"]
        else f"The rivals learnt from {counted(values['rival_rows'], 'row')} with an outcome, of the log given with "
        "--learnt-from."
    )
    rows = [
        (
            one_line(rival["name"]),
            comparison(
                Interval.of(rival["behind"]), evaluation["minimize"], evaluation["rounding"], one_line(rival["name"])
            ).removeprefix("it is "),
            percent(rival["differently"]),
        )
        for rival in rivals
    ]
    headings = ("rival", f"'{one_line(values['recommended'])}' against it", "decided differently")
    return [
        said(best_rival_sentence(values), learnt),
        words_and_numbers(headings, rows, headings[:2]),
        said(
            "Rivals choose by expected outcomes alone, also actions that cases like theirs hardly ever got.", css="soft"
        ),
    ]


def best_rival_sentence(values: Facts) -> str | None:
    """The recommended policy beside the rival with the best value; nothing without rivals that have one."""
    evaluation = values["evaluation"]
    rivals = values["rivals"] if isinstance(values["rivals"], list) else []
    sign = -1.0 if evaluation["minimize"] else 1.0
    known = [one for one in rivals if one["value"]["value"] is not None]
    if not known:
        return None
    best = max(known, key=lambda one: sign * one["value"]["value"])
    return rivals_sentence(
        {
            "ours": f"'{one_line(values['recommended'])}'",
            "rival": one_line(best["name"]),
            "difference": best["behind"],
            "differently": best["differently"],
            "minimize": evaluation["minimize"],
            "rounding": evaluation["rounding"],
        }
    )
