"""`prudent demo` at toy size: every file it names, a page that stands alone and says what was printed, the truth and
what the log had said."""

import contextlib
import io
import itertools
import re
import shutil
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from prudent.command_line import main
from prudent.command_line.demo import telling
from prudent.command_line.demo.meals import Measured, ShownMeal, Worth, explained_row
from prudent.command_line.demo.pictures import frontier_picture
from prudent.command_line.demo.telling import Demonstration
from prudent.command_line.demo.ways import (
    CAREFUL,
    CLINIC,
    MEANINGS,
    ORACLE,
    RULE,
    STRATEGIES,
    Outcome,
    Preferred,
    usual_rule,
)
from prudent.evaluation import Estimate
from prudent.models import load
from prudent.show import Box, Picture
from prudent.table import read_log
from prudent.worlds import InsulinWorld
from prudent.worlds.insulin import world as simulated
from prudent.worlds.insulin.pictures import Course, courses_of, glucose_picture

FILES = ("log.csv", "later.csv", "new_cases.csv", "advice.csv", "page.html")


@dataclass(frozen=True)
class Tour:
    """One run of the command: where it ran, and what it said."""

    folder: Path
    out: str
    error: str

    @property
    def page(self) -> str:
        return (self.folder / "page.html").read_text()

    def line(self, way: str) -> list[str]:
        """The figures that were printed of a way to dose."""
        own = next(line for line in self.out.splitlines() if re.match(rf"{re.escape(way)} {{3,}}", line))
        return re.split(r" {2,}", own.strip())[1:]


@pytest.fixture(scope="module")
def tours(tmp_path_factory: pytest.TempPathFactory) -> list[Tour]:
    """The same command twice, in two places; the second renews an earlier demonstration, whose files were changed."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "TAUGHT", 400)  # simulating is slow where nothing is optimised
        patch.setenv("COLUMNS", "80")
        for name in ("one", "other"):
            place = tmp_path_factory.mktemp(name)
            patch.chdir(place)
            if found:
                shutil.copytree(found[0].folder, "tour")
                for own in FILES:
                    with Path("tour", own).open("a") as file:
                        file.write("changed")
            out, error = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                assert main(["demo", "--quick", "--out", "tour"]) == 0
            found.append(Tour(place / "tour", out.getvalue(), error.getvalue()))
    return found


@pytest.fixture(scope="module")
def tour(tours: list[Tour]) -> Tour:
    return tours[0]


# --- the command ---


def test_it_writes_every_file_that_it_names(tour: Tour):
    named = re.search(r"In tour: (.*?)\. Ask", tour.out)
    assert named is not None
    names = {part.split()[0] for part in named[1].split(", ")}
    assert names == {*FILES, "model"} == {path.name for path in tour.folder.iterdir()}
    log, later, cases, advice = (pl.read_csv(tour.folder / name) for name in FILES[:4])
    assert later.equals(log.tail(len(later)))
    assert len(later) == len(log) // 5
    assert len(advice) == len(cases) == 100
    assert advice.columns[:2] == ["meal", "action"]
    assert load(tour.folder / "model").report.rows == len(log) - len(later)


def test_it_is_quiet_elsewhere_and_ends_with_the_page(tour: Tour):
    assert tour.error == ""
    assert tour.out.splitlines()[-1] == "The page with pictures: tour/page.html"
    assert "prudent fit YOURS.csv" in tour.out
    assert "virtual patients" in tour.out
    rows = tour.out[tour.out.index("way to dose") : tour.out.index("reward: of the mean")].splitlines()
    assert max(map(len, rows)) <= 80


def test_the_same_seed_gives_the_same_files(tours: list[Tour]):
    one, other = tours
    assert one.out == other.out
    for name in FILES:
        assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes()


def test_an_earlier_demonstration_is_renewed(tours: list[Tour]):
    folder = tours[1].folder
    assert not [name for name in FILES if (folder / name).read_text().endswith("changed")]


def test_the_truth_and_the_log_are_told_as_they_are(tour: Tour):
    later = pl.read_csv(tour.folder / "later.csv")["outcome"]
    low, high = map(float, tour.line(CLINIC)[4].split(" to "))
    assert (low + high) / 2 == pytest.approx(later.mean(), abs=0.011)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "TAUGHT", 400)
        fresh = InsulinWorld(seed=0).sample(100, seed=2)
    best = fresh.theta.argmax(axis=1)
    shares = [(fresh.of(fresh.lowest, best) < level).mean() for level in (70, 54)]
    assert tour.line(ORACLE) == [f"{fresh.theta.max(axis=1).mean():.2f}", "0.0%", *(f"{own:.1%}" for own in shares)]
    advised = fresh.world.index(pl.read_csv(tour.folder / "advice.csv")["action"])
    assert tour.line(CAREFUL)[:2] == [
        f"{fresh.world.value(advised, fresh):.2f}",
        f"{(fresh.of(fresh.theta, advised) < -2).mean():.1%}",
    ]


# --- the page ---


class Reader(HTMLParser):
    """Elements that were opened and closed, what they refer to, and the cells of the first table."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.tags, self.refers = [], [], []
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.refers += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action", "data")]
        if tag not in ("meta", "circle", "rect", "path", "polygon", "polyline"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("circle", "rect", "path", "polygon", "polyline"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.rows and {"td", "th"} & set(self.open) and "svg" not in self.open:
            self.rows[-1][-1] += f"{data.strip()} "


def test_the_page_stands_alone_with_its_pictures(tour: Tour):
    page = tour.page
    read = Reader(page)
    assert read.open == []
    assert read.refers == []
    assert not {"script", "link", "img", "iframe", "base"} & set(read.tags)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", page)
    assert page.count("viewport") == 1
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert page.count('<section class="meal">') == page.count("glucose, mg/dl") == 4
    assert page.count("Mean reward against bad outcomes") >= 1
    assert "not recorded" in page
    assert "Recommended: " in page


def test_the_page_says_what_was_printed(tour: Tour):
    rows = Reader(tour.page).rows[1:10]
    ways = [next(name for name in MEANINGS if row[0].strip().startswith(f"{name} ")) for row in rows]
    assert ways == list(MEANINGS)
    for way, row in zip(ways, rows, strict=True):
        printed = tour.line(way)
        told = [cell.strip().split(" log: ") for cell in row[1:]]
        assert [cell[0] for cell in told] == printed[:4]
        assert [cell[1] for cell in told if len(cell) > 1] == printed[4:]
    text = re.sub(r"\s+", " ", tour.page)
    for sentence in tour.out.splitlines():
        if (
            sentence.startswith(("Then it advised", "For ", "A clinic has", "Often", "In "))
            and "In tour" not in sentence
        ):
            assert sentence.replace("'", "&#x27;") in text


# --- its parts ---


def outcome(name: str, mean: float, bad: float, said: tuple[float, float] | None = None) -> Outcome:
    if said is None:
        return Outcome(name, mean, 0.01, bad, 0.2, 0.1)
    low, high = said
    return Outcome(
        name, mean, 0.01, bad, 0.2, 0.1, Estimate((low + high) / 2, 0.1, low, high), Estimate(bad, 0.01, 0.0, 0.1)
    )


def course(units: float, who: str) -> Course:
    return courses_of({who: 0}, [units], np.array([0.5]), 150 - np.arange(241)[None] / 4)[0]


@pytest.fixture
def told() -> Demonstration:
    """Made-up results: the log prefers what the truth prefers, and errs about one of four."""
    outcomes = (
        outcome("expected", 0.6, 0.05, (0.5, 0.7)),
        outcome(CAREFUL, 0.5, 0.02, (0.4, 0.6)),
        outcome(RULE, 0.3, 0.08, (0.0, 0.2)),
        outcome(CLINIC, -0.2, 0.2, (-0.3, 0.0)),
        outcome(ORACLE, 0.9, 0.0),
    )
    meal = ShownMeal(0, "where caution gains most", (("age", "9 years"),), (course(2.0, "expected"),))
    found = Measured(6, 5, (Worth("carb_ratio", 4, 3, 0.1),), (0.1, 0.3), (0.4, 0.1), (0.2, 0.2))
    liked = Preferred("expected", Estimate(0.3, 0.1, 0.1, 0.5), 0.3, 0.0)
    return Demonstration(80, 20, 50, 10, 9, 0.3, 4.5, outcomes, liked, (meal,), cast(Any, None), found)


def test_the_headline_claims_only_what_is_so(told: Demonstration):
    assert telling.headline(told).endswith("2.0% bad outcomes, where the usual rule has 8.0%")
    worse = (outcome(CAREFUL, 0.5, 0.09), *told.outcomes[2:])
    assert telling.headline(replace(told, outcomes=worse)) == "Insulin doses from records with gaps"


def test_it_says_whether_the_log_could_tell(told: Demonstration):
    assert telling.what_the_log_said(told)[1] == (
        "For 3 of 4 ways the true mean is within what the log had said. The log alone prefers 'expected', above the "
        "usual bolus rule by 0.10 to 0.50 in mean reward; in truth it is 0.30 above, and no strategy has more."
    )
    unsure = replace(told, preferred=Preferred(CAREFUL, Estimate(0.1, 0.1, -0.1, 0.3), 0.2, 0.1))
    assert telling.what_the_log_said(unsure)[1].endswith(
        "prefers 'tail', not told apart from the usual bolus rule: -0.10 to 0.30 in mean reward; in truth it is 0.20 "
        "above, and the best strategy has 0.10 more."
    )
    worse = replace(told, preferred=Preferred(CAREFUL, Estimate(-0.3, 0.1, -0.5, -0.1), -0.2, 0.1))
    assert telling.what_the_log_said(worse)[1].endswith(
        "prefers 'tail', below the usual bolus rule by 0.10 to 0.50 in mean reward; in truth it is 0.20 below, and the "
        "best strategy has 0.10 more."
    )


def test_what_filling_a_gap_brought_is_told(told: Demonstration):
    words = telling.what_to_measure(told)
    assert words[0].endswith("where it is missing: carb ratio.")
    assert "mean reward of 0.40 instead of 0.10, and 10.0% bad outcomes instead of 30.0%" in words[1]
    assert words[1].endswith("instead: 0.20 and 20.0%.")
    nothing = replace(told, measured=Measured(6, 0, (), (np.nan, np.nan), (np.nan, np.nan), (np.nan, np.nan)))
    assert len(telling.what_to_measure(nothing)) == 1


def test_the_usual_rule_reads_gaps_as_averages(tour: Tour):
    world = InsulinWorld()
    past = read_log(tour.folder / "log.csv", action="dose", reward="outcome", kinds=world.kinds)
    means = past.cases().mean()
    filled = means.with_columns(carbs=pl.lit(60.0), insulin_on_board=pl.lit(0.0))
    empty = filled.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in ("glucose", "carb_ratio"))
    rule = usual_rule(world, past)
    assert rule(filled) == rule(empty)
    assert rule(filled.with_columns(carbs=pl.lit(150.0)))[0] > rule(filled)[0]


def test_the_meal_that_is_explained_has_a_gap():
    observed = np.array([[True, True], [False, True], [True, True]])
    meals = tuple(ShownMeal(row, "", (), ()) for row in range(3))
    assert explained_row(meals, observed) == 1
    assert explained_row(meals[::2], observed) == 2


def words_stay_apart(picture: Picture) -> None:
    canvas = Box(0, 0, picture.width, picture.height)
    boxes = [(text.text, text.box) for text in picture.texts]
    for word, box in boxes:
        assert canvas.holds(box), word
    for (one, box), (other, beside) in itertools.combinations(boxes, 2):
        assert not box.overlaps(beside), (one, other)


def test_pictures_keep_their_words_apart(told: Demonstration):
    frontier = frontier_picture(told.outcomes)
    words_stay_apart(frontier)
    assert {"expected", CAREFUL, RULE} <= {text.text for text in frontier.texts}
    assert sum("the log had said" in element.svg() for element in frontier.elements) >= 3
    alone = glucose_picture([course(2.0, "expected"), course(9.0, RULE)], "One meal")
    words_stay_apart(alone)
    assert "9 units (usual bolus rule" in alone.description


def test_every_way_has_a_meaning():
    assert set(STRATEGIES) < set(MEANINGS)
