"""What the parts of a report share: a section with its heading, tables of words and numbers, sentences in place of a
part that could not be made."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import htpy
from htpy import Node

from prudent.show.json_types import Facts
from prudent.show.pages import paragraphs
from prudent.show.pictures.picture import Picture
from prudent.show.section_elements import text_table
from prudent.show.tables import TextTable


class Part(NamedTuple):
    """A section of a report. anchor: its place in the page's address."""

    anchor: str
    title: str
    body: Node


def unanswered(facts: Facts) -> bool:
    """Whether a part is only a sentence that says why there is none."""
    return set(facts) == {"sentence"}


def words_and_numbers(headings: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str] = ()) -> Node:
    return text_table(TextTable(tuple(headings), [tuple(row) for row in rows], tuple(words)))


def figure(picture: Picture) -> Node:
    return htpy.figure[picture]


def said(*sentences: str | None, css: str | None = None) -> Node:
    return paragraphs([sentence for sentence in sentences if sentence], css)


def folded(summary: str, *body: Node) -> Node:
    return htpy.details[htpy.summary[summary], body]


def own(facts: Facts, name: str) -> Any:
    """The facts of one policy of an evaluation."""
    return next(policy for policy in facts["policies"] if policy["name"] == name)
