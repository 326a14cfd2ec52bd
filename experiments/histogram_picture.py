"""Small histograms, one for each strategy of some models, from bold to careful."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from experiments.results import Results
from experiments.strategy_order import family
from prudent.show import (
    CHOSEN,
    INK,
    MARGIN,
    OTHERS,
    SOFT,
    Area,
    Box,
    Colour,
    Element,
    Line,
    Picture,
    Scale,
    Text,
    nice_ticks,
    text_width,
    upwards,
)

ACROSS, PANEL, GAP = 6, 130.0, 28.0


def colour_of(row: Results) -> Colour:
    return CHOSEN if row["group"] == "ours" else OTHERS


def described(row: Results, what: str) -> str:
    return f"{row['name']}: " + ", ".join(f"{100 * share:.3g} %" for share in row[what])


def bars(shares: Sequence[float], panel: Box, scale: Scale, colour: Colour, labels: Sequence[str]) -> list[Element]:
    """With a label below each bar, or below every second one where labels would touch."""
    step = (panel.right - panel.left) / len(shares)
    every = 1 if max(text_width(label, 9) for label in labels) < step else 2
    elements: list[Element] = []
    for at, (share, label) in enumerate(zip(shares, labels, strict=True)):
        x = panel.left + (at + 0.5) * step
        if share > 0:
            top = min(scale(share), panel.bottom - 0.6)
            elements.append(Area(Box(x - 0.38 * step, top, x + 0.38 * step, panel.bottom), colour))
        if at % every == 0:
            elements.append(Text(x, panel.bottom + 13, label, 9, "middle", SOFT))
    return elements


@dataclass(frozen=True)
class Histograms:
    """Shares under `key` of every row, in %; `labels` stand below the bars, and `reference` shares are dashed across.

    name: the title of a panel.
    """

    title: str
    note: str
    key: str
    labels: Sequence[str]
    reference: Sequence[float]
    name: Callable[[Results], str] = lambda row: row["strategy"]

    def picture(self, models: Mapping[str, Sequence[Results]]) -> Picture:
        top = max([0.2, *(share for rows in models.values() for row in rows for share in row[self.key])])
        width = 2 * MARGIN + ACROSS * PANEL + (ACROSS - 1) * GAP
        elements: list[Element] = [Text(MARGIN, MARGIN + 10, self.title, 16, bold=True)]
        elements.append(Text(MARGIN, MARGIN + 30, self.note, 11, colour=SOFT))
        y = MARGIN + 62
        for model, rows in models.items():
            elements.append(Text(MARGIN, y, model, 13, bold=True))
            for line in _lines(rows):
                for at, row in enumerate(line):
                    left = MARGIN + at * (PANEL + GAP)
                    elements += self._panel(row, Box(left + 20, y + 38, left + PANEL, y + 114), top)
                y += 146
            y += 22
        words = "; ".join(described(row, self.key) for rows in models.values() for row in rows)
        return Picture(width, y, tuple(elements), self.title, words)

    def _panel(self, row: Results, panel: Box, top: float) -> list[Element]:
        ticks = tuple(nice_ticks(0.0, top, 4))
        scale = Scale(0.0, top, panel.bottom, panel.top, ticks, tuple(f"{100 * tick:.0f}" for tick in ticks), "")
        return [
            Text.fitted(panel.left - 20, panel.top - 14, self.name(row), PANEL + GAP - 8, 11),
            *upwards(scale, panel),
            *bars(row[self.key], panel, scale, colour_of(row), self.labels),
            *self._references(panel, scale, top),
        ]

    def _references(self, panel: Box, scale: Scale, top: float) -> list[Element]:
        """One line where all shares are equal, otherwise a stroke across each bar."""
        if len(set(self.reference)) == 1:
            y = scale(self.reference[0])
            return [Line(((panel.left, y), (panel.right, y)), SOFT, 0.8, "3 3")]
        step = (panel.right - panel.left) / len(self.reference)
        places = [(panel.left + at * step, scale(min(share, top))) for at, share in enumerate(self.reference)]
        return [Line(((x + 0.1 * step, y), (x + 0.9 * step, y)), INK, 1.2) for x, y in places]


def _lines(rows: Sequence[Results]) -> list[list[Results]]:
    """Panels in lines; a family of strategies is not broken where it fits on one line."""
    lines: list[list[Results]] = [[]]
    for _, group in groupby(rows, key=lambda row: family(row["strategy"])):
        members = list(group)
        if lines[-1] and len(lines[-1]) + len(members) > ACROSS:
            lines.append([])
        for row in members:
            if len(lines[-1]) == ACROSS:
                lines.append([])
            lines[-1].append(row)
    return lines
