"""The attributes of an explained case: at most eight that matter most, those of less weight, those that change
nothing."""

from typing import Any, NamedTuple

from prudent.show.explanation.figures import case_figures, gain, is_nothing
from prudent.show.json_types import Facts
from prudent.show.text import one_line

MOST_ATTRIBUTES = 8


HARDLY = 0.02
"""A lead that changes by less, as a share of itself, is no other one."""
NAMED = 6
"""Attributes that change nothing are named in text up to so many."""


class AttributeRow(NamedTuple):
    """An attribute as it is shown. worst: its worst plausible value, for a gap. matters: how the advice rests on it."""

    name: str
    value: str
    worst: str
    matters: str


class Attributes(NamedTuple):
    """Those that matter most, those that matter less, and those that change next to nothing by themselves."""

    most: list[AttributeRow]
    less: list[AttributeRow]
    idle: list[AttributeRow]


def attribute_rows(case: Facts) -> Attributes:
    """Every attribute, in the order in which the advice rests on them."""
    active = [_row(case, one) for one in case["influences"] if not _is_idle(case, one)]
    idle = [_row(case, one) for one in case["influences"] if _is_idle(case, one)]
    return Attributes(active[:MOST_ATTRIBUTES], active[MOST_ATTRIBUTES:], idle)


def _is_idle(case: Facts, influence: Facts) -> bool:
    """Whether the advice is the same without it and its lead hardly another, or a gap is not worth filling."""
    if not influence["known"]:
        worthless = influence["gain"] is not None and (influence["gain"] <= 0 or is_nothing(case, influence["gain"]))
        return worthless and influence["action"] is None
    if influence["decides"]:
        return False
    if influence["lead"] is None or case["lead"] is None:
        return True
    moved = influence["lead"] - case["lead"]
    return abs(moved) < HARDLY * abs(case["lead"]) or is_nothing(case, moved)


def idle_sentence(case: Facts, names: int | None = None) -> str:
    """Which attributes change next to nothing by themselves; `names` of them are named, by default all."""
    idle = [row.name for row in attribute_rows(case).idle]
    named, others = idle[:names], idle[names:] if names is not None else []
    more = f" and {len(others)} more" if others else ""
    return f"{idle_count(case)}: {', '.join(named)}{more}"


def idle_count(case: Facts) -> str:
    rows = attribute_rows(case)
    count, other = len(rows.idle), "other " if rows.most else ""
    return f"{count} {other}{'attribute changes' if count == 1 else 'attributes change'} next to nothing"


def lead_sentence(case: Facts) -> str | None:
    """How far the action in question is ahead of the next."""
    if case["lead"] is None:
        return None
    ahead = "ahead of" if case["lead"] >= 0 else "behind"
    size = case_figures(case)(abs(case["lead"]))
    return f"{one_line(case['about'])} is {ahead} {one_line(case['runner_up'])} by {size} {case['gain_measure']}."


def attribute_lines(case: Facts, every: bool = False) -> list[str]:
    """As text, each with its value and how it matters; with `every` also those that matter less or not at all."""
    rows, lead = attribute_rows(case), lead_sentence(case)
    lines = ["What matters most:" if lead is None else f"What matters most ({lead.rstrip('.')}):"]
    shown = [*rows.most, *rows.less, *rows.idle] if every else rows.most
    lines += [_line(case, row) for row in shown]
    if every:
        return lines
    lines += [f"  and {len(rows.less)} more of less weight"] if rows.less else []
    return [*lines, f"  {idle_sentence(case, NAMED)}"] if rows.idle else lines


def _line(case: Facts, row: AttributeRow) -> str:
    worst = f" (worst plausible for {one_line(case['about'])}: {row.worst})" if row.worst else ""
    return f"  {row.name}: {row.value}{worst}{'; ' if row.matters else ''}{row.matters}"


def _row(case: Facts, influence: Facts) -> AttributeRow:
    key = influence["attribute"]
    if influence["known"]:
        return AttributeRow(one_line(key), known_cell(case["observed"][key]), "", _without(case, influence))
    value = f"missing, most likely {guessed_cell(case['most_likely'][key])}"
    return AttributeRow(one_line(key), value, guessed_cell(case["worst_case"][key]), _knowing(case, influence))


def _without(case: Facts, influence: Facts) -> str:
    if influence["decides"]:
        if influence["action"] is None:
            return "if it were missing, a person would have to decide"
        return f"if it were missing, {one_line(influence['action'])} would be recommended"
    if influence["lead"] is None or case["lead"] is None:
        return ""
    write = case_figures(case)
    if write(influence["lead"]) == write(case["lead"]):
        return "if it were missing, nothing would change"
    size = write(abs(influence["lead"]))
    words = f"the lead would be {size}" if influence["lead"] >= 0 else f"it would be behind by {size}"
    return f"if it were missing, {words}"


def _knowing(case: Facts, influence: Facts) -> str:
    if influence["gain"] is None:
        return ""
    if influence["gain"] <= 0:
        return "not worth measuring for this decision"
    words = f"knowing it is worth {gain(case, influence['gain'])} {case['gain_measure']}"
    return (
        words if influence["action"] is None else f"{words}; it may turn the advice to {one_line(influence['action'])}"
    )


def known_cell(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else one_line(value)


def guessed_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else one_line(value)
