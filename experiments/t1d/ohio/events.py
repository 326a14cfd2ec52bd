"""The events of one patient file, as the attributes stand there; nothing in the file is ever expanded or run."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from math import isfinite, nan
from pathlib import Path
from xml.parsers import expat

from prudent.errors import InputProblem

# the wall clock's zero; only differences between times are ever used
ORIGIN = datetime(2000, 1, 1)


@dataclass(frozen=True)
class Event:
    """One event of one element, and where it stands."""

    element: str
    attributes: dict[str, str]
    file: Path
    line: int

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for events that say the same: one that was recorded twice counts once."""
        return (self.element, *sorted(self.attributes.items()))

    def text(self, attribute: str) -> str:
        """The attribute without the blanks around it; absent is the same as empty."""
        return self.attributes.get(attribute, "").strip()

    def number(self, attribute: str, *, least: float | None = None) -> float:
        """The attribute as a number, NaN where it is absent or empty."""
        text = self.text(attribute)
        if not text:
            return nan
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not isfinite(value) or (least is not None and value < least):
            wanted = "a number" if least is None else f"a number of {least:g} or more"
            raise self.problem(attribute, wanted, "empty it to make it a gap")
        return value

    def minutes(self, attribute: str) -> float:
        """The attribute as minutes on the patient's wall clock, NaN where it is absent or empty."""
        date, _, time = self.text(attribute).partition(" ")
        if not date:
            return nan
        try:
            # one rounding only, so that times half an hour apart are exactly so
            return (_seconds_at_midnight(date) + _seconds_of_day(time.strip())) / 60
        except ValueError:
            raise self.problem(attribute, "a time like 07-12-2021 16:05:00", "delete the event") from None

    def problem(self, attribute: str, wanted: str, way_out: str) -> InputProblem:
        """The one sentence for what cannot be read."""
        return InputProblem(
            f"In {self.file}, line {self.line}, the attribute '{attribute}' in <{self.element}> is "
            f"{self.attributes.get(attribute)!r}, which is not {wanted}. Correct it in the file, or {way_out}."
        )


@dataclass(frozen=True)
class PatientFile:
    """One file: whose it is, and all its events in the order of the file."""

    id: str
    events: tuple[Event, ...]


def read_file(file: Path) -> PatientFile:
    """Read one patient file, {id}-ws-{training,testing}.xml; the root's `id`, where it has one, must be the same."""
    root, events = _parse(file)
    named = file.name.partition("-")[0]
    if root.text("id") not in ("", named):
        raise InputProblem(
            f"The file {file} is named for patient {named!r}, but its <patient> has the id {root.text('id')!r}. "
            f"Rename the file."
        )
    return PatientFile(named, tuple(events))


def content_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as problem:
        raise InputProblem(f"The file {file} cannot be read: {problem.strerror}. Check its permissions.") from None


def _parse(file: Path) -> tuple[Event, list[Event]]:
    """The root, whose attributes read like an event's, and the events of its children."""
    parser = expat.ParserCreate()
    open_elements: list[str] = []
    roots: list[Event] = []
    events: list[Event] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        # deeper elements are the symptoms of an event, which nothing here needs
        if not open_elements:
            roots.append(Event(name, attributes, file, parser.CurrentLineNumber))
        elif len(open_elements) == 2 and name == "event":
            events.append(Event(open_elements[1], attributes, file, parser.CurrentLineNumber))
        open_elements.append(name)

    def end(_: str) -> None:
        open_elements.pop()

    def refuse(*_: object) -> None:
        raise InputProblem(
            f"The file {file} declares a document type, in line {parser.CurrentLineNumber}, and could define entities "
            f"there that fill the memory; OhioT1DM files have none. Take the original file, or delete the declaration."
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content_of(file), True)
    except InputProblem:
        raise
    except (expat.ExpatError, LookupError, ValueError) as problem:  # the last two: an encoding that is not known
        raise InputProblem(f"The file {file} is not XML: {problem}. Take the original file again.") from None
    if roots[0].element != "patient":
        raise InputProblem(
            f"The file {file} begins with <{roots[0].element}> where an OhioT1DM file has <patient>. Take the original "
            f"file, or rename this one so that it does not end in -ws-training.xml or -ws-testing.xml."
        )
    return roots[0], events


def unique(events: Iterable[Event]) -> list[Event]:
    """The events in order, those that say exactly the same only once."""
    return list({event.key: event for event in events}.values())


@lru_cache(maxsize=4096)
def _seconds_at_midnight(date: str) -> int:
    return (datetime.strptime(date, "%d-%m-%Y") - ORIGIN).days * 86400


@lru_cache(maxsize=86400)
def _seconds_of_day(time: str) -> int:
    read = datetime.strptime(time, "%H:%M:%S")
    return read.hour * 3600 + read.minute * 60 + read.second
