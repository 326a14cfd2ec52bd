"""The page for tables, the page on the model, and the one that asks for the token."""

from collections.abc import Mapping, Sequence
from typing import Any

import htpy
from htpy import Node

from prudent.show import CAVEAT, one_line, table


def table_page(steps: Sequence[tuple[str, str]], most_rows: int, most_megabytes: float, journal: bool) -> Node:
    kept = " Every row goes into the journal; the column advice_id names its entry." if journal else ""
    return htpy.article(".card")[
        htpy.h1["Advice for a table"],
        htpy.p[
            "One case per row, with the columns that the model knows; empty cells are gaps. You get one row of advice "
            f"for each, in order, as prudent recommend writes it.{kept}"
        ],
        htpy.form("#upload", method="post", action="api/table", enctype="multipart/form-data")[
            htpy.div(".field")[
                htpy.label(for_="file")["Table"],
                htpy.input(
                    "#file",
                    name="file",
                    type="file",
                    required=True,
                    accept=".csv,.tsv,.parquet,.pq,.xlsx",
                    aria_describedby="file-hint",
                ),
                htpy.span("#file-hint.hint")[
                    f".csv, .tsv, .parquet or .xlsx, up to {most_rows:,} rows and {most_megabytes:g} MB"
                ],
            ],
            htpy.div(".field")[
                htpy.label(for_="how")["How careful?"],
                htpy.select("#how", name="how")[
                    (htpy.option(value=str(number))[f"{name}: {does}"] for number, (name, does) in enumerate(steps))
                ],
            ],
            htpy.div(".grid")[
                htpy.div(".field")[
                    htpy.label(for_="keep")["Columns to copy to the advice"],
                    htpy.input("#keep", name="keep", type="text", autocomplete="off", placeholder="e.g. patient"),
                    htpy.span(".hint")["several: separated by commas"],
                ],
                htpy.div(".field")[
                    htpy.label(for_="allowed")["Column with the actions a row may get"],
                    htpy.input("#allowed", name="allowed", type="text", autocomplete="off", placeholder="none"),
                    htpy.span(".hint")["its cells list them, as a;b;c"],
                ],
            ],
            htpy.label(".check")[
                htpy.input(type="checkbox", name="measure", value="true"), "Say what to measure first in each case"
            ],
            htpy.div(".buttons")[htpy.button(".main", type="submit")["Get advice"]],
            htpy.div("#uploaded", role="status"),
        ],
        htpy.footer[CAVEAT],
    ]


def model_page(facts: Mapping[str, Any]) -> Node:
    report, better = facts["report"], "lower" if facts["minimize"] else "higher"
    known = [
        ("actions", f"{one_line(facts['action_name'])}: {', '.join(one_line(label) for label in facts['actions'])}"),
        ("outcome", f"{one_line(facts['reward_name'])} ({better} is better)"),
        ("learnt from", f"{report['rows']:,} decisions, {report['rewarded']:,} with an outcome"),
        ("kind of model", facts["model"]),
        ("journal", "every advice is recorded" if facts["journal"] else "none"),
        ("guarantee", "lower bounds from held-out decisions" if facts["guarantee"] else "none"),
        ("made by", f"prudent {facts['prudent']}"),
        ("fingerprint", htpy.code[facts["model_hash"] or "none"]),
    ]
    rows = [
        (one_line(one["name"]), one["kind"], one_line(one["unit"] or ""), one_line(one["shows"]))
        for one in facts["columns"]
    ]
    return htpy.article(".card")[
        htpy.h1["The model"],
        htpy.dl(".facts")[(htpy.div[htpy.dt[name], htpy.dd[value]] for name, value in known)],
        _list("What fitting decided", report["choices"]),
        _list("What to know before trusting it", report["notes"]),
        htpy.section[htpy.h2["Columns"], table(["column", "kind", "unit", "in the log"], rows)],
        htpy.section[
            htpy.h2["For programs"],
            htpy.p["The same answers as JSON, described at ", htpy.a(href="openapi.json")["openapi.json"], "."],
        ],
        htpy.footer[CAVEAT],
    ]


def _list(heading: str, sentences: Sequence[str]) -> Node:
    if not sentences:
        return None
    return htpy.section[htpy.h2[heading], htpy.ul[(htpy.li[one_line(sentence)] for sentence in sentences)]]


def login_page(wrong: bool) -> Node:
    return htpy.article(".card.small")[
        htpy.h1["Token"],
        htpy.p["Whoever runs this server has given you one."],
        htpy.p(".problem", role="alert")["That is not the token; check it, and try again."] if wrong else None,
        htpy.form(method="post", action="login")[
            htpy.div(".field")[
                htpy.label(for_="token")["Token"],
                htpy.input(
                    "#token",
                    name="token",
                    type="password",
                    required=True,
                    autocomplete="current-password",
                    autofocus=True,
                ),
            ],
            htpy.div(".buttons")[htpy.button(".main", type="submit")["Enter"]],
        ],
    ]
