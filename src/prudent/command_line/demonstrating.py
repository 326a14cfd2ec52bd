"""`prudent demo`: the main job end to end on insulin doses of virtual patients, and a page that shows it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from prudent.command_line.demo.meals import explained_row, measured, shown_meals
from prudent.command_line.demo.page import MARK, Steps, page, unfinished_page
from prudent.command_line.demo.telling import (
    REWARD,
    VIRTUAL,
    Demonstration,
    meaning,
    what_happened,
    what_the_log_said,
    what_to_measure,
)
from prudent.command_line.demo.ways import (
    BAD,
    CAREFUL,
    RULE,
    STRATEGIES,
    compared,
    dose_numbers,
    everyone,
    policies_of,
    preferred,
    usual_rule,
)
from prudent.command_line.files import (
    require_folder_destination,
    require_model_destination,
    unwritable,
    write_table,
    write_text,
)
from prudent.command_line.reading import command
from prudent.command_line.recommending import advice_table, kept_columns
from prudent.command_line.screen import bullets, heading, screen, sentence
from prudent.errors import InputProblem
from prudent.evaluation import SelfNormalisedDoublyRobust, evaluate
from prudent.models import CausalPVAE, Fitted, Sizes
from prudent.networks import Training
from prudent.show import TextTable, counted
from prudent.table import Log, read_log, take_rows
from prudent.worlds.insulin import InsulinSample, InsulinWorld

DEMO_MODEL = CausalPVAE(members=2, ordered=True, training=Training(rounds=48))
"""As much work as the library's own settings; these meals are worth longer training more than a third network."""
EARLIER = 0.8
"""The share of the log to learn from; the rest judges."""


@dataclass(frozen=True)
class Scale:
    """How much the demonstration does."""

    rows: int
    cases: int
    measured: int
    settings: CausalPVAE
    completions: int


def _scale(rows: int, quick: bool) -> Scale:
    if not quick:
        return Scale(rows, 1000, 200, DEMO_MODEL, 256)
    small = CausalPVAE(
        members=1,
        samples=4,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=2, steps_per_round=10, batch=32),
    )
    return Scale(min(rows, 300), 100, 20, small, 32)


@dataclass(frozen=True)
class Files:
    """What the demonstration writes."""

    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "log.csv"

    @property
    def later(self) -> Path:
        return self.folder / "later.csv"

    @property
    def cases(self) -> Path:
        return self.folder / "new_cases.csv"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def advice(self) -> Path:
        return self.folder / "advice.csv"

    @property
    def page(self) -> Path:
        return self.folder / "page.html"

    @property
    def present(self) -> list[str]:
        """The names that are already taken."""
        own = (self.page, self.log, self.later, self.cases, self.model, self.advice)
        return [path.name for path in own if path.exists()]

    @property
    def of_a_demonstration(self) -> bool:
        """Whether an earlier demonstration wrote here: its page has our mark."""
        return self.page.is_file() and MARK in self.page.read_text(encoding="utf-8", errors="replace")


def demonstrate(rows: int, out: Path, seed: int, quick: bool) -> None:
    scale, files = _scale(rows, quick), Files(out)
    _prepare(files)
    _step(f"Simulating {counted(scale.rows + scale.cases, 'meal')} of virtual patients under every dose ...")
    world = InsulinWorld(seed=seed)
    fresh = world.sample(scale.cases, seed=seed + 2)
    past, later = _log(world, scale.rows, seed, files)
    write_table(fresh.cases().with_row_index("meal", offset=1), str(files.cases))
    _step(f"Learning from {counted(len(past), 'logged decision')} ...")
    fitted = scale.settings.fit(past, seed=seed)
    try:
        fitted.save(files.model)
    except OSError as problem:
        raise unwritable(files.model, problem) from problem
    told = _told(fitted, past, later, fresh, scale, seed, files)
    _step("Writing the page ...")
    steps = _next(files)
    write_text(page(told, steps), files.page)
    _show(told, steps, files)


def _prepare(files: Files) -> None:
    """Make the folder, or renew that of an earlier demonstration; what others wrote is never replaced."""
    try:
        require_folder_destination(files.folder, "the demonstration")
        if files.present and not files.of_a_demonstration:
            raise InputProblem(
                f"The folder '{files.folder}' holds {', '.join(files.present)}, not from an earlier demonstration, and "
                "it would be overwritten; name another folder with --out."
            )
        require_model_destination(files.model)
        files.folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise unwritable(files.folder, problem) from problem
    write_text(unfinished_page(), files.page)


def _step(text: str) -> None:
    """On a terminal only: scripts stay quiet."""
    console = screen(stderr=True)
    if console.is_terminal:
        sentence(console, text)


def _log(world: InsulinWorld, rows: int, seed: int, files: Files) -> tuple[Log, Log]:
    """The clinic's log, as a file and as its earlier and later part."""
    write_table(world.sample(rows, seed=seed + 1).frame(), str(files.log))
    log = read_log(files.log, action="dose", reward="outcome", kinds=world.kinds)
    first = round(EARLIER * len(log))
    past, later = log.take(np.arange(first)), log.take(np.arange(first, len(log)))
    write_table(take_rows(later.source, np.asarray(later.positions)), str(files.later))
    return past, later


def _told(
    fitted: Fitted, past: Log, later: Log, fresh: InsulinSample, scale: Scale, seed: int, files: Files
) -> Demonstration:
    world, cases = fresh.world, fresh.cases()
    policies, rule = policies_of(fitted, scale.completions), usual_rule(world, past)
    _step(f"Judging {len(policies) + 1} ways to dose by {counted(len(later), 'later decision')} of the log ...")
    evaluation = evaluate(
        {**policies, RULE: rule}, later, estimators=[SelfNormalisedDoublyRobust()], below=BAD, seed=seed
    )
    _step(f"Advising on {counted(len(fresh), 'new meal')} ...")
    advice = policies[CAREFUL].recommend(cases)
    kept = kept_columns(files.cases, cases.with_row_index("meal", offset=1), ("meal",))
    write_table(advice_table(advice, kept, as_text=True), str(files.advice))
    chosen = everyone({**dose_numbers(policies, advice.encoded, world), RULE: world.index(rule(cases))}, fresh)
    outcomes, meals = compared(chosen, fresh, evaluation), shown_meals(chosen, fresh)
    _step("Finding what to measure first ...")
    return Demonstration(
        learnt_from=len(past),
        judged_on=len(later),
        advised=len(fresh),
        doses=len(world.units),
        entries=len(world.names),
        gaps=1 - float(past.observed.mean()),
        single=world.units[world.best_constant(fresh)],
        outcomes=outcomes,
        preferred=preferred(evaluation, outcomes),
        meals=meals,
        explained=advice[explained_row(meals, fresh.observed)].explain(),
        measured=measured(policies[CAREFUL], fresh, scale.measured, seed),
    )


# --- what is shown ---


def _show(told: Demonstration, steps: Steps, files: Files) -> None:
    console = screen()
    for line in (*what_happened(told), VIRTUAL):
        sentence(console, line)
    _show_comparison(console, told)
    for title, lines in (
        ("Could the log alone tell?", what_the_log_said(told)),
        ("What to measure first", what_to_measure(told)),
        ("Next", []),
    ):
        heading(console, title)
        for line in lines:
            sentence(console, line)
    for words, commands in steps:
        sentence(console, words)
        for one in commands:
            sentence(console, one, indent=2)
    sentence(console, f"The page with pictures: {files.page}")


def _show_comparison(console: Console, told: Demonstration) -> None:
    heading(console, f"{counted(told.advised, 'new meal')}: what is true, and what the log had said")
    heads = ["way to dose", "mean\nreward", "bad", "under\n70", "under\n54", "the log\nhad said", "and\nbad"]
    rows = [[own.name, *own.figures, *own.said] for own in told.outcomes]
    rows.insert(len(STRATEGIES), [""] * len(heads))
    TextTable(heads, rows, words=heads[:1]).draw(console)
    sentence(console, REWARD)
    bullets(console, (f"{own.name}: {meaning(told, own.name)}" for own in told.outcomes))


def _next(files: Files) -> Steps:
    model, cases, later = (command(path) for path in (files.model, files.cases, files.later))
    return (
        (
            f"In {files.folder}: {files.page.name}, {files.log.name}, {files.later.name} (its later part), "
            f"{files.cases.name}, {files.model.name}, {files.advice.name}. Ask the model again, or judge it:",
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
