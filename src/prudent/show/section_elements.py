"""A section as a command prints it, as a part of a page."""

from collections.abc import Iterable, Sequence

import htpy
from htpy import Element, Node

from prudent.show.pages import paragraphs
from prudent.show.sections import Section
from prudent.show.tables import TextTable
from prudent.show.text import one_line

WORDS_STYLE = """
.prudent .numbers td.word,.prudent .numbers th.word{text-align:left;white-space:normal}
.prudent .numbers td.word:not(:last-child){padding-right:12px}
"""
"""For columns that hold words in a table of numbers."""


def section_elements(section: Section, heading: Element = htpy.h2) -> Node:
    """The title as a heading of that level, then introduction, table, sentences and points."""
    return [
        heading[one_line(section.title)] if section.title else None,
        paragraphs(section.introduction),
        None if section.table is None else text_table(section.table),
        paragraphs(section.sentences, "soft" if section.table is not None else None),
        points(section.points),
    ]


def points(sentences: Iterable[str]) -> Element | None:
    """A list of sentences; nothing without any."""
    items = [htpy.li[one_line(sentence)] for sentence in sentences]
    return htpy.ul[items] if items else None


def text_table(table: TextTable) -> Element:
    """A table that scrolls by itself on a narrow screen; its first column names the rows."""
    classes = ["word" if table.holds_words(column) else None for column in range(len(table.headings))]

    def head(text: str, scope: str, css: str | None) -> Element:
        return htpy.th(scope=scope, class_=css)[one_line(text)]

    def row(cells: Sequence[str]) -> list[Element]:
        others = zip(cells[1:], classes[1:], strict=True)
        return [head(cells[0], "row", classes[0]), *(htpy.td(class_=css)[one_line(cell)] for cell, css in others)]

    heads = (head(text, "col", css) for text, css in zip(table.headings, classes, strict=True))
    return htpy.div(".scroll")[
        htpy.table(".numbers")[htpy.thead[htpy.tr[heads]], htpy.tbody[(htpy.tr[row(cells)] for cells in table.rows)]]
    ]
