"""Ten test images on one sheet: what was seen, what it may have been, what each answer may bring, and the choices."""

from collections.abc import Sequence

from experiments.mnist.cases import (
    CHART_HEIGHT,
    CHART_WIDTH,
    GUTTER,
    SHOWN,
    TITLE,
    Case,
    Showcase,
    chart,
    in_words,
    it_was,
    meaning,
    percent,
    signed,
    style,
    verdict,
)
from experiments.mnist.choices import CAREFUL
from experiments.mnist.images import DarkImages, Frame, Image, image_uri
from prudent.show import INK, MARGIN, OTHERS, RULE, SOFT, Element, Line, Picture, Point, Text, text_width, wrapped

WIDTH, SEEN, GUESS, GUESS_GAP, TRUTH, LINE = 920.0, 112.0, 50.0, 9.0, 42.0, 16.0
GUESSES_AT = MARGIN + SEEN + 26
CHART_AT = GUESSES_AT + 3 * GUESS + 2 * GUESS_GAP + 18
CHOICES_AT = CHART_AT + CHART_WIDTH + 26
ANSWER_END, REWARD_END = WIDTH - MARGIN - 88, WIDTH - MARGIN - 50
ROOM = WIDTH - 2 * MARGIN


def sheet(showcase: Showcase) -> Picture:
    """One row for each case, under a head that says how to read it."""
    elements: list[Element] = [DarkImages(), Text(MARGIN, 38, TITLE, 20, bold=True)]
    y = 62.0
    for line in wrapped(showcase.narrative, ROOM, 13):
        elements.append(Text(MARGIN, y, line, 13, colour=SOFT))
        y += 18
    legend, y = _legend(showcase, y + 10)
    elements += legend + _heads(y + 14)
    y += 56
    height = max(CHART_HEIGHT, TRUTH + 8 + LINE * len(showcase.strategies)) + 20
    for case in showcase.cases:
        elements.append(Line(((MARGIN, y), (WIDTH - MARGIN, y)), RULE))
        elements += _row(case, showcase, y + 11)
        y += height
    described = " ".join(in_words(case, showcase.strategies) for case in showcase.cases)
    return Picture(WIDTH, y + 6, tuple(elements), TITLE, described)


def _legend(showcase: Showcase, y: float) -> tuple[list[Element], float]:
    """The strategies, each with its mark, what it does, and what it earned in all; then the marks of the charts."""
    elements: list[Element] = []
    names = min(max(text_width(name, 12, bold=True) for name in showcase.strategies), 240.0)
    for at, name in enumerate(showcase.strategies):
        colour, shape = style(at)
        elements += [
            Point(MARGIN + 5, y - 4, shape, 4.5, colour),
            Text.fitted(MARGIN + 17, y, name, names, bold=True),
            Text(MARGIN + 17 + names + 12, y, meaning(name), colour=SOFT),
            Text(WIDTH - MARGIN, y, showcase.tally(at), 11, "end", SOFT),
        ]
        y += 18
    return elements, y


def _heads(y: float) -> list[Element]:
    """Two lines above each column: its name, and how to read it."""
    bring = CHART_AT + GUTTER
    columns = (
        (MARGIN, "Seen", "blue pixels are gone"),
        (GUESSES_AT, "It may have been …", "chance → best answer"),
        (bring, "What each answer may bring", "up: chance (%) to be best; down: reward"),
        (CHOICES_AT, "What was answered", "blue in the chart: what it was"),
    )
    elements: list[Element] = []
    for x, name, how in columns:
        elements += [Text(x, y, name, 12, bold=True), Text(x, y + 16, how, 11, colour=SOFT)]
    marks: tuple[tuple[Element, str], ...] = (
        (Point(bring + 5, y + 28, "circle", 3.6, INK), "expected"),
        (Point(bring + 72, y + 28, "diamond", 2.6, OTHERS), f"worst {percent(CAREFUL)}"),
        (Line(((bring + 139, y + 28), (bring + 149, y + 28)), OTHERS, 1.8), "worst plausible"),
    )
    for at, (mark, word) in enumerate(marks):
        elements += [mark, Text(bring + 13 + (0, 66, 140)[at], y + 32, word, 11, colour=SOFT)]
    ends = ((ANSWER_END, "answer"), (REWARD_END, "reward"))
    return elements + [Text(x, y + 32, word, 10, "end", SOFT) for x, word in ends]


def _row(case: Case, showcase: Showcase, top: float) -> list[Element]:
    seen = image_uri(case.pixels, case.observed)
    elements: list[Element] = [Image(MARGIN, top, SEEN, seen, "what was seen", crisp=True), Frame(MARGIN, top, SEEN)]
    for at in range(min(SHOWN, len(case.completions))):
        x = GUESSES_AT + (GUESS + GUESS_GAP) * (at % 3)
        elements += _guess(case, at, x, top + 66 * (at // 3))
    elements += chart(case, showcase.price_range, CHART_AT, top)
    return elements + _answers(case, showcase.strategies, top)


def _guess(case: Case, at: int, x: float, top: float) -> list[Element]:
    share, action = percent(float(case.completion_share[at])), int(case.completion_action[at])
    tip = f"stands for {share} of the plausible images; best answer {action}"
    caption = Text(x + GUESS / 2, top + GUESS + 11, f"{share} → {action}", 10, "middle", SOFT)
    return [Image(x, top, GUESS, image_uri(case.completions[at]), tip), Frame(x, top, GUESS), caption]


def _answers(case: Case, strategies: Sequence[str], top: float) -> list[Element]:
    whole = image_uri(case.pixels)
    elements: list[Element] = [
        Image(CHOICES_AT, top, TRUTH, whole, "the whole image"),
        Frame(CHOICES_AT, top, TRUTH),
        Text(CHOICES_AT + TRUTH + 10, top + 26, it_was(case.label), 14, bold=True),
    ]
    for at, (name, action, reward) in enumerate(zip(strategies, case.choice, case.rewards, strict=True)):
        y = top + TRUTH + 20 + LINE * at
        colour, shape = style(at)
        bad = reward < -2
        elements += [
            Point(CHOICES_AT + 5, y - 4, shape, 4.0, colour),
            Text.fitted(CHOICES_AT + 15, y, name, ANSWER_END - CHOICES_AT - 28, 11),
            Text(ANSWER_END, y, str(int(action)), 12, "end", INK, True),
            Text(REWARD_END, y, signed(reward), 11, "end", INK, bad),
            Text(WIDTH - MARGIN, y, verdict(reward), 11, "end", INK if bad else SOFT, bad),
        ]
    return elements
