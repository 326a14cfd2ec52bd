"""An explanation as a page: headline, reason, picture, prices, cells, what would change it. All take its facts, as
`Explanation.to_dict` gives them."""

from collections.abc import Sequence

import htpy
from htpy import Element, Node

from prudent.show.explanation.picture import explanation_picture
from prudent.show.explanation.text import (
    certainty,
    change_sentences,
    gain,
    guessed_cell,
    headline,
    known_cell,
    measuring_sentences,
    price_columns,
)
from prudent.show.json_types import Facts
from prudent.show.pages import STYLE, article, document, paragraphs, style_sheet, table
from prudent.show.text import one_line

CAVEAT = (
    "This is decision support, not a decision. The figures come from a model of past decisions with gaps in their "
    "records; they can be wrong, most of all for cases unlike those in the log. The person responsible for the case "
    "decides."
)


def explanations_page(cases: Sequence[Facts]) -> str:
    """One self-contained page for one or several cases, each on a sheet of its own when printed."""
    title = headline(cases[0]) if len(cases) == 1 else f"Advice for {len(cases)} cases"
    return document(title, [explanation_article(case) for case in cases])


def explanation_fragment(case: Facts) -> str:
    """One case to be shown inside another page, such as a notebook."""
    return str(htpy.fragment[style_sheet(STYLE), explanation_article(case)])


def explanation_article(case: Facts) -> Element:
    return article(
        paragraphs([f"Row {case['row'] + 1} of the table · {case['strategy']}"], "row"),
        htpy.h1(class_="none" if case["action"] is None else None)[headline(case)],
        paragraphs([_sentence(case["status"])] if case["status_code"] != "ok" else [], "status"),
        paragraphs([case["reason"]], "why"),
        paragraphs([_sentence(case["flags"])] if case["flags"] else [], "flags"),
        htpy.figure[explanation_picture(case)],
        _prices(case),
        htpy.div(".cells")[htpy.section[_known(case)], htpy.section[_missing(case)]],
        _changes(case),
        _measuring(case),
        htpy.footer[CAVEAT],
    )


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _prices(case: Facts) -> Element:
    headings, rows = price_columns(case)
    return table(headings, rows, [_row_class(case, price) for price in case["prices"]], "numbers")


def _row_class(case: Facts, price: Facts) -> str:
    if price["action"] == case["about"]:
        return "about" if price["action"] == case["action"] else "candidate"
    return "" if price["allowed"] else "barred"


def _known(case: Facts) -> Node:
    heading = htpy.h2["What is known"]
    if not case["observed"]:
        return [heading, htpy.p["Nothing: this is the advice for an average case."]]
    return [heading, table(["attribute", "value"], [[name, known_cell(v)] for name, v in case["observed"].items()])]


def _missing(case: Facts) -> Node:
    headings = ["attribute", "most likely", f"worst plausible for {case['about']}"]
    rows = [
        [name, guessed_cell(value), guessed_cell(case["worst_case"][name])]
        for name, value in case["most_likely"].items()
    ]
    return [
        htpy.h2["What is missing"],
        table(headings, rows) if rows else None,
        paragraphs(certainty(case), "soft"),
    ]


def _changes(case: Facts) -> Node:
    if not case["changes"]:
        return None
    sentences = [htpy.li[sentence] for sentence in change_sentences(case)]
    return [htpy.h2["What would change this advice"], htpy.ul[sentences]]


def _measuring(case: Facts) -> Node:
    if not case["measurements"]:
        return None
    headings = ["attribute", f"change of {one_line(case['reward_name'])} {case['gain_measure']}"]
    rows = [[gap["attribute"], gain(case, gap["gain"])] for gap in case["measurements"]]
    return [
        htpy.h2["What to measure"],
        paragraphs(measuring_sentences(case)),
        table(headings, rows, css="numbers"),
    ]
