"""Who would be treated differently from today, and which columns the decisions rest on."""

from typing import Any

from htpy import Node

from prudent.show.evaluation.columns import columns_picture, columns_section
from prudent.show.json_types import Facts
from prudent.show.numbers import percent, significant
from prudent.show.report.parts import Part, figure, folded, said, unanswered, words_and_numbers
from prudent.show.section_elements import section_elements
from prudent.show.text import one_line

MOST_ACTIONS = 12


def changed_part(report: Facts) -> Part:
    changed, columns = report["changed"], report["columns"]
    return Part(
        "changes",
        "Who would be treated differently from today",
        [
            said(changed["sentence"]) if unanswered(changed) else _changes(changed),
            said(columns["sentence"]) if unanswered(columns) else _columns(columns),
        ],
    )


def changed_sentence(changed: Facts) -> str:
    """How many, and the commonest change."""
    sentence = (
        f"{percent(changed['changed'] / changed['rows'])} of the cases ({changed['changed']:,} of {changed['rows']:,}) "
        "would get another action than they did"
    )
    routes = [one for one in changed["routes"] if one["advised"] is not None and one["advised"] != one["logged"]]
    if not routes:
        return f"{sentence}."
    most = max(routes, key=lambda one: one["rows"])
    common = f"most often '{one_line(most['advised'])}' instead of '{one_line(most['logged'])}'"
    return f"{sentence}, {common} ({percent(most['rows'] / changed['rows'])} of all cases)."


def _changes(changed: Facts) -> Node:
    referred = changed["referred"]
    left = f"{referred:,} cases are left to a person." if referred else None
    return [
        said(changed_sentence(changed), left),
        _routes(changed),
        _apart(changed),
    ]


def _routes(changed: Facts) -> Node:
    """Shares of each logged action that get each advised one; with many actions, the commonest changes."""
    logged = list(dict.fromkeys(str(one["logged"]) for one in changed["routes"]))
    advised = list(dict.fromkeys(_advised(one) for one in changed["routes"]))
    if max(len(logged), len(advised)) > MOST_ACTIONS:
        common = sorted(changed["routes"], key=lambda one: -one["rows"])[:MOST_ACTIONS]
        rows = [(one_line(one["logged"]), _advised(one), f"{one['rows']:,}") for one in common]
        return words_and_numbers(("was given", "would be given", "cases"), rows, ("was given", "would be given"))
    counts = {(str(one["logged"]), _advised(one)): one["rows"] for one in changed["routes"]}
    rows = []
    for one in logged:
        total = sum(counts.get((one, other), 0) for other in advised)
        shares = [percent(counts.get((one, other), 0) / total) for other in advised]
        rows.append((one_line(one), f"{total:,}", *shares))
    return [
        words_and_numbers(("was given", "cases", *(f"→ {one_line(name)}" for name in advised)), rows),
        said("Of the cases that were given each action: the share that would be given each of the others.", css="soft"),
    ]


def _advised(route: Facts) -> str:
    return "(a person decides)" if route["advised"] is None else str(route["advised"])


def _apart(changed: Facts) -> Node:
    if not changed["differ"]:
        return said("Too few cases change, or stay, to say what sets them apart.") if changed["changed"] else None
    rows = [
        (_described(one), _written(one, one["changed"]), _written(one, one["unchanged"]), f"{one['difference']:+.2f}")
        for one in changed["differ"]
    ]
    return [
        said("What sets those whose action changes apart from the others:"),
        words_and_numbers(("column", "changed", "unchanged", "difference in sd"), rows),
        said(
            "Means, or shares of cases. Differences below 0.1 standard deviations are usually called negligible; these "
            "columns describe the cases and need not be why their action changes.",
            css="soft",
        ),
    ]


def _described(one: Facts) -> str:
    name = one_line(one["column"])
    if one["gaps"]:
        return f"{name} is missing"
    return name if one["level"] is None else f"{name} is {one_line(one['level'])}"


def _written(one: Facts, value: Any) -> str:
    if one["gaps"] or one["level"] is not None:
        return percent(value)
    return one_line(value) if isinstance(value, str) else significant(float(f"{value:.4g}"))


def _columns(columns: Facts) -> Node:
    if not columns["columns"]:
        return None
    section = columns_section(columns)
    return [
        said(
            f"Which columns the decisions rest on, and which their value: each column was hidden by itself in "
            f"{columns['rows']:,} rows. One that changes many decisions and whose loss is near zero moves decisions "
            "that hardly matter."
        ),
        figure(columns_picture(columns)),
        folded("The numbers of the picture", section_elements(section._replace(title=""))),
    ]
