"""A console for texts as they are: no markup, and no control character of a name reaches the terminal."""

import unicodedata
from typing import Any

from rich.console import Console
from rich.text import Text

_REORDERS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""They make a terminal show other text than is there."""


def printable(text: object, kept: str = "\n") -> str:
    """The text with control characters, which a terminal would obey, as Python writes them; those `kept` stay.

    >>> print(printable("dose\\x1b[2J"))
    dose\\x1b[2J
    """
    words = str(text)
    return words if words.isprintable() else "".join(sign if sign in kept else _shown(sign) for sign in words)


def _shown(sign: str) -> str:
    obeyed = unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") or sign in _REORDERS
    return ascii(sign)[1:-1] if obeyed else sign


class PlainConsole(Console):
    """A column named '[bold]' or '\\x1b[2J' is shown as that."""

    def __init__(self, **settings: Any):
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(printable(text), **settings)
