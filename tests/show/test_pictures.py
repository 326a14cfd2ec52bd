"""Pictures: well-formed, self-contained, nothing cut or written over, round ticks."""

import itertools
import math
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from prudent.errors import InputProblem
from prudent.show import (
    PAPER,
    SERIES,
    Box,
    Figures,
    Line,
    Picture,
    Scale,
    Series,
    Text,
    nice_ticks,
    one_line,
    scatter_lines,
    text_width,
    wrapped,
)
from prudent.show.pictures.axes import tick_labels
from prudent.show.pictures.prices import PriceRow, price_rows
from prudent.show.text import shortened

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'single' \x00\x1b ]]>"
SVG = "{http://www.w3.org/2000/svg}"


def rows(count: int, scale: float = 1.0, label: str = "dose") -> list[PriceRow]:
    return [
        PriceRow(
            f"{label} {at}",
            scale * -at,
            scale * (-at - 1),
            scale * (0.5 - at),
            scale * (-at - 2),
            guarantee=-1.5 * scale if at == 1 else None,
            chosen=at == 1,
            allowed=at != 2,
        )
        for at in range(count)
    ]


def decision(count: int, scale: float = 1.0, label: str = "dose", **more: Any) -> Picture:
    names: dict[str, Any] = {"title": "outcome by dose", "name": "dose", "axis": "outcome (higher is better)"}
    return price_rows(rows(count, scale, label), **(names | more))


def chart(*points: tuple, names: tuple[str, ...] = ("careful",), **more: Any) -> Picture:
    words: dict[str, Any] = {"x_label": "tail", "y_label": "mean reward", "title": "Frontier"}
    return scatter_lines([Series(name, list(points)) for name in names], **(words | more))


def spread(factor: float, offset: float = 0.0) -> list[tuple]:
    return [(offset + factor * x, offset + factor * math.sin(x), f"risk {x}") for x in range(12)]


PICTURES = {
    "two actions": decision(2),
    "one action": decision(1),
    "twelve actions": decision(12, note="8 more actions are not shown. " * 6),
    "long labels": decision(4, label="treat with the long-acting formulation twice a day and wait", floor=-2.5),
    "wide letters": decision(4, label="WWWW MMMM @@@@ 用量が多い患者にはこの薬を使わない" * 3),
    "huge": decision(5, 3e12, floor=-4e12),
    "tiny": decision(5, 2e-9),
    "long words": decision(3, title=HOSTILE * 4, axis="a" * 300, name=HOSTILE),
    "floor at the edge": decision(3, floor=40.0),
    "all equal": price_rows([PriceRow("only", 2.0, 2.0, 2.0, 2.0)], title="t", name="n", axis="a"),
    "no bound": price_rows([PriceRow("a", 1.0, 0.0, 2.0, -math.inf, math.nan)], title="t", name="n", axis="a"),
    "chart": chart(*spread(1.0), names=("one", "two", "three")),
    "many series": chart(*spread(1e-7), names=tuple(f"a series with a long name, number {at}" for at in range(16))),
    "far from zero": chart(*spread(1e-3, 1e6)),
    "one point": chart((0, 0, "alone")),
    "narrow": chart(*spread(1e7), width=320.0, height=300.0, names=("one", "two")),
    "hostile": chart(
        (0, 1, HOSTILE), (1, 2, HOSTILE), names=(HOSTILE,), x_label=HOSTILE, y_label=HOSTILE, title=HOSTILE
    ),
}


@pytest.fixture(params=PICTURES, ids=lambda name: name.replace(" ", "_"))
def picture(request: pytest.FixtureRequest) -> Picture:
    return PICTURES[request.param]


def test_pictures_are_well_formed_and_say_what_they_are(picture: Picture):
    root = ElementTree.fromstring(picture.svg())
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("viewBox") == f"0 0 {float(root.attrib['width']):g} {float(root.attrib['height']):g}"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == one_line(picture.title)
    assert picture._repr_svg_() == picture.svg()


def test_pictures_run_nothing_and_fetch_nothing(picture: Picture):
    svg = picture.svg()
    assert {element.tag for element in ElementTree.fromstring(svg).iter()} <= {
        SVG + tag
        for tag in ("svg", "title", "desc", "style", "g", "rect", "circle", "polygon", "polyline", "path", "text")
    }
    assert not re.search(r"url\(|@import|href|\son\w+=|nan|inf\b", svg.split("<style>")[1].split("<text")[0])
    assert svg.count("http") == svg.count('xmlns="http://www.w3.org/2000/svg"') == 1


def test_no_text_leaves_the_canvas_or_covers_another(picture: Picture):
    canvas = Box(0, 0, picture.width, picture.height)
    for text in picture.texts:
        assert canvas.holds(text.box), text
    for one, other in itertools.combinations(picture.texts, 2):
        assert not one.box.overlaps(other.box), (one.text, other.text)


def test_what_was_cut_can_still_be_read():
    long = decision(2, axis="x" * 300).svg()
    assert long.count(f"<title>{'x' * 300}</title>") == 1
    assert "…" in long.split("</desc>")[1]


@pytest.mark.parametrize("label", ["x" * 200, "treat with the long-acting formulation twice a day, then wait and see"])
def test_long_labels_are_wrapped_and_never_cut(label: str):
    picture = decision(3, label=label, name="what the ward did in the first hour after the patient had arrived")
    written = "".join(text.text for text in picture.texts).replace(" ", "")
    for at in range(3):
        assert f"{label} {at}".replace(" ", "") in written
    assert "whatthewarddidinthefirsthourafterthepatienthadarrived" in written
    assert "…" not in written


def test_single_outcomes_have_a_mark_of_their_own():
    def whiskers(picture: Picture) -> list[Line]:
        return [mark for mark in picture.elements if isinstance(mark, Line) and len(mark.points) == 6]

    assert not whiskers(decision(2))
    wide = price_rows([replace(row, outcome=(-9.0, 9.0)) for row in rows(2)], title="t", name="n", axis="a")
    assert len(whiskers(wide)) == 3  # two actions, and the legend
    assert "−9.000 to 9.000" in wide.description
    assert any("single outcomes" in text.text for text in wide.texts)


def test_dark_screens_change_every_colour_and_print_none():
    svg = decision(4, floor=-2.0).svg()
    style = svg.split("<style>")[1].split("</style>")[0]
    assert style.startswith("@media screen and (prefers-color-scheme:dark)")
    for name in set(re.findall('class="((?:fill|stroke)-[a-z]+)"', svg)):
        assert f".{name}{{" in style


def test_colours_stand_out_on_their_paper():
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    for colour in SERIES:
        assert contrast(colour.light, PAPER.light) > 3
        assert contrast(colour.dark, PAPER.dark) > 3


@pytest.mark.parametrize("low", [-6.3, 0.0, 1e-9, 999.0, 0.123])
@pytest.mark.parametrize("width", [3e-4, 0.07, 1.0, 9.99, 12.6, 4e11])
def test_ticks_are_round_inside_and_few(low: float, width: float):
    ticks = nice_ticks(low, low + width, 6)
    step = float(f"{ticks[1] - ticks[0]:.3g}")
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in ticks)
    assert round(step / 10 ** math.floor(math.log10(step * (1 + 1e-4))), 3) in (1, 2, 5)
    assert all(abs(tick / step - round(tick / step)) < 1e-3 for tick in ticks)


@pytest.mark.parametrize(
    "numbers", [[-6.3, 1.2], [0, 3e12], [1e-9, 4e-9], [1e6, 1e6 + 1e-3], [1e6, 1e6 + 1.5], [5.0], [0.0], [-1e5, 1e5]]
)
def test_tick_labels_say_the_ticks(numbers: list[float]):
    scale = Scale.around(numbers, 0, 500)
    exponent = "".join(str("⁻⁰¹²³⁴⁵⁶⁷⁸⁹".index(sign) - 1) if sign != "⁻" else "-" for sign in scale.power[3:])
    for tick, label in zip(scale.ticks, scale.labels, strict=True):
        assert float(label.replace("−", "-")) * 10.0 ** int(exponent or 0) == pytest.approx(tick, rel=1e-9, abs=1e-15)
    assert len(set(scale.labels)) == len(scale.labels)
    assert all(scale.start <= scale(number) <= scale.end for number in numbers)
    assert scale(scale.low) == scale.start
    assert scale(scale.high) == scale.end


def test_a_crowded_axis_has_fewer_ticks():
    assert len(Scale.around([1e6, 1e6 + 1.5], 0, 200).ticks) < len(Scale.around([0, 1], 0, 800).ticks)
    assert tick_labels([1e6, 2e6]) == (["1", "2"], "×10⁶")


def test_marks_lie_where_the_axis_says():
    picture = decision(3, floor=-2.0)
    ticks = {text.text: text.x for text in picture.texts if text.anchor == "middle"}
    floor = next(element for element in picture.elements if isinstance(element, Line) and element.dash)
    assert floor.points[0][0] == pytest.approx(ticks["−2"])
    assert ticks["−2"] < ticks["0"]


def test_a_chart_breaks_its_line_where_there_is_nothing():
    def lines(picture: Picture) -> int:
        return sum(
            isinstance(element, Line) and element.width == 2 and len(element.points) > 2 for element in picture.elements
        )

    whole = [(x, x * x) for x in range(7)]
    broken = [*whole[:3], (3, math.nan), *whole[4:]]
    assert lines(chart(*whole)) == 1
    assert lines(chart(*broken)) == 2
    assert lines(scatter_lines([Series("alone", whole, joined=False)], "x", "y", "t")) == 0
    with pytest.raises(InputProblem, match="at least one point"):
        chart((math.nan, 0.0))


def test_labels_of_crowded_points_give_way():
    crowd = chart(*[(0.0, 0.0, f"point {at}") for at in range(30)], (1.0, 1.0, "far"))
    written = [text.text for text in crowd.texts if text.text.startswith("point")]
    assert 1 <= len(written) < 30
    assert any(text.text == "far" for text in crowd.texts)


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ([-4.613, -0.5], ["−4.61", "−0.50"]),
        ([1e6, 1e6 + 2], ["1000000.000", "1000002.000"]),
        ([0.0, 0.0], ["0.00", "0.00"]),
        ([12345.0, 60.0], ["12345", "60"]),
        ([2e-7, 1e-7], ["200.0×10⁻⁹", "100.0×10⁻⁹"]),
        ([math.nan, math.inf], ["–", "∞"]),
    ],
)
def test_figures_keep_enough_digits_to_tell_numbers_apart(numbers: list[float], written: list[str]):
    figures = Figures.of(numbers)
    assert [figures(number) for number in numbers] == written


def test_text_is_cut_and_wrapped_to_its_room():
    assert shortened("short", 100, 12) == "short"
    cut = shortened("a long sentence that has no room", 60, 12)
    assert cut.startswith("a lon")
    assert cut.endswith("om")
    assert "…" in cut
    assert text_width(cut, 12) <= 60
    assert "".join(wrapped("x" * 50, 80, 12)) == "x" * 50
    lines = wrapped("a long sentence that has no room at all", 80, 12)
    assert " ".join(lines) == "a long sentence that has no room at all"
    assert all(text_width(line, 12) <= 80 for line in lines)
    assert Text(10, 20, "abc", anchor="end").box.right == 10
