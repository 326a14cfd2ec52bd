"""`prudent journal export`: what was advised, done and seen as a new log, and the command that learns from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from prudent.command_line.destination import Destination
from prudent.command_line.files import FilesOfACommand
from prudent.command_line.log_options import shell_words
from prudent.command_line.screen import show
from prudent.errors import InputProblem
from prudent.journal import TABLES, Exported, ExportOptions, Journal, as_log, hash_of
from prudent.models import saved_columns, saved_direction
from prudent.show import Section
from prudent.table import Part, Place


@dataclass(frozen=True)
class Window:
    """The times of advice that are looked at."""

    since: datetime | None = None
    before: datetime | None = None

    @staticmethod
    def of(since: str | None, before: str | None) -> "Window":
        return Window(_moment("--since", since), _moment("--before", before))


def _moment(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputProblem(
            f"{option} must be a day or a moment, as 2026-03-01 or 2026-03-01T12:00. Got {text!r} instead."
        ) from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def export_journal(place: Place, out: Destination, model: Path | None, options: ExportOptions, window: Window) -> None:
    outputs = {"--out": out.path}
    databases = () if out.database is None else ("--out",)
    FilesOfACommand(outputs, (place.path,), () if model is None else (model,), databases).check()
    out.check([(place, Part(table)) for table in TABLES])  # which --replace must leave alone
    of_model = None if model is None else hash_of(model)
    columns, minimize = (None, False) if model is None else (saved_columns(model), saved_direction(model))
    if columns is not None:
        options = replace(options, action=columns.action, reward=columns.reward)
    with Journal.open(place, must_exist=True) as journal:
        exported = as_log(journal.recorded(of_model, window.since, window.before), options)
    out.write(exported.frame)
    sentences = list(exported.notes)
    if not out.is_standard_output:
        sentences[0] = f"{sentences[0].rstrip('.')} in {out}."
    if out.database is None and not out.is_standard_output:
        others = [] if columns is None else _others(exported, columns.names)
        sentences.append(f"Next: {_next(exported, out, minimize, others)}")
    show([Section(sentences=tuple(sentences))], stderr=True)


def _others(exported: Exported, attributes: Sequence[str]) -> list[str]:
    """Columns that the model did not learn from, such as the encounter that a case is of."""
    roles = (exported.action, exported.reward, exported.propensity, exported.censored, *exported.ignore)
    return [name for name in exported.frame.columns if name not in (*attributes, *roles)]


def _next(exported: Exported, out: Destination, minimize: bool, others: Sequence[str]) -> str:
    parts = ["prudent", "fit", str(out.out), "--action", exported.action, "--reward", exported.reward]
    parts += ["--minimize"] if minimize else []
    parts += [] if exported.propensity is None else ["--propensity", exported.propensity]
    parts += [] if exported.censored is None else ["--censored", exported.censored]
    parts += [part for name in (*exported.ignore, *others) for part in ("--ignore", name)]
    return shell_words(*parts, "--out", "model")
