"""The demonstration as one self-contained page."""

from collections.abc import Sequence

import htpy
from htpy import Element

from prudent.command_line.demo.doses import CAREFUL, HEADINGS, RULE, STRATEGIES, Outcome
from prudent.command_line.demo.meals import ShownMeal
from prudent.command_line.demo.results import (
    REWARD,
    VIRTUAL,
    Results,
    headline,
    what_happened,
    what_the_log_estimated,
    what_to_measure,
)
from prudent.show import (
    Line,
    Picture,
    Series,
    article,
    document,
    explanation_article,
    paragraphs,
    scatter_lines,
    table,
)
from prudent.worlds.insulin import NOT_RECORDED, Course, glucose_picture

Steps = Sequence[tuple[str, Sequence[str]]]
"""Sentences, each with the commands that it announces."""

GENERATOR = {"name": "generator", "content": "prudent demo"}
MARK = str(htpy.meta(GENERATOR))
"""In every page of a demonstration: a folder whose page has it may be written to again."""
STYLE = """
.prudent .stroke svg{display:inline-block;width:auto;vertical-align:-2px;margin-right:5px}
.prudent tr.others>*{color:var(--soft)}
.prudent .meaning{display:block;color:var(--soft);font-size:12px;font-weight:normal;max-width:24em}
.prudent figcaption{color:var(--soft);font-size:13px;padding:4px 10px 0}
.prudent .meal{display:grid;grid-template-columns:220px 1fr;gap:0 24px;margin-bottom:26px;break-inside:avoid}
.prudent .meal h2,.prudent .meal .scroll:last-child{grid-column:1/3}
.prudent .meal figure{margin:0}
.prudent .record thead{display:none}
.prudent .record{font-size:13px;line-height:1.3}
.prudent .record th{color:var(--soft)}
.prudent .record td{text-align:right;padding-right:0}
.prudent .record tr.gap td{color:var(--soft);font-style:italic}
.prudent pre{background:var(--wash);border-radius:4px;padding:10px 12px;margin:0 0 10px;font-size:12.5px;
overflow-x:auto}
.prudent .note{border-left:3px solid var(--chosen);padding-left:10px}
@media screen and (max-width:620px){.prudent .meal{display:block}.prudent .meal figure{margin:10px -8px}}
@media print{.prudent .meal{grid-template-columns:48mm 1fr}.prudent .meaning{font-size:7.5pt}
.prudent pre{print-color-adjust:exact;font-size:8.5pt;white-space:pre-wrap}}
"""


def page(results: Results, steps: Steps) -> str:
    articles = [_overview(results), _meals(results), explanation_article(results.explained), _ending(results, steps)]
    return document(headline(results), articles, STYLE, htpy.meta(GENERATOR))


def unfinished_page() -> str:
    """Written first, so that a run that was interrupted can be started again in the same folder."""
    words = "This demonstration is not finished. If it was interrupted, run the same command again."
    return document("A demonstration of prudent", article(htpy.p[words]), head=htpy.meta(GENERATOR))


def _overview(results: Results) -> Element:
    careful = results.outcome(CAREFUL)
    share_error = (careful.bad * (1 - careful.bad) / results.advised) ** 0.5
    caption = (
        "Up is better, left is safer. Each line joins the truth about a way to dose, which bears its name, to what was "
        f"estimated from the log. With {results.advised:,} meals the standard error of the truth is about "
        f"{careful.error:.2f} up or down and {share_error:.1%} left or right."
    )
    return article(
        htpy.p(".row")["A demonstration of prudent · virtual patients"],
        htpy.h1[headline(results)],
        paragraphs(what_happened(results), "why"),
        htpy.p(".note")[VIRTUAL],
        htpy.h2[f"{results.advised:,} new meals: the truth, and what was estimated from the log"],
        _comparison(results),
        htpy.p(".soft")[REWARD],
        paragraphs(what_the_log_estimated(results)),
        htpy.h2["What caution costs, and what it prevents"],
        htpy.figure[frontier_picture(results.outcomes), htpy.figcaption[caption]],
    )


def _comparison(results: Results) -> Element:
    rows = [
        [[outcome.name, htpy.span(".meaning")[results.meaning(outcome.name)]], *outcome.cells[1:]]
        for outcome in results.outcomes
    ]
    classes = {CAREFUL: "about"} | {name: "" for name in STRATEGIES if name != CAREFUL}
    return table(HEADINGS, rows, [classes.get(outcome.name, "others") for outcome in results.outcomes], "numbers ways")


def frontier_picture(outcomes: Sequence[Outcome]) -> Picture:
    """The strategies and the usual rule; the other ways to dose are too far from them."""
    series = [
        Series(
            outcome.name,
            [
                (100 * outcome.bad, outcome.mean, outcome.name),
                (100 * outcome.estimated_bad.value, outcome.estimated_mean.value),
            ],
        )
        for outcome in outcomes
        if outcome.name in (*STRATEGIES, RULE) and outcome.estimated_bad and outcome.estimated_mean
    ]
    return scatter_lines(series, "bad outcomes, % of the meals", "mean reward", "Mean reward against bad outcomes")


def _meals(results: Results) -> Element:
    explained = results.explained["row"]
    return article(
        htpy.h1["Some of the meals in detail"],
        htpy.p(".soft")[
            "Each strategy saw only what is recorded; the curves are what the simulator knows would have followed. "
            "Shaded from below: under 54 mg/dl (serious hypoglycaemia), under 70, 70 to 180, above 180. The reward "
            "depends on the mean over the last two hours (grey bar). Dashed: the best dose, where nobody gave it. "
            "Meals are selected by a rule, not by hand."
        ],
        [_meal(meal, ", explained below" if meal.row == explained else "") for meal in results.meals],
        htpy.h2["Why this dose?"],
        htpy.p[
            f"The next sheet is prudent's explanation of the careful dose for meal {explained + 1}: for every dose "
            "the mean rewards that are plausible given the gaps and the range of single outcomes, which entries matter "
            "most, what the missing ones may be, and what would change the advice. In Python: advice[row].explain()."
        ],
    )


def _meal(meal: ShownMeal, note: str) -> Element:
    title = f"Meal {meal.row + 1}: {meal.why}{note}"
    gaps = ["gap" if cell == NOT_RECORDED else "" for _, cell in meal.record]
    headings = ("dose, given by", "lowest", "mean, 2 to 4 h", "reward")
    return htpy.section(".meal")[
        htpy.h2[title],
        table(("entry", "recorded"), meal.record, gaps, "record"),
        htpy.figure[glucose_picture(meal.courses, title)],
        table(headings, [_course(course) for course in meal.courses], css="numbers"),
    ]


def _course(course: Course) -> list:
    units = f"{course.units:g} unit{'' if course.units == 1 else 's'}"
    stroke = Picture(26, 12, (Line(((1, 6), (25, 6)), course.colour, 2.4, course.dash),), units)
    name = [htpy.span(".stroke")[stroke], units, htpy.span(".meaning")[" · ".join(course.chosen_by)]]
    return [name, f"{course.lowest:.0f}", f"{course.late:.0f}", f"{course.reward:.2f}"]


def _ending(results: Results, steps: Steps) -> Element:
    return article(
        htpy.h1["What to measure first"],
        paragraphs(what_to_measure(results)),
        htpy.h2["Next"],
        [[htpy.p[sentence], htpy.pre["\n".join(commands)]] for sentence, commands in steps],
    )
