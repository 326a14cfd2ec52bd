"""Text in pictures: how wide it is, how it is cut or wrapped to fit, and how numbers are written."""

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

NARROW, SLIM, WIDE = "ijl|!'.,:;` ", '()[]{}/\\-ftrI"', "mwMWQG@%—→…Ω∞"


def plain(text: object) -> str:
    """One line without control characters, which XML cannot hold."""
    return " ".join("".join(" " if _unprintable(sign) else sign for sign in str(text)).split())


def escaped(text: object) -> str:
    """Plain text, safe inside an element and inside a quoted attribute."""
    return escape(plain(text), quote=True)


def _unprintable(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs", "Cn", "Co") or sign in "\u2028\u2029\ufffe\uffff"


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide a line of text is: rather a little too wide, since the reader's font is not known.

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
    """The text in lines of at most `width`; a single longer word is cut."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold) <= width:
            lines[-1] = longer
        else:
            lines.append(shortened(word, width, size, bold))
    return lines


@dataclass(frozen=True)
class Figures:
    """Writes numbers that belong together with the same decimals, enough to tell them apart, and where they are huge
    or tiny with the same power of ten.

    >>> figures = Figures.of([-2.6134, -0.5, 1.25])
    >>> figures(-2.6134), figures(-0.0004), figures(float("nan"))
    ('−2.61', '0.00', '–')
    >>> Figures.of([2.5e9, 1e9])(2.5e9)
    '2.500×10⁹'
    """

    decimals: int = 2
    exponent: int = 0

    @classmethod
    def of(cls, numbers: Iterable[float | None]) -> "Figures":
        finite = [number for number in numbers if number is not None and math.isfinite(number)]
        largest = max((abs(number) for number in finite), default=0.0)
        if largest == 0:
            return cls()
        spread = max(finite) - min(finite)
        if spread < 1e-6 * largest:  # float noise tells nothing apart
            spread = largest
        exponent = thousands(largest) if largest >= 1e7 or largest < 1e-4 else 0
        return cls(min(max(math.ceil(2.5 - math.log10(spread) + exponent), 0), 8), exponent)

    def __call__(self, number: float | None) -> str:
        if number is None or math.isnan(number):
            return "–"
        if math.isinf(number):
            return "∞" if number > 0 else "−∞"
        digits = _signed(f"{number / 10.0**self.exponent:.{self.decimals}f}")
        return digits + power_of_ten(self.exponent)


def thousands(number: float) -> int:
    """The exponent of the largest power of a thousand that is not above a number."""
    return 3 * math.floor(math.log10(number) / 3 + 1e-9)


def power_of_ten(exponent: int) -> str:
    """The factor that numbers shown without it must be multiplied by; nothing for 1.

    >>> power_of_ten(-6), power_of_ten(0)
    ('×10⁻⁶', '')
    """
    return f"×10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}" if exponent else ""


def _signed(digits: str) -> str:
    """With a true minus sign, and no minus before a zero."""
    return digits.lstrip("-") if float(digits) == 0 else digits.replace("-", "−")
