"""An explanation as a page: headline, why, picture, prices, cells, what would change it. No scripts; fit for print."""

from collections.abc import Sequence

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
from prudent.show.pages import STYLE, css_class, document, table
from prudent.show.text import xml_text

CAVEAT = (
    "This is decision support, not a decision. The figures come from a model of past decisions with gaps in their "
    "records; they can be wrong, most of all for cases unlike those in the log. Whoever answers for the case decides."
)


def explanations_page(explanations: Sequence[Facts]) -> str:
    """One self-contained page for one or several cases, each on a sheet of its own when printed."""
    title = headline(explanations[0]) if len(explanations) == 1 else f"Advice for {len(explanations)} cases"
    return document(title, "\n".join(explanation_article(case) for case in explanations))


def explanation_fragment(case: Facts) -> str:
    """One case for a page that is already there, such as a notebook."""
    return f"<style>{STYLE}</style>\n{explanation_article(case)}"


def explanation_article(case: Facts) -> str:
    parts = [
        f'<p class="row">Row {case["row"] + 1} of the table · {xml_text(case["strategy"])}</p>',
        f"<h1{css_class('none' if case['action'] is None else '')}>{xml_text(headline(case))}</h1>",
        f'<p class="status">{xml_text(_sentence(case["status"]))}</p>' if case["status_code"] != "ok" else "",
        f'<p class="why">{xml_text(case["reason"])}</p>',
        f'<p class="flags">{xml_text(_sentence(case["flags"]))}</p>' if case["flags"] else "",
        f"<figure>{explanation_picture(case).svg()}</figure>",
        _prices(case),
        f'<div class="cells">\n<section>{_known(case)}</section>\n<section>{_missing(case)}</section>\n</div>',
        _changes(case),
        _measuring(case),
        f"<footer>{xml_text(CAVEAT)}</footer>",
    ]
    return '<article class="prudent">\n' + "\n".join(part for part in parts if part) + "\n</article>"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _prices(case: Facts) -> str:
    heads, rows = price_columns(case)
    return table(heads, rows, [_kind(case, price) for price in case["prices"]], "numbers")


def _kind(case: Facts, price: Facts) -> str:
    if price["action"] == case["about"]:
        return "about" if price["action"] == case["action"] else "candidate"
    return "" if price["allowed"] else "barred"


def _known(case: Facts) -> str:
    if not case["observed"]:
        return "<h2>What is known</h2>\n<p>Nothing: this is the advice for an average case.</p>"
    rows = [[name, known_cell(value)] for name, value in case["observed"].items()]
    return "<h2>What is known</h2>\n" + table(["attribute", "value"], rows)


def _missing(case: Facts) -> str:
    words = "".join(f'<p class="soft">{xml_text(line)}</p>' for line in certainty(case))
    if not case["most_likely"]:
        return f"<h2>What is missing</h2>\n{words}"
    pairs = [(name, value, case["worst_case"][name]) for name, value in case["most_likely"].items()]
    rows = [[name, guessed_cell(likely), guessed_cell(worst)] for name, likely, worst in pairs]
    heads = ["attribute", "most likely", f"worst plausible for {case['about']}"]
    return f"<h2>What is missing</h2>\n{table(heads, rows)}\n{words}"


def _changes(case: Facts) -> str:
    if not case["changes"]:
        return ""
    items = "".join(f"<li>{xml_text(sentence)}</li>" for sentence in change_sentences(case))
    return f"<h2>What would change this advice</h2>\n<ul>{items}</ul>"


def _measuring(case: Facts) -> str:
    if not case["measurements"]:
        return ""
    words = "".join(f"<p>{xml_text(sentence)}</p>" for sentence in measuring_sentences(case))
    rows = [[own["attribute"], gain(case, own["gain"])] for own in case["measurements"]]
    heads = ["attribute", f"change of {case['reward_name']} {case['gain_measure']}"]
    return f"<h2>What to measure</h2>\n{words}\n{table(heads, rows, css='numbers')}"
