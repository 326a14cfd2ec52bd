"""The words and figures of an explanation, the same in text and on the page. All take its facts, as
`Explanation.to_dict` gives them."""

from collections.abc import Callable

from prudent.show.explanation.attributes import attribute_lines
from prudent.show.explanation.figures import case_figures, gain, is_nothing
from prudent.show.json_types import Facts
from prudent.show.numbers import Figures, percent
from prudent.show.tables import TextTable
from prudent.show.text import one_line

CERTAIN = 0.999
NOT_ALLOWED, RARE = " (not allowed)", " (too rarely given)"


def explanation_text(case: Facts, every: bool = False) -> str:
    """every: list all attributes, not only those that matter most."""
    lines = [headline(case) + ("" if case["status_code"] == "ok" else f" ({case['status']})"), f"Why: {case['reason']}"]
    if case["flags"]:
        lines.append(f"Note: {case['flags']}")
    lines += ["", _price_table(case), *what_prices_include(case), ""]
    return "\n".join(
        [*lines, *attribute_lines(case, every), *certainty(case), *change_sentences(case), *measuring_sentences(case)]
    )


def headline(case: Facts) -> str:
    whose = "" if case["label"] is None else f" for {one_line(case['label'])}"
    if case["action"] is None:
        # not "no action is recommended", which may be read as advice to do nothing
        return f"No recommendation{whose}: a person has to decide"
    return f"{'Fallback' if case['status_code'] == 'fallback' else 'Recommended'}{whose}: {one_line(case['action'])}"


def price_columns(case: Facts) -> tuple[list[str], list[list[str]]]:
    """Heads and one row of text per action; optional columns that are empty or zero for every action are left out."""
    figure = case_figures(case)
    always: list[tuple[str, Callable[[Facts], str]]] = [
        ("expected\nmean", lambda price: figure(price["expected_reward"])),
        (
            "mean, 5% to 95%\nof plausible cases",
            lambda price: _range(figure, price["low_reward"], price["high_reward"]),
        ),
        ("worst plausible\nmean", lambda price: figure(price["worst_reward"])),
    ]
    if has_outcome_range(case):
        always.append(
            ("single outcomes,\n5% to 95%", lambda price: _range(figure, price["outcome_low"], price["outcome_high"]))
        )
    always.append(("chance\nbest", chance))
    if any(price["propensity"] is not None for price in case["prices"]):
        always.append(("given to\nsimilar cases", lambda price: percent(price["propensity"])))
    optional = {"guaranteed": "guaranteed_reward", "doubt": "doubt", "noise": "noise", "cost": "cost"}
    optional = {head: key for head, key in optional.items() if any(price[key] for price in case["prices"])}
    heads = [one_line(case["action_name"]), *(head for head, _ in always), *optional]
    rows = [
        [action_name(price), *(write(price) for _, write in always), *(figure(price[key]) for key in optional.values())]
        for price in case["prices"]
    ]
    return heads, rows


def chance(price: Facts) -> str:
    """How likely the action is the best one: with doubt neither impossible nor certain, whatever a few draws say."""
    shown = price["chance_best"]
    if shown == 0 and not (price["allowed"] and price["open"]):
        return "–"
    return percent(min(max(shown, 1e-4), 1 - 1e-4) if price["doubt"] else shown)


def _range(figure: Figures, low: float | None, high: float | None) -> str:
    return f"{figure(low)} to {figure(high)}"


def has_outcome_range(case: Facts) -> bool:
    return any(price["outcome_low"] is not None for price in case["prices"])


def what_prices_include(case: Facts) -> list[str]:
    """What the columns of the price table leave out."""
    known = has_outcome_range(case)
    scatter = "about one in ten falls outside its range" if known else "this model does not know by how much"
    return [
        "The first three columns are mean outcomes; they differ by what the gaps may hold. Single outcomes scatter "
        f"around them, also below the worst plausible mean; {scatter}.",
        "Chance best: how likely the action's mean is the best of those the case can get, over the gaps and the doubt "
        "of the prices.",
    ]


def action_name(price: Facts) -> str:
    return one_line(price["action"]) + barred(price)


def barred(price: Facts) -> str:
    """Why an action may not be recommended, after its name; nothing where it may."""
    return NOT_ALLOWED if not price["allowed"] else "" if price["open"] else RARE


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
        f"{_finding(change)}, {one_line(change['action'])} would be recommended instead." for change in case["changes"]
    ]


def _finding(change: Facts) -> str:
    attribute = one_line(change["attribute"])
    if change["chance"] > CERTAIN:
        return f"Once {attribute} is known, whatever it is"
    return f"If {attribute} turned out {one_line(change['values'])} (chance {percent(change['chance'])})"


def measuring_sentences(case: Facts) -> list[str]:
    if not case["measurements"]:
        return []
    if case["measure_next"] is None or is_nothing(case, _measured_first(case)["gain"]):
        return ["No missing cell is worth measuring for this decision alone."]
    best = _measured_first(case)
    after = ", after its cost" if best["cost"] else ""
    worth = f"{gain(case, best['gain'])} {one_line(case['reward_name'])} {case['gain_measure']}{after}"
    return [f"Most worth measuring first: {one_line(best['attribute'])} ({worth})"]


def _measured_first(case: Facts) -> Facts:
    return next(gap for gap in case["measurements"] if gap["attribute"] == case["measure_next"])
