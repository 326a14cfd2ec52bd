"""`prudent inspect`: what is in a table of logged decisions, and what stands in the way of learning from it."""

import json
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from prudent.command_line.files import STANDARD_OUTPUT, require_file_destination, write_text
from prudent.command_line.reading import Reading
from prudent.command_line.screen import bullets, heading, screen, sentence
from prudent.errors import InputProblem
from prudent.propensity import ActionOverlap, Boosted, Known, Overlap
from prudent.show import TextTable, counted, percent
from prudent.table import ActionSummary, GapPatterns, Log, LogSummary, gap_patterns

MISSING_NAMED = 6


@dataclass(frozen=True)
class Inspection:
    """All that is known about a log before anything is fitted; `problems` are what fitting would refuse."""

    reading: Reading
    summary: LogSummary
    gaps: GapPatterns
    overlap: Overlap | None
    problems: tuple[str, ...]

    @classmethod
    def of(cls, reading: Reading) -> "Inspection":
        log = reading.log()
        problems = _problems(log)
        overlap = None
        try:
            overlap = (Known() if reading.propensity else Boosted()).fit(log).overlap()
        except InputProblem as problem:
            problems.append(str(problem))
        return cls(reading, log.summary(), gap_patterns(log.observed), overlap, tuple(problems))

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON; attributes in gap patterns by name."""
        names = [column.name for column in self.summary.columns]
        common = [{"missing": [names[i] for i in missing], "rows": rows} for missing, rows in self.gaps.common]
        return {
            "table": str(self.reading.table),
            "action": self.reading.action,
            "reward": self.reading.reward,
            "minimize": self.reading.minimize,
            **asdict(self.summary),
            "gaps": {
                "share": self.gaps.gap_share,
                "complete_rows": self.gaps.complete_rows,
                "empty_rows": self.gaps.empty_rows,
                "distinct_patterns": self.gaps.distinct_patterns,
                "common": common,
            },
            "overlap": None if self.overlap is None else self.overlap.to_dict(),
            "problems": list(self.problems),
        }


def inspect_table(reading: Reading, json_file: Path | None) -> None:
    alone = json_file is not None and str(json_file) == STANDARD_OUTPUT
    if json_file is not None and not alone:
        require_file_destination(json_file)
    waiting = screen(stderr=True)
    with waiting.status("Looking at the table ...") if waiting.is_terminal else nullcontext():
        inspection = Inspection.of(reading)
    text = json.dumps(inspection.to_dict(), indent=2, ensure_ascii=False)
    if alone:
        print(text, flush=True)
        return
    show(inspection, screen())
    if json_file is not None:
        write_text(text + "\n", json_file)


def show(inspection: Inspection, console: Console) -> None:
    summary = inspection.summary
    sentence(
        console,
        f"{inspection.reading.table}: {counted(summary.rows, 'row')}, {summary.rewarded:,} with action and reward; "
        f"{counted(len(summary.columns), 'column describes', 'columns describe')} the case.",
    )
    heading(console, "Columns")
    columns = [(one.name, one.kind, percent(one.gap_share), one.shows) for one in summary.columns]
    TextTable(["column", "kind", "gaps", "holds"], columns, words=["column", "kind", "holds"]).draw(console)
    _show_gaps(inspection, console)
    _show_actions(inspection, console)
    if inspection.overlap is not None:
        heading(console, "Can the log answer?")
        bullets(console, inspection.overlap.verdicts)
    if summary.notes:
        heading(console, "Noticed")
        bullets(console, summary.notes)
    heading(console, "Problems" if inspection.problems else "Next")
    if inspection.problems:
        bullets(console, inspection.problems)
    else:
        sentence(console, f"prudent fit {inspection.reading.as_options()} --out model")


def _show_gaps(inspection: Inspection, console: Console) -> None:
    gaps, rows = inspection.gaps, inspection.summary.rows
    heading(console, "Gaps")
    if gaps.gap_share == 0:
        sentence(console, "None: every cell is there.")
        return
    empty = f", {counted(gaps.empty_rows, 'row')} with nothing observed" if gaps.empty_rows else ""
    sentence(
        console,
        f"{percent(gaps.gap_share)} of the cells are missing; {counted(gaps.complete_rows, 'complete row')}{empty}; "
        f"{counted(gaps.distinct_patterns, 'pattern')} of gaps, most often:",
    )
    names = [column.name for column in inspection.summary.columns]
    patterns = [
        (f"{count:,}", percent(count / rows), _missing([names[i] for i in missing])) for missing, count in gaps.common
    ]
    TextTable(["rows", "share", "missing together"], patterns, words=["missing together"]).draw(console)


def _missing(names: list[str]) -> str:
    more = f" and {len(names) - MISSING_NAMED} more" if len(names) > MISSING_NAMED else ""
    return ", ".join(names[:MISSING_NAMED]) + more if names else "(nothing)"


def _show_actions(inspection: Inspection, console: Console) -> None:
    reading, summary = inspection.reading, inspection.summary
    better = "lower" if reading.minimize else "higher"
    heading(console, f"Actions ('{reading.action}'), by '{reading.reward}' ({better} is better)")
    overlap = {str(one.action): one for one in inspection.overlap.actions} if inspection.overlap else {}
    rows = [_action_cells(one, summary.rewarded, overlap.get(str(one.label))) for one in summary.actions]
    TextTable(["action", "rows", "share", "mean reward", "least likely", "worth rows"], rows, words=["action"]).draw(
        console
    )
    if overlap:
        whose = "its own rows, as logged" if reading.propensity else "all rows, estimated"
        sentence(
            console,
            f"least likely: the action's smallest probability over {whose}. "
            "worth rows: as many equally likely rows as its own rows are worth.",
        )


def _action_cells(one: ActionSummary, rewarded: int, overlap: ActionOverlap | None) -> list[str]:
    cells = [str(one.label), f"{one.rows:,}", percent(one.rows / max(rewarded, 1)), f"{one.mean_reward:.4g}"]
    if overlap is None:
        return [*cells, "", ""]
    # the overlap also counts rows without a reward; here they are left out, as in the column 'rows'
    worth = overlap.effective_sample_size * one.rows / max(overlap.count, 1)
    return [*cells, f"{overlap.smallest:.2g}", f"{worth:,.0f}"]


def _problems(log: Log) -> list[str]:
    """What `prudent fit` would refuse, in its own words."""
    from prudent.models import require_fittable, reward_scale

    problems = []
    for check in (require_fittable, reward_scale):
        try:
            check(log)
        except InputProblem as problem:
            problems.append(str(problem))
    return problems
