"""The demonstration as one self-contained page: no scripts, nothing from outside; phone, dark screen and paper."""

from collections.abc import Sequence

from prudent.command_line.demo.meals import ShownMeal
from prudent.command_line.demo.pictures import frontier_picture, mark
from prudent.command_line.demo.telling import (
    REWARD,
    VIRTUAL,
    Demonstration,
    by_chance,
    headline,
    meaning,
    what_happened,
    what_the_log_said,
    what_to_measure,
)
from prudent.command_line.demo.ways import CAREFUL, STRATEGIES, Outcome, number
from prudent.show import Line, Picture, document, explanation_article, table, xml_text
from prudent.worlds.insulin.pictures import NO_BETTER, NOT_RECORDED, Course, glucose_picture

Steps = Sequence[tuple[str, Sequence[str]]]
"""Sentences, each with the commands that it announces."""

MARK = '<meta name="generator" content="prudent demo">'
"""In every page of ours: a folder whose page has it may be renewed."""
STYLE = """
.prudent .mark svg,.prudent .stroke svg{display:inline-block;width:auto;vertical-align:-2px;margin-right:5px}
.prudent .ways td small{display:block;color:var(--soft);font-size:11.5px}
.prudent .ways small{white-space:nowrap}
.prudent .ways tr.others>*{color:var(--soft)}
.prudent .ways small,.prudent .ways .meaning{font-weight:normal}
.prudent .ways th{line-height:1.3}
.prudent .meaning{display:block;color:var(--soft);font-size:12px;max-width:24em}
.prudent figcaption{color:var(--soft);font-size:13px;padding:4px 10px 0}
.prudent .meal{display:grid;grid-template-columns:208px 1fr;gap:0 24px;margin-bottom:26px;break-inside:avoid}
.prudent .meal h2,.prudent .meal .scroll{grid-column:1/3}
.prudent .meal figure{margin:0}
.prudent .record{margin:0;font-size:13px;line-height:1.35}
.prudent .record div{display:flex;justify-content:space-between;gap:10px;padding:3px 0;
border-bottom:1px solid var(--rule)}
.prudent .record dt{color:var(--soft)}.prudent .record dd{margin:0;text-align:right}
.prudent .record .gap dd{border:1px dashed var(--soft);border-radius:3px;padding:0 5px;color:var(--soft)}
.prudent pre{background:var(--wash);border-radius:4px;padding:10px 12px;margin:0 0 10px;font-size:12.5px;
overflow-x:auto}
.prudent .frontier svg{max-width:600px;margin:0 auto}
.prudent .note{border-left:3px solid var(--chosen);padding-left:10px}
@media screen and (max-width:620px){.prudent .meal{display:block}.prudent .meal figure{margin:10px -8px}
.prudent .ways th:first-child{min-width:0}.prudent .ways td{padding-left:8px}
.prudent .ways{font-size:12.5px}.prudent .ways small{white-space:normal}
.prudent .ways td small,.prudent .meaning{font-size:11px}}
@media print{.prudent .meal{grid-template-columns:48mm 1fr}.prudent .ways td small{font-size:7.5pt}
.prudent .meaning{font-size:7.5pt}.prudent pre{print-color-adjust:exact;font-size:8.5pt;
white-space:pre-wrap}}
"""


def page(told: Demonstration, steps: Steps) -> str:
    articles = (
        _overview(told),
        _meals(told),
        explanation_article(told.explained.to_dict()),
        _measuring_and_next(told, steps),
    )
    return document(headline(told), "\n".join(articles), STYLE, f"{MARK}\n")


def unfinished_page() -> str:
    """What stands in for the page until there is one, so that a run that was broken off can be started again."""
    words = "This demonstration is not finished. If it was broken off, run the same command again."
    return document("A demonstration of prudent", _article(_paragraphs([words])), head=f"{MARK}\n")


def _article(*parts: str) -> str:
    return '<article class="prudent">\n' + "\n".join(parts) + "\n</article>"


def _paragraphs(sentences: Sequence[str], css: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    return "\n".join(f"<p{kind}>{xml_text(sentence)}</p>" for sentence in sentences)


def _overview(told: Demonstration) -> str:
    caption = (
        "Up is better, left is safer. Full marks: the truth. Hollow marks: what the log alone had said, joined to its "
        f"truth. The line goes from bold to careful. {by_chance(told)} The other ways to dose are far outside."
    )
    drawn = frontier_picture(told.outcomes).svg()
    return _article(
        '<p class="row">A demonstration of prudent · virtual patients</p>',
        f"<h1>{xml_text(headline(told))}</h1>",
        _paragraphs(what_happened(told), "why"),
        _paragraphs([VIRTUAL], "note"),
        f"<h2>{told.advised:,} new meals: what is true, and what the log had said</h2>",
        _ways(told),
        _paragraphs([REWARD], "soft"),
        _paragraphs(what_the_log_said(told)),
        "<h2>What caution costs, and what it spares</h2>",
        f'<figure class="frontier">{drawn}<figcaption>{xml_text(caption)}</figcaption></figure>',
    )


def _ways(told: Demonstration) -> str:
    heads = ("way to dose", "mean reward", "bad", "under 70", "under 54")
    head = "".join(f'<th scope="col">{xml_text(own)}</th>' for own in heads)
    body = "\n".join(_way(told, own) for own in told.outcomes)
    return (
        f'<div class="scroll"><table class="numbers ways"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _way(told: Demonstration, own: Outcome) -> str:
    said = [f"<small>log: {xml_text(words)}</small>" if words else "" for words in own.said]
    notes = [*said, "", ""]
    cells = "".join(f"<td>{xml_text(figure)}{note}</td>" for figure, note in zip(own.figures, notes, strict=True))
    kind = " class=about" if own.name == CAREFUL else "" if own.name in STRATEGIES else " class=others"
    name = f'<span class="mark">{mark(own.name)}</span>{xml_text(own.name)}'
    words = f'<span class="meaning">{xml_text(meaning(told, own.name))}</span>'
    return f'<tr{kind}><th scope="row">{name}{words}</th>{cells}</tr>'


def _meals(told: Demonstration) -> str:
    words = (
        "Each strategy saw only what is recorded; the curves are what the simulator knows would have followed. Shaded "
        "from below: under 54 mg/dl (serious hypoglycaemia), under 70, 70 to 180, above 180. The reward is of the mean "
        "over the last two hours (grey bar). Dashed: the best dose, where nobody gave it. Meals are picked by rule, "
        "not by hand."
    )
    why = (
        f"Next comes what prudent says of meal {told.explained.row + 1} when it is asked for the careful dose: for "
        "every dose the rewards that are plausible given the gaps, what the missing entries may be, and what would "
        "change the advice. In Python: advice[row].explain()."
    )
    meals = "\n".join(_meal(own, told) for own in told.meals)
    parts = ("<h1>Some of the meals, closely</h1>", _paragraphs([words], "soft"), meals, "<h2>Why this dose?</h2>")
    return _article(*parts, _paragraphs([why]))


def _meal(meal: ShownMeal, told: Demonstration) -> str:
    below = ", explained below" if meal.row == told.explained.row else ""
    title = f"Meal {meal.row + 1}: {meal.why}{below}"
    record = "".join(
        f"<div{' class=gap' if cell == NOT_RECORDED else ''}><dt>{xml_text(name)}</dt><dd>{xml_text(cell)}</dd></div>"
        for name, cell in meal.record
    )
    return (
        f'<section class="meal"><h2>{xml_text(title)}</h2>\n<dl class="record">{record}</dl>\n'
        f"<figure>{glucose_picture(meal.courses, title).svg()}</figure>\n{_courses(meal.courses)}</section>"
    )


def _courses(courses: Sequence[Course]) -> str:
    lines = []
    for own in courses:
        stroke = Picture(26, 12, (Line(((1, 6), (25, 6)), own.colour, 2.4, own.dash),), f"{own.units:g} units").svg()
        cells = "".join(
            f"<td>{xml_text(cell)}</td>" for cell in (f"{own.lowest:.0f}", f"{own.late:.0f}", number(own.reward))
        )
        who = ", ".join(name for name in own.who if name != NO_BETTER) + f" · {NO_BETTER}" * (NO_BETTER in own.who)
        units = f"{own.units:g} unit{'' if own.units == 1 else 's'}"
        lines.append(
            f'<tr><th scope="row"><span class="stroke">{stroke}</span>{units}'
            f'<span class="meaning">{xml_text(who)}</span></th>{cells}</tr>'
        )
    heads = "".join(f'<th scope="col">{own}</th>' for own in ("dose, by", "lowest", "mean, 2 to 4 h", "reward"))
    return (
        f'<div class="scroll"><table class="numbers courses"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _measuring_and_next(told: Demonstration, steps: Steps) -> str:
    heads = ["entry", "missing in", "to fill first in", "worth, in reward"]
    rows = [
        [own.name.replace("_", " "), str(own.missing), str(own.first), f"+{own.gain:.2f}"]
        for own in told.measured.worths
    ]
    parts = ["<h1>What to measure first</h1>", _paragraphs(what_to_measure(told))]
    if rows:
        words = (
            f"In the first {told.measured.records} new records. worth: what filling the entry gains on average where "
            "it is missing, over the worst fifth of what may be found."
        )
        parts += [table(heads, rows, css="numbers"), _paragraphs([words], "soft")]
    parts.append("<h2>Next</h2>")
    for sentence, commands in steps:
        parts.append(_paragraphs([sentence]))
        parts.append("<pre>" + "\n".join(xml_text(one) for one in commands) + "</pre>" if commands else "")
    return _article(*(part for part in parts if part))
