"""`prudent journal watch`: whether what was served is still like what the model has learnt from."""

from pathlib import Path

from prudent.command_line.exporting import Window
from prudent.command_line.files import FilesOfACommand, require_json_destination, write_json
from prudent.command_line.screen import show
from prudent.journal import Journal, WatchOptions, hash_of, watch
from prudent.models import load
from prudent.show import drift_sections
from prudent.table import Place


def watch_journal(place: Place, model: Path, risk: float, since: str | None, json: Path | None) -> bool:
    """Whether anything has drifted."""
    FilesOfACommand({"--json": json}, (place.path,), (model,)).check()
    require_json_destination(json)
    options = WatchOptions(risk, Window.of(since, None).since)
    with Journal.open(place, must_exist=True) as journal:
        recorded = journal.recorded(hash_of(model))
    drift = watch(recorded, load(model), options)
    facts = drift.to_dict()
    if not write_json(facts, json):
        show(drift_sections(facts))
    return bool(drift.found)
