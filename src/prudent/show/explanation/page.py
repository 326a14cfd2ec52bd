"""An explanation as a page: headline, why, picture, prices, cells, what would change it. No scripts; fit for print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from prudent.show.pages import STYLE, css_class, document, table
from prudent.show.pictures.text import escaped

if TYPE_CHECKING:
    from prudent.decide import ActionPrice, Explanation

CAVEAT = (
    "This is decision support, not a decision. The figures come from a model of past decisions with gaps in their "
    "records; they can be wrong, most of all for cases unlike those in the log. Whoever answers for the case decides."
)


def explanations_page(explanations: Sequence[Explanation]) -> str:
    """One self-contained page for one or several cases, each on a sheet of its own when printed."""
    title = headline(explanations[0]) if len(explanations) == 1 else f"Advice for {len(explanations)} cases"
    return document(title, "\n".join(article(told) for told in explanations))


def explanation_fragment(told: Explanation) -> str:
    """One case for a page that is already there, such as a notebook."""
    return f"<style>{STYLE}</style>\n{article(told)}"


def article(told: Explanation) -> str:
    parts = [
        f'<p class="row">Row {told.row + 1} of the table · {escaped(told.strategy)}</p>',
        f"<h1{css_class('none' if told.action is None else '')}>{escaped(headline(told))}</h1>",
        f'<p class="status">{escaped(_sentence(str(told.status)))}</p>' if told.status.name != "OK" else "",
        f'<p class="why">{escaped(told.reason)}</p>',
        f'<p class="flags">{escaped(_sentence(told.flags))}</p>' if told.flags else "",
        f"<figure>{told.picture().svg()}</figure>",
        _prices(told),
        f'<div class="cells">\n<section>{_known(told)}</section>\n<section>{_missing(told)}</section>\n</div>',
        _changes(told),
        _measuring(told),
        f"<footer>{escaped(CAVEAT)}</footer>",
    ]
    return '<article class="prudent">\n' + "\n".join(part for part in parts if part) + "\n</article>"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _prices(told: Explanation) -> str:
    heads, rows = price_columns(told)
    return table(heads, rows, [_kind(told, price) for price in told.prices], "numbers")


def _kind(told: Explanation, price: ActionPrice) -> str:
    if price.action == told.about:
        return "about" if price.action == told.action else "candidate"
    return "" if price.allowed else "barred"


def _known(told: Explanation) -> str:
    if not told.observed:
        return "<h2>What is known</h2>\n<p>Nothing: this is the advice for an average case.</p>"
    rows = [[name, known_cell(value)] for name, value in told.observed.items()]
    return "<h2>What is known</h2>\n" + table(["attribute", "value"], rows)


def _missing(told: Explanation) -> str:
    words = "".join(f'<p class="soft">{escaped(line)}</p>' for line in certainty(told))
    if not told.most_likely:
        return f"<h2>What is missing</h2>\n{words}"
    pairs = [(name, value, told.worst_case[name]) for name, value in told.most_likely.items()]
    rows = [[name, guessed_cell(likely), guessed_cell(worst)] for name, likely, worst in pairs]
    heads = ["attribute", "most likely", f"worst plausible for {told.about}"]
    return f"<h2>What is missing</h2>\n{table(heads, rows)}\n{words}"


def _changes(told: Explanation) -> str:
    if not told.changes:
        return ""
    items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in change_sentences(told))
    return f"<h2>What would change this advice</h2>\n<ul>{items}</ul>"


def _measuring(told: Explanation) -> str:
    if not told.measurements:
        return ""
    words = "".join(f"<p>{escaped(sentence)}</p>" for sentence in measuring_sentences(told))
    rows = [[own.attribute, gain(told, own.gain)] for own in told.measurements]
    heads = ["attribute", f"change of {told.reward_name} {told.gain_measure}"]
    return f"<h2>What to measure</h2>\n{words}\n{table(heads, rows, css='numbers')}"
