"""`prudent inspect`: what is in a table of logged decisions, and what would prevent learning from it."""

from contextlib import nullcontext
from pathlib import Path

from prudent.command_line.files import refuse_to_overwrite, require_json_destination, write_json
from prudent.command_line.log_options import LogOptions
from prudent.command_line.screen import screen, show
from prudent.errors import InputProblem
from prudent.models import require_fittable, reward_scale
from prudent.propensity import Boosted, Known
from prudent.show import Facts, Section, inspection_sections, plain_types
from prudent.table import Log, gap_patterns


def inspect_table(options: LogOptions, json_file: Path | None) -> None:
    require_json_destination(json_file)
    refuse_to_overwrite({"--json": json_file}, options.table, options.kinds_file)
    waiting = screen(stderr=True)
    with waiting.status("Inspecting the table ...") if waiting.is_terminal else nullcontext():
        facts = inspection_facts(options)
    if write_json(facts, json_file):
        return
    show(inspection_sections(facts))
    if not facts["problems"]:
        show([Section("Next", sentences=(f"prudent fit {options.as_command()} --out model",))])


def inspection_facts(options: LogOptions) -> Facts:
    """What is known about a log before anything is fitted; `problems` are the reasons why fitting would refuse."""
    log = options.log()
    problems, overlap = _problems(log), None
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
        "minimize": options.minimize,
        **plain_types(log.summary()),
        "gaps": {
            "share": gaps.gap_share,
            "complete_rows": gaps.complete_rows,
            "empty_rows": gaps.empty_rows,
            "distinct_patterns": gaps.distinct_patterns,
            "common": [{"missing": [names[i] for i in missing], "rows": rows} for missing, rows in gaps.common],
        },
        "overlap": overlap,
        "problems": problems,
    }


def _problems(log: Log) -> list[str]:
    """The sentences with which `prudent fit` would refuse the log."""
    problems = []
    for check in (require_fittable, reward_scale):
        try:
            check(log)
        except InputProblem as problem:
            problems.append(str(problem))
    return problems
