"""A small palette: distinct for colour-blind people, at least 3 to 1 against its paper, each with a dark variant."""

from typing import NamedTuple


class Colour(NamedTuple):
    """A role with its colours on light paper and on a dark screen."""

    name: str
    light: str
    dark: str


INK = Colour("ink", "#1f2a35", "#e4e9ee")
SOFT = Colour("soft", "#566370", "#a9b4be")
FADED = Colour("faded", "#8b96a1", "#77828d")
RULE = Colour("rule", "#dfe4e8", "#323b44")
PAPER = Colour("paper", "#ffffff", "#14181c")
WASH = Colour("wash", "#e2eefa", "#1b2936")
CHOSEN = Colour("chosen", "#0b5fa5", "#6cb4ee")
OTHERS = Colour("others", "#66788a", "#8fa0b0")
WARNING = Colour("warning", "#b8480a", "#f29a63")
GUARANTEE = Colour("guarantee", "#00785a", "#52cba6")

SERIES = (
    CHOSEN,
    WARNING,
    GUARANTEE,
    Colour("purple", "#9c4379", "#e39ac9"),
    Colour("ochre", "#866a00", "#d8bd58"),
    Colour("sky", "#2b86b8", "#92d4f5"),
    Colour("slate", "#55626f", "#b4bfc9"),
)
"""Colours of the lines of a chart, in order; their marks also differ in shape, so colour is never the only cue."""

PALETTE = frozenset((INK, SOFT, FADED, RULE, PAPER, WASH, OTHERS, *SERIES))
"""All of them."""
