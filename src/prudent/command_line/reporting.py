"""`prudent report`: one self-contained page about a policy on a log that its model has not seen."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from prudent.command_line.evaluating import STRATEGIES, read_later, requests_of
from prudent.command_line.files import (
    FilesOfACommand,
    require_file_destination,
    require_json_destination,
    write_json,
    write_text,
)
from prudent.command_line.policy_options import PolicyOptions
from prudent.command_line.recommending import case_labels, kept_columns
from prudent.command_line.screen import announce, screen, sentence
from prudent.errors import InputProblem
from prudent.models import Fitted, load
from prudent.reporting import Origin, ReportSettings, make_report
from prudent.show import Facts
from prudent.table import Faithful, Log, Part, Place, TextFormat, read_with_notes

PAGE, CARD = ".html", ".md"


@dataclass(frozen=True)
class ReportOptions:
    """out, card, json: where the page, the model card and everything as JSON go. label: columns that say whose case an
    explained one is. learnt_from: the log of the fit, for rivals to learn from."""

    out: Path
    card: Path | None
    json: Path | None
    learnt_from: Place | None
    label: tuple[str, ...]
    propensity: str | None
    group: str | None
    censored: str | None
    written: TextFormat
    part: Part

    def check(self, model: Path, log: Place) -> None:
        """Refuse now what could not be written later."""
        for option, path, ending in (("--out", self.out, PAGE), ("--card", self.card, CARD)):
            if path is None:
                continue
            if path.suffix.lower() != ending:
                raise InputProblem(f"{option} must end in {ending}. Got '{path}' instead; rename it.")
            require_file_destination(path)
        require_json_destination(self.json)
        read = log.path, None if self.learnt_from is None else self.learnt_from.path
        outputs = {"--out": self.out, "--card": self.card, "--json": self.json}
        FilesOfACommand(outputs, read, (model,)).check()


def report_on(
    model: Path,
    log: Place,
    policy_options: PolicyOptions,
    options: ReportOptions,
    settings: ReportSettings,
) -> None:
    options.check(model, log)
    first = policy_options.strategy
    requests = requests_of(policy_options, (first, *STRATEGIES))
    fitted = load(model)
    frame, file_notes = read_with_notes(log, options.written, Faithful(fitted.text_columns), options.part)
    reader, read, notes = read_later(fitted, frame, options.propensity, options.group, options.censored)
    read = replace(read, notes=(*file_notes, *notes, *read.notes))
    labels = case_labels(kept_columns(log, frame, options.label, options.written), len(read)) if options.label else None
    policies = {name: request.policy(reader) for name, request in requests.items()}
    past = None if options.learnt_from is None else _past(fitted, options.learnt_from, options)
    announce(f"Reporting on '{first}' by {len(read):,} decisions of {log} ...")
    report = make_report(
        reader,
        read,
        policies,
        recommended=first,
        past=past,
        origin=Origin(model.resolve().name, _hash_of(model / "model.json"), *_named(log)),
        settings=replace(settings, labels=labels),
    )
    facts = report.to_dict()
    write_text(report.html(), options.out)
    if options.card is not None:
        write_text(report.card(), options.card)
    _say(facts, options)
    write_json(facts, options.json)


def _past(fitted: Fitted, place: Place, options: ReportOptions) -> Log:
    frame: pl.DataFrame = read_with_notes(place, options.written, Faithful(fitted.text_columns))[0]
    # roles that this log lacks are no part of what rivals learn from
    roles = dict.fromkeys(("propensity", "group", "censored"))
    columns = {role: name for role in roles if (name := getattr(fitted.roles, role)) in frame.columns}
    return fitted.read(frame, **(roles | columns))


def _named(place: Place) -> tuple[str, str | None]:
    path = place.path
    if path is None:
        return str(place), None
    return path.name, _hash_of(path) if path.is_file() else None


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _say(facts: Facts, options: ReportOptions) -> None:
    card = "" if options.card is None else f", its model card in {options.card}"
    sentence(screen(stderr=True), f"Report in {options.out}{card}.")
