"""`prudent demo` at toy size: every file it names, a page that stands alone and shows what was printed, the truth and
what was estimated from the log."""

import contextlib
import io
import itertools
import re
import shutil
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from prudent.command_line import main
from prudent.command_line.demo.doses import CAREFUL, CLINIC, MEANINGS, ORACLE, RULE, STRATEGIES, Outcome, usual_rule
from prudent.command_line.demo.meals import Filling, ShownMeal, explained_row
from prudent.command_line.demo.page import frontier_picture
from prudent.command_line.demo.results import Results, headline, what_the_log_estimated, what_to_measure
from prudent.evaluation import Estimate
from prudent.models import load
from prudent.show import Box, Picture
from prudent.table import read_log
from prudent.worlds import InsulinWorld
from prudent.worlds.insulin import Course, courses_of, glucose_picture
from prudent.worlds.insulin import world as simulated

FILES = ("log.csv", "later.csv", "new_cases.csv", "advice.csv", "page.html")


@dataclass(frozen=True)
class Tour:
    """One run of the command: where it ran, and what it printed."""

    folder: Path
    out: str
    error: str

    @property
    def page(self) -> str:
        return (self.folder / "page.html").read_text()

    def figures(self, way: str) -> list[str]:
        """The figures that were printed for a way to dose."""
        row = next(line for line in self.out.splitlines() if re.match(rf"{re.escape(way)} {{3,}}", line))
        return re.split(r" {2,}", row.strip())[1:]


@pytest.fixture(scope="module")
def tours(tmp_path_factory: pytest.TempPathFactory) -> list[Tour]:
    """The same command in two places; the second overwrites an earlier demonstration, whose files were changed."""
    tours = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "TAUGHT", 400)  # simulating is slow where nothing is optimised
        patch.setenv("COLUMNS", "80")
        for name in ("one", "other"):
            place = tmp_path_factory.mktemp(name)
            patch.chdir(place)
            if tours:
                shutil.copytree(tours[0].folder, "tour")
                for file_name in FILES:
                    with Path("tour", file_name).open("a") as file:
                        file.write("changed")
            out, error = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                assert main(["demo", "--quick", "--out", "tour"]) == 0
            tours.append(Tour(place / "tour", out.getvalue(), error.getvalue()))
    return tours


@pytest.fixture(scope="module")
def tour(tours: list[Tour]) -> Tour:
    return tours[0]


# --- the command ---


def test_it_writes_every_file_that_it_names(tour: Tour):
    named = re.search(r"In tour: (.*?)\. ", tour.out)
    assert named is not None
    names = {part.split()[0] for part in named[1].split(", ")}
    assert names == {*FILES, "model"} == {path.name for path in tour.folder.iterdir()}
    log, later, cases, advice = (pl.read_csv(tour.folder / name) for name in FILES[:4])
    assert later.equals(log.tail(len(later)))
    assert len(later) == len(log) // 5
    assert len(advice) == len(cases) == 100
    assert advice.columns[:2] == ["meal", "action"]
    assert load(tour.folder / "model").report.rows == len(log) - len(later)


def test_it_is_quiet_elsewhere_fits_the_screen_and_ends_with_the_page(tour: Tour):
    assert tour.error == ""
    assert tour.out.splitlines()[-1].endswith("tour/page.html")
    assert "prudent fit YOURS.csv" in tour.out
    rows = tour.out[tour.out.index("way to dose") : tour.out.index("mean reward: ")].splitlines()
    assert len(rows) == len(MEANINGS) + 2
    assert max(map(len, rows)) <= 80


def test_the_same_seed_gives_the_same_files_also_over_an_earlier_demonstration(tours: list[Tour]):
    one, other = tours
    assert one.out == other.out
    for name in FILES:
        assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes()


def test_the_truth_and_the_estimates_are_shown_as_they_are(tour: Tour):
    later = pl.read_csv(tour.folder / "later.csv")["outcome"]
    low, high = map(float, tour.figures(CLINIC)[4].split(" to "))
    assert (low + high) / 2 == pytest.approx(later.mean(), abs=0.011)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "TAUGHT", 400)
        fresh = InsulinWorld(seed=0).sample(100, seed=2)
    best = fresh.theta.argmax(axis=1)
    shares = [(fresh.of(fresh.lowest, best) < level).mean() for level in (70, 54)]
    assert tour.figures(ORACLE) == [
        f"{fresh.theta.max(axis=1).mean():.2f}",
        "0.0%",
        *(f"{share:.1%}" for share in shares),
    ]
    advised = fresh.world.index(pl.read_csv(tour.folder / "advice.csv")["action"])
    assert tour.figures(CAREFUL)[:2] == [
        f"{fresh.world.value(advised, fresh):.2f}",
        f"{(fresh.of(fresh.theta, advised) < -2).mean():.1%}",
    ]


# --- the page ---


class Reader(HTMLParser):
    """Elements that were opened and closed, what they refer to, and the cells of all tables."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.tags, self.links = [], [], []
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action", "data")]
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
    assert read.open == read.links == []
    assert not {"script", "link", "img", "iframe", "base"} & set(read.tags)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", page)
    assert page.count("viewport") == 1
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert page.count('<section class="meal">') == page.count("glucose, mg/dl") == 4
    assert page.count("<article") == 4
    assert page.count("<figure>") == 6  # the frontier, four meals, one explanation
    assert ["not recorded"] in [[cell.strip() for cell in row[1:]] for row in read.rows]


def test_the_page_shows_the_figures_that_were_printed(tour: Tour):
    rows = Reader(tour.page).rows[1 : 1 + len(MEANINGS)]
    for way, row in zip(MEANINGS, rows, strict=True):
        assert row[0].startswith(f"{way} ")
        assert [cell.strip() for cell in row[1:] if cell.strip()] == tour.figures(way)


# --- its parts ---


def outcome(name: str, mean: float, bad: float, interval: tuple[float, float] | None = None) -> Outcome:
    if interval is None:
        return Outcome(name, mean, 0.01, bad, 0.2, 0.1)
    low, high = interval
    estimates = Estimate((low + high) / 2, 0.1, low, high), Estimate(bad, 0.01, 0.0, 0.1)
    return Outcome(name, mean, 0.01, bad, 0.2, 0.1, *estimates)


def course(units: float, chosen_by: str) -> Course:
    return courses_of({chosen_by: 0}, [units], np.array([0.5]), 150 - np.arange(241)[None] / 4)[0]


@pytest.fixture
def results() -> Results:
    """Made-up results: the log prefers what is truly best, and is wrong about one of four ways."""
    outcomes = (
        outcome("expected", 0.6, 0.05, (0.5, 0.7)),
        outcome(CAREFUL, 0.5, 0.02, (0.4, 0.6)),
        *(outcome(name, 0.45, 0.02) for name in STRATEGIES if name not in ("expected", CAREFUL)),
        outcome(RULE, 0.3, 0.08, (0.0, 0.2)),
        outcome(CLINIC, -0.2, 0.2, (-0.3, 0.0)),
        outcome(ORACLE, 0.9, 0.0),
    )
    meal = ShownMeal(0, "where caution gains most", (("age", "9 years"),), (course(2.0, "expected"),))
    filled = Filling(6, 5, (("carb_ratio", 4), ("age", 1)), (0.1, 0.3), (0.4, 0.1), (0.2, 0.2))
    advantage = Estimate(0.3, 0.1, 0.1, 0.5)
    return Results(80, 20, 50, 10, 9, 0.3, 4.5, outcomes, "expected", advantage, (meal,), {}, filled)


def test_the_headline_claims_only_what_is_true(results: Results):
    assert re.findall(r"[\d.]+%", headline(results)) == ["2.0%", "8.0%"]
    worse = (outcome(CAREFUL, 0.5, 0.09), outcome(RULE, 0.3, 0.08))
    assert "%" not in headline(replace(results, outcomes=worse))


def test_it_says_whether_the_log_could_tell(results: Results):
    words = what_the_log_estimated(results)[1]
    assert re.findall(r"\d of \d|[+-]\d\.\d\d", words) == ["3 of 4", "+0.10", "+0.50", "+0.30"]
    assert "'expected'" in words
    unsure = replace(results, preferred=CAREFUL, advantage=Estimate(0.1, 0.1, -0.1, 0.3))
    assert re.findall(r"[+-]\d\.\d\d", what_the_log_estimated(unsure)[1]) == ["-0.10", "+0.30", "+0.20"]


def test_it_says_what_filling_a_gap_brought(results: Results):
    words = what_to_measure(results)
    assert "carb ratio (4), age (1)" in words[0]
    assert re.findall(r"\d\.\d\d|[\d.]+%", words[1]) == ["0.40", "0.10", "10.0%", "30.0%", "0.20", "20.0%"]
    nothing = replace(results, filling=Filling(6, 0, (), (np.nan, np.nan), (np.nan, np.nan), (np.nan, np.nan)))
    assert len(what_to_measure(nothing)) == 1


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


def texts_stay_apart(picture: Picture) -> None:
    canvas = Box(0, 0, picture.width, picture.height)
    boxes = [(text.text, text.box) for text in picture.texts]
    for text, box in boxes:
        assert canvas.holds(box), text
    for (one, box), (other, beside) in itertools.combinations(boxes, 2):
        assert not box.overlaps(beside), (one, other)


def test_pictures_keep_their_texts_apart(results: Results):
    frontier = frontier_picture(results.outcomes)
    texts_stay_apart(frontier)
    assert {"expected", CAREFUL, RULE} <= {text.text for text in frontier.texts}
    assert CLINIC not in {text.text for text in frontier.texts}
    alone = glucose_picture([course(2.0, "expected"), course(9.0, RULE)], "One meal")
    texts_stay_apart(alone)
    assert f"9 units ({RULE}" in alone.description


def test_every_way_has_a_meaning():
    assert set(STRATEGIES) < set(MEANINGS)
