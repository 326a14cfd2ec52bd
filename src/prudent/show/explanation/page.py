"""An explanation as a page: headline, reason, picture, prices, cells, what would change it. All take its facts, as
`Explanation.to_dict` gives them."""

from collections.abc import Sequence

import htpy
from htpy import Element, Node

from prudent.show.explanation.attributes import (
    MOST_ATTRIBUTES,
    AttributeRow,
    attribute_rows,
    idle_count,
    lead_sentence,
)
from prudent.show.explanation.figures import gain, is_nothing
from prudent.show.explanation.picture import explanation_picture
from prudent.show.explanation.text import (
    barred,
    certainty,
    change_sentences,
    measuring_sentences,
    price_columns,
    what_prices_include,
)
from prudent.show.explanation.text import (
    headline as headline_of,
)
from prudent.show.json_types import Facts
from prudent.show.numbers import counted
from prudent.show.pages import article, document, paragraphs, style_sheet_in_notebooks, table
from prudent.show.text import one_line

CAVEAT = (
    "This is decision support, not a decision. The figures come from a model of past decisions with gaps in their "
    "records; they can be wrong, most of all for cases unlike those in the log. The person responsible for the case "
    "decides."
)


def explanations_page(cases: Sequence[Facts]) -> str:
    """One self-contained page for one or several cases, each on a sheet of its own when printed."""
    title = headline_of(cases[0]) if len(cases) == 1 else f"Advice for {len(cases)} cases"
    return document(title, [explanation_article(case) for case in cases])


def explanation_fragment(case: Facts) -> str:
    """One case to be shown inside another page, such as a notebook."""
    return str(htpy.fragment[style_sheet_in_notebooks(), explanation_article(case)])


def explanation_article(case: Facts) -> Element:
    return article(
        paragraphs([f"{_whose(case)} · {case['strategy']}"], "row"),
        explanation_body(case),
        htpy.footer[CAVEAT],
    )


def explanation_body(case: Facts, headline: Element = htpy.h1, heading: Element = htpy.h2) -> Node:
    """Everything about a case but whose it is; `headline` and `heading` are the levels that fit the page around it."""
    return [
        headline(class_="none" if case["action"] is None else None)[headline_of(case)],
        paragraphs([_sentence(case["status"])] if case["status_code"] != "ok" else [], "status"),
        paragraphs([case["reason"]], "why"),
        paragraphs([_sentence(case["flags"])] if case["flags"] else [], "flags"),
        htpy.figure[explanation_picture(case)],
        _prices(case),
        paragraphs(what_prices_include(case), "soft"),
        _attributes(case, heading),
        _changes(case, heading),
        _measuring(case, heading),
    ]


def _whose(case: Facts) -> str:
    row = f"Row {case['row'] + 1} of the table"
    return row if case["label"] is None else f"{one_line(case['label'])} · {row}"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _prices(case: Facts) -> Element:
    headings, rows = price_columns(case)
    return table(headings, rows, [_row_class(case, price) for price in case["prices"]], "numbers")


def _row_class(case: Facts, price: Facts) -> str:
    if price["action"] == case["about"]:
        return "about" if price["action"] == case["action"] else "candidate"
    return "barred" if barred(price) else ""


def _attributes(case: Facts, heading: Element) -> Node:
    rows = attribute_rows(case)
    lead = lead_sentence(case)
    nothing = "Nothing is known: this is the advice for an average case." if not case["observed"] else None
    less = counted(len(rows.less), "attribute of less weight", "attributes of less weight")
    return [
        heading["What matters most for this advice"],
        paragraphs([sentence for sentence in (nothing, lead) if sentence is not None]),
        _attribute_table(rows.most) if rows.most else None,
        htpy.details[htpy.summary[less], _attribute_table(rows.less)] if rows.less else None,
        htpy.details[htpy.summary[idle_count(case)], _values(rows.idle)] if rows.idle else None,
        paragraphs([_worst_values(case), *certainty(case)] if case["most_likely"] else certainty(case), "soft"),
    ]


def _values(rows: Sequence[AttributeRow]) -> Element:
    """Names with their values, without a line each."""
    return htpy.p(".soft")["; ".join(f"{row.name}: {row.value}" for row in rows)]


def _worst_values(case: Facts) -> str:
    return f"Worst plausible values: those of the plausible case in which {one_line(case['about'])} does worst."


def _attribute_table(rows: Sequence[AttributeRow]) -> Element:
    """Worst plausible values have a column where there is a gap."""
    if not any(row.worst for row in rows):
        return table(
            ["attribute", "value", "how it matters"],
            [[row.name, row.value, row.matters] for row in rows],
            css="attributes",
        )
    return table(["attribute", "value", "worst plausible value", "how it matters"], rows, css="attributes")


def _changes(case: Facts, heading: Element) -> Node:
    if not case["changes"]:
        return None
    sentences = [htpy.li[sentence] for sentence in change_sentences(case)]
    return [heading["What would change this advice"], htpy.ul[sentences]]


def _measuring(case: Facts, heading: Element) -> Node:
    if not case["measurements"]:
        return None
    worth = [gap for gap in case["measurements"] if gap["gain"] > 0 and not is_nothing(case, gap["gain"])]
    headings = ["attribute", f"change of {one_line(case['reward_name'])} {case['gain_measure']}"]
    rows = [[gap["attribute"], gain(case, gap["gain"])] for gap in worth[:MOST_ATTRIBUTES]]
    return [
        heading["What to measure"],
        paragraphs(measuring_sentences(case)),
        table(headings, rows, css="numbers") if rows else None,
    ]
