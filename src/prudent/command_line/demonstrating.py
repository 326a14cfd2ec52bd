"""`prudent demo`: the main job end to end on insulin doses of virtual patients, and a page that shows it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prudent.command_line.demo.doses import (
    BAD,
    CAREFUL,
    HEADINGS,
    RULE,
    STRATEGIES,
    dose_numbers,
    outcomes_of,
    policies_of,
    usual_rule,
)
from prudent.command_line.demo.meals import explained_row, filling, shown_meals
from prudent.command_line.demo.page import MARK, Steps, page, unfinished_page
from prudent.command_line.demo.results import (
    REWARD,
    VIRTUAL,
    Results,
    what_happened,
    what_the_log_estimated,
    what_to_measure,
)
from prudent.command_line.files import (
    require_folder_destination,
    require_model_destination,
    unwritable,
    write_table,
    write_text,
)
from prudent.command_line.log_options import shell_words
from prudent.command_line.screen import announce, screen, sentence, show
from prudent.decide import advice_table, kept_columns
from prudent.errors import InputProblem
from prudent.evaluation import SelfNormalisedDoublyRobust, evaluate
from prudent.models import CausalPVAE, Fitted, Sizes
from prudent.networks import Training
from prudent.show import Section, TextTable, counted
from prudent.table import Log, read_log, take_rows
from prudent.worlds.insulin import InsulinSample, InsulinWorld

EARLIER = 0.8
"""The share of the log to learn from; the rest is for the evaluation."""
PAGE, LOG, LATER, CASES, MODEL, ADVICE = "page.html", "log.csv", "later.csv", "new_cases.csv", "model", "advice.csv"


@dataclass(frozen=True)
class Size:
    """How much the demonstration does: rows of the log, new cases, and how many of those to measure something in."""

    rows: int
    cases: int
    measured: int
    completions: int
    settings: CausalPVAE


def _size(rows: int, quick: bool) -> Size:
    if not quick:
        # twice the work of the default settings: these meals gain more from longer training than from a third network
        settings = CausalPVAE(members=2, ordered=True, training=Training(rounds=48))
        return Size(rows, 1000, 200, 256, settings)
    small = CausalPVAE(
        members=1,
        samples=4,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=2, steps_per_round=10, batch=32),
    )
    return Size(min(rows, 300), 100, 20, 32, small)


def demonstrate(rows: int, folder: Path, seed: int, quick: bool) -> None:
    size = _size(rows, quick)
    _prepare(folder)
    announce(f"Simulating {counted(size.rows + size.cases, 'meal')} of virtual patients under every dose ...")
    world = InsulinWorld(seed=seed)
    fresh = world.sample(size.cases, seed=seed + 2)
    past, later = _log(world, size.rows, seed, folder)
    write_table(fresh.cases().with_row_index("meal", offset=1), str(folder / CASES))
    announce(f"Learning from {counted(len(past), 'logged decision')} ...")
    fitted = size.settings.fit(past, seed=seed)
    try:
        fitted.save(folder / MODEL)
    except OSError as problem:
        raise unwritable(folder / MODEL, problem) from problem
    results = _results(fitted, past, later, fresh, size, seed, folder)
    steps = _next_steps(folder)
    write_text(page(results, steps), folder / PAGE)
    show(_sections(results))
    lines = [line for text, commands in steps for line in (text, *(f"  {command}" for command in commands))]
    show([Section("Next", sentences=tuple(lines))])
    sentence(screen(), f"The page with pictures: {folder / PAGE}")


def _prepare(folder: Path) -> None:
    """Make the folder, or use that of an earlier demonstration again; files of others are never replaced."""
    try:
        require_folder_destination(folder, "the demonstration")
        present = [name for name in (PAGE, LOG, LATER, CASES, MODEL, ADVICE) if (folder / name).exists()]
        if present and not _is_demonstration(folder / PAGE):
            raise InputProblem(
                f"The folder '{folder}' holds {', '.join(present)}, not from an earlier demonstration, and it would be "
                "overwritten; name another folder with --out."
            )
        require_model_destination(folder / MODEL)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise unwritable(folder, problem) from problem
    write_text(unfinished_page(), folder / PAGE)


def _is_demonstration(path: Path) -> bool:
    return path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace")


def _log(world: InsulinWorld, rows: int, seed: int, folder: Path) -> tuple[Log, Log]:
    """The clinic's log, as a file and as its earlier and later part."""
    write_table(world.sample(rows, seed=seed + 1).frame(), str(folder / LOG))
    log = read_log(folder / LOG, action="dose", reward="outcome", kinds=world.kinds)
    first = round(EARLIER * len(log))
    past, later = log.take(np.arange(first)), log.take(np.arange(first, len(log)))
    write_table(take_rows(later.source, np.asarray(later.positions)), str(folder / LATER))
    return past, later


def _results(
    fitted: Fitted, past: Log, later: Log, fresh: InsulinSample, size: Size, seed: int, folder: Path
) -> Results:
    world, cases = fresh.world, fresh.cases()
    policies, rule = policies_of(fitted, size.completions), usual_rule(world, past)
    announce(f"Evaluating {len(policies) + 1} ways to dose by {counted(len(later), 'later decision')} of the log ...")
    evaluation = evaluate(
        {**policies, RULE: rule}, later, estimators=[SelfNormalisedDoublyRobust()], below=BAD, seed=seed
    )
    preferred = max(STRATEGIES, key=lambda name: evaluation.estimate(name).value)
    announce(f"Advising on {counted(len(fresh), 'new meal')} ...")
    advice = policies[CAREFUL].recommend(cases)
    meal_numbers = kept_columns(folder / CASES, cases.with_row_index("meal", offset=1), ("meal",))
    write_table(advice_table(advice, meal_numbers, as_text=True), str(folder / ADVICE))
    doses = dose_numbers(policies, rule, advice.encoded, fresh)
    meals = shown_meals(doses, fresh)
    shown = explained_row(meals, fresh.observed)
    announce("Finding what to measure first ...")
    return Results(
        learned_from=len(past),
        judged_on=len(later),
        advised=len(fresh),
        doses=len(world.units),
        entries=len(world.names),
        gaps=1 - float(past.observed.mean()),
        single=world.units[world.best_constant(fresh)],
        outcomes=outcomes_of(doses, fresh, evaluation),
        preferred=preferred,
        advantage=evaluation.difference(preferred, RULE),
        meals=meals,
        explained=advice[shown].explain(f"meal {shown + 1}").to_dict(),
        filling=filling(policies[CAREFUL], fresh, size.measured, seed),
    )


def _sections(results: Results) -> list[Section]:
    return [
        Section(introduction=(*what_happened(results), VIRTUAL)),
        Section(
            f"{counted(results.advised, 'new meal')}: the truth, and what was estimated from the log",
            TextTable(HEADINGS, [outcome.cells for outcome in results.outcomes]),
            (REWARD,),
            tuple(f"{outcome.name}: {results.meaning(outcome.name)}" for outcome in results.outcomes),
        ),
        Section("Could the log alone tell?", sentences=tuple(what_the_log_estimated(results))),
        Section("What to measure first", sentences=tuple(what_to_measure(results))),
    ]


def _next_steps(folder: Path) -> Steps:
    model, cases, later = (shell_words(folder / name) for name in (MODEL, CASES, LATER))
    return (
        (
            f"In {folder}: {PAGE}, {LOG}, {LATER} (its later part), {CASES}, {MODEL}, {ADVICE}. Use the model again, "
            "or evaluate it:",
            (
                f"prudent recommend {model} {cases} --strategy conservative --out -",
                f"prudent evaluate {model} {later} --below {BAD:g}",
            ),
        ),
        (
            "With a table of your own (a row per decision: what was known, what was done, how it turned out):",
            (
                "prudent inspect YOURS.csv --action COLUMN --reward COLUMN",
                "prudent fit YOURS.csv --action COLUMN --reward COLUMN --out model --hold-out later.csv",
                "prudent evaluate model later.csv",
                "prudent recommend model NEW_CASES.csv --strategy tail --out advice.csv",
            ),
        ),
    )
