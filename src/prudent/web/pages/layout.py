"""What all pages of the server share. Addresses are relative, so that a server in front may add a path of its own."""

from typing import NamedTuple

import htpy
from htpy import Element, Node

from prudent.show import one_line


class Subject(NamedTuple):
    """What the model advises on."""

    action: str
    reward: str
    minimize: bool


TABS = (("One case", "."), ("A table", "table"), ("The model", "model"))


def whole_page(title: str, subject: Subject | None, body: Node, leave: bool = False) -> str:
    """leave: offer to forget the token."""
    heading = "prudent" if subject is None else f"{one_line(subject.action)} for {one_line(subject.reward)}"
    page = htpy.html(lang="en")[
        htpy.head[
            htpy.meta(charset="utf-8"),
            htpy.meta(name="viewport", content="width=device-width, initial-scale=1"),
            htpy.meta(name="color-scheme", content="light dark"),
            htpy.title[f"{title} · {heading}" if subject else title],
            htpy.link(rel="icon", href="static/prudent.svg", type="image/svg+xml"),
            htpy.link(rel="stylesheet", href="static/prudent.css"),
            htpy.script(src="static/prudent.js", defer=True),
        ],
        htpy.body(".prudent.app")[
            htpy.a(".skip", href="#main")["Skip to the content"],
            htpy.header(".top")[
                htpy.div(".name")[htpy.strong["prudent"], subject and htpy.span[_advises_on(subject)]],
                subject and _tabs(title, leave),
            ],
            htpy.main("#main")[body],
        ],
    ]
    return f"{page}\n"


def _advises_on(subject: Subject) -> str:
    better = "lower" if subject.minimize else "higher"
    return f"{one_line(subject.action)} by {one_line(subject.reward)} ({better} is better)"


def _tabs(title: str, leave: bool) -> Element:
    return htpy.nav(aria_label="Pages")[
        (htpy.a(href=address, aria_current="page" if name == title else None)[name] for name, address in TABS),
        leave and htpy.form(method="post", action="logout")[htpy.button(".plain", type="submit")["Leave"]],
    ]


def problem_box(sentence: str) -> Element:
    return htpy.p(".problem", role="alert")[one_line(sentence)]
