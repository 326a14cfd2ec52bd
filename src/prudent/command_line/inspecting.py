"""`prudent inspect`: what is in a table of logged decisions, and what would prevent learning from it."""

from dataclasses import replace
from pathlib import Path

from prudent.command_line.files import FilesOfACommand, require_json_destination, write_json
from prudent.command_line.log_options import LogOptions
from prudent.command_line.screen import show
from prudent.errors import InputProblem
from prudent.models import PRESETS, CausalPVAE, estimate_costs, may_be_ordered, require_fittable, reward_scale
from prudent.progress import working
from prudent.propensity import Boosted, Known
from prudent.show import Facts, Section, cost_section, inspection_sections, plain_types
from prudent.table import Log, OddCellsFound, count_groups, gap_patterns, log_findings, odd_cells_of, repeated_rows

LEAVE_OUT = "Leave out (--ignore COL) whatever was recorded after the decision: a table does not show when."
MOST_MENDS = 3
"""Mending a column's odd cells can show others in it, but seldom twice."""


def inspect_table(options: LogOptions, json_file: Path | None) -> None:
    require_json_destination(json_file)
    FilesOfACommand({"--json": json_file}, options.files).check()
    with working("inspecting the table"):
        facts = inspection_facts(options)
    if write_json(facts, json_file):
        return
    show(inspection_sections(facts))
    if facts["costs"] is not None:
        show([cost_section(facts["costs"])])
    if not facts["problems"]:
        command = f"prudent fit {options.as_command()} --out model"
        show([Section("Next", sentences=(command,), introduction=(LEAVE_OUT,))])


def inspection_facts(options: LogOptions) -> Facts:
    """What is known about a log before anything is fitted; `problems` are the reasons why fitting would refuse.

    A column with odd cells is shown as it would be with the options that mend it.
    """
    mended, log, odd = _mended(options)
    findings = log_findings(log)
    proposed = mended.with_options(finding.option for finding in findings)
    problems, overlap = [*(found.sentence for found in odd), *_problems(log)], None
    log = replace(log, notes=(*repeated_rows(log), *log.notes))
    try:
        overlap = (Known() if options.propensity else Boosted()).fit(log).overlap().to_dict()
    except InputProblem as problem:
        problems.append(str(problem))
    gaps, names = gap_patterns(log.observed), log.schema.names
    return {
        "table": str(options.table),
        "action": options.action,
        "reward": options.reward,
        "propensity": options.propensity,
        "group": options.group,
        "groups": count_groups(log.groups),
        "censored": options.censored,
        "censored_rows": None if log.censored is None else int(log.censored.sum()),
        "minimize": options.minimize,
        **plain_types(log.summary()),
        "gaps": {
            "share": gaps.gap_share,
            "complete_rows": gaps.complete_rows,
            "empty_rows": gaps.empty_rows,
            "distinct_patterns": gaps.distinct_patterns,
            "common": [{"missing": [names[i] for i in missing], "rows": rows} for missing, rows in gaps.common],
        },
        "may_be_ordered": may_be_ordered(log),
        "overlap": overlap,
        "odd_cells": [plain_types(cells) for found in odd for cells in found.columns],
        "findings": [plain_types(finding) for finding in findings],
        "proposed": None if proposed == options else f"prudent inspect {proposed.as_command()}",
        "costs": None if problems else _costs(log),
        "problems": problems,
    }


def _costs(log: Log) -> Facts:
    """Seconds and bytes of the commands to come, by their name and options."""
    usual = estimate_costs(CausalPVAE(), log)
    presets = {name: estimate_costs(CausalPVAE.preset(name), log) for name in PRESETS}
    costs = {
        "fit": usual.fit,
        **{f"fit --preset {name}": estimated.fit for name, estimated in presets.items()},
        "recommend, 1000 rows": usual.recommend,
        "recommend, 1000 rows, worst cases searched": usual.search,
        "evaluate, 1000 rows": usual.evaluate,
    }
    return {name: plain_types(cost) for name, cost in costs.items()}


def _mended(options: LogOptions) -> tuple[LogOptions, Log, list[OddCellsFound]]:
    """Options with which the log can be read, the log, and the odd cells that they solve."""
    found: list[OddCellsFound] = []
    for _ in range(MOST_MENDS):
        try:
            return options, options.log(), found
        except InputProblem as problem:
            odd = odd_cells_of(problem)
            if not all(cells.options for cells in odd.columns):
                raise
            found.append(odd)
            options = options.with_options(odd.options)
    return options, options.log(), found


def _problems(log: Log) -> list[str]:
    """The sentences with which `prudent fit` would refuse the log."""
    problems = []
    for check in (require_fittable, reward_scale):
        try:
            check(log)
        except InputProblem as problem:
            problems.append(str(problem))
    return problems
