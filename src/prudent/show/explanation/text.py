"""The words and figures of an explanation, the same in text and on the page. All take its facts, as
`Explanation.to_dict` gives them."""

from collections.abc import Callable
from typing import Any

from prudent.show.json_types import Facts
from prudent.show.numbers import Figures, percent
from prudent.show.tables import TextTable
from prudent.show.text import one_line

NOT_ALLOWED = " (not allowed)"


def explanation_text(case: Facts) -> str:
    lines = [headline(case) + ("" if case["status_code"] == "ok" else f" ({case['status']})"), f"Why: {case['reason']}"]
    if case["flags"]:
        lines.append(f"Note: {case['flags']}")
    lines += ["", _price_table(case), ""]
    if case["observed"]:
        lines.append(f"Known: {_listed(case['observed'], known_cell)}")
    if case["most_likely"]:
        lines.append(f"Most likely values of what is missing: {_listed(case['most_likely'], guessed_cell)}")
        lines.append(f"Worst plausible values for {case['about']}: {_listed(case['worst_case'], guessed_cell)}")
    return "\n".join([*lines, *certainty(case), *change_sentences(case), *measuring_sentences(case)])


def headline(case: Facts) -> str:
    if case["action"] is None:
        return "No action is recommended"
    return f"{'Fallback' if case['status_code'] == 'fallback' else 'Recommended'}: {one_line(case['action'])}"


def figures(case: Facts) -> Figures:
    """One way of writing all rewards of the case."""
    return Figures.of(price[name] for price in case["prices"] for name in ("expected_reward", "worst_reward"))


def price_columns(case: Facts) -> tuple[list[str], list[list[str]]]:
    """Heads and one row of text per action; optional columns that are empty or zero for every action are left out."""
    figure = figures(case)
    always: list[tuple[str, Callable[[Facts], str]]] = [
        ("expected", lambda price: figure(price["expected_reward"])),
        ("5% to 95%", lambda price: f"{figure(price['low_reward'])} to {figure(price['high_reward'])}"),
        ("worst plausible", lambda price: figure(price["worst_reward"])),
        ("chance best", lambda price: percent(price["chance_best"])),
    ]
    optional = {"guaranteed": "guaranteed_reward", "doubt": "doubt", "noise": "noise", "cost": "cost"}
    optional = {head: key for head, key in optional.items() if any(price[key] for price in case["prices"])}
    heads = [one_line(case["action_name"]), *(head for head, _ in always), *optional]
    rows = [
        [action_name(price), *(write(price) for _, write in always), *(figure(price[key]) for key in optional.values())]
        for price in case["prices"]
    ]
    return heads, rows


def action_name(price: Facts) -> str:
    return one_line(price["action"]) + ("" if price["allowed"] else NOT_ALLOWED)


def _price_table(case: Facts) -> str:
    headings, rows = price_columns(case)
    marks = ["→ " if price["action"] == case["about"] else "  " for price in case["prices"]]
    marked = [[mark + row[0], *row[1:]] for mark, row in zip(marks, rows, strict=True)]
    return TextTable([f"  {headings[0]}", *headings[1:]], marked).text()


def certainty(case: Facts) -> list[str]:
    """How much was weighed, and how sure the best action is."""
    if not case["most_likely"]:
        return ["Nothing is missing in this record."]
    return [
        f"The cases counted as plausible hold {percent(case['plausible_share'])} of the probability.",
        f"How unsure the best action is, given the gaps: {case['action_entropy']:.2f} bits "
        "(0: the same action is best whatever is missing)",
    ]


def change_sentences(case: Facts) -> list[str]:
    return [
        f"If {one_line(change['attribute'])} turned out {one_line(change['values'])} "
        f"(chance {percent(change['chance'])}), {one_line(change['action'])} would be recommended instead."
        for change in case["changes"]
    ]


def measuring_sentences(case: Facts) -> list[str]:
    if not case["measurements"]:
        return []
    if case["measure_next"] is None:
        return ["No missing cell is worth measuring for this decision alone."]
    best = next(gap for gap in case["measurements"] if gap["attribute"] == case["measure_next"])
    after = ", after its cost" if best["cost"] else ""
    worth = f"{gain(case, best['gain'])} {one_line(case['reward_name'])} {case['gain_measure']}{after}"
    return [f"Most worth measuring first: {one_line(best['attribute'])} ({worth})"]


def gain(case: Facts, number: float) -> str:
    """A gain with the sign it has for the user: negative if the reward is to be minimised."""
    written = figures(case)(abs(number))
    if number == 0:
        return written
    return ("−" if (number < 0) != case["minimize"] else "+") + written


def known_cell(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else one_line(value)


def guessed_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else one_line(value)


def _listed(values: Facts, write: Callable[[Any], str]) -> str:
    return ", ".join(f"{one_line(name)} = {write(value)}" for name, value in values.items())
