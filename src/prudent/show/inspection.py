"""What `prudent inspect` shows of a table of logged decisions, from the facts that it writes as JSON."""

from collections.abc import Iterator, Sequence

from prudent.show.json_types import Facts
from prudent.show.numbers import about_memory, about_time, counted, percent, significant
from prudent.show.sections import Section
from prudent.show.tables import TextTable

NAMES_SHOWN = 6
COLUMNS_PRINTED = 40
ORDERED = (
    "The actions are numbers: a fit looks whether neighbouring ones have similar rewards, as doses do. --ordered says "
    "that they do, --not-ordered that they are codes."
)


def inspection_sections(log: Facts) -> Iterator[Section]:
    yield Section(introduction=(f"{log['table']}: {size_sentence(log)}",))
    yield Section("Columns", _column_table(log))
    yield _gaps(log)
    yield _actions(log)
    if log["overlap"] is not None:
        yield Section("Can the log answer?", points=tuple(log["overlap"]["verdicts"]))
    seen = [finding["sentence"] for finding in log["findings"] if finding["sentence"] not in log["notes"]]
    if seen:
        yield Section("Look at these columns", points=tuple(seen))
    if log["notes"]:
        yield Section("Notes", points=tuple(log["notes"]))
    if log["problems"]:
        yield Section("Problems", points=tuple(log["problems"]))
    if log["proposed"] is not None:
        yield Section("With everything that is proposed above", sentences=(log["proposed"],))


def log_text(log: Facts) -> str:
    """What `print(log)` shows: size, columns, actions and notes, never a row."""
    columns, actions, notes = log_sections(log)
    assert columns.table is not None
    assert actions.table is not None
    described = "\n".join([columns.table.text(), *columns.sentences])
    remarks = "\n".join(f"- {note}" for note in notes.points)
    return "\n\n".join(part for part in (size_sentence(log), described, actions.table.text(), remarks) if part)


def log_sections(log: Facts) -> list[Section]:
    """Columns, actions and notes of a log."""
    headings = ("action", "rows", "share", "mean reward")
    actions = TextTable(headings, [_action_cells(action, log["rewarded"], None)[:4] for action in log["actions"]])
    hidden = len(log["columns"]) - COLUMNS_PRINTED
    more = (f"… and {hidden} more columns",) if hidden > 0 else ()
    notes = Section("Notes" if log["notes"] else "", points=tuple(log["notes"]))
    return [Section("Columns", _column_table(log, COLUMNS_PRINTED), more), Section("Actions", actions), notes]


def size_sentence(log: Facts) -> str:
    """How many rows, how many of them can be learnt from, and how many columns."""
    described = counted(len(log["columns"]), "column describes", "columns describe")
    return f"{counted(log['rows'], 'row')}, {log['rewarded']:,} with action and reward; {described} the case."


def _column_table(log: Facts, most: int | None = None) -> TextTable:
    shown = log["columns"][:most]
    rows = [(column["name"], column["kind"], percent(column["gap_share"]), column["shows"]) for column in shown]
    return TextTable(("column", "kind", "gaps", "values"), rows, words=("column", "kind", "values"))


def cost_section(costs: Facts) -> Section:
    """About how long each command will take on this machine; costs are seconds and bytes by command."""
    rows = [(name, about_time(cost["seconds"]), about_memory(cost["memory"])) for name, cost in costs.items()]
    sentence = (
        "On this machine, as busy as it is now, within a factor of two. Each first run compiles; later runs with the "
        "same columns are faster. --strategy conservative and a floor search for worst cases; --search 0 leaves it out."
    )
    return Section(
        "What it will take", TextTable(("command", "time", "memory"), rows, words=("command", "time")), (sentence,)
    )


def _gaps(log: Facts) -> Section:
    gaps = log["gaps"]
    if gaps["share"] == 0:
        return Section("Gaps", sentences=("None: no cell is missing.",))
    empty = f", {counted(gaps['empty_rows'], 'row')} with nothing observed" if gaps["empty_rows"] else ""
    sentence = (
        f"{percent(gaps['share'])} of the cells are missing; {counted(gaps['complete_rows'], 'complete row')}{empty}; "
        f"{counted(gaps['distinct_patterns'], 'pattern')} of gaps, the most frequent:"
    )
    rows = [
        (f"{pattern['rows']:,}", percent(pattern["rows"] / log["rows"]), _names(pattern["missing"]))
        for pattern in gaps["common"]
    ]
    table = TextTable(("rows", "share", "missing together"), rows, words=("missing together",))
    return Section("Gaps", table, introduction=(sentence,))


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more if names else "(nothing)"


def _actions(log: Facts) -> Section:
    overlap = {} if log["overlap"] is None else {str(action["action"]): action for action in log["overlap"]["actions"]}
    title = f"Actions ('{log['action']}'), by '{log['reward']}' ({'lower' if log['minimize'] else 'higher'} is better)"
    ordered = (ORDERED,) if log["may_be_ordered"] else ()
    headings = ("action", "rows", "share", "mean reward", "smallest\npropensity", "effective\nsample size")
    rows = [_action_cells(action, log["rewarded"], overlap.get(str(action["label"]))) for action in log["actions"]]
    if not overlap:
        return Section(title, TextTable(headings[:4], [row[:4] for row in rows]), ordered)
    rows_of = "the rows that got it, as logged" if log["propensity"] else "all rows, estimated"
    sentence = (
        f"smallest propensity: the smallest probability of the action over {rows_of}. effective sample size: how many "
        "equally likely rows are as informative as the rows that got it."
    )
    return Section(title, TextTable(headings, rows), (*ordered, sentence))


def _action_cells(action: Facts, rewarded: int, overlap: Facts | None) -> list[str]:
    mean = "–" if action["mean_reward"] is None else significant(action["mean_reward"])
    cells = [str(action["label"]), f"{action['rows']:,}", percent(action["rows"] / max(rewarded, 1)), mean]
    if overlap is None:
        return [*cells, "", ""]
    smallest = "–" if overlap["smallest"] is None else f"{overlap['smallest']:.2g}"
    # the overlap also counts rows without a reward; here they are left out, as in the column 'rows'
    effective = overlap["effective_sample_size"] * action["rows"] / max(overlap["count"], 1)
    return [*cells, smallest, f"{effective:,.0f}"]
