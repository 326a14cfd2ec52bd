"""An explanation as a page: headline, why, picture, prices, cells, what would change it. No scripts; fit for print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from prudent.explanation.telling import (
    OK,
    certainty,
    change_sentences,
    gain,
    guessed_cell,
    headline,
    known_cell,
    measuring_sentences,
    price_columns,
)
from prudent.pictures.text import escaped

if TYPE_CHECKING:
    from prudent.explanation.account import ActionPrice, Explanation

CAVEAT = (
    "This is decision support, not a decision. The figures come from a model of past decisions with gaps in their "
    "records; they can be wrong, most of all for cases unlike those in the log. Whoever answers for the case decides."
)

STYLE = """
.prudent{--ink:#1f2a35;--soft:#566370;--rule:#dfe4e8;--paper:#fff;--wash:#e2eefa;--chosen:#0b5fa5;--warning:#b8480a;
background:var(--paper);color:var(--ink);font:15px/1.5 Helvetica,Arial,'Liberation Sans',sans-serif;max-width:760px;
margin:0 auto;padding:28px 32px;box-sizing:border-box;overflow-wrap:break-word}
.prudent h1{font-size:25px;line-height:1.25;margin:0 0 10px;color:var(--chosen)}
.prudent h2{font-size:15px;margin:26px 0 6px}
.prudent p{margin:0 0 8px}
.prudent .row,.prudent footer,.prudent .soft{color:var(--soft);font-size:13px}
.prudent .status,.prudent .flags{border-left:3px solid var(--warning);padding-left:10px}
.prudent h1.none{color:var(--warning)}
.prudent .why{font-size:16px}
.prudent .scroll{overflow-x:auto}
.prudent figure{margin:18px -10px}
.prudent svg{display:block;width:100%}
.prudent table{border-collapse:collapse;width:100%;font-size:13.5px}
.prudent th,.prudent td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--rule);vertical-align:top}
.prudent thead th{color:var(--soft);font-weight:normal}
.prudent tbody th{font-weight:normal}
.prudent .numbers th:not(:first-child),.prudent .numbers td{text-align:right;padding-right:0;padding-left:12px;
font-variant-numeric:tabular-nums}
.prudent .numbers td{white-space:nowrap}
.prudent .numbers th:first-child{min-width:7em}
.prudent tr.about>*,.prudent tr.candidate>*{font-weight:bold}
.prudent tr.about>*{background:var(--wash)}
.prudent tr.barred>*{color:var(--soft)}
.prudent .cells{display:grid;grid-template-columns:2fr 3fr;column-gap:36px}
@media screen and (max-width:620px){.prudent .cells{display:block}}
.prudent .scroll+p{margin-top:8px}
.prudent ul{margin:0;padding-left:20px}
.prudent footer{margin-top:26px;padding-top:10px;border-top:1px solid var(--rule)}
@media screen and (prefers-color-scheme:dark){.prudent{--ink:#e4e9ee;--soft:#a9b4be;--rule:#323b44;--paper:#14181c;
--wash:#1b2936;--chosen:#6cb4ee;--warning:#f29a63}}
@media print{.prudent{padding:0;font-size:9.5pt;line-height:1.4;max-width:none}.prudent h1{font-size:17pt}
.prudent .why{font-size:10.5pt}.prudent h2{font-size:10.5pt;margin-top:14px}.prudent table{font-size:9pt}
.prudent th,.prudent td{padding-top:2px;padding-bottom:2px}.prudent figure{margin:8px 0}
.prudent .row,.prudent .soft,.prudent footer{font-size:8.5pt}.prudent footer{margin-top:14px}
.prudent+.prudent{break-before:page}
.prudent figure,.prudent tr,.prudent ul,.prudent .cells section{break-inside:avoid}.prudent h2{break-after:avoid}
.prudent tr.about>*{print-color-adjust:exact}}
"""
PAGE_STYLE = """
@page{size:A4;margin:16mm}
:root{color-scheme:light dark}
body{margin:0;background:#f1f3f5}
.prudent+.prudent{margin-top:20px}
@media screen and (prefers-color-scheme:dark){body{background:#0c0e10}}
@media print{body{background:none}.prudent+.prudent{margin-top:0}}
"""


def explanations_html(explanations: Sequence[Explanation]) -> str:
    """One self-contained page for one or several cases, each on a sheet of its own when printed."""
    title = headline(explanations[0]) if len(explanations) == 1 else f"Advice for {len(explanations)} cases"
    body = "\n".join(article(told) for told in explanations)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escaped(title)}</title>\n'
        f"<style>{PAGE_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def fragment(told: Explanation) -> str:
    """One case for a page that is already there, such as a notebook."""
    return f"<style>{STYLE}</style>\n{article(told)}"


def article(told: Explanation) -> str:
    parts = [
        f'<p class="row">Row {told.row + 1} of the table · {escaped(told.strategy)}</p>',
        f"<h1{_css('none' if told.action is None else '')}>{escaped(headline(told))}</h1>",
        f'<p class="status">{escaped(_sentence(told.status))}</p>' if told.status != OK else "",
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
    return _table(heads, rows, [_kind(told, price) for price in told.prices], "numbers")


def _kind(told: Explanation, price: ActionPrice) -> str:
    if price.action == told.about:
        return "about" if price.action == told.action else "candidate"
    return "" if price.allowed else "barred"


def _known(told: Explanation) -> str:
    if not told.observed:
        return "<h2>What is known</h2>\n<p>Nothing: this is the advice for an average case.</p>"
    rows = [[name, known_cell(value)] for name, value in told.observed.items()]
    return "<h2>What is known</h2>\n" + _table(["attribute", "value"], rows)


def _missing(told: Explanation) -> str:
    words = "".join(f'<p class="soft">{escaped(line)}</p>' for line in certainty(told))
    if not told.most_likely:
        return f"<h2>What is missing</h2>\n{words}"
    pairs = [(name, value, told.worst_case[name]) for name, value in told.most_likely.items()]
    rows = [[name, guessed_cell(likely), guessed_cell(worst)] for name, likely, worst in pairs]
    heads = ["attribute", "most likely", f"worst plausible for {told.about}"]
    return f"<h2>What is missing</h2>\n{_table(heads, rows)}\n{words}"


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
    return f"<h2>What to measure</h2>\n{words}\n{_table(heads, rows, css='numbers')}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]], kinds: Sequence[str] = (), css: str = "") -> str:
    head = "".join(f'<th scope="col">{escaped(own)}</th>' for own in heads)
    body = "".join(_line(row, kind) for row, kind in zip(rows, kinds or [""] * len(rows), strict=True))
    return f'<div class="scroll"><table{_css(css)}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _line(row: Sequence[Any], kind: str) -> str:
    cells = "".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])
    return f'<tr{_css(kind)}><th scope="row">{escaped(row[0])}</th>{cells}</tr>'


def _css(name: str) -> str:
    return f' class="{name}"' if name else ""
