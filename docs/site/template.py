"""The frame of every page: navigation, search, what is on the page, the page before and the next."""

import posixpath
from collections.abc import Callable, Iterator, Sequence

import htpy
from htpy import Element, Node
from markupsafe import Markup

from docs.site.contents import CONTENTS, DOCUMENTS, REFERENCE, place_of
from docs.site.rendering import Rendered, Section

Link = Callable[[str], str]
"""From a place on the site to the address of it, seen from a page."""
FEWEST_LISTED = 3
"""With fewer headings a page has no list of them."""


def page(document: str, content: Rendered) -> str:
    here = place_of(document)

    def to(place: str) -> str:
        return posixpath.relpath(place, posixpath.dirname(here) or ".")

    title = content.title if content.title == "prudent" else f"{content.title} · prudent"
    tree = htpy.html(lang="en")[
        htpy.head[
            htpy.meta(charset="utf-8"),
            htpy.meta(name="viewport", content="width=device-width, initial-scale=1"),
            htpy.title[title],
            htpy.link(rel="stylesheet", href=to("site.css")),
            htpy.script(src=to("search-index.js"), defer=True),
            htpy.script(src=to("search.js"), defer=True),
        ],
        htpy.body(data_root=to("."))[
            htpy.a(".skip", href="#content")["Skip to the text"],
            htpy.header[
                htpy.a(".name", href=to("index.html"))["prudent"],
                htpy.form(".search", role="search")[
                    htpy.input(
                        type="search", placeholder="Search", aria_label="Search the documents", autocomplete="off"
                    ),
                    htpy.ol(hidden=True, aria_live="polite"),
                ],
            ],
            htpy.div(".columns")[
                htpy.details(".contents", open=True)[
                    htpy.summary["Contents"], htpy.nav(aria_label="Contents")[_contents(document, to)]
                ],
                htpy.main("#content")[Markup(content.html), _around(document, to)],
                _on_this_page(content.sections),
            ],
        ],
    ]
    return f"{tree}\n"


def _contents(document: str, to: Link) -> Iterator[Node]:
    reference = ("API reference", REFERENCE)
    for section, pages in CONTENTS.items():
        listed = [(title, place_of(name), name == document) for title, name in pages]
        listed = [one for one in listed if "every row" not in one[0] or one[2]]  # long tables, linked from their pages
        if section == "Project":
            listed.insert(0, (*reference, False))
        yield htpy.h2[section]
        yield htpy.ul[
            (
                htpy.li[htpy.a(href=to(place), aria_current="page" if current else None)[title]]
                for title, place, current in listed
            )
        ]


def _on_this_page(sections: Sequence[Section]) -> Element | None:
    listed = [section for section in sections if section.level == 2]
    if len(listed) < FEWEST_LISTED:
        return None
    return htpy.nav(".here", aria_label="On this page")[
        htpy.h2["On this page"],
        htpy.ul[(htpy.li[htpy.a(href=f"#{section.anchor}")[section.title]] for section in listed)],
    ]


def _around(document: str, to: Link) -> Element:
    titles = {name: title for pages in CONTENTS.values() for title, name in pages}
    at = DOCUMENTS.index(document)
    before = DOCUMENTS[at - 1] if at else None
    after = DOCUMENTS[at + 1] if at + 1 < len(DOCUMENTS) else None
    return htpy.footer[
        before and htpy.a(rel="prev", href=to(place_of(before)))[f"← {titles[before]}"],
        after and htpy.a(rel="next", href=to(place_of(after)))[f"{titles[after]} →"],
    ]
