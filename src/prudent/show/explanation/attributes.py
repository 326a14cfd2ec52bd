"""The attributes of an explained case: those that matter most first, at most eight, and how each matters."""

from typing import Any, NamedTuple

from prudent.show.explanation.figures import case_figures, gain
from prudent.show.json_types import Facts
from prudent.show.text import one_line

MOST_ATTRIBUTES = 8


class AttributeRow(NamedTuple):
    """An attribute as it is shown. worst: its worst plausible value, for a gap. matters: how the advice rests on it."""

    name: str
    value: str
    worst: str
    matters: str


def attribute_rows(case: Facts) -> tuple[list[AttributeRow], list[AttributeRow]]:
    """The attributes that matter most, and all others."""
    rows = [_row(case, influence) for influence in case["influences"]]
    return rows[:MOST_ATTRIBUTES], rows[MOST_ATTRIBUTES:]


def lead_sentence(case: Facts) -> str | None:
    """How far the action in question is ahead of the next."""
    if case["lead"] is None:
        return None
    ahead = "ahead of" if case["lead"] >= 0 else "behind"
    size = case_figures(case)(abs(case["lead"]))
    return f"{one_line(case['about'])} is {ahead} {one_line(case['runner_up'])} by {size} {case['gain_measure']}."


def attribute_lines(case: Facts) -> list[str]:
    """As text, each with its value and how it matters."""
    shown, others = attribute_rows(case)
    about, lead = one_line(case["about"]), lead_sentence(case)
    lines = ["What matters most:" if lead is None else f"What matters most ({lead.rstrip('.')}):"]
    for row in shown:
        worst = f" (worst plausible for {about}: {row.worst})" if row.worst else ""
        lines.append(f"  {row.name}: {row.value}{worst}{'; ' if row.matters else ''}{row.matters}")
    return [*lines, f"  and {len(others)} more of less weight"] if others else lines


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
