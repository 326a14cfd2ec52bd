"""How numbers are written: rewards with the same decimals, shares in percent, counts with their noun."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_MANTISSA = 4
"""Decimals before a power of ten; numbers of more digits are easier to read in full."""


@dataclass(frozen=True)
class Figures:
    """Writes numbers that belong together with the same decimals, enough to distinguish them, and with the same power
    of ten if they are huge or tiny.

    >>> figures = Figures.of([-2.6134, -0.5, 1.25])
    >>> figures(-2.6134), figures(-0.0004), figures(float("nan"))
    ('−2.61', '0.00', '–')
    >>> Figures.of([2.5e9, 1e9])(2.5e9)
    '2.500×10⁹'
    >>> Figures.of([1e7 + 0.5, 1e7 + 0.25], origin=1e7)(1e7 + 0.5)
    '10000000.5000'
    """

    decimals: int = 2
    exponent: int = 0

    @classmethod
    def of(cls, numbers: Iterable[float | None], origin: float = 0.0) -> "Figures":
        """origin: what the numbers were computed as distances from: their rounding errors are small beside those."""
        finite = [number for number in numbers if number is not None and math.isfinite(number)]
        largest = max((abs(number) for number in finite), default=0.0)
        if largest == 0:
            return cls()
        spread, farthest = max(finite) - min(finite), max(abs(number - origin) for number in finite)
        if spread <= 1e-6 * farthest:  # rounding errors distinguish nothing
            spread = farthest or largest
        return cls.to(10.0**-2.5 * spread, largest)

    @classmethod
    def to(cls, finest: float, largest: float) -> "Figures":
        """To differences of `finest`, between numbers up to `largest`; written out where a mantissa would be longer."""
        digits = -math.log10(finest)
        exponent = thousands(largest) if largest >= 1e7 or largest < 1e-4 else 0
        if exponent > 0 and digits + exponent > LONGEST_MANTISSA and largest < 1e15:
            exponent = 0
        return cls(min(max(math.ceil(digits + exponent), 0), 8), exponent)

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
    """The factor to be written after a number or an axis title; nothing for 1.

    >>> power_of_ten(-6), power_of_ten(0)
    ('×10⁻⁶', '')
    """
    return f"×10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}" if exponent else ""


def _signed(digits: str) -> str:
    """With a typographic minus sign, and none before a zero."""
    return digits.lstrip("-") if float(digits) == 0 else digits.replace("-", "−")


def significant(number: float) -> str:
    """To four digits, or to ten where four would leave out what is before the point.

    >>> significant(0.34731), significant(-0.0), significant(10_000_000.34731)
    ('0.3473', '0', '10000000.35')
    """
    return f"{number:z.4g}" if abs(number) < 1e4 else f"{number:.10g}"


def percent(share: float) -> str:
    """A share in whole percents; only an exact 0 or 1 is written 0% or 100%.

    >>> percent(0.244), percent(0.0004), percent(0.9999), percent(1.0)
    ('24%', '<1%', '>99%', '100%')
    """
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 - 1e-6 else f"{share:.0%}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


ABOUT = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45)


def about_time(seconds: float) -> str:
    """A time that does not pretend to be exact.

    >>> [about_time(seconds) for seconds in (8, 50, 1000, 4000, 50_000)]
    ['less than half a minute', 'about a minute', 'about 15 minutes', 'about an hour', 'about 15 hours']
    """
    if seconds < 30:
        return "less than half a minute"
    in_hours = seconds > 52 * 60
    amount = seconds / (3600 if in_hours else 60)
    nearest = min(ABOUT, key=lambda known: max(known / amount, amount / known))
    unit = "hour" if in_hours else "minute"
    if nearest == 1:
        return f"about {'an' if in_hours else 'a'} {unit}"
    return f"about {round(amount) if amount > max(ABOUT) else nearest} {unit}s"


def about_memory(size: float) -> str:
    """Bytes in gigabytes, rounded up to halves.

    >>> about_memory(0.7e9), about_memory(6.2e9)
    ('1 GB', '6.5 GB')
    """
    return f"{-(-size // 5e8) / 2:g} GB"
