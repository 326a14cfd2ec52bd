"""`prudent recommend`: advice for every row of a table, and explanations of some of it."""

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from prudent.command_line.destination import Destination
from prudent.command_line.files import FilesOfACommand, require_file_destination, write_text
from prudent.command_line.later_logs import reading_as
from prudent.command_line.policy_options import PolicyOptions, parse_costs
from prudent.command_line.screen import heading, screen, sentence, show
from prudent.decide import ADVICE_COLUMNS, Advice, Policy, advice_table, kept_columns, require_doses_between
from prudent.errors import InputProblem
from prudent.models import Fitted, load
from prudent.promise import frontier, guarantee
from prudent.show import Section, advice_section, counted, explanations_page
from prudent.table import Faithful, Log, Part, Place, TextFormat, did_you_mean, read_with_notes

BETWEEN = ("dose", "dose_reward", "dose_uncertainty")
EXPLAINED = 10


@dataclass(frozen=True)
class Limit:
    """Choose the best strategy that keeps the share of outcomes worse than `below` within `share`, judged by `log`."""

    log: Place
    share: float
    below: float

    @staticmethod
    def of(log: Place | None, share: float | None, below: float | None, has_setting: bool) -> "Limit | None":
        """From three options that are only meaningful together; `has_setting`: --risk or --c was given too."""
        if log is None and share is None and below is None:
            return None
        if log is None or share is None or below is None:
            raise InputProblem(
                "--held-out LOG, --limit SHARE and --below R choose a strategy together; give all three."
            )
        if has_setting:
            raise InputProblem("--limit chooses the strategy and its setting; leave --risk and --c out.")
        return Limit(log, share, below)


@dataclass(frozen=True)
class AdviceOptions:
    """What to write in addition to the plain advice."""

    keep: tuple[str, ...] = ()
    explain: int = 0
    explain_to: Path | None = None
    measure: bool = False
    measure_costs: tuple[str, ...] = ()
    guarantee: Place | None = None
    confidence: float = 0.95
    limit: Limit | None = None
    doses_between: bool = False
    written: TextFormat = TextFormat()
    """How those of the files are written that are csv."""
    part: Part = Part()
    """Which part of the cases' workbook or database is their table."""
    group: str | None = None
    censored: str | None = None

    def read(self, fitted: Fitted, log: Place, as_text: Faithful) -> Log:
        """A log of later decisions, with what is to be said of its groups and its censored outcomes."""
        frame = read_with_notes(log, self.written, as_text)[0]
        reader, notes = reading_as(fitted, frame, self.group, self.censored)
        show([Section(sentences=tuple(notes))], stderr=True)
        return reader.read(frame)


def recommend_actions(
    model: Path, table: Place, out: Destination, options: PolicyOptions, extras: AdviceOptions
) -> None:
    _check_places(model, table, out, extras)
    options.chosen_strategy()  # before the model is loaded, so that a wrong option is reported at once
    row_costs = options.row_costs()
    if row_costs is not None and extras.guarantee is not None:
        raise InputProblem(
            "--guarantee holds for the policy without costs that differ between rows; leave --cost-column or "
            "--guarantee out."
        )
    costs = parse_costs(extras.measure_costs, "--measure-cost COL=COST")
    fitted = load(model)
    as_text = Faithful((*fitted.text_columns, *([] if options.allowed is None else [options.allowed])))
    frame, file_notes = read_with_notes(table, extras.written, as_text, extras.part)
    show([Section(sentences=tuple(file_notes))], stderr=True)
    made = (*ADVICE_COLUMNS, *BETWEEN) if extras.doses_between else ADVICE_COLUMNS
    kept = kept_columns(table, frame, extras.keep, extras.written, made)
    policy = _policy(fitted, options, extras, frame)
    if extras.doses_between:
        require_doses_between(policy.chooser)  # before anything is computed
    bounds = None
    if extras.guarantee is not None:
        later = extras.read(fitted, extras.guarantee, as_text)
        bounds = guarantee(policy, later, confidence=extras.confidence, seed=options.seed)
        show([Section(sentences=(*bounds.notes, bounds.verdict))], stderr=True)
    advice = policy.recommend(
        frame, allowed=options.allowed, costs=row_costs, guarantee=bounds, measure=costs or extras.measure
    )
    if extras.doses_between:
        advice = advice.doses_between()
    show([Section(sentences=advice.notes)], stderr=True)
    out.write(advice_table(advice, kept, as_text=out.is_text))
    if not out.is_standard_output:
        show([_summary(advice, policy, out)], stderr=True)
    _explain(advice, extras, case_labels(kept, len(advice)), to_stderr=out.is_standard_output)


def _check_places(model: Path, table: Place, out: Destination, extras: AdviceOptions) -> None:
    others = [extras.guarantee, None if extras.limit is None else extras.limit.log]
    read = [(table, extras.part), *((place, Part()) for place in others if place is not None)]
    outputs = {"--out": out.path, "--explain-to": extras.explain_to}
    files = tuple(place.path for place, _ in read)
    FilesOfACommand(outputs, files, (model,), databases=() if out.database is None else ("--out",)).check()
    out.check(read)
    _check_explanations(extras.explain_to)


def _policy(fitted: Fitted, options: PolicyOptions, extras: AdviceOptions, cases: pl.DataFrame) -> Policy:
    limit = extras.limit
    if limit is None:
        return options.policy(fitted)
    settings = frontier(
        fitted,
        extras.read(fitted, limit.log, Faithful(fitted.text_columns)),
        below=limit.below,
        cases=cases,
        completions=options.completions,
        seed=options.seed,
        **{name: value for name, value in options.scoring_options().items() if value is not None},
    )
    chosen = settings.policy(limit.share)
    console = screen(stderr=True)
    console.print(str(settings), soft_wrap=True)
    sentence(console, settings.certify(limit.share).sentence)
    # the same options as in the frontier; only a floor is added
    return options.policy(fitted, chosen.strategy, search=chosen.search)


def _summary(advice: Advice, policy: Policy, out: Destination) -> Section:
    section = advice_section(advice.summary())
    labels = [str(label) for label in policy.fitted.action_labels]
    sentences = [f"{counted(len(advice), 'row')} of advice in {out}."]
    if policy.fallback is not None and str(policy.fallback) not in labels:
        sentences.append(
            f"The fallback '{policy.fallback}' is not an action of the log, so it is written as it is, without "
            f"rewards. {did_you_mean(str(policy.fallback), labels)}"
        )
    return section._replace(introduction=tuple(sentences[:1]), sentences=(*section.sentences, *sentences[1:]))


def _check_explanations(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".json"):
        raise InputProblem(f"--explain-to writes a page or JSON; '{path}' must end in .html or .json.")
    require_file_destination(path)


def case_labels(kept: pl.DataFrame, rows: int) -> list[str | None]:
    """Whose case each row is, by the kept columns: "patient 0017, ward west". None where nothing is kept."""
    if not kept.width:
        return [None] * rows
    return [
        ", ".join(f"{name} {'(empty)' if cell is None else cell}" for name, cell in row.items())
        for row in kept.iter_rows(named=True)
    ]


def _explain(advice: Advice, extras: AdviceOptions, labels: list[str | None], to_stderr: bool) -> None:
    console = screen(stderr=to_stderr)
    count = extras.explain if extras.explain_to is None else extras.explain or EXPLAINED
    explained = [advice[row].explain(labels[row]) for row in range(min(count, len(advice)))]
    if extras.explain_to is None:
        for one in explained:
            heading(console, f"Row {one.row + 1}")
            console.print(str(one), soft_wrap=not console.is_terminal)
        return
    facts = [one.to_dict() for one in explained]
    as_page = extras.explain_to.suffix.lower() == ".html"
    text = explanations_page(facts) if as_page else json.dumps(facts, indent=1)
    write_text(text, extras.explain_to)
    sentence(screen(stderr=True), f"{counted(len(explained), 'row')} explained in {extras.explain_to}.")
