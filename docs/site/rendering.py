"""From one Markdown document to HTML: anchors as on GitHub, coloured code, links that fit the site."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_by_name
from pygments.util import ClassNotFound

COMMENT = re.compile(r"^<!--.*-->\n", re.M)
LANGUAGES = {"sh": "bash", "": "text", "result": "text"}


@dataclass
class Section:
    """A heading, its anchor, and the words below it."""

    level: int
    title: str
    anchor: str
    words: list[str] = field(default_factory=list)


@dataclass
class Rendered:
    """One page: its HTML, its sections, and where it links to."""

    html: str
    sections: list[Section]
    links: list[str]

    @property
    def title(self) -> str:
        return self.sections[0].title if self.sections else ""

    @property
    def anchors(self) -> set[str]:
        return {section.anchor for section in self.sections}


def rendered(markdown: str, moved: Callable[[str], str]) -> Rendered:
    """`moved` gives the new form of a link's target; raw HTML in a document is shown, not used."""
    reader = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).enable("table")
    tokens = reader.parse(COMMENT.sub("", markdown))
    sections = list(_sections(tokens))
    links = list(_moved(tokens, moved))
    html = reader.renderer.render(tokens, reader.options, {})
    # a table scrolls by itself on a narrow screen, and by keyboard
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Rendered(html, sections, links)


def style_of_code(dark: bool) -> str:
    return HtmlFormatter(style="github-dark" if dark else "default").get_style_defs(".code")


def anchor_of(title: str) -> str:
    """
    >>> anchor_of("4. Choose a strategy, get advice")
    '4-choose-a-strategy-get-advice'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    """The headings, which get their anchors, with what stands below them."""
    taken: dict[str, int] = {}
    section = None
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _words(tokens[at + 1])
            anchor = anchor_of(title)
            before = taken.get(anchor, 0)
            taken[anchor] = before + 1
            anchor = f"{anchor}-{before}" if before else anchor
            token.attrSet("id", anchor)
            if section is not None:
                yield section
            section = Section(int(token.tag[1]), title, anchor)
        elif section is not None and token.type == "inline" and tokens[at - 1].type != "heading_open":
            section.words.append(_words(token))
    if section is not None:
        yield section


def _words(inline: Token) -> str:
    kept = ("text", "code_inline", "softbreak")
    return "".join(child.content or " " for child in inline.children or () if child.type in kept)


def _moved(tokens: Sequence[Token], moved: Callable[[str], str]) -> Iterator[str]:
    for token in tokens:
        for child in token.children or ():
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name:
                target = moved(str(child.attrs[name]))
                child.attrs[name] = target
                yield target


def _coloured(code: str, language: str, _: str) -> str:
    try:
        lexer = get_lexer_by_name(LANGUAGES.get(language, language))
    except ClassNotFound:
        lexer = TextLexer()
    inside = highlight(code, lexer, HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code class="language-{escape(language or "text")}">{inside}</code></pre>'
