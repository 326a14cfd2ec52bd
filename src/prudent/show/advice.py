"""Advice for a whole table: how often each action is given, what to know about it; never the rows themselves."""

from prudent.show.json_types import Facts
from prudent.show.numbers import Figures, counted, percent
from prudent.show.sections import Section
from prudent.show.tables import TextTable
from prudent.show.text import one_line

REFERRED = "(none: referred)"


def advice_section(advice: Facts) -> Section:
    """Counts and mean rewards by action, then what is noteworthy. Takes the facts of `Advice.summary`."""
    means = (row[name] for row in advice["actions"] for name in ("expected_reward", "worst_reward"))
    figures = Figures.of(means, advice["origin"])
    rows = [
        (
            REFERRED if row["action"] is None else one_line(row["action"]),
            *(f"{row['rows']:,}", percent(row["rows"] / advice["rows"])),
            *(figures(row[name]) for name in ("expected_reward", "worst_reward")),
        )
        for row in advice["actions"]
    ]
    headings = (one_line(advice["action_name"]), "rows", "share", "expected\nmean", "worst plausible\nmean")
    sentences = [
        f"{counted(one['rows'], 'row')}: {one['status']}." for one in advice["statuses"] if one["status_code"] != "ok"
    ]
    if advice["flagged"]:
        sentences.insert(0, f"{counted(advice['flagged'], 'row')} flagged: see the column 'flags'.")
    means = f"The means of '{one_line(advice['reward_name'])}' are averages over those rows."
    return Section("", TextTable(headings, rows), (means, *sentences))


def advice_text(advice: Facts) -> str:
    section = advice_section(advice)
    assert section.table is not None
    first = f"Advice for {counted(advice['rows'], 'row')} by {advice['strategy']}"
    last = "The rows: advice.to_frame(); one of them explained: advice[0].explain()."
    return "\n".join([first, "", section.table.text(), "", *section.sentences, last])


def case_text(case: Facts) -> str:
    """One row of advice in one line."""
    figures = Figures.of((case["expected_reward"], case["worst_reward"]), case["origin"])
    action = "no recommendation, a person decides" if case["action"] is None else one_line(case["action"])
    parts = [f"Row {case['row'] + 1}: {action}"]
    if case["expected_reward"] is not None:
        parts.append(f"expected mean {figures(case['expected_reward'])}")
        parts.append(f"worst plausible mean {figures(case['worst_reward'])}")
    if case["outcome_low"] is not None:
        parts.append(f"9 of 10 single outcomes {figures(case['outcome_low'])} to {figures(case['outcome_high'])}")
    if case["guaranteed_reward"] is not None:
        parts.append(f"guaranteed {figures(case['guaranteed_reward'])}")
    if case["measure_next"] is not None:
        parts.append(f"measure first: {one_line(case['measure_next'])}")
    return "; ".join([*parts, one_line(case["status"]), *([one_line(case["flags"])] if case["flags"] else [])])
