"""Test images as decisions: what is stored of each, its description in words, and the chart of its prices."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from experiments.strategy_order import representatives
from prudent.show import (
    FADED,
    INK,
    OTHERS,
    RULE,
    SERIES,
    SHAPES,
    SOFT,
    WASH,
    Area,
    Box,
    Colour,
    Element,
    Line,
    Point,
    Scale,
    Shape,
    Text,
    nice_ticks,
)

TITLE = "Half the image is gone: what would you answer?"
SHOWN, MOST = 6, 6
"""Completions that are drawn of each image, the most plausible ones; and the largest number of strategies shown."""
MEANT = {
    "Imputation": "takes the most likely image for the truth",
    "MaximumExpectedReward": "the best answer on average over all that it may be",
    "TailAverse": "the best answer on average over the worst that it may be",
    "Conservative": "the best answer in the worst case that is still plausible",
    "MostOftenBest": "the answer that is best most often",
}
NARRATIVE = (
    "A model sees only {seen} of the pixels of a handwritten digit and must answer with one of ten actions, 0 to 9. A "
    "right answer earns 0 points; any other loses as many points as it is off. The model was never given a digit: it "
    "learnt from earlier answers to such images and the points that they earned. Where an image may be one of two "
    "digits, a careful strategy answers between them: less often right, seldom far off."
)


@dataclass(frozen=True)
class Case:
    """One test image; the truth is for the reader alone."""

    label: int
    pixels: UInt8[np.ndarray, " pixel"]
    observed: Bool[np.ndarray, " pixel"]
    completions: UInt8[np.ndarray, "completion pixel"]
    completion_share: Float[np.ndarray, " completion"]
    completion_action: Int[np.ndarray, " completion"]
    chance: Float[np.ndarray, " action"]
    expected: Float[np.ndarray, " action"]
    worst: Float[np.ndarray, " action"]
    tail: Float[np.ndarray, " action"]
    choice: Int[np.ndarray, " strategy"]

    @property
    def rewards(self) -> list[int]:
        """What the choice of each strategy earned, noise left out."""
        return [-abs(self.label - int(action)) for action in self.choice]


@dataclass(frozen=True)
class Showcase:
    """The cases, and the names of the strategies that chose."""

    cases: tuple[Case, ...]
    strategies: tuple[str, ...]

    @classmethod
    def read(cls, archive: Path) -> "Showcase":
        names = [name for name in Case.__dataclass_fields__ if name != "label"]
        with np.load(archive, allow_pickle=False) as stored:
            columns = {name: stored[name] for name in names}
            labels, strategies = stored["label"], tuple(str(name) for name in stored["strategies"])
        cases = [Case(int(label), **{name: columns[name][at] for name in names}) for at, label in enumerate(labels)]
        return cls(tuple(cases), strategies)

    def few(self) -> "Showcase":
        """With no more strategies than a reader can follow: where there are more, representative ones."""
        if len(self.strategies) <= MOST:
            return self
        kept = representatives(self.strategies)[:MOST]
        cases = [replace(case, choice=case.choice[kept]) for case in self.cases]
        return Showcase(tuple(cases), tuple(self.strategies[at] for at in kept))

    @property
    def narrative(self) -> str:
        seen = float(np.mean([case.observed for case in self.cases]))
        return NARRATIVE.format(seen="half" if abs(seen - 0.5) < 0.005 else percent(seen))

    def tally(self, at: int) -> str:
        """What one strategy earned in all cases together."""
        earned = [case.rewards[at] for case in self.cases]
        return f"these {len(earned)}: {signed(sum(earned))} in all, worst {signed(min(earned))}"

    @property
    def price_range(self) -> tuple[float, float]:
        """From the lowest to the highest price of any case, so that all charts have one scale."""
        prices = np.array([(case.expected, case.worst, case.tail) for case in self.cases])
        return min(float(prices.min()), -1.0), max(float(prices.max()), 0.0)


def percent(share: float) -> str:
    """
    >>> percent(0.384), percent(0.002), percent(0.0)
    ('38 %', '<1 %', '0 %')
    """
    return "<1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def signed(number: float) -> str:
    return f"{number:g}".replace("-", "−")


def style(at: int) -> tuple[Colour, Shape]:
    """Colour and mark of a strategy, the same everywhere."""
    return SERIES[at % len(SERIES)], SHAPES[at % len(SHAPES)]


def meaning(strategy: str) -> str:
    """What a strategy does, in a few plain words, where it is one of the known ones."""
    return MEANT.get(strategy.split("(")[0], "")


def it_was(label: int) -> str:
    return f"It was an {label}." if label == 8 else f"It was a {label}."


def verdict(reward: int) -> str:
    return "right" if reward == 0 else f"off by {-reward}"


# --- the chart of one case: chances rise from the row of answers, prices hang from it ---

GUTTER, ANSWERS, CHANCE, DIGITS, PRICES, CHOICES = 24.0, 240.0, 30.0, 17.0, 66.0, 19.0
CHART_WIDTH, CHART_HEIGHT = GUTTER + ANSWERS, CHANCE + DIGITS + PRICES + CHOICES


def chart(case: Case, price_range: tuple[float, float], left: float = 0.0, top: float = 0.0) -> list[Element]:
    step = ANSWERS / len(case.chance)
    low, high = price_range
    hang = top + CHANCE + DIGITS
    scale = Scale(low, high, hang + PRICES - 2, hang + 3, tuple(nice_ticks(low, high, 6)), (), "")
    start = left + GUTTER
    truth = start + case.label * step
    elements: list[Element] = [Area(Box(truth, top, truth + step, top + CHART_HEIGHT), WASH, rounded=4)]
    for tick in scale.ticks:
        y = scale(tick)
        elements += [
            Line(((start, y), (start + ANSWERS, y)), RULE),
            Text(start - 5, y + 3, signed(tick), 9, "end", SOFT),
        ]
    elements.append(Line(((start, top + CHANCE), (start + ANSWERS, top + CHANCE)), FADED, 0.7))
    for action in range(len(case.chance)):
        middle = start + (action + 0.5) * step
        elements += _chance(float(case.chance[action]), middle, step, top + CHANCE)
        bold = action == case.label
        elements.append(Text(middle, hang - 4, str(action), 12, "middle", INK if bold else SOFT, bold))
        elements += _price(case, action, middle, scale)
        elements += _chosen(case, action, middle, hang + PRICES)
    return elements


def _chance(chance: float, x: float, step: float, foot: float) -> list[Element]:
    height = (CHANCE - 11) * chance
    if height < 0.3:
        return []
    bar = Area(Box(x - 0.3 * step, foot - height, x + 0.3 * step, foot), OTHERS)
    return [bar, Text(x, foot - height - 3, f"{100 * chance:.0f}", 9, "middle", SOFT)] if chance >= 0.02 else [bar]


def _price(case: Case, action: int, x: float, scale: Scale) -> list[Element]:
    """From the expected reward down to the worst plausible one, with the mean of the worst cases on the way."""
    expected, worst, tail = (float(prices[action]) for prices in (case.expected, case.worst, case.tail))
    ends = Box(x - 2.5, scale(max(expected, worst)), x + 2.5, scale(min(worst, tail, expected)))
    tip = f"answer {action}: expected {expected:.1f}, worst plausible {worst:.1f}, mean of the worst {tail:.1f}"
    return [
        Area(ends, OTHERS, rounded=2.5, opacity=0.35),
        Line(((x - 5, scale(worst)), (x + 5, scale(worst))), OTHERS, 1.8),
        Point(x, scale(tail), "diamond", 2.6, OTHERS),
        Point(x, scale(expected), "circle", 3.6, INK, tip.replace("-", "−")),
    ]


def _chosen(case: Case, action: int, x: float, top: float) -> list[Element]:
    """The marks of the strategies that chose an answer, at most three to a line."""
    choosers = [at for at, choice in enumerate(case.choice) if int(choice) == action]
    each = math.ceil(len(choosers) / math.ceil(len(choosers) / 3)) if choosers else 1
    lines = [choosers[at : at + each] for at in range(0, len(choosers), each)]
    gap = CHOICES / (len(lines) + 1) if lines else 0.0
    return [
        Point(x + 8 * (at - (len(line) - 1) / 2), top + 1 + gap * (down + 1), style(index)[1], 3.0, style(index)[0])
        for down, line in enumerate(lines)
        for at, index in enumerate(line)
    ]


def in_words(case: Case, strategies: Sequence[str]) -> str:
    """A case in words, for people who cannot see the picture."""
    likely = ", ".join(
        f"{at}: {percent(chance)}" for at, chance in enumerate(map(float, case.chance)) if chance >= 0.005
    )
    chosen = ", ".join(
        f"{name} answers {int(action)} and earns {signed(reward)}"
        for name, action, reward in zip(strategies, case.choice, case.rewards, strict=True)
    )
    return f"{it_was(case.label)} Chance that each answer is best: {likely}. {chosen}."
