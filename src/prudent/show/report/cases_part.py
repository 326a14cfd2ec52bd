"""A few explained cases: why each was chosen, and all of them in detail."""

import htpy
from htpy import Element, Node

from prudent.show.explanation.page import explanation_body
from prudent.show.json_types import Facts
from prudent.show.numbers import Figures
from prudent.show.report.parts import Part, said, words_and_numbers
from prudent.show.text import one_line

REASONS = {
    "typical": "typical: the middle of those that get this action",
    "largest change": "largest expected change from what was done",
    "unsure": "the best action is least certain, given the gaps",
    "not as usual": "needs a second look",
    "most gaps": "among those with most gaps",
    "surest": "the best action is furthest ahead",
}


def cases_part(report: Facts) -> Part:
    cases, reward = report["cases"], one_line(report["values"]["evaluation"]["reward"])
    if not cases:
        return Part("cases", "Explained cases", said("No cases are shown, as asked (--cases 0)."))
    hidden = all(case["explanation"]["label"] is None for case in cases)
    identifiers = (
        "No identifiers are shown, but these are real records: treat this page as you treat the log."
        if hidden
        else "These are real records with their identifiers: treat this page as you treat the log."
    )
    write = Figures.of(number for case in cases for number in (case["outcome"], _expected(case)))
    rows = [
        (
            _name(case, at),
            _why(case),
            _action(case["logged"]),
            _action(case["explanation"]["action"]),
            *(write(_expected(case)), write(case["outcome"])),
        )
        for at, case in enumerate(cases, 1)
    ]
    headings = ("case", "chosen because", "was given", "advised", f"expected mean {reward}", "outcome as it was")
    return Part(
        "cases",
        f"{len(cases)} explained cases" if len(cases) > 1 else "One explained case",
        [
            said(f"Chosen by rule, not by hand. {identifiers}"),
            words_and_numbers(headings, rows, headings[:4]),
            said("The outcome belongs to what was given, the expected mean to what is advised.", css="soft"),
            [_detail(case, at) for at, case in enumerate(cases, 1)],
        ],
    )


def _name(case: Facts, at: int) -> str:
    label = case["explanation"]["label"]
    return f"Case {at}" if label is None else one_line(label)


def _why(case: Facts) -> str:
    return str(case["explanation"]["status"]) if case["why"] == "not as usual" else REASONS[case["why"]]


def _action(label: object) -> str:
    return "–" if label is None else one_line(label)


def _expected(case: Facts) -> float | None:
    explanation = case["explanation"]
    found = (price["expected_reward"] for price in explanation["prices"] if price["action"] == explanation["action"])
    return next(found, None)


def _detail(case: Facts, at: int) -> Node:
    summary = f"{_name(case, at)}: {REASONS[case['why']]}"
    return htpy.details(".case")[htpy.summary[summary], _article(case)]


def _article(case: Facts) -> Element:
    return htpy.div[explanation_body(case["explanation"], headline=htpy.h3, heading=htpy.h4)]
