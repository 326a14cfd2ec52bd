"""The page of a report: the answer, a table of contents, and a section for each part. All from plain facts."""

import htpy
from htpy import Element, Node

from prudent.show.explanation.page import CAVEAT
from prudent.show.json_types import Facts
from prudent.show.pages import document
from prudent.show.report.answer import answer_sentences
from prudent.show.report.card_part import card_part
from prudent.show.report.cases_part import cases_part
from prudent.show.report.caution_part import caution_part
from prudent.show.report.changed_part import changed_part
from prudent.show.report.filled_part import filled_part
from prudent.show.report.limits_part import computed_limits, limits_part
from prudent.show.report.log_part import log_part
from prudent.show.report.measuring_part import measuring_part
from prudent.show.report.parts import Part
from prudent.show.report.rewards_part import rewards_part
from prudent.show.report.values_part import values_part
from prudent.show.section_elements import WORDS_STYLE, points
from prudent.show.text import one_line

PARTS = (
    *(log_part, filled_part, rewards_part, values_part, caution_part, changed_part, cases_part),
    *(measuring_part, limits_part, card_part),
)
MOST_LIMITS = 3
REPORT_STYLE = (
    """
.prudent.report{max-width:860px}
.prudent.report h2{font-size:19px;margin:38px 0 8px;padding-top:12px;border-top:1px solid var(--rule)}
.prudent.report h3{font-size:16px;margin:20px 0 6px}
.prudent.report h4{font-size:14px;margin:16px 0 4px}
.prudent.report .answer{background:var(--wash);border-radius:6px;padding:14px 18px;margin:14px 0;font-size:16px}
.prudent.report .answer li{margin:0 0 8px}
.prudent.report .answer li:last-child{margin:0}
.prudent.report nav ol{columns:2;margin:0;padding-left:22px}
.prudent.report a{color:var(--chosen)}
.prudent.report .scroll{margin:6px 0 10px}
.prudent.report .numbers td.word{overflow-wrap:break-word}
.prudent.report ul,.prudent.report ol{padding-left:22px}
.prudent.report details.case{border:1px solid var(--rule);border-radius:6px;padding:8px 14px}
.prudent.report .limits{border-left:3px solid var(--warning);padding-left:12px;margin:14px 0}
@media screen and (max-width:620px){.prudent.report nav ol{columns:1}.prudent.report figure{overflow-x:auto}
.prudent.report figure svg{min-width:540px}}
@media print{.prudent.report{max-width:none}.prudent.report h2{font-size:13pt;margin-top:20px}
.prudent.report h3{font-size:11pt}.prudent.report h4{font-size:10pt}.prudent.report .answer{font-size:10.5pt;
print-color-adjust:exact}.prudent.report nav ol{columns:2}.prudent.report h3,.prudent.report h4,.prudent.report summary{
break-after:avoid}.prudent.report details:not(.case){display:none}.prudent.report details.case{border:0;padding:0}
.prudent.report details.case::details-content{content-visibility:visible;display:block;block-size:auto}
.prudent.report details.case>summary{list-style:none;font-weight:bold;margin-top:14px}
.prudent.report .scroll{overflow:visible}}
@media screen{.prudent.report .printed{display:none}}
"""
    + WORDS_STYLE
)


def report_page(report: Facts) -> str:
    """One self-contained page: nothing from outside, no scripts, fit for print, light and dark."""
    parts = [part(report) for part in PARTS]
    body = htpy.article(".prudent.report")[
        htpy.h1[one_line(report["title"])],
        htpy.p(".row")[_subtitle(report)],
        htpy.section(aria_label="The answer")[htpy.ul(".answer")[(htpy.li[one] for one in answer_sentences(report))]],
        _beware(report),
        _contents(parts),
        [_section(part) for part in parts],
        htpy.p(".soft.printed")["Printed without the tables that are folded away on the screen."],
        htpy.footer[CAVEAT],
    ]
    return document(report["title"], body, REPORT_STYLE)


def _subtitle(report: Facts) -> str:
    origin = report["model"]["origin"]
    log = "" if origin["log"] is None else f" · {one_line(origin['log'])}"
    return f"{report['written']} · {one_line(report['model']['policy']['strategy'])}{log}"


def _beware(report: Facts) -> Node:
    found = computed_limits(report)
    if not found:
        return None
    more = len(found) - MOST_LIMITS
    return htpy.div(".limits")[
        htpy.p["Before you rely on it:"],
        points(found[:MOST_LIMITS]),
        htpy.p(".soft")[htpy.a(href="#limits")[f"{more} more under Limits"]] if more > 0 else None,
    ]


def _contents(parts: list[Part]) -> Element:
    items = (htpy.li[htpy.a(href=f"#{part.anchor}")[part.title]] for part in parts)
    return htpy.nav(aria_label="Contents")[htpy.h2["Contents"], htpy.ol[items]]


def _section(part: Part) -> Element:
    return htpy.section(id=part.anchor)[htpy.h2[part.title], part.body]
