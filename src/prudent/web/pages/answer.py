"""The answer about one case: the action first, then how sure that is, then why."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import htpy
from htpy import Element, Node
from markupsafe import Markup

from prudent.show import (
    CAVEAT,
    Facts,
    Figures,
    attribute_rows,
    case_figures,
    certainty,
    change_sentences,
    counted,
    explanation_picture,
    gain,
    lead_sentence,
    measuring_sentences,
    one_line,
    percent,
    price_columns,
    table,
    what_prices_include,
)

MOST_GAPS = 5


class Before(NamedTuple):
    """The answer before a field was edited: the cells that differ, and what was advised."""

    changed: Sequence[tuple[str, str, str]]
    advice: Mapping[str, Any]


def answer(
    case: Facts,
    *,
    notes: Sequence[str] = (),
    before: Before | None = None,
    confidence: float | None = None,
    id: str | None = None,
    actions: Sequence[str] = (),
) -> Element:
    """case: the facts of an explanation. id: of the entry in the journal; then what became of it can be added."""
    return htpy.div(".answer", data_action=_action_words(case))[
        _head(case),
        _remarks(case, notes),
        _figures(case, confidence),
        _against(case, before),
        htpy.figure(".scroll")[Markup(explanation_picture(case).bare_svg())],
        _measure(case),
        _mattered(case),
        _changes(case),
        _prices(case),
        _journal(id, actions, one_line(case["reward_name"])),
        htpy.footer[CAVEAT],
    ]


def _action_words(case: Facts) -> str:
    return "a person has to decide" if case["action"] is None else one_line(case["action"])


def _head(case: Facts) -> Element:
    fallback = case["status_code"] == "fallback"
    caption = f"{'Fallback' if fallback else 'Recommended'} {one_line(case['action_name'])}"
    return htpy.div(".head", role="status")[
        htpy.p(".caption")["No recommendation" if case["action"] is None else caption],
        htpy.h2(".action" if case["action"] is not None else ".action.none")[
            "A person has to decide" if case["action"] is None else one_line(case["action"])
        ],
        htpy.p(".margin")[(lead_sentence(case) if case["action"] is not None else None) or case["reason"]],
    ]


def _remarks(case: Facts, notes: Sequence[str]) -> Node:
    status = [_sentence(case["status"])] if case["status_code"] != "ok" else []
    # as they are: many begin with the name of a column
    sentences = [one_line(remark) for remark in [*status, *case["flags"].split("; "), *notes] if remark]
    return htpy.ul(".remarks")[(htpy.li[sentence] for sentence in sentences)] if sentences else None


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _against(case: Facts, before: Before | None) -> Node:
    if before is None or not before.changed:
        return None
    now, then = _about(case), before.advice
    numbers = [one[name] for one in (now, then) for name in ("expected_reward", "worst_reward")]
    write = Figures.of(numbers, case["origin"])
    shown = "a person decides" if then["action"] is None else one_line(then["action"])
    same = shown == _action_words(case) or (then["action"] is None and case["action"] is None)
    edits = "; ".join(f"{name}: {old or 'not known'} → {new or 'not known'}" for name, old, new in before.changed)
    rows = [
        ("recommended", shown, "the same" if same else _action_words(case)),
        ("expected mean", write(then["expected_reward"]), write(now["expected_reward"])),
        ("worst plausible mean", write(then["worst_reward"]), write(now["worst_reward"])),
    ]
    return htpy.section(".against" if same else ".against.turned")[
        htpy.h3["What your edit changed"], htpy.p[edits], table(["", "before", "now"], rows, css="numbers")
    ]


def _about(case: Facts) -> Facts:
    """The prices of the recommended action; none where a person decides."""
    nothing = {"expected_reward": None, "worst_reward": None}
    return next((price for price in case["prices"] if price["action"] == case["action"]), nothing)


def _figures(case: Facts, confidence: float | None) -> Node:
    if case["action"] is None:
        return None
    price, write = _about(case), case_figures(case)
    if "chance_best" not in price:
        return None  # a fallback that the log never had
    shown = [
        ("expected mean", write(price["expected_reward"])),
        ("worst plausible mean", write(price["worst_reward"])),
    ]
    if price["outcome_low"] is not None:
        shown.append(("nine of ten outcomes", f"{write(price['outcome_low'])} to {write(price['outcome_high'])}"))
    shown.append(("chance it is best", percent(price["chance_best"])))
    if price["guaranteed_reward"] is not None and confidence is not None:
        words = "at most" if case["minimize"] else "at least"
        shown.append((f"guaranteed, {confidence:.0%}", f"{words} {write(price['guaranteed_reward'])}"))
    return htpy.dl(".figures")[(htpy.div[htpy.dt[name], htpy.dd[figure]] for name, figure in shown)]


def _measure(case: Facts) -> Node:
    if not case["measurements"]:
        return None
    worth = [one for one in case["measurements"] if one["gain"] > 0][:MOST_GAPS]
    heading = f"worth, in {one_line(case['reward_name'])} {case['gain_measure']}"
    rows = [(one_line(one["attribute"]), gain(case, one["gain"])) for one in worth]
    return htpy.section[
        htpy.h3["What to measure next"],
        (htpy.p[_sentence(sentence)] for sentence in measuring_sentences(case)),
        table(["not known", heading], rows, css="numbers") if len(rows) > 1 else None,
    ]


def _mattered(case: Facts) -> Node:
    rows = attribute_rows(case)
    if not rows.most:
        return None
    return htpy.section[
        htpy.h3["What mattered"],
        _attributes(rows.most),
        _folded(counted(len(rows.less), "column of less weight", "columns of less weight"), rows.less),
        _folded(counted(len(rows.idle), "column that changes nothing", "columns that change nothing"), rows.idle),
        (htpy.p(".soft")[_sentence(sentence)] for sentence in certainty(case)),
    ]


def _folded(summary: str, rows: Sequence[Any]) -> Node:
    return htpy.details[htpy.summary[summary], _attributes(rows)] if rows else None


def _attributes(rows: Sequence[Any]) -> Element:
    cells = [(row.name, row.value, row.matters) for row in rows]
    return table(["column", "value", "how it matters"], cells, css="attributes")


def _changes(case: Facts) -> Node:
    if not case["changes"]:
        return None
    return htpy.section[
        htpy.h3["What would change this advice"],
        htpy.ul[(htpy.li[sentence] for sentence in change_sentences(case))],
    ]


def _prices(case: Facts) -> Element:
    headings, rows = price_columns(case)
    classes = ["about" if price["action"] == case["action"] else "" for price in case["prices"]]
    return htpy.details[
        htpy.summary["All actions in numbers"],
        htpy.p(".why")[case["reason"]],
        table(headings, rows, classes, "numbers"),
        (htpy.p(".soft")[sentence] for sentence in what_prices_include(case)),
    ]


def _journal(id: str | None, actions: Sequence[str], reward: str) -> Node:
    if id is None:
        return None
    return htpy.section(".journal")[
        htpy.h3["What became of it"],
        htpy.p(".soft")["This advice is in the journal as ", htpy.code[id], "."],
        htpy.form(".later", method="post", action=f"later/{id}")[
            htpy.label[
                "action taken",
                htpy.select(name="action")[
                    htpy.option(value="")["not known yet"],
                    (htpy.option(value=str(number))[one_line(action)] for number, action in enumerate(actions)),
                ],
            ],
            htpy.label[reward, htpy.input(name="reward", type="text", inputmode="decimal", autocomplete="off")],
            htpy.button(".plain", type="submit")["Add to the journal"],
            htpy.output(".said"),
        ],
    ]
