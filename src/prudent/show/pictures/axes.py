"""Axes: where numbers lie on the canvas, and the round numbers that are written along it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prudent.show.numbers import power_of_ten, thousands
from prudent.show.pictures.palette import INK, RULE, SOFT
from prudent.show.pictures.picture import Box, Element, Line, Text
from prudent.show.text import text_width

MARGIN, TICK_SIZE = 22.0, 11.0


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers, at most `most` of them.

    >>> nice_ticks(-6.3, 1.2)
    [-6.0, -4.0, -2.0, 0.0]
    """
    raw = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [round(index * step, decimals) + 0.0 for index in range(first, last + 1)]


def tick_labels(ticks: Sequence[float]) -> tuple[list[str], str]:
    """Two or more even ticks as text with equal decimals and, for huge or tiny ones, the power of ten all share.

    >>> tick_labels([-2e6, 0.0, 2e6])
    (['−2', '0', '2'], '×10⁶')
    """
    largest = max(abs(tick) for tick in ticks)
    step = ticks[1] - ticks[0]
    exponent = thousands(largest) if largest >= 1e5 or largest < 1e-3 else 0
    if step < 1e-4 * largest:  # a mantissa with so many decimals is harder to read than the number itself
        exponent = 0
    factor = 10.0**exponent
    decimals = max(0, -math.floor(math.log10(step / factor) + 1e-9))
    labels = [f"{tick / factor:.{decimals}f}".replace("-", "−") for tick in ticks]
    return labels, power_of_ten(exponent)


@dataclass(frozen=True)
class Scale:
    """Maps numbers from `low` to `high` onto the canvas from `start` to `end`, and has round ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    power: str
    logarithmic: bool = False

    @classmethod
    def of_magnitudes(cls, numbers: Sequence[float], start: float, end: float) -> "Scale":
        """A logarithmic scale for positive numbers, with ticks at powers of ten and, where these are few, at 2 and 5
        times powers of ten.

        >>> Scale.of_magnitudes([1.0, 800.0], 0.0, 100.0).labels
        ('1', '2', '5', '10', '20', '50', '100', '200', '500')
        >>> Scale.of_magnitudes([0.1, 1e6], 0.0, 100.0).labels
        ('0.1', '1', '10', '100', '1,000', '10,000', '100,000', '1,000,000')
        """
        low, high = math.log10(min(numbers)), math.log10(max(numbers))
        margin = 0.03 * (high - low) or 0.1
        between = (1, 2, 5) if high - low < 3.5 else (1,)
        powers = range(math.floor(low - margin), math.ceil(high + margin) + 1)
        ticks = [times * 10.0**power for power in powers for times in between]
        ticks = [tick for tick in ticks if low - margin <= math.log10(tick) <= high + margin]
        labels = tuple(f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks)
        return cls(low - margin, high + margin, start, end, tuple(ticks), labels, "", True)

    @classmethod
    def around(cls, numbers: Sequence[float], start: float, end: float, most: int = 7) -> "Scale":
        """A scale that shows all numbers with a margin; fewer ticks where their labels would overlap."""
        low, high = min(numbers), max(numbers)
        margin = 0.05 * (high - low)
        if high - low <= 1e-7 * max(abs(low), abs(high)):  # all the same, apart from rounding errors
            margin = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = low - margin, high + margin
        choices = [nice_ticks(low, high, count) for count in range(most, 2, -1)]
        choices = [ticks for ticks in choices if len(ticks) > 1]
        ticks = next((ticks for ticks in choices if _apart(ticks, (end - start) / (high - low))), choices[-1])
        labels, power = tick_labels(ticks)
        return cls(low, high, start, end, tuple(ticks), tuple(labels), power)

    def __call__(self, number: float) -> float:
        number = math.log10(number) if self.logarithmic else number
        return self.start + (number - self.low) / (self.high - self.low) * (self.end - self.start)


def _apart(ticks: list[float], units: float) -> bool:
    """Whether labels of these ticks do not overlap; on a vertical axis, which runs upwards, they are stacked."""
    widest = max(text_width(label, TICK_SIZE) for label in tick_labels(ticks)[0])
    return (widest + 14 if units > 0 else 2 * TICK_SIZE) <= abs(units) * (ticks[1] - ticks[0])


def named(label: str, scale: Scale) -> str:
    """An axis title, with the power of ten of its ticks where there is one."""
    return f"{label} ({scale.power})" if scale.power else label


def across(scale: Scale, label: str, panel: Box, width: float) -> list[Element]:
    """The horizontal axis below a panel: faint rules, ticks, and its title in the middle as far as the width allows (40
    units are needed below)."""
    elements: list[Element] = []
    for tick, text in zip(scale.ticks, scale.labels, strict=True):
        x = scale(tick)
        elements.append(Line(((x, panel.top), (x, panel.bottom)), RULE))
        elements.append(Text(x, panel.bottom + 16, text, TICK_SIZE, "middle", SOFT))
    elements.append(Line(((panel.left, panel.bottom), (panel.right, panel.bottom)), SOFT))
    title = Text.fitted(0, panel.bottom + 35, named(label, scale), width - 2 * MARGIN, anchor="middle", colour=INK)
    half = (title.box.right - title.box.left) / 2
    middle = min(max((panel.left + panel.right) / 2, MARGIN + half), width - MARGIN - half)
    elements.append(replace(title, x=middle))
    return elements


def upwards(scale: Scale, panel: Box) -> list[Element]:
    """The vertical axis left of a panel: faint rules and ticks. The caller writes its title above it."""
    elements: list[Element] = []
    for tick, text in zip(scale.ticks, scale.labels, strict=True):
        y = scale(tick)
        elements.append(Line(((panel.left, y), (panel.right, y)), RULE))
        elements.append(Text(panel.left - 8, y + 4, text, TICK_SIZE, "end", SOFT))
    return elements
