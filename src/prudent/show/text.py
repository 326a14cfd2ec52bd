"""Text for pictures and pages: without control characters, escaped, and cut or wrapped to a width."""

import unicodedata

from markupsafe import escape

NARROW, SLIM, WIDE = "ijl|!'.,:;` ", '()[]{}/\\-ftrI"', "mwMWQG@%—→…Ω∞"


def one_line(text: object) -> str:
    """The text on one line, without control characters, which XML cannot hold."""
    return " ".join("".join(" " if _unprintable(sign) else sign for sign in str(text)).split())


def xml_text(text: object) -> str:
    """One line that is safe inside an element and inside a quoted attribute."""
    return str(escape(one_line(text)))


def _unprintable(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs", "Cn", "Co") or sign in "\u2028\u2029\ufffe\uffff"


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide a line of text is; a little too wide on purpose, since the reader's font is not known.

    >>> 38 < text_width("reward", 12) < 46
    True
    """
    return size * sum(_em(sign) for sign in text) * (1.07 if bold else 1.0)


def _em(sign: str) -> float:
    if unicodedata.combining(sign) or unicodedata.category(sign) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.05
    if sign in NARROW:
        return 0.28
    if sign in SLIM:
        return 0.36
    if sign in WIDE:
        return 0.98
    return 0.74 if sign.isupper() else 0.57


def shortened(text: str, width: float, size: float, bold: bool = False) -> str:
    """The text, cut with an ellipsis where it would be wider than `width`.

    Its end is kept too: labels that begin alike often differ there.

    >>> shortened("treat twice a day, evening dose 12", 130, 12)
    'treat twice a…dose 12'
    """
    if text_width(text, size, bold) <= width:
        return text
    kept = len(text) - 1
    while kept and text_width(_cut(text, kept), size, bold) > width:
        kept -= 1
    return _cut(text, kept)


def _cut(text: str, kept: int) -> str:
    end = kept * 2 // 5
    return f"{text[: kept - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def wrapped(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """The text in lines of at most `width`; a longer word is broken, so that nothing is lost.

    >>> wrapped("take methylprednisolone", 80, 12)
    ['take', 'methylpredni', 'solone']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold) <= width:
            lines[-1] = longer
        else:
            lines += _broken(word, width, size, bold)
    return lines


def _broken(word: str, width: float, size: float, bold: bool) -> list[str]:
    """A word in pieces that fit; at least one letter each."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and text_width(pieces[-1] + letter, size, bold) > width:
            pieces.append("")
        pieces[-1] += letter
    return pieces
