"""Picture: a few marks on a canvas, written as one self-contained SVG that is readable on light and dark screens."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Literal

from prudent.show.pictures.palette import INK, PALETTE, PAPER, Colour
from prudent.show.text import one_line, shortened, text_width, xml_text

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
Shape = Literal["circle", "square", "diamond", "triangle", "bar", "cross"]
SHAPES: tuple[Shape, ...] = ("circle", "square", "diamond", "triangle", "cross", "bar")


@dataclass(frozen=True)
class Box:
    """Where something is, in picture units; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, other: Box) -> bool:
        inside = self.left <= other.left and other.right <= self.right
        return inside and self.top <= other.top and other.bottom <= self.bottom


@dataclass(frozen=True)
class Element(abc.ABC):
    """Something drawn, in one colour; the colour's name lets a dark screen exchange it."""

    @abc.abstractmethod
    def svg(self) -> str: ...


@dataclass(frozen=True)
class Line(Element):
    """A line through points, `dash` as SVG writes it."""

    points: tuple[tuple[float, float], ...]
    colour: Colour = INK
    width: float = 1.0
    dash: str = ""

    def svg(self) -> str:
        path = " ".join(f"{_number(x)},{_number(y)}" for x, y in self.points)
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return (
            f'<polyline points="{path}" fill="none" {_stroke(self.colour)} stroke-width="{_number(self.width)}" '
            f'stroke-linecap="round" stroke-linejoin="round"{dash}/>'
        )


@dataclass(frozen=True)
class Area(Element):
    """A filled rectangle."""

    box: Box
    colour: Colour
    rounded: float = 0.0
    opacity: float = 1.0

    def svg(self) -> str:
        box = self.box
        opacity = f' fill-opacity="{_number(self.opacity)}"' if self.opacity < 1 else ""
        return (
            f'<rect x="{_number(box.left)}" y="{_number(box.top)}" width="{_number(box.right - box.left)}" '
            f'height="{_number(box.bottom - box.top)}" rx="{_number(self.rounded)}" {_fill(self.colour)}{opacity}/>'
        )


@dataclass(frozen=True)
class Point(Element):
    """A mark of one of a few shapes; `tip` is shown when the pointer rests on it."""

    x: float
    y: float
    shape: Shape = "circle"
    size: float = 4.0
    colour: Colour = INK
    tip: str = ""

    def svg(self) -> str:
        tip = f"<title>{xml_text(self.tip)}</title>" if self.tip else ""
        return f"<g>{tip}{self._outline()}</g>"

    def _outline(self) -> str:
        x, y, size = self.x, self.y, self.size
        if self.shape == "circle":
            return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(size)}" {_fill(self.colour)} {_HALO}/>'
        if self.shape in ("bar", "cross"):
            d = size * 0.8
            bar, cross = f"M{_number(x)} {_number(y - size)}V{_number(y + size)}", ""
            if self.shape == "cross":
                bar = f"M{_number(x - d)} {_number(y - d)}L{_number(x + d)} {_number(y + d)}"
                cross = f"M{_number(x - d)} {_number(y + d)}L{_number(x + d)} {_number(y - d)}"
            return f'<path d="{bar}{cross}" fill="none" {_stroke(self.colour)} stroke-width="2.5" {_ROUND}/>'
        reach = size * {"square": 0.9, "diamond": 1.3, "triangle": 1.2}[self.shape]
        corners = {
            "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
            "diamond": [(0, -1), (1, 0), (0, 1), (-1, 0)],
            "triangle": [(0, -1), (1, 0.8), (-1, 0.8)],
        }[self.shape]
        points = " ".join(f"{_number(x + reach * across)},{_number(y + reach * down)}" for across, down in corners)
        return f'<polygon points="{points}" {_fill(self.colour)} {_HALO}/>'


@dataclass(frozen=True)
class Text(Element):
    """One line of text whose baseline is at y. `tip` is shown when the pointer rests on it."""

    x: float
    y: float
    text: str
    size: float = 12.0
    anchor: Literal["start", "middle", "end"] = "start"
    colour: Colour = INK
    bold: bool = False
    halo: bool = False
    tip: str = ""

    @classmethod
    def fitted(cls, x: float, y: float, text: object, room: float, size: float = 12.0, **how: object) -> Text:
        """Cut to the room there is; the full text is shown when the pointer rests on it."""
        whole = one_line(text)
        short = shortened(whole, room, size, bool(how.get("bold")))
        return cls(x, y, short, size, tip="" if short == whole else whole, **how)  # type: ignore[arg-type]

    @property
    def box(self) -> Box:
        width = text_width(self.text, self.size, self.bold)
        left = self.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * width
        return Box(left, self.y - 0.8 * self.size, left + width, self.y + 0.25 * self.size)

    def svg(self) -> str:
        anchor = "" if self.anchor == "start" else f' text-anchor="{self.anchor}"'
        bold = ' font-weight="bold"' if self.bold else ""
        halo = f'<g {_stroke(PAPER)} stroke-width="3" stroke-linejoin="round" paint-order="stroke">'
        tip = f"<title>{xml_text(self.tip)}</title>" if self.tip else ""
        text = (
            f'<text x="{_number(self.x)}" y="{_number(self.y)}" font-size="{_number(self.size)}"{anchor}{bold} '
            f"{_fill(self.colour)}>{tip}{xml_text(self.text)}</text>"
        )
        return f"{halo}{text}</g>" if self.halo else text


@dataclass(frozen=True)
class Picture:
    """A drawing that notebooks show and `svg()` writes. `title` and `description` are read out to people who
    cannot see it.

    >>> Picture(80, 20, (Text(4, 14, "a < b"),), "Two letters").svg().count("a &lt; b")
    1
    """

    width: float
    height: float
    elements: tuple[Element, ...]
    title: str
    description: str = ""

    def svg(self) -> str:
        """One self-contained SVG: no scripts, no fonts and nothing else from outside."""
        return self._svg('style="max-width:100%;height:auto" ', f"<style>{_dark(self._colours())}</style>\n")

    def bare_svg(self) -> str:
        """The same without styles of its own, for pages that have those of `picture_style` and allow no others."""
        return self._svg("", "")

    def _svg(self, style: str, style_sheet: str) -> str:
        body = "\n".join(element.svg() for element in self.elements)
        described = f"<desc>{xml_text(self.description)}</desc>" if self.description else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="prudent-picture" role="img" '
            f'aria-label="{xml_text(self.title)}" viewBox="0 0 {_number(self.width)} {_number(self.height)}" '
            f'width="{_number(self.width)}" height="{_number(self.height)}" '
            f'{style}font-family="{FONT}">\n'
            f"<title>{xml_text(self.title)}</title>{described}\n{style_sheet}"
            f"{Area(Box(0, 0, self.width, self.height), PAPER, rounded=6).svg()}\n{body}\n</svg>\n"
        )

    def __html__(self) -> str:
        """For pages: htpy puts it in as it is."""
        return self.svg()

    def _repr_svg_(self) -> str:
        return self.svg()

    @property
    def texts(self) -> tuple[Text, ...]:
        return tuple(element for element in self.elements if isinstance(element, Text))

    def _colours(self) -> list[Colour]:
        return sorted({PAPER} | {getattr(element, "colour", INK) for element in self.elements})


def picture_style() -> str:
    """The style sheet of all bare pictures on a page."""
    return f".prudent-picture{{max-width:100%;height:auto}}{_dark(sorted(PALETTE))}"


_ROUND = 'stroke-linecap="round"'


def _fill(colour: Colour) -> str:
    return f'class="fill-{colour.name}" fill="{colour.light}"'


def _stroke(colour: Colour) -> str:
    return f'class="stroke-{colour.name}" stroke="{colour.light}"'


_HALO = f'stroke="{PAPER.light}" stroke-width="1"'


def _dark(colours: list[Colour]) -> str:
    """Light colours are attributes of the marks, for programs that ignore style sheets; print stays light."""
    rules = "".join(
        f".prudent-picture .fill-{name}{{fill:{dark}}}.prudent-picture .stroke-{name}{{stroke:{dark}}}"
        for name, _, dark in colours
    )
    halo = f".prudent-picture circle,.prudent-picture polygon{{stroke:{PAPER.dark}}}"
    return f"@media screen and (prefers-color-scheme:dark){{{rules}{halo}}}"


def _number(value: float) -> str:
    digits = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits
