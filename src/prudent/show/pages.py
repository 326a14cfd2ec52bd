"""What all pages share: one look for screen, dark screen, phone and print; no scripts, and nothing loaded from outside.

Pages are trees of htpy elements, which escape every text in them."""

from collections.abc import Iterable, Sequence

import htpy
from htpy import Element, Node
from markupsafe import Markup

from prudent.show.text import one_line

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
.prudent tbody>tr>*,.prudent thead th:first-child{overflow-wrap:anywhere}
.prudent thead th{color:var(--soft);font-weight:normal}
.prudent tbody th{font-weight:normal}
.prudent .numbers th:not(:first-child),.prudent .numbers td{text-align:right;padding-right:0;padding-left:12px;
font-variant-numeric:tabular-nums}
.prudent .numbers td{white-space:nowrap}
.prudent .numbers th:first-child{min-width:7em}
.prudent .attributes th:first-child{min-width:9.5em}
.prudent tr.about>*,.prudent tr.candidate>*{font-weight:bold}
.prudent tr.about>*{background:var(--wash)}
.prudent tr.barred>*{color:var(--soft)}
.prudent details{margin:8px 0}
.prudent summary{cursor:pointer;color:var(--chosen);font-size:13.5px}
@media screen and (max-width:620px){.prudent{padding:22px 18px}}
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
.prudent figure,.prudent tr,.prudent ul{break-inside:avoid}.prudent h2{break-after:avoid}
.prudent tr.about>*{print-color-adjust:exact}}
"""
IN_NOTEBOOKS = """
.prudent.prudent table{color:inherit;margin:0;table-layout:auto}
.prudent.prudent tbody tr,.prudent.prudent tbody tr:hover{background:none}
"""
"""Against what a notebook says of all tables: rows in its own colours, whatever the colour of our text."""
PAGE_STYLE = """
@page{size:A4;margin:16mm}
:root{color-scheme:light dark}
body{margin:0;background:#f1f3f5}
.prudent+.prudent{margin-top:20px}
@media screen and (prefers-color-scheme:dark){body{background:#0c0e10}}
@media print{body{background:none}.prudent+.prudent{margin-top:0}}
"""


def document(title: str, body: Node, style: str = "", head: Node = None) -> str:
    """One self-contained page whose body is a list of `article`s; `style` is added to the common one."""
    page = htpy.html(lang="en")[
        htpy.head[
            htpy.meta(charset="utf-8"),
            htpy.meta(name="viewport", content="width=device-width, initial-scale=1"),
            head,
            htpy.title[one_line(title)],
            style_sheet(PAGE_STYLE + STYLE + style),
        ],
        htpy.body[htpy.main[body]],
    ]
    return f"{page}\n"


def page_style() -> str:
    """The common style, for a server that hands it out as a file."""
    return PAGE_STYLE + STYLE


def style_sheet(css: str) -> Element:
    return htpy.style[Markup(css)]


def style_sheet_in_notebooks(css: str = "") -> Element:
    """The common style and some more, for a part of a page that is not ours."""
    return style_sheet(STYLE + IN_NOTEBOOKS + css)


def article(*parts: Node) -> Element:
    """A part of a page that begins on a new sheet when printed."""
    return htpy.article(".prudent")[parts]


def paragraphs(sentences: Iterable[str], css: str | None = None) -> list[Element]:
    return [htpy.p(class_=css)[one_line(sentence)] for sentence in sentences]


def table(
    headings: Sequence[str], rows: Sequence[Sequence[Node]], row_classes: Sequence[str] = (), css: str | None = None
) -> Element:
    """A table that scrolls by itself on a narrow screen; its first column names the rows."""
    classes = row_classes or [""] * len(rows)
    return htpy.div(".scroll")[
        htpy.table(class_=css)[
            htpy.thead[htpy.tr[(htpy.th(scope="col")[one_line(heading)] for heading in headings)]],
            htpy.tbody[(_row(row, row_class) for row, row_class in zip(rows, classes, strict=True))],
        ]
    ]


def _row(cells: Sequence[Node], row_class: str) -> Element:
    name, *others = (one_line(cell) if isinstance(cell, str) else cell for cell in cells)
    return htpy.tr(class_=row_class or None)[htpy.th(scope="row")[name], (htpy.td[cell] for cell in others)]
